//! R42 to R46: the bundle as a whole: switched channels, rollbacks, mixed versions, and versions that were skipped.

use std::collections::BTreeSet;

use serde_json::json;

use crate::finding::RuleId;
use crate::judge::{Change, Collector, Comparison, Site, missing_fields};
use crate::model::{Bundle, BundleVersion, Level};

const R42: RuleId = RuleId("R42");
const R43: RuleId = RuleId("R43");
const R44: RuleId = RuleId("R44");
const R45: RuleId = RuleId("R45");
const R46: RuleId = RuleId("R46");

/// R42: from the experimental channel to the standard one. What objects lose is listed.
pub(super) fn to_standard(comparison: &Comparison<'_>, out: &mut Collector) {
    report_lost(comparison, R42, out, |change| change.needs(Level::None, Level::None).warns());
    for crd in comparison.new.crds.values() {
        let Some(old) = comparison.old.crds.get(&crd.name) else { continue };
        for version in crd.versions.values().filter(|version| !version.served) {
            if old.versions.get(&version.name).is_some_and(|before| before.served) {
                let change =
                    Change::new(R42, format!("API version {} is not served in the standard channel", version.name));
                out.report(&Site::version(crd, version), &[], change.needs(Level::None, Level::None).warns());
            }
        }
    }
}

/// R43: from the standard channel to the experimental one.
pub(super) fn to_experimental(comparison: &Comparison<'_>, out: &mut Collector) {
    let change = Change::new(R43, "the experimental channel would replace the standard one");
    out.report(&Site::bundle(comparison.new), &[], change.values(Some(json!("standard")), Some(json!("experimental"))));
}

/// R44: to an older version of the bundle. What objects lose is listed.
pub(super) fn rollback(comparison: &Comparison<'_>, out: &mut Collector) {
    let (old, new) = (comparison.old.version_text(), comparison.new.version_text());
    let change = Change::new(R44, format!("rollback from {old} to {new}"));
    out.report(&Site::bundle(comparison.new), &[], change.values(Some(json!(old)), Some(json!(new))));
    report_lost(comparison, R44, out, |change| change);
}

/// CRDs, versions and fields that the new bundle does not have.
fn report_lost(comparison: &Comparison<'_>, rule: RuleId, out: &mut Collector, level: impl Fn(Change) -> Change) {
    for old in comparison.old.crds.values() {
        let Some(new) = comparison.new.crds.get(&old.name) else {
            let change = Change::new(rule, "the new bundle does not have this CRD; it is left behind");
            out.report(&Site::crd(old), &[], level(change).stored("Objects stay as long as the CRD is not deleted."));
            continue;
        };
        for version in old.versions.values() {
            let site = Site::version(old, version);
            let Some(after) = new.versions.get(&version.name) else {
                let change = Change::new(rule, format!("the new bundle does not have API version {}", version.name));
                let stored =
                    format!("The API server refuses the CRD while status.storedVersions lists {}.", version.name);
                let change = level(change).stored(stored);
                let is_stored = old.stored_versions.as_ref().is_some_and(|stored| stored.contains(&version.name));
                out.report(&site, &[], if is_stored { change.needs(Level::Never, Level::Never) } else { change });
                continue;
            };
            let (Some(from), Some(other)) = (&version.schema, &after.schema) else { continue };
            for path in missing_fields(from, other) {
                let position = from.at(&path).and_then(|schema| schema.position);
                let change = Change::new(rule, "the new bundle does not have this field").at(position);
                let stored =
                    "Objects that have the field lose it on their next write, and their generation stays the same.";
                out.report(&site, &path, level(change).stored(stored));
            }
        }
    }
}

/// R45: parts of the bundle carry another version or channel than most of its CRDs, or only one of the two annotations.
/// Webhooks must be of the version of the CRDs, and the workloads behind them, too.
pub(super) fn mixed(comparison: &Comparison<'_>, out: &mut Collector) {
    for (bundle, is_new) in [(comparison.old, false), (comparison.new, true)] {
        // Installing the new bundle corrects an old one that is mixed.
        let report = |out: &mut Collector, site: Site<'_>, message: String, warns: bool| {
            let change = Change::new(R45, if is_new { message } else { format!("in the previous bundle: {message}") });
            let change = if is_new && !warns { change } else { change.needs(Level::None, Level::None).warns() };
            out.report(&site, &[], change);
        };
        if bundle.version.is_none() && !bundle.crds.is_empty() {
            let message = format!("no CRD has the annotation {}/bundle-version", bundle.domain);
            report(out, Site::bundle(bundle), message, false);
        }
        let versions: BTreeSet<&str> = bundle.crds.values().filter_map(|crd| crd.bundle_version.as_deref()).collect();
        let channels: BTreeSet<&str> = bundle.crds.values().filter_map(|crd| crd.channel.as_deref()).collect();
        for crd in bundle.crds.values() {
            let marks = (crd.bundle_version.as_deref(), crd.channel.as_deref());
            for message in differences(bundle, marks, versions.len() > 1, channels.len() > 1) {
                report(out, Site::crd(crd), message, false);
            }
        }
        // A policy guards the installation and does not judge objects, so that its version is worth a warning only.
        for policy in &bundle.policies {
            let marks = (policy.bundle_version.as_deref(), policy.channel.as_deref());
            let name = format!("{} {}", policy.kind, policy.name);
            for message in differences(bundle, marks, true, true) {
                report(out, Site::object(&name, &policy.place), message, true);
            }
        }
        for webhook in &bundle.webhooks {
            let marks = (webhook.bundle_version.as_deref(), webhook.channel.as_deref());
            let name = format!("{} {}", webhook.kind, webhook.name);
            for message in differences(bundle, marks, true, true) {
                report(out, Site::object(&name, &webhook.place), message, false);
            }
            for workload in &webhook.workloads {
                if let Some(version) = workload_version(bundle, workload.bundle_version.as_deref(), &workload.images) {
                    let message = format!(
                        "the {} {} behind the webhook has version {version}; the bundle has {}",
                        workload.kind,
                        workload.name,
                        bundle.version_text()
                    );
                    report(out, Site::object(&name, &webhook.place), message, false);
                }
            }
        }
    }
}

/// What is wrong with the two annotations of an object.
fn differences(
    bundle: &Bundle,
    marks: (Option<&str>, Option<&str>),
    mixed_versions: bool,
    mixed_channels: bool,
) -> Vec<String> {
    let domain = &bundle.domain;
    let mut found = Vec::new();
    match marks {
        (None, None) => return found,
        (Some(_), None) => found.push(format!("the annotation {domain}/channel is missing")),
        (None, Some(_)) => found.push(format!("the annotation {domain}/bundle-version is missing")),
        (Some(_), Some(_)) => {}
    }
    if let (Some(version), Some(expected), true) = (marks.0, &bundle.version, mixed_versions)
        && BundleVersion::read(version) != *expected
    {
        found.push(format!("bundle version {version} differs from {expected}, which most CRDs have"));
    }
    if let (Some(channel), Some(expected), true) = (marks.1, bundle.channel, mixed_channels)
        && channel != expected.as_str()
    {
        found.push(format!("channel {channel} differs from {expected}, which most CRDs have"));
    }
    found
}

/// The version of a workload, if it is not that of the bundle: by its annotation, or by a tag of an image that is a version.
fn workload_version(bundle: &Bundle, annotation: Option<&str>, images: &[String]) -> Option<String> {
    let expected = bundle.version.as_ref()?.release()?;
    let differs = |text: &str| {
        let version = BundleVersion::read(text);
        version.release().is_some_and(|version| version != expected).then(|| text.to_owned())
    };
    if let Some(version) = annotation {
        return differs(version);
    }
    let tag = |image: &String| {
        let image = image.split('@').next().unwrap_or_default().to_owned();
        let (_, tag) = image.rsplit_once(':')?;
        differs(tag)
    };
    images.iter().find_map(tag)
}

/// R46: more than one minor version at once.
pub(super) fn skipped_minor(comparison: &Comparison<'_>, out: &mut Collector) {
    let release = |bundle: &Bundle| bundle.version.as_ref().and_then(BundleVersion::release).cloned();
    let (Some(old), Some(new)) = (release(comparison.old), release(comparison.new)) else { return };
    let skipped = new.minor().saturating_sub(old.minor()).saturating_sub(1);
    if old.major() == new.major() && skipped > 0 {
        let plural = if skipped == 1 { "version" } else { "versions" };
        let change =
            Change::new(R46, format!("the update skips {skipped} minor {plural}; update one at a time")).warns();
        let values = (json!(old.to_string()), json!(new.to_string()));
        out.report(&Site::bundle(comparison.new), &[], change.values(Some(values.0), Some(values.1)));
    }
}
