//! Channels, and CRDs of others.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::{PINNED, api, bare, create, get, run};

const CRD: &str = "apiextensions.k8s.io/v1";

#[tokio::test]
async fn v2_going_back_to_standard_loses_nothing_unasked() {
    let Some((cluster, client)) = bare().await else { return };
    let here = cluster.kubeconfig();
    let made = run(here, "install --channel experimental --adopt 1.0.0 -o json");
    assert_eq!(made.action("CustomResourceDefinition", "componentversions.clearway.dev"), "created", "{}", made.err);

    // Nothing is stored that standard would lose: the way back is open.
    let back = run(here, "install --channel standard -o json");
    assert_eq!(back.code, 0, "{}", back.err);
    assert_eq!(back.action("CustomResourceDefinition", "componentversions.clearway.dev"), "deleted");
    assert_eq!(back.action("CustomResourceDefinition", "clusterversions.config.openshift.io"), "configured");
    clearway_testbed::wait_until(clearway_testbed::IN_TIME, "the CRD is gone", async || {
        get(&client, CRD, "CustomResourceDefinition", "componentversions.clearway.dev").await.is_none()
    })
    .await
    .unwrap();

    assert_eq!(run(here, "install --channel experimental").code, 0);
    // Who does not name a channel keeps the one that is there.
    let again = run(here, "install -o json");
    assert_eq!(
        again.action("CustomResourceDefinition", "componentversions.clearway.dev"),
        "unchanged",
        "{}",
        again.err
    );
    let versions = api(&client, "config.openshift.io/v1", "ClusterVersion", None);
    let patch = json!({"spec": {"acceptedRisks": [{"name": "Slow", "reason": "tested in staging"}]}});
    versions.patch("version", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    let component = json!({
        "apiVersion": "clearway.dev/v1alpha1", "kind": "ComponentVersion", "metadata": {"name": "mesh"},
        "spec": {"clusterID": "9e8e9d2c-5a37-4b2b-8a3e-0c5a1ad2e2bb"},
    });
    create(&client, component, None).await;

    let refused = run(here, &format!("install --channel standard --image {PINNED} --upstream https://u.example"));
    assert_eq!(refused.code, 1, "{}{}", refused.out, refused.err);
    assert_eq!(
        refused.err.trim(),
        "error: going back to the standard channel would delete experimental fields of ClusterVersion version, ComponentVersion mesh; to delete it, pass --discard-experimental"
    );
    let kept = get(&client, "config.openshift.io/v1", "ClusterVersion", "version").await.unwrap();
    assert_eq!(kept["spec"]["acceptedRisks"][0]["name"], "Slow");
    assert_eq!(run(here, "install --channel standard --discard-experimental").code, 0);
    let crd = get(&client, CRD, "CustomResourceDefinition", "clusterversions.config.openshift.io").await.unwrap();
    assert_eq!(crd["metadata"]["annotations"]["clearway.dev/channel"], "standard");
}

#[tokio::test]
async fn a_foreign_crd_stops_the_installation_before_it_begins() {
    let Some((cluster, client)) = bare().await else { return };
    let theirs = json!({
        "apiVersion": CRD,
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "clusterversions.config.openshift.io",
            "annotations": {"release.openshift.io/feature-set": "Default"},
        },
        "spec": {
            "group": "config.openshift.io",
            "names": {"kind": "ClusterVersion", "plural": "clusterversions"},
            "scope": "Cluster",
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    create(&client, theirs, None).await;
    let name = "clusterversions.config.openshift.io";
    let spec = async || get(&client, CRD, "CustomResourceDefinition", name).await.unwrap()["spec"].clone();
    let before: Value = spec().await;
    let here = cluster.kubeconfig();
    let nothing_is_installed = async || {
        assert_eq!(get(&client, "v1", "Namespace", "clearway").await, None);
        let other = "componentversions.clearway.dev";
        assert_eq!(get(&client, CRD, "CustomResourceDefinition", other).await, None);
    };
    for refused in ["install --channel experimental -o json", "install --adopt 4.16.0", "install --diff"] {
        let refused = run(here, refused);
        assert_eq!(refused.code, 1, "{}{}", refused.out, refused.err);
        assert!(
            refused.err.contains(&format!("nothing was installed: the CRD {name} is not Clearway's")),
            "{}",
            refused.err
        );
        nothing_is_installed().await;
    }
    let adopted = run(here, "install --skip-foreign-crds --adopt 4.16.0");
    assert_eq!(adopted.code, 3);
    assert!(adopted.err.contains("OpenShift's own operator manages the ClusterVersion"), "{}", adopted.err);
    nothing_is_installed().await;

    let made = run(here, "install --skip-foreign-crds --channel experimental -o json");
    assert_eq!(made.code, 0, "{}", made.err);
    assert_eq!(made.action("CustomResourceDefinition", name), "leftAlone");
    assert!(made.out.contains("it is not Clearway's"), "{}", made.out);
    assert_eq!(made.action("CustomResourceDefinition", "componentversions.clearway.dev"), "created");
    let gone = run(here, "uninstall --delete-crds -o json");
    assert_eq!(gone.action("CustomResourceDefinition", name), "leftAlone");
    assert_eq!(spec().await, before);
}
