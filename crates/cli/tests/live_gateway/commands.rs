//! `gateway status`, `gateway audit` and `gateway diff` on a cluster, and `gateway audit` on a snapshot of it.

use serde_json::{Value, json};

use super::lab::{GATEWAY, Lab, run};

const CONTROLLER: &str = "example.com/controller";

#[tokio::test]
async fn commands_read_a_cluster_and_a_snapshot_of_it() {
    let Some(lab) = Lab::start().await else { return };
    lab.create_class("public", CONTROLLER).await;
    lab.create_gateway("gw", "public").await;
    lab.create_route("web", "gw").await;
    lab.create_certificate("cert").await;

    // G5: what each object should report.
    let (code, out, err) = lab.run(&["gateway", "status", "-o", "json"]);
    assert_eq!(code, 0, "{err}");
    let list: Value = serde_json::from_str(&out).unwrap();
    let items = list["items"].as_array().unwrap();
    let of = |kind: &str| items.iter().find(|one| one["kind"] == kind).unwrap_or_else(|| panic!("no {kind}: {out}"));
    assert_eq!(of("Gateway")["status"]["listeners"][0]["attachedRoutes"], 1);
    assert!(of("HTTPRoute").to_string().contains("HTTPRoute default/web → Service default/web: not found"), "{out}");

    // A status that says something else than it should is found.
    let published = json!({"status": {"parents": [{
        "parentRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "gw", "sectionName": "http"},
        "controllerName": CONTROLLER,
        "conditions": [
            {"type": "Accepted", "status": "True", "reason": "Accepted", "message": "", "observedGeneration": 1,
             "lastTransitionTime": "2026-05-04T09:00:00Z"},
            {"type": "ResolvedRefs", "status": "True", "reason": "ResolvedRefs", "message": "", "observedGeneration": 1,
             "lastTransitionTime": "2026-05-04T09:00:00Z"},
        ],
    }]}});
    lab.patch(GATEWAY, "HTTPRoute", "web", published).await;
    let codes = |out: &str, name: &str| -> Vec<String> {
        let findings: Value = serde_json::from_str(out).unwrap_or_else(|error| panic!("{error}: {out}"));
        let all = findings["findings"].as_array().or(findings.as_array()).cloned().unwrap_or_default();
        let about = all.iter().filter(|one| one.to_string().contains(name));
        about.map(|one| one["code"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let (code, out, err) = lab.run(&["gateway", "audit", "-o", "json"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(codes(&out, "HTTPRoute").contains(&"GS002".to_owned()), "{out}");
    assert!(codes(&out, "Gateway").contains(&"GS001".to_owned()), "nothing is published of the Gateway: {out}");

    // The same findings about the route from a snapshot, which has no Secrets.
    let directory = lab.directory.path().join("snapshot");
    let directory = directory.to_str().unwrap();
    let group = "gateway.networking.k8s.io";
    let collected = ["snapshot", "collect", "--no-graph", "--bundle", group, "--output-dir", directory];
    let (code, out, err) = lab.run(&collected);
    assert_eq!(code, 0, "{out}{err}");
    let (code, out, err) = run(&["gateway", "audit", "--snapshot", directory, "-o", "json"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(codes(&out, "HTTPRoute").contains(&"GS002".to_owned()), "{out}{err}");

    // What a change would do.
    let change = lab.directory.path().join("change.yaml");
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"ports": [{"port": 80}]},
    });
    std::fs::write(&change, service.to_string()).unwrap();
    let (code, out, err) = lab.run(&["gateway", "diff", "-f", change.to_str().unwrap(), "-o", "json"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("default/web"), "{out}");
    let gateway = json!({
        "apiVersion": GATEWAY, "kind": "Gateway", "metadata": {"name": "gw", "namespace": "default"},
        "spec": {"gatewayClassName": "public", "listeners": [{"name": "other", "port": 80, "protocol": "HTTP"}]},
    });
    std::fs::write(&change, gateway.to_string()).unwrap();
    let (code, out, err) = lab.run(&["gateway", "diff", "-f", change.to_str().unwrap()]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("default/web"), "{out}");
}
