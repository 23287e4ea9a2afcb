//! The operator's console in a real browser, about a real control plane.

use std::path::Path;

use clearway_testbed::{Browser, ClusterOptions, browser, http, prometheus, wait_until};
use serde_json::json;

use crate::lab::{Lab, SOON, available, free_port, serve};

pub(crate) const STORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/story/graph-data");
pub(crate) const METRICS: &str = "vsphere_node_hw_version_total{hw_version=\"vmx-14\"} 3
cluster_infrastructure_provider{type=\"VSphere\"} 1
cluster_proxy_enabled{type=\"https\"} 1
cluster_version{type=\"current\",version=\"4.6.23\"} 1
";

/// Writes a picture of the page, if pictures are wanted.
pub(crate) async fn picture(browser: &Browser, name: &str) {
    if let Some(directory) = std::env::var_os("CLEARWAY_SCREENSHOTS") {
        let picture = browser.screenshot().await.unwrap();
        std::fs::write(Path::new(&directory).join(format!("console-{name}.png")), picture).unwrap();
    }
}

/// A kind of constraints, and one of them that was audited.
async fn constraint(lab: &Lab) {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    lab.create(&json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "k8srequiredlabels.constraints.gatekeeper.sh"},
        "spec": {
            "group": "constraints.gatekeeper.sh", "scope": "Cluster",
            "names": {"kind": "K8sRequiredLabel", "plural": "k8srequiredlabels"},
            "versions": [{"name": "v1beta1", "served": true, "storage": true, "schema": {"openAPIV3Schema": open}}],
        },
    }))
    .await;
    let api = lab.api("constraints.gatekeeper.sh/v1beta1", "K8sRequiredLabel");
    wait_until(SOON, "the kind is served", async || api.list(&kube::api::ListParams::default()).await.is_ok())
        .await
        .unwrap();
    lab.create(&json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "K8sRequiredLabel",
        "metadata": {"name": "must-have-owner"},
        "spec": {"enforcementAction": "deny"},
        "status": {
            "auditTimestamp": "2026-01-01T00:00:00Z", "totalViolations": 1,
            "violations": [{"kind": "Namespace", "name": "<script>alert(1)</script>", "message": "you must provide labels: {\"owner\"}"}],
        },
    }))
    .await;
}

#[tokio::test]
async fn the_console_shows_the_cluster_its_updates_and_their_proofs() {
    let Some(lab) = Lab::open(&ClusterOptions::api_only(), "standard", "4.6.23", "stable-4.6").await else { return };
    let Some(metrics) = prometheus(METRICS).await else { return };
    let Some(browser) = browser().await else { return };
    constraint(&lab).await;
    let (_service, url) = serve(Path::new(STORY), lab.path("serve.log")).await;
    let port = free_port();
    let (listen, base) = (format!("127.0.0.1:{port}"), metrics.base_url());
    let options = ["--upstream", &url, "--prometheus", &base, "--console-listen", &listen];
    let _operator = lab.operator("operator.log", &options);
    lab.until("there is advice", |object| !available(object).is_empty()).await;
    let overview = format!("http://{listen}/console/");
    wait_until(SOON, "the console shows it", async || {
        http::get(port, "/console/").await.is_ok_and(|answer| answer.body.contains("4.6.99-example"))
    })
    .await
    .unwrap();

    browser.resize(1280, 900).await.unwrap();
    browser.open(&overview).await.unwrap();
    let text = browser.text("main").await.unwrap();
    for wanted in ["ClusterVersion version", "4.6.23", "stable-4.6", "Recommended", "Known issue", "Unknown", " ago"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    picture(&browser, "cluster").await;
    browser.follow("table a[href*='4.7.4']").await.unwrap();
    assert_eq!(browser.text("h1").await.unwrap(), "Update to 4.7.4");
    let proof = browser.text("main").await.unwrap();
    for wanted in [
        "Known issue",
        "Applies to this cluster",
        "This rule decided.",
        "PromQL",
        "Value",
        "Source",
        "To see it yourself",
    ] {
        assert!(proof.contains(wanted), "{wanted}: {proof}");
    }
    picture(&browser, "proof").await;
    let update = browser.url().await.unwrap();
    let page = |path: &str| format!("{overview}{path}");
    let forms = browser.run("return document.querySelectorAll('form').length").await.unwrap();
    assert_eq!(forms, 0, "without --console-changes nothing can be sent");
    let sent = http::post(port, "/console/start-update", "").await.unwrap();
    assert_eq!(sent.status, 405, "{}", sent.body);
    let pages =
        [overview.clone(), update, page("risks"), page("policies"), page("bundles"), page("gateways"), page("health")];
    for dark in [false, true] {
        browser.prefer_dark(dark).await.unwrap();
        for address in &pages {
            browser.open(address).await.unwrap();
            let violations = browser.accessibility_violations().await.unwrap();
            assert_eq!(violations, [""; 0], "{address}, dark: {dark}");
        }
    }
    browser.prefer_dark(false).await.unwrap();
    browser.open(&page("policies")).await.unwrap();
    let policies = browser.text("main").await.unwrap();
    assert!(policies.contains("must-have-owner") && policies.contains("1 violations"), "{policies}");
    assert!(policies.contains("<script>alert(1)</script>: you must provide labels"), "{policies}");
    browser.open(&page("risks")).await.unwrap();
    let risks = browser.text("section[aria-label='VSphereNodeNameChanges']").await.unwrap();
    assert!(risks.contains("ClusterVersion version") && risks.contains("Applies to this cluster"), "{risks}");
    browser.open(&page("bundles")).await.unwrap();
    assert!(browser.text("main").await.unwrap().contains("config.openshift.io"));
    browser.open(&page("health")).await.unwrap();
    let health = browser.text("main").await.unwrap();
    assert!(health.contains("This replica is the leader.") && health.contains("It answers."), "{health}");
    assert!(browser.log().await.unwrap().is_empty());

    // A source that goes away is named.
    metrics.process().kill();
    wait_until(SOON, "the console names the metrics store", async || {
        http::get(port, "/console/health").await.is_ok_and(|answer| answer.body.contains("Not working"))
    })
    .await
    .unwrap();
}
