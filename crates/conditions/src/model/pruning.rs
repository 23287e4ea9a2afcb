//! Comparing with what a CRD keeps of a condition.
//!
//! A CRD that does not describe `observedGeneration` or `severity` loses them on every write. A controller that
//! compares what it wants with what it reads then sees a difference for ever and writes for ever (G2). So the comparison
//! is made on what is left after pruning. Start at [`StoredFields`].

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Conditions;

/// Which fields of a condition the CRD of the object keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredFields(Option<BTreeSet<String>>);

impl StoredFields {
    /// The CRD keeps everything this crate writes.
    pub const ALL: StoredFields = StoredFields(None);

    /// The CRD keeps these fields only.
    pub fn only<'a>(fields: impl IntoIterator<Item = &'a str>) -> Self {
        StoredFields(Some(fields.into_iter().map(str::to_owned).collect()))
    }

    /// The CRD keeps metav1's six fields: all but `severity`.
    pub fn metav1() -> Self {
        StoredFields::only(["type", "status", "reason", "message", "lastTransitionTime", "observedGeneration"])
    }

    /// What the schema of a list of conditions keeps: the described properties, or everything if it says to preserve
    /// unknown fields or describes none.
    pub fn of_schema(list: &Value) -> Self {
        let items = list.get("items");
        let preserves = |schema: Option<&Value>| {
            schema.and_then(|schema| schema.get("x-kubernetes-preserve-unknown-fields")) == Some(&Value::Bool(true))
        };
        match items.and_then(|items| items.get("properties")).and_then(Value::as_object) {
            Some(properties) if !preserves(items) && !preserves(Some(list)) => {
                StoredFields::only(properties.keys().map(String::as_str))
            }
            _ => StoredFields::ALL,
        }
    }

    /// Whether the CRD keeps this field.
    pub fn stores(&self, field: &str) -> bool {
        self.0.as_ref().is_none_or(|fields| fields.contains(field))
    }

    /// Whether writing `desired` where `stored` is would change nothing that is kept.
    pub fn same(&self, desired: &Conditions, stored: &Conditions) -> bool {
        let (desired, stored) = (desired.entries(), stored.entries());
        desired.len() == stored.len() && desired.iter().zip(stored).all(|(left, right)| self.same_entry(left, right))
    }

    pub(super) fn same_entry(&self, left: &Value, right: &Value) -> bool {
        match (left, right) {
            (Value::Object(left), Value::Object(right)) => self.covered_by(left, right) && self.covered_by(right, left),
            _ => left == right,
        }
    }

    /// Whether every kept field of `left` has the same value in `right`. An empty severity is an absent one (K2).
    pub(super) fn covered_by(&self, left: &Map<String, Value>, right: &Map<String, Value>) -> bool {
        left.iter().filter(|(field, _)| self.stores(field)).all(|(field, value)| match right.get(field) {
            Some(other) => other == value,
            None => field == "severity" && value == "",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::conditions_schema;
    use super::*;
    use serde_json::json;

    fn list(value: &Value) -> Conditions {
        Conditions::read(value).0
    }

    #[test]
    fn g2_what_the_crd_prunes_makes_no_difference() {
        let desired =
            list(&json!([{ "type": "Ready", "status": "True", "observedGeneration": 4, "severity": "Info" }]));
        let stored = list(&json!([{ "type": "Ready", "status": "True" }]));
        assert!(!StoredFields::ALL.same(&desired, &stored));
        assert!(!StoredFields::metav1().same(&desired, &stored));
        assert!(StoredFields::only(["type", "status"]).same(&desired, &stored));
        let other = list(&json!([{ "type": "Ready", "status": "False" }]));
        assert!(!StoredFields::only(["type", "status"]).same(&desired, &other));
        assert!(!StoredFields::only(["type", "status"]).same(&desired, &Conditions::default()));
    }

    #[test]
    fn k2_an_empty_severity_equals_none() {
        let empty = list(&json!([{ "type": "Ready", "severity": "" }]));
        let none = list(&json!([{ "type": "Ready" }]));
        assert!(StoredFields::ALL.same(&empty, &none));
        assert!(StoredFields::ALL.same(&none, &empty));
    }

    #[test]
    fn the_kept_fields_can_be_had_from_a_schema() {
        let ours = conditions_schema::<32>(&mut schemars::SchemaGenerator::default()).to_value();
        assert!(StoredFields::of_schema(&ours).stores("severity"));
        assert!(!StoredFields::of_schema(&ours).stores("lastHeartbeatTime"));
        let foreign = json!({ "items": { "properties": { "type": {}, "status": {} } } });
        assert_eq!(StoredFields::of_schema(&foreign), StoredFields::only(["status", "type"]));
        let open = json!({ "items": { "x-kubernetes-preserve-unknown-fields": true, "properties": { "type": {} } } });
        assert_eq!(StoredFields::of_schema(&open), StoredFields::ALL);
        assert_eq!(StoredFields::of_schema(&Value::Null), StoredFields::ALL);
    }
}
