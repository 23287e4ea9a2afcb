//! The registry of rule types: what a rule's `type` means (U2, U3).
//!
//! A type reads its parameters once ([`Check`] is what comes of that) and then answers for any cluster and time. To add
//! one, write a file with a `read` function and give it a line in [`REGISTRY`]. A type that has no line is not
//! recognised, and the walk goes on to the next entry. What a graph holds never panics here: parameters that make no
//! sense are an evaluation failure with a sentence.

mod always;
pub(crate) mod bundle;
mod condition;
mod object_rule;
mod parameters;
pub(crate) mod policy;
pub(crate) mod promql;
mod quantifier;
mod resource;
mod rollout;
mod rule_result;

use clearway_core::Timestamp;
use clearway_graph::Rule;

use crate::budget::Shares;
use crate::evidence::{Evidence, Failure, ObjectQuestion, Question, TargetRelease};
use crate::memory::PatternWork;
use crate::settings::Settings;

pub(crate) use parameters::canonical;
pub(crate) use policy::asks_about_release;
pub(crate) use promql::Memo;
pub(crate) use rule_result::{Finding, RuleEvidence, RuleOutcome, RuleResult, remedy};

/// Reads the parameters of a rule.
type Read = fn(&Rule, &ReadContext<'_>) -> Result<Box<dyn Check>, Failure>;

/// What a rule is read for.
pub(crate) struct ReadContext<'c> {
    pub(crate) settings: &'c Settings,
    /// The release that the update with the risk leads to.
    pub(crate) release: &'c TargetRelease,
    /// What its regular expressions may take.
    pub(crate) patterns: PatternWork,
}

/// Every type: its name, and what reads its parameters.
const REGISTRY: &[(&str, Read)] = &[
    (Rule::ALWAYS, always::read),
    (Rule::PROMQL, promql::read),
    ("Condition", condition::read),
    (Rule::RESOURCE, resource::read),
    (Rule::BUNDLE, bundle::read),
    (Rule::POLICY, policy::read),
    ("Rollout", rollout::read),
];

/// Everything a rule may look at.
pub(crate) struct Case<'a> {
    pub(crate) evidence: &'a dyn Evidence,
    pub(crate) now: Timestamp,
    pub(crate) settings: &'a Settings,
    /// The name of the risk.
    pub(crate) risk: &'a str,
    /// What queries gave in this assessment.
    pub(crate) memo: &'a Memo,
    /// What each rule may cost.
    pub(crate) shares: &'a Shares,
}

/// A rule whose parameters were read.
pub(crate) trait Check: std::fmt::Debug + Send + Sync {
    /// The parameters in one form, for people.
    fn parameters(&self) -> &str;

    /// What the rule says about a cluster.
    fn check(&self, case: &Case<'_>) -> RuleResult;

    /// The same in a word, for who does not show why.
    fn outcome(&self, case: &Case<'_>) -> RuleOutcome {
        RuleOutcome::of(&self.check(case).finding)
    }

    /// What it asks of a metrics store.
    fn question(&self) -> Option<&Question> {
        None
    }

    /// What it asks about objects, one question for each kind.
    fn object_questions(&self) -> Vec<&ObjectQuestion> {
        Vec::new()
    }

    /// Whether it never fails, so that entries behind it are never reached.
    fn certain(&self) -> bool {
        false
    }

    /// Bytes of memory that it takes, at most.
    fn memory(&self) -> usize {
        let questions = self.object_questions().into_iter().map(ObjectQuestion::memory);
        let question = self.question().map_or(0, Question::memory);
        let own = self.parameters().len().saturating_mul(OWN).saturating_add(ENTRY);
        questions.fold(question.saturating_add(own), usize::saturating_add)
    }
}

/// What a rule takes for each byte of its parameters beside its questions: the text, and what else was read of it.
const OWN: usize = 4;
/// What an entry takes beside its texts.
const ENTRY: usize = 512;

/// A rule ready for the walk.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) kind: String,
    pub(crate) reading: Reading,
}

/// What became of a rule's parameters.
#[derive(Debug)]
pub(crate) enum Reading {
    /// They were read.
    Check(Box<dyn Check>),
    /// They make no sense, or may not be asked.
    Failed { parameters: String, failure: Failure },
    /// Nobody here knows the type.
    NotRecognised { parameters: String },
}

impl Entry {
    /// Reads a rule.
    pub(crate) fn new(rule: &Rule, context: &ReadContext<'_>) -> Self {
        let reading = match REGISTRY.iter().find(|(name, _)| *name == rule.kind) {
            None => Reading::NotRecognised { parameters: canonical(&rule.parameters) },
            Some((_, read)) => match read(rule, context) {
                Ok(check) => Reading::Check(check),
                Err(failure) => Reading::Failed { parameters: shown(rule), failure },
            },
        };
        Entry { kind: rule.kind.clone(), reading }
    }

    /// Whether the type is known.
    pub(crate) fn recognised(&self) -> bool {
        !matches!(self.reading, Reading::NotRecognised { .. })
    }

    /// Bytes of memory that it takes, at most.
    pub(crate) fn memory(&self) -> usize {
        let reading = match &self.reading {
            Reading::Check(check) => check.memory(),
            Reading::Failed { parameters, failure } => parameters.len().saturating_add(failure.message.len()),
            Reading::NotRecognised { parameters } => parameters.len(),
        };
        reading.saturating_add(self.kind.len()).saturating_add(ENTRY)
    }

    /// The same entry, with a rule that counts as failed.
    pub(crate) fn refused(self, failure: Failure) -> Self {
        let parameters = self.parameters().to_owned();
        Entry { kind: self.kind, reading: Reading::Failed { parameters, failure } }
    }

    /// What was read, if it was.
    pub(crate) fn check(&self) -> Option<&dyn Check> {
        match &self.reading {
            Reading::Check(check) => Some(check.as_ref()),
            _ => None,
        }
    }

    /// The parameters in one form.
    pub(crate) fn parameters(&self) -> &str {
        match &self.reading {
            Reading::Check(check) => check.parameters(),
            Reading::Failed { parameters, .. } | Reading::NotRecognised { parameters } => parameters,
        }
    }
}

/// The parameters of a rule that could not be read: its query, if it has one, or all of them.
fn shown(rule: &Rule) -> String {
    match rule.promql() {
        Some(query) if rule.kind == Rule::PROMQL => query.trim().to_owned(),
        _ => canonical(&rule.parameters),
    }
}

/// The names of the rule types that are recognised here.
pub fn recognised() -> impl Iterator<Item = &'static str> {
    REGISTRY.iter().map(|(name, _)| *name)
}
