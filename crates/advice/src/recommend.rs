//! From the verdicts on an update's risks to its recommendation, in the words that clients know (U5, U7, U10, U14).
//!
//! | the risks | status | reason |
//! |---|---|---|
//! | none applies | True | `NotExposedToRisks` |
//! | one applies | False | its name, or `ExposedToRisks` if that is no reason the API takes |
//! | one applies, and others apply or are not known | False | `MultipleReasons` |
//! | some are not known because a source of evidence cannot be reached | Unknown | `EvidenceUnreachable` |
//! | some are not known because of PromQL | Unknown | `PromQLError` |
//! | some are not known for other reasons | Unknown | `EvaluationFailed` |
//! | some are not evaluated yet, the others do not apply | Unknown | `EvaluationPending` |
//! | the list is empty | Unknown | `EvaluationFailed` |
//! | those that apply were accepted by name, the others do not apply ([`with_accepted`]) | True | `AllExposedRisksAccepted` |
//!
//! The message has a paragraph for each risk that applies or is not known, in the order of their names.
//!
//! `EvidenceUnreachable` is said where the assessment itself is shown. The status of a `ClusterVersion` has the words that
//! its clients know: there every query that could not be evaluated is a `PromQLError` (U10, [`with_accepted`]).

mod pages;

use std::sync::Arc;

use clearway_graph::Rule;

use crate::assess::Update;
use crate::proof::{Outcome, RiskProof, Statement, Status, Verdict};

pub use pages::reason_pages;

/// Reasons that stand for themselves.
pub mod reasons {
    /// No risk applies.
    pub const NOT_EXPOSED: &str = "NotExposedToRisks";
    /// Risks apply, and an administrator has accepted each of them.
    pub const ACCEPTED: &str = "AllExposedRisksAccepted";
    /// No risk is known: the update is unconditional.
    pub const UNCONDITIONAL: &str = "NoKnownRisks";
    /// A risk applies whose name is no reason.
    pub const EXPOSED: &str = "ExposedToRisks";
    /// Several paragraphs of the message have reasons of their own.
    pub const MULTIPLE: &str = "MultipleReasons";
    /// A source of evidence cannot be reached, does not let us ask, or does not answer in time.
    pub const EVIDENCE_UNREACHABLE: &str = "EvidenceUnreachable";
    /// A query could not be evaluated.
    pub const PROMQL_ERROR: &str = "PromQLError";
    /// A rule of another type could not be evaluated.
    pub const EVALUATION_FAILED: &str = "EvaluationFailed";
    /// A rule was not evaluated yet.
    pub const PENDING: &str = "EvaluationPending";
    /// Risks are evaluated again and again.
    pub const EVALUATING: &str = "EvaluatingRisks";
    /// A risk has no rules at all.
    pub const NO_RULES: &str = "NoMatchingRules";
    /// A risk has only rules of unknown types.
    pub const UNRECOGNISED: &str = "UnrecognizedRules";
}

/// The recommendation for an update without risks.
pub(crate) fn unconditional() -> Statement {
    statement(Status::True, reasons::UNCONDITIONAL, "The update is recommended, because no risk is known for it.")
}

/// The recommendation for an update with these risks, which are in the order of their names.
pub(crate) fn recommended(risks: &[Arc<RiskProof>]) -> Statement {
    if risks.is_empty() {
        let message = "The update is conditional but names no risk, so whether it is safe is not known.";
        return statement(Status::Unknown, reasons::EVALUATION_FAILED, message);
    }
    let said: Vec<&RiskProof> =
        risks.iter().map(AsRef::as_ref).filter(|risk| risk.verdict != Verdict::NoMatch).collect();
    if said.is_empty() {
        let message = "The update is recommended, because none of the conditional update risks apply to this cluster.";
        return statement(Status::True, reasons::NOT_EXPOSED, message);
    }
    let paragraphs: Vec<String> = said.iter().map(|risk| paragraph(risk)).collect();
    let of = |verdict: Verdict| said.iter().filter(move |risk| risk.verdict == verdict);
    let (status, reason) = match of(Verdict::Match).next() {
        Some(risk) if said.len() == 1 && is_reason(&risk.name) => (Status::False, risk.name.as_str()),
        Some(_) if said.len() == 1 => (Status::False, reasons::EXPOSED),
        Some(_) => (Status::False, reasons::MULTIPLE),
        None if of(Verdict::Unknown).any(|risk| unreachable(risk)) => (Status::Unknown, reasons::EVIDENCE_UNREACHABLE),
        None if of(Verdict::Unknown).next().is_some() => (Status::Unknown, failed_evaluation(&said)),
        None => (Status::Unknown, reasons::PENDING),
    };
    statement(status, reason, paragraphs.join("\n\n"))
}

/// The recommendation for an update some of whose risks were accepted by an administrator, by name: the others decide.
/// Only a risk that applies can be accepted. One that could not be evaluated stays unknown: nobody knows what would be
/// accepted with it (U16). The reason is one of those that clients of a `ClusterVersion` know.
pub fn with_accepted(update: &Update, accepted: impl Fn(&str) -> bool) -> Statement {
    let (taken, left): (Vec<_>, Vec<_>) =
        update.risks.iter().cloned().partition(|risk| risk.verdict == Verdict::Match && accepted(&risk.name));
    if taken.is_empty() {
        return for_status(update.recommended.clone(), &update.risks);
    }
    if left.iter().any(|risk| risk.verdict != Verdict::NoMatch) {
        return for_status(recommended(&left), &left);
    }
    let names: Vec<&str> = taken.iter().map(|risk| risk.name.as_str()).collect();
    let message = format!(
        "The update is recommended, because each risk either does not apply to this cluster or was accepted: {}.",
        names.join(", ")
    );
    statement(Status::True, reasons::ACCEPTED, message)
}

/// A recommendation with the reason that the status of a `ClusterVersion` has for it.
fn for_status(statement: Statement, risks: &[Arc<RiskProof>]) -> Statement {
    if statement.reason != reasons::EVIDENCE_UNREACHABLE {
        return statement;
    }
    let said: Vec<&RiskProof> = risks.iter().map(AsRef::as_ref).collect();
    Statement { reason: failed_evaluation(&said).to_owned(), ..statement }
}

/// The status alone, of the verdicts on an update's risks: what [`recommended`] says, without its words.
pub(crate) fn status(verdicts: impl Iterator<Item = Verdict>) -> Status {
    let mut status = None;
    for verdict in verdicts {
        match verdict {
            Verdict::Match => return Status::False,
            Verdict::Unknown | Verdict::Pending => status = Some(Status::Unknown),
            Verdict::NoMatch => status = status.or(Some(Status::True)),
        }
    }
    // Nobody is recommended an update that is conditional and names no risk (U5).
    status.unwrap_or(Status::Unknown)
}

/// Whether the risks of an update are evaluated: every one has a rule that is recognised (U7).
pub(crate) fn evaluating(risks: &[Arc<RiskProof>]) -> Statement {
    let named = |risks: Vec<&str>| risks.join(", ");
    let without: Vec<&str> = risks.iter().filter(|risk| risk.rules.is_empty()).map(|risk| risk.name.as_str()).collect();
    if risks.is_empty() || !without.is_empty() {
        let message = match without.as_slice() {
            [] => "There is nothing to evaluate: the update names no risk.".to_owned(),
            _ => format!("There is nothing to evaluate: no rules are given for {}.", named(without)),
        };
        return statement(Status::False, reasons::NO_RULES, message);
    }
    let foreign: Vec<&str> = risks.iter().filter(|risk| !risk.recognised()).map(|risk| risk.name.as_str()).collect();
    if !foreign.is_empty() {
        let message = format!("No rule of a known type is given for {}.", named(foreign));
        return statement(Status::False, reasons::UNRECOGNISED, message);
    }
    statement(Status::True, reasons::EVALUATING, "Periodically evaluating risks associated with this update.")
}

/// What a risk that applies or is not known adds to the message.
fn paragraph(risk: &RiskProof) -> String {
    let RiskProof { name, url, message, .. } = risk;
    let with_url = |text: &str| if url.is_empty() { text.to_owned() } else { format!("{text} {url}") };
    match risk.verdict {
        Verdict::Match | Verdict::NoMatch => with_url(message),
        Verdict::Pending => {
            let due = risk.rules.iter().find(|rule| rule.outcome == Outcome::Pending).and_then(|rule| rule.due);
            let due = due.map_or_else(|| "soon".to_owned(), |due| format!("at {due}"));
            with_url(&format!("The risk {name} will be evaluated {due}."))
        }
        Verdict::Unknown => {
            let tried: Vec<_> = risk.rules.iter().filter(|rule| rule.why.is_some()).collect();
            let several = tried.len() > 1;
            let opening = format!(
                "Unable to evaluate {} to determine if the cluster is impacted by {name}.",
                kinds(risk).join(" or ")
            );
            let mut text = with_url(&opening);
            for rule in tried {
                text.push(' ');
                if several {
                    text.push_str(&rule.kind);
                    text.push_str(": ");
                }
                text.push_str(rule.why.as_deref().unwrap_or_default());
            }
            text
        }
    }
}

/// The types that could not be evaluated: those that are recognised, or all if none is.
fn kinds(risk: &RiskProof) -> Vec<&str> {
    let of = |outcome: Outcome| -> Vec<&str> {
        let mut kinds: Vec<&str> = Vec::new();
        for rule in risk.rules.iter().filter(|rule| rule.outcome == outcome) {
            let kind = if rule.kind.is_empty() { "rules" } else { rule.kind.as_str() };
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds
    };
    let failed = of(Outcome::Failed);
    if failed.is_empty() { of(Outcome::NotRecognised) } else { failed }
}

/// The reason for risks that could not be evaluated: `PromQLError` if a query is among what failed (U10).
fn failed_evaluation(risks: &[&RiskProof]) -> &'static str {
    let failed_query = |risk: &&RiskProof| {
        risk.verdict == Verdict::Unknown
            && risk.rules.iter().any(|rule| rule.outcome == Outcome::Failed && rule.kind == Rule::PROMQL)
    };
    if risks.iter().any(failed_query) { reasons::PROMQL_ERROR } else { reasons::EVALUATION_FAILED }
}

/// Whether a risk could not be evaluated because a source of evidence cannot be reached.
fn unreachable(risk: &RiskProof) -> bool {
    risk.verdict == Verdict::Unknown && risk.unreachable().next().is_some()
}

/// Whether a name is a reason that the API takes: `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`, at most 1024 characters.
fn is_reason(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.len() <= 1024
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.ends_with(word)
        && name.chars().all(|c| word(c) || c == ',' || c == ':')
}

fn statement(status: Status, reason: &str, message: impl Into<String>) -> Statement {
    Statement { status, reason: reason.to_owned(), message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_of_risks_recommends_nothing() {
        let statement = recommended(&[]);
        assert_eq!((statement.status, statement.reason.as_str()), (Status::Unknown, "EvaluationFailed"));
        assert_eq!(evaluating(&[]).status, Status::False);
    }

    #[test]
    fn only_some_names_are_reasons() {
        for name in ["A", "a1", "Broken_By:Design,Twice1"] {
            assert!(is_reason(name), "{name}");
        }
        for name in ["", "1a", "a-b", "a b", "a:", "é", "Aé", &"a".repeat(1025)] {
            assert!(!is_reason(name), "{name}");
        }
    }
}
