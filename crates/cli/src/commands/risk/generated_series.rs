//! Series generated from the selectors of a query, so that the query matches them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use clearway_promql::ast::{ExprKind, MatchOp, Matcher};
use clearway_promql::matching::Pattern;
use clearway_promql::series::{Builder, Capacity};
use clearway_promql::{Limits, Query, Selector, Series};
use clearway_sources::prometheus::{Window, windows};
use regex_syntax::hir::{Class, ClassUnicodeRange, Hir, HirKind};

/// Bytes of a compiled pattern; those of a query that the fence let through are smaller.
const PATTERN: usize = 1 << 20;
/// Milliseconds between two samples, if that makes no more than [`SAMPLES`].
const STEP: i64 = 60_000;
const SAMPLES: i64 = 500;
/// Texts that are tried for a pattern, and how long they get.
const CHOICES: usize = 24;
const LENGTH: usize = 1_024;
/// The label that distinguishes series of one selector.
const CASE: &str = "clearway_case";

/// For every selector of the queries as many series as there are names, all of one value at all times that count.
///
/// Nothing if a selector has a pattern for which no text was found.
pub(super) fn series<'q>(
    queries: impl IntoIterator<Item = &'q Query>,
    at: i64,
    names: &[&str],
    value: f64,
) -> Result<Option<Series>> {
    // A series may be meant by several selectors, and is there once with the samples for all of them.
    let mut samples: BTreeMap<BTreeMap<String, String>, BTreeSet<i64>> = BTreeMap::new();
    for window in windows(queries, at) {
        let query = Query::parse(&window.selector, &Limits::default()).map_err(|errors| anyhow::anyhow!("{errors}"))?;
        let ExprKind::Selector(selector) = &query.expr().kind else { continue };
        let labels = if names.is_empty() { Some(BTreeMap::new()) } else { labels(selector) };
        let Some(labels) = labels else { return Ok(None) };
        for name in names {
            let mut labels = labels.clone();
            labels.insert(CASE.to_owned(), (*name).to_owned());
            samples.entry(labels).or_default().extend(times(&window));
        }
    }
    let mut builder = Builder::new(Capacity::default());
    for (labels, times) in samples {
        for (label, text) in labels {
            builder.label(&label, &text).context("cannot generate a series")?;
        }
        let id = builder.series().context("cannot generate a series")?;
        for time in times {
            builder.sample(id, time, value).context("cannot generate a series")?;
        }
    }
    Ok(Some(builder.finish().context("cannot generate a series")?))
}

fn times(window: &Window) -> impl Iterator<Item = i64> {
    let step = STEP.max(window.width / SAMPLES);
    let end = window.end;
    (0..=window.width / step).map(move |at| end.saturating_sub(at.saturating_mul(step)))
}

/// Labels that the selector selects.
fn labels(selector: &Selector) -> Option<BTreeMap<String, String>> {
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    if let Some(metric) = &selector.metric {
        labels.insert("__name__".to_owned(), metric.name.text.clone());
    }
    let mut by_label: BTreeMap<&str, Vec<&Matcher>> = BTreeMap::new();
    for matcher in &selector.matchers {
        by_label.entry(&matcher.label.text).or_default().push(matcher);
    }
    for (label, matchers) in by_label {
        let mut candidates: Vec<String> = ["", "x", "1", "true", "1.2.3"].map(str::to_owned).to_vec();
        candidates.extend(matchers.iter().flat_map(|matcher| texts(matcher)));
        let fits = |text: &String| matchers.iter().all(|matcher| holds(matcher, text));
        labels.insert(label.to_owned(), candidates.into_iter().find(fits)?);
    }
    Some(labels)
}

fn holds(matcher: &Matcher, text: &str) -> bool {
    let wanted = &matcher.value.text;
    let found = || Pattern::new(wanted, PATTERN).is_ok_and(|pattern| pattern.matches(text));
    match matcher.op {
        MatchOp::Equal => wanted == text,
        MatchOp::NotEqual => wanted != text,
        MatchOp::Matches => found(),
        MatchOp::NotMatches => !found(),
    }
}

/// Texts that a matcher may be looking for; each is tried before it is believed.
fn texts(matcher: &Matcher) -> Vec<String> {
    let wanted = matcher.value.text.as_str();
    let mut texts = vec![wanted.to_owned()];
    if let Ok(pattern) = regex_syntax::parse(wanted) {
        for choice in 0..CHOICES {
            let mut text = String::new();
            if write(&pattern, choice, &mut text).is_some() {
                texts.push(text);
            }
        }
    }
    texts
}

/// Appends a text that the pattern matches: of alternatives the chosen one, of repetitions as few as there may be.
/// Nothing if it gets too long. Recursion is safe: the parser refuses what is nested more than 250 deep.
fn write(pattern: &Hir, choice: usize, out: &mut String) -> Option<()> {
    if out.len() > LENGTH {
        return None;
    }
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(Class::Unicode(class)) => {
            let has = |letter: char| class.iter().any(|range| (range.start()..=range.end()).contains(&letter));
            let plain = ['x', '1', 'A'].into_iter().find(|letter| has(*letter));
            out.push(plain.or_else(|| class.iter().next().map(ClassUnicodeRange::start))?);
        }
        HirKind::Class(Class::Bytes(_)) => return None,
        HirKind::Repetition(repetition) => {
            // Every other choice has one more than there must be.
            let more = u32::from(!choice.is_multiple_of(2));
            let times = repetition.min.saturating_add(more).min(repetition.max.unwrap_or(u32::MAX));
            for _ in 0..times {
                write(&repetition.sub, choice, out)?;
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, choice, out)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, choice, out))?,
        HirKind::Alternation(branches) => write(branches.iter().cycle().nth(choice / 2)?, choice, out)?,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_promql::Millis;
    use clearway_promql::eval::{Settings, Value, instant};

    const AT: i64 = 1_767_225_600_000;

    /// How many series a selector finds among those that were made for it.
    fn found(text: &str, names: &[&str]) -> Option<usize> {
        let query = Query::parse(text, &Limits::default()).unwrap();
        let series = series([&query], AT, names, 2.0).unwrap()?;
        match instant(&query, &series, Millis(AT), &Settings::default()).unwrap().value {
            Value::Vector(samples) => Some(samples.len()),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn what_is_made_is_found_by_the_query_it_was_made_for() {
        for text in [
            "a",
            "a{x=\"y\",z!=\"y\"}",
            "a{x=~\"https?\"}",
            "a{x=~\"(one|two)[.]3.*\",x!~\"one.*\"}",
            "a{x!~\".+\"}",
            "a{x=~\"4[.]1[0-9][.].+\"}",
            "a{x=~\"4[.]([0-9]|1[0-2])[.].*\",x!~\"4[.]1[.].*\"}",
            "a{x=~\"[[:upper:]]{3}\\\\d?\"}",
            "rate(a[1h])",
            "max_over_time(a[30m:1m] offset 1h)",
            "a @ 1700000000",
        ] {
            assert_eq!((found(text, &["one"]), found(text, &["one", "two"])), (Some(1), Some(2)), "{text}");
        }
        assert_eq!(found("a{x=~\"y\",x!=\"y\"}", &["one"]), None, "there is no such text");
    }
}
