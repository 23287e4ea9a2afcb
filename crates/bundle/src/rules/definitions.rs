//! R31 to R33, R39 and R41: CRDs that come, go, or change what identifies them and how they are served.

use serde_json::json;

use crate::channel::Channel;
use crate::finding::RuleId;
use crate::judge::{Change, Collector, Comparison, Site};
use crate::model::{ApiVersion, Crd, Level};

const R31: RuleId = RuleId("R31");
const R32: RuleId = RuleId("R32");
const R33: RuleId = RuleId("R33");
const R39: RuleId = RuleId("R39");
const R41: RuleId = RuleId("R41");

/// CRDs that got another group or plural: the kind and one of the two are the same.
fn moved<'b>(comparison: &Comparison<'b>) -> Vec<(&'b Crd, &'b Crd)> {
    let (old, new) = (comparison.old, comparison.new);
    let removed = old.crds.values().filter(|crd| !new.crds.contains_key(&crd.name));
    let pairs = removed.filter_map(|before| {
        let same = |crd: &&Crd| crd.kind == before.kind && (crd.group == before.group || crd.plural == before.plural);
        let after = new.crds.values().filter(|crd| !old.crds.contains_key(&crd.name)).find(same)?;
        Some((before, after))
    });
    pairs.collect()
}

/// R31: the scope, group, kind or plural changed.
pub(super) fn identity_changed(comparison: &Comparison<'_>, out: &mut Collector) {
    let kept = comparison.new.crds.values().filter_map(|new| Some((comparison.old.crds.get(&new.name)?, new)));
    for (old, new) in kept.chain(moved(comparison)) {
        let parts = [
            ("scope", &old.scope, &new.scope),
            ("group", &old.group, &new.group),
            ("kind", &old.kind, &new.kind),
            ("plural", &old.plural, &new.plural),
            ("list kind", &old.list_kind, &new.list_kind),
            ("singular", &old.singular, &new.singular),
        ];
        for (what, before, after) in parts {
            if before != after && !(before.is_empty() || after.is_empty()) {
                let change = Change::new(R31, format!("{what} changed from {before} to {after}"));
                out.report(&Site::crd(new), &[], change.values(Some(json!(before)), Some(json!(after))));
            }
        }
    }
}

/// R32: a CRD was added. In the standard channel it must have been experimental, which is judged if the experimental
/// bundles are given, and it needs a version that is not alpha.
pub(super) fn crd_added(comparison: &Comparison<'_>, out: &mut Collector) {
    let moved = moved(comparison);
    let given: Vec<_> = [comparison.old_experimental, comparison.new_experimental].into_iter().flatten().collect();
    for crd in comparison.new.crds.values() {
        if comparison.old.crds.contains_key(&crd.name) || moved.iter().any(|(_, new)| new.name == crd.name) {
            continue;
        }
        let was_experimental = given.is_empty() || given.iter().any(|bundle| bundle.crds.contains_key(&crd.name));
        let is_alpha =
            crd.versions.values().filter(|version| version.served).all(|version| ApiVersion::is_alpha(&version.name));
        let standard = comparison.new.channel != Some(Channel::Experimental);
        let change = if !was_experimental && !out.is_experimental() {
            Change::new(R32, "CRD added without having been experimental").needs(Level::Never, Level::Minor)
        } else if is_alpha && standard && !out.is_experimental() {
            Change::new(R32, "CRD added with alpha versions only").needs_review()
        } else {
            Change::new(R32, "CRD added")
        };
        out.report(&Site::crd(crd), &[], change.values(None, Some(json!(crd.name))));
    }
}

/// R33: a CRD was removed.
pub(super) fn crd_removed(comparison: &Comparison<'_>, out: &mut Collector) {
    let moved = moved(comparison);
    for crd in comparison.old.crds.values() {
        if comparison.new.crds.contains_key(&crd.name) || moved.iter().any(|(old, _)| old.name == crd.name) {
            continue;
        }
        out.report(&Site::crd(crd), &[], Change::new(R33, "CRD removed").values(Some(json!(crd.name)), None));
    }
}

/// R39: objects are converted by a webhook from now on, or no longer.
pub(super) fn conversion_changed(_: &Comparison<'_>, old: &Crd, new: &Crd, out: &mut Collector) {
    if old.conversion == new.conversion {
        return;
    }
    let (before, after) = (&old.conversion, &new.conversion);
    let change = Change::new(R39, format!("conversion strategy changed from {before} to {after}"));
    let change = change.values(Some(json!(before)), Some(json!(after)));
    out.report(&Site::crd(new), &[], if new.converts_without_webhook() { change.needs_review() } else { change });
}

/// R41: the subresource `status` or `scale`, or a selectable field, was removed; or one was added.
pub(super) fn subresource_changed(old: &ApiVersion, new: &ApiVersion, site: &Site<'_>, out: &mut Collector) {
    match (old.status_subresource, new.status_subresource) {
        (true, false) => out.report(site, &[], Change::new(R41, "subresource `status` removed")),
        // No client sees it in a version that is not served.
        (false, true) if new.served => {
            let stored = "Clients that write `status` with the whole object lose it silently.";
            let change = Change::new(R41, "subresource `status` added").needs(Level::Minor, Level::Minor);
            out.report(site, &[], change.stored(stored).needs_review());
        }
        _ => {}
    }
    let change = match (&old.scale, &new.scale) {
        (Some(_), None) => Some(Change::new(R41, "subresource `scale` removed")),
        (Some(before), Some(after)) if before != after => Some(Change::new(R41, "subresource `scale` changed")),
        (None, Some(_)) => Some(Change::new(R41, "subresource `scale` added").needs(Level::Minor, Level::Minor)),
        _ => None,
    };
    if let Some(change) = change {
        out.report(site, &[], change.values(old.scale.clone(), new.scale.clone()));
    }
    for path in old.selectable_fields.difference(&new.selectable_fields) {
        let message = format!("selectable field `{}` removed", clearway_schema::excerpt(path));
        let stored = "Requests with this field selector fail.";
        out.report(site, &[], Change::new(R41, message).values(Some(json!(path)), None).stored(stored));
    }
    for path in new.selectable_fields.difference(&old.selectable_fields) {
        let message = format!("selectable field `{}` added", clearway_schema::excerpt(path));
        let change = Change::new(R41, message).values(None, Some(json!(path))).needs(Level::Minor, Level::Minor);
        out.report(site, &[], change.stored("Stored objects do not change."));
    }
}
