//! `clearway graph lint`: findings in graph-data or an answer.

mod rule_texts;

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use clearway_core::suggestion::did_you_mean;
use clearway_core::{Diagnostic, Limits, Severity};
use clearway_graph::{Inputs, codes, load};
use clearway_promql::Fence;
use clearway_sources::clock;
use serde_json::json;

use super::source::{self, GraphInput, ServiceAnswer};
use crate::arguments::{DataFormat, FindingFormat, GraphLint};
use crate::exit::Exit;
use crate::findings::{self, Findings};
use crate::output;
use rule_texts::TextReader;

/// Runs the command. Exit code 0: clean; 1: warnings or errors; 3: the graph-data is refused.
pub(super) fn run(options: &GraphLint) -> Result<Exit> {
    if let Some(code) = &options.explain {
        return explain(code, options.output.format);
    }
    let texts = TextReader::with(options.queries.fence()?);
    let checked = LintInput::of(source::files_or_answer(&options.source, None, None)?, &texts);
    let known = match &options.new_since {
        Some(revision) => {
            let is_in_git = !checked.is_answer && options.source.graph.as_path().is_dir();
            if !is_in_git {
                bail!("`--new-since {revision}` needs a git repository; {} is not one", options.source.graph);
            }
            LintInput::of(source::local(options.source.graph.as_path(), Some(revision))?, &texts).found
        }
        None => Vec::new(),
    };
    let known: BTreeSet<_> = known.iter().map(identity).collect();
    let graph = options.source.graph.as_path();
    let input = findings::LintInput {
        rules: codes::sarif_rules(),
        directories: graph.is_dir().then(|| graph.to_owned()).into_iter().collect(),
        now: clock::now(),
        is_partial: options.new_since.is_some(),
    };
    let noun = if checked.is_answer { "answer" } else { "file" };
    let mut findings = Findings::of_linter(options.output.format, noun, &options.lint, input)?;
    findings.checked = checked.number;
    for finding in checked.found.iter().filter(|finding| !known.contains(&identity(finding))) {
        let mut finding = finding.clone();
        // Who adds a block can still say why; who finds an old one cannot.
        if options.new_since.is_some() && finding.code == codes::BLOCK_SILENT.code {
            finding.severity = Severity::Warning;
        }
        if checked.refused && finding.severity == Severity::Error {
            findings.add_refusal(&finding)?;
        } else {
            findings.add(&finding)?;
        }
    }
    let exit = findings.end()?;
    if checked.refused {
        bail!("the graph-data is refused; see the errors above");
    }
    Ok(exit)
}

/// What the reader and the linter find in files, by place.
pub(crate) fn findings(inputs: &Inputs) -> Vec<Diagnostic> {
    LintInput::of_files(inputs, &TextReader::with(Fence::default())).found
}

/// What came of looking at files or an answer.
struct LintInput {
    found: Vec<Diagnostic>,
    refused: bool,
    is_answer: bool,
    /// How many files, or answers.
    number: usize,
}

impl LintInput {
    fn of(given: GraphInput, texts: &TextReader) -> Self {
        match given {
            GraphInput::Files(inputs) => LintInput::of_files(&inputs, texts),
            GraphInput::Answer(answer) => LintInput::of_answer(answer, texts),
        }
    }

    /// What the reader and the linter find, by place; of files that are refused, what the reader finds.
    fn of_files(inputs: &Inputs, texts: &TextReader) -> Self {
        let outcome = load(inputs, &Limits::default());
        let mut found = outcome.diagnostics;
        if let Some(revision) = &outcome.revision {
            found.extend(clearway_graph::lint(revision, inputs, texts));
            found.sort_by(|one, other| one.place.cmp(&other.place).then_with(|| one.code.cmp(&other.code)));
        }
        let number = inputs.iter().count();
        LintInput { found, refused: outcome.revision.is_none(), is_answer: false, number }
    }

    /// What the reader of answers found, and what the linter says about a graph without files.
    fn of_answer(answer: ServiceAnswer, texts: &TextReader) -> Self {
        let mut found = answer.diagnostics;
        for mut finding in clearway_graph::lint::answer(&answer.graph, texts) {
            finding.place.file = Some(answer.name.clone());
            found.push(finding);
        }
        LintInput { found, refused: false, is_answer: true, number: 1 }
    }
}

/// What makes two findings of two revisions the same: not the line, which moves.
fn identity(finding: &Diagnostic) -> (&str, Option<&str>, &str) {
    (&finding.code, finding.place.file.as_deref(), &finding.message)
}

fn explain(code: &str, format: FindingFormat) -> Result<Exit> {
    let Some(entry) = codes::code(&code.to_ascii_uppercase()) else {
        let known: Vec<&str> = codes::CODES.iter().map(|entry| entry.code).collect();
        let range = known.first().zip(known.last()).map(|(first, last)| format!("{first} to {last}"));
        let hint = did_you_mean(code, known);
        bail!("code `{code}` not found; the codes are {}{hint}", range.unwrap_or_default());
    };
    let format = match format {
        FindingFormat::Table | FindingFormat::Wide => DataFormat::Table,
        FindingFormat::Yaml => DataFormat::Yaml,
        FindingFormat::Json => DataFormat::Json,
        FindingFormat::Sarif => bail!("`--explain` does not support `-o sarif`"),
    };
    let data = json!({"code": entry.code, "severity": entry.severity, "title": entry.title, "text": entry.text});
    output::print_data(format, &data, || {
        format!("{} ({}): {}\n\n{}\n", entry.code, entry.severity.as_str(), entry.title, entry.text)
    })?;
    Ok(Exit::Yes)
}
