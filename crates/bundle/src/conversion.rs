//! Conversion without a webhook: an object must survive being written in any version (V5).
//!
//! For every pair of versions an object with all fields of the first is made, stored as the API server stores it in the
//! second, and read back in the first. What is missing then, or cannot be decoded, is reported by its path. Fields that
//! only the experimental channel has are left out, if the CRD of the standard channel is given. [`ObjectConverter`] converts one
//! object of a user.

mod object;

use clearway_schema::Schema;
use serde_json::{Map, Value, json};

use crate::finding::{Finding, RuleId};
use crate::judge::{Change, Collector, Site};
use crate::model::{AdditionalFields, ApiVersion, Crd, FieldSchema, Level, Segment};
use crate::rules::versions::readable_pairs;

pub use object::{ConversionError, ConversionLoss, ConversionLossKind, ConvertedObject, ObjectConverter};

const V5: RuleId = RuleId("V5");

/// Losses that are reported for one CRD.
const LOSSES: usize = 1_000;

/// What conversion between the versions of a CRD loses; nothing if a webhook converts. With the CRD of the standard channel,
/// fields and versions that it does not have are experimental, and are left out.
pub fn conversion_losses(crd: &Crd, standard: Option<&Crd>) -> Vec<Finding> {
    let mut out = Collector::new(false, Level::Minor);
    if crd.converts_without_webhook() {
        for (one, two) in readable_pairs(crd) {
            round_trip(crd, standard, one, two, &mut out);
            round_trip(crd, standard, two, one, &mut out);
        }
    }
    out.finish().0
}

/// Reports what an object of `from` loses in `through`.
fn round_trip(crd: &Crd, standard: Option<&Crd>, from: &ApiVersion, through: &ApiVersion, out: &mut Collector) {
    let (Some(own), Some(other)) = (&from.schema, &through.schema) else { return };
    // A schema that can be read here is within the limits there; what is not is reported where it was read.
    let (Ok(own_rules), Ok(other_rules)) = (Schema::read(&own.to_json()), Schema::read(&other.to_json())) else {
        return;
    };
    let counted = match standard.map(|crd| crd.versions.get(&from.name)) {
        None => None,
        Some(Some(version)) => version.schema.as_ref(),
        // The whole version is experimental.
        Some(None) => return,
    };
    let object = sample(own, counted);
    // The sample itself as it is stored, so that only conversion is blamed.
    let before = own_rules.pruned(&object);
    let stored = other_rules.pruned(&before);
    let after = own_rules.pruned(&stored);
    let site = Site::version(crd, from);
    let mut lost = Vec::new();
    compare(&before, &after, &mut Vec::new(), &mut lost);
    for path in lost {
        let position = own.at(&path).and_then(|schema| schema.position);
        let message = format!("the value is lost when the object is written in {}", through.name);
        out.report(&site, &path, Change::new(V5, message).at(position));
    }
    for violation in other_rules.validate(&stored).into_iter().filter(|violation| violation.rule == "type") {
        let message = format!("{} cannot decode `{}`: {}", through.name, violation.path, violation.message);
        out.report(&site, &[], Change::new(V5, message));
    }
}

/// An object with all fields of a schema; with `counted`, only those that it has, too.
fn sample(schema: &FieldSchema, counted: Option<&FieldSchema>) -> Value {
    let keywords = &schema.keywords;
    if let Some(value) = keywords.enumeration.as_ref().and_then(|values| values.first()) {
        return value.clone();
    }
    if keywords.int_or_string {
        return json!(1);
    }
    match keywords.value_type.as_deref() {
        Some("object") | None => {
            let mut fields = Map::new();
            for (name, below) in &schema.properties {
                let counterpart = counted.map(|counted| counted.properties.get(name));
                if !matches!(counterpart, Some(None)) {
                    fields.insert(name.clone(), sample(below, counterpart.flatten()));
                }
            }
            match &schema.additional {
                AdditionalFields::None => {}
                AdditionalFields::Any => _ = fields.insert("key".to_owned(), json!("text")),
                AdditionalFields::Each(each) => {
                    let counted = counted.and_then(FieldSchema::values);
                    fields.insert("key".to_owned(), sample(each, counted));
                }
            }
            Value::Object(fields)
        }
        Some("array") => {
            let counted = counted.and_then(|counted| counted.items.as_deref());
            schema.items.as_ref().map_or_else(|| json!([]), |items| json!([sample(items, counted)]))
        }
        Some("string") => json!("text"),
        Some("integer") => keywords.limits.get("minimum").map_or_else(|| json!(1), |least| json!(least)),
        Some("number") => keywords.limits.get("minimum").map_or_else(|| json!(1.5), |least| json!(least)),
        Some("boolean") => json!(true),
        Some(_) => Value::Null,
    }
}

/// The topmost values of one object that another one does not have.
fn compare<'v>(before: &'v Value, after: &Value, path: &mut Vec<Segment<'v>>, lost: &mut Vec<Vec<Segment<'v>>>) {
    match (before, after) {
        // A null says nothing that could be lost.
        (Value::Null, _) => {}
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in before {
                path.push(Segment::Field(name));
                match after.get(name) {
                    Some(after) => compare(value, after, path, lost),
                    None if lost.len() < LOSSES && !value.is_null() => lost.push(path.clone()),
                    None => {}
                }
                path.pop();
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            path.push(Segment::Items);
            for (before, after) in before.iter().zip(after) {
                compare(before, after, path, lost);
            }
            path.pop();
        }
        _ if before != after && lost.len() < LOSSES => lost.push(path.clone()),
        _ => {}
    }
}
