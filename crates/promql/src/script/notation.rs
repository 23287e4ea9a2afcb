//! A series with its values, as scripts write it: `up{job="api"} 1 2 _ stale 3+1x5`.

use crate::series::{HISTOGRAM, Labels, STALE};
use crate::syntax::ast::{ExprKind, MatchOp};
use crate::syntax::limits::Limits;
use crate::syntax::parser::{self, METRIC_NAME};

/// One value of a series; nothing where the script has `_`.
pub(super) type Values = Vec<Option<f64>>;

/// More values than this on one line are refused.
const MOST: usize = 100_000;

/// The series of a line with its values.
pub(super) fn series(line: &str) -> Result<(Labels, Values), String> {
    let end = end_of_labels(line);
    let (labels, rest) = line.split_at(end);
    Ok((metric(labels)?, values(rest)?))
}

/// Where the labels end: at the first blank that is neither quoted nor in braces.
fn end_of_labels(line: &str) -> usize {
    let (mut braces, mut quote, mut escaped) = (false, None, false);
    for (at, c) in line.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some('"' | '\''), '\\') => escaped = true,
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '{') => braces = true,
            (None, '}') => return at.saturating_add(1),
            (None, _) if c.is_whitespace() && !braces => {
                // Blanks may stand between a name and its braces.
                let rest = line.get(at..).unwrap_or_default().trim_start();
                if !rest.starts_with('{') || rest.starts_with("{{") {
                    return at;
                }
            }
            _ => {}
        }
    }
    line.len()
}

/// The labels of a series written as a selector.
fn metric(text: &str) -> Result<Labels, String> {
    let expr = parser::parse(text, &Limits::default()).map_err(|error| error.message)?;
    let ExprKind::Selector(selector) = expr.kind else { return Err(format!("`{text}` is not a series.")) };
    let name = selector.metric.map(|metric| (METRIC_NAME.to_owned(), metric.name.text));
    let mut labels: Vec<(String, String)> = name.into_iter().collect();
    for matcher in selector.matchers {
        if matcher.op != MatchOp::Equal {
            return Err("The labels of a series are written with `=`.".to_owned());
        }
        labels.push((matcher.label.text, matcher.value.text));
    }
    Ok(Labels::new(labels))
}

/// The values behind a series.
pub(super) fn values(text: &str) -> Result<Values, String> {
    let mut values = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        rest = item(rest, &mut values)?.trim_start();
        if values.len() > MOST {
            return Err(format!("The line has more than {MOST} values."));
        }
    }
    Ok(values)
}

/// Reads one item, and gives what follows it.
fn item<'t>(text: &'t str, values: &mut Values) -> Result<&'t str, String> {
    if text.starts_with("{{") {
        return histogram(text, values);
    }
    let (item, rest) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    let wrong = || format!("`{item}` is not a value.");
    let (item, times) = match item.rsplit_once('x') {
        Some((item, times)) => (item, Some(times.parse::<usize>().map_err(|_| wrong())?)),
        None => (item, None),
    };
    if times.is_some_and(|times| times > MOST) {
        return Err(format!("The line has more than {MOST} values."));
    }
    let repeated = times.unwrap_or(0).saturating_add(1);
    if item == "_" {
        values.extend(std::iter::repeat_n(None, times.unwrap_or(1)));
    } else if item == "stale" {
        values.extend(std::iter::repeat_n(Some(STALE), repeated));
    } else {
        let (mut value, step) = steps(item).ok_or_else(wrong)?;
        for _ in 0..repeated {
            values.push(Some(value));
            value += step;
        }
    }
    Ok(rest)
}

/// `{{…}}`, `{{…}}xN` or `{{…}}+{{…}}xN`: so many native histograms.
fn histogram<'t>(text: &'t str, values: &mut Values) -> Result<&'t str, String> {
    let wrong = || "A native histogram `{{…}}` does not end.".to_owned();
    let (_, mut rest) = text.split_once("}}").ok_or_else(wrong)?;
    if let Some(step) = rest.strip_prefix(['+', '-'])
        && step.starts_with("{{")
    {
        rest = step.split_once("}}").ok_or_else(wrong)?.1;
    }
    let mut times = 0;
    if let Some(more) = rest.strip_prefix('x') {
        let end = more.find(|c: char| !c.is_ascii_digit()).unwrap_or(more.len());
        let (count, tail) = more.split_at(end);
        times = count.parse::<usize>().ok().filter(|times| *times <= MOST).ok_or("`x` needs a number.")?;
        rest = tail;
    }
    values.extend(std::iter::repeat_n(Some(HISTOGRAM), times.saturating_add(1)));
    Ok(rest)
}

/// A value, and by how much it grows.
fn steps(item: &str) -> Option<(f64, f64)> {
    if let Some(value) = number(item) {
        return Some((value, 0.0));
    }
    // The sign between value and growth: not the first one, and not that of an exponent.
    let mut before = None;
    for (at, c) in item.char_indices() {
        if at > 0 && matches!(c, '+' | '-') && !matches!(before, Some('e' | 'E')) {
            let (value, step) = item.split_at(at);
            return Some((number(value)?, number(step)?));
        }
        before = Some(c);
    }
    None
}

/// A number with its sign.
pub(super) fn number(text: &str) -> Option<f64> {
    let plain = text.strip_prefix(['+', '-']).unwrap_or(text);
    let word = plain.eq_ignore_ascii_case("inf") || plain.eq_ignore_ascii_case("nan");
    if !word && !plain.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_prometheus_reads_them() {
        for (text, expected) in [
            ("1 2.5 -3", vec![Some(1.0), Some(2.5), Some(-3.0)]),
            ("1+1x3", vec![Some(1.0), Some(2.0), Some(3.0), Some(4.0)]),
            ("8-2x2", vec![Some(8.0), Some(6.0), Some(4.0)]),
            ("-1-1x1", vec![Some(-1.0), Some(-2.0)]),
            ("0x2 _ _x2", vec![Some(0.0), Some(0.0), Some(0.0), None, None, None]),
            ("1e+2 1E-1+1e1x1", vec![Some(100.0), Some(0.1), Some(10.1)]),
            ("Inf -inf", vec![Some(f64::INFINITY), Some(f64::NEG_INFINITY)]),
        ] {
            assert_eq!(values(text), Ok(expected), "{text}");
        }
        let marked = values("stale {{schema:0 sum:1}}x1 {{}}+{{count:1}}x1 {{a b}} 1").unwrap();
        let bits: Vec<u64> = marked.iter().map(|value| value.unwrap().to_bits()).collect();
        let histogram = HISTOGRAM.to_bits();
        let expected = [STALE.to_bits(), histogram, histogram, histogram, histogram, histogram, 1_f64.to_bits()];
        assert_eq!(bits, expected);
        for text in ["x", "1x", "1+x3", "1x99999999999", "{{", "1+1"] {
            assert!(values(text).is_err() || text == "1+1", "{text}");
        }
    }

    #[test]
    fn labels_end_where_values_start() {
        let (labels, values) = series("a:b{x=\"} 1\", \"l.m\"='y'}\t 1 _").unwrap();
        assert_eq!((labels.to_string().as_str(), values.len()), (r#"a:b{"l.m"="y", x="} 1"}"#, 2));
        assert_eq!(series("{} 1").unwrap().0, Labels::default());
        assert_eq!(series("m {{sum:1}}").unwrap().1.len(), 1);
        assert!(series("m{a=~\"b\"} 1").is_err());
    }
}
