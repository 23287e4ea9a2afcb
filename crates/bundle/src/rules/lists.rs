//! R25 to R27: how lists and maps are merged, and which elements must be unique.

use serde_json::{Value, json};

use crate::finding::RuleId;
use crate::judge::{Change, Collector, FieldPair};
use crate::model::{FieldSchema, Keywords, Level};

const R25: RuleId = RuleId("R25");
const R26: RuleId = RuleId("R26");
const R27: RuleId = RuleId("R27");

fn list_type(keywords: &Keywords) -> &str {
    keywords.list_type.as_deref().unwrap_or("atomic")
}

fn map_type(keywords: &Keywords) -> &str {
    keywords.map_type.as_deref().unwrap_or("granular")
}

fn shown(keywords: &Keywords) -> Option<Value> {
    match &keywords.list_type {
        Some(kind) if !keywords.list_map_keys.is_empty() => Some(json!({"type": kind, "keys": keywords.list_map_keys})),
        Some(kind) => Some(json!(kind)),
        None => None,
    }
}

/// R25: a list type or map type is written that was the default, or the other way round.
pub(super) fn default_written(pair: &FieldPair<'_>, out: &mut Collector) {
    let (old, new) = (&pair.old.keywords, &pair.new.keywords);
    if old.list_type != new.list_type && list_type(old) == list_type(new) {
        let change = Change::new(R25, "list type `atomic`, which is the default, was added or left out");
        let change = change.values(shown(old), shown(new)).at(pair.new.position);
        out.report(pair.site, pair.path, change);
    }
    if old.map_type != new.map_type && map_type(old) == map_type(new) {
        let change = Change::new(R25, "map type `granular`, which is the default, was added or left out");
        out.report(pair.site, pair.path, change.values(json(old), json(new)).at(pair.new.position));
    }
}

fn json(keywords: &Keywords) -> Option<Value> {
    keywords.map_type.as_ref().map(|kind| json!(kind))
}

/// R26: elements of a list must be unique from now on, or by other keys. A list of at most one element always was.
pub(super) fn uniqueness_added(pair: &FieldPair<'_>, out: &mut Collector) {
    let (old, new) = (&pair.old.keywords, &pair.new.keywords);
    let same = list_type(old) == list_type(new) && old.list_map_keys == new.list_map_keys;
    if same || list_type(new) == "atomic" {
        return;
    }
    let change = Change::new(R26, format!("list type changed from {} to {}", list_type(old), list_type(new)));
    let change = change.values(shown(old), shown(new)).at(pair.new.position);
    let one_element = |schema: &FieldSchema| {
        schema.keywords.limits.get("maxItems").and_then(serde_json::Number::as_u64).is_some_and(|most| most <= 1)
    };
    let change = if one_element(pair.old) {
        change.needs(Level::Minor, Level::Minor).stored("Stored objects have at most one element, which is unique.")
    } else {
        change
    };
    out.report(pair.site, pair.path, change);
}

/// R27: a list or map is replaced as a whole from now on, instead of being merged; or a map is merged from now on.
pub(super) fn merging_changed(pair: &FieldPair<'_>, out: &mut Collector) {
    let (old, new) = (&pair.old.keywords, &pair.new.keywords);
    if list_type(old) != "atomic" && list_type(new) == "atomic" {
        let change = Change::new(R27, format!("list type changed from {} to atomic", list_type(old)));
        out.report(pair.site, pair.path, change.values(shown(old), shown(new)).warns().at(pair.new.position));
    }
    if map_type(old) != map_type(new) {
        let change = Change::new(R27, format!("map type changed from {} to {}", map_type(old), map_type(new)));
        out.report(pair.site, pair.path, change.values(json(old), json(new)).warns().at(pair.new.position));
    }
}
