//! A stream of diagnostics in one of three formats, written piece by piece.

use super::sarif::{self, Rule};
use super::{Diagnostic, terminal};
use crate::terminal_text::escape_json;

/// How findings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For a person; `colour` adds ANSI styles.
    Terminal {
        /// Whether the reader shows ANSI styles.
        colour: bool,
    },
    /// A JSON array, one finding a line.
    Json,
    /// A SARIF 2.1.0 log.
    Sarif,
}

/// Turns findings into text: [`Report::head`], then [`Report::item`] for each, then [`Report::tail`].
#[derive(Debug)]
pub struct Report {
    format: Format,
    items: usize,
}

impl Report {
    /// A report in a format.
    pub fn new(format: Format) -> Self {
        Report { format, items: 0 }
    }

    /// What comes before the first finding.
    pub fn head(&self, rules: &[Rule], tool_version: &str) -> String {
        match self.format {
            Format::Terminal { .. } => String::new(),
            Format::Json => "[".to_owned(),
            Format::Sarif => sarif::head(rules, tool_version),
        }
    }

    /// The next finding.
    pub fn item(&mut self, diagnostic: &Diagnostic) -> String {
        let separator = if self.items == 0 { "\n" } else { ",\n" };
        self.items += 1;
        match self.format {
            Format::Terminal { colour } => format!("{}\n\n", terminal::render(diagnostic, colour)),
            Format::Json => format!("{separator}{}", escape_json(&to_json(diagnostic))),
            Format::Sarif => format!("{separator}{}", escape_json(&sarif::result(diagnostic).to_string())),
        }
    }

    /// What comes after the last finding.
    pub fn tail(&self) -> String {
        match self.format {
            Format::Terminal { .. } => String::new(),
            Format::Json if self.items == 0 => "]\n".to_owned(),
            Format::Json => "\n]\n".to_owned(),
            Format::Sarif => format!("\n{}\n", sarif::TAIL),
        }
    }
}

fn to_json(diagnostic: &Diagnostic) -> String {
    // A diagnostic is strings and numbers under string keys, which JSON always has a form for.
    serde_json::to_string(diagnostic).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::Severity;
    use super::*;

    fn written(format: Format, count: usize) -> String {
        let mut report = Report::new(format);
        let mut text = report.head(&[], "0.1.0");
        for _ in 0..count {
            text += &report.item(&Diagnostic::new("X1", Severity::Error, "bad"));
        }
        text + &report.tail()
    }

    #[test]
    fn json_and_sarif_are_valid_for_no_one_and_many_findings() {
        for count in [0, 1, 3] {
            let list: Vec<serde_json::Value> = serde_json::from_str(&written(Format::Json, count)).unwrap();
            assert_eq!(list.len(), count);
            let log: serde_json::Value = serde_json::from_str(&written(Format::Sarif, count)).unwrap();
            assert_eq!(log["runs"][0]["results"].as_array().map(Vec::len), Some(count));
        }
    }
}
