//! The operator writes status when something changed, and only then.

use clearway_testbed::{IN_TIME, wait_until};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::lab::{GATEWAY, Lab, condition};

fn listener<'a>(gateway: &'a Value, name: &str) -> &'a Value {
    let listeners = gateway["status"]["listeners"].as_array();
    listeners.and_then(|all| all.iter().find(|one| one["name"] == name)).unwrap_or(&Value::Null)
}

fn parent<'a>(route: &'a Value, controller: &str) -> &'a Value {
    let parents = route["status"]["parents"].as_array();
    parents.and_then(|all| all.iter().find(|one| one["controllerName"] == controller)).unwrap_or(&Value::Null)
}

const OURS: &str = "clearway.dev/gateway-status";

#[tokio::test]
async fn g1_status_follows_the_objects_and_nothing_else_is_written() {
    let Some(lab) = Lab::start().await else { return };
    lab.create_class("clearway", OURS).await;
    lab.create_class("theirs", "example.com/other").await;
    lab.create_gateway("gw", "clearway").await;
    lab.create_gateway("theirs", "theirs").await;
    lab.create_route("web", "gw").await;
    // Another controller has an entry in the status of the same route.
    let other = json!({
        "parentRef": {"name": "theirs"}, "controllerName": "example.com/other",
        "conditions": [{
            "type": "Accepted", "status": "True", "reason": "Accepted", "message": "theirs",
            "lastTransitionTime": "2026-05-04T09:00:00Z", "observedGeneration": 1,
        }],
    });
    lab.patch(GATEWAY, "HTTPRoute", "web", json!({"status": {"parents": [other]}})).await;
    let features = "HTTPRoute,Gateway,ReferenceGrant,TCPRoute";
    let operator = lab.operator(lab.cluster.kubeconfig(), "default", &["--supported-features", features]);

    let class = lab.wait("the class is accepted", "GatewayClass", "clearway", |class| {
        condition(&class["status"]["conditions"], "Accepted") == "True/Accepted"
    });
    let class = class.await;
    let sorted = json!([{"name": "Gateway"}, {"name": "HTTPRoute"}, {"name": "ReferenceGrant"}, {"name": "TCPRoute"}]);
    assert_eq!(class["status"]["supportedFeatures"], sorted);
    assert_eq!(condition(&class["status"]["conditions"], "SupportedVersion"), "True/SupportedVersion");
    let gateway = lab
        .wait("the Gateway has a status", "Gateway", "gw", |gateway| listener(gateway, "http")["attachedRoutes"] == 1);
    let gateway = gateway.await;
    let https = &listener(&gateway, "https")["conditions"];
    assert_eq!(condition(https, "ResolvedRefs"), "False/InvalidCertificateRef");
    let programmed = listener(&gateway, "http")["conditions"].as_array().unwrap().iter();
    let programmed: Vec<&Value> = programmed.filter(|one| one["type"] == "Programmed").collect();
    assert_eq!(programmed[0]["status"], "Unknown");
    assert_eq!(programmed[0]["message"], "no data plane is attached");
    let route = lab.get("HTTPRoute", "web").await;
    assert_eq!(condition(&parent(&route, OURS)["conditions"], "Accepted"), "True/Accepted");
    assert_eq!(condition(&parent(&route, OURS)["conditions"], "ResolvedRefs"), "False/BackendNotFound");
    assert_eq!(parent(&route, "example.com/other"), &other);
    assert_eq!(lab.get("Gateway", "theirs").await["status"], Value::Null);

    // A Secret that a listener refers to, and a Service that a route refers to.
    lab.create_certificate("cert").await;
    lab.create_service("web").await;
    lab.wait("the certificate is found", "Gateway", "gw", |gateway| {
        condition(&listener(gateway, "https")["conditions"], "ResolvedRefs") == "True/ResolvedRefs"
    })
    .await;
    lab.wait("the Service is found", "HTTPRoute", "web", |route| {
        condition(&parent(route, OURS)["conditions"], "ResolvedRefs") == "True/ResolvedRefs"
    })
    .await;

    // Events that change no status: nothing is written. The last one is about a Gateway of its own, and is waited for.
    let version = async |kind: &str, name: &str| lab.get(kind, name).await["metadata"]["resourceVersion"].clone();
    let before =
        [version("GatewayClass", "clearway").await, version("Gateway", "gw").await, version("HTTPRoute", "web").await];
    lab.create_certificate("unrelated").await;
    lab.create_service("unrelated").await;
    lab.patch("v1", "Service", "web", json!({"metadata": {"labels": {"touched": "yes"}}})).await;
    lab.patch("v1", "Secret", "cert", json!({"metadata": {"labels": {"touched": "yes"}}})).await;
    lab.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "unrelated"}})).await;
    lab.create_gateway("last", "clearway").await;
    lab.wait("the last event was seen", "Gateway", "last", |gateway| {
        condition(&gateway["status"]["conditions"], "Accepted") == "True/Accepted"
    })
    .await;
    let after =
        [version("GatewayClass", "clearway").await, version("Gateway", "gw").await, version("HTTPRoute", "web").await];
    assert_eq!(before, after);

    // A kind of routes that was not served at first.
    lab.serve("tcproutes", "TCPRoute", true).await;
    lab.patch(
        GATEWAY,
        "Gateway",
        "last",
        json!({"spec": {"listeners": [{"name": "tcp", "port": 90, "protocol": "TCP"}]}}),
    )
    .await;
    lab.create(json!({
        "apiVersion": GATEWAY, "kind": "TCPRoute", "metadata": {"name": "tcp", "namespace": "default"},
        "spec": {"parentRefs": [{"name": "last"}], "rules": [{"backendRefs": [{"name": "web", "port": 80}]}]},
    }))
    .await;
    lab.wait("the TCPRoute is accepted", "TCPRoute", "tcp", |route| {
        condition(&parent(route, OURS)["conditions"], "Accepted") == "True/Accepted"
    })
    .await;
    // What is published is what should be: the operator's own status is clean.
    let (code, out, err) = lab.run(&["gateway", "audit", "--controller", OURS]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(!operator.log().contains(" WARN"), "{}", operator.log());
}

#[tokio::test]
async fn a_status_survives_other_writers() {
    let Some(lab) = Lab::start().await else { return };
    lab.create_class("clearway", OURS).await;
    lab.create_gateway("gw", "clearway").await;
    lab.create_service("web").await;
    lab.create_route("web", "gw").await;
    let _operator = lab.operator(lab.cluster.kubeconfig(), "default", &[]);
    let resolved = |route: &Value| condition(&parent(route, OURS)["conditions"], "ResolvedRefs");
    lab.wait("the route has a status", "HTTPRoute", "web", |route| resolved(route) == "True/ResolvedRefs").await;
    // Another writer changes the object all the time, and so does what its status depends on.
    let (routes, services) =
        (lab.api(GATEWAY, "HTTPRoute", Some("default")), lab.api("v1", "Service", Some("default")));
    let touch = async {
        for number in 0..100 {
            let patch = json!({"metadata": {"annotations": {"touched": number.to_string()}}});
            routes.patch("web", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
        }
    };
    let change = async {
        for _ in 0..10 {
            services.delete("web", &DeleteParams::default()).await.unwrap();
            lab.create_service("web").await;
        }
        services.delete("web", &DeleteParams::default()).await.unwrap();
    };
    futures::join!(touch, change);
    lab.wait("the last change is seen", "HTTPRoute", "web", |route| resolved(route) == "False/BackendNotFound").await;
    // An entry of ours that another writer removes is written again, and foreign entries stay.
    let foreign = json!({"parentRef": {"name": "x"}, "controllerName": "example.com/other", "conditions": []});
    lab.patch(GATEWAY, "HTTPRoute", "web", json!({"status": {"parents": [foreign]}})).await;
    let route =
        lab.wait("the entry is written again", "HTTPRoute", "web", |route| resolved(route) == "False/BackendNotFound");
    assert_eq!(parent(&route.await, "example.com/other"), &foreign);
}

#[tokio::test]
async fn a_class_of_another_controller_is_refused() {
    let Some(lab) = Lab::start().await else { return };
    lab.create_class("theirs", "example.com/other").await;
    let line = ["operator", "--namespace", "default", "--status-listen", "127.0.0.1:0", "--gateway-class", "theirs"];
    let (code, out, err) = lab.run(&line);
    let why = "GatewayClass theirs belongs to controller example.com/other, so its status is not written here; name a class \
               with spec.controllerName clearway.dev/gateway-status";
    assert_eq!(code, 3, "{out}{err}");
    assert!(err.contains(why), "{out}{err}");
    assert_eq!(lab.get("GatewayClass", "theirs").await["status"], Value::Null);

    // The same for a class that appears while the operator runs.
    let mut operator = lab.operator(lab.cluster.kubeconfig(), "default", &[]);
    wait_until(IN_TIME, "all objects are known", async || operator.log().contains("all objects are known"))
        .await
        .unwrap();
    lab.create_class("clearway", "example.com/other").await;
    wait_until(IN_TIME, "the operator ends", async || operator.exit_code().is_some()).await.unwrap();
    assert!(
        operator.log().contains("GatewayClass clearway belongs to controller example.com/other"),
        "{}",
        operator.log()
    );
    assert_eq!(lab.get("GatewayClass", "clearway").await["status"], Value::Null);
}
