//! `clearway bundle check`: whether every change may ship under the version of the new bundle.

use std::collections::BTreeSet;

use anyhow::Result;
use clearway_bundle::{
    Bundle, Channel, Comparison, Finding, Judgement, Level, NameLedger, Outcome, RULES, Verdict, Waivers,
    compare_channels, conversion_losses,
};
use clearway_core::diagnostic::report::{Format, Report};
use clearway_core::diagnostic::sarif::Rule;
use clearway_core::{Diagnostic, Severity};
use clearway_sources::clock;
use serde_json::json;

use super::source;
use crate::arguments::{BundleCheck, BundleCheckFormat, BundleLevel, DataFormat};
use crate::exit::Exit;
use crate::junit::{self, Case};
use crate::output::{self, Document};

pub(super) fn run(options: &BundleCheck) -> Result<Exit> {
    let pair = [options.pair.old.as_str(), options.pair.new.as_str()];
    let names: Vec<&str> = pair.into_iter().chain(options.experimental.iter().map(String::as_str)).collect();
    let bundles = source::read(&names, &options.pair.reading)?;
    let (old, new) = two(&bundles)?;
    let experimental = bundles.get(2).zip(bundles.get(3));
    let ledger = options.ledger.file.as_deref().map(read_ledger).transpose()?;
    let comparison = Comparison {
        old_experimental: experimental.map(|(old, _)| old),
        new_experimental: experimental.map(|(_, new)| new),
        ledger: ledger.as_ref(),
        level: level(options.level),
        ..Comparison::new(old, new)
    };
    let mut judgement = comparison.judge();
    add_other_findings(&mut judgement, new, experimental.map(|(_, new)| new));
    let mut waivers = match &options.waivers {
        Some(path) => Waivers::read(&path.display().to_string(), &source::read_text(path)?).between(old, new),
        None => Waivers::default(),
    };
    let judgement = judgement.with_waivers(&mut waivers, clock::now());
    let problems = waivers.problems();
    for problem in &problems {
        output::print_diagnostic(problem);
    }
    print(options, old, new, &judgement)?;
    let unreadable_waiver = problems.iter().any(|problem| problem.severity == Severity::Error);
    Ok(match judgement.outcome() {
        Outcome::Violation => Exit::No,
        Outcome::NeedsReview => Exit::Unknown,
        Outcome::Allowed if unreadable_waiver => Exit::Unknown,
        Outcome::Allowed => Exit::Yes,
    })
}

pub(super) fn two(bundles: &[Bundle]) -> Result<(&Bundle, &Bundle)> {
    match bundles {
        [old, new, ..] => Ok((old, new)),
        _ => anyhow::bail!("two bundles are compared"),
    }
}

pub(super) fn read_ledger(path: &std::path::Path) -> Result<NameLedger> {
    let (ledger, problems) = NameLedger::read(&path.display().to_string(), &source::read_text(path)?);
    for problem in &problems {
        output::print_diagnostic(problem);
    }
    anyhow::ensure!(problems.is_empty(), "{} is not a ledger of names; see the problems above", path.display());
    Ok(ledger)
}

fn level(level: BundleLevel) -> Option<Level> {
    match level {
        BundleLevel::Auto => None,
        BundleLevel::Patch => Some(Level::Patch),
        BundleLevel::Minor => Some(Level::Minor),
        BundleLevel::Major => Some(Level::Major),
    }
}

/// Adds what is wrong with the new bundle by itself: conversions that lose fields (V5), and a standard channel that is no
/// subset of the experimental one (V2).
fn add_other_findings(judgement: &mut Judgement, new: &Bundle, experimental: Option<&Bundle>) {
    for crd in new.crds.values() {
        let mut losses = conversion_losses(crd, None);
        if new.channel == Some(Channel::Experimental) {
            // Experimental fields need not survive, and without the standard channel it is not known which they are.
            for loss in &mut losses {
                loss.verdict = Verdict::NeedsReview;
            }
        }
        judgement.findings.extend(losses);
    }
    if let Some(experimental) = experimental {
        // What the standard channel loses was found above; experimental fields need not survive.
        for crd in experimental.crds.values() {
            let Some(standard) = new.crds.get(&crd.name) else { continue };
            let known: BTreeSet<String> = conversion_losses(standard, None)
                .into_iter()
                .map(|loss| format!("{} {}", loss.path, loss.message))
                .collect();
            let losses = conversion_losses(crd, Some(standard)).into_iter();
            judgement
                .findings
                .extend(losses.filter(|loss| !known.contains(&format!("{} {}", loss.path, loss.message))));
        }
        judgement.findings.extend(compare_channels(new, experimental).violations);
    }
}

fn print(options: &BundleCheck, old: &Bundle, new: &Bundle, judgement: &Judgement) -> Result<()> {
    match options.output {
        BundleCheckFormat::Table => print_data(options, DataFormat::Table, old, new, judgement),
        BundleCheckFormat::Wide => print_data(options, DataFormat::Wide, old, new, judgement),
        BundleCheckFormat::Json => print_data(options, DataFormat::Json, old, new, judgement),
        BundleCheckFormat::Yaml => print_data(options, DataFormat::Yaml, old, new, judgement),
        BundleCheckFormat::Sarif => {
            let diagnostics: Vec<Diagnostic> = judgement
                .findings
                .iter()
                .filter(|finding| is_shown(options, finding))
                .map(Finding::to_diagnostic)
                .collect();
            let rules: Vec<Rule> = RULES
                .iter()
                .map(|rule| Rule { code: rule.id.as_str(), title: rule.title, why: rule.why, text: rule.why })
                .collect();
            let mut report = Report::new(Format::Sarif);
            let mut text = report.head(&rules, env!("CARGO_PKG_VERSION"));
            for diagnostic in &diagnostics {
                text.push_str(&report.item(diagnostic));
            }
            text.push_str(&report.tail());
            Ok(output::print_document(&text)?)
        }
        BundleCheckFormat::Junit => Ok(output::print_document(&junit(judgement))?),
    }
}

fn is_shown(options: &BundleCheck, finding: &Finding) -> bool {
    options.show_allowed || finding.verdict != Verdict::Allowed
}

fn print_data(
    options: &BundleCheck,
    format: DataFormat,
    old: &Bundle,
    new: &Bundle,
    judgement: &Judgement,
) -> Result<()> {
    let data = json!({
        "old": describe(old), "new": describe(new), "outcome": judgement.outcome(), "needed": judgement.needed(),
        "judgement": judgement,
    });
    output::print_data(format, &data, || {
        let findings: Vec<&Finding> = judgement.findings.iter().filter(|finding| is_shown(options, finding)).collect();
        table(&findings)
    })?;
    if format.is_text() {
        print_summary(old, new, judgement);
    }
    Ok(())
}

fn describe(bundle: &Bundle) -> serde_json::Value {
    json!({
        "name": bundle.name, "version": bundle.version.as_ref().map(ToString::to_string),
        "channel": bundle.channel.map(Channel::as_str), "crds": bundle.crds.len(),
        "incomplete": source::is_incomplete(bundle),
    })
}

/// One line for each finding, and the sentence about stored objects below it.
pub(crate) fn table(findings: &[&Finding]) -> Document {
    if findings.is_empty() {
        return Document::default();
    }
    let rows = findings.iter().map(|finding| {
        let verdict = match &finding.waiver {
            Some(waiver) => format!("waived until {}", waiver.expires),
            None => finding.verdict.to_string(),
        };
        let path = finding.path.clone();
        vec![finding.rule.to_string(), verdict, finding.needed.to_string(), path, finding.message.clone()]
    });
    output::table(&["RULE", "VERDICT", "NEEDS", "WHERE", "CHANGE"], rows).into()
}

fn print_summary(old: &Bundle, new: &Bundle, judgement: &Judgement) {
    let count = |verdict: Verdict| judgement.findings.iter().filter(|finding| finding.verdict == verdict).count();
    let (from, to) = (old.version_text(), new.version_text());
    let counted = |verdict: Verdict, one: &str, many: &str| match count(verdict) {
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    };
    output::print_note!(
        "{from} → {to} ({}): {}, {} to review, {}, {} waived, {} allowed",
        judgement.allowed,
        counted(Verdict::Violation, "violation", "violations"),
        count(Verdict::NeedsReview),
        counted(Verdict::Warning, "warning", "warnings"),
        count(Verdict::Waived),
        count(Verdict::Allowed),
    );
    if judgement.left_out > 0 {
        output::print_note!("{} findings more are not shown", judgement.left_out);
    }
    if judgement.incomplete {
        output::print_problem!("a part of a bundle could not be read, so the answer is not complete");
    }
}

/// One test for each CRD: it fails for violations, and is skipped for what needs review.
fn junit(judgement: &Judgement) -> String {
    let mut crds: Vec<&str> = judgement.findings.iter().filter_map(|finding| finding.crd.as_deref()).collect();
    crds.sort_unstable();
    crds.dedup();
    let of = |crd: Option<&str>, verdict: Verdict| -> Vec<String> {
        let findings = judgement.findings.iter();
        let wanted = findings.filter(|finding| finding.crd.as_deref() == crd && finding.verdict == verdict);
        wanted.map(|finding| format!("{} {}: {}", finding.rule, finding.path, finding.message)).collect()
    };
    let case = |name: &str, crd: Option<&str>| {
        let (violations, reviews) = (of(crd, Verdict::Violation), of(crd, Verdict::NeedsReview));
        let result = if !violations.is_empty() {
            junit::Outcome::Failed(violations.join("\n"))
        } else if !reviews.is_empty() {
            junit::Outcome::Skipped(format!("needs review: {}", reviews.join("\n")))
        } else {
            junit::Outcome::Passed
        };
        Case { name: name.to_owned(), result }
    };
    let mut cases = vec![case("bundle", None)];
    cases.extend(crds.into_iter().map(|crd| case(crd, Some(crd))));
    junit::write([("clearway bundle check", cases)])
}
