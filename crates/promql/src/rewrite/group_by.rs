//! A query about one cluster, put to a store of many: one answer with the series of every cluster, told apart by a label.
//!
//! What is asked for is what each cluster's own Prometheus would answer. There no series has the cluster's label, so a
//! query never tells two of them apart by it; in the store every series has it. The rewriting keeps the label on every
//! vector, from the selectors up to the result, so that the series of one cluster never meet those of another:
//!
//! | part | becomes |
//! |---|---|
//! | a selector | without its placeholder `_id=""`, and only of series that have the label; also where the placeholder is missing |
//! | an aggregation | grouped by the label as well; `without` never leaves it out |
//! | an operator between two vectors | matched by the label as well; `ignoring` never ignores it, `group_left` never copies it |
//! | functions of series, numbers, times, subqueries | the same |
//!
//! So for every cluster: the result restricted to the cluster, without the label, is the result over the cluster's series
//! alone. Where that cannot be had, the query is not rewritten, and [`NotGroupable`] says why: what gives series where
//! there are none (`absent`, `vector`, `month()`), what makes a number of a vector (`scalar`), what reads or writes the
//! label itself (`label_replace`, `label_join`, `count_values`, a matcher on it other than the placeholder), and what is
//! experimental and looks beyond one series' labels (`info`, `limitk`, `limit_ratio`, `fill`).
//!
//! One thing the store cannot keep apart: an evaluation that fails for one cluster (two series where one may be) fails
//! for all of them. [`Grouped::narrowed`] asks for some clusters only, so that the others can be answered.

use std::collections::BTreeMap;

use crate::analysis::types::{ValueType, type_of};
use crate::error::Errors;
use crate::eval::Sample;
use crate::query::Query;
use crate::rewrite::placeholder::CLUSTER_ID_LABEL;
use crate::series::Labels;
use crate::syntax::ast::{
    Aggregate, AggregateOp, Binary, Call, Expr, ExprKind, Grouping, MatchOp, Matcher, Name, Selector, Span,
};
use crate::syntax::limits::Limits;
use crate::syntax::parser::METRIC_NAME;
use crate::syntax::walk::selectors_mut;

/// A query for all clusters of a store at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouped {
    query: Query,
    label: String,
}

/// Why a query cannot be asked for all clusters at once.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotGroupable {
    /// No series ever has this label.
    #[error("the label `{0}` cannot identify clusters")]
    Label(String),
    /// The query gives no series.
    #[error("the query returns a {0}, which has no cluster label")]
    NotAVector(ValueType),
    /// A function that gives something where there are no series.
    #[error("`{function}` returns a series for clusters without data, and that series has no cluster label")]
    FromNothing {
        /// Its name.
        function: &'static str,
        /// Where it stands.
        span: Span,
    },
    /// A function that makes one number of a vector.
    #[error("`{function}` merges the series of all clusters into one number")]
    OneNumber {
        /// Its name.
        function: &'static str,
        /// Where it stands.
        span: Span,
    },
    /// Something that reads or writes the label.
    #[error("{what} reads or sets the label `{label}`, which identifies the clusters")]
    UsesLabel {
        /// The function, or a matcher.
        what: String,
        /// The label.
        label: String,
        /// Where it stands.
        span: Span,
    },
    /// Something experimental that depends on more than the series of one cluster.
    #[error("`{what}` depends on more than the series of one cluster")]
    BeyondOneCluster {
        /// What it is.
        what: &'static str,
        /// Where it stands.
        span: Span,
    },
    /// The rewritten text breaks a limit.
    #[error("the query for all clusters exceeds a limit: {0}")]
    Limits(Errors),
}

impl Query {
    /// This query for all clusters of a store that tells them apart by `label`.
    ///
    /// ```
    /// use clearway_promql::{Limits, Query};
    ///
    /// let limits = Limits::default();
    /// let query = Query::parse(r#"group(up{_id="",job="api"}) or 0 * group(up{_id=""})"#, &limits)?;
    /// let grouped = query.grouped_by("_id", &limits).map_err(|why| why.to_string()).unwrap();
    /// assert_eq!(
    ///     grouped.query().to_string(),
    ///     r#"group by (_id) (up{_id!="",job="api"}) or 0 * group by (_id) (up{_id!=""})"#
    /// );
    /// # Ok::<(), clearway_promql::Errors>(())
    /// ```
    pub fn grouped_by(&self, label: &str, limits: &Limits) -> Result<Grouped, NotGroupable> {
        if label.is_empty() || label == METRIC_NAME {
            return Err(NotGroupable::Label(label.to_owned()));
        }
        if self.result() != ValueType::Vector {
            return Err(NotGroupable::NotAVector(self.result()));
        }
        let mut expr = self.expr().clone();
        Rewriting { label }.expr(&mut expr)?;
        let query = Query::parse(&expr.to_string(), limits).map_err(NotGroupable::Limits)?;
        Ok(Grouped { query, label: label.to_owned() })
    }
}

impl Grouped {
    /// The query, in its canonical text.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// The same query for these clusters only.
    pub fn narrowed(&self, clusters: &[&str], limits: &Limits) -> Result<Query, Errors> {
        let escaped: Vec<String> = clusters.iter().map(|id| regex::escape(id)).collect();
        let pattern = escaped.join("|");
        let mut expr = self.query.expr().clone();
        selectors_mut(&mut expr, &mut |selector| {
            for matcher in selector.matchers.iter_mut().filter(|matcher| matcher.label.text == self.label) {
                matcher.op = MatchOp::Matches;
                matcher.value.text.clone_from(&pattern);
            }
        });
        Query::parse(&expr.to_string(), limits)
    }

    /// The series of an answer by cluster, each without the label. A series without it is of no cluster, and dropped.
    pub fn split(&self, samples: Vec<Sample>) -> BTreeMap<String, Vec<Sample>> {
        let mut clusters: BTreeMap<String, Vec<Sample>> = BTreeMap::new();
        for Sample { labels, value } in samples {
            let cluster = labels.get(&self.label);
            if cluster.is_empty() {
                continue;
            }
            let others = labels.iter().filter(|(name, _)| *name != self.label);
            let bare = Labels::new(others.map(|(name, value)| (name.to_owned(), value.to_owned())));
            clusters.entry(cluster.to_owned()).or_default().push(Sample { labels: bare, value });
        }
        clusters
    }
}

struct Rewriting<'l> {
    label: &'l str,
}

impl Rewriting<'_> {
    /// Recursion is safe: no tree is deeper than the parser allows.
    fn expr(&self, expr: &mut Expr) -> Result<(), NotGroupable> {
        let span = expr.span;
        match &mut expr.kind {
            ExprKind::Number(_) | ExprKind::String(_) => Ok(()),
            ExprKind::Selector(selector) => self.selector(selector),
            ExprKind::Range(range) => self.selector(&mut range.selector),
            ExprKind::Subquery(subquery) => self.expr(&mut subquery.expr),
            ExprKind::Paren(inner) | ExprKind::Unary(_, inner) => self.expr(inner),
            ExprKind::Binary(binary) => self.binary(binary, span),
            ExprKind::Aggregate(aggregate) => self.aggregate(aggregate, span),
            ExprKind::Call(call) => self.call(call, span),
        }
    }

    /// Whether a label is the cluster's: the one of the store, or the one that queries have a placeholder for.
    fn is_cluster(&self, label: &str) -> bool {
        label == self.label || label == CLUSTER_ID_LABEL
    }

    fn selector(&self, selector: &mut Selector) -> Result<(), NotGroupable> {
        for matcher in selector.matchers.iter().filter(|matcher| self.is_cluster(&matcher.label.text)) {
            if matcher.op != MatchOp::Equal || !matcher.value.text.is_empty() {
                let label = matcher.label.text.clone();
                return Err(NotGroupable::UsesLabel { what: "a matcher".to_owned(), label, span: matcher.span() });
            }
        }
        selector.matchers.retain(|matcher| !self.is_cluster(&matcher.label.text));
        let named = |text: &str| Name { text: text.to_owned(), span: selector.span };
        let has_label = Matcher { label: named(self.label), op: MatchOp::NotEqual, value: named("") };
        selector.matchers.insert(0, has_label);
        Ok(())
    }

    /// Makes a choice of labels one that has the cluster's in it.
    fn choose(&self, grouping: &mut Grouping, span: Span) {
        grouping.labels.retain(|name| !self.is_cluster(&name.text));
        if grouping.only {
            grouping.labels.insert(0, Name { text: self.label.to_owned(), span });
        }
    }

    fn aggregate(&self, aggregate: &mut Aggregate, span: Span) -> Result<(), NotGroupable> {
        if aggregate.op.is_experimental() {
            return Err(NotGroupable::BeyondOneCluster { what: aggregate.op.as_str(), span });
        }
        if let Some(parameter) = &mut aggregate.parameter {
            let made = match &parameter.kind {
                ExprKind::String(label) if aggregate.op == AggregateOp::CountValues => Some(label),
                _ => None,
            };
            if let Some(label) = made.filter(|label| self.is_cluster(label)) {
                let (what, label) = (format!("`{}`", aggregate.op.as_str()), label.clone());
                return Err(NotGroupable::UsesLabel { what, label, span });
            }
            self.expr(parameter)?;
        }
        let grouping = aggregate.grouping.get_or_insert(Grouping { only: true, labels: Vec::new() });
        self.choose(grouping, span);
        self.expr(&mut aggregate.expr)
    }

    fn binary(&self, binary: &mut Binary, span: Span) -> Result<(), NotGroupable> {
        if !binary.fill.is_empty() {
            return Err(NotGroupable::BeyondOneCluster { what: "fill", span });
        }
        if let Some(matching) = &mut binary.matching {
            self.choose(&mut matching.labels, span);
            if let Some((_, copied)) = &mut matching.many {
                copied.retain(|name| !self.is_cluster(&name.text));
            }
        }
        self.expr(&mut binary.left)?;
        self.expr(&mut binary.right)
    }

    fn call(&self, call: &mut Call, span: Span) -> Result<(), NotGroupable> {
        let function = call.function.name;
        let of_series =
            call.arguments.iter().any(|argument| matches!(type_of(argument), ValueType::Vector | ValueType::Matrix));
        match (call.function.returns, of_series) {
            (ValueType::Scalar, true) => return Err(NotGroupable::OneNumber { function, span }),
            (ValueType::Vector, false) => return Err(NotGroupable::FromNothing { function, span }),
            _ => {}
        }
        match function {
            "absent" | "absent_over_time" => return Err(NotGroupable::FromNothing { function, span }),
            "info" => return Err(NotGroupable::BeyondOneCluster { what: function, span }),
            _ => {}
        }
        // A text that merely equals the label, as a replacement may, is refused with the rest: nobody writes that.
        let uses = call.arguments.iter().find_map(|argument| match &argument.kind {
            ExprKind::String(text) if self.is_cluster(text) => Some(text.clone()),
            _ => None,
        });
        if let Some(label) = uses {
            return Err(NotGroupable::UsesLabel { what: format!("`{function}`"), label, span });
        }
        call.arguments.iter_mut().try_for_each(|argument| self.expr(argument))
    }
}

#[cfg(test)]
mod tests;
