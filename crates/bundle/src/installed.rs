//! The bundles of a cluster, from the annotations of its CRDs: version and channel of each, and what does not fit
//! together (V7, V8).

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::judge::Comparison;
use crate::model::Bundle;
use crate::read::{BundleLimits, BundleReader};

/// The end of the annotation that names the version of a bundle.
const VERSION_SUFFIX: &str = "/bundle-version";
/// Bytes of a text that a record of a CRD keeps; the API server accepts no longer names.
const RECORD_TEXT: usize = 253;
/// Versions that a record keeps: one more than is read, so that a CRD with more is known to be incomplete.
const RECORD_VERSIONS: usize = 51;

/// A bundle as a cluster has it.
#[derive(Debug, Clone)]
pub struct InstalledBundle {
    /// What is installed.
    pub bundle: Bundle,
    /// What does not fit together.
    pub problems: Vec<InstallationProblem>,
}

/// Something that keeps installed CRDs from being one whole bundle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstallationProblem {
    /// What kind of problem it is.
    pub kind: ProblemKind,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The CRDs, webhooks and policies that it is about.
    pub objects: Vec<String>,
}

/// The kinds of problems of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// CRDs of several versions.
    MixedVersions,
    /// CRDs of several channels.
    MixedChannels,
    /// CRDs of the bundle's API groups that do not say their version or channel.
    Unknown,
    /// CRDs that the bundle has and the cluster does not.
    Partial,
    /// CRDs that differ from those of the bundle with the same version.
    Modified,
    /// Webhooks or policies of another version than most CRDs.
    OtherVersion,
}

/// Finds the bundles among the objects of a cluster: CRDs, and, if they are given, webhook configurations, admission
/// policies, Services and workloads. CRDs without annotations that share no API group with a bundle belong to none.
pub fn installed_bundles(objects: &[Value], limits: &BundleLimits) -> Vec<InstalledBundle> {
    let mut groups: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for crd in objects.iter().filter(|object| is_crd(object)) {
        for domain in annotation_domains(crd) {
            groups.entry(domain).or_default().insert(group(crd));
        }
    }
    groups.iter().map(|(domain, groups)| installed_bundle(domain, groups, objects, limits)).collect()
}

/// One bundle among the CRDs of a cluster, by the domain of its annotations: all CRDs of the API groups in which a CRD has
/// one of its annotations, and of the group with the name of the domain. Nothing if there are none.
pub fn installed_bundle_of(domain: &str, crds: &[Value], limits: &BundleLimits) -> Option<InstalledBundle> {
    let keys = [format!("{domain}{VERSION_SUFFIX}"), format!("{domain}/channel")];
    let is_annotated = |crd: &Value| {
        let annotations = crd.pointer("/metadata/annotations");
        keys.iter().any(|key| annotations.and_then(|all| all.get(key)).is_some())
    };
    let own = crds.iter().filter(|crd| is_crd(crd) && (group(crd) == domain || is_annotated(crd)));
    let groups: BTreeSet<&str> = own.map(group).collect();
    (!groups.is_empty()).then(|| installed_bundle(domain, &groups, crds, limits))
}

/// The part of a CRD that says to which bundle it belongs, and which versions it serves and stores: a small CRD without
/// schemas, for whoever looks at all CRDs of a cluster.
pub fn installation_record(crd: &Value, domain: &str) -> Value {
    let text = |path: &str| short(crd.pointer(path));
    let annotations = [format!("{domain}{VERSION_SUFFIX}"), format!("{domain}/channel")].into_iter();
    let annotations = annotations.filter_map(|key| {
        let value = short(crd.get("metadata")?.get("annotations")?.get(&key));
        (!value.is_null()).then_some((key, value))
    });
    let version = |version: &Value| {
        json!({
            "name": short(version.get("name")), "served": version.get("served"), "storage": version.get("storage"),
            "schema": {"openAPIV3Schema": {"type": "object"}},
        })
    };
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    // A list with something else than names in it is not known.
    let stored = crd.pointer("/status/storedVersions").and_then(Value::as_array).map(|stored| {
        let names: Vec<Value> = stored.iter().take(RECORD_VERSIONS).map(|version| short(Some(version))).collect();
        if names.contains(&Value::Null) { Value::Null } else { names.into() }
    });
    json!({
        "apiVersion": text("/apiVersion"), "kind": text("/kind"),
        "metadata": {"name": text("/metadata/name"), "annotations": annotations.collect::<Map<_, _>>()},
        "spec": {
            "group": text("/spec/group"), "scope": text("/spec/scope"),
            "names": {"kind": text("/spec/names/kind"), "plural": text("/spec/names/plural")},
            "versions": versions.take(RECORD_VERSIONS).map(version).collect::<Vec<_>>(),
        },
        "status": {"storedVersions": stored},
    })
}

/// A text as a record keeps it; null for everything else, and for what is longer than any name.
fn short(value: Option<&Value>) -> Value {
    value.and_then(Value::as_str).filter(|text| text.len() <= RECORD_TEXT).into()
}

/// What differs from the bundle that should be installed, besides what [`installed_bundles`] finds.
pub fn compare_installed(installed: &Bundle, expected: &Bundle) -> Vec<InstallationProblem> {
    let mut problems = Vec::new();
    let missing: Vec<String> =
        expected.crds.keys().filter(|name| !installed.crds.contains_key(*name)).cloned().collect();
    if !missing.is_empty() {
        let message = format!("{} of {} CRDs are missing", missing.len(), expected.crds.len());
        problems.push(InstallationProblem { kind: ProblemKind::Partial, message, objects: missing });
    }
    if installed.version == expected.version && installed.channel == expected.channel {
        let judgement = Comparison::new(expected, installed).judge();
        let changed: BTreeSet<String> = judgement
            .findings
            .iter()
            // Annotations and labels are added by whoever installs.
            .filter(|finding| finding.rule.as_str() != "R02")
            .filter_map(|finding| finding.crd.clone())
            .filter(|name| installed.crds.contains_key(name) && expected.crds.contains_key(name))
            .collect();
        if !changed.is_empty() {
            let message = format!("CRDs differ from those of bundle {}", expected.version_text());
            problems.push(InstallationProblem {
                kind: ProblemKind::Modified,
                message,
                objects: changed.into_iter().collect(),
            });
        }
    }
    problems
}

fn installed_bundle(
    domain: &str,
    groups: &BTreeSet<&str>,
    objects: &[Value],
    limits: &BundleLimits,
) -> InstalledBundle {
    let mut reader = BundleReader::new(domain, domain, limits.clone());
    for object in objects.iter().filter(|object| !is_crd(object) || groups.contains(group(object))) {
        reader.add_object(object);
    }
    let bundle = reader.finish();
    let mut problems = Vec::new();
    let mut add = |kind, message: String, objects: Vec<String>| {
        if !objects.is_empty() {
            problems.push(InstallationProblem { kind, message, objects });
        }
    };
    let unknown = bundle.crds.values().filter(|crd| crd.bundle_version.is_none() || crd.channel.is_none());
    add(
        ProblemKind::Unknown,
        format!("CRDs without {domain}/bundle-version or {domain}/channel"),
        unknown.map(|crd| crd.name.clone()).collect(),
    );
    let version = bundle.version_text();
    let is_other = |said: &Option<String>| said.as_ref().is_some_and(|said| *said != version);
    let other = bundle.crds.values().filter(|crd| is_other(&crd.bundle_version));
    add(
        ProblemKind::MixedVersions,
        format!("CRDs of another bundle version than {version}, which most have"),
        other.map(|crd| named(&crd.name, crd.bundle_version.as_deref())).collect(),
    );
    let channel = bundle.channel.map(|channel| channel.as_str().to_owned());
    let other = bundle.crds.values().filter(|crd| crd.channel.is_some() && crd.channel != channel);
    add(
        ProblemKind::MixedChannels,
        format!("CRDs of another channel than {}, which most have", channel.as_deref().unwrap_or("none")),
        other.map(|crd| named(&crd.name, crd.channel.as_deref())).collect(),
    );
    let policies = bundle.policies.iter().map(|policy| (&policy.kind, &policy.name, &policy.bundle_version));
    let webhooks = bundle.webhooks.iter().map(|webhook| (&webhook.kind, &webhook.name, &webhook.bundle_version));
    let other = policies.chain(webhooks).filter(|(_, _, said)| is_other(said));
    add(
        ProblemKind::OtherVersion,
        format!("webhooks and policies of another bundle version than {version}"),
        other.map(|(kind, name, said)| named(&format!("{kind} {name}"), said.as_deref())).collect(),
    );
    InstalledBundle { bundle, problems }
}

fn named(name: &str, said: Option<&str>) -> String {
    format!("{name} ({})", said.unwrap_or("none"))
}

fn is_crd(object: &Value) -> bool {
    object.get("kind").is_some_and(|kind| kind == "CustomResourceDefinition")
}

pub(crate) fn group(crd: &Value) -> &str {
    crd.pointer("/spec/group").and_then(Value::as_str).unwrap_or_default()
}

/// The domains of the annotations that name the version of a bundle.
pub fn annotation_domains(crd: &Value) -> impl Iterator<Item = &str> {
    let annotations = crd.pointer("/metadata/annotations").and_then(Value::as_object);
    annotations.into_iter().flatten().filter_map(|(key, _)| key.strip_suffix(VERSION_SUFFIX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn crd(name: &str, group: &str, annotations: &Value) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{name}.{group}"), "annotations": annotations},
            "spec": {
                "group": group, "scope": "Namespaced", "names": {"kind": name, "plural": name},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}}],
            },
        })
    }

    fn of(version: &str, channel: &str) -> Value {
        json!({"a.io/bundle-version": version, "a.io/channel": channel})
    }

    #[test]
    fn mixed_and_unknown_crds_are_named() {
        let objects = [
            crd("one", "a.io", &of("v1.1.0", "standard")),
            crd("two", "a.io", &of("v1.1.0", "standard")),
            crd("old", "a.io", &of("v1.0.0", "standard")),
            crd("new", "x.a.io", &of("v1.1.0", "experimental")),
            crd("bare", "a.io", &json!({})),
            crd("foreign", "b.io", &json!({})),
        ];
        let found = installed_bundles(&objects, &BundleLimits::default());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].bundle.version_text().as_str(), found[0].bundle.crds.len()), ("v1.1.0", 5));
        let problems: Vec<(ProblemKind, &str)> =
            found[0].problems.iter().map(|problem| (problem.kind, problem.objects[0].as_str())).collect();
        assert_eq!(
            problems,
            [
                (ProblemKind::Unknown, "bare.a.io"),
                (ProblemKind::MixedVersions, "old.a.io (v1.0.0)"),
                (ProblemKind::MixedChannels, "new.x.a.io (experimental)"),
            ]
        );
    }

    #[test]
    fn one_bundle_is_found_by_its_domain_and_its_group() {
        let objects = [
            crd("one", "a.io", &of("v1.1.0", "standard")),
            crd("two", "x.a.io", &of("v1.1.0", "standard")),
            crd("bare", "x.a.io", &json!({})),
            crd("lone", "b.io", &json!({})),
            crd("half", "c.io", &json!({"d.io/channel": "standard"})),
        ];
        let records: Vec<Value> = objects.iter().map(|crd| installation_record(crd, "a.io")).collect();
        let limits = BundleLimits::default();
        let names = |domain: &str, objects: &[Value]| {
            let found = installed_bundle_of(domain, objects, &limits)?;
            assert!(found.bundle.problems.is_empty(), "{:?}", found.bundle.problems);
            Some(found.bundle.crds.into_keys().collect::<Vec<_>>().join(" "))
        };
        for objects in [&objects[..], &records] {
            assert_eq!(names("a.io", objects).as_deref(), Some("bare.x.a.io one.a.io two.x.a.io"));
        }
        assert_eq!(names("b.io", &objects).as_deref(), Some("lone.b.io"), "its version is not known, but it is there");
        assert_eq!(names("d.io", &objects).as_deref(), Some("half.c.io"));
        assert_eq!(names("e.io", &objects), None);
        let whole = installed_bundle_of("a.io", &objects, &limits).unwrap();
        assert_eq!(installed_bundle_of("a.io", &records, &limits).unwrap().problems, whole.problems);
    }

    #[test]
    fn a_record_keeps_no_schema_and_no_long_text() {
        let mut large = crd("one", "a.io", &json!({"a.io/bundle-version": "v".repeat(300), "other": "x"}));
        large["spec"]["versions"] = json!(vec![large["spec"]["versions"][0].clone(); 1_000]);
        large["status"] = json!({"storedVersions": ["v1", 7, "x".repeat(1_000)]});
        let record = installation_record(&large, "a.io");
        assert_eq!(record["metadata"]["annotations"], json!({}));
        assert_eq!(record["status"]["storedVersions"], Value::Null);
        assert!(record.to_string().len() < 10_000 && !record.to_string().contains("spec\":{\"type"), "{record}");
    }

    #[test]
    fn what_is_missing_or_modified_is_told_from_the_expected_bundle() {
        let one = crd("one", "a.io", &of("v1.1.0", "standard"));
        let mut changed = one.clone();
        changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"] = json!({"type": "object"});
        let two = crd("two", "a.io", &of("v1.1.0", "standard"));
        let bundle = |objects: &[Value]| installed_bundles(objects, &BundleLimits::default()).remove(0).bundle;
        let expected = bundle(&[one.clone(), two.clone()]);
        assert_eq!(compare_installed(&bundle(&[one.clone(), two]), &expected), []);
        let problems = compare_installed(&bundle(&[changed]), &expected);
        let kinds: Vec<ProblemKind> = problems.iter().map(|problem| problem.kind).collect();
        assert_eq!(kinds, [ProblemKind::Partial, ProblemKind::Modified], "{problems:?}");
        assert_eq!(problems[0].objects, ["two.a.io"]);
        assert_eq!(problems[1].objects, ["one.a.io"]);
    }
}
