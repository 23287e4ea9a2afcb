//! CRDs of a release on a real API server (V7, V8, U23): an update that would lose objects is refused before the first
//! write, with the objects by name, and passes after `clearway bundle migrate`.

use std::fs;

use clearway_testbed::wait_until;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::lab::{Lab, SOON, condition};
use crate::update::{is_completed, namespace, release};

const GROUP: &str = "updated.example.com";

/// The CRD with these versions; objects are stored in the first.
fn crd(versions: &[&str], fields: &[&str]) -> Value {
    let fields: Value = fields.iter().map(|field| (*field, json!({"type": "string"}))).collect();
    let versions: Vec<Value> = versions
        .iter()
        .enumerate()
        .map(|(place, name)| {
            json!({"name": name, "served": true, "storage": place == 0, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": fields}},
            }}})
        })
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{GROUP}")},
        "spec": {"group": GROUP, "scope": "Cluster", "names": {"kind": "Thing", "plural": "things"}, "versions": versions},
    })
}

async fn apply(lab: &Lab, object: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let api = lab.api(&text(&object["apiVersion"]), &text(&object["kind"]));
    let (name, parameters) = (text(&object["metadata"]["name"]), PatchParams::apply("test").force());
    wait_until(SOON, "the kind is served", async || api.patch(&name, &parameters, &Patch::Apply(object)).await.is_ok())
        .await
        .unwrap();
}

#[tokio::test]
async fn an_update_that_drops_a_stored_version_is_refused_until_its_objects_are_migrated() {
    let Some(lab) = Lab::installed_without_controllers("1.0.0", "stable-1").await else { return };
    let name = format!("things.{GROUP}");
    // First stored in v1beta1, then in v1: the API server remembers both.
    apply(&lab, &crd(&["v1beta1", "v1"], &["a", "b"])).await;
    apply(&lab, &crd(&["v1", "v1beta1"], &["a", "b"])).await;
    for number in 0..4 {
        let name = format!("thing-{number}");
        let spec = json!({"a": "x", "b": "y"});
        let thing =
            json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Thing", "metadata": {"name": name}, "spec": spec});
        apply(&lab, &thing).await;
    }
    let crds = lab.api("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let installed = crds.get(&name).await.unwrap();

    lab.patch(json!({"metadata": {"annotations": {"clearway.dev/preflight": "veto"}}})).await;
    let directory = lab.path("1.0.1");
    release(&directory, "1.0.1", &[namespace(), crd(&["v1"], &["a", "b"])]);
    let _operator = lab.operator("operator.log", &[]);
    let ask = json!({"spec": {"desiredUpdate": {"image": directory.display().to_string(), "version": "1.0.1"}}});
    lab.patch(ask).await;
    let accepted = |object: &Value| condition(&object["status"]["conditions"], "ReleaseAccepted");
    let object = lab.until("it is refused", |object| accepted(object).0 == "False").await;
    let (_, reason, message) = accepted(&object);
    assert_eq!(reason, "PreconditionChecks", "{message}");
    let expected = format!(
        "Preflight CRDs: {name}: objects may be stored in v1beta1, which the new CRD does not have; run `clearway bundle \
         migrate {name}` first (thing-0, thing-1, thing-2 and 1 more)"
    );
    assert!(message.contains(&expected), "{message}");
    assert_eq!(object["status"]["history"].as_array().map(Vec::len), Some(1), "nothing has begun");
    let namespaces = lab.api("v1", "Namespace");
    assert!(namespaces.get_opt("shop").await.unwrap().is_none(), "nothing was written");
    let now = crds.get(&name).await.unwrap();
    assert_eq!(now.metadata.generation, installed.metadata.generation, "nothing was written");

    // The same before anybody asks for the update.
    let graph = lab.path("graph.json");
    let nodes = json!([{"version": "1.0.0", "payload": "a"}, {"version": "1.0.1", "payload": "b"}]);
    fs::write(&graph, json!({"nodes": nodes, "edges": [[0, 1]]}).to_string()).unwrap();
    let (graph, release_directory) = (graph.display().to_string(), directory.display().to_string());
    let arguments =
        ["assess", "--graph", &graph, "--channel", "stable-1", "--version", "1.0.0", "--release", &release_directory];
    let (code, text) = lab.run(&arguments);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains(&format!("blocking: {name}: objects may be stored in v1beta1")), "{text}");

    let (code, text) = lab.run(&["bundle", "migrate", &name]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = lab.run(&arguments);
    assert!(code == 0 && text.contains("nothing is lost or refused"), "{code} {text}");
    let object = lab.until("the same request is carried out", |object| is_completed(object, "1.0.1")).await;
    let accepted_risks = object["status"]["history"][0]["acceptedRisks"].as_str().unwrap_or_default().to_owned();
    assert!(!accepted_risks.contains("may be stored in"), "{accepted_risks}");
    let versions = crds.get(&name).await.unwrap().data["spec"]["versions"].as_array().map(Vec::len);
    assert_eq!(versions, Some(1));

    // U12: without a veto, or by force, what is lost is recorded with the update.
    let directory = lab.path("1.0.2");
    release(&directory, "1.0.2", &[namespace(), crd(&["v1"], &["a"])]);
    let ask = json!({"image": directory.display().to_string(), "version": "1.0.2", "force": true});
    lab.patch(json!({"spec": {"desiredUpdate": ask}})).await;
    let object = lab.until("it is forced", |object| is_completed(object, "1.0.2")).await;
    let accepted_risks = object["status"]["history"][0]["acceptedRisks"].as_str().unwrap_or_default();
    let expected = format!("Preflight CRDs: {name}: stored objects would lose spec.b (thing-0: spec.b, ");
    assert!(accepted_risks.contains(&expected), "{accepted_risks}");
}
