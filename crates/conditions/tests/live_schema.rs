//! The schema of a list of conditions, held to by a real API server (K1, G2): what the model writes is stored as written,
//! what breaks the conventions is refused, and two controllers do not overwrite each other's conditions.

use clearway_conditions::model::{Conditions, Pass, Verdict};
use clearway_conditions::{condition_set, reason};
use clearway_core::{Generation, Timestamp};
use clearway_testbed::{ClusterOptions, wait_until};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, CustomResource, CustomResourceExt as _, ResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
#[kube(group = "live.clearway.dev", version = "v1", kind = "Database", namespaced, status = "DatabaseStatus")]
struct DatabaseSpec {
    size: i64,
}

#[derive(Serialize, Deserialize, Clone, Debug, Default, JsonSchema)]
struct DatabaseStatus {
    #[serde(default)]
    conditions: Conditions,
}

condition_set! {
    /// What the first controller says.
    set Store { summary: Ready }
    /// Always present.
    always Aspect {
        /// Clients can connect.
        Reachable: dependent,
        /// Nobody is connected.
        Idle: info,
    }
}

async fn database(client: &Client) -> (Api<Database>, Database) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = definitions.create(&PostParams::default(), &Database::crd()).await.expect("the CRD is accepted");
    let name = definition.name_any();
    wait_until(clearway_testbed::IN_TIME, "the CRD is established", async || {
        let found = definitions.get(&name).await.ok().and_then(|found| found.status).unwrap_or_default();
        let conditions = found.conditions.unwrap_or_default();
        conditions.iter().any(|condition| condition.type_ == "Established" && condition.status == "True")
    })
    .await
    .unwrap();
    let databases: Api<Database> = Api::namespaced(client.clone(), "default");
    let database = Database::new("orders", DatabaseSpec { size: 3 });
    let mut created = databases.create(&PostParams::default(), &database).await;
    // The collection is served a moment after the definition is established.
    wait_until(clearway_testbed::IN_TIME, "the object is created", async || {
        if created.is_err() {
            created = databases.create(&PostParams::default(), &database).await;
        }
        created.is_ok()
    })
    .await
    .unwrap();
    (databases, created.unwrap())
}

async fn apply(databases: &Api<Database>, manager: &str, conditions: &Conditions) -> kube::Result<Database> {
    let status = json!({
        "apiVersion": "live.clearway.dev/v1", "kind": "Database", "metadata": {"name": "orders"},
        "status": {"conditions": conditions},
    });
    databases.patch_status("orders", &PatchParams::apply(manager), &Patch::Apply(&status)).await
}

fn stored(database: &Database) -> Conditions {
    database.status.clone().unwrap_or_default().conditions
}

fn pass(stored: &Conditions, generation: i64, now: &str) -> clearway_conditions::model::Outcome {
    let mut pass =
        Pass::<Store>::begin(stored, Generation::new(generation).unwrap(), now.parse::<Timestamp>().unwrap());
    pass.report(Aspect::Reachable, Verdict::bad(reason!("DbDown"), "Connection refused."));
    pass.report(Aspect::Idle, Verdict::ok());
    pass.finish()
}

#[tokio::test]
async fn an_api_server_holds_everybody_to_the_schema_and_keeps_what_the_model_writes() {
    let Some(cluster) = clearway_testbed::own_cluster(&ClusterOptions::api_only()).await else { return };
    let client = cluster.client().await.unwrap();
    let (databases, created) = database(&client).await;
    let generation = created.metadata.generation.unwrap();

    // What the model writes is stored as written, and looking again changes nothing.
    let first = pass(&stored(&created), generation, "2026-05-04T09:00:00Z");
    let after = apply(&databases, "first", &first.owned).await.expect("the model's status is accepted");
    assert_eq!(stored(&after), first.conditions);
    let again = pass(&stored(&after), generation, "2026-05-04T10:00:00Z");
    assert!(!again.changed && again.transitions.is_empty());

    // A second controller adds its own; the first one's stay, and its next pass counts the other's False (K4).
    let other: Conditions = serde_json::from_value(json!([{
        "type": "backup.example.com/Done", "status": "False", "reason": "Failed", "message": "The bucket is full.",
        "lastTransitionTime": "2026-05-04T09:30:00Z", "observedGeneration": generation,
    }]))
    .unwrap();
    let both = apply(&databases, "second", &other).await.unwrap();
    assert_eq!(stored(&both).entries().len(), first.owned.entries().len() + 1);
    let third = pass(&stored(&both), generation, "2026-05-04T11:00:00Z");
    let last = apply(&databases, "first", &third.owned).await.unwrap();
    assert_eq!(stored(&last), third.conditions);
    let summary = third.conditions.get("Ready").unwrap();
    assert!(summary.message.contains("bucket is full") && summary.message.contains("Connection refused"));

    // What breaks the conventions is refused, whoever sends it.
    let good = json!({
        "type": "Ready", "status": "True", "reason": "AsExpected", "message": "",
        "lastTransitionTime": "2026-05-04T09:00:00Z", "observedGeneration": 1, "severity": "",
    });
    let with = |field: &str, value: Value| {
        let mut condition = good.clone();
        condition[field] = value;
        condition
    };
    let many: Vec<Value> = (0..33).map(|index| with("type", json!(format!("Type{index}")))).collect();
    for (what, list) in [
        ("another status", json!([with("status", json!("maybe"))])),
        ("a reason of several words", json!([with("reason", json!("not one word"))])),
        ("no reason", json!([with("reason", json!(""))])),
        ("a message over the limit", json!([with("message", json!("x".repeat(32_769)))])),
        ("severity Error", json!([with("severity", json!("Error"))])),
        ("a type with a space", json!([with("type", json!("Not Ready"))])),
        ("no time", json!([with("lastTransitionTime", Value::Null)])),
        ("too many", json!(many)),
        ("one type twice", json!([good, good])),
    ] {
        let status = json!({"status": {"conditions": list}});
        let answer = databases.patch_status("orders", &PatchParams::default(), &Patch::Merge(&status)).await;
        assert!(matches!(answer, Err(kube::Error::Api(_))), "{what} is refused: {answer:?}");
    }
}
