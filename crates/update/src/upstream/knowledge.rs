//! What is known of the updates of one version: as much of a graph as advice needs.
//!
//! A channel has hundreds of releases, and a cluster can go to a few of them. What is kept, in memory and over a restart,
//! is the part of the answer that starts at the version the cluster runs.

use std::sync::Arc;

use clearway_advice::{NotInGraph, Plan, Settings};
use clearway_core::{Diagnostic, Digest, JsonSize, Limits, Timestamp, Version};
use clearway_graph::{Graph, Node, wire};

use crate::api::{ConditionalUpdateRisk, MULTI, Release};
use crate::upstream::GraphFindings;

/// The key of a release's own page.
const URL: &str = "url";
/// The key of the channels that have a release.
const CHANNELS: &str = "io.openshift.upgrades.graph.release.channels";
/// The key of what a release runs on, where that is not one architecture.
const ARCHITECTURE: &str = "release.openshift.io/architecture";

/// What an object takes whatever its answer is.
const BASE: usize = 256 << 10;
/// Statuses of an object in memory: as it was read, in the form of JSON and as values, and one that is being stored.
const STATUSES: usize = 3;
/// What a release takes in a status beside its texts, with the conditions of its update.
const RELEASE: usize = 4 << 10;

/// An update, and what the service says of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Where it leads.
    pub version: Version,
    /// The release.
    pub release: Release,
    /// Its risks by name; none if it is unconditional.
    pub risks: Vec<ConditionalUpdateRisk>,
}

/// What an answer of the service comes to.
#[derive(Debug)]
pub struct Knowledge {
    /// When the service said so.
    pub at: Timestamp,
    /// The digest of the whole answer: which revision this is of.
    pub digest: Digest,
    /// What is asked and judged.
    pub plan: Plan,
    /// The release that the cluster runs, as the service describes it.
    pub current: Release,
    /// What was wrong with the answer, all of it; nothing once it is kept.
    pub diagnostics: Vec<Diagnostic>,
    /// The same, as the status tells it.
    pub findings: GraphFindings,
    targets: Vec<Target>,
    /// The part of the answer that all of this follows from.
    answer: Arc<str>,
    memory: usize,
}

/// Why an answer says nothing about a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableAnswer {
    /// It is no graph.
    #[error("{0}")]
    NoGraph(String),
    /// The version is not in it.
    #[error(transparent)]
    NotInGraph(#[from] NotInGraph),
}

impl Knowledge {
    /// Reads an answer for a cluster that runs a version.
    pub fn read(answer: &[u8], from: &Version, at: Timestamp, settings: &Settings) -> Result<Self, UnusableAnswer> {
        let read = wire::read(answer, &Limits::default());
        let Some(graph) = read.graph else {
            let why = read.diagnostics.first().map_or("the answer is not a graph", |first| first.message.as_str());
            return Err(UnusableAnswer::NoGraph(why.to_owned()));
        };
        let part = around(&graph, from).ok_or_else(|| NotInGraph { version: from.clone() })?;
        drop(graph);
        let plan = Plan::new(&part, from, settings)?;
        let mut in_status = 0_usize;
        let mut targets: Vec<Target> = part
            .updates()
            .filter_map(|(edge, risks)| {
                let node = part.node(edge.to)?;
                let target = Target {
                    version: node.version().clone(),
                    release: release(node),
                    risks: risks.iter().map(|risk| ConditionalUpdateRisk::from(risk.as_ref())).collect(),
                };
                let texts = risks.iter().map(|risk| JsonSize::of_text(risk.json().as_bytes()).memory);
                in_status =
                    texts.fold(in_status.saturating_add(release_memory(&target.release)), usize::saturating_add);
                Some(target)
            })
            .collect();
        targets.sort_by(|one, other| one.version.cmp(&other.version));
        let place = part.nodes().iter().position(|node| node.version().precedence(from).is_eq());
        let current = place.and_then(|place| part.nodes().get(place)).map(|node| release(node)).unwrap_or_default();
        let answer_part: Arc<str> = String::from_utf8_lossy(&wire::write(&part)).into();
        let messages = plan.message_bytes().saturating_mul(STATUSES);
        let parts = [BASE, plan.memory(), in_status.saturating_mul(STATUSES + 1), messages, answer_part.len()];
        Ok(Knowledge {
            at,
            digest: Digest::sha256(answer),
            plan,
            current,
            findings: GraphFindings::new(&read.diagnostics, from),
            diagnostics: read.diagnostics,
            targets,
            answer: answer_part,
            memory: parts.into_iter().fold(0, usize::saturating_add),
        })
    }

    /// The update to a version.
    pub fn target(&self, version: &Version) -> Option<&Target> {
        self.targets.binary_search_by(|target| target.version.cmp(version)).ok().and_then(|at| self.targets.get(at))
    }

    /// The release of the present version, if it is one for several architectures.
    pub fn multi_release(&self) -> Option<&Release> {
        let is_multi = self.current.architecture.as_deref() == Some(MULTI);
        Some(&self.current).filter(|current| is_multi && !current.image.is_empty())
    }

    /// Bytes of memory that the operator needs for as long as it keeps this: for the answer, its rules, the evidence and
    /// proofs of its risks, and the status. An estimate from above.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// The part of the answer that this follows from: reading it again comes to the same.
    pub fn answer(&self) -> &Arc<str> {
        &self.answer
    }
}

/// Bytes of memory that a release takes in a status.
fn release_memory(release: &Release) -> usize {
    const TEXT: usize = 96;
    let texts = [&release.version, &release.image].into_iter().chain(&release.url).chain(&release.channels);
    texts.map(|text| text.len().saturating_add(TEXT)).fold(RELEASE, usize::saturating_add)
}

/// The part of a graph that starts at a version.
fn around(graph: &Graph, from: &Version) -> Option<Graph> {
    let by_precedence = || graph.nodes().iter().position(|node| node.version().precedence(from).is_eq());
    let place = graph.find(from).or_else(|| by_precedence().and_then(|at| u32::try_from(at).ok()))?;
    Some(graph.part_from(place))
}

/// A release as status has it.
fn release(node: &Node) -> Release {
    let word = |key: &str| node.metadata().get(key).filter(|text| !text.is_empty());
    let channels = word(CHANNELS).into_iter().flat_map(|list| list.split(',')).map(str::trim);
    let mut channels: Vec<String> = channels.filter(|name| !name.is_empty()).map(str::to_owned).collect();
    channels.sort();
    channels.dedup();
    Release {
        architecture: word(ARCHITECTURE).filter(|arch| arch.eq_ignore_ascii_case(MULTI)).map(|_| MULTI.to_owned()),
        version: node.version().to_string(),
        image: node.payload().to_owned(),
        url: word(URL).map(str::to_owned),
        channels,
    }
}
