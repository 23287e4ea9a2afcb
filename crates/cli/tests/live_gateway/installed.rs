//! The operator with the account that `install --gateway-class` makes.

use kube::Client;
use kube::api::{ListParams, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;

use super::lab::{GATEWAY, Lab, condition};

const IMAGE: &str = "example.com/clearway@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const NAME: &str = "clearway-gateway-status";

#[tokio::test]
async fn the_rights_of_the_installation_are_enough_and_no_more() {
    let Some(mut lab) = Lab::start().await else { return };
    let (code, out, err) =
        lab.run(&["install", "--gateway-class", "clearway", "--address", "192.0.2.1", "--image", IMAGE]);
    assert_eq!(code, 0, "{out}{err}");
    let deployments = lab.api("apps/v1", "Deployment", Some("clearway"));
    let deployment = serde_json::to_value(deployments.get(NAME).await.unwrap()).unwrap();
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], NAME);
    let arguments = pod["containers"][0]["args"].as_array().unwrap();
    assert!(
        arguments.contains(&json!("--gateway-class=clearway")) && arguments.contains(&json!("--address=192.0.2.1"))
    );

    let kubeconfig = lab.cluster.kubeconfig_for_service_account("clearway", NAME).await.unwrap();
    lab.create_class("clearway", "clearway.dev/gateway-status").await;
    lab.create_gateway("gw", "clearway").await;
    lab.create_certificate("cert").await;
    lab.create_service("web").await;
    lab.create_route("web", "gw").await;
    let operator = lab.operator(&kubeconfig, "clearway", &["--assume-programmed", "--address", "192.0.2.1"]);
    let gateway = lab.wait("the Gateway is programmed", "Gateway", "gw", |gateway| {
        let https = &gateway["status"]["listeners"][1];
        condition(&https["conditions"], "ResolvedRefs") == "True/ResolvedRefs"
            && condition(&gateway["status"]["conditions"], "Programmed") == "True/Programmed"
    });
    assert_eq!(gateway.await["status"]["addresses"], json!([{"type": "IPAddress", "value": "192.0.2.1"}]));
    lab.wait("the route is accepted", "HTTPRoute", "web", |route| {
        condition(&route["status"]["parents"][0]["conditions"], "ResolvedRefs") == "True/ResolvedRefs"
    })
    .await;
    assert!(!operator.log().contains("not allowed"), "{}", operator.log());
    drop(operator);

    // What the account cannot do.
    let admin = lab.client.clone();
    let config = Kubeconfig::read_from(&kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    lab.client = Client::try_from(config).unwrap();
    let is_forbidden = |error: &kube::Error| matches!(error, kube::Error::Api(status) if status.code == 403);
    let secrets = lab.api("v1", "Secret", Some("default"));
    assert!(secrets.get("cert").await.is_ok(), "a Secret is read by name");
    assert!(is_forbidden(&secrets.list(&ListParams::default()).await.unwrap_err()), "Secrets are not listed");
    assert!(is_forbidden(&secrets.list_metadata(&ListParams::default()).await.unwrap_err()));
    let routes = lab.api(GATEWAY, "HTTPRoute", Some("default"));
    let patch = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
    assert!(is_forbidden(&routes.patch("web", &PatchParams::default(), &patch).await.unwrap_err()));
    let versions = lab.api("config.openshift.io/v1", "ClusterVersion", None);
    assert!(is_forbidden(&versions.list(&ListParams::default()).await.unwrap_err()));
    lab.client = admin;

    // It is kept when install runs again, removed when it is unset, and by uninstall.
    let (code, out, _) = lab.run(&["install", "-o", "json"]);
    assert!(code == 0 && out.contains("\"gateway-class\""), "{out}");
    assert!(lab.api("apps/v1", "Deployment", Some("clearway")).get_opt(NAME).await.unwrap().is_some());
    let left = async |lab: &Lab| {
        let roles = lab.api("rbac.authorization.k8s.io/v1", "ClusterRole", None);
        let accounts = lab.api("v1", "ServiceAccount", Some("clearway"));
        let deployments = lab.api("apps/v1", "Deployment", Some("clearway"));
        [
            roles.get_opt(NAME).await.unwrap().is_some(),
            accounts.get_opt(NAME).await.unwrap().is_some(),
            deployments.get_opt(NAME).await.unwrap().is_some_and(|one| one.metadata.deletion_timestamp.is_none()),
        ]
    };
    let (code, out, err) = lab.run(&["install", "--unset", "gateway-class"]);
    assert_eq!((code, left(&lab).await), (0, [false; 3]), "{out}{err}");
    let (code, out, err) = lab.run(&["install", "--gateway-class", "clearway"]);
    assert_eq!((code, left(&lab).await), (0, [true; 3]), "{out}{err}");
    let (code, out, err) = lab.run(&["uninstall"]);
    assert_eq!((code, left(&lab).await), (0, [false; 3]), "{out}{err}");
}
