//! The objects of a snapshot for `bundle preflight --snapshot`: the same findings as on the cluster that it was taken from,
//! but for what was removed from it, which is not known.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clearway_advice::evidence::REMOVED;
use clearway_bundle::{Bundle, BundleLimits, Preflight, PreflightFinding, installed_bundles};
use clearway_core::{GroupVersionKind, Limits, split_api_version};
use clearway_sources::snapshot::{self, Selection, Snapshot};
use serde_json::Value;

use super::gateway_status;
use crate::output;

/// What installing a bundle would do to the cluster that a snapshot was taken from.
pub(super) fn findings(new: &Bundle, path: &Path) -> Result<Vec<PreflightFinding>> {
    let loaded = snapshot::read(path, &Limits::default()).with_context(|| format!("cannot read {}", path.display()))?;
    for diagnostic in &loaded.diagnostics {
        output::print_note!("{}", output::printable(&diagnostic.message));
    }
    let taken = loaded.snapshot;
    let definitions = definitions(&taken, new, path)?;
    let installed = installed_bundles(definitions, &BundleLimits::default());
    let Some(installed) = installed.into_iter().find(|installed| installed.bundle.domain == new.domain) else {
        output::print_note!("nothing of {} is installed", new.domain);
        return Ok(Vec::new());
    };
    super::print_versions(&installed.bundle, new);
    let mut preflight = Preflight::new(&installed.bundle, new);
    check_snapshot_objects(&mut preflight, &taken, definitions, &installed.bundle);
    let mut findings = preflight.finish();
    findings.extend(gateway_status::snapshot_findings(&installed.bundle, new, &taken, path)?);
    findings.sort();
    Ok(findings)
}

/// Hands the objects of a snapshot to a preflight; what is not known of them is a finding. `installed` are the CRDs of the
/// snapshot as they were read.
pub(crate) fn check_snapshot_objects(
    preflight: &mut Preflight,
    taken: &Snapshot,
    definitions: &[Value],
    installed: &Bundle,
) {
    for (crd, kind) in preflight.needed_kinds() {
        let definition = definitions.iter().find(|definition| definition["metadata"]["name"] == crd.as_str());
        if definition.is_some_and(has_removed_schema) {
            preflight.not_listed(&crd, "texts of the installed schema were removed from the snapshot");
        } else if let Err(why) = check_objects(preflight, taken, installed, &crd, &kind) {
            preflight.not_listed(&crd, &why);
        }
    }
}

/// The CRDs of a snapshot, if those of the bundle are all among them.
fn definitions<'s>(taken: &'s Snapshot, new: &Bundle, path: &Path) -> Result<&'s [Value]> {
    let is_known = taken.bundles.contains(&new.domain);
    match taken.objects_of("apiextensions.k8s.io", "CustomResourceDefinition") {
        Ok(found) if is_known || found.selection == Selection::default() => Ok(&found.items),
        Err(_) if is_known => Ok(&[]),
        Ok(_) | Err(_) => bail!(
            "{} does not hold the CRDs of {domain}; collect them with `clearway snapshot collect --bundle {domain}`",
            path.display(),
            domain = new.domain
        ),
    }
}

/// Checks the objects of a CRD, or says why they are not known.
fn check_objects(
    preflight: &mut Preflight,
    taken: &Snapshot,
    installed: &Bundle,
    crd: &str,
    kind: &GroupVersionKind,
) -> Result<(), String> {
    let found = taken.objects_of(&kind.group, &kind.kind)?;
    if found.not_served {
        return Err("the cluster did not serve the kind".to_owned());
    }
    if found.selection != Selection::default() {
        return Err("the snapshot holds only some of them".to_owned());
    }
    if taken.redacted && !found.items.is_empty() {
        return Err("names were replaced in the snapshot".to_owned());
    }
    let same = |version: &str| {
        let is_plain = installed.crds.get(crd).is_some_and(clearway_bundle::Crd::converts_without_webhook);
        let (one, other) = (installed.schema(crd, version), installed.schema(crd, &kind.version));
        version == kind.version || (is_plain && one.zip(other).is_some_and(|(one, other)| one.same_shape(other)))
    };
    let version = |object: &Value| object["apiVersion"].as_str().map(|text| split_api_version(text).1.to_owned());
    for object in &found.items {
        let version = version(object).unwrap_or_default();
        if !same(&version) {
            let version = version.chars().take(64).collect::<String>();
            return Err(format!("the snapshot has them in {version}, whose schema is not that of {}", kind.version));
        }
    }
    for object in &found.items {
        if version(object).as_deref() == Some(kind.version.as_str()) {
            preflight.check_stripped_object(crd, object, &is_removed);
        } else {
            // Without a webhook and with the same schema, the API server changes nothing but this.
            let mut converted = object.clone();
            if let Some(fields) = converted.as_object_mut() {
                fields.insert("apiVersion".to_owned(), format!("{}/{}", kind.group, kind.version).into());
            }
            preflight.check_stripped_object(crd, &converted, &is_removed);
        }
    }
    Ok(())
}

/// Whether a value, or a part of a text, was removed from the snapshot.
fn is_removed(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains(REMOVED))
}

fn has_removed_schema(definition: &Value) -> bool {
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    versions.filter_map(|version| version.get("schema")).any(has_removed)
}

/// Recursion is safe: readers of JSON refuse what is nested more than 128 deep.
fn has_removed(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_removed),
        Value::Object(fields) => fields.values().any(has_removed),
        other => is_removed(other),
    }
}
