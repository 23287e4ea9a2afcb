//! The objects that templates look up as `data.inventory` (P1).

use std::collections::BTreeMap;

use regorus::Value as RegoValue;
use serde_json::{Map, Value};

use crate::rego::values;
use crate::review::{ObjectKind, metadata};

/// Objects by namespace, version, kind and name. A change costs as much as the objects of one kind and namespace are
/// many; evaluations in flight keep what they began with.
#[derive(Debug, Clone)]
pub struct Inventory {
    /// Numbered anew by each change, so that an evaluator knows whether it has this one.
    number: u64,
    document: RegoValue,
    /// Constraints match by the labels of namespaces.
    namespaces: BTreeMap<String, Value>,
}

impl Default for Inventory {
    fn default() -> Self {
        Inventory { number: 0, document: RegoValue::new_object(), namespaces: BTreeMap::new() }
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
        Ok(inventory)
    }

    /// Adds an object, or replaces the one of the same name.
    pub fn insert(&mut self, object: &Value) -> Result<(), InventoryError> {
        let kind = ObjectKind::of(object);
        let name = metadata(object, "name");
        if kind.version.is_empty() {
            return Err(InventoryError::NoVersion(name.to_owned()));
        }
        if kind.kind.is_empty() {
            return Err(InventoryError::NoKind(name.to_owned()));
        }
        let namespace = metadata(object, "namespace");
        if kind == namespaces() && namespace.is_empty() {
            self.namespaces.insert(name.to_owned(), object.clone());
        }
        insert_at(&mut self.document, &path(&kind, namespace, name), values::from_json(object));
        self.number = self.number.saturating_add(1);
        Ok(())
    }

    /// Removes an object, if it is there.
    pub fn remove(&mut self, kind: &ObjectKind, namespace: &str, name: &str) {
        if *kind == namespaces() && namespace.is_empty() {
            self.namespaces.remove(name);
        }
        remove_at(&mut self.document, &path(kind, namespace, name));
        self.number = self.number.saturating_add(1);
    }

    /// A namespace, which may have been added as an object.
    pub fn namespace(&self, name: &str) -> Option<&Value> {
        self.namespaces.get(name)
    }

    /// The document that templates see.
    pub fn to_json(&self) -> Value {
        values::to_json(&self.document).unwrap_or_else(|| Value::Object(Map::new()))
    }

    pub(crate) fn document(&self) -> (u64, &RegoValue) {
        (self.number, &self.document)
    }
}

fn namespaces() -> ObjectKind {
    ObjectKind { group: String::new(), version: "v1".to_owned(), kind: "Namespace".to_owned() }
}

/// Where an object is in the document.
fn path(kind: &ObjectKind, namespace: &str, name: &str) -> Vec<RegoValue> {
    let version = match kind.group.as_str() {
        "" => kind.version.clone(),
        group => format!("{group}/{}", kind.version),
    };
    let scope = if namespace.is_empty() { vec!["cluster"] } else { vec!["namespace", namespace] };
    scope.into_iter().chain([version.as_str(), kind.kind.as_str(), name]).map(RegoValue::from).collect()
}

fn insert_at(document: &mut RegoValue, path: &[RegoValue], object: RegoValue) {
    let Some((first, rest)) = path.split_first() else {
        *document = object;
        return;
    };
    let Ok(fields) = document.as_object_mut() else { return };
    let mut below = fields.remove(first).unwrap_or_else(RegoValue::new_object);
    insert_at(&mut below, rest, object);
    fields.insert(first.clone(), below);
}

/// Objects that become empty go as well.
fn remove_at(document: &mut RegoValue, path: &[RegoValue]) {
    let Some((first, rest)) = path.split_first() else { return };
    if !document.as_object().is_ok_and(|fields| fields.contains_key(first)) {
        return;
    }
    let Ok(fields) = document.as_object_mut() else { return };
    let Some(mut below) = fields.remove(first).filter(|_| !rest.is_empty()) else { return };
    remove_at(&mut below, rest);
    if below.as_object().is_ok_and(|fields| !fields.is_empty()) {
        fields.insert(first.clone(), below);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(api_version: &str, kind: &str, namespace: Option<&str>, name: &str, value: i64) -> Value {
        json!({
            "apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "value": value,
        })
    }

    #[test]
    fn a_changed_inventory_is_that_of_the_objects_that_are_left() {
        let mut inventory = Inventory::default();
        let objects = [
            object("v1", "Namespace", None, "shop", 1),
            object("v1", "Service", Some("shop"), "web", 1),
            object("apps/v1", "Deployment", Some("shop"), "web", 1),
            object("v1", "Service", Some("shop"), "web", 2),
        ];
        for object in &objects {
            inventory.insert(object).unwrap();
        }
        let before = inventory.clone();
        let kind = |group: &str, kind: &str| ObjectKind {
            group: group.to_owned(),
            version: "v1".to_owned(),
            kind: kind.to_owned(),
        };
        inventory.remove(&kind("apps", "Deployment"), "shop", "web");
        inventory.remove(&kind("apps", "Deployment"), "shop", "never-there");
        inventory.remove(&kind("", "Secret"), "", "never-there");
        assert_eq!(inventory.to_json(), Inventory::of([&objects[0], &objects[3]]).unwrap().to_json());
        assert!(inventory.namespace("shop").is_some());
        inventory.remove(&kind("", "Namespace"), "", "shop");
        inventory.remove(&kind("", "Service"), "shop", "web");
        assert_eq!((inventory.to_json(), inventory.namespace("shop")), (json!({}), None));
        // What was cloned before is what it was.
        assert_eq!(before.to_json(), Inventory::of(&objects).unwrap().to_json());
    }

    #[test]
    fn an_inventory_has_another_number_after_each_change() {
        let mut inventory = Inventory::default();
        let mut numbers = vec![inventory.document().0];
        inventory.insert(&object("v1", "Service", Some("shop"), "web", 1)).unwrap();
        numbers.push(inventory.document().0);
        inventory.remove(&ObjectKind::of(&object("v1", "Service", None, "", 0)), "shop", "web");
        numbers.push(inventory.document().0);
        assert_eq!(numbers, [0, 1, 2]);
    }
}
