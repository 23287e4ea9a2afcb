//! R04 to R10: fields that come, go, are renamed, become required or optional, or change their type.

use serde_json::{Value, json};

use crate::finding::RuleId;
use crate::judge::{Change, Collector, Comparison, FieldPair};
use crate::model::{Bundle, FieldSchema, Level, Segment};

const R04: RuleId = RuleId("R04");
const R05: RuleId = RuleId("R05");
const R06: RuleId = RuleId("R06");
const R07: RuleId = RuleId("R07");
const R08: RuleId = RuleId("R08");
const R09: RuleId = RuleId("R09");
const R10: RuleId = RuleId("R10");

fn below<'p>(pair: &FieldPair<'p>, name: &'p str) -> Vec<Segment<'p>> {
    let mut path = pair.path.to_vec();
    path.push(Segment::Field(name));
    path
}

fn summary(schema: &FieldSchema) -> Value {
    json!({"type": type_name(schema)})
}

/// Names that were removed with the names that took their place: the only new field of exactly the same shape.
fn renames<'p>(pair: &FieldPair<'p>) -> Vec<(&'p str, &'p str)> {
    let removed: Vec<_> =
        pair.old.properties.iter().filter(|(name, _)| !pair.new.properties.contains_key(*name)).collect();
    let added: Vec<_> =
        pair.new.properties.iter().filter(|(name, _)| !pair.old.properties.contains_key(*name)).collect();
    // Comparing shapes is quadratic; so many renames at once are not renames.
    if removed.is_empty() || added.is_empty() || removed.len().saturating_mul(added.len()) > 100 {
        return Vec::new();
    }
    let same = |one: &FieldSchema, two: &FieldSchema| one.same_shape(two);
    let only = |candidates: Vec<&'p str>| match candidates.as_slice() {
        [name] => Some(*name),
        _ => None,
    };
    let partner = |schema: &FieldSchema, among: &[(&'p String, &'p FieldSchema)]| {
        only(among.iter().filter(|(_, other)| same(schema, other)).map(|(name, _)| name.as_str()).collect())
    };
    let pairs = removed.iter().filter_map(|(old_name, schema)| {
        let new_name = partner(schema, &added)?;
        let back = partner(pair.new.properties.get(new_name)?, &removed)?;
        (back == old_name.as_str()).then_some((old_name.as_str(), new_name))
    });
    pairs.collect()
}

/// The new fields that are not renamed ones, and whether each is required without a default.
fn added<'p>(pair: &FieldPair<'p>) -> Vec<(&'p str, &'p FieldSchema, bool)> {
    let renamed = renames(pair);
    let fields = pair.new.properties.iter().filter(|(name, _)| {
        !pair.old.properties.contains_key(*name) && !renamed.iter().any(|(_, new)| new == &name.as_str())
    });
    let required = |name: &String, schema: &FieldSchema| {
        pair.new.keywords.required.contains(name) && schema.keywords.default.is_none()
    };
    fields.map(|(name, schema)| (name.as_str(), schema, required(name, schema))).collect()
}

/// R04: an optional field was added. In the standard channel it must have been experimental before, which is judged if the
/// experimental bundles are given.
pub(super) fn optional_field_added(pair: &FieldPair<'_>, out: &mut Collector) {
    for (name, schema, required) in added(pair) {
        if required {
            continue;
        }
        let path = below(pair, name);
        let change = if out.is_experimental() || was_experimental(pair.comparison, pair.crd, pair.version, &path) {
            Change::new(R04, format!("optional field `{name}` added"))
        } else {
            let message = format!("optional field `{name}` added without having been experimental");
            Change::new(R04, message).needs(Level::Never, Level::Minor)
        };
        out.report(pair.site, &path, change.values(None, Some(summary(schema))).at(schema.position));
    }
}

/// Whether one of the experimental bundles has a field; true if none was given. A version that is new there, too, is
/// looked up in the other versions.
fn was_experimental(comparison: &Comparison<'_>, crd: &str, version: &str, path: &[Segment<'_>]) -> bool {
    let has = |bundle: &Bundle| {
        let Some(crd) = bundle.crds.get(crd) else { return false };
        match crd.versions.get(version) {
            Some(version) => version.schema.as_ref().is_some_and(|schema| schema.at(path).is_some()),
            None => crd
                .versions
                .values()
                .filter_map(|version| version.schema.as_ref())
                .any(|schema| schema.at(path).is_some()),
        }
    };
    let mut given = [comparison.old_experimental, comparison.new_experimental].into_iter().flatten().peekable();
    given.peek().is_none() || given.any(has)
}

/// R05: a required field without a default was added to an object that existed before.
pub(super) fn required_field_added(pair: &FieldPair<'_>, out: &mut Collector) {
    for (name, schema, required) in added(pair) {
        if required {
            let change = Change::new(R05, format!("required field `{name}` added"));
            let change = change.values(None, Some(summary(schema))).at(schema.position);
            out.report(pair.site, &below(pair, name), change);
        }
    }
}

/// R06: a field was removed.
pub(super) fn field_removed(pair: &FieldPair<'_>, out: &mut Collector) {
    let renamed = renames(pair);
    for (name, schema) in &pair.old.properties {
        if !pair.new.properties.contains_key(name) && !renamed.iter().any(|(old, _)| old == name) {
            let change = Change::new(R06, format!("field `{name}` removed"));
            let change = change.values(Some(summary(schema)), None).at(pair.new.position);
            out.report(pair.site, &below(pair, name), change);
        }
    }
}

/// R07: a field was renamed: one was removed, and one of exactly the same shape was added beside it.
pub(super) fn field_renamed(pair: &FieldPair<'_>, out: &mut Collector) {
    for (old, new) in renames(pair) {
        let position = pair.new.properties.get(new).and_then(|schema| schema.position);
        let change = Change::new(R07, format!("field `{old}` renamed to `{new}`"));
        out.report(pair.site, &below(pair, old), change.values(Some(json!(old)), Some(json!(new))).at(position));
    }
}

/// R08: a field became required. One with a default is never missing, so that a minor version may do it.
pub(super) fn became_required(pair: &FieldPair<'_>, out: &mut Collector) {
    for name in pair.new.keywords.required.difference(&pair.old.keywords.required) {
        let schema = pair.new.properties.get(name);
        if schema.is_some() && !pair.old.properties.contains_key(name) {
            continue;
        }
        let defaulted = schema.is_some_and(|schema| schema.keywords.default.is_some());
        let change = Change::new(R08, format!("optional field `{name}` became required"));
        let change = change.values(Some(json!("optional")), Some(json!("required")));
        let change = change.at(schema.and_then(|schema| schema.position).or(pair.new.position));
        let change = if defaulted {
            let sentence = "Stored objects without the field get its default when they are read.";
            change.needs(Level::Minor, Level::Minor).stored(sentence)
        } else {
            change
        };
        out.report(pair.site, &below(pair, name), change);
    }
}

/// R09: a required field became optional.
pub(super) fn became_optional(pair: &FieldPair<'_>, out: &mut Collector) {
    for name in pair.old.keywords.required.difference(&pair.new.keywords.required) {
        if let Some(schema) = pair.new.properties.get(name) {
            let change = Change::new(R09, format!("required field `{name}` became optional"));
            let change = change.values(Some(json!("required")), Some(json!("optional"))).at(schema.position);
            out.report(pair.site, &below(pair, name), change);
        }
    }
}

/// R10: the type of a field changed.
pub(super) fn type_changed(pair: &FieldPair<'_>, out: &mut Collector) {
    let (old, new) = (type_name(pair.old), type_name(pair.new));
    let items = |schema: &FieldSchema| schema.items.is_some();
    if old != new || items(pair.old) != items(pair.new) {
        let change = Change::new(R10, format!("type changed from {old} to {new}"));
        out.report(pair.site, pair.path, change.values(Some(json!(old)), Some(json!(new))).at(pair.new.position));
    }
}

fn type_name(schema: &FieldSchema) -> &str {
    match &schema.keywords {
        keywords if keywords.int_or_string => "integer or string",
        keywords => keywords.value_type.as_deref().unwrap_or("any type"),
    }
}
