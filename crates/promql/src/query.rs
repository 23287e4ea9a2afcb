//! A query: its text, its tree and its type, together.

use crate::analysis::types::{self, ValueType};
use crate::error::Errors;
use crate::matching::Patterns;
use crate::syntax::ast::{Expr, ExprKind, Selector};
use crate::syntax::duration::Millis;
use crate::syntax::limits::Limits;
use crate::syntax::memory;
use crate::syntax::parser::{self, Context};
use crate::syntax::walk::{selector_of, visit};

/// A text that is well-formed, well-typed PromQL.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    text: String,
    expr: Expr,
    result: ValueType,
    patterns: Patterns,
    has_subquery: bool,
    /// The range it was read for, if that makes a difference.
    context: Option<Context>,
}

impl Query {
    /// Reads a text: everything that is wrong with it, or the query it is.
    ///
    /// ```
    /// use clearway_promql::{Limits, Query, ValueType};
    ///
    /// let query = Query::parse("group(up{job='api'}) or 0 * group(up)", &Limits::default())?;
    /// assert_eq!(query.result(), ValueType::Vector);
    /// assert_eq!(query.to_string(), r#"group(up{job="api"}) or 0 * group(up)"#);
    /// # Ok::<(), clearway_promql::Errors>(())
    /// ```
    pub fn parse(text: &str, limits: &Limits) -> Result<Query, Errors> {
        Query::parse_for(text, limits, Context::default())
    }

    /// The same for an evaluation over a range: durations that use `step()` or `range()` are computed for it. Such
    /// durations are read only if [`Limits::experimental`] says so; any other query is the same for every range.
    pub fn parse_for_range(
        text: &str,
        (start, end): (Millis, Millis),
        step: Millis,
        limits: &Limits,
    ) -> Result<Query, Errors> {
        Query::parse_for(text, limits, Context { step, range: Millis(end.0.saturating_sub(start.0)) })
    }

    fn parse_for(text: &str, limits: &Limits, context: Context) -> Result<Query, Errors> {
        let (expr, timed) = parser::parse_for(text, limits, context)?;
        let (result, patterns) = types::check(&expr, limits).map_err(Errors)?;
        let mut has_subquery = false;
        visit(&expr, &mut |expr, _| has_subquery |= matches!(expr.kind, ExprKind::Subquery(_)));
        Ok(Query { text: text.to_owned(), expr, result, patterns, has_subquery, context: timed.then_some(context) })
    }

    /// The text it was read from; all spans are places in it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The tree.
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    /// Its regular expressions, compiled.
    pub(crate) fn patterns(&self) -> &Patterns {
        &self.patterns
    }

    /// Whether some part of it is evaluated over a range of its own.
    pub(crate) fn has_subquery(&self) -> bool {
        self.has_subquery
    }

    /// Whether it may be evaluated over this range, or was read for another one.
    pub(crate) fn fits(&self, start: i64, end: i64, step: i64) -> bool {
        let range = Context { step: Millis(step), range: Millis(end.saturating_sub(start)) };
        self.context.is_none_or(|context| context == range)
    }

    /// Bytes of memory that it takes, without its compiled patterns: those of all queries are bounded together.
    pub fn memory(&self) -> usize {
        memory::memory(&self.expr)
            .saturating_add(self.text.capacity())
            .saturating_add(self.patterns.text_memory())
            .saturating_add(size_of::<Query>())
    }

    /// What the query gives.
    pub fn result(&self) -> ValueType {
        self.result
    }

    /// All selectors, in the order of the text.
    pub fn selectors(&self) -> Vec<&Selector> {
        let mut selectors = Vec::new();
        visit(&self.expr, &mut |expr, _| selectors.extend(selector_of(expr)));
        selectors
    }

    /// The names of the metrics it asks for, in order and each once.
    pub fn metrics(&self) -> Vec<&str> {
        let selectors = self.selectors();
        let mut names: Vec<&str> =
            selectors.iter().filter_map(|selector| Some(selector.metric.as_ref()?.name.text.as_str())).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl std::fmt::Display for Query {
    /// The canonical text.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.expr.fmt(f)
    }
}
