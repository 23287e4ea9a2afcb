//! The report on a fleet under one graph.
//!
//! ```text
//! clusters[]      by name
//!   name, id, version, channel, arch
//!   state         recommended|newest|unknown|stranded|absent
//!   why           a sentence, if it is absent
//!   updates       {recommended, notRecommended, unknown}: how many
//!   newestRecommended   the newest version that is recommended
//!   matching[], unknown[]   names of the risks that apply, and that are not known
//! targets[]       by decreasing version
//!   version, recommended, notRecommended, unknown   how many clusters
//! risks[]         by name
//!   name, match, noMatch, unknown                   how many clusters whose updates carry it
//! strandedVersions[]   versions of the fleet that only a risk leads out of
//!   channel, arch, version, missing: toNewestPatch|outOfMinor|both, clusters: how many
//! refused[]       name, why: evidence that could not be used
//! summary         {clusters, recommended, newest, unknown, stranded, absent, refused}: how many
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use clearway_core::{Arch, Version};
use clearway_graph::MissingPath;
use serde::Serialize;

use super::{ClusterAssessment, Member, State, UnusableEvidence, VersionPlan};
use crate::proof::{Status, Verdict};

/// The report on a fleet. The form of its JSON is documented at the head of this file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetReport {
    /// The clusters by name.
    pub clusters: Vec<ClusterRow>,
    /// Where updates lead, newest first.
    pub targets: Vec<TargetCounts>,
    /// The risks by name.
    pub risks: Vec<RiskCounts>,
    /// The versions of the fleet that only a risk leads out of.
    pub stranded_versions: Vec<StrandedVersion>,
    /// Evidence that could not be used.
    pub refused: Vec<UnusableEvidence>,
    /// How many clusters are in which state.
    pub summary: Counts,
}

/// One cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRow {
    /// Which one.
    #[serde(flatten)]
    pub member: Member,
    /// How it stands.
    pub state: State,
    /// Why it is absent, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How many updates are what.
    pub updates: ByStatus,
    /// The newest version that is recommended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest_recommended: Option<Version>,
    /// The risks that apply.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matching: Vec<String>,
    /// The risks that are not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// How many of something are recommended, and how many are not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ByStatus {
    /// Recommended.
    pub recommended: usize,
    /// Not recommended.
    pub not_recommended: usize,
    /// Not known.
    pub unknown: usize,
}

/// To how many clusters a version is recommended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetCounts {
    /// The version.
    pub version: Version,
    /// How many clusters.
    #[serde(flatten)]
    pub clusters: ByStatus,
}

/// To how many clusters a risk applies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RiskCounts {
    /// Its name.
    pub name: String,
    /// To so many it applies.
    #[serde(rename = "match")]
    pub matching: usize,
    /// To so many it does not.
    pub no_match: usize,
    /// Of so many it is not known.
    pub unknown: usize,
}

/// A version that only a risk leads out of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StrandedVersion {
    /// The channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The architecture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<Arch>,
    /// The version.
    pub version: Version,
    /// Where it cannot get without a risk.
    pub missing: MissingPath,
    /// How many clusters run it.
    pub clusters: usize,
}

/// How many clusters are in which state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// All that were assessed.
    pub clusters: usize,
    /// See [`State::Recommended`].
    pub recommended: usize,
    /// See [`State::Newest`].
    pub newest: usize,
    /// See [`State::Unknown`].
    pub unknown: usize,
    /// See [`State::Stranded`].
    pub stranded: usize,
    /// See [`State::Absent`].
    pub absent: usize,
    /// Evidence that could not be used.
    pub refused: usize,
}

impl FleetReport {
    /// The report on these clusters.
    pub fn of(mut clusters: Vec<(Member, ClusterAssessment)>, mut refused: Vec<UnusableEvidence>) -> Self {
        clusters.sort_by(|(one, _), (other, _)| one.cmp(other));
        refused.sort();
        let mut summary = Counts { refused: refused.len(), ..Counts::default() };
        let mut rows = Vec::with_capacity(clusters.len());
        for (member, standing) in &clusters {
            summary.add(standing.state());
            rows.push(ClusterRow::of(member, standing));
        }
        let standings = || clusters.iter().map(|(_, standing)| standing);
        FleetReport {
            risks: risks(standings()).into_values().collect(),
            stranded_versions: stranded_versions(clusters.iter().map(|(member, standing)| (member, standing))),
            clusters: rows,
            targets: targets(standings()),
            refused,
            summary,
        }
    }

    /// The JSON: the same bytes for the same report.
    pub fn to_json(&self) -> String {
        // Texts, numbers and lists under text keys can always be written.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// To how many clusters each target is recommended, newest first.
fn targets<'s>(standings: impl Iterator<Item = &'s ClusterAssessment>) -> Vec<TargetCounts> {
    // Clusters with one version plan have the same targets, which are counted by their place before they are put in
    // order.
    let mut by_plan: HashMap<*const VersionPlan, (&VersionPlan, Vec<ByStatus>)> = HashMap::new();
    for standing in standings {
        let ClusterAssessment::Assessed { version_plan, summary } = standing else { continue };
        let nobody = || (version_plan.as_ref(), vec![ByStatus::default(); summary.updates.len()]);
        let (_, counts) = by_plan.entry(Arc::as_ptr(version_plan)).or_insert_with(nobody);
        counts.iter_mut().zip(&summary.updates).for_each(|(count, status)| count.add(*status));
    }
    let mut targets: BTreeMap<Reverse<&Version>, ByStatus> = BTreeMap::new();
    for (version_plan, counts) in by_plan.into_values() {
        for (version, count) in version_plan.plan.targets().zip(counts) {
            targets.entry(Reverse(version)).or_default().add_all(count);
        }
    }
    let counts =
        |(Reverse(version), clusters): (Reverse<&Version>, _)| TargetCounts { version: version.clone(), clusters };
    targets.into_iter().map(counts).collect()
}

/// To how many clusters each risk applies, by name.
pub(super) fn risks<'s>(standings: impl Iterator<Item = &'s ClusterAssessment>) -> BTreeMap<String, RiskCounts> {
    let mut risks: BTreeMap<String, RiskCounts> = BTreeMap::new();
    for standing in standings {
        for (name, verdict) in standing.risks() {
            let counts = match risks.get_mut(name) {
                Some(counts) => counts,
                None => risks
                    .entry(name.to_owned())
                    .or_insert(RiskCounts { name: name.to_owned(), ..RiskCounts::default() }),
            };
            let count = match verdict {
                Verdict::Match => &mut counts.matching,
                Verdict::NoMatch => &mut counts.no_match,
                Verdict::Unknown | Verdict::Pending => &mut counts.unknown,
            };
            *count = count.saturating_add(1);
        }
    }
    risks
}

/// The versions of these clusters that only a risk leads out of, in order.
pub(super) fn stranded_versions<'s>(
    clusters: impl Iterator<Item = (&'s Member, &'s ClusterAssessment)>,
) -> Vec<StrandedVersion> {
    // By the version with nobody at it.
    let mut versions: BTreeMap<StrandedVersion, usize> = BTreeMap::new();
    for (Member { channel, arch, version, .. }, standing) in clusters {
        if let Some(missing) = standing.missing() {
            let (channel, arch, version) = (channel.clone(), arch.clone(), version.clone());
            let count = versions.entry(StrandedVersion { channel, arch, version, missing, clusters: 0 }).or_default();
            *count = count.saturating_add(1);
        }
    }
    versions.into_iter().map(|(version, clusters)| StrandedVersion { clusters, ..version }).collect()
}

impl ClusterRow {
    fn of(member: &Member, standing: &ClusterAssessment) -> Self {
        let mut updates = ByStatus::default();
        standing.updates().for_each(|(_, status)| updates.add(status));
        let newest = standing.updates().find(|(_, status)| *status == Status::True);
        let risks = standing.risks();
        let named = |wanted: &[Verdict]| -> Vec<String> {
            risks.iter().filter(|(_, verdict)| wanted.contains(verdict)).map(|(name, _)| (*name).to_owned()).collect()
        };
        ClusterRow {
            member: member.clone(),
            state: standing.state(),
            why: match standing {
                ClusterAssessment::Absent { why } => Some(why.clone()),
                ClusterAssessment::Assessed { .. } => None,
            },
            updates,
            newest_recommended: newest.map(|(version, _)| version.clone()),
            matching: named(&[Verdict::Match]),
            unknown: named(&[Verdict::Unknown, Verdict::Pending]),
        }
    }
}

impl ByStatus {
    fn add(&mut self, status: Status) {
        let count = match status {
            Status::True => &mut self.recommended,
            Status::False => &mut self.not_recommended,
            Status::Unknown => &mut self.unknown,
        };
        *count = count.saturating_add(1);
    }

    fn add_all(&mut self, other: ByStatus) {
        self.recommended = self.recommended.saturating_add(other.recommended);
        self.not_recommended = self.not_recommended.saturating_add(other.not_recommended);
        self.unknown = self.unknown.saturating_add(other.unknown);
    }
}

impl Counts {
    fn add(&mut self, state: State) {
        self.clusters = self.clusters.saturating_add(1);
        let count = match state {
            State::Recommended => &mut self.recommended,
            State::Newest => &mut self.newest,
            State::Unknown => &mut self.unknown,
            State::Stranded => &mut self.stranded,
            State::Absent => &mut self.absent,
        };
        *count = count.saturating_add(1);
    }
}
