//! `clearway cel test`: runs tests in the format of the CEL specification.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result, anyhow};
use clearway_cel::conformance::{self, CaseNote, Report};
use serde_json::{Value, json};

use crate::arguments::CelTest;
use crate::exit::Exit;
use crate::junit;
use crate::output;

/// Runs the command.
pub(super) fn run(options: &CelTest) -> Result<Exit> {
    let mut reports = Vec::new();
    for file in &options.files {
        let name = file.display().to_string();
        let bytes = crate::commands::promql::series::input(file)?;
        let text = String::from_utf8(bytes).map_err(|_| anyhow!("{name} is not UTF-8"))?;
        let report = conformance::run(&text).map_err(|error| anyhow!("{name}: {error}"))?;
        reports.push((name, report));
    }
    if let Some(file) = &options.report.junit {
        let suites = reports.iter().map(|(name, report)| (name.as_str(), cases(report)));
        fs::write(file, junit::write(suites)).with_context(|| format!("cannot write {}", file.display()))?;
    }
    output::print_data(options.output.format, &data(&reports), || table(&reports))?;
    let count = |of: fn(&Report) -> usize| reports.iter().map(|(_, report)| of(report)).sum::<usize>();
    let failed = count(|report| report.failed.len());
    if options.output.format.is_text() {
        let (passed, unsupported) = (count(|report| report.passed), count(|report| report.unsupported.len()));
        output::print_note!("{passed} passed, {failed} failed, {unsupported} unsupported");
    }
    Ok(if failed > 0 { Exit::No } else { Exit::Yes })
}

/// The failures with what was wanted and what came, what is not supported with the reason, and the counts.
fn table(reports: &[(String, Report)]) -> String {
    let mut text = String::new();
    for (name, report) in reports {
        let word = if report.failed.is_empty() { "ok" } else { "FAIL" };
        let (failed, unsupported) = (report.failed.len(), report.unsupported.len());
        let _ = writeln!(text, "{word} {name}: {} passed, {failed} failed, {unsupported} unsupported", report.passed);
        let cases = report.failed.iter().map(|case| ("FAIL", case));
        for (word, case) in cases.chain(report.unsupported.iter().map(|case| ("skip", case))) {
            let _ =
                writeln!(text, "  {word} {}: {}", output::printable(&case.name), output::printable(&case.expression));
            let _ = writeln!(text, "       {}", output::printable(&case.note));
        }
    }
    text
}

fn data(reports: &[(String, Report)]) -> Vec<Value> {
    let case = |case: &CaseNote| json!({"name": case.name, "expression": case.expression, "message": case.note});
    let report = |(name, report): &(String, Report)| {
        let list = |cases: &[CaseNote]| cases.iter().map(case).collect::<Vec<Value>>();
        json!({
            "file": name,
            "passed": report.passed,
            "failed": list(&report.failed),
            "unsupported": list(&report.unsupported),
        })
    };
    reports.iter().map(report).collect()
}

fn cases(report: &Report) -> Vec<junit::Case> {
    let named = |case: &CaseNote, result| junit::Case { name: case.name.clone(), result };
    let failed = report.failed.iter().map(|case| named(case, junit::Outcome::Failed(case.note.clone())));
    let skipped = report.unsupported.iter().map(|case| named(case, junit::Outcome::Skipped(case.note.clone())));
    let passed = (0..report.passed)
        .map(|number| junit::Case { name: format!("passed {}", number + 1), result: junit::Outcome::Passed });
    failed.chain(skipped).chain(passed).collect()
}
