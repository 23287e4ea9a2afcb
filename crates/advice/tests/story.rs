//! The story the product is made for, in its own words: a vSphere cluster with virtual hardware 14 behind a proxy.
//!
//! Three risks on one update apply, one target cannot be told, others are recommended (U5, U10, U11, U14).

use crate::fixtures::{self, now, series, snapshot, version};
use clearway_advice::{Plan, Settings, Status, render};
use clearway_core::{Limits, Version};
use clearway_graph::wire;
use serde_json::{Value, json};

const PROVIDER: &str =
    "cluster_infrastructure_provider{type=~\"VSphere|None\"}\nor\n0 * cluster_infrastructure_provider";

fn risk(name: &str, url: &str, message: &str, query: &str) -> Value {
    json!({"url": url, "name": name, "message": message, "matchingRules": [{"type": "PromQL", "promql": {"promql": query}}]})
}

fn story() -> Value {
    let versions = ["4.6.23", "4.6.30", "4.6.40", "4.6.42", "4.6.43", "4.6.99-example", "4.7.4"];
    let nodes: Vec<Value> = versions
        .iter()
        .map(|version| json!({"version": version, "payload": format!("quay.io/openshift-release-dev/ocp-release:{version}")}))
        .collect();
    let conditional = |to: &str, risks: Vec<Value>| json!({"edges": [{"from": "4.6.23", "to": to}], "risks": risks});
    json!({
        "nodes": nodes,
        "edges": [[0, 3], [0, 4]],
        "conditionalEdges": [
            conditional("4.7.4", vec![
                risk(
                    "VSphereNodeNameChanges",
                    "https://bugzilla.redhat.com/show_bug.cgi?id=1942207#c3",
                    "vSphere clusters leveraging the vSphere cloud provider may lose node names which can have serious impacts on the stability of the control plane and workloads.",
                    PROVIDER,
                ),
                risk(
                    "AuthOAuthProxyLeakedConnections",
                    "https://bugzilla.redhat.com/show_bug.cgi?id=1941840#c33",
                    "On clusters with a Proxy configured, the authentication operator may keep many oauth-server connections open, resulting in high memory consumption by the authentication operator and router pods.",
                    "max(cluster_proxy_enabled{type=~\"https?\"})",
                ),
                risk(
                    "VSphereHW14CrossNodeNetworkingError",
                    "https://access.redhat.com/solutions/5896081",
                    "Clusters on vSphere Virtual Hardware Version 14 and later may experience cross-node networking issues.",
                    PROVIDER,
                ),
            ]),
            conditional("4.6.99-example", vec![risk(
                "ExampleReason",
                "https://example.com/ExampleReason",
                "An example.",
                "max(example_metric)",
            )]),
            conditional("4.6.40", vec![risk(
                "AWSOldBootImages",
                "https://example.com/AWSOldBootImages",
                "Old boot images do not start on AWS.",
                "group(cluster_infrastructure_provider{type=\"AWS\"}) or 0 * group(cluster_infrastructure_provider)",
            )]),
            conditional("4.6.30", vec![risk(
                "ThanosDNSUnmarshalError",
                "https://access.redhat.com/solutions/6092191",
                "The monitoring operator goes Degraded=True when the user monitoring workflow is enabled due to DNS changes.",
                "group(cluster_monitoring_user_workload == 1) or 0 * group(cluster_version)",
            )]),
        ],
    })
}

const CLUSTER: &str = "\
cluster_infrastructure_provider{type=\"VSphere\"} 1
cluster_proxy_enabled{type=\"http\"} 0
cluster_proxy_enabled{type=\"https\"} 1
cluster_monitoring_user_workload 1
cluster_version{type=\"current\"} 1
";

#[test]
fn the_cluster_of_the_story_is_told_what_the_story_says() {
    let reading = wire::read(story().to_string().as_bytes(), &Limits::default());
    assert!(reading.diagnostics.is_empty());
    let plan = Plan::new(&reading.graph.unwrap(), &version("4.6.23"), &Settings::default()).unwrap();
    // Two risks of one target have the same query: it is asked once, and those of the newest target first.
    assert_eq!(
        plan.questions().iter().map(|question| question.text()).collect::<Vec<_>>(),
        [
            "max(cluster_proxy_enabled{type=~\"https?\"})",
            "cluster_infrastructure_provider{type=~\"VSphere|None\"} or 0 * cluster_infrastructure_provider",
            "max(example_metric)",
            "group(cluster_infrastructure_provider{type=\"AWS\"}) or 0 * group(cluster_infrastructure_provider)",
            "group(cluster_monitoring_user_workload == 1) or 0 * group(cluster_version)",
        ]
    );
    let store = series(CLUSTER);
    let assessment = plan.assess(&snapshot(&store), now());
    let order: Vec<String> = assessment
        .updates
        .iter()
        .map(|update| format!("{} {} {}", update.version, update.recommended.status, update.recommended.reason))
        .collect();
    assert_eq!(
        order,
        [
            "4.7.4 False MultipleReasons",
            "4.6.99-example Unknown PromQLError",
            "4.6.43 True NoKnownRisks",
            "4.6.42 True NoKnownRisks",
            "4.6.40 True NotExposedToRisks",
            "4.6.30 False ThanosDNSUnmarshalError",
        ]
    );
    let update = |text: &str| assessment.update(&version(text)).unwrap();
    assert_eq!(
        update("4.7.4").recommended.message,
        "On clusters with a Proxy configured, the authentication operator may keep many oauth-server connections open, resulting in high memory consumption by the authentication operator and router pods. https://bugzilla.redhat.com/show_bug.cgi?id=1941840#c33

Clusters on vSphere Virtual Hardware Version 14 and later may experience cross-node networking issues. https://access.redhat.com/solutions/5896081

vSphere clusters leveraging the vSphere cloud provider may lose node names which can have serious impacts on the stability of the control plane and workloads. https://bugzilla.redhat.com/show_bug.cgi?id=1942207#c3"
    );
    let evaluating = update("4.7.4").evaluating.as_ref().unwrap();
    assert_eq!(
        (evaluating.status, evaluating.message.as_str()),
        (Status::True, "Periodically evaluating risks associated with this update.")
    );
    assert!(update("4.6.99-example").recommended.message.starts_with(
        "Unable to evaluate PromQL to determine if the cluster is impacted by ExampleReason. https://example.com/ExampleReason"
    ));
    assert_eq!(
        update("4.6.30").recommended.message,
        "The monitoring operator goes Degraded=True when the user monitoring workflow is enabled due to DNS changes. https://access.redhat.com/solutions/6092191"
    );
    let recommended: Vec<&Version> = assessment.with_status(Status::True).map(|update| &update.version).collect();
    assert_eq!(recommended, [&version("4.6.43"), &version("4.6.42"), &version("4.6.40")]);
}

#[test]
fn the_proof_of_the_story_reads_well() {
    let graph = fixtures::graph(&story());
    let store = series(CLUSTER);
    let plan = Plan::new(&graph, &version("4.6.23"), &Settings::default()).unwrap().with_revision("sha256:0123");
    let assessment = plan.assess(&snapshot(&store), now());
    fixtures::golden("story.txt", &render::assessment(&assessment));
    fixtures::golden("story.json", &(assessment.to_json() + "\n"));
}
