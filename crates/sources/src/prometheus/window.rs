//! Which samples a query looks at: for each selector, the time it is evaluated at and how far it looks back.
//!
//! This is what a collection has to ask for, and no more (U16).

use std::collections::BTreeMap;

use clearway_promql::ast::{AtModifier, ExprKind, Shift};
use clearway_promql::{Expr, Millis, Query, Selector, children};

/// How far an instant selector looks back for a sample, as Prometheus does unless told otherwise.
pub const LOOKBACK: Millis = Millis(5 * 60_000);

/// Samples of some series in a stretch of time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Window {
    /// The selector in its canonical text, without range, offset and `@`.
    pub selector: String,
    /// The newest time that counts, in milliseconds since 1970.
    pub end: i64,
    /// How much older a sample may be, in milliseconds; one that is exactly so much older is too old.
    pub width: i64,
    /// Whether the selector is also evaluated at `end` as an instant vector, so that series that ended must be known.
    pub instant: bool,
}

/// The windows of some queries that are evaluated at one time, each once and in order.
pub fn windows<'q>(queries: impl IntoIterator<Item = &'q Query>, at: i64) -> Vec<Window> {
    let mut found: BTreeMap<(String, i64), (i64, bool)> = BTreeMap::new();
    for need in queries.into_iter().flat_map(|query| QueryWindows::of(query).0) {
        let end = need.end.at(at);
        let known = found.entry((need.selector, end)).or_default();
        *known = (known.0.max(need.width), known.1 | need.instant);
    }
    let window = |((selector, end), (width, instant))| Window { selector, end, width, instant };
    found.into_iter().map(window).collect()
}

/// The samples that a query needs, whenever it is evaluated: for who evaluates it at many times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryWindows(Vec<QueryWindow>);

/// A window whose end may depend on the time of evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryWindow {
    pub(crate) selector: String,
    pub(crate) end: End,
    pub(crate) width: i64,
    pub(crate) instant: bool,
}

/// The newest time that counts, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// So much before the time of evaluation.
    Before(i64),
    /// A time since 1970, by `@`.
    At(i64),
}

impl QueryWindows {
    /// What a query needs.
    pub fn of(query: &Query) -> Self {
        let mut found = Found { needs: BTreeMap::new() };
        found.below(query.expr(), Times { end: End::Before(0), width: 0 });
        let need = |((selector, end), (width, instant))| QueryWindow { selector, end, width, instant };
        QueryWindows(found.needs.into_iter().map(need).collect())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &QueryWindow> {
        self.0.iter()
    }
}

impl End {
    /// The end for an evaluation at a time.
    pub(crate) fn at(self, at: i64) -> i64 {
        match self {
            End::Before(earlier) => at.saturating_sub(earlier),
            End::At(time) => time,
        }
    }

    fn earlier(self, by: i64) -> Self {
        match self {
            End::Before(earlier) => End::Before(earlier.saturating_add(by)),
            End::At(time) => End::At(time.saturating_sub(by)),
        }
    }
}

/// The times at which an expression is evaluated: from so much before the end up to it.
#[derive(Clone, Copy)]
struct Times {
    end: End,
    width: i64,
}

struct Found {
    needs: BTreeMap<(String, End), (i64, bool)>,
}

impl Found {
    /// Recursion is safe: no tree is deeper than the parser allows.
    fn below(&mut self, expr: &Expr, times: Times) {
        match &expr.kind {
            ExprKind::Selector(selector) => self.add(selector, expr, times, LOOKBACK, true),
            ExprKind::Range(range) => self.add(&range.selector, expr, times, range.range, false),
            ExprKind::Subquery(subquery) => {
                let shifted = shifted(times, subquery.shift);
                let width = shifted.width.saturating_add(subquery.range.0);
                self.below(&subquery.expr, Times { width, ..shifted });
            }
            _ => children(expr).into_iter().for_each(|child| self.below(child, times)),
        }
    }

    fn add(&mut self, selector: &Selector, expr: &Expr, times: Times, range: Millis, instant: bool) {
        let times = shifted(times, selector.shift);
        let bare = Selector { shift: Shift::default(), ..selector.clone() };
        let text = Expr { kind: ExprKind::Selector(bare), span: expr.span }.to_string();
        let width = times.width.saturating_add(range.0);
        let known = self.needs.entry((text, times.end)).or_default();
        *known = (known.0.max(width), known.1 | instant);
    }
}

/// `@` fixes the time, for all times of an outer subquery alike; `offset` moves it.
fn shifted(times: Times, shift: Shift) -> Times {
    let fixed = |end| Times { end, width: 0 };
    let times = match shift.at {
        None => times,
        Some(AtModifier::Time(time)) => fixed(End::At(time.0)),
        Some(AtModifier::Start | AtModifier::End) => fixed(End::Before(0)),
    };
    Times { end: times.end.earlier(shift.offset.unwrap_or_default().0), ..times }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_promql::Limits;

    fn of(texts: &[&str]) -> Vec<(String, i64, i64, bool)> {
        let queries: Vec<Query> = texts.iter().map(|text| Query::parse(text, &Limits::default()).unwrap()).collect();
        let found = windows(&queries, 10_000_000).into_iter();
        found.map(|window| (window.selector, window.end, window.width, window.instant)).collect()
    }

    #[test]
    fn every_selector_has_its_window() {
        let minute = 60_000;
        for (text, want) in [
            ("a", vec![("a", 10_000_000, 5 * minute, true)]),
            ("max_over_time(a{x='y'}[1h])", vec![("a{x=\"y\"}", 10_000_000, 60 * minute, false)]),
            ("a offset 1m", vec![("a", 10_000_000 - minute, 5 * minute, true)]),
            ("a offset -1m", vec![("a", 10_000_000 + minute, 5 * minute, true)]),
            ("a @ 60 offset 10s", vec![("a", 50_000, 5 * minute, true)]),
            ("rate(a[2m] @ end())", vec![("a", 10_000_000, 2 * minute, false)]),
            (
                "max_over_time(rate(a[2m] offset 1m)[1h:1m] offset 3m)",
                vec![("a", 10_000_000 - 4 * minute, 62 * minute, false)],
            ),
            ("max_over_time((a @ 60)[1h:1m])", vec![("a", 60_000, 5 * minute, true)]),
            ("1 + vector(2)", vec![]),
        ] {
            let want: Vec<_> =
                want.into_iter().map(|(name, end, width, instant)| (name.to_owned(), end, width, instant)).collect();
            assert_eq!(of(&[text]), want, "{text}");
        }
    }

    #[test]
    fn a_selector_that_occurs_often_is_asked_for_once() {
        let found = of(&["group(b) or 0 * group(a)", "max_over_time(a[1h])", "{__name__=\"a\"}"]);
        let known: Vec<_> =
            found.iter().map(|(name, _, width, instant)| (name.as_str(), *width / 60_000, *instant)).collect();
        // Both texts of one selector are asked for: to know that they are one is not worth a mistake.
        assert_eq!(known, [("a", 60, true), ("b", 5, true), ("{__name__=\"a\"}", 5, true)]);
    }
}
