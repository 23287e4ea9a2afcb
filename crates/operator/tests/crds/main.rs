//! The CRDs of both channels on a real API server: they are taken, they look as clients expect, and what
//! `clearway_bundle::CrdSchema` says of objects is what the server does with them (U6, U15, V1, V2).

mod differential;
mod mutate;
mod objects;
mod rules;
mod zoo;

use std::time::Duration;

use clearway_bundle::{Channel, Installed};
use clearway_testbed::{Cluster, ClusterOptions, own_cluster, wait_until};
use clearway_update::api;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

const SOON: Duration = clearway_testbed::IN_TIME;

/// Applies a CRD, and waits until it is served.
async fn install(client: &Client, crd: &Value) {
    let kind = ApiResource {
        group: "apiextensions.k8s.io".into(),
        version: "v1".into(),
        api_version: "apiextensions.k8s.io/v1".into(),
        kind: "CustomResourceDefinition".into(),
        plural: "customresourcedefinitions".into(),
    };
    let crds: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    let name = crd["metadata"]["name"].as_str().unwrap();
    let applied = crds.patch(name, &PatchParams::apply("test").force(), &Patch::Apply(crd)).await.unwrap();
    let generation = applied.metadata.generation;
    wait_until(SOON, &format!("{name} is established"), async || {
        let Ok(found) = crds.get(name).await else { return false };
        let conditions = found.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let is = |type_: &str| conditions.iter().any(|one| one["type"] == type_ && one["status"] == "True");
        assert!(!is("NonStructuralSchema"), "{conditions:?}");
        is("Established") && is("NamesAccepted") && found.metadata.generation == generation
    })
    .await
    .unwrap();
}

fn resource(crd: &Value) -> ApiResource {
    let text = |path: &str| crd.pointer(path).and_then(Value::as_str).unwrap().to_owned();
    let (group, version) = (text("/spec/group"), text("/spec/versions/0/name"));
    ApiResource {
        api_version: format!("{group}/{version}"),
        group,
        version,
        kind: text("/spec/names/kind"),
        plural: text("/spec/names/plural"),
    }
}

async fn api_only() -> Option<Cluster> {
    own_cluster(&ClusterOptions::api_only()).await
}

#[test]
fn v2_both_channels_come_from_one_source() {
    let names = |channel| -> Vec<String> {
        let crds = api::crds(channel).unwrap();
        crds.iter().map(|crd| crd["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(Channel::Standard), ["clusterversions.config.openshift.io"]);
    assert_eq!(names(Channel::Experimental), ["clusterversions.config.openshift.io", "componentversions.clearway.dev"]);
    let rules = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/conditionalUpdates/items/properties\
                 /risks/items/properties/matchingRules/items/properties";
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let types = json!(["Always", "PromQL"]);
    for (channel, extra) in [(Channel::Standard, false), (Channel::Experimental, true)] {
        for crd in api::crds(channel).unwrap() {
            // U7: the standard channel keeps the seed's validation, the experimental one stores any rule.
            assert_eq!(crd.pointer(&format!("{rules}/type/enum")), (!extra).then_some(&types), "{channel}");
            let list = rules.strip_suffix("/items/properties").unwrap();
            assert_eq!(crd.pointer(&format!("{list}/minItems")), (!extra).then_some(&json!(1)), "{channel}");
            let kept = crd.pointer(&format!("{list}/items/x-kubernetes-preserve-unknown-fields"));
            assert_eq!(kept, extra.then_some(&json!(true)), "{channel}");
        }
        let crd = &api::crds(channel).unwrap()[0];
        assert_eq!(crd.pointer(&format!("{spec}/desiredUpdate/properties/acceptRisks")).is_some(), extra, "{channel}");
        assert_eq!(crd.pointer(&format!("{rules}/rollout")).is_some(), extra, "{channel}");
        assert_eq!(crd.pointer(&format!("{spec}/acceptedRisks")).is_some(), extra, "{channel}");
        let ours = Installed::Ours { channel: Some(channel), bundle_version: "0.1.0".to_owned() };
        assert_eq!(Installed::of(crd), ours);
        assert!(!crd.to_string().contains("x-clearway"), "the mark itself is not written");
    }
    let foreign = json!({"metadata": {"annotations": {"release.openshift.io/feature-set": "Default"}}});
    assert_eq!(Installed::of(&foreign), Installed::Foreign);
}

#[test]
fn every_field_is_described() {
    fn look(schema: &Value, path: &str, bare: &mut Vec<String>) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            if property["description"].as_str().is_none_or(|text| text.is_empty() || text.trim() != text) {
                bare.push(path.clone());
            }
            look(property, &path, bare);
            look(&property["items"], &path, bare);
        }
    }
    for crd in api::crds(Channel::Experimental).unwrap() {
        let mut bare = Vec::new();
        look(&crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"], "", &mut bare);
        assert_eq!(bare, [".metadata"]);
    }
}

#[test]
fn openshifts_required_and_nullable_fields_are_ours() {
    let crd = &api::crds(Channel::Standard).unwrap()[0];
    let at = |path: &str| crd.pointer(&format!("/spec/versions/0/schema/openAPIV3Schema/properties/{path}"));
    for (path, want) in [
        ("spec/required", json!(["clusterID"])),
        ("status/required", json!(["availableUpdates", "desired", "observedGeneration", "versionHash"])),
        ("status/properties/availableUpdates/nullable", json!(true)),
        ("status/properties/history/items/properties/completionTime/nullable", json!(true)),
        (
            "status/properties/history/items/required",
            json!(["completionTime", "image", "startedTime", "state", "verified"]),
        ),
        ("status/properties/desired/required", json!(["image", "version"])),
        ("status/properties/conditions/items/required", json!(["lastTransitionTime", "status", "type"])),
        ("status/properties/conditions/x-kubernetes-list-map-keys", json!(["type"])),
        ("status/properties/conditionalUpdates/maxItems", json!(500)),
        ("status/properties/conditionalUpdates/items/required", json!(["release", "risks"])),
        ("status/properties/conditionalUpdates/items/properties/risks/minItems", json!(1)),
        ("status/properties/conditionalUpdates/items/properties/risks/maxItems", json!(200)),
        (
            "status/properties/conditionalUpdates/items/properties/risks/items/required",
            json!(["matchingRules", "message", "name", "url"]),
        ),
        ("spec/properties/overrides/x-kubernetes-list-map-keys", json!(["kind", "group", "namespace", "name"])),
    ] {
        assert_eq!(at(path), Some(&want), "{path}");
    }
    for path in ["status/properties/history", "status/properties/conditionalUpdates"] {
        assert_eq!(at(&format!("{path}/x-kubernetes-list-type")), Some(&json!("atomic")), "{path}");
    }
}

#[tokio::test]
async fn u15_the_server_agrees_on_every_object() {
    let Some(cluster) = api_only().await else { return };
    let client = cluster.client().await.unwrap();
    for channel in Channel::ALL {
        for crd in api::crds(channel).unwrap() {
            install(&client, &crd).await;
            differential::agree(&client, &crd, channel).await;
            if channel == Channel::Standard {
                columns(&client, &crd).await;
            }
        }
    }
    zoo::agree(&client).await;
}

/// What `kubectl get clusterversion` asks for and shows.
async fn columns(client: &Client, crd: &Value) {
    let resource = resource(crd);
    let all: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let path = format!("{}/version", all.resource_url());
    let request = http::Request::get(path).header("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let table: Value = client.request(request.body(Vec::new()).unwrap()).await.unwrap();
    let heads: Vec<&str> =
        table["columnDefinitions"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(heads, ["Name", "Version", "Available", "Progressing", "Since", "Status"]);
    let cells = &table["rows"][0]["cells"];
    assert_eq!(cells[0], "version");
    assert_eq!(cells[1], "4.6.23");
    assert_eq!(cells[2], "True");
    assert_eq!(cells[5], "Cluster version is 4.6.23");
}
