//! Output of findings in every format, their count, and the exit code.

mod code_summary;
pub(crate) mod suppression_file;

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clearway_core::diagnostic::report::{Format, Report};
use clearway_core::diagnostic::sarif::Rule;
use clearway_core::diagnostic::suppressions::{self, Suppressions};
use clearway_core::diagnostic::{FindingList, Selection};
use clearway_core::{Diagnostic, Severity, Timestamp};
use code_summary::CodeSummary;

use crate::arguments::{FindingFormat, LintOptions};
use crate::exit::Exit;
use crate::output;

/// Writes findings as they come and counts them.
pub(crate) struct Findings {
    format: FindingFormat,
    report: Report,
    out: Box<dyn io::Write>,
    /// What is looked at, such as `object`.
    noun: &'static str,
    /// How many of them were.
    pub(crate) checked: usize,
    counts: Counts,
    yaml: Option<Vec<Diagnostic>>,
    lint: Option<Lint>,
    /// What was told already, where objects are looked at again and again.
    pub(crate) told: Option<BTreeSet<String>>,
    /// The objects, where several states of each are looked at.
    pub(crate) distinct: Option<BTreeSet<String>>,
}

#[derive(Default)]
struct Counts {
    errors: usize,
    warnings: usize,
    notes: usize,
    /// Findings about input that could not be read.
    unread: usize,
    /// Findings that were counted and not kept.
    dropped: usize,
    /// Errors and warnings below `--severity`: they do not decide about the exit code.
    below: usize,
}

/// What the options of a linter say about its findings.
struct Lint {
    rules: Vec<Rule>,
    selection: Selection,
    minimum: Severity,
    suppressions: Suppressions,
    now: Timestamp,
    /// Whether all findings that there are reach this place, so that an unused suppression is known.
    is_complete: bool,
    suppressed: usize,
    summary: CodeSummary,
}

/// What a linter says about itself and its input.
pub(crate) struct LintInput {
    /// Its rules.
    pub(crate) rules: Vec<Rule>,
    /// The directories that are linted, which may have a file of suppressions.
    pub(crate) directories: Vec<PathBuf>,
    /// The present, by which suppressions expire.
    pub(crate) now: Timestamp,
    /// Whether only a part of the findings is asked for, as with `--new-since`.
    pub(crate) is_partial: bool,
}

impl Findings {
    /// No findings about anything yet.
    pub(crate) fn new(format: FindingFormat, noun: &'static str) -> Self {
        let report = Report::new(match format {
            FindingFormat::Table | FindingFormat::Wide | FindingFormat::Yaml => {
                Format::Terminal { colour: output::colour() }
            }
            FindingFormat::Json => Format::Json,
            FindingFormat::Sarif => Format::Sarif,
        });
        Findings {
            format,
            report,
            out: Box::new(BufWriter::new(anstream::stdout())),
            noun,
            checked: 0,
            counts: Counts::default(),
            yaml: (format == FindingFormat::Yaml).then(Vec::new),
            lint: None,
            told: None,
            distinct: None,
        }
    }

    /// Findings of a linter, with the options that all linters have. The rules are written for formats that have them.
    pub(crate) fn of_linter(
        format: FindingFormat,
        noun: &'static str,
        options: &LintOptions,
        input: LintInput,
    ) -> Result<Self> {
        let mut rules = input.rules;
        rules.extend(suppressions::RULES);
        let known: Vec<&str> = rules.iter().map(|rule| rule.code).collect();
        let selection = Selection::new(&options.select, &options.ignore, &known).map_err(|error| {
            let family = |code: &&str| code.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_owned();
            let families: BTreeSet<String> = known.iter().map(family).collect();
            anyhow!("{error}; codes begin with {}", families.into_iter().collect::<Vec<_>>().join(" or "))
        })?;
        let suppressions = suppression_file::load(options.suppressions.as_deref(), &input.directories, &known)?;
        let usual = if format.is_text() { Severity::Warning } else { Severity::Info };
        let mut findings = Findings::new(format, noun);
        findings.begin(&rules)?;
        findings.lint = Some(Lint {
            minimum: options.severity.map_or(usual, Severity::from),
            is_complete: selection.is_complete() && !input.is_partial,
            rules,
            selection,
            suppressions,
            now: input.now,
            suppressed: 0,
            summary: CodeSummary::default(),
        });
        Ok(findings)
    }

    /// Writes what comes before the first finding.
    pub(crate) fn begin(&mut self, rules: &[Rule]) -> Result<()> {
        let head = self.report.head(rules, env!("CARGO_PKG_VERSION"));
        Ok(self.out.write_all(head.as_bytes())?)
    }

    /// Writes a finding, if it is wanted and not suppressed.
    pub(crate) fn add(&mut self, finding: &Diagnostic) -> Result<()> {
        self.add_if(finding, true)
    }

    /// Writes a finding that nobody can accept: what it is about is not used at all, and whoever wrote that may have written
    /// the suppressions, too.
    pub(crate) fn add_refusal(&mut self, finding: &Diagnostic) -> Result<()> {
        self.add_if(finding, false)
    }

    fn add_if(&mut self, finding: &Diagnostic, can_be_suppressed: bool) -> Result<()> {
        if let Some(told) = &mut self.told
            && !told.insert(serde_json::to_string(finding)?)
        {
            return Ok(());
        }
        if let Some(lint) = &mut self.lint {
            if !lint.selection.includes(&finding.code) {
                return Ok(());
            }
            if can_be_suppressed && lint.suppressions.covers(finding, lint.now) {
                lint.suppressed = lint.suppressed.saturating_add(1);
                return Ok(());
            }
        }
        self.count_and_write(finding)
    }

    fn count_and_write(&mut self, finding: &Diagnostic) -> Result<()> {
        match finding.severity {
            Severity::Error => self.counts.errors += 1,
            Severity::Warning => self.counts.warnings += 1,
            Severity::Info => self.counts.notes += 1,
        }
        let about_input = finding.code.starts_with("IN") && finding.severity == Severity::Error;
        self.counts.unread += usize::from(about_input);
        if let Some(lint) = &mut self.lint {
            let is_shown = finding.severity >= lint.minimum;
            // Whoever watches wants to see each one when it happens; the others are shown at the end.
            let at_the_end = self.format == FindingFormat::Table && self.told.is_none();
            lint.summary.push(finding, is_shown && at_the_end);
            if !is_shown {
                self.counts.below += usize::from(finding.severity > Severity::Info);
                return Ok(());
            }
            if at_the_end {
                return Ok(());
            }
        }
        if let Some(all) = &mut self.yaml {
            all.push(finding.clone());
            return Ok(());
        }
        let text = self.report.item(finding);
        self.out.write_all(text.as_bytes())?;
        if self.told.is_some() { Ok(self.out.flush()?) } else { Ok(()) }
    }

    /// Counts the findings of a list that were not kept: they are as bad as those that are shown.
    pub(crate) fn count_dropped(&mut self, list: &FindingList) {
        let dropped = [Severity::Error, Severity::Warning, Severity::Info].map(|severity| list.dropped(severity));
        let [errors, warnings, notes] = dropped;
        self.counts.errors += errors;
        self.counts.warnings += warnings;
        self.counts.notes += notes;
        self.counts.dropped += errors + warnings + notes;
    }

    /// Writes what comes behind the last finding, sums up, and says what it all came to.
    pub(crate) fn end(mut self) -> Result<Exit> {
        if let Some(lint) = &self.lint {
            let about = lint.suppressions.findings(lint.now, lint.is_complete);
            let wanted = about.into_iter().filter(|finding| lint.selection.includes(&finding.code));
            for finding in wanted.collect::<Vec<_>>() {
                self.count_and_write(&finding)?;
            }
        }
        let tail = match &self.yaml {
            Some(all) => output::to_yaml(all)?,
            None => self.report.tail(),
        };
        self.out.write_all(tail.as_bytes())?;
        self.out.flush()?;
        self.print_summary()?;
        let Counts { errors, warnings, unread, below, .. } = self.counts;
        Ok(match (unread, (errors + warnings).saturating_sub(below)) {
            (0, 0) => Exit::Yes,
            (0, _) => Exit::No,
            _ => Exit::CouldNotRun,
        })
    }

    /// The findings that are shown at the end, a line for each code, and the counts.
    fn print_summary(&self) -> Result<()> {
        let count = |number: usize, word: &str| format!("{number} {word}{}", if number == 1 { "" } else { "s" });
        if let Some(lint) = self.lint.as_ref().filter(|_| self.format.is_text()) {
            let mut text = lint.summary.findings(output::settings().width(), output::colour());
            let title = |code: &str| lint.rules.iter().find(|rule| rule.code == code).map(|rule| rule.title);
            if let Some(table) = lint.summary.table(title) {
                text.push_str(&table.render(output::layout(self.format == FindingFormat::Wide)));
            }
            output::print_text(&text)?;
        }
        let checked = match &self.distinct {
            Some(distinct) => format!("{} of {}", count(self.checked, "state"), count(distinct.len(), self.noun)),
            None => count(self.checked, self.noun),
        };
        let Counts { errors, warnings, notes, dropped, unread, .. } = self.counts;
        output::print_note!(
            "{checked} checked: {}, {}, {}",
            count(errors, "error"),
            count(warnings, "warning"),
            count(notes, "note"),
        );
        if let Some(lint) = &self.lint {
            if lint.suppressed > 0 {
                output::print_note!("{} suppressed", count(lint.suppressed, "finding"));
            }
            if lint.summary.left_out() > 0 {
                let left_out = count(lint.summary.left_out(), "finding");
                output::print_note!("{left_out} not shown; -o wide shows all, --select CODE those of one code");
            }
            let hidden = [(Severity::Error, errors), (Severity::Warning, warnings), (Severity::Info, notes)];
            let hidden: usize = hidden.iter().filter(|(one, _)| *one < lint.minimum).map(|(_, number)| number).sum();
            if hidden > 0 && self.format.is_text() {
                output::print_note!(
                    "{} below {} counted only; --severity info shows all",
                    count(hidden, "finding"),
                    lint.minimum.as_str()
                );
            }
        }
        if dropped > 0 {
            output::print_note!("{} not shown", count(dropped, "finding"));
        }
        if unread > 0 {
            output::print_problem!("{} could not be read, so the result is incomplete", count(unread, "part"));
        } else if self.checked == 0 {
            output::print_problem!("nothing to check");
        }
        Ok(())
    }
}
