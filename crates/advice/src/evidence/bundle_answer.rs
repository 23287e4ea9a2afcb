//! What the CRDs of a cluster say about one bundle, reduced to what a proof may carry: names of CRDs, versions, the
//! channel, and what keeps the CRDs from being one whole bundle.
//!
//! Annotations are texts of whoever made the CRD, and a rule chooses whose annotations are read. So only a text that is a
//! version or a channel is kept; any other one is a fault, and is not repeated.

use std::collections::{BTreeMap, BTreeSet};

use clearway_bundle::{
    BundleLimits, Channel, Crd, InstalledBundle, ProblemKind, installation_record, installed_bundle_of,
};
use clearway_core::{GroupKind, Version};
use serde_json::Value;

use super::FailureClass;
use super::object_answer::TEXT;

/// CRDs that are named for a fault.
const NAMED: usize = 3;

/// A bundle as a cluster has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleAnswer {
    /// The version; nothing if it is no release, which has no place in a range.
    pub version: Option<Version>,
    /// The channel; nothing if it is another word than the two.
    pub channel: Option<Channel>,
    /// Its CRDs by the kind that they define.
    pub crds: BTreeMap<GroupKind, CrdVersions>,
    /// Why the CRDs are not one whole bundle, of how many CRDs that is true, and the first of them.
    pub fault: Option<(BundleFault, usize, Vec<String>)>,
}

/// The versions of one CRD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrdVersions {
    /// The name of the CRD.
    pub name: String,
    /// The versions that clients can use.
    pub served: BTreeSet<String>,
    /// The versions in which objects may be stored; nothing if the CRD does not say it.
    pub stored: Option<BTreeSet<String>>,
}

/// Why CRDs cannot be judged as one bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BundleFault {
    /// CRDs could not be read: fields are missing, or there are too many.
    Unreadable,
    /// CRDs are being deleted, or not established yet.
    Partial,
    /// CRDs do not say their version or channel.
    Unannotated,
    /// CRDs of several versions.
    MixedVersions,
    /// CRDs of several channels, or of a channel that is not known here.
    MixedChannels,
}

impl BundleAnswer {
    /// Bytes of memory that it takes, at most.
    pub(super) fn memory(&self) -> usize {
        let text = |text: &String| text.len().saturating_add(TEXT);
        let texts = |versions: &BTreeSet<String>| {
            versions.iter().map(text).fold(size_of::<[String; 11]>(), usize::saturating_add)
        };
        let crd = |(kind, crd): (&GroupKind, &CrdVersions)| {
            let names = [&kind.group, &kind.kind, &crd.name].map(text).into_iter().fold(0, usize::saturating_add);
            let stored = crd.stored.as_ref().map_or(0, texts);
            let place = size_of::<(GroupKind, CrdVersions)>().saturating_mul(2);
            names.saturating_add(texts(&crd.served)).saturating_add(stored).saturating_add(place)
        };
        self.crds.iter().map(crd).fold(size_of::<BundleAnswer>(), usize::saturating_add)
    }
}

impl BundleFault {
    /// The class of failure that a rule has because of it.
    pub const fn class(self) -> FailureClass {
        match self {
            BundleFault::Unreadable => FailureClass::Evaluation,
            BundleFault::Partial => FailureClass::Partial,
            BundleFault::Unannotated => FailureClass::Absent,
            BundleFault::MixedVersions | BundleFault::MixedChannels => FailureClass::Ambiguous,
        }
    }

    /// What is wrong with the CRDs, in fixed words.
    pub const fn as_str(self) -> &'static str {
        match self {
            BundleFault::Unreadable => "cannot be read",
            BundleFault::Partial => "are being deleted or are not established",
            BundleFault::Unannotated => "do not say their version or channel",
            BundleFault::MixedVersions => "have another version than the others",
            BundleFault::MixedChannels => "have another or an unknown channel",
        }
    }
}

/// The CRDs of a cluster on their way to an answer: of each the few fields that say to which bundle it belongs.
#[derive(Debug, Default)]
pub(crate) struct CrdRecords {
    records: Vec<Value>,
    /// Those that are being deleted, or not established.
    unsettled: BTreeSet<String>,
}

impl CrdRecords {
    /// Keeps what a CRD says about a bundle, and gives the bytes that this takes.
    pub(crate) fn add(&mut self, crd: &Value, domain: &str) -> usize {
        let record = installation_record(crd, domain);
        if is_unsettled(crd) {
            self.unsettled.extend(name_of(&record).map(str::to_owned));
        }
        let bytes = record.to_string().len();
        self.records.push(record);
        bytes
    }

    /// The bundle with this domain; nothing if there is none.
    pub(crate) fn finish(mut self, domain: &str) -> Option<BundleAnswer> {
        // The order of objects makes no difference.
        self.records.sort_by(|one, other| name_of(one).cmp(&name_of(other)));
        let InstalledBundle { bundle, problems } =
            installed_bundle_of(domain, &self.records, &BundleLimits::default())?;
        let unsettled: Vec<&String> = bundle.crds.keys().filter(|name| self.unsettled.contains(*name)).collect();
        let first = |names: &[&String]| names.iter().take(NAMED).map(|name| (*name).clone()).collect();
        let fault = if !bundle.problems.is_empty() {
            Some((BundleFault::Unreadable, bundle.problems.len(), Vec::new()))
        } else if !unsettled.is_empty() {
            Some((BundleFault::Partial, unsettled.len(), first(&unsettled)))
        } else {
            problems.iter().find_map(|problem| {
                let fault = match problem.kind {
                    ProblemKind::Unknown => BundleFault::Unannotated,
                    ProblemKind::MixedVersions => BundleFault::MixedVersions,
                    ProblemKind::MixedChannels => BundleFault::MixedChannels,
                    // Found only by comparing with another bundle, or with objects that are not CRDs.
                    ProblemKind::Partial | ProblemKind::Modified | ProblemKind::OtherVersion => return None,
                };
                // What the CRD says instead stands behind its name, and is not repeated.
                let name = |object: &String| object.split(' ').next().unwrap_or_default().to_owned();
                Some((fault, problem.objects.len(), problem.objects.iter().take(NAMED).map(name).collect()))
            })
        };
        let versions = |crd: Crd| {
            let kind = GroupKind { group: crd.group, kind: crd.kind };
            let served = crd.versions.into_values().filter(|version| version.served).map(|version| version.name);
            (kind, CrdVersions { name: crd.name, served: served.collect(), stored: crd.stored_versions })
        };
        Some(BundleAnswer {
            version: bundle.version.as_ref().and_then(|version| version.release()).cloned(),
            channel: bundle.channel,
            crds: bundle.crds.into_values().map(versions).collect(),
            fault,
        })
    }
}

fn name_of(crd: &Value) -> Option<&str> {
    crd.pointer("/metadata/name").and_then(Value::as_str)
}

/// Whether a CRD is on its way in or out. One without conditions comes from a file, or was made a moment ago.
fn is_unsettled(crd: &Value) -> bool {
    let conditions = crd.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    let mut established = conditions.filter(|condition| condition["type"] == "Established");
    let deleted = crd.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null());
    deleted || established.any(|condition| condition["status"] != "True")
}
