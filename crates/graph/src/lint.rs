//! What parsing cannot see in graph-data: patterns that match too much or nothing, rules that cannot be evaluated,
//! risks with holes, channels that contradict each other.
//!
//! The rules look at a [`Revision`] and write drafts: which file, which value in it, what is wrong. Only the files that
//! a draft names are read again, to find the line, the column and the text of that value. What a query or expression of
//! a rule means is somebody else's knowledge, and comes in as [`RuleTexts`]. Start at [`lint()`], or at [`answer()`] where there is only an
//! answer and no files.

mod alternatives;
mod answer;
mod channels;
mod drafts;
mod expressions;
mod locate;
mod names;
mod queries;
mod risks;
mod rule_parameters;
mod runs;
mod sources;
mod targets;

pub use answer::answer;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use clearway_core::{Diagnostic, Severity, Version};

use crate::files::block::{Block, Effect};
use crate::files::inputs::{Inputs, Role, role};
use crate::model::revision::Revision;
use crate::model::risk::{Risk, Rule};
use drafts::{At, Draft, Drafts};

/// What is known about the texts of rules.
pub trait RuleTexts {
    /// What is wrong with a query of a `PromQL` rule.
    fn check_query(&self, query: &str) -> Vec<QueryFinding>;
    /// The metrics that a query asks for; none if it cannot be read.
    fn metrics(&self, query: &str) -> Vec<String>;
    /// Why the expression of a `Resource` rule is refused, if it is.
    fn check_expression(&self, expression: &str) -> Option<ExpressionFinding>;
    /// What is wrong with the parameters of a `Bundle` or `Policy` rule.
    fn check_parameters(&self, rule: &Rule) -> Vec<ParameterFinding>;
}

/// Something about a parameter of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterFinding {
    /// The key of the parameter; empty if it is not one of the type's.
    pub key: &'static str,
    /// What is wrong, as the rest of a sentence about the rule.
    pub message: String,
    /// The bytes of its text that it is about.
    pub span: Range<usize>,
    /// Whether the type has such a parameter.
    pub known: bool,
}

/// Something about a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryFinding {
    /// Which kind it is.
    pub fault: QueryFault,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// The bytes of the query that it is about.
    pub span: Range<usize>,
}

/// A kind of finding about a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryFault {
    /// It is not a query.
    Unreadable,
    /// It is not let through to the metrics of a cluster.
    Refused,
    /// It may not answer with one 0 or 1.
    Shape,
}

/// Something about an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionFinding {
    /// Which kind it is.
    pub fault: ExpressionFault,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The bytes of the expression that it is about.
    pub span: Range<usize>,
}

/// A kind of finding about an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpressionFault {
    /// It does not compile: its syntax, its types, or what it uses.
    Invalid,
    /// It is larger or costs more than is allowed.
    Limit,
}

/// Everything the rules have to say about a revision and the files it was made of, by place.
pub fn lint(revision: &Revision, inputs: &Inputs, texts: &dyn RuleTexts) -> Vec<Diagnostic> {
    let index = Index::new(revision);
    let mut drafts = Drafts::new(revision.caps.findings);
    sources::check(&index, &mut drafts);
    queries::check(index.risks(), texts, &mut drafts);
    expressions::check(index.risks(), texts, &mut drafts);
    rule_parameters::check(index.risks(), texts, &mut drafts);
    targets::check(&index, &mut drafts);
    runs::check(&index, &mut drafts);
    names::check(&index, &mut drafts);
    index.risks().for_each(|(file, risk)| risks::check(file, risk, &mut drafts));
    risks::declared(&index, &mut drafts);
    channels::check(&index, &mut drafts);
    let mut found = locate::locate(drafts, inputs, &revision.caps);
    found.sort_by(|one, other| one.place.cmp(&other.place).then_with(|| one.code.cmp(&other.code)));
    found
}

/// What the rules look things up in.
struct Index<'r> {
    revision: &'r Revision,
    /// `<version>+<arch>` of every release, in the order of the releases.
    full: Vec<String>,
    /// The versions that a channel lists, without build metadata.
    listed: BTreeSet<Version>,
    /// The blocks of each risk and minor version, by target.
    runs: BTreeMap<(&'r str, u64, u64), Vec<&'r Block>>,
}

impl<'r> Index<'r> {
    fn new(revision: &'r Revision) -> Self {
        let full =
            revision.releases().iter().map(|release| format!("{}+{}", release.node.version(), release.arch)).collect();
        let listed = revision.channels().flat_map(|channel| &channel.versions).map(Version::without_build).collect();
        let mut runs: BTreeMap<_, Vec<&Block>> = BTreeMap::new();
        for block in revision.blocks() {
            if let Some(risk) = risk(block) {
                runs.entry((risk.name(), block.to.major(), block.to.minor())).or_default().push(block);
            }
        }
        for run in runs.values_mut() {
            run.sort_by(|one, other| one.to.cmp(&other.to).then_with(|| one.file.cmp(&other.file)));
        }
        Index { revision, full, listed, runs }
    }

    /// The risk of each file that has one.
    fn risks(&self) -> impl Iterator<Item = (&'r str, &'r Risk)> {
        // A declared risk stands for many blocks.
        let mut told: BTreeSet<&str> = BTreeSet::new();
        let risks = self.revision.blocks().iter().filter_map(|block| Some((block.file.as_str(), risk(block)?)));
        risks.filter(move |(file, _)| told.insert(file))
    }

    /// The blocks that have a file of their own.
    fn own_blocks(&self) -> impl Iterator<Item = &'r Block> {
        self.revision.blocks().iter().filter(|block| is_own(block))
    }
}

/// Whether a block has a file of its own, and does not come from a declared risk.
fn is_own(block: &Block) -> bool {
    role(&block.file) == Role::Block
}

/// The risk of a block.
fn risk(block: &Block) -> Option<&Risk> {
    match &block.effect {
        Effect::Condition(risk) => Some(risk),
        Effect::Remove => None,
    }
}

/// The first of some versions, for a sentence that does not change with every release.
fn first_few<'v>(versions: impl IntoIterator<Item = &'v Version>) -> String {
    const SHOWN: usize = 3;
    let mut versions = versions.into_iter();
    let shown: Vec<String> = versions.by_ref().take(SHOWN).map(ToString::to_string).collect();
    let more = if versions.next().is_some() { " and others" } else { "" };
    format!("{}{more}", shown.join(", "))
}
