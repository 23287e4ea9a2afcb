//! R34 to R38 and R40: API versions that come, go, are stored, served and deprecated, and agree with each other.

use std::collections::BTreeSet;

use serde_json::json;

use crate::finding::RuleId;
use crate::judge::{Change, Collector, Comparison, Site, missing_fields};
use crate::model::{ApiVersion, Crd, FieldSchema, Level, Segment, render_path};

const R34: RuleId = RuleId("R34");
const R35: RuleId = RuleId("R35");
const R36: RuleId = RuleId("R36");
const R37: RuleId = RuleId("R37");
const R38: RuleId = RuleId("R38");
const R40: RuleId = RuleId("R40");

/// R34: an API version was added. If objects are stored in it at once, the previous bundle cannot read them.
pub(super) fn version_added(_: &Comparison<'_>, old: &Crd, new: &Crd, out: &mut Collector) {
    for (name, version) in new.versions.iter().filter(|(name, _)| !old.versions.contains_key(*name)) {
        let change = Change::new(R34, format!("API version {name} added")).values(None, Some(json!(name)));
        let change = if version.storage {
            let stored =
                "New objects are stored in a version that the previous bundle cannot read; a rollback loses them.";
            change.warns().stored(stored)
        } else {
            change
        };
        out.report(&Site::version(new, version), &[], change);
    }
}

/// R35: objects are stored in another version. The previous bundle must have served it, so that a rollback is possible.
pub(super) fn storage_moved(_: &Comparison<'_>, old: &Crd, new: &Crd, out: &mut Collector) {
    let (Some(before), Some(after)) = (old.storage_version(), new.storage_version()) else { return };
    if before.name == after.name {
        return;
    }
    let served_before = old.versions.get(&after.name).is_some_and(|version| version.served);
    let stored = format!(
        "Objects stay in {} until they are written again; status.storedVersions lists both until a migration.",
        before.name
    );
    let message = format!("storage version changed from {} to {}", before.name, after.name);
    let change = if served_before {
        Change::new(R35, message)
    } else {
        let message = format!("{message}, which the previous bundle does not serve");
        Change::new(R35, message).needs(Level::Never, Level::Minor).warns()
    };
    let change = change.values(Some(json!(before.name)), Some(json!(after.name))).stored(stored);
    out.report(&Site::crd(new), &[], change);
}

/// R36: a version is no longer served. It must have been deprecated in the previous bundle, and objects must have been
/// stored in another version.
pub(super) fn no_longer_served(_: &Comparison<'_>, old: &Crd, new: &Crd, out: &mut Collector) {
    for version in new.versions.values().filter(|version| !version.served) {
        let Some(before) = old.versions.get(&version.name).filter(|before| before.served) else { continue };
        let missing = match (before.deprecated, before.storage) {
            (true, false) => None,
            (false, false) => Some("it was not deprecated before"),
            (true, true) => Some("objects were stored in it"),
            (false, true) => Some("it was not deprecated before, and objects were stored in it"),
        };
        let message = format!("API version {} is no longer served", version.name);
        let change = match missing {
            None => Change::new(R36, message),
            Some(why) => Change::new(R36, format!("{message}; {why}")).needs(Level::Major, Level::Minor),
        };
        let change = change.values(Some(json!("served")), Some(json!("not served")));
        out.report(&Site::version(new, version), &[], change);
    }
}

/// R37: a version was removed. A minor version may do it if the previous bundle did not serve it; the API server refuses it
/// while `status.storedVersions` names it.
pub(super) fn version_removed(_: &Comparison<'_>, old: &Crd, new: &Crd, out: &mut Collector) {
    for version in old.versions.values().filter(|version| !new.versions.contains_key(&version.name)) {
        let name = &version.name;
        let stored = old.stored_versions.as_ref().map(|stored| stored.contains(name));
        let message = format!("API version {name} removed");
        let sentence = format!(
            "The API server refuses the update while status.storedVersions of {} lists {name}; migrate objects first.",
            old.name
        );
        let change = match (stored, version.served) {
            (Some(true), _) => {
                let message = format!("{message}, but status.storedVersions lists it");
                Change::new(R37, message).needs(Level::Never, Level::Never)
            }
            (_, true) => {
                Change::new(R37, format!("{message}; the previous bundle served it")).needs(Level::Major, Level::Minor)
            }
            (_, false) => Change::new(R37, message),
        };
        let change = change.values(Some(json!(name)), None).stored(sentence);
        out.report(&Site::version(old, version), &[], change);
    }
}

/// R38: clients of a version are warned from now on, or no longer, or with another text.
pub(super) fn deprecation_changed(old: &ApiVersion, new: &ApiVersion, site: &Site<'_>, out: &mut Collector) {
    if old.deprecated != new.deprecated {
        let message = if new.deprecated { "API version deprecated" } else { "API version no longer deprecated" };
        let change = Change::new(R38, message).values(Some(json!(old.deprecated)), Some(json!(new.deprecated)));
        out.report(site, &[], change);
    } else if old.deprecation_warning != new.deprecation_warning {
        let change = Change::new(R38, "deprecation warning changed").needs(Level::Patch, Level::Patch);
        let values = (json!(old.deprecation_warning), json!(new.deprecation_warning));
        out.report(site, &[], change.values(Some(values.0), Some(values.1)));
    }
}

/// R40: two versions of a CRD differ in fields or types, and nothing converts between them. What differed in the bundle
/// before is not reported again.
pub(super) fn versions_disagree(comparison: &Comparison<'_>, out: &mut Collector) {
    for new in comparison.new.crds.values().filter(|crd| crd.converts_without_webhook()) {
        let old = comparison.old.crds.get(&new.name);
        for (one, two) in readable_pairs(new) {
            let (Some(first), Some(second)) = (&one.schema, &two.schema) else { continue };
            let schema =
                |name: &str| old.and_then(|crd| crd.versions.get(name)).and_then(|version| version.schema.as_ref());
            let known: BTreeSet<String> = match (schema(&one.name), schema(&two.name)) {
                (Some(first), Some(second)) => {
                    disagreements(first, second).into_iter().map(|(path, _)| render_path(&path)).collect()
                }
                _ => BTreeSet::new(),
            };
            for (path, what) in disagreements(first, second) {
                if !known.contains(&render_path(&path)) {
                    let message = format!("{} and {} disagree: {what}", one.name, two.name);
                    out.report(&Site::version(new, one), &path, Change::new(R40, message).warns());
                }
            }
        }
    }
}

/// Pairs of versions that objects are converted between: those that are served or stored, the preferred one first.
pub(crate) fn readable_pairs(crd: &Crd) -> Vec<(&ApiVersion, &ApiVersion)> {
    let mut versions: Vec<_> = crd.versions.values().filter(|version| version.served || version.storage).collect();
    versions.sort_by_key(|version| std::cmp::Reverse(ApiVersion::rank(&version.name)));
    let mut pairs = Vec::new();
    for (at, one) in versions.iter().enumerate() {
        pairs.extend(versions.iter().skip(at.saturating_add(1)).map(|two| (*one, *two)));
    }
    pairs
}

/// Fields that only one of two schemas has, and fields of different types.
fn disagreements<'a>(one: &'a FieldSchema, two: &'a FieldSchema) -> Vec<(Vec<Segment<'a>>, String)> {
    let mut found: Vec<(Vec<Segment<'a>>, String)> = Vec::new();
    found.extend(missing_fields(one, two).into_iter().map(|path| (path, "only the first has the field".to_owned())));
    found.extend(missing_fields(two, one).into_iter().map(|path| (path, "only the second has the field".to_owned())));
    different_types(one, two, &mut Vec::new(), &mut found);
    found
}

fn different_types<'a>(
    one: &'a FieldSchema,
    two: &FieldSchema,
    path: &mut Vec<Segment<'a>>,
    found: &mut Vec<(Vec<Segment<'a>>, String)>,
) {
    let kind = |schema: &FieldSchema| (schema.keywords.value_type.clone(), schema.keywords.int_or_string);
    if kind(one) != kind(two) {
        let name = |schema: &FieldSchema| schema.keywords.value_type.clone().unwrap_or_else(|| "any".to_owned());
        found.push((path.clone(), format!("the types are {} and {}", name(one), name(two))));
        return;
    }
    for (segment, below) in one.children() {
        if let Some(other) = two.at(&[segment]) {
            path.push(segment);
            different_types(below, other, path, found);
            path.pop();
        }
    }
}
