//! `clearway assess --release`: what the CRDs of a release would do to those of the cluster and to their stored objects.
//!
//! The findings are those of `clearway bundle preflight` and of the operator's preflight. What cannot be looked at is Unknown
//! with the reason, and never taken for harmless.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use clearway_advice::Status;
use clearway_bundle::{
    BundleLimits, BundleReader, Preflight, PreflightFinding, PreflightProblem, PreflightSeverity, annotation_domains,
};
use clearway_core::{Digest, Limits, Version};
use clearway_operator::apply_update::check_stored_objects;
use clearway_release::{Manifest, Payload, ReleaseLimits, Selection};
use clearway_sources::snapshot::{self, Snapshot};
use clearway_sources::store::{Store, StoreError};
use serde::Serialize;
use serde_json::Value;

use super::cluster::ClusterClient;
use super::opened_evidence::OpenedEvidence;
use crate::arguments::Assess;
use crate::commands::bundle::{check_snapshot_objects, preflight_table};
use crate::commands::release::NamedRelease;
use crate::exit::Exit;
use crate::output::LiveLine;

/// A release that is named on the command line.
pub(super) struct OpenedRelease {
    name: String,
    payload: Payload,
}

/// What a release would do to the CRDs of a cluster.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReleaseFindings {
    release: String,
    version: Version,
    digest: Digest,
    /// True if nothing is lost or refused, Unknown if that could not be found out.
    status: Status,
    /// Why it is Unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    findings: Vec<PreflightFinding>,
}

/// An answer with the findings of a release behind it.
#[derive(Debug, Serialize)]
pub(super) struct WithRelease<'a, T> {
    #[serde(flatten)]
    pub(super) answer: &'a T,
    #[serde(rename = "releaseFindings")]
    pub(super) release: &'a ReleaseFindings,
}

impl OpenedRelease {
    /// Fetches the release of the options, if one is named.
    pub(super) fn open(options: &Assess) -> Result<Option<Self>> {
        let Some(name) = &options.release else { return Ok(None) };
        let (arch, registries) = (&options.evidence.cluster.arch.arch, &options.source.registries.access);
        let named = NamedRelease::at(name, arch.clone(), options.source.trust.ca.file.clone(), registries)?;
        let payload = named.payload(&Selection::default(), &ReleaseLimits::default())?;
        Ok(Some(OpenedRelease { name: name.clone(), payload }))
    }

    pub(super) fn payload(&self) -> &Payload {
        &self.payload
    }

    pub(super) fn version(&self) -> Version {
        self.payload.version().without_build()
    }

    /// Compares the CRDs of the release with those of the cluster.
    pub(super) fn check(self, evidence: &OpenedEvidence<'_>) -> Result<ReleaseFindings> {
        let crds: Vec<&Manifest> =
            self.payload.manifests.iter().filter(|one| one.is_definition() && !one.deletes()).collect();
        let outcome = if crds.is_empty() { Ok(Vec::new()) } else { look(evidence, &crds)? };
        let (version, digest) = (self.version(), self.payload.digest.clone());
        let (reason, findings) = match outcome {
            Ok(findings) => (None, findings),
            Err(reason) => (Some(reason), Vec::new()),
        };
        let is = |severity| findings.iter().any(|finding| finding.severity == severity);
        let not_checked = findings.iter().find(|finding| finding.problem == PreflightProblem::NotChecked);
        let reason = reason.or_else(|| not_checked.map(ToString::to_string));
        let status = if is(PreflightSeverity::Blocking) {
            Status::False
        } else if reason.is_some() {
            Status::Unknown
        } else {
            Status::True
        };
        Ok(ReleaseFindings { release: self.name, version, digest, status, reason, findings })
    }
}

/// The findings, or why there can be none.
fn look(evidence: &OpenedEvidence<'_>, crds: &[&Manifest]) -> Result<Result<Vec<PreflightFinding>, String>> {
    if let Some(path) = evidence.snapshot() {
        let taken = snapshot::read(path, &Limits::default());
        let taken = taken.with_context(|| format!("cannot read {}", path.display()))?.snapshot;
        return Ok(evidence.stale(taken.taken_at).map_or_else(|| look_at_snapshot(&taken, crds), Err));
    }
    match evidence.cluster() {
        Ok(cluster) => match cluster.runtime.block_on(look_at(cluster, crds)) {
            Ok(findings) => Ok(Ok(findings)),
            Err(error) => Ok(Err(format!("the CRDs of the cluster cannot be read: {error}"))),
        },
        Err(reason) => Ok(Err(reason)),
    }
}

/// The same of a snapshot. CRDs that are not in it are not known, unless all CRDs of their bundle are.
fn look_at_snapshot(taken: &Snapshot, crds: &[&Manifest]) -> Result<Vec<PreflightFinding>, String> {
    let found = taken.objects_of("apiextensions.k8s.io", "CustomResourceDefinition");
    let (definitions, is_whole) = match &found {
        Ok(found) => (found.items.as_slice(), found.selection == snapshot::Selection::default()),
        Err(_) => (&[][..], false),
    };
    let is_known = |manifest: &Manifest| {
        let group = manifest.object.pointer("/spec/group").and_then(Value::as_str);
        let mut domains = annotation_domains(&manifest.object).chain(group);
        is_whole || domains.any(|domain| taken.bundles.iter().any(|bundle| bundle == domain))
    };
    if let Some(unknown) = crds.iter().find(|manifest| !is_known(manifest)) {
        let (name, group) = (&unknown.id.name, unknown.object.pointer("/spec/group").and_then(Value::as_str));
        let domain = annotation_domains(&unknown.object).next().or(group).unwrap_or_default();
        return Err(format!(
            "the snapshot does not hold the CRD {name}; collect it with `clearway snapshot collect --bundle {domain}`"
        ));
    }
    let live =
        |manifest: &Manifest| definitions.iter().find(|crd| crd["metadata"]["name"] == manifest.id.name.as_str());
    let applied = crds.iter().filter(|manifest| !(manifest.create_only() && live(manifest).is_some()));
    let (mut installed, mut release) = (Vec::new(), Vec::new());
    for manifest in applied {
        installed.extend(live(manifest));
        release.push(&manifest.object);
    }
    let limits = BundleLimits::default();
    let mut reader = BundleReader::new("the snapshot", "", limits.clone());
    for crd in &installed {
        reader.add_object(crd);
    }
    let mut preflight = Preflight::of_release(&installed, &release, &limits);
    check_snapshot_objects(&mut preflight, taken, definitions, &reader.finish());
    Ok(preflight.finish())
}

async fn look_at(cluster: &ClusterClient, crds: &[&Manifest]) -> Result<Vec<PreflightFinding>, StoreError> {
    let store = cluster.store();
    let (mut installed, mut release): (Vec<Value>, Vec<&Value>) = (Vec::new(), Vec::new());
    for manifest in crds {
        match store.get(&manifest.reference()).await? {
            // It is left as it is.
            Some(_) if manifest.create_only() => {}
            found => {
                installed.extend(found);
                release.push(&manifest.object);
            }
        }
    }
    let installed: Vec<&Value> = installed.iter().collect();
    let mut preflight = Preflight::of_release(&installed, &release, &BundleLimits::default());
    let mut progress = LiveLine::new();
    check_stored_objects(&store, &mut preflight, |crd, checked| {
        progress.set(&format!("checked {checked} objects of {crd}"));
    })
    .await?;
    progress.clear();
    Ok(preflight.finish())
}

impl ReleaseFindings {
    /// The exit code of an answer, with what the release adds to it.
    pub(super) fn combine(&self, exit: Exit) -> Exit {
        match (exit, self.status) {
            (Exit::CouldNotRun, _) => Exit::CouldNotRun,
            (Exit::No, _) | (_, Status::False) => Exit::No,
            (Exit::Unknown, _) | (_, Status::Unknown) => Exit::Unknown,
            (Exit::Yes, Status::True) => Exit::Yes,
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("\nCRDs of release {} ({}): ", self.version, self.release);
        // Writing into a text cannot fail.
        let _ = match (self.status, &self.reason) {
            (Status::Unknown, Some(reason)) if self.findings.is_empty() => writeln!(text, "Unknown: {reason}"),
            (Status::Unknown, _) => writeln!(text, "Unknown"),
            (Status::False, _) => writeln!(text, "data would be lost, or something would be refused"),
            (Status::True, _) if self.findings.is_empty() => writeln!(text, "nothing is lost or refused"),
            (Status::True, _) => writeln!(text, "nothing is lost or refused, but there are warnings"),
        };
        text + &preflight_table(&self.findings)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clearway_core::{GroupKind, Timestamp};
    use clearway_release::{Files, Metadata, digest};
    use clearway_sources::snapshot::{NameSelector, Objects, Part, Selection as ObjectSelection};
    use serde_json::json;

    use super::*;

    fn crd(fields: &Value) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.a.io", "annotations": {"a.io/bundle-version": "v1.0.0", "a.io/channel": "standard"}},
            "spec": {
                "group": "a.io", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": {"type": "object", "properties": fields}},
                }}}],
            },
            "status": {"storedVersions": ["v1"]},
        })
    }

    fn release(crd: &Value) -> Payload {
        let (previous, next, metadata) = (Vec::new(), Vec::new(), BTreeMap::new());
        let metadata = Metadata { version: "1.0.0".parse().unwrap(), previous, next, metadata };
        let mut files = Files::from([("release-metadata".to_owned(), metadata.write())]);
        files.insert("0000_30_a_crd.yaml".to_owned(), crd.to_string().into_bytes());
        Payload::read(&files, digest(&files), &Selection::default(), &ReleaseLimits::default()).unwrap()
    }

    /// A snapshot with the CRD, if it names the bundle, and with the objects.
    fn snapshot(bundle: &str, crd: &Value, objects: Option<Value>) -> Snapshot {
        let kind = |group: &str, kind: &str| GroupKind { group: group.to_owned(), kind: kind.to_owned() };
        let only = vec![NameSelector { namespace: None, name: "things.a.io".to_owned() }];
        let selection = ObjectSelection { only, ..ObjectSelection::default() };
        let mut taken = Snapshot::new(Timestamp::EPOCH);
        taken.bundles = vec![bundle.to_owned()];
        let crds = Objects { selection, items: vec![crd.clone()], not_served: false };
        taken.objects.insert(kind("apiextensions.k8s.io", "CustomResourceDefinition"), Part::Collected(crds));
        if let Some(objects) = objects {
            let items = objects.as_array().cloned().unwrap();
            taken.objects.insert(kind("a.io", "Thing"), Part::Collected(Objects { items, ..Objects::default() }));
        }
        taken
    }

    #[test]
    fn a_snapshot_gives_the_findings_of_what_it_holds_and_the_rest_is_not_known() {
        let (old, new) = (crd(&json!({"a": {"type": "string"}})), crd(&json!({"b": {"type": "string"}})));
        let thing = json!([{"apiVersion": "a.io/v1", "kind": "Thing", "metadata": {"name": "t", "namespace": "n"}, "spec": {"a": "x"}}]);
        let look = |taken: &Snapshot, crd: &Value| {
            let payload = release(crd);
            let found = look_at_snapshot(taken, &payload.manifests.iter().collect::<Vec<_>>());
            found.map(|found| found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        };
        let whole = snapshot("a.io", &old, Some(thing.clone()));
        assert_eq!(look(&whole, &old), Ok(String::new()));
        assert_eq!(look(&whole, &new), Ok("things.a.io: stored objects would lose spec.a (n/t: spec.a)".to_owned()));
        let without_objects = look(&snapshot("a.io", &old, None), &new).unwrap();
        assert!(without_objects.starts_with("things.a.io: stored objects could not be listed: "), "{without_objects}");
        let other = look(&snapshot("b.io", &old, Some(thing)), &new).unwrap_err();
        assert!(other.ends_with("collect it with `clearway snapshot collect --bundle a.io`"), "{other}");
    }
}
