//! What a proposed graph does to a fleet, beside the published one.
//!
//! ```text
//! clusters[]      those for which something differs, by name
//!   name, id, version, channel, arch
//!   published, proposed   recommended|newest|unknown|stranded|absent
//!   why           a sentence, if it is absent under the proposed graph
//!   newlyBlocked[], newlyUnknown[], newlyRecommended[], otherChanges[]   updates by decreasing version
//!     version
//!     published, proposed   True|False|Unknown; left out where the update is not offered
//!     risks[]     names of the risks that speak against it under the proposed graph
//! newlyStranded[], freed[]   names of clusters
//! risks[]         by name
//!   name
//!   published, proposed   {match, noMatch, unknown}: how many clusters; left out where no update carries it
//! newlyStrandedVersions[]   channel, arch, version, missing, clusters: versions that only a risk leads out of now
//! refused[]       name, why
//! summary         {clusters, changed, newlyBlocked, newlyUnknown, newlyRecommended, newlyStranded, freed, refused}: how many
//!                 clusters
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use clearway_core::Version;
use serde::Serialize;

use super::report::{RiskCounts, StrandedVersion, risks, stranded_versions};
use super::{ClusterAssessment, Member, State, UnusableEvidence};
use crate::proof::Status;

/// What a proposed graph does. The form of its JSON is documented at the head of this file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The clusters for which something differs, by name.
    pub clusters: Vec<ClusterChange>,
    /// Those that have no way on any more.
    pub newly_stranded: Vec<String>,
    /// Those that have a way on again.
    pub freed: Vec<String>,
    /// The risks by name.
    pub risks: Vec<RiskChange>,
    /// The versions that only a risk leads out of, and did not before.
    pub newly_stranded_versions: Vec<StrandedVersion>,
    /// Evidence that could not be used.
    pub refused: Vec<UnusableEvidence>,
    /// How many clusters are touched how.
    pub summary: Summary,
}

/// What changes for one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterChange {
    /// Which one.
    #[serde(flatten)]
    pub member: Member,
    /// How it stands under the published graph.
    pub published: State,
    /// How it stands under the proposed graph.
    pub proposed: State,
    /// Why it is absent under the proposed graph, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Updates that were recommended and are not any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub newly_blocked: Vec<UpdateChange>,
    /// Updates that were recommended and are not known to be safe any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub newly_unknown: Vec<UpdateChange>,
    /// Updates that are recommended now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub newly_recommended: Vec<UpdateChange>,
    /// Updates that differ otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_changes: Vec<UpdateChange>,
}

/// What changes for one update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateChange {
    /// Where it leads.
    pub version: Version,
    /// What was said of it; nothing if it was not offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Status>,
    /// What is said of it; nothing if it is not offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed: Option<Status>,
    /// The risks that speak against it now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub risks: Vec<String>,
}

/// What changes for one risk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RiskChange {
    /// Its name.
    pub name: String,
    /// To how many clusters it applied; nothing if no update carried it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<RiskMatchCounts>,
    /// To how many clusters it applies; nothing if no update carries it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed: Option<RiskMatchCounts>,
}

/// To how many clusters a risk applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RiskMatchCounts {
    /// To so many it applies.
    #[serde(rename = "match")]
    pub matching: usize,
    /// To so many it does not.
    pub no_match: usize,
    /// Of so many it is not known.
    pub unknown: usize,
}

/// How many clusters are touched how; one may be counted in several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// All that were compared.
    pub clusters: usize,
    /// For so many something differs.
    pub changed: usize,
    /// So many lose an update that was recommended.
    pub newly_blocked: usize,
    /// Of so many an update that was recommended is not known to be safe.
    pub newly_unknown: usize,
    /// So many gain a recommended update.
    pub newly_recommended: usize,
    /// So many have no way on any more.
    pub newly_stranded: usize,
    /// So many have a way on again.
    pub freed: usize,
    /// Evidence that could not be used.
    pub refused: usize,
}

impl Change {
    /// What changes for these clusters: each with how it stands under the published graph, and under the proposed one.
    pub fn of(
        mut clusters: Vec<(Member, ClusterAssessment, ClusterAssessment)>,
        mut refused: Vec<UnusableEvidence>,
    ) -> Self {
        clusters.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        refused.sort();
        let mut summary = Summary { clusters: clusters.len(), refused: refused.len(), ..Summary::default() };
        let (mut rows, mut newly_stranded, mut freed) = (Vec::new(), Vec::new(), Vec::new());
        for (member, published, proposed) in &clusters {
            let row = ClusterChange::of(member, published, proposed);
            match (row.published.is_stuck(), row.proposed.is_stuck()) {
                (false, true) => newly_stranded.push(member.name.clone()),
                (true, false) => freed.push(member.name.clone()),
                _ => {}
            }
            if row.differs() {
                summary.add(&row);
                rows.push(row);
            }
        }
        (summary.newly_stranded, summary.freed) = (newly_stranded.len(), freed.len());
        let before: BTreeSet<_> =
            stranded_versions(clusters.iter().map(|(member, published, _)| (member, published))).into_iter().collect();
        let mut versions = stranded_versions(clusters.iter().map(|(member, _, proposed)| (member, proposed)));
        versions.retain(|version| !before.contains(version));
        Change {
            risks: risk_changes(&clusters),
            clusters: rows,
            newly_stranded,
            freed,
            newly_stranded_versions: versions,
            refused,
            summary,
        }
    }

    /// Whether some cluster loses an update, or its last way on.
    pub fn blocks(&self) -> bool {
        self.summary.newly_blocked > 0 || self.summary.newly_stranded > 0
    }

    /// The JSON: the same bytes for the same change.
    pub fn to_json(&self) -> String {
        // Texts, numbers and lists under text keys can always be written.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

fn risk_changes(clusters: &[(Member, ClusterAssessment, ClusterAssessment)]) -> Vec<RiskChange> {
    let mut published = risks(clusters.iter().map(|(_, published, _)| published));
    let mut proposed = risks(clusters.iter().map(|(_, _, proposed)| proposed));
    let names: BTreeSet<String> = published.keys().chain(proposed.keys()).cloned().collect();
    let applies = |counts: RiskCounts| RiskMatchCounts {
        matching: counts.matching,
        no_match: counts.no_match,
        unknown: counts.unknown,
    };
    let change = |name: String| RiskChange {
        published: published.remove(&name).map(applies),
        proposed: proposed.remove(&name).map(applies),
        name,
    };
    names.into_iter().map(change).collect()
}

impl ClusterChange {
    fn of(member: &Member, published: &ClusterAssessment, proposed: &ClusterAssessment) -> Self {
        let mut updates: BTreeMap<Reverse<&Version>, (Option<Status>, Option<Status>)> = BTreeMap::new();
        for (version, status) in published.updates() {
            updates.entry(Reverse(version)).or_default().0 = Some(status);
        }
        for (version, status) in proposed.updates() {
            updates.entry(Reverse(version)).or_default().1 = Some(status);
        }
        let mut row = ClusterChange {
            member: member.clone(),
            published: published.state(),
            proposed: proposed.state(),
            why: match proposed {
                ClusterAssessment::Absent { why } => Some(why.clone()),
                ClusterAssessment::Assessed { .. } => None,
            },
            newly_blocked: Vec::new(),
            newly_unknown: Vec::new(),
            newly_recommended: Vec::new(),
            other_changes: Vec::new(),
        };
        for (Reverse(version), (before, after)) in updates {
            let list = match (before, after) {
                (before, after) if before == after => continue,
                (Some(Status::True), Some(Status::Unknown)) => &mut row.newly_unknown,
                (Some(Status::True), _) => &mut row.newly_blocked,
                (_, Some(Status::True)) => &mut row.newly_recommended,
                _ => &mut row.other_changes,
            };
            let risks = proposed.against(version);
            list.push(UpdateChange { version: version.clone(), published: before, proposed: after, risks });
        }
        row
    }

    fn differs(&self) -> bool {
        let lists = [&self.newly_blocked, &self.newly_unknown, &self.newly_recommended, &self.other_changes];
        self.published != self.proposed || lists.iter().any(|list| !list.is_empty())
    }
}

impl Summary {
    fn add(&mut self, row: &ClusterChange) {
        let mut count = |count: fn(&mut Summary) -> &mut usize, counts: bool| {
            let count = count(self);
            *count = count.saturating_add(usize::from(counts));
        };
        count(|summary| &mut summary.changed, true);
        count(|summary| &mut summary.newly_blocked, !row.newly_blocked.is_empty());
        count(|summary| &mut summary.newly_unknown, !row.newly_unknown.is_empty());
        count(|summary| &mut summary.newly_recommended, !row.newly_recommended.is_empty());
    }
}
