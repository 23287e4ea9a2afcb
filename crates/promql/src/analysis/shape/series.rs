//! How many series an expression can give, and with which labels.
//!
//! A label of a series is either fixed (by a matcher, by `label_replace`, or because an aggregation dropped it, which
//! is the same as empty), or it varies. There is at most one series where an aggregation says so, or where no label
//! varies: two series never have the same labels.

use std::collections::BTreeMap;

use clearway_core::Severity;

use crate::analysis::types::{ValueType, type_of};
use crate::syntax::ast::{
    Aggregate, AggregateOp, Binary, BinaryOp, Call, Expr, ExprKind, Grouping, ManySide, MatchOp, Matching, Selector,
    Span,
};
use crate::syntax::duration::Millis;
use crate::syntax::walk::children;

/// What is known about the series of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    /// The labels that are known.
    labels: BTreeMap<String, Label>,
    /// Whether there may be labels besides those.
    others: bool,
    /// Why there may be several series; nothing if there is at most one.
    pub(super) several: Option<Several>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Label {
    Fixed(String),
    Varies,
}

/// Why there may be several series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Several {
    /// Nothing reduces this selector.
    Selector(Span),
    /// There is one for each value of these labels.
    Groups(Span, Vec<String>),
    /// Two branches with different labels are both kept, with this certainty.
    Branches(Span, Severity),
}

impl Several {
    /// What is worse, for the report.
    fn rank(&self) -> u8 {
        match self {
            Several::Branches(_, Severity::Error) => 4,
            Several::Selector(_) => 3,
            Several::Branches(_, Severity::Warning) => 2,
            Several::Groups(..) => 1,
            Several::Branches(..) => 0,
        }
    }
}

impl Series {
    fn one() -> Series {
        Series { labels: BTreeMap::new(), others: false, several: None }
    }

    /// The series of an expression.
    pub(super) fn of(expr: &Expr) -> Series {
        match &expr.kind {
            ExprKind::Number(_) | ExprKind::String(_) => Series::one(),
            ExprKind::Selector(selector) => Series::of_selector(selector),
            ExprKind::Range(range) => Series::of_selector(&range.selector),
            ExprKind::Subquery(subquery) => Series::of(&subquery.expr),
            ExprKind::Paren(inner) | ExprKind::Unary(_, inner) => Series::of(inner),
            ExprKind::Binary(binary) => Series::of_binary(binary, expr.span),
            ExprKind::Aggregate(aggregate) => Series::of_aggregate(aggregate, expr.span),
            ExprKind::Call(call) => Series::of_call(call),
        }
    }

    fn get(&self, label: &str) -> Label {
        match self.labels.get(label) {
            Some(known) => known.clone(),
            None if self.others => Label::Varies,
            None => Label::Fixed(String::new()),
        }
    }

    fn of_selector(selector: &Selector) -> Series {
        let equal = selector.matchers.iter().filter(|matcher| matcher.op == MatchOp::Equal);
        let labels =
            equal.map(|matcher| (matcher.label.text.clone(), Label::Fixed(matcher.value.text.clone()))).collect();
        Series { labels, others: true, several: Some(Several::Selector(selector.span)) }
    }

    fn varying(&self) -> Vec<String> {
        self.labels.iter().filter(|(_, label)| **label == Label::Varies).map(|(name, _)| name.clone()).collect()
    }

    /// Only, or all but, the labels of a grouping.
    fn grouped(&self, grouping: &Grouping) -> (BTreeMap<String, Label>, bool) {
        let names = grouping.labels.iter().map(|label| label.text.clone());
        if grouping.only {
            return (names.map(|name| (name.clone(), self.get(&name))).collect(), false);
        }
        let mut labels = self.labels.clone();
        labels.extend(names.map(|name| (name, Label::Fixed(String::new()))));
        (labels, self.others)
    }

    fn of_aggregate(aggregate: &Aggregate, span: Span) -> Series {
        let inner = Series::of(&aggregate.expr);
        let nothing = Grouping { only: true, labels: Vec::new() };
        let grouping = aggregate.grouping.as_ref().unwrap_or(&nothing);
        let (labels, others) = inner.grouped(grouping);
        let mut groups = Series { labels, others, several: None };
        let picks = matches!(
            aggregate.op,
            AggregateOp::Topk | AggregateOp::Bottomk | AggregateOp::Limitk | AggregateOp::LimitRatio
        );
        let one_group = !groups.others && groups.varying().is_empty();
        if inner.several.is_some() && !one_group {
            groups.several =
                if grouping.only { Some(Several::Groups(span, groups.varying())) } else { inner.several.clone() };
        }
        if picks {
            // These keep whole series: the grouping says how many, not with which labels.
            let first = matches!(
                aggregate.parameter.as_ref().map(|parameter| &parameter.kind),
                Some(ExprKind::Number(number)) if *number < 2.0
            );
            let counted = aggregate.op != AggregateOp::LimitRatio && first;
            let several = if counted { groups.several } else { inner.several.clone() };
            return Series { several, ..inner };
        }
        if aggregate.op == AggregateOp::CountValues
            && let Some(ExprKind::String(label)) = aggregate.parameter.as_ref().map(|parameter| &parameter.kind)
        {
            groups.labels.insert(label.clone(), Label::Varies);
            if inner.several.is_some() {
                groups.several = Some(Several::Groups(span, groups.varying()));
            }
        }
        groups
    }

    fn of_call(call: &Call) -> Series {
        let vector =
            call.arguments.iter().find(|argument| matches!(type_of(argument), ValueType::Vector | ValueType::Matrix));
        let mut series = match (call.function.name, vector) {
            ("vector" | "scalar", _) | (_, None) => return Series::one(),
            ("absent" | "absent_over_time", Some(argument)) => {
                let inner = Series::of(argument);
                return Series { others: false, several: None, ..inner };
            }
            (_, Some(argument)) => Series::of(argument),
        };
        let text = |index: usize| match call.arguments.get(index).map(|argument| &argument.kind) {
            Some(ExprKind::String(text)) => Some(text.as_str()),
            _ => None,
        };
        match (call.function.name, text(1)) {
            ("label_replace", Some(target)) => {
                // Without a source, an empty pattern matches always.
                let always = text(3) == Some("") && matches!(text(4), Some("" | ".*"));
                let label = match text(2) {
                    Some(value) if always && !value.contains('$') => Label::Fixed(value.to_owned()),
                    _ => Label::Varies,
                };
                series.labels.insert(target.to_owned(), label);
            }
            ("label_join", Some(target)) => {
                series.labels.insert(target.to_owned(), Label::Varies);
            }
            ("histogram_quantile" | "histogram_fraction", _) => {
                series.labels.insert("le".to_owned(), Label::Fixed(String::new()));
            }
            _ => {}
        }
        series
    }

    fn of_binary(binary: &Binary, span: Span) -> Series {
        let vector = |expr: &Expr| type_of(expr) == ValueType::Vector;
        match (vector(&binary.left), vector(&binary.right)) {
            (true, false) => Series::of(&binary.left),
            (false, true) => Series::of(&binary.right),
            (false, false) => Series::one(),
            (true, true) => {
                let (left, right) = (Series::of(&binary.left), Series::of(&binary.right));
                match binary.op {
                    BinaryOp::Or => Series::either(binary, &left, &right, span),
                    BinaryOp::And | BinaryOp::Unless => left,
                    _ => Series::matched(binary.matching.as_ref(), left, right),
                }
            }
        }
    }

    /// Arithmetic and comparison between series that belong together.
    fn matched(matching: Option<&Matching>, left: Series, right: Series) -> Series {
        let many = matching.and_then(|matching| matching.many.as_ref());
        if let Some((side, include)) = many {
            let (mut series, one) = if *side == ManySide::Left { (left, right) } else { (right, left) };
            for label in include {
                series.labels.insert(label.text.clone(), one.get(&label.text));
            }
            return series;
        }
        // One to one: as many as the smaller side has.
        let several = if left.several.is_some() && right.several.is_some() { left.several.clone() } else { None };
        let (labels, others) = match matching {
            Some(matching) => left.grouped(&matching.labels),
            None => (left.labels.clone(), left.others),
        };
        let mut series = Series { labels, others, several };
        // What is fixed on one side is fixed on the other, where it takes part in the matching.
        for (name, label) in &right.labels {
            let takes_part = matching.is_none_or(|matching| {
                matching.labels.only == matching.labels.labels.iter().any(|listed| listed.text == *name)
            });
            if takes_part && *label != Label::Varies {
                series.labels.insert(name.clone(), label.clone());
            }
        }
        series
    }

    /// `or`: the left side, and what of the right side has no counterpart in it.
    fn either(binary: &Binary, left: &Series, right: &Series, span: Span) -> Series {
        let agreement = agreement(binary.matching.as_ref(), left, right);
        let branches = match agreement {
            Agreement::Same => None,
            Agreement::Different if follows(&binary.left, &binary.right) => Some(Severity::Error),
            Agreement::Different | Agreement::Likely if excludes(&binary.left, &binary.right) => Some(Severity::Info),
            Agreement::Different | Agreement::Likely => Some(Severity::Warning),
            // Labels that vary on both sides may well be the same: the usual shape, one label in both groupings.
            Agreement::Unknown => Some(Severity::Info),
        };
        let branches = branches.map(|severity| Several::Branches(span, severity));
        let several = [branches, left.several.clone(), right.several.clone()]
            .into_iter()
            .flatten()
            .reduce(|worst, next| if next.rank() > worst.rank() { next } else { worst });
        let mut labels = BTreeMap::new();
        for name in left.labels.keys().chain(right.labels.keys()) {
            let (first, second) = (left.get(name), right.get(name));
            labels.insert(name.clone(), if first == second { first } else { Label::Varies });
        }
        Series { labels, others: left.others || right.others, several }
    }
}

/// Whether a series of one side has a counterpart on the other.
enum Agreement {
    /// Always.
    Same,
    /// Never.
    Different,
    /// Not as soon as a label that only one side groups by is there.
    Likely,
    /// It depends on the values of labels.
    Unknown,
}

fn agreement(matching: Option<&Matching>, left: &Series, right: &Series) -> Agreement {
    let mut names: Vec<&str> = left.labels.keys().chain(right.labels.keys()).map(String::as_str).collect();
    let mut others = left.others || right.others;
    if let Some(matching) = matching {
        let listed: Vec<&str> = matching.labels.labels.iter().map(|label| label.text.as_str()).collect();
        if matching.labels.only {
            names = listed;
            others = false;
        } else {
            names.retain(|name| !listed.contains(name));
        }
    }
    let mut result = if others { Agreement::Unknown } else { Agreement::Same };
    for name in names {
        match (left.get(name), right.get(name)) {
            (Label::Fixed(first), Label::Fixed(second)) if first == second => {}
            (Label::Fixed(_), Label::Fixed(_)) => return Agreement::Different,
            (Label::Fixed(empty), Label::Varies) | (Label::Varies, Label::Fixed(empty)) if empty.is_empty() => {
                result = Agreement::Likely;
            }
            _ if matches!(result, Agreement::Likely) => {}
            _ => result = Agreement::Unknown,
        }
    }
    result
}

/// Whether the right side surely has data when the left side has: it selects the same metric over the same time with
/// fewer conditions, and filters nothing.
fn follows(left: &Expr, right: &Expr) -> bool {
    let Some(wide) = unfiltered(right) else { return false };
    drivers(left).into_iter().any(|narrow| {
        narrow.over == wide.over
            && narrow.over != Over::Steps
            && narrow.metric() == wide.metric()
            && narrow.selector.shift == wide.selector.shift
            && wide.selector.matchers.iter().all(|wanted| narrow.has(&wanted.label.text, wanted.op, &wanted.value.text))
    })
}

/// Whether the two sides look for opposites: the same metric, and a label that is and is not something.
fn excludes(left: &Expr, right: &Expr) -> bool {
    let opposite = |op: MatchOp| match op {
        MatchOp::Equal => MatchOp::NotEqual,
        MatchOp::NotEqual => MatchOp::Equal,
        MatchOp::Matches => MatchOp::NotMatches,
        MatchOp::NotMatches => MatchOp::Matches,
    };
    let others = drivers(right);
    drivers(left).into_iter().any(|one| {
        let contradicts = |other: &Driver<'_>| {
            let mut matchers = one.selector.matchers.iter();
            matchers.any(|matcher| other.has(&matcher.label.text, opposite(matcher.op), &matcher.value.text))
        };
        others.iter().any(|other| one.metric() == other.metric() && contradicts(other))
    })
}

/// A selector without whose data an expression has none.
struct Driver<'q> {
    selector: &'q Selector,
    over: Over,
}

/// Over which time a selector looks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Now,
    Range(Millis),
    /// Within a subquery.
    Steps,
}

impl Driver<'_> {
    fn metric(&self) -> Option<&str> {
        self.selector.metric.as_ref().map(|metric| metric.name.text.as_str())
    }

    fn has(&self, label: &str, op: MatchOp, value: &str) -> bool {
        let mut matchers = self.selector.matchers.iter();
        matchers.any(|matcher| matcher.op == op && matcher.label.text == label && matcher.value.text == value)
    }
}

/// The expression itself, if it is a selector.
fn driver(expr: &Expr) -> Option<Driver<'_>> {
    match &expr.kind {
        ExprKind::Selector(selector) => Some(Driver { selector, over: Over::Now }),
        ExprKind::Range(range) => Some(Driver { selector: &range.selector, over: Over::Range(range.range) }),
        _ => None,
    }
}

/// The selectors without whose data an expression has none.
fn drivers(expr: &Expr) -> Vec<Driver<'_>> {
    match &expr.kind {
        ExprKind::Binary(binary) if binary.op == BinaryOp::Or => Vec::new(),
        ExprKind::Binary(binary) if binary.op == BinaryOp::Unless => drivers(&binary.left),
        ExprKind::Call(call) if matches!(call.function.name, "absent" | "absent_over_time" | "vector" | "scalar") => {
            Vec::new()
        }
        ExprKind::Subquery(subquery) => {
            drivers(&subquery.expr).into_iter().map(|driver| Driver { over: Over::Steps, ..driver }).collect()
        }
        _ => match driver(expr) {
            Some(driver) => vec![driver],
            None => children(expr).into_iter().flat_map(drivers).collect(),
        },
    }
}

/// The selector of an expression that has data whenever the selector has.
fn unfiltered(expr: &Expr) -> Option<Driver<'_>> {
    match &expr.kind {
        ExprKind::Paren(inner) | ExprKind::Unary(_, inner) => unfiltered(inner),
        // Aggregations with a parameter may be told to keep nothing.
        ExprKind::Aggregate(aggregate) if aggregate.parameter.is_none() => unfiltered(&aggregate.expr),
        ExprKind::Binary(binary) if binary.op.is_set() || (binary.op.is_comparison() && !binary.returns_bool) => None,
        ExprKind::Binary(binary) => match (type_of(&binary.left), type_of(&binary.right)) {
            (ValueType::Scalar, _) => unfiltered(&binary.right),
            (_, ValueType::Scalar) => unfiltered(&binary.left),
            _ => None,
        },
        ExprKind::Call(call) => match call.function.name {
            "label_replace" | "label_join" | "abs" | "max_over_time" | "min_over_time" | "last_over_time" | "sort" => {
                call.arguments.first().and_then(unfiltered)
            }
            _ => None,
        },
        _ => driver(expr),
    }
}
