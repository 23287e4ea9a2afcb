//! Output of findings in every format, their count, and the exit code.

use std::collections::BTreeSet;
use std::io::{BufWriter, Write as _};

use anyhow::{Context as _, Result};
use clearway_core::diagnostic::FindingList;
use clearway_core::diagnostic::report::{Format, Report};
use clearway_core::diagnostic::sarif::Rule;
use clearway_core::{Diagnostic, Severity};

use crate::arguments::FindingFormat;
use crate::exit::Exit;
use crate::output;

/// Writes findings as they come and counts them.
pub(crate) struct Findings {
    report: Report,
    out: Box<dyn std::io::Write>,
    /// What is looked at, such as `object`.
    noun: &'static str,
    /// How many of them were.
    pub(crate) checked: usize,
    errors: usize,
    warnings: usize,
    notes: usize,
    unread: usize,
    /// How many of them were counted and not written.
    dropped: usize,
    yaml: Option<Vec<Diagnostic>>,
    /// What was told already, where objects are looked at again and again.
    pub(crate) told: Option<BTreeSet<String>>,
    /// The objects, where several states of each are looked at.
    pub(crate) distinct: Option<BTreeSet<String>>,
}

impl Findings {
    /// No findings about anything yet.
    pub(crate) fn new(format: FindingFormat, noun: &'static str) -> Self {
        let report = Report::new(match format {
            FindingFormat::Table | FindingFormat::Yaml => Format::Terminal { colour: output::colour() },
            FindingFormat::Json => Format::Json,
            FindingFormat::Sarif => Format::Sarif,
        });
        Findings {
            report,
            out: Box::new(BufWriter::new(anstream::stdout())),
            noun,
            checked: 0,
            errors: 0,
            warnings: 0,
            notes: 0,
            unread: 0,
            dropped: 0,
            yaml: (format == FindingFormat::Yaml).then(Vec::new),
            told: None,
            distinct: None,
        }
    }

    /// Writes what comes before the first finding.
    pub(crate) fn begin(&mut self, rules: &[Rule]) -> Result<()> {
        let head = self.report.head(rules, env!("CARGO_PKG_VERSION"));
        Ok(self.out.write_all(head.as_bytes())?)
    }

    /// Writes a finding.
    pub(crate) fn add(&mut self, finding: &Diagnostic) -> Result<()> {
        if let Some(told) = &mut self.told
            && !told.insert(serde_json::to_string(finding)?)
        {
            return Ok(());
        }
        match finding.severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Info => self.notes += 1,
        }
        let about_input = finding.code.starts_with("IN") && finding.severity == Severity::Error;
        self.unread += usize::from(about_input);
        if let Some(all) = &mut self.yaml {
            all.push(finding.clone());
            return Ok(());
        }
        let text = self.report.item(finding);
        self.out.write_all(text.as_bytes())?;
        // Who follows wants to see it when it happens.
        if self.told.is_some() { Ok(self.out.flush()?) } else { Ok(()) }
    }

    /// Counts the findings of a list that were not kept: they are as bad as those that are shown.
    pub(crate) fn count_dropped(&mut self, list: &FindingList) {
        let dropped = [Severity::Error, Severity::Warning, Severity::Info].map(|severity| list.dropped(severity));
        let [errors, warnings, notes] = dropped;
        self.errors += errors;
        self.warnings += warnings;
        self.notes += notes;
        self.dropped += errors + warnings + notes;
    }

    /// Writes what comes behind the last finding, sums up, and says what it all came to.
    pub(crate) fn end(mut self) -> Result<Exit> {
        let tail = match &self.yaml {
            Some(all) => {
                let yaml = serde_saphyr::to_string(all).context("cannot be written as YAML")?;
                output::document(&yaml).into_owned()
            }
            None => self.report.tail(),
        };
        self.out.write_all(tail.as_bytes())?;
        self.out.flush()?;
        let count = |number: usize, word: &str| format!("{number} {word}{}", if number == 1 { "" } else { "s" });
        let checked = match &self.distinct {
            Some(distinct) => format!("{} of {}", count(self.checked, "state"), count(distinct.len(), self.noun)),
            None => count(self.checked, self.noun),
        };
        output::print_note!(
            "{checked} checked: {}, {}, {}",
            count(self.errors, "error"),
            count(self.warnings, "warning"),
            count(self.notes, "note"),
        );
        if self.dropped > 0 {
            output::print_note!("{} not shown", count(self.dropped, "finding"));
        }
        if self.unread > 0 {
            output::print_note!("{} could not be read, so the result is incomplete", count(self.unread, "part"));
        } else if self.checked == 0 {
            output::print_note!("nothing to check");
        }
        Ok(match (self.unread, self.errors + self.warnings) {
            (0, 0) => Exit::Yes,
            (0, _) => Exit::No,
            _ => Exit::CouldNotRun,
        })
    }
}
