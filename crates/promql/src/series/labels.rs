//! The labels of a series, as a value of its own.

use std::fmt;

use crate::syntax::parser::METRIC_NAME;
use crate::syntax::strings::quote;

/// The labels of a series in the order of their names. None is empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Labels(Vec<(String, String)>);

impl Labels {
    /// These labels, sorted. Empty values are no labels; of two with one name the last one stays.
    pub fn new(labels: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut labels: Vec<(String, String)> = labels.into_iter().collect();
        labels.reverse();
        labels.sort_by(|(one, _), (other, _)| one.cmp(other));
        labels.dedup_by(|(later, _), (kept, _)| later == kept);
        labels.retain(|(_, value)| !value.is_empty());
        Labels(labels)
    }

    /// Labels that are sorted already.
    pub(crate) fn sorted(labels: Vec<(String, String)>) -> Self {
        Labels(labels)
    }

    /// The value of a label; empty if it is missing.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The name of the metric; empty if there is none.
    pub fn metric(&self) -> &str {
        self.get(METRIC_NAME)
    }

    /// All labels in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Labels {
    /// As PromQL writes a series: `up{job="api"}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metric = self.metric();
        let bare = crate::syntax::print::is_plain_metric(metric);
        if bare {
            f.write_str(metric)?;
        }
        let mut rest = String::new();
        for (name, value) in self.iter() {
            if bare && name == METRIC_NAME {
                continue;
            }
            rest.push_str(if rest.is_empty() { "{" } else { ", " });
            push_label(name, value, &mut rest);
        }
        match rest.is_empty() {
            true if bare => Ok(()),
            true => f.write_str("{}"),
            false => write!(f, "{rest}}}"),
        }
    }
}

/// Writes `name="value"`, the name in quotes if it needs them.
pub(crate) fn push_label(name: &str, value: &str, out: &mut String) {
    if crate::syntax::print::is_plain_label(name) {
        out.push_str(name);
    } else {
        quote(name, out);
    }
    out.push('=');
    quote(value, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        Labels::new(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn labels_are_sorted_and_never_empty() {
        let one = labels(&[("b", "2"), ("a", "1"), ("c", ""), ("b", "3")]);
        assert_eq!(one, labels(&[("a", "1"), ("b", "3")]));
        assert_eq!(one.get("c"), "");
    }

    #[test]
    fn labels_are_written_as_promql_writes_them() {
        for (pairs, expected) in [
            (&[][..], "{}"),
            (&[("__name__", "up")], "up"),
            (&[("__name__", "up"), ("job", "a\"b")], r#"up{job="a\"b"}"#),
            (&[("__name__", "with.point"), ("l.m", "x")], r#"{__name__="with.point", "l.m"="x"}"#),
        ] {
            assert_eq!(labels(pairs).to_string(), expected);
        }
    }
}
