//! The objects that templates look up as `data.inventory` (P1).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::rego::values;
use crate::review::{ObjectKind, metadata};

/// Objects by namespace, version, kind and name.
#[derive(Debug, Clone, Default)]
pub struct Inventory {
    /// Numbered anew by each change, so that an evaluator knows whether it has this one.
    number: u64,
    cluster: BTreeMap<[String; 3], Value>,
    namespaced: BTreeMap<[String; 4], Value>,
    document: regorus_value::Document,
}

/// The inventory as a value of Rego.
mod regorus_value {
    use regorus::Value;

    /// Shared by all evaluators.
    #[derive(Debug, Clone)]
    pub(super) struct Document(pub(super) Value);

    impl Default for Document {
        fn default() -> Self {
            Document(Value::new_object())
        }
    }
}

/// Why an object cannot be in the inventory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InventoryError {
    /// It has no version.
    #[error("invalid request object: resource {0} has no version")]
    NoVersion(String),
    /// It has no kind.
    #[error("invalid request object: resource {0} has no kind")]
    NoKind(String),
}

impl Inventory {
    /// An inventory of some objects.
    pub fn of<'o>(objects: impl IntoIterator<Item = &'o Value>) -> Result<Inventory, InventoryError> {
        let mut inventory = Inventory::default();
        for object in objects {
            inventory.insert(object)?;
        }
        inventory.publish();
        Ok(inventory)
    }

    /// Adds an object, or replaces the one of the same name. Evaluations see it after [`Inventory::publish`].
    pub fn insert(&mut self, object: &Value) -> Result<(), InventoryError> {
        let kind = ObjectKind::of(object);
        let name = metadata(object, "name").to_owned();
        if kind.version.is_empty() {
            return Err(InventoryError::NoVersion(name));
        }
        if kind.kind.is_empty() {
            return Err(InventoryError::NoKind(name));
        }
        let version = if kind.group.is_empty() { kind.version } else { format!("{}/{}", kind.group, kind.version) };
        let namespace = metadata(object, "namespace");
        if namespace.is_empty() {
            self.cluster.insert([version, kind.kind, name], object.clone());
        } else {
            self.namespaced.insert([namespace.to_owned(), version, kind.kind, name], object.clone());
        }
        Ok(())
    }

    /// Makes changes visible to evaluations.
    pub fn publish(&mut self) {
        self.number = self.number.saturating_add(1);
        self.document = regorus_value::Document(values::from_json(&self.to_json()));
    }

    /// A namespace, which may have been added as an object.
    pub fn namespace(&self, name: &str) -> Option<&Value> {
        self.cluster.get(&["v1".to_owned(), "Namespace".to_owned(), name.to_owned()])
    }

    /// The document that templates see.
    pub fn to_json(&self) -> Value {
        let mut document = Value::Object(Map::new());
        for (path, object) in &self.cluster {
            let path: Vec<&str> = std::iter::once("cluster").chain(path.iter().map(String::as_str)).collect();
            insert_at(&mut document, &path, object);
        }
        for (path, object) in &self.namespaced {
            let path: Vec<&str> = std::iter::once("namespace").chain(path.iter().map(String::as_str)).collect();
            insert_at(&mut document, &path, object);
        }
        document
    }

    pub(crate) fn document(&self) -> (u64, &regorus::Value) {
        (self.number, &self.document.0)
    }
}

fn insert_at(document: &mut Value, path: &[&str], object: &Value) {
    let mut at = document;
    for name in path {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = match at {
            Value::Object(fields) => fields.entry((*name).to_owned()).or_insert(Value::Null),
            _ => return,
        };
    }
    *at = object.clone();
}
