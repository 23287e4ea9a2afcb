//! R01 to R03: what is only text for people, and what has no effect on objects.

use serde_json::json;

use crate::finding::RuleId;
use crate::judge::{Change, Collector, Comparison, FieldPair, Site};
use crate::model::{ApiVersion, Crd, FieldSchema, Level};

const R01: RuleId = RuleId("R01");
const R02: RuleId = RuleId("R02");
const R03: RuleId = RuleId("R03");

/// R01 for a version: descriptions and printer columns. One finding counts all descriptions of the version.
pub(super) fn descriptions_and_columns(old: &ApiVersion, new: &ApiVersion, site: &Site<'_>, out: &mut Collector) {
    if old.printer_columns != new.printer_columns {
        let change = Change::new(R01, "printer columns changed");
        out.report(site, &[], change.values(old.printer_columns.clone(), new.printer_columns.clone()));
    }
    let (Some(old), Some(new)) = (&old.schema, &new.schema) else { return };
    let count = changed_descriptions(old, new);
    if count > 0 {
        let plural = if count == 1 { "description" } else { "descriptions" };
        out.report(site, &[], Change::new(R01, format!("{count} {plural} changed")));
    }
}

fn changed_descriptions(old: &FieldSchema, new: &FieldSchema) -> usize {
    let own = usize::from(old.description != new.description);
    let below = new.children().filter_map(|(segment, new)| Some(changed_descriptions(old.at(&[segment])?, new)));
    below.fold(own, usize::saturating_add)
}

/// R01 for a CRD: short names and categories. Removing one breaks commands of users, so that needs a minor version.
pub(super) fn short_names(_: &Comparison<'_>, old: &Crd, new: &Crd, out: &mut Collector) {
    let lists = [("short names", &old.short_names, &new.short_names), ("categories", &old.categories, &new.categories)];
    for (what, old, new_names) in lists {
        if old != new_names {
            let removed = !old.is_subset(new_names);
            let level = if removed { Level::Minor } else { Level::Patch };
            let change = Change::new(R01, format!("{what} changed")).needs(level, level);
            out.report(&Site::crd(new), &[], change.values(Some(json!(old)), Some(json!(new_names))));
        }
    }
}

/// R02: annotations and labels of a CRD, such as the version of the bundle. In a cluster others add their own, so that
/// only the annotations of the bundle's domain are compared with those of a cluster.
pub(super) fn metadata(comparison: &Comparison<'_>, old: &Crd, new: &Crd, out: &mut Collector) {
    let in_cluster = old.place.file.is_none() || new.place.file.is_none();
    let domain = format!("{}/", comparison.new.domain);
    let maps = [("annotations", &old.annotations, &new.annotations), ("labels", &old.labels, &new.labels)];
    for (what, old, new_map) in maps {
        let differing: Vec<&str> = old
            .iter()
            .filter(|(key, value)| new_map.get(*key) != Some(value))
            .map(|(key, _)| key)
            .chain(new_map.keys().filter(|key| !old.contains_key(*key)))
            .map(String::as_str)
            .filter(|key| !in_cluster || key.starts_with(&domain))
            .collect();
        if !differing.is_empty() {
            let message = format!("{what} changed: {}", super::name_list(differing));
            let change = Change::new(R02, message).values(Some(json!(old)), Some(json!(new_map)));
            out.report(&Site::crd(new), &[], change);
        }
    }
}

/// R03: the message, reason or field path of a validation rule, or the way it is written, and not what it accepts.
pub(super) fn rule_texts(pair: &FieldPair<'_>, out: &mut Collector) {
    for (old, new) in &pair.cel_changes().same_meaning {
        let message = if old.rule == new.rule {
            "the message, reason or field path of a validation rule changed"
        } else {
            "a validation rule was rewritten with the same meaning"
        };
        let values = |rule: &crate::model::CelRule| json!({"rule": rule.rule, "message": rule.message});
        let change = Change::new(R03, message).values(Some(values(old)), Some(values(new))).at(new.position);
        out.report(pair.site, pair.path, change);
    }
}
