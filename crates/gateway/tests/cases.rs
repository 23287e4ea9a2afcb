//! Cases in data files: objects in, the status that each must have out.
//!
//! A file in `cases/` is a stream of documents. The first may be `base`: objects that every case of the file has. A case
//! has `objects` (they replace those of the base with the same name; null takes one away), `settings`, and `want`. An
//! object is written as `Kind namespace/name: spec`; `created`, `generation` and `apiVersion` beside the fields of the spec
//! are metadata, and kinds without a spec (Namespace, Secret, ConfigMap, EndpointSlice) have their fields there. In `want`,
//!
//! - `Kind namespace/name: {ABOUT: CONDITIONS}` is the complete status, where ABOUT is `.` for the object itself, `listener
//!   NAME`, or a parent or ancestor;
//! - `traffic Kind namespace/name: [...]` is what becomes of its requests;
//! - `causes Kind namespace/name: [...]` are the chains of causes.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use clearway_core::Limits;
use clearway_gateway::model::{Address, RouteKind};
use clearway_gateway::settings::{DataPlane, Knowledge, Specification};
use clearway_gateway::status::{Condition, ListenerStatus, ObjectStatus};
use clearway_gateway::{Change, Engine, Object, ObjectKey, ObjectKind, Settings};
use clearway_yaml::{ReadEvent, read};
use serde_json::{Map, Value, json};

#[test]
fn every_case_has_the_status_it_wants() {
    let mut files: Vec<PathBuf> = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let (mut cases, mut failures) = (0, Vec::new());
    for file in files {
        let mut base = Map::new();
        for document in documents(&file) {
            if let Some(objects) = document.get("base") {
                base = objects.as_object().unwrap().clone();
                continue;
            }
            cases += 1;
            let name = format!("{}: {}", file.file_name().unwrap().display(), document["case"].as_str().unwrap());
            let engine = evaluate(&base, &document);
            let want = document["want"].as_object().unwrap_or_else(|| panic!("{name}: a case wants something"));
            for (about, want) in want {
                let found = found(&engine, about);
                if found != *want {
                    let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap();
                    failures.push(format!("{name}\n{about}\nwant {}\ngot  {}", pretty(want), pretty(&found)));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {cases} cases:\n{}", failures.len(), failures.join("\n\n"));
    assert!(cases > 80, "{cases} cases");
}

fn documents(file: &PathBuf) -> Vec<Value> {
    let text = fs::read(file).unwrap();
    let mut documents = Vec::new();
    read(text.as_slice(), &file.display().to_string(), &Limits::default(), |event| match event {
        ReadEvent::Object { root, .. } => documents.push(root.to_json()),
        ReadEvent::Problem(problem) => panic!("{problem:?}"),
    });
    documents
}

fn evaluate(base: &Map<String, Value>, case: &Value) -> Engine {
    let mut objects = base.clone();
    for (name, object) in case["objects"].as_object().into_iter().flatten() {
        objects.insert(name.clone(), object.clone());
    }
    let mut engine = Engine::new(settings(&case["settings"]));
    for (name, fields) in objects.iter().filter(|(_, fields)| !fields.is_null()) {
        let object = Object::from_json(&object(name, fields)).unwrap_or_else(|| panic!("{name}"));
        engine.apply(Change::Put(Box::new(object)));
    }
    engine.evaluate();
    engine
}

fn settings(given: &Value) -> Settings {
    let mut settings = Settings::default();
    for (key, value) in given.as_object().into_iter().flatten() {
        let text = || value.as_str().unwrap_or_else(|| panic!("{key}"));
        let texts = || value.as_array().unwrap().iter().map(|one| one.as_str().unwrap().into());
        let number = || usize::try_from(value.as_u64().unwrap()).unwrap();
        match key.as_str() {
            "spec" => settings.specification = (text() == "gep-1364").then_some(Specification::Gep1364).unwrap(),
            "bundleVersion" => settings.bundle_version = Some(text().parse().unwrap()),
            "features" => settings.features = Some(texts().collect()),
            "featuresOfClass" => settings.features_of_class = value.as_bool().unwrap(),
            "ready" => settings.ready = value.as_bool().unwrap(),
            "gateways" => settings.capacity.gateways = Some(number()),
            "listeners" => settings.capacity.listeners = Some(number()),
            "unavailablePorts" => {
                let port = |one: &Value| u16::try_from(one.as_u64().unwrap()).unwrap();
                settings.capacity.unavailable_ports = value.as_array().unwrap().iter().map(port).collect();
            }
            "dataPlane" => settings.data_plane = (text() == "absent").then_some(DataPlane::Absent).unwrap(),
            "addresses" => {
                settings.addresses = texts().map(|value| Address { kind: "IPAddress".into(), value }).collect();
            }
            "unusableAddresses" => settings.unusable_addresses = texts().collect(),
            "extensionKinds" => {
                let kind = |one: &Value| {
                    let (group, kind) = one.as_str().unwrap().split_once('/').unwrap();
                    ObjectKind::new(group, kind)
                };
                settings.extension_kinds = value.as_array().unwrap().iter().map(kind).collect();
            }
            "secrets" => settings.secrets = (text() == "unknown").then_some(Knowledge::Unknown).unwrap(),
            "controller" => settings.controller = Some(text().into()),
            "assumedController" => settings.assumed_controller = Some(text().into()),
            choice => settings.choices.set(choice, text()).unwrap(),
        }
    }
    settings
}

fn key_of(name: &str) -> ObjectKey {
    let (kind, name) = name.split_once(' ').unwrap_or_else(|| panic!("{name}"));
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    ObjectKey { kind: ObjectKind::new(group_of(kind), kind), namespace: namespace.into(), name: name.into() }
}

fn group_of(kind: &str) -> &'static str {
    match kind {
        "Service" | "Secret" | "ConfigMap" | "Namespace" => "",
        "EndpointSlice" => "discovery.k8s.io",
        "CustomResourceDefinition" => "apiextensions.k8s.io",
        "Thing" => "example.com",
        _ => "gateway.networking.k8s.io",
    }
}

fn object(name: &str, fields: &Value) -> Value {
    let key = key_of(name);
    let mut fields = fields.as_object().unwrap_or_else(|| panic!("{name}")).clone();
    let mut metadata = json!({"namespace": &*key.namespace, "name": &*key.name, "generation": 1});
    for (from, to) in [
        ("created", "creationTimestamp"),
        ("generation", "generation"),
        ("labels", "labels"),
        ("annotations", "annotations"),
    ] {
        if let Some(value) = fields.remove(from) {
            metadata[to] = value;
        }
    }
    let group = key.kind.group();
    let default = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
    let api_version = fields.remove("apiVersion").unwrap_or_else(|| json!(default));
    let status = fields.remove("status");
    let mut object = json!({"apiVersion": api_version, "kind": key.kind.as_str(), "metadata": metadata});
    match key.kind.as_str() {
        "Namespace" | "Secret" | "ConfigMap" | "EndpointSlice" => object.as_object_mut().unwrap().extend(fields),
        _ => object["spec"] = Value::Object(fields),
    }
    if let Some(status) = status {
        object["status"] = status;
    }
    object
}

/// What a case wants to know about the result.
fn found(engine: &Engine, about: &str) -> Value {
    if let Some(name) = about.strip_prefix("traffic ") {
        let traffic = engine.traffic(&key_of(name));
        let lines = traffic.iter().flat_map(|traffic| &traffic.rules).flat_map(|rule| {
            let line = |share: &clearway_gateway::TrafficShare| {
                format!(
                    "{} ({}): {} {}, {}",
                    rule.rule,
                    rule.requests,
                    share.percent(),
                    share.answer.as_str(),
                    share.why
                )
            };
            rule.shares.iter().map(line).collect::<Vec<_>>()
        });
        return lines.collect();
    }
    if let Some(name) = about.strip_prefix("causes ") {
        let status = engine.status(&key_of(name));
        let lists = status.as_ref().map(ObjectStatus::condition_lists).unwrap_or_default();
        let causes = lists.iter().flat_map(|(_, list)| list.iter()).flat_map(|condition| {
            condition.causes.iter().map(move |cause| format!("{}: {name} → {cause}", condition.kind))
        });
        return causes.collect();
    }
    if let Some(name) = about.strip_prefix("messages ") {
        let status = engine.status(&key_of(name));
        let lists = status.as_ref().map(ObjectStatus::condition_lists).unwrap_or_default();
        return lists.iter().flat_map(|(_, list)| list.iter()).map(|one| one.message.to_string()).collect();
    }
    if let Some(name) = about.strip_prefix("grant ") {
        let verdict = engine.grant_verdict(&key_of(&format!("ReferenceGrant {name}")));
        return json!(verdict);
    }
    if let Some(name) = about.strip_prefix("unserved ") {
        let parents = engine.unserved_parents(&key_of(name)).into_iter();
        return parents.map(|(parent, why)| format!("{}: {why}", parent.target)).collect();
    }
    let Some(status) = engine.status(&key_of(about)) else { return Value::Null };
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    for (about, conditions) in status.condition_lists() {
        let about = if about.is_empty() { ".".to_owned() } else { about };
        lines.insert(about, words(conditions));
    }
    match &status {
        ObjectStatus::Gateway { listeners, addresses, attached_listener_sets, .. } => {
            add_listeners(&mut lines, listeners);
            let addresses: Vec<String> = addresses.iter().map(|one| format!("{}:{}", one.kind, one.value)).collect();
            if !addresses.is_empty() {
                lines.insert("addresses".to_owned(), addresses.join(" "));
            }
            if *attached_listener_sets > 0 {
                lines.insert("attachedListenerSets".to_owned(), attached_listener_sets.to_string());
            }
        }
        ObjectStatus::ListenerSet { listeners, .. } => add_listeners(&mut lines, listeners),
        _ => {}
    }
    json!(lines)
}

fn add_listeners(lines: &mut BTreeMap<String, String>, listeners: &[ListenerStatus]) {
    for listener in listeners {
        let kinds: Vec<&str> = listener.supported_kinds.iter().map(|kind: &RouteKind| kind.as_str()).collect();
        let line = lines.entry(format!("listener {}", listener.name)).or_default();
        *line = format!("{line}; {}; {}", kinds.join(" "), listener.attached_routes);
    }
}

fn words(conditions: &[Condition]) -> String {
    let one = |condition: &Condition| {
        let (kind, status, reason) = (condition.kind.as_str(), condition.status.as_str(), condition.reason.as_str());
        if kind == reason && status == "True" { kind.to_owned() } else { format!("{kind}={status}/{reason}") }
    };
    conditions.iter().map(one).collect::<Vec<_>>().join(" ")
}
