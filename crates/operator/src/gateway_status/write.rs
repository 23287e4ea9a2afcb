//! What is written: the difference between the published status of an object and the one it should have.

use clearway_core::Timestamp;
use clearway_gateway::model::Name;
use clearway_gateway::publish::Publisher;
use clearway_gateway::{Object, ObjectKind, ObjectStatus};
use serde_json::{Map, Value, json};

use super::CONTROLLER;

/// Features that the status of a class can list; the API admits no more.
const MAX_FEATURES: usize = 64;

/// The status of an object as the API server has it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PublishedStatus {
    /// The version of the object that it was read from.
    pub resource_version: String,
    /// The status; null if there is none.
    pub status: Value,
}

impl PublishedStatus {
    /// The status of an object that was read.
    pub fn of(object: &Value) -> Self {
        PublishedStatus {
            resource_version: object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned(),
            status: object["status"].clone(),
        }
    }

    /// The patch that makes the status what it should be; none if it is so already. It is refused by the API server if
    /// the object changed since it was read.
    pub fn patch(
        &self,
        object: &Object,
        computed: Option<&ObjectStatus>,
        features: &[Name],
        now: Timestamp,
    ) -> Option<Value> {
        let publisher = Publisher { now, is_ours: &|name: &str| name == CONTROLLER };
        let mut wanted = publisher.merge(object, computed, &self.status);
        if object.key.kind == ObjectKind::GatewayClass && computed.is_some() {
            set_features(&mut wanted, features);
        }
        let status = difference(&self.status, &wanted)?;
        Some(json!({"metadata": {"resourceVersion": self.resource_version}, "status": status}))
    }
}

/// Lists the features in ascending order, as the API asks for.
fn set_features(status: &mut Value, features: &[Name]) {
    let Some(fields) = status.as_object_mut() else { return };
    if features.is_empty() {
        fields.remove("supportedFeatures");
        return;
    }
    let mut names: Vec<&str> = features.iter().map(|name| &**name).collect();
    names.sort_unstable();
    names.dedup();
    let list: Vec<Value> = names.into_iter().take(MAX_FEATURES).map(|name| json!({"name": name})).collect();
    fields.insert("supportedFeatures".to_owned(), Value::Array(list));
}

/// The fields to merge; a field that goes is null. None if nothing is different.
fn difference(old: &Value, new: &Value) -> Option<Value> {
    let empty = Map::new();
    let (old, new) = (old.as_object().unwrap_or(&empty), new.as_object().unwrap_or(&empty));
    let changed = new.iter().filter(|(key, value)| old.get(*key) != Some(value));
    let mut fields: Map<String, Value> = changed.map(|(key, value)| (key.clone(), value.clone())).collect();
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    fields.extend(gone.map(|key| (key.clone(), Value::Null)));
    (!fields.is_empty()).then_some(Value::Object(fields))
}
