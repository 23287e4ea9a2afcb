//! `clearway promql test`: runs test scripts.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result, anyhow};
use clearway_promql::Limits;
use clearway_promql::eval::Settings;
use clearway_promql::script::{self, Report, Verdict};
use serde_json::{Value, json};

use crate::arguments::PromqlTest;
use crate::exit::Exit;
use crate::junit;
use crate::output;

/// Runs the command.
pub(super) fn run(options: &PromqlTest) -> Result<Exit> {
    let mut reports = Vec::new();
    for file in &options.files {
        let name = file.display().to_string();
        let text = String::from_utf8(super::series::input(file)?).map_err(|_| anyhow!("{name} is not UTF-8"))?;
        let limits = Limits { experimental: true, ..Limits::default() };
        let report = script::run(&text, &limits, &Settings::default()).map_err(|error| anyhow!("{name}: {error}"))?;
        reports.push((name, report));
    }
    if let Some(file) = &options.report.junit {
        let suites = reports.iter().map(|(name, report)| (name.as_str(), cases(report)));
        fs::write(file, junit::write(suites)).with_context(|| format!("cannot write {}", file.display()))?;
    }
    output::print_data(options.output.format, &data(&reports), || table(&reports))?;
    let mut total = (0, 0, 0);
    for (_, report) in &reports {
        let counts = report.counts();
        total = (total.0 + counts.0, total.1 + counts.1, total.2 + counts.2);
    }
    if options.output.format.is_text() {
        let (passed, failed, unsupported) = total;
        output::print_note!("{passed} passed, {failed} failed, {unsupported} unsupported");
    }
    Ok(if total.1 > 0 { Exit::No } else { Exit::Yes })
}

/// The failures with what was wanted and what came, what is not supported by line, and the counts of every script.
fn table(reports: &[(String, Report)]) -> String {
    let mut text = String::new();
    for (name, report) in reports {
        let (passed, failed, unsupported) = report.counts();
        let word = if failed > 0 { "FAIL" } else { "ok" };
        let _ = writeln!(text, "{word} {name}: {passed} passed, {failed} failed, {unsupported} unsupported");
        for outcome in &report.outcomes {
            let (word, message) = match &outcome.verdict {
                Verdict::Passed => continue,
                Verdict::Failed(message) => ("FAIL", message),
                Verdict::Unsupported(message) => ("skip", message),
            };
            let _ = writeln!(text, "  {word} line {}: {}", outcome.line, output::printable(&outcome.query));
            for line in message.lines() {
                let _ = writeln!(text, "       {}", output::printable(line));
            }
        }
    }
    text
}

fn data(reports: &[(String, Report)]) -> Vec<Value> {
    let outcome = |outcome: &script::Outcome| {
        let (verdict, message) = match &outcome.verdict {
            Verdict::Passed => ("passed", None),
            Verdict::Failed(message) => ("failed", Some(message)),
            Verdict::Unsupported(message) => ("unsupported", Some(message)),
        };
        json!({"line": outcome.line, "query": outcome.query, "verdict": verdict, "message": message})
    };
    let report = |(name, report): &(String, Report)| {
        let (passed, failed, unsupported) = report.counts();
        let outcomes: Vec<Value> = report.outcomes.iter().map(outcome).collect();
        json!({"file": name, "passed": passed, "failed": failed, "unsupported": unsupported, "outcomes": outcomes})
    };
    reports.iter().map(report).collect()
}

fn cases(report: &Report) -> Vec<junit::Case> {
    let case = |outcome: &script::Outcome| junit::Case {
        name: format!("line {}: {}", outcome.line, outcome.query),
        result: match &outcome.verdict {
            Verdict::Passed => junit::Outcome::Passed,
            Verdict::Failed(message) => junit::Outcome::Failed(message.clone()),
            Verdict::Unsupported(message) => junit::Outcome::Skipped(message.clone()),
        },
    };
    report.outcomes.iter().map(case).collect()
}
