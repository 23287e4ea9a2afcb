//! The fence: which queries of strangers are let through to a cluster's metrics.
//!
//! An update graph is somebody else's data, and its queries run in the cluster. The fence looks at a query before that:
//! how long, deep and wide it is, how far back it reaches, how often it evaluates itself, and which metrics it asks
//! for. What is refused is named with the limit, the value and the place; a refused query counts as one that could
//! not be evaluated. The defaults let every query of the real update graphs through.

use std::fmt;

use clearway_core::{Diagnostic, Severity};

use crate::error::{Code, diagnostic};
use crate::matching::{Pattern, PatternError};
use crate::query::Query;
use crate::syntax::ast::{Expr, ExprKind, MatchOp, Selector, Span};
use crate::syntax::duration::Millis;
use crate::syntax::walk::{children, selector_of};

/// What a query may be and ask.
#[derive(Debug, Clone)]
pub struct Fence {
    /// Bytes of the text. The longest real query has 975.
    pub max_length: usize,
    /// Levels of the tree. The deepest real query has 11.
    pub max_depth: usize,
    /// Nodes of the tree. The largest real query has 61.
    pub max_nodes: usize,
    /// Selectors: each is a search in the store.
    pub max_selectors: usize,
    /// How far back a range reaches. Real queries reach back one hour.
    pub max_range: Millis,
    /// How far back `offset` reaches, in either direction.
    pub max_offset: Millis,
    /// How far back a subquery reaches. Real queries have none.
    pub max_subquery: Millis,
    /// How often an expression within subqueries is evaluated, those around it multiplied.
    pub max_steps: u64,
    /// The step of a subquery that names none: what the store evaluates rules with.
    pub default_step: Millis,
    /// Bytes of one compiled regular expression.
    pub max_regex_size: usize,
    /// Regular expressions.
    pub max_regexes: usize,
    /// Whether every selector must name its metric: one that does not may read the whole store.
    pub require_metric: bool,
    /// Whether functions and aggregations behind a feature flag of Prometheus may be used.
    pub allow_experimental: bool,
    /// If not empty: only metrics with such names may be asked for.
    pub allowed: Names,
    /// Metrics with such names may not be asked for, even if allowed.
    pub denied: Names,
}

impl Default for Fence {
    fn default() -> Self {
        const DAY: i64 = 24 * 60 * 60 * 1_000;
        Fence {
            max_length: 16 << 10,
            max_depth: 40,
            max_nodes: 1_000,
            max_selectors: 80,
            max_range: Millis(DAY),
            max_offset: Millis(7 * DAY),
            max_subquery: Millis(DAY),
            max_steps: 1_440,
            default_step: Millis(60_000),
            max_regex_size: 128 << 10,
            max_regexes: 64,
            require_metric: true,
            allow_experimental: false,
            allowed: Names::default(),
            denied: Names::default(),
        }
    }
}

/// Patterns for names of metrics; each matches whole names.
#[derive(Debug, Clone, Default)]
pub struct Names(Vec<(String, Pattern)>);

impl Names {
    /// Compiles the patterns, which are regular expressions as in matchers.
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Result<Names, PatternError> {
        const SIZE: usize = 256 << 10;
        let compile = |pattern: &str| Ok((pattern.to_owned(), Pattern::new(pattern, SIZE)?));
        patterns.into_iter().map(compile).collect::<Result<_, _>>().map(Names)
    }

    /// The pattern that matches the name, if one does.
    fn matching(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(_, pattern)| pattern.matches(name)).map(|(text, _)| text.as_str())
    }
}

/// A limit of the fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// [`Fence::max_length`]
    Length,
    /// [`Fence::max_depth`]
    Depth,
    /// [`Fence::max_nodes`]
    Nodes,
    /// [`Fence::max_selectors`]
    Selectors,
    /// [`Fence::max_range`]
    Range,
    /// [`Fence::max_offset`]
    Offset,
    /// [`Fence::max_subquery`]
    Subquery,
    /// [`Fence::max_steps`]
    Steps,
    /// [`Fence::max_regex_size`]
    RegexSize,
    /// [`Fence::max_regexes`]
    Regexes,
    /// [`Fence::require_metric`]
    MetricName,
    /// [`Fence::allow_experimental`]
    Experimental,
    /// [`Fence::allowed`]
    Allowed,
    /// [`Fence::denied`]
    Denied,
}

impl Limit {
    /// A stable word for metrics and settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Limit::Length => "length",
            Limit::Depth => "depth",
            Limit::Nodes => "nodes",
            Limit::Selectors => "selectors",
            Limit::Range => "range",
            Limit::Offset => "offset",
            Limit::Subquery => "subquery",
            Limit::Steps => "steps",
            Limit::RegexSize => "regex-size",
            Limit::Regexes => "regexes",
            Limit::MetricName => "metric-name",
            Limit::Experimental => "experimental",
            Limit::Allowed => "allowed-metrics",
            Limit::Denied => "denied-metrics",
        }
    }
}

/// Why a query is not let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Which limit it breaks.
    pub limit: Limit,
    /// What the query has.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
    /// Where in the query.
    pub span: Span,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { value, allowed, .. } = self;
        match self.limit {
            Limit::Length => write!(f, "The query has {value} bytes; the limit is {allowed}."),
            Limit::Depth => write!(f, "The query has {value} levels; the limit is {allowed}."),
            Limit::Nodes => write!(f, "The query has {value} nodes; the limit is {allowed}."),
            Limit::Selectors => write!(f, "The query has {value} selectors; the limit is {allowed}."),
            Limit::Range => write!(f, "The range reaches back {value}; the limit is {allowed}."),
            Limit::Offset => write!(f, "The offset is {value}; the limit is {allowed}."),
            Limit::Subquery => write!(f, "The subquery reaches back {value}; the limit is {allowed}."),
            Limit::Steps => write!(f, "The subquery evaluates {value} times; the limit is {allowed}."),
            Limit::RegexSize => write!(f, "The regular expression is larger than {allowed} bytes."),
            Limit::Regexes => {
                write!(f, "The query has {value} regular expressions; the limit is {allowed}.")
            }
            Limit::MetricName => write!(f, "The selector names no metric; a metric name is required."),
            Limit::Experimental => write!(f, "`{value}` is experimental; only stable functions are allowed."),
            Limit::Allowed => write!(f, "The metric `{value}` is not allowed."),
            Limit::Denied => write!(f, "The metric `{value}` is denied by the pattern `{allowed}`."),
        }
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    /// The refusal as a finding in `source`, which is the text of the query.
    pub fn diagnostic(&self, source: &str) -> Diagnostic {
        diagnostic(source, Code::Fence, Severity::Error, self.span, &self.to_string())
            .with_help(format!("Change the query, or the limit `{}` of the fence.", self.limit.as_str()))
    }
}

impl Fence {
    /// Lets the query through, or says which limit it breaks first.
    pub fn check(&self, query: &Query) -> Result<(), Refusal> {
        let whole = query.expr().span;
        exceeds(Limit::Length, query.text().len(), self.max_length, whole)?;
        let mut seen = Seen::default();
        self.walk(query.expr(), 1, 1, &mut seen)?;
        exceeds(Limit::Nodes, seen.nodes, self.max_nodes, whole)?;
        exceeds(Limit::Depth, seen.depth, self.max_depth, whole)?;
        exceeds(Limit::Selectors, seen.selectors, self.max_selectors, whole)?;
        exceeds(Limit::Regexes, seen.regexes, self.max_regexes, whole)
    }

    /// `steps` is how often the expression is evaluated, because of the subqueries around it.
    fn walk(&self, expr: &Expr, level: usize, steps: u64, seen: &mut Seen) -> Result<(), Refusal> {
        seen.nodes = seen.nodes.saturating_add(1);
        seen.depth = seen.depth.max(level);
        let mut steps = steps;
        match &expr.kind {
            ExprKind::Range(range) => exceeds(Limit::Range, range.range, self.max_range, range.range_span)?,
            ExprKind::Subquery(subquery) => {
                exceeds(Limit::Subquery, subquery.range, self.max_subquery, subquery.range_span)?;
                self.offset(subquery.shift.offset, expr.span)?;
                let step = subquery.step.unwrap_or(self.default_step).0.max(1);
                let times = subquery.range.0.checked_div(step).unwrap_or(0).unsigned_abs().saturating_add(1);
                steps = steps.saturating_mul(times);
                exceeds(Limit::Steps, steps, self.max_steps.saturating_add(1), subquery.range_span)?;
            }
            ExprKind::Call(call) if call.function.experimental && !self.allow_experimental => {
                return Err(refusal(Limit::Experimental, call.function.name, "", call.name_span));
            }
            ExprKind::Aggregate(aggregate) if aggregate.op.is_experimental() && !self.allow_experimental => {
                return Err(refusal(Limit::Experimental, aggregate.op.as_str(), "", expr.span));
            }
            _ => {}
        }
        if let Some(selector) = selector_of(expr) {
            self.selector(selector, expr.span, seen)?;
        }
        children(expr).into_iter().try_for_each(|child| self.walk(child, level.saturating_add(1), steps, seen))
    }

    fn offset(&self, offset: Option<Millis>, span: Span) -> Result<(), Refusal> {
        let length = Millis(offset.unwrap_or_default().0.saturating_abs());
        exceeds(Limit::Offset, length, self.max_offset, span)
    }

    fn selector(&self, selector: &Selector, span: Span, seen: &mut Seen) -> Result<(), Refusal> {
        seen.selectors = seen.selectors.saturating_add(1);
        self.offset(selector.shift.offset, span)?;
        match &selector.metric {
            None if self.require_metric => return Err(refusal(Limit::MetricName, "", "", selector.span)),
            None => {}
            Some(metric) => {
                let (name, span) = (metric.name.text.as_str(), metric.name.span);
                if let Some(pattern) = self.denied.matching(name) {
                    return Err(refusal(Limit::Denied, name, pattern, span));
                }
                if !self.allowed.0.is_empty() && self.allowed.matching(name).is_none() {
                    return Err(refusal(Limit::Allowed, name, "", span));
                }
            }
        }
        for matcher in &selector.matchers {
            if !matches!(matcher.op, MatchOp::Matches | MatchOp::NotMatches) {
                continue;
            }
            seen.regexes = seen.regexes.saturating_add(1);
            // Counted before it is compiled: so many of them are not looked at.
            exceeds(Limit::Regexes, seen.regexes, self.max_regexes, matcher.value.span)?;
            if Pattern::new(&matcher.value.text, self.max_regex_size).is_err() {
                return Err(refusal(Limit::RegexSize, "", &self.max_regex_size.to_string(), matcher.value.span));
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Seen {
    nodes: usize,
    depth: usize,
    selectors: usize,
    regexes: usize,
}

fn refusal(limit: Limit, value: &str, allowed: &str, span: Span) -> Refusal {
    Refusal { limit, value: value.to_owned(), allowed: allowed.to_owned(), span }
}

fn exceeds<N: PartialOrd + fmt::Display + Copy>(limit: Limit, value: N, most: N, span: Span) -> Result<(), Refusal> {
    if value > most { Err(refusal(limit, &value.to_string(), &most.to_string(), span)) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
