//! Assessing: every update of a version, with its recommendation and proof.
//!
//! A [`Plan`] is the part that does not depend on a cluster: the updates of a version, newest first (U11), their
//! distinct risks and the distinct queries of those, all read once. [`Plan::assess`] then answers for any cluster and
//! time. [`assess`] is both in one call.

pub(crate) mod path;
mod rule_reader;
pub(crate) mod walk;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use clearway_core::{Diagnostic, Timestamp, Version};
use clearway_graph::{Graph, Node, Path, Risk};
use serde::Serialize;

use crate::budget::Shares;
use crate::evidence::{Evidence, ObjectQuestion, ObjectRequest, Question, TargetRelease};
use crate::proof::{RiskProof, Statement, Status, Verdict};
use crate::recommend;
use crate::rules::{Case, Check, Memo};
use crate::settings::Settings;
use rule_reader::RuleReader;
use walk::{Candidate, RiskKey};

/// What is recommended to a cluster, and why. The form of its JSON is documented at the head of this crate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Assessment {
    /// The revision of the graph, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph_revision: Option<String>,
    /// The cluster.
    pub cluster: Cluster,
    /// The time it was made for.
    pub time: Timestamp,
    /// The updates by decreasing version.
    pub updates: Vec<Update>,
    /// What was wrong with the graph.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
}

/// The cluster that was assessed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The version it runs.
    pub version: Version,
}

/// One update.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Update {
    /// Where it leads.
    pub version: Version,
    /// The image or artifact.
    pub payload: String,
    /// Whether it carries risks.
    pub conditional: bool,
    /// Whether its risks are evaluated; nothing if it carries none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluating: Option<Statement>,
    /// Whether it is recommended.
    pub recommended: Statement,
    /// Its risks by name.
    #[serde(serialize_with = "crate::proof::shared", skip_serializing_if = "Vec::is_empty")]
    pub risks: Vec<Arc<RiskProof>>,
}

impl Update {
    /// The age of the oldest evidence that was looked at for it; nothing if none was.
    pub fn evidence_age(&self) -> Option<Duration> {
        let rules = self.risks.iter().flat_map(|risk| &risk.rules);
        rules.filter_map(|rule| rule.age_seconds).max().map(Duration::from_secs)
    }
}

/// What an assessment comes to, without words and proofs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssessmentSummary {
    /// For each of [`Plan::targets`] whether it is recommended.
    pub updates: Vec<Status>,
    /// For each of [`Plan::risks`] whether it applies.
    pub risks: Vec<Verdict>,
}

/// The version is not in the graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the version {version} is not in the graph, so its updates are unknown")]
pub struct NotInGraph {
    /// The version.
    pub version: Version,
}

/// Everything about assessing one version that does not depend on a cluster.
#[derive(Debug)]
pub struct Plan {
    from: Version,
    settings: Settings,
    pub(crate) targets: Vec<Target>,
    /// The distinct risks, in the order in which the newest updates name them.
    pub(crate) risks: Vec<Candidate>,
    shares: Shares,
    graph_revision: Option<String>,
    diagnostics: Vec<Diagnostic>,
}

/// An update and the places of its risks.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) release: TargetRelease,
    /// Nothing if it is unconditional.
    pub(crate) risks: Option<Vec<usize>>,
}

/// Assesses every update of a version.
pub fn assess(
    graph: &Graph,
    from: &Version,
    evidence: &dyn Evidence,
    now: Timestamp,
    settings: &Settings,
) -> Result<Assessment, NotInGraph> {
    Ok(Plan::new(graph, from, settings)?.assess(evidence, now))
}

impl Plan {
    /// The plan for the updates of a version. Build metadata tells versions apart only where the graph has both.
    pub fn new(graph: &Graph, from: &Version, settings: &Settings) -> Result<Self, NotInGraph> {
        let by_precedence = || graph.nodes().iter().position(|node| node.version().precedence(from).is_eq());
        let place = graph.find(from).or_else(|| by_precedence().and_then(|at| u32::try_from(at).ok()));
        let place = place.ok_or_else(|| NotInGraph { version: from.clone() })?;
        let mut updates: Vec<(&Node, Option<&[Arc<Risk>]>)> = Vec::new();
        let leads = |from: u32| from == place;
        updates.extend(
            graph.edges().iter().filter(|edge| leads(edge.from)).filter_map(|e| Some((graph.node(e.to)?, None))),
        );
        for group in graph.conditional() {
            let here = group.edges.iter().filter(|edge| leads(edge.from));
            updates.extend(here.filter_map(|edge| Some((graph.node(edge.to)?, Some(group.risks.as_ref())))));
        }
        updates.sort_by_key(|(node, _)| Reverse(node.version()));
        Ok(Plan::of(from, &updates, settings))
    }

    /// The plan for updates that are in order.
    pub(crate) fn of(from: &Version, updates: &[(&Node, Option<&[Arc<Risk>]>)], settings: &Settings) -> Self {
        let carried = updates.iter().filter_map(|(_, carried)| *carried);
        let mut risks = Risks::new(RuleReader::new(settings, carried.flatten()));
        let targets = updates.iter().map(|(node, carried)| {
            let release = TargetRelease { version: node.version().clone(), payload: node.payload().to_owned() };
            Target { risks: carried.map(|carried| risks.places(carried, &release)), release }
        });
        let targets = targets.collect();
        let risks = risks.list;
        Plan {
            from: from.clone(),
            settings: settings.clone(),
            targets,
            shares: Shares::new(&settings.budget, &risks),
            risks,
            graph_revision: None,
            diagnostics: Vec::new(),
        }
    }

    /// The same plan with the name of the graph's revision.
    #[must_use]
    pub fn with_revision(mut self, revision: impl Into<String>) -> Self {
        self.graph_revision = Some(revision.into());
        self
    }

    /// The same plan with what was wrong with the graph: an update both recommended and conditional, for one (U8).
    #[must_use]
    pub fn with_diagnostics(mut self, mut diagnostics: Vec<Diagnostic>) -> Self {
        diagnostics.sort_by(|one, other| {
            (&one.code, &one.place, &one.message).cmp(&(&other.code, &other.place, &other.message))
        });
        self.diagnostics = diagnostics;
        self
    }

    /// The same plan with the risks of a way over several updates ([`assess_path`](crate::assess_path)): they are asked
    /// about as well, and belong to no update of the plan.
    #[must_use]
    pub fn with_path(mut self, path: &Path) -> Self {
        let known: HashSet<RiskKey> = self.risks.iter().map(|candidate| candidate.key.clone()).collect();
        let mut risks = Risks::new(RuleReader::new(&self.settings, path.hops.iter().flat_map(|hop| hop.risks.iter())));
        for hop in &path.hops {
            let release = TargetRelease { version: hop.to.clone(), payload: hop.payload().to_owned() };
            let is_new = |risk: &&Arc<Risk>| !known.contains(&RiskKey::of(risk, &release));
            let new: Vec<_> = hop.risks.iter().filter(is_new).cloned().collect();
            risks.places(&new, &release);
        }
        let more = risks.list;
        self.risks.extend(more);
        self.shares = Shares::new(&self.settings.budget, &self.risks);
        self
    }

    /// The distinct questions a cluster may have to answer, those of the newest updates first (U9).
    pub fn questions(&self) -> Vec<&Question> {
        let mut seen: HashSet<&str> = HashSet::new();
        let all = self.checks().filter_map(Check::question);
        all.filter(|question| seen.insert(question.text())).collect()
    }

    /// The same questions about one cluster of a metrics store that holds several ([`Evidence::store_id`]). Those that
    /// cannot be asked are left out; assessing says why.
    pub fn questions_for(&self, store_id: &str) -> Vec<Question> {
        let made = self.questions().into_iter().filter_map(|one| one.for_cluster(store_id, &self.settings).ok());
        let mut seen: HashSet<String> = HashSet::new();
        made.filter(|question| seen.insert(question.text().to_owned())).collect()
    }

    /// The distinct questions about objects of the cluster, in order, each with the steps that its evaluation may take.
    pub fn object_questions(&self) -> Vec<(&ObjectQuestion, u64)> {
        self.questions_about_objects().filter(|(question, _)| question.release_constraint().is_none()).collect()
    }

    /// The distinct questions about the objects of releases, in order. Somebody has to evaluate their constraints; the result
    /// is an object that answers them ([`ReleaseConstraint::to_object`](crate::evidence::ReleaseConstraint::to_object)).
    pub fn release_questions(&self) -> Vec<(&ObjectQuestion, u64)> {
        self.questions_about_objects().filter(|(question, _)| question.release_constraint().is_some()).collect()
    }

    fn questions_about_objects(&self) -> impl Iterator<Item = (&ObjectQuestion, u64)> {
        let mut questions: Vec<&ObjectQuestion> = self.checks().flat_map(Check::object_questions).collect();
        questions.sort_unstable_by(|one, other| one.text().cmp(other.text()));
        questions.dedup();
        questions.into_iter().map(|question| (question, self.shares.steps(question.text())))
    }

    /// The distinct objects of the cluster that have to be read for the rules, by kind, in order.
    pub fn object_requests(&self) -> Vec<&ObjectRequest> {
        let questions = self.checks().flat_map(Check::object_questions);
        let of_cluster = questions.filter(|question| question.release_constraint().is_none());
        let mut requests: Vec<&ObjectRequest> = of_cluster.map(ObjectQuestion::request).collect();
        requests.sort_unstable();
        requests.dedup();
        requests
    }

    /// The words in the parameters of rules that look at objects: whoever replaces names has to keep these.
    pub fn words(&self) -> BTreeSet<&str> {
        let looks = self.checks().filter(|check| !check.object_questions().is_empty());
        let apart = |letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '-' | '.' | '_');
        let words = looks.flat_map(|check| check.parameters().split(apart));
        let results =
            self.release_questions().into_iter().filter_map(|(question, _)| question.request().name.as_deref());
        // The names of fields stand between the dots of a path.
        let words = words.flat_map(|word| word.split('.').chain([word])).filter(|word| !word.is_empty());
        words.chain(results).collect()
    }

    fn checks(&self) -> impl Iterator<Item = &dyn Check> {
        self.risks.iter().flat_map(|risk| risk.reachable().filter_map(|entry| entry.check()))
    }

    /// What is recommended to a cluster.
    pub fn assess(&self, evidence: &dyn Evidence, now: Timestamp) -> Assessment {
        let proofs = self.proofs(evidence, now);
        let updates = self.targets.iter().map(|target| {
            let risks = match &target.risks {
                None => Vec::new(),
                Some(places) => places.iter().filter_map(|place| proofs.get(*place).cloned()).collect(),
            };
            let conditional = target.risks.is_some();
            let recommended = if conditional { recommend::recommended(&risks) } else { recommend::unconditional() };
            Update {
                version: target.release.version.clone(),
                payload: target.release.payload.clone(),
                conditional,
                evaluating: conditional.then(|| recommend::evaluating(&risks)),
                recommended,
                risks,
            }
        });
        Assessment {
            graph_revision: self.graph_revision.clone(),
            cluster: Cluster { id: evidence.cluster_id().map(str::to_owned), version: self.from.clone() },
            time: now,
            updates: updates.collect(),
            diagnostics: self.diagnostics.clone(),
        }
    }

    /// The same without words and proofs, for whoever asks about thousands of clusters.
    pub fn summarize(&self, evidence: &dyn Evidence, now: Timestamp) -> AssessmentSummary {
        let verdicts = self.each_risk(evidence, now, Candidate::verdict);
        let status = |target: &Target| match &target.risks {
            None => Status::True,
            Some(places) => recommend::status(places.iter().filter_map(|place| verdicts.get(*place).copied())),
        };
        AssessmentSummary { updates: self.targets.iter().map(status).collect(), risks: verdicts }
    }

    /// Where the updates lead, by decreasing version.
    pub fn targets(&self) -> impl ExactSizeIterator<Item = &Version> {
        self.targets.iter().map(|target| &target.release.version)
    }

    /// The places among [`Plan::risks`] of those that an update carries.
    pub(crate) fn risks_of(&self, version: &Version) -> Vec<usize> {
        let target = self.targets.iter().find(|target| target.release.version == *version);
        target.and_then(|target| target.risks.clone()).unwrap_or_default()
    }

    /// The distinct risks of all updates, those of the newest first.
    pub fn risks(&self) -> impl ExactSizeIterator<Item = &Risk> {
        self.risks.iter().map(|candidate| candidate.risk.as_ref())
    }

    /// The proof of every distinct risk.
    pub(crate) fn proofs(&self, evidence: &dyn Evidence, now: Timestamp) -> Vec<Arc<RiskProof>> {
        self.each_risk(evidence, now, |candidate, case| Arc::new(candidate.walk(case)))
    }

    /// What `judge` says of every distinct risk, which share what was looked up once.
    fn each_risk<T>(
        &self,
        evidence: &dyn Evidence,
        now: Timestamp,
        judge: impl Fn(&Candidate, &Case<'_>) -> T,
    ) -> Vec<T> {
        let memo = Memo::default();
        let case = |candidate: &'_ Candidate| {
            let case = Case {
                evidence,
                now,
                settings: &self.settings,
                risk: candidate.risk.name(),
                memo: &memo,
                shares: &self.shares,
            };
            judge(candidate, &case)
        };
        self.risks.iter().map(case).collect()
    }
}

/// Distinct risks and where they stand.
struct Risks<'s> {
    rules: RuleReader<'s>,
    list: Vec<Candidate>,
    known: HashMap<RiskKey, usize>,
}

impl<'s> Risks<'s> {
    fn new(rules: RuleReader<'s>) -> Self {
        Risks { rules, list: Vec::new(), known: HashMap::new() }
    }

    /// The places of the risks of an update to a release, by name.
    fn places(&mut self, carried: &[Arc<Risk>], release: &TargetRelease) -> Vec<usize> {
        let mut carried: Vec<&Arc<Risk>> = carried.iter().collect();
        carried.sort_by(|one, other| one.order(other));
        carried.dedup();
        let mut places = Vec::with_capacity(carried.len());
        for risk in carried {
            let next = self.list.len();
            let place = *self.known.entry(RiskKey::of(risk, release)).or_insert(next);
            if place == next {
                self.list.push(self.rules.read(risk, release));
            }
            places.push(place);
        }
        places
    }
}

impl Assessment {
    /// The update to a version.
    pub fn update(&self, version: &Version) -> Option<&Update> {
        self.updates.iter().find(|update| update.version == *version)
    }

    /// The updates with this status, newest first.
    pub fn with_status(&self, status: Status) -> impl Iterator<Item = &Update> {
        self.updates.iter().filter(move |update| update.recommended.status == status)
    }

    /// The JSON: the same bytes for the same assessment.
    pub fn to_json(&self) -> String {
        // Texts, numbers and lists under text keys can always be written.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}
