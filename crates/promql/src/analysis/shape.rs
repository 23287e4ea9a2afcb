//! Whether a query can answer: exactly one series, with the value 0 or 1.
//!
//! That is what a condition of an update graph must give; anything else is an evaluation that failed (U3). Whether it
//! does depends on the metrics, but much can be seen in the query alone: `group(x)` gives 1 or nothing, never 0; a bare
//! selector gives as many series as there are. [`findings`] says what can be seen. It follows values (`values`) and
//! series (`series`) through the tree and claims only what holds for any metrics; where it merely suspects, it says
//! so by the severity: an error is certain, a warning likely, an information possible.

mod series;
mod values;

use clearway_core::{Diagnostic, Severity};

use crate::analysis::types::ValueType;
use crate::error::{Code, diagnostic};
use crate::query::Query;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, MatchOp, Matcher, Span};
use crate::syntax::token::shorten;
use series::Several;

pub(crate) use values::Values;

/// Something about the shape of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// How sure it is.
    pub severity: Severity,
    /// Where it is.
    pub span: Span,
}

/// What can be seen in a query alone.
#[derive(Debug, Clone, PartialEq)]
pub enum FindingKind {
    /// The result is no instant vector, so that there is no series to look at.
    NotAVector(ValueType),
    /// The query gives 1 or nothing: on a cluster that is not affected it does not say so, it fails.
    NoZeroBranch,
    /// The query gives 0 or nothing: no cluster is ever affected.
    NoOneBranch,
    /// The query gives neither 0 nor 1: it never answers.
    NeverAnswers,
    /// One branch gives only values that are neither 0 nor 1, as `-1 * group(…)` does to say "unknown".
    ConstantOutside01(f64),
    /// The query may give several series.
    Unaggregated(Cause),
    /// A value compared with `=` or `!=` reads like a regular expression.
    RegexUnderEquals(String),
}

/// Why there may be several series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// Nothing reduces the series of a selector to one.
    Selector,
    /// There is one series for each value of these labels.
    Groups(Vec<String>),
    /// Two branches of an `or` give series with different labels, and both are kept.
    Branches,
}

impl Finding {
    /// Which kind of finding it is.
    pub fn code(&self) -> Code {
        match self.kind {
            FindingKind::NotAVector(_) => Code::NotAVector,
            FindingKind::NoZeroBranch => Code::NoZeroBranch,
            FindingKind::NoOneBranch => Code::NoOneBranch,
            FindingKind::NeverAnswers | FindingKind::ConstantOutside01(_) => Code::OutsideZeroOne,
            FindingKind::Unaggregated(_) => Code::SeveralSeries,
            FindingKind::RegexUnderEquals(_) => Code::RegexUnderEquals,
        }
    }

    /// What is the matter, in one sentence.
    pub fn message(&self) -> String {
        match &self.kind {
            FindingKind::NotAVector(found) => format!("The query returns a {found}, not an instant vector."),
            FindingKind::NoZeroBranch => "The query can return 1 but never 0.".to_owned(),
            FindingKind::NoOneBranch => "The query can return 0 but never 1.".to_owned(),
            FindingKind::NeverAnswers => "The query can return neither 0 nor 1.".to_owned(),
            FindingKind::ConstantOutside01(value) => format!("This branch returns {value}, which is neither 0 nor 1."),
            FindingKind::Unaggregated(Cause::Selector) => {
                "The query returns as many series as this selects.".to_owned()
            }
            FindingKind::Unaggregated(Cause::Groups(labels)) => {
                format!("The query returns one series for each value of {}.", labels.join(", "))
            }
            FindingKind::Unaggregated(Cause::Branches) => match self.severity {
                Severity::Error => {
                    "Whenever the left side of this `or` has data, both sides are kept: two series.".to_owned()
                }
                Severity::Warning => "If both sides of this `or` have data, both are kept: two series.".to_owned(),
                Severity::Info => {
                    "If both sides of this `or` have data with different labels, both are kept: two series.".to_owned()
                }
            },
            FindingKind::RegexUnderEquals(value) => {
                format!("\"{}\" looks like a regular expression, but is compared literally.", shorten(value))
            }
        }
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match &self.kind {
            FindingKind::NotAVector(_) => {
                "Wrap a number into `vector(…)`, and a range into a function such as `max_over_time`."
            }
            FindingKind::NoZeroBranch => "Add a branch for clusters that are not affected: `… or 0 * group(metric)`.",
            FindingKind::NoOneBranch => "Add a branch for clusters that are affected: `group(metric{…}) or …`.",
            FindingKind::NeverAnswers => "Change the query to return 1 if the cluster is affected and 0 if it is not.",
            FindingKind::ConstantOutside01(_) => "If this is meant as \"unknown\", keep it; otherwise return 0 or 1.",
            FindingKind::Unaggregated(Cause::Branches) => {
                "Match the branches with `or on ()`, or take one with `topk(1, …)`."
            }
            FindingKind::Unaggregated(_) => "Aggregate with `group(…)` or `max(…)`, or take one with `topk(1, …)`.",
            FindingKind::RegexUnderEquals(_) => "Write `=~` (or `!~`) if it is one.",
        }
    }

    /// The finding in `source`, which is the text of the query.
    pub fn diagnostic(&self, source: &str) -> Diagnostic {
        diagnostic(source, self.code(), self.severity, self.span, &self.message()).with_help(self.help())
    }
}

/// Everything that can be seen about the shape of a query, in the order of the text.
pub fn findings(query: &Query) -> Vec<Finding> {
    let mut found = Vec::new();
    let expr = query.expr();
    for selector in query.selectors() {
        found.extend(selector.matchers.iter().filter(|matcher| hides_regex(matcher)).map(|matcher| Finding {
            kind: FindingKind::RegexUnderEquals(matcher.value.text.clone()),
            severity: Severity::Warning,
            span: matcher.span(),
        }));
    }
    if query.result() == ValueType::Vector {
        found.extend(answer(expr));
        found.extend(several(expr));
    } else {
        let kind = FindingKind::NotAVector(query.result());
        found.push(Finding { kind, severity: Severity::Error, span: expr.span });
    }
    found.sort_by_key(|finding| (finding.span, finding.code()));
    found
}

/// What the values of the query cannot be.
fn answer(expr: &Expr) -> Vec<Finding> {
    let values = Values::of(expr);
    let whole = |kind, severity| vec![Finding { kind, severity, span: expr.span }];
    match (values.may_be(0.0), values.may_be(1.0)) {
        (true, true) => branches(expr).into_iter().filter_map(outside).collect(),
        (false, true) => whole(FindingKind::NoZeroBranch, Severity::Warning),
        (true, false) => whole(FindingKind::NoOneBranch, Severity::Warning),
        (false, false) => whole(FindingKind::NeverAnswers, Severity::Error),
    }
}

/// A branch that gives one known value which is no answer.
fn outside(branch: &Expr) -> Option<Finding> {
    let values = Values::of(branch);
    let value = values.only()?;
    let is_answer = values.may_be(0.0) || values.may_be(1.0);
    let kind = FindingKind::ConstantOutside01(value);
    (!is_answer).then_some(Finding { kind, severity: Severity::Info, span: branch.span })
}

/// The branches of an `or`, below parentheses and whatever keeps the values as they are.
fn branches(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Paren(inner) => branches(inner),
        ExprKind::Binary(binary) if binary.op == BinaryOp::Or => {
            let mut both = branches(&binary.left);
            both.extend(branches(&binary.right));
            both
        }
        ExprKind::Aggregate(aggregate) if values::keeps_values(aggregate.op) => branches(&aggregate.expr),
        _ => vec![expr],
    }
}

/// Whether the query may give several series.
fn several(expr: &Expr) -> Option<Finding> {
    let (severity, cause, span) = match series::Series::of(expr).several? {
        Several::Selector(span) => (Severity::Warning, Cause::Selector, span),
        Several::Groups(span, labels) => (Severity::Info, Cause::Groups(labels), span),
        Several::Branches(span, severity) => (severity, Cause::Branches, span),
    };
    Some(Finding { kind: FindingKind::Unaggregated(cause), severity, span })
}

/// Whether a literal comparison has a value that was meant as a pattern.
fn hides_regex(matcher: &Matcher) -> bool {
    if !matches!(matcher.op, MatchOp::Equal | MatchOp::NotEqual) {
        return false;
    }
    let value = matcher.value.text.as_str();
    let class = value.split_once('[').is_some_and(|(_, rest)| rest.contains(']'));
    let marks = ["|", ".*", ".+", "(?", "\\.", "\\d", ")?", ")*", ")+"];
    class
        || marks.iter().any(|mark| value.contains(mark))
        || (value.len() > 1 && (value.starts_with('^') || value.ends_with('$')))
}

#[cfg(test)]
mod tests;
