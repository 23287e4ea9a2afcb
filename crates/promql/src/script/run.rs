//! Runs a script and says what came of every `eval`.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::parse::{self, Command, Eval, Expected, Load, ScriptError, When};
use crate::error::{Code, Error};
use crate::eval::{self, Answer, Level, Settings, Value, plain_number};
use crate::query::Query;
use crate::series::{BuildError, Builder, HISTOGRAM, Labels, Series, is_histogram};
use crate::syntax::duration::Millis;
use crate::syntax::limits::Limits;

/// What came of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// One outcome for every `eval`, in the order of the script.
    pub outcomes: Vec<Outcome>,
}

impl Report {
    /// How many `eval`s passed, failed, and are not supported.
    pub fn counts(&self) -> (usize, usize, usize) {
        let count = |is: fn(&Verdict) -> bool| self.outcomes.iter().filter(|outcome| is(&outcome.verdict)).count();
        (
            count(|verdict| *verdict == Verdict::Passed),
            count(|verdict| matches!(verdict, Verdict::Failed(_))),
            count(|verdict| matches!(verdict, Verdict::Unsupported(_))),
        )
    }
}

/// What came of one `eval`.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Its line, counted from 1.
    pub line: usize,
    /// Its query.
    pub query: String,
    /// What came of it.
    pub verdict: Verdict,
}

/// Whether a query gave what was expected.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It did.
    Passed,
    /// It did not: what was wanted and what came.
    Failed(String),
    /// It looks at something that is not evaluated, named here.
    Unsupported(String),
}

/// Runs a script. The evaluations share `settings`.
pub fn run(script: &str, limits: &Limits, settings: &Settings<'_>) -> Result<Report, ScriptError> {
    let commands = parse::parse(script)?;
    let mut loaded: BTreeMap<Labels, BTreeMap<i64, f64>> = BTreeMap::new();
    let mut series: Option<Series> = None;
    let mut outcomes = Vec::new();
    for command in &commands {
        match command {
            Command::Clear => {
                loaded.clear();
                series = None;
            }
            Command::Load(load) => {
                add(load, &mut loaded)?;
                series = None;
            }
            Command::Eval(eval) => {
                let wrong = |error: BuildError| ScriptError { line: eval.line, message: error.to_string() };
                let store = series.take().map_or_else(|| store(&loaded).map_err(wrong), Ok)?;
                let verdict = judge(eval, &store, limits, settings);
                outcomes.push(Outcome { line: eval.line, query: eval.query.clone(), verdict });
                series = Some(store);
            }
        }
    }
    Ok(Report { outcomes })
}

fn store(loaded: &BTreeMap<Labels, BTreeMap<i64, f64>>) -> Result<Series, BuildError> {
    let mut builder = Builder::default();
    for (labels, samples) in loaded {
        for (name, value) in labels.iter() {
            builder.label(name, value)?;
        }
        let series = builder.series()?;
        for (time, value) in samples {
            builder.sample(series, *time, *value)?;
        }
    }
    builder.finish()
}

/// Adds the series of a `load`. A series that stands twice in one `load` is the later one.
fn add(load: &Load, loaded: &mut BTreeMap<Labels, BTreeMap<i64, f64>>) -> Result<(), ScriptError> {
    let mut added: BTreeMap<Labels, BTreeMap<i64, f64>> = BTreeMap::new();
    for (labels, values) in &load.series {
        let mut samples = BTreeMap::new();
        for (index, value) in values.iter().enumerate() {
            let index = i64::try_from(index).unwrap_or(i64::MAX);
            let time = load.step.checked_mul(index).ok_or_else(|| ScriptError {
                line: load.line,
                message: "The times of the samples are out of range.".to_owned(),
            })?;
            if let Some(value) = value {
                samples.insert(time, *value);
            }
        }
        added.insert(labels.clone(), samples);
    }
    if load.with_native {
        for (labels, samples) in native(&added) {
            added.entry(labels).or_default().extend(samples);
        }
    }
    for (labels, samples) in added {
        let known = loaded.entry(labels).or_default();
        for (time, value) in samples {
            known.entry(time).or_insert(value);
        }
    }
    Ok(())
}

/// The native histograms that Prometheus makes of classic ones: where they are, not what they are.
fn native(added: &BTreeMap<Labels, BTreeMap<i64, f64>>) -> Vec<(Labels, BTreeMap<i64, f64>)> {
    let mut made = Vec::new();
    for (labels, samples) in added {
        let metric = labels.metric();
        let base = ["_bucket", "_count", "_sum"].iter().find_map(|suffix| metric.strip_suffix(suffix));
        let Some(base) = base else { continue };
        let others = labels.iter().filter(|(name, _)| *name != "__name__" && *name != "le");
        let name = [("__name__".to_owned(), base.to_owned())];
        let labels = Labels::new(name.into_iter().chain(others.map(|(n, v)| (n.to_owned(), v.to_owned()))));
        let floats = samples.iter().filter(|(_, value)| !is_histogram(**value));
        made.push((labels, floats.map(|(time, _)| (*time, HISTOGRAM)).collect()));
    }
    made
}

fn judge(eval: &Eval, series: &Series, limits: &Limits, settings: &Settings<'_>) -> Verdict {
    let parsed = match eval.when {
        When::Instant(_) => Query::parse(&eval.query, limits),
        When::Range { start, end, step } => {
            Query::parse_for_range(&eval.query, (Millis(start), Millis(end)), Millis(step), limits)
        }
    };
    let query = match parsed {
        Ok(query) => query,
        Err(errors) => {
            if let Some(error) = errors.0.iter().find(|error| error.code == Code::Experimental) {
                return Verdict::Unsupported(error.message.clone());
            }
            // The parser has its own words, so that it refuses is all that can be compared.
            return match eval.fails {
                Some(_) => Verdict::Passed,
                None => Verdict::Failed(format!("The query is refused: {errors}")),
            };
        }
    };
    let answer = match eval.when {
        When::Instant(time) => eval::instant(&query, series, Millis(time), settings),
        When::Range { start, end, step } => {
            eval::range(&query, series, (Millis(start), Millis(end)), Millis(step), settings)
        }
    };
    match (answer, &eval.fails) {
        (Err(Error { code: Code::NativeHistogram | Code::Unsupported, message, .. }), _) => {
            Verdict::Unsupported(message)
        }
        (Err(error), Some(words)) if words.fit(&error.message) => Verdict::Passed,
        (Err(error), Some(_)) => Verdict::Failed(format!("It fails with another message: {}", error.message)),
        (Err(error), None) => Verdict::Failed(format!("It fails: {}", error.message)),
        (Ok(answer), Some(_)) => Verdict::Failed(format!("It should fail, but returns:\n{}", answer.value)),
        (Ok(answer), None) => {
            if let Expected::Series { rows, .. } = &eval.expected
                && rows.iter().any(|(_, values)| values.iter().flatten().any(|value| is_histogram(*value)))
            {
                return Verdict::Unsupported(
                    "A native histogram is expected, which is not supported by this evaluator.".to_owned(),
                );
            }
            let difference = remarks(eval, &answer, &query).and_then(|()| compare(eval, &answer.value));
            difference.map_or_else(Verdict::Failed, |()| Verdict::Passed)
        }
    }
}

/// Compares the remarks of an evaluation with the expected ones.
fn remarks(eval: &Eval, answer: &Answer, query: &Query) -> Result<(), String> {
    for level in [Level::Warning, Level::Info] {
        let found: Vec<String> =
            answer.notes.iter().filter(|note| note.level == level).map(|note| note.describe(query.text())).collect();
        let name = if level == Level::Warning { "warning" } else { "remark" };
        let wanted: Vec<_> = eval.remarks.iter().filter(|(of, _)| *of == level).map(|(_, words)| words).collect();
        if (eval.some.contains(&level) || !wanted.is_empty()) && found.is_empty() {
            return Err(format!("A {name} is expected, but was not returned."));
        }
        if eval.silent.contains(&level) && !found.is_empty() {
            return Err(format!("No {name} is expected, but there is: {}", found.join("; ")));
        }
        if wanted.is_empty() {
            continue;
        }
        let missing = wanted.iter().any(|words| !found.iter().any(|message| words.fit(message)));
        let further = found.iter().any(|message| !wanted.iter().any(|words| words.fit(message)));
        if missing || further {
            return Err(format!("Another {name} is expected; there is: {}", found.join("; ")));
        }
    }
    Ok(())
}

/// Compares a value with the expected one; numbers may differ by a millionth.
fn compare(eval: &Eval, value: &Value) -> Result<(), String> {
    let differs = || Err(format!("want:\n{}\ngot:\n{value}", wanted(eval)));
    match (value, &eval.expected) {
        (Value::Scalar(number), Expected::Scalar(expected)) if almost(*number, *expected) => Ok(()),
        (Value::String(text), Expected::String(expected)) if text == expected => Ok(()),
        (Value::Vector(samples), Expected::Series { rows, .. }) => {
            let expected: BTreeMap<&Labels, (usize, f64)> = rows
                .iter()
                .enumerate()
                .filter_map(|(place, (labels, values))| Some((labels, (place, values.first().copied().flatten()?))))
                .collect();
            let fits = samples.len() == expected.len()
                && samples.iter().enumerate().all(|(place, sample)| {
                    expected.get(&sample.labels).is_some_and(|(expected_place, expected)| {
                        almost(sample.value, *expected) && (!eval.ordered || *expected_place == place)
                    })
                });
            if fits { Ok(()) } else { differs() }
        }
        (Value::Matrix(found), Expected::Series { rows, grid }) => {
            let (start, step) = match (grid, eval.when) {
                (Some(grid), _) => *grid,
                (None, When::Range { start, step, .. }) => (start, step),
                (None, When::Instant(_)) => return differs(),
            };
            let time =
                |index: usize| start.saturating_add(step.saturating_mul(i64::try_from(index).unwrap_or(i64::MAX)));
            let mut expected: BTreeMap<&Labels, Vec<(i64, f64)>> = BTreeMap::new();
            for (labels, values) in rows {
                let samples = values.iter().enumerate().filter_map(|(index, value)| Some((time(index), (*value)?)));
                expected.insert(labels, samples.collect());
            }
            let same = |found: &[(i64, f64)], expected: &[(i64, f64)]| {
                found.len() == expected.len()
                    && found.iter().zip(expected).all(|(one, other)| one.0 == other.0 && almost(one.1, other.1))
            };
            let fits = found.len() == expected.len()
                && found
                    .iter()
                    .all(|row| expected.get(&row.labels).is_some_and(|expected| same(&row.samples, expected)));
            if fits && !eval.ordered { Ok(()) } else { differs() }
        }
        _ => differs(),
    }
}

fn wanted(eval: &Eval) -> String {
    match &eval.expected {
        Expected::Scalar(number) => plain_number(*number),
        Expected::String(text) => text.clone(),
        Expected::Series { rows, .. } => {
            let mut text = String::new();
            for (labels, values) in rows {
                let _ = write!(text, "{}{labels}", if text.is_empty() { "" } else { "\n" });
                for value in values {
                    let _ = write!(text, " {}", value.map_or("_".to_owned(), plain_number));
                }
            }
            text
        }
    }
}

/// Whether two numbers are the same but for a millionth.
#[expect(clippy::float_cmp, reason = "equal numbers need no tolerance")]
fn almost(one: f64, other: f64) -> bool {
    const TOLERANCE: f64 = 0.000_001;
    if one.is_nan() || other.is_nan() {
        return one.is_nan() && other.is_nan();
    }
    if one == other {
        return true;
    }
    let (sum, difference) = (one.abs() + other.abs(), (one - other).abs());
    if one == 0.0 || other == 0.0 || sum < f64::MIN_POSITIVE {
        return difference < TOLERANCE * f64::MIN_POSITIVE;
    }
    difference / sum.min(f64::MAX) < TOLERANCE
}
