//! `install update-service`: two replicas on a real control plane, settings that are kept, and what stays when one part goes.

use std::path::Path;

use clearway_testbed::{ClusterOptions, own_cluster};
use serde_json::{Value, json};

use super::{PINNED, api, bare, create, get, run};

const NAMESPACE: &str = "clearway-update-service";

#[tokio::test]
async fn two_replicas_come_up_and_settings_are_kept() {
    let Some(cluster) = own_cluster(&ClusterOptions { nodes: 2, ..ClusterOptions::default() }).await else { return };
    let (here, client) = (cluster.kubeconfig(), cluster.client().await.unwrap());
    let install = format!("install update-service --image {PINNED} --graph oci://r.example/graph-data:stable");
    let diff = run(here, &format!("{install} --diff -o json"));
    assert_eq!((diff.code, diff.err.as_str()), (0, ""), "{}", diff.out);
    assert_eq!(get(&client, "v1", "Namespace", NAMESPACE).await, None, "a difference makes nothing");
    let made = run(here, &format!("{install} --refresh 1m -o json"));
    assert_eq!(made.objects(), diff.objects(), "and says what will be");
    let data: Value = serde_json::from_str(&made.out).unwrap();
    assert_eq!(data["address"], "http://clearway-update-service.clearway-update-service.svc/api/upgrades_info");

    // On simulated nodes, with every admission plugin and the real controllers; the namespace is restricted.
    let deployments = api(&client, "apps/v1", "Deployment", Some(NAMESPACE));
    let budgets = api(&client, "policy/v1", "PodDisruptionBudget", Some(NAMESPACE));
    clearway_testbed::wait_until(clearway_testbed::IN_TIME, "both replicas are there", async || {
        let deployment = deployments.get(NAMESPACE).await.unwrap();
        let budget = budgets.get(NAMESPACE).await.unwrap();
        deployment.data["status"]["availableReplicas"] == 2 && budget.data["status"]["disruptionsAllowed"] == 1
    })
    .await
    .unwrap();

    let again = run(here, "install update-service --upstream https://u.example --unset refresh");
    assert_eq!(again.code, 0, "{}", again.err);
    let table = again.out.split_once("\n\n").unwrap().1;
    let want =
        "SETTING     BEFORE     NOW\n--refresh   1m         (not set)\n--upstream  (not set)  https://u.example\n";
    assert_eq!(table, want, "{}", again.out);
    let arguments =
        deployments.get(NAMESPACE).await.unwrap().data["spec"]["template"]["spec"]["containers"][0]["args"].to_string();
    assert!(
        arguments.contains("--graph=oci://r.example/graph-data:stable"),
        "what was given before stays: {arguments}"
    );

    let gone = run(here, "uninstall update-service -o json");
    assert_eq!((gone.code, gone.actions()), (0, vec!["deleted".to_owned()]), "{}", gone.err);
}

#[tokio::test]
async fn operator_and_update_service_go_one_by_one() {
    let Some((cluster, client)) = bare().await else { return };
    let here = cluster.kubeconfig();
    assert_eq!(run(here, "install --namespace shared").code, 0);
    assert_eq!(run(here, "install update-service --namespace shared --graph-config-map data").code, 0);
    let gone = run(here, "uninstall --namespace shared -o json");
    assert_eq!(gone.action("Namespace", "shared"), "leftAlone", "{}", gone.out);
    assert!(gone.out.contains("clearway-update-service runs in it"), "{}", gone.out);
    let service = run(here, "uninstall update-service --namespace shared -o json");
    assert_eq!(service.action("Namespace", "shared"), "deleted", "{}", service.out);

    // What Helm installed is Helm's.
    create(&client, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "helm"}}), None).await;
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "clearway-operator", "labels": {"app.kubernetes.io/managed-by": "Helm"}},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "operator", "image": "i"}]}},
        },
    });
    create(&client, deployment, Some("helm")).await;
    let refused = run(here, "install --namespace helm");
    assert_eq!(refused.code, 3, "{}", refused.out);
    assert!(
        refused.err.contains("Helm manages the Deployment clearway-operator in the namespace helm"),
        "{}",
        refused.err
    );
    let adopted = run(here, "install --namespace helm --adopt 1.4.2 --adopt-only -o json");
    assert_eq!(adopted.action("ClusterVersion", "version"), "created", "{}", adopted.err);
    assert_eq!(adopted.objects().len(), 1, "and nothing else: {}", adopted.out);
}

#[test]
fn what_cannot_be_served_is_refused_before_anything_is_made() {
    for (options, why) in [
        ("", "nothing to serve: pass --graph oci://HOST/PATH:TAG, --graph-config-map NAME, or --upstream URL"),
        ("--graph ./graph-data", "pods read graph-data from a registry (oci://HOST/PATH:TAG)"),
        ("--graph-config-map data --mirror stable", "required arguments were not provided"),
        ("--graph-config-map data --refresh soon", "`soon` is not a duration"),
        ("--graph-config-map data --unset upstraem", "`upstraem` is not the name of a setting"),
    ] {
        let said = run(Path::new("/nowhere/kubeconfig"), &format!("install update-service {options} --dry-run"));
        assert_eq!(said.code, 3, "{options}");
        assert!(said.err.contains(why), "{options}: {}", said.err);
    }
}
