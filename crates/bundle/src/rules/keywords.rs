//! R28 to R30: formats, combinations of schemas, and fields that are not described.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::finding::RuleId;
use crate::judge::{Change, Collector, FieldPair};
use crate::model::{AdditionalFields, FieldSchema, Keywords, Level};

const R28: RuleId = RuleId("R28");
const R29: RuleId = RuleId("R29");
const R30: RuleId = RuleId("R30");

/// R28: `format`, `multipleOf`, `uniqueItems`, an embedded resource, or a combination of schemas was added, changed or
/// dropped.
pub(super) fn constraint_changed(pair: &FieldPair<'_>, out: &mut Collector) {
    let (old, new) = (&pair.old.keywords, &pair.new.keywords);
    let flag = |flag: bool| flag.then_some(Value::Bool(true));
    let number = |number: &Option<serde_json::Number>| number.clone().map(Value::Number);
    let simple = [
        ("format", old.format.as_ref().map(|text| json!(text)), new.format.as_ref().map(|text| json!(text))),
        ("multipleOf", number(&old.multiple_of), number(&new.multiple_of)),
        ("uniqueItems", flag(old.unique_items), flag(new.unique_items)),
        ("x-kubernetes-embedded-resource", flag(old.embedded_resource), flag(new.embedded_resource)),
    ];
    for (keyword, before, after) in simple {
        if before != after {
            report(pair, out, keyword, before, after, None);
        }
    }
    for keyword in Keywords::COMBINATIONS {
        let (before, after) = (old.combinations.get(keyword), new.combinations.get(keyword));
        if before != after {
            let loosened = before.zip(after).map(|(before, after)| loosened(keyword, before, after));
            report(pair, out, keyword, before.map(|all| json!(all)), after.map(|all| json!(all)), loosened.flatten());
        }
    }
}

/// Whether more is accepted than before; none if that cannot be said.
fn loosened(keyword: &str, old: &[Value], new: &[Value]) -> Option<bool> {
    let texts = |schemas: &[Value]| schemas.iter().map(Value::to_string).collect::<BTreeSet<_>>();
    let subset = |of: &[Value], other: &[Value]| texts(of).is_subset(&texts(other));
    match keyword {
        "anyOf" if subset(old, new) => Some(true),
        "anyOf" if subset(new, old) => Some(false),
        "allOf" if subset(new, old) => Some(true),
        "allOf" if subset(old, new) => Some(false),
        _ => None,
    }
}

fn report(
    pair: &FieldPair<'_>,
    out: &mut Collector,
    keyword: &str,
    old: Option<Value>,
    new: Option<Value>,
    loosened: Option<bool>,
) {
    let change = match (&old, &new, loosened) {
        (_, None, _) => Change::new(R28, format!("`{keyword}` dropped")).needs(Level::Minor, Level::Minor),
        (None, Some(_), _) => Change::new(R28, format!("`{keyword}` added")),
        (_, _, Some(true)) => Change::new(R28, format!("`{keyword}` loosened")).needs(Level::Minor, Level::Minor),
        (_, _, Some(false)) => Change::new(R28, format!("`{keyword}` narrowed")),
        (_, _, None) if keyword == "format" || keyword == "multipleOf" => {
            Change::new(R28, format!("`{keyword}` changed"))
        }
        (_, _, None) => {
            Change::new(R28, format!("`{keyword}` changed")).needs(Level::Minor, Level::Minor).needs_review()
        }
    };
    out.report(pair.site, pair.path, change.values(old, new).at(pair.new.position));
}

/// R29: fields that are not described are kept from now on, or no longer.
pub(super) fn unknown_fields_changed(pair: &FieldPair<'_>, out: &mut Collector) {
    let (old, new) = (pair.old.keywords.preserve_unknown_fields, pair.new.keywords.preserve_unknown_fields);
    if old == new {
        return;
    }
    let change = if new {
        let stored = "Stored objects do not change.";
        Change::new(R29, "unknown fields are kept from now on").needs(Level::Minor, Level::Minor).stored(stored)
    } else {
        Change::new(R29, "unknown fields are pruned from now on")
    };
    out.report(pair.site, pair.path, change.values(Some(json!(old)), Some(json!(new))).at(pair.new.position));
}

/// R30: fewer values of a map are accepted than before. What changes within the schema of its values has rules of its own.
pub(super) fn map_values_changed(pair: &FieldPair<'_>, out: &mut Collector) {
    use AdditionalFields as Additional;
    let (message, narrowed) = match (&pair.old.additional, &pair.new.additional) {
        (Additional::Any, Additional::Each(_)) => ("map values must match a schema from now on", true),
        (Additional::Any | Additional::Each(_), Additional::None) => {
            ("fields that are not declared are pruned from now on", true)
        }
        (Additional::Each(_), Additional::Any) => ("map values may be anything from now on", false),
        (Additional::None, Additional::Any | Additional::Each(_)) => ("fields of any name are kept from now on", false),
        _ => return,
    };
    let change = Change::new(R30, message).values(shown(pair.old), shown(pair.new)).at(pair.new.position);
    let change = if narrowed { change } else { change.needs(Level::Minor, Level::Minor) };
    out.report(pair.site, pair.path, change);
}

fn shown(schema: &FieldSchema) -> Option<Value> {
    match &schema.additional {
        AdditionalFields::None => None,
        AdditionalFields::Any => Some(json!(true)),
        AdditionalFields::Each(each) => Some(json!({"type": each.keywords.value_type})),
    }
}
