//! Many clusters: what a graph says to all of them, and what a change of the graph does to them.
//!
//! A [`FleetChannel`] is one channel as it is laid out for a fleet; [`FleetChannel::version_plan`] is what it says to
//! every cluster that runs one version, read once; and [`VersionPlan::assess`] what it says to one of them. From the
//! assessments of all clusters [`FleetReport::of`] makes the report under one graph, and [`Change::of`] what a proposed
//! graph does beside the published one. Whoever reads evidence does that one cluster at a time and drops it: a
//! [`ClusterAssessment`] is a few hundred bytes.
//!
//! # The state of a cluster
//!
//! | state | |
//! |---|---|
//! | `recommended` | at least one update is recommended |
//! | `newest` | its channel holds no later version, so there is nothing to recommend |
//! | `unknown` | no update is recommended, and at least one would be if more were known |
//! | `stranded` | no update is recommended and none is unknown, although its channel holds a later version |
//! | `absent` | its version or channel is not in the graph, so nothing can be recommended |
//!
//! A *version* is stranded if only a risk leads on from it: it reaches neither the newest patch of its minor nor a later
//! minor without one, or only one of them (see [`clearway_graph::stranded`]). That is a statement about the graph alone, and
//! a cluster at such a version may well be recommended an update whose risks do not apply to it. The newest patch of a
//! minor is left out, as it is most often only younger than every release of the next minor.
//!
//! # What a change does to an update
//!
//! | published | proposed | |
//! |---|---|---|
//! | recommended | not recommended, or no longer offered | newly blocked |
//! | recommended | unknown | newly unknown |
//! | anything else | recommended | newly recommended |
//! | | | all else that differs is another change, and makes nothing worse |
//!
//! A cluster is newly stranded if it is `stranded` or `absent` under the proposed graph and neither under the published
//! one, and freed the other way round.

mod change;
mod report;

pub use change::{Change, ClusterChange, RiskChange, RiskMatchCounts, Summary, UpdateChange};
pub use report::{ByStatus, ClusterRow, Counts, FleetReport, RiskCounts, StrandedVersion, TargetCounts};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use clearway_core::{Arch, Timestamp, Version};
use clearway_graph::{Graph, MissingPath, Risk, stranded_versions};
use serde::Serialize;

use crate::assess::{AssessmentSummary, NotInGraph, Plan};
use crate::evidence::Evidence;
use crate::proof::{Status, Verdict};
use crate::settings::Settings;

/// One channel, laid out for a fleet.
#[derive(Debug)]
pub struct FleetChannel {
    graph: Graph,
    settings: Settings,
    /// The versions that only a risk leads out of.
    stranded: BTreeMap<Version, MissingPath>,
}

/// What a channel says to every cluster that runs one version.
#[derive(Debug)]
pub struct VersionPlan {
    plan: Plan,
    newest: bool,
    missing: Option<MissingPath>,
    /// The names of the risks, in order and each once.
    names: Vec<String>,
    /// For each risk of the plan the place of its name.
    places: Vec<usize>,
}

/// One cluster of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// What it goes by: its place among the evidence, or its id.
    pub name: String,
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The version it runs.
    pub version: Version,
    /// The channel it follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Its architecture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<Arch>,
}

/// What a graph says to one cluster.
#[derive(Debug, Clone)]
pub enum ClusterAssessment {
    /// It was assessed.
    Assessed {
        /// What is said to all clusters like it.
        version_plan: Arc<VersionPlan>,
        /// What is said to this one.
        summary: AssessmentSummary,
    },
    /// The graph does not know its version or channel.
    Absent {
        /// Why, in a sentence.
        why: String,
    },
}

/// How a cluster stands; see the head of this module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// At least one update is recommended.
    Recommended,
    /// There is no later version.
    Newest,
    /// Nothing is recommended because too little is known.
    Unknown,
    /// Nothing is recommended, and nothing would be if more were known.
    Stranded,
    /// The graph does not know its version or channel.
    Absent,
}

/// Evidence that could not be used, so that nothing is said about its cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct UnusableEvidence {
    /// What it goes by.
    pub name: String,
    /// Why, in a sentence.
    pub why: String,
}

impl FleetChannel {
    /// Lays out a channel.
    pub fn new(graph: Graph, settings: Settings) -> Self {
        let stranded = stranded_versions(&graph).into_iter().collect();
        FleetChannel { graph, settings, stranded }
    }

    /// What it says to clusters that run this version.
    pub fn version_plan(&self, version: &Version) -> Result<VersionPlan, NotInGraph> {
        let plan = Plan::new(&self.graph, version, &self.settings)?;
        let later = |other: &Version| other.precedence(version).is_gt();
        let newest = !self.graph.nodes().iter().any(|node| later(node.version()));
        let names: BTreeSet<&str> = plan.risks().map(Risk::name).collect();
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let place = |risk: &Risk| names.partition_point(|name| name.as_str() < risk.name());
        let places = plan.risks().map(place).collect();
        Ok(VersionPlan { newest, missing: self.stranded.get(version).copied(), names, places, plan })
    }
}

impl VersionPlan {
    /// The plan, for the questions it asks.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What it says to one cluster.
    pub fn assess(self: &Arc<Self>, evidence: &dyn Evidence, now: Timestamp) -> ClusterAssessment {
        ClusterAssessment::Assessed { version_plan: Arc::clone(self), summary: self.plan.summarize(evidence, now) }
    }
}

impl ClusterAssessment {
    /// How the cluster stands.
    pub fn state(&self) -> State {
        let ClusterAssessment::Assessed { version_plan, summary } = self else { return State::Absent };
        let any = |status: Status| summary.updates.contains(&status);
        if any(Status::True) {
            State::Recommended
        } else if any(Status::Unknown) {
            State::Unknown
        } else if version_plan.newest {
            State::Newest
        } else {
            State::Stranded
        }
    }

    /// The updates with their status, newest first.
    fn updates(&self) -> impl Iterator<Item = (&Version, Status)> {
        let assessed = match self {
            ClusterAssessment::Assessed { version_plan, summary } => {
                Some(version_plan.plan.targets().zip(summary.updates.iter().copied()))
            }
            ClusterAssessment::Absent { .. } => None,
        };
        assessed.into_iter().flatten()
    }

    /// The risks by name. Where several of one name differ, the one that matters most speaks for all: one that applies,
    /// then one that is not known.
    fn risks(&self) -> Vec<(&str, Verdict)> {
        let rank = |verdict: Verdict| match verdict {
            Verdict::NoMatch => 0,
            Verdict::Pending => 1,
            Verdict::Unknown => 2,
            Verdict::Match => 3,
        };
        let ClusterAssessment::Assessed { version_plan, summary } = self else { return Vec::new() };
        let mut risks: Vec<_> = version_plan.names.iter().map(|name| (name.as_str(), Verdict::NoMatch)).collect();
        for (place, verdict) in version_plan.places.iter().zip(&summary.risks) {
            if let Some((_, known)) = risks.get_mut(*place)
                && rank(*verdict) > rank(*known)
            {
                *known = *verdict;
            }
        }
        risks
    }

    /// The names of the risks that speak against an update: those that apply, or are not known.
    fn against(&self, version: &Version) -> Vec<String> {
        let ClusterAssessment::Assessed { version_plan, summary } = self else { return Vec::new() };
        let risks: Vec<_> = version_plan.plan.risks().zip(&summary.risks).collect();
        let carried = version_plan.plan.risks_of(version).into_iter().filter_map(|place| risks.get(place));
        let names: BTreeSet<&str> =
            carried.filter(|(_, verdict)| **verdict != Verdict::NoMatch).map(|(risk, _)| risk.name()).collect();
        names.into_iter().map(str::to_owned).collect()
    }

    fn missing(&self) -> Option<MissingPath> {
        match self {
            ClusterAssessment::Assessed { version_plan, .. } => version_plan.missing,
            ClusterAssessment::Absent { .. } => None,
        }
    }
}

impl State {
    /// The word for it, as in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Recommended => "recommended",
            State::Newest => "newest",
            State::Unknown => "unknown",
            State::Stranded => "stranded",
            State::Absent => "absent",
        }
    }

    /// Whether the cluster has no way on by this graph.
    pub fn is_stuck(self) -> bool {
        matches!(self, State::Stranded | State::Absent)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
