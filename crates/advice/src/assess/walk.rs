//! The walk over the rules of a risk: the first that evaluates decides (U2).

use std::sync::Arc;

use clearway_graph::{Risk, Rule};

use crate::evidence::TargetRelease;
use crate::proof::{Outcome, RiskProof, RuleProof, Verdict};
use crate::rules::{
    Case, Check, Entry, Finding, Reading, RuleEvidence, RuleOutcome, RuleResult, asks_about_release, remedy,
};

/// A risk whose rules were read.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) key: RiskKey,
    pub(crate) risk: Arc<Risk>,
    /// Its rules. Those that are the same for every release are shared with the same risk for another one.
    pub(crate) entries: Vec<Arc<Entry>>,
}

/// What tells risks of a plan apart. One that asks about the objects of a release is another one for each release.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RiskKey {
    json: String,
    payload: Option<String>,
}

impl RiskKey {
    /// The key of a risk of an update that leads to a release.
    pub(crate) fn of(risk: &Risk, release: &TargetRelease) -> Self {
        let depends = risk.rules().iter().any(asks_about_release);
        RiskKey { json: risk.json().to_owned(), payload: depends.then(|| release.payload.clone()) }
    }
}

/// What a walk over rules comes to, and the place of the rule that decided.
struct Decision {
    verdict: Verdict,
    decided_by: Option<usize>,
}

impl Candidate {
    /// The entries that a walk may reach: none behind one that never fails.
    pub(crate) fn reachable(&self) -> impl Iterator<Item = &Entry> {
        let certain = |entry: &Arc<Entry>| entry.check().is_some_and(Check::certain);
        let last = self.entries.iter().position(certain).unwrap_or(self.entries.len());
        self.entries.iter().take(last.saturating_add(1)).map(Arc::as_ref)
    }

    /// Tries the rules in order: an entry that is not recognised or fails is passed over, one that evaluates decides,
    /// and one that is pending ends the walk without a decision. `evaluate` gives the verdict if an entry ends the walk.
    /// Both the full proof and the short verdict are made here, so they cannot differ.
    fn decide(&self, mut evaluate: impl FnMut(&Entry) -> Option<Verdict>) -> Decision {
        for (at, entry) in self.entries.iter().enumerate() {
            if let Some(verdict) = evaluate(entry) {
                let decides = matches!(verdict, Verdict::Match | Verdict::NoMatch);
                return Decision { verdict, decided_by: decides.then_some(at) };
            }
        }
        // Without rules a risk is a match for every cluster; where none evaluates, it is unknown.
        let verdict = if self.entries.is_empty() { Verdict::Match } else { Verdict::Unknown };
        Decision { verdict, decided_by: None }
    }

    /// The proof: every rule with what became of it.
    pub(crate) fn walk(&self, case: &Case<'_>) -> RiskProof {
        let mut rules = Vec::with_capacity(self.entries.len());
        let Decision { verdict, decided_by } = self.decide(|entry| {
            let (proof, verdict) = try_entry(entry, case);
            rules.push(proof);
            verdict
        });
        let behind = self.entries.iter().skip(rules.len()).map(|entry| blank(entry, not_reached(entry)));
        rules.extend(behind);
        RiskProof {
            name: self.risk.name().to_owned(),
            url: self.risk.url().to_owned(),
            message: self.risk.message().to_owned(),
            verdict,
            decided_by,
            rules,
        }
    }

    /// The verdict of [`Candidate::walk`], without its proof.
    pub(crate) fn verdict(&self, case: &Case<'_>) -> Verdict {
        let verdict = |told| match told {
            RuleOutcome::Match => Some(Verdict::Match),
            RuleOutcome::NoMatch => Some(Verdict::NoMatch),
            RuleOutcome::Pending => Some(Verdict::Pending),
            RuleOutcome::Failed => None,
        };
        self.decide(|entry| entry.check().and_then(|check| verdict(check.outcome(case)))).verdict
    }
}

/// An entry behind the one that decided: whether its type is known is said all the same.
fn not_reached(entry: &Entry) -> Outcome {
    if entry.recognised() { Outcome::NotReached } else { Outcome::NotRecognised }
}

/// Tries one entry; the verdict if the walk ends here.
fn try_entry(entry: &Entry, case: &Case<'_>) -> (RuleProof, Option<Verdict>) {
    let tried = match &entry.reading {
        Reading::Check(check) => check.check(case),
        Reading::Failed { failure, .. } => {
            let missing = remedy(failure.class);
            RuleResult::without_evidence(Finding::failed(failure.class, &failure.message, missing))
        }
        Reading::NotRecognised { .. } => return (not_recognised(entry), None),
    };
    let RuleResult { finding, seen, warnings } = tried;
    let RuleEvidence { value, observed_at, source, reproduce, again, explanation } = seen;
    let mut proof = RuleProof {
        value,
        observed_at,
        age_seconds: observed_at.map(|at| case.now.since(at).as_secs()),
        source,
        reproduce,
        explanation,
        warnings,
        ..blank(entry, Outcome::Match)
    };
    let verdict = match finding {
        Finding::Match => Some(Verdict::Match),
        Finding::NoMatch => {
            proof.outcome = Outcome::NoMatch;
            Some(Verdict::NoMatch)
        }
        Finding::Pending { due } => {
            proof.outcome = Outcome::Pending;
            proof.due = due;
            proof.why = Some(match due {
                Some(due) => format!("It will be evaluated at {due}."),
                None => "It will be evaluated soon.".to_owned(),
            });
            Some(Verdict::Pending)
        }
        Finding::Failed { class, message, missing } => {
            proof.outcome = Outcome::Failed;
            proof.failure = Some(class);
            proof.why = Some(message);
            proof.missing = Some(missing);
            proof.due = again;
            None
        }
    };
    (proof, verdict)
}

fn not_recognised(entry: &Entry) -> RuleProof {
    let (why, missing) = match entry.kind.as_str() {
        Rule::UNREADABLE => {
            ("The update service sent rules that cannot be read.".to_owned(), "Rules in the documented form.")
        }
        "" => ("The rule names no type.".to_owned(), "A rule with a type."),
        kind => (
            format!("The rule type {kind} is not supported by this version of Clearway."),
            "A version of Clearway that supports the type.",
        ),
    };
    RuleProof { why: Some(why), missing: Some(missing.to_owned()), ..blank(entry, Outcome::NotRecognised) }
}

/// A proof with nothing but the rule.
fn blank(entry: &Entry, outcome: Outcome) -> RuleProof {
    RuleProof {
        kind: entry.kind.clone(),
        parameters: entry.parameters().to_owned(),
        outcome,
        value: None,
        observed_at: None,
        age_seconds: None,
        source: None,
        reproduce: None,
        explanation: None,
        failure: None,
        why: None,
        missing: None,
        due: None,
        warnings: Vec::new(),
    }
}
