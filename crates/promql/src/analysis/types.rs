//! The types of expressions, and the rules that are not grammar.
//!
//! `check` goes through a tree and reports everything that is wrong, not only the first.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::{Code, Error};
use crate::matching::{Measure, Pattern, PatternError, Patterns};
use crate::syntax::ast::{Aggregate, AggregateOp, Binary, Call, Expr, ExprKind, MatchOp, Matcher, Selector};
use crate::syntax::limits::Limits;
use crate::syntax::parser::METRIC_NAME;
use crate::syntax::token::shorten;

/// What an expression gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValueType {
    /// A number.
    Scalar,
    /// A text.
    String,
    /// Series with one sample each.
    Vector,
    /// Series with the samples of a range each.
    Matrix,
}

impl ValueType {
    /// The type in the words of the Prometheus manual.
    pub fn as_str(self) -> &'static str {
        match self {
            ValueType::Scalar => "scalar",
            ValueType::String => "string",
            ValueType::Vector => "instant vector",
            ValueType::Matrix => "range vector",
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an expression gives. Says nothing about whether it is in order.
pub fn type_of(expr: &Expr) -> ValueType {
    match &expr.kind {
        ExprKind::Number(_) => ValueType::Scalar,
        ExprKind::String(_) => ValueType::String,
        ExprKind::Selector(_) | ExprKind::Aggregate(_) => ValueType::Vector,
        ExprKind::Range(_) | ExprKind::Subquery(_) => ValueType::Matrix,
        ExprKind::Paren(inner) | ExprKind::Unary(_, inner) => type_of(inner),
        ExprKind::Binary(binary) => match (type_of(&binary.left), type_of(&binary.right)) {
            (ValueType::Scalar, ValueType::Scalar) => ValueType::Scalar,
            _ => ValueType::Vector,
        },
        ExprKind::Call(call) => call.function.returns,
    }
}

/// Checks a tree. Gives the type of the whole and the patterns it has, or everything that is wrong.
pub(crate) fn check(expr: &Expr, limits: &Limits) -> Result<(ValueType, Patterns), Vec<Error>> {
    let mut checker = Checker {
        errors: Vec::new(),
        patterns: limits.patterns,
        pattern_bytes: limits.pattern_bytes,
        positions: limits.pattern_positions,
        most_positions: limits.pattern_positions,
        known: BTreeMap::new(),
    };
    let whole = checker.expr(expr);
    if !checker.errors.is_empty() {
        return Err(checker.errors);
    }
    let texts = checker.known.into_iter().map(|(text, (measure, _))| (text, measure)).collect();
    Ok((whole, Patterns::new(texts, limits.pattern_bytes)))
}

/// More errors than this in one query help nobody.
const MOST_ERRORS: usize = 20;

struct Checker {
    errors: Vec<Error>,
    /// How many more patterns are compiled.
    patterns: usize,
    pattern_bytes: usize,
    /// How many positions they may still have, and had at the beginning.
    positions: usize,
    most_positions: usize,
    /// The patterns that are ones: how large they are, and whether they match the empty text.
    known: BTreeMap<String, (Measure, bool)>,
}

impl Checker {
    fn report(&mut self, error: Error) {
        if self.errors.len() < MOST_ERRORS {
            self.errors.push(error);
        }
    }

    fn expr(&mut self, expr: &Expr) -> ValueType {
        match &expr.kind {
            ExprKind::Number(_) => ValueType::Scalar,
            ExprKind::String(_) => ValueType::String,
            ExprKind::Selector(selector) => {
                self.selector(selector, true);
                ValueType::Vector
            }
            ExprKind::Range(range) => {
                self.selector(&range.selector, true);
                ValueType::Matrix
            }
            ExprKind::Subquery(subquery) => {
                self.want(&subquery.expr, &[ValueType::Vector], "A subquery is made of");
                ValueType::Matrix
            }
            ExprKind::Paren(inner) => self.expr(inner),
            ExprKind::Unary(_, inner) => {
                self.want(inner, &[ValueType::Scalar, ValueType::Vector], "A sign is applied to")
            }
            ExprKind::Binary(binary) => self.binary(binary, expr),
            ExprKind::Aggregate(aggregate) => {
                self.aggregate(aggregate);
                ValueType::Vector
            }
            ExprKind::Call(call) => {
                self.call(call);
                call.function.returns
            }
        }
    }

    /// Checks an expression, and that its type is one of those in `wanted`.
    fn want(&mut self, expr: &Expr, wanted: &[ValueType], subject: &str) -> ValueType {
        let found = self.expr(expr);
        if !wanted.contains(&found) {
            let names: Vec<&str> = wanted.iter().map(|wanted| wanted.as_str()).collect();
            let message = format!("{subject} {}, not {}.", article(&names.join(" or ")), article(found.as_str()));
            let help = match (wanted, found) {
                ([ValueType::Matrix], ValueType::Vector) => "Give it a range: `metric[5m]`.",
                ([ValueType::Vector], ValueType::Matrix) => {
                    "Leave the range out, or use a function such as `max_over_time`."
                }
                ([ValueType::Vector], ValueType::Scalar) => "Turn the number into a vector with `vector(…)`.",
                ([ValueType::Scalar], ValueType::Vector) => "Turn the vector into a number with `scalar(…)`.",
                ([ValueType::String], _) => "Quote the text.",
                _ => "Change the expression at this place.",
            };
            self.report(Error::new(Code::Type, expr.span, message, help));
        }
        found
    }

    fn aggregate(&mut self, aggregate: &Aggregate) {
        let name = aggregate.op.as_str();
        if let Some(parameter) = &aggregate.parameter {
            let wanted = if aggregate.op == AggregateOp::CountValues { ValueType::String } else { ValueType::Scalar };
            self.want(parameter, &[wanted], &format!("The parameter of `{name}` is"));
        }
        self.want(&aggregate.expr, &[ValueType::Vector], &format!("`{name}` aggregates"));
    }

    fn call(&mut self, call: &Call) {
        let name = call.function.name;
        if let ("label_replace", Some(pattern)) = (name, call.arguments.get(4)) {
            self.replacement(pattern);
        }
        for (index, argument) in call.arguments.iter().enumerate() {
            let Some(wanted) = call.function.arguments.get(index).or(call.function.arguments.last()) else { continue };
            // The second argument of `info` says which labels to add; it selects no series of its own.
            if name == "info" && index == 1 {
                self.info_labels(argument);
                continue;
            }
            let place = ["first", "second", "third", "fourth", "fifth"].get(index).unwrap_or(&"further");
            self.want(argument, &[*wanted], &format!("The {place} argument of `{name}` is"));
        }
    }

    /// The pattern of `label_replace` may be wrong: then the query fails when it is evaluated, as in Prometheus.
    fn replacement(&mut self, pattern: &Expr) {
        let mut pattern = pattern;
        while let ExprKind::Paren(inner) = &pattern.kind {
            pattern = inner;
        }
        if let ExprKind::String(text) = &pattern.kind
            && let Some(left) = self.patterns.checked_sub(1)
        {
            self.patterns = left;
            let _ = self.matches_nothing(text);
        }
    }

    /// Whether a pattern, which is compiled to find out whether it is one, matches the empty text.
    fn matches_nothing(&mut self, text: &str) -> Result<bool, PatternError> {
        if let Some((_, empty)) = self.known.get(text) {
            return Ok(*empty);
        }
        let outcome = Pattern::within(text, self.pattern_bytes, self.positions);
        let (pattern, measure) = outcome.map_err(|error| match error {
            PatternError::TooLong(_) => PatternError::TooLong(self.most_positions),
            error => error,
        })?;
        self.positions = self.positions.saturating_sub(measure.positions);
        let empty = pattern.matches("");
        self.known.insert(text.to_owned(), (measure, empty));
        Ok(empty)
    }

    fn info_labels(&mut self, argument: &Expr) {
        match &argument.kind {
            ExprKind::Selector(selector) if selector.metric.as_ref().is_none_or(|metric| metric.in_braces) => {
                self.selector(selector, false);
            }
            _ => {
                let message = "The second argument of `info` is a choice of labels in braces.";
                let help = "Write `info(metric, {label=~\".+\"})`.";
                self.report(Error::new(Code::Type, argument.span, message, help));
            }
        }
    }

    fn binary(&mut self, binary: &Binary, expr: &Expr) -> ValueType {
        let name = binary.op.as_str();
        let sides = [ValueType::Scalar, ValueType::Vector];
        let subject = format!("`{name}` needs");
        let left = self.want(&binary.left, &sides, &subject);
        let right = self.want(&binary.right, &sides, &subject);
        let scalars = left == ValueType::Scalar && right == ValueType::Scalar;
        let vectors = left == ValueType::Vector && right == ValueType::Vector;
        let some_scalar = left == ValueType::Scalar || right == ValueType::Scalar;
        if binary.returns_bool && !binary.op.is_comparison() {
            let message = format!("`bool` is not allowed after `{name}`.");
            self.report(Error::new(Code::Matching, binary.op_span, message, "Only comparisons take `bool`."));
        }
        if binary.op.is_comparison() && !binary.returns_bool && scalars {
            let help = format!("Write `{name} bool`: the answer is then 0 or 1.");
            let message = format!("`{name}` between two scalars needs `bool`.");
            self.report(Error::new(Code::Matching, binary.op_span, message, help));
        }
        if binary.op.is_set() && some_scalar {
            let message = format!("`{name}` works on instant vectors, not scalars.");
            let help = "Turn the number into a vector with `vector(…)`.";
            self.report(Error::new(Code::Type, expr.span, message, help));
        }
        if let Some(matching) = &binary.matching {
            self.matching(binary, matching, vectors);
        }
        if !binary.fill.is_empty() && (!vectors || binary.op.is_set()) {
            let message = "`fill` works between instant vectors only, and not for set operators.";
            self.report(Error::new(Code::Matching, binary.op_span, message, "Remove the `fill` modifier."));
        }
        if scalars { ValueType::Scalar } else { ValueType::Vector }
    }

    fn matching(&mut self, binary: &Binary, matching: &crate::syntax::ast::Matching, vectors: bool) {
        let span = binary.op_span;
        if !vectors && !matching.labels.labels.is_empty() {
            let message = "Labels are matched between instant vectors only.";
            self.report(Error::new(Code::Matching, span, message, "Leave `on`, `ignoring` and the grouping out."));
            return;
        }
        let Some((_, include)) = &matching.many else { return };
        if binary.op.is_set() {
            let message = format!("`{}` takes no `group_left` or `group_right`.", binary.op.as_str());
            let help = "Set operators match many to many; leave the grouping out.";
            self.report(Error::new(Code::Matching, span, message, help));
        }
        for label in include {
            if matching.labels.only && matching.labels.labels.iter().any(|on| on.text == label.text) {
                let message = format!("The label `{}` is in `on` and in the grouping.", shorten(&label.text));
                let help = "Leave it out of the grouping: a label in `on (…)` is the same on both sides.";
                self.report(Error::new(Code::Matching, label.span, message, help));
            }
        }
    }

    fn selector(&mut self, selector: &Selector, must_select: bool) {
        let mut selects = selector.metric.is_some();
        for matcher in &selector.matchers {
            if let Some(metric) = &selector.metric
                && !metric.in_braces
                && matcher.label.text == METRIC_NAME
            {
                let message =
                    format!("The selector has a second metric name besides `{}`.", shorten(&metric.name.text));
                let help = "Name it once, before the braces or within.";
                self.report(Error::new(Code::Selector, matcher.span(), message, help));
            }
            selects |= self.matches_empty(matcher) == Some(false);
        }
        if must_select && !selects && self.errors.is_empty() {
            let message = "The selector names no metric and excludes nothing: it selects all series.";
            let help = "Name a metric, or match a label with something that is not empty.";
            self.report(Error::new(Code::Selector, selector.span, message, help));
        }
    }

    /// Whether a series without the label passes. Nothing is said if the pattern is wrong, which is reported.
    fn matches_empty(&mut self, matcher: &Matcher) -> Option<bool> {
        match matcher.op {
            MatchOp::Equal => Some(matcher.value.text.is_empty()),
            MatchOp::NotEqual => Some(!matcher.value.text.is_empty()),
            MatchOp::Matches | MatchOp::NotMatches => {
                let Some(left) = self.patterns.checked_sub(1) else {
                    let message = "The query has too many regular expressions.";
                    self.report(Error::new(Code::Regex, matcher.value.span, message, "Use fewer of them."));
                    return None;
                };
                self.patterns = left;
                match self.matches_nothing(&matcher.value.text) {
                    Ok(empty) => Some(empty == (matcher.op == MatchOp::Matches)),
                    Err(error) => {
                        self.report(Error::new(Code::Regex, matcher.value.span, error.to_string(), error.help()));
                        None
                    }
                }
            }
        }
    }
}

/// "a scalar", "an instant vector".
fn article(noun: &str) -> String {
    let vowel = noun.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {noun}", if vowel { "an" } else { "a" })
}

#[cfg(test)]
mod tests;
