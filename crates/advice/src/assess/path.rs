//! Several updates in a row: the risks of each hop, as far as today's evidence can say.
//!
//! Only the first hop starts from the cluster as it is. What the later ones find is found on the cluster of today; once it
//! runs another version its metrics and objects may be others, so their statements are marked as provisional.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use clearway_core::{Timestamp, Version};
use clearway_graph::{Hop, Path, Risk};
use serde::Serialize;

use crate::assess::rule_reader::RuleReader;
use crate::assess::walk::{Candidate, RiskKey};
use crate::budget::Shares;
use crate::evidence::{Evidence, TargetRelease};
use crate::proof::{RiskProof, Statement, Status};
use crate::recommend;
use crate::rules::{Case, Memo};
use crate::settings::Settings;

/// A way over several updates, assessed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PathAssessment {
    /// The time it was made for.
    pub time: Timestamp,
    /// The least of what the hops say: False before Unknown before True.
    pub status: Status,
    /// The hops in order.
    pub hops: Vec<HopAssessment>,
}

/// One update of the way.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HopAssessment {
    /// Where it starts.
    pub from: Version,
    /// Where it leads.
    pub to: Version,
    /// Whether it has to be assessed again once the cluster is there: true of every hop but the first.
    pub provisional: bool,
    /// Whether it is recommended by today's evidence.
    pub recommended: Statement,
    /// Its risks by name.
    #[serde(serialize_with = "crate::proof::shared", skip_serializing_if = "Vec::is_empty")]
    pub risks: Vec<Arc<RiskProof>>,
}

/// Assesses every hop of a way. A way without hops is one to where the cluster is already, and True.
pub fn assess_path(path: &Path, evidence: &dyn Evidence, now: Timestamp, settings: &Settings) -> PathAssessment {
    // A risk of several hops is evaluated once.
    let mut risks: Vec<Candidate> = Vec::new();
    let release = |hop: &Hop| TargetRelease { version: hop.to.clone(), payload: hop.payload().to_owned() };
    let mut known: HashSet<RiskKey> = HashSet::new();
    let mut rules = RuleReader::new(settings, path.hops.iter().flat_map(|hop| hop.risks.iter()));
    for hop in &path.hops {
        let release = release(hop);
        for risk in hop.risks.iter().filter(|risk| known.insert(RiskKey::of(risk, &release))) {
            risks.push(rules.read(risk, &release));
        }
    }
    let (memo, shares) = (Memo::default(), Shares::new(&settings.budget, &risks));
    let mut proofs: HashMap<&RiskKey, Arc<RiskProof>> = HashMap::new();
    for candidate in &risks {
        let case = Case { evidence, now, settings, risk: candidate.risk.name(), memo: &memo, shares: &shares };
        proofs.insert(&candidate.key, Arc::new(candidate.walk(&case)));
    }
    let mut hops = Vec::with_capacity(path.hops.len());
    for (at, hop) in path.hops.iter().enumerate() {
        let release = release(hop);
        let proof = |risk: &Arc<Risk>| proofs.get(&RiskKey::of(risk, &release)).cloned();
        let risks: Vec<Arc<RiskProof>> = hop.risks.iter().filter_map(proof).collect();
        let recommended = if risks.is_empty() { recommend::unconditional() } else { recommend::recommended(&risks) };
        hops.push(HopAssessment {
            from: hop.from.clone(),
            to: hop.to.clone(),
            provisional: at > 0,
            recommended,
            risks,
        });
    }
    let says = |status: Status| hops.iter().any(|hop| hop.recommended.status == status);
    let worst = [Status::False, Status::Unknown].into_iter().find(|status| says(*status));
    PathAssessment { time: now, status: worst.unwrap_or(Status::True), hops }
}
