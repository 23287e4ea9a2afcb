//! `clearway risk test`: runs the unit tests of risks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use clearway_advice::evidence::{Objects, Snapshot};
use clearway_advice::{RiskProof, RuleProof, Settings, render};
use clearway_core::suggestion::did_you_mean;
use clearway_core::{Limits, Timestamp};
use clearway_graph::{Risk, load};
use clearway_promql::Millis;
use clearway_promql::read::{self, ReadLimits};
use clearway_sources::files::confined::ConfinedDirectory;
use clearway_sources::graph_data;
use serde::Serialize;

use super::broken_evidence::{self, CaseOutcome};
use super::cases::{self, Case, DIRECTORY, Expected};
use super::occurrences;
use crate::arguments::RiskTest;
use crate::commands::assess::snapshot_evidence;
use crate::exit::Exit;
use crate::junit;
use crate::output;

/// What came of one case.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TestResults {
    risk: String,
    /// The file of the case; none for one that every risk has.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    case: String,
    passed: bool,
    /// What became of the risk: match, no match or unknown; nothing if the case was not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    /// Why it was not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<&'static str>,
    /// What was wanted and what came, with the proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// Runs the command.
pub(super) fn run(options: &RiskTest) -> Result<Exit> {
    let graph = &options.graph;
    if !graph.is_dir() {
        let what = if graph.exists() { "is not a directory" } else { "not found" };
        bail!("{} {what}: `risk test` needs a graph-data directory, with its tests in {DIRECTORY}/", graph.display());
    }
    let inputs = graph_data::directory(graph, &Limits::for_graph_data())?;
    let Some(revision) = load(&inputs, &Limits::default()).revision else {
        bail!("the graph-data is refused; run `clearway graph lint`");
    };
    let risks = occurrences::risks(&revision);
    let mut directory = ConfinedDirectory::open(graph).with_context(|| format!("cannot read {}", graph.display()))?;
    let files = cases::read(&mut directory)?;
    let known = |name: &str| risks.keys().any(|(own, _)| own == name);
    if let Some((name, file)) = files.iter().find(|(_, file)| !known(&file.risk)) {
        let hint = did_you_mean(&file.risk, risks.keys().map(|(own, _)| own.as_str()));
        bail!("{name}: risk `{}` not found in the graph-data{hint}", file.risk);
    }
    let settings = Settings { fence: options.queries.fence()?, ..Settings::default() };
    let mut tested = Vec::new();
    for ((name, _), risk) in &risks {
        for (file, tests) in files.iter().filter(|(_, tests)| tests.risk == *name) {
            for case in &tests.cases {
                tested.push(written(risk, file, case, &mut directory, &settings)?);
            }
        }
        if !options.only_written {
            tested.extend(
                broken_evidence::run_cases(risk, &settings)?.into_iter().map(|(case, came)| made(risk, case, came)),
            );
        }
    }
    print_results(options, &tested)?;
    Ok(if tested.iter().all(|test| test.passed) { Exit::Yes } else { Exit::No })
}

fn print_results(options: &RiskTest, tested: &[TestResults]) -> Result<()> {
    if let Some(path) = &options.report.junit {
        let mut suites: BTreeMap<&str, Vec<junit::Case>> = BTreeMap::new();
        for test in tested {
            let result = match (&test.why, test.skipped) {
                (Some(why), _) => junit::Outcome::Failed(why.clone()),
                (None, Some(skipped)) => junit::Outcome::Skipped(skipped.to_owned()),
                (None, None) => junit::Outcome::Passed,
            };
            suites.entry(&test.risk).or_default().push(junit::Case { name: test.case.clone(), result });
        }
        std::fs::write(path, junit::write(suites)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    output::print_data(options.output.format, &tested, || {
        let mut text = String::new();
        for test in tested {
            let word = match (test.passed, test.skipped) {
                (_, Some(_)) => "skip",
                (true, None) => "ok  ",
                (false, None) => "FAIL",
            };
            let came = test.outcome.or(test.skipped).unwrap_or_default();
            let file = test.file.as_ref().map(|file| format!("  ({file})")).unwrap_or_default();
            // Writing into a text cannot fail.
            let _ = writeln!(text, "{word} {}: {}: {came}{file}", test.risk, output::printable(&test.case));
            for line in test.why.iter().flat_map(|why| why.lines()) {
                let _ = writeln!(text, "       {line}");
            }
        }
        let count = |is: fn(&TestResults) -> bool| tested.iter().filter(|test| is(test)).count();
        let (failed, skipped) = (count(|test| !test.passed), count(|test| test.skipped.is_some()));
        let _ = write!(text, "{} passed, {failed} failed", tested.len().saturating_sub(failed + skipped));
        if skipped > 0 {
            let _ = write!(text, ", {skipped} skipped");
        }
        text + "\n"
    })
}

/// A case from a file.
fn written(
    risk: &Arc<Risk>,
    file: &str,
    case: &Case,
    graph_data: &mut ConfinedDirectory,
    settings: &Settings,
) -> Result<TestResults> {
    let whose = |part: &str| format!("{file}: the {part} of `{}`", case.name);
    let proof = if let Some(path) = &case.snapshot {
        let read = snapshot_evidence::read_below(graph_data, Path::new(DIRECTORY), path);
        let kept = read.with_context(|| whose("snapshot"))?.showing_values();
        super::evaluate(risk, &kept, case.now.unwrap_or(kept.taken_at()), settings)?
    } else {
        let now = case.now.unwrap_or(Timestamp::EPOCH);
        let at = Millis(now.as_seconds().saturating_mul(1_000));
        let series = case.series.as_ref().map(|text| read::text(text.as_bytes(), at, &ReadLimits::default()));
        let series = series.transpose().with_context(|| whose("series"))?;
        let objects = objects(risk, case, graph_data, now, settings).with_context(|| whose("objects"))?;
        let evidence = Snapshot {
            series: series.as_ref(),
            objects: objects.as_ref(),
            cluster_id: case.cluster_id.as_deref(),
            ..Snapshot::empty(now, "the case")
        };
        super::evaluate(risk, &evidence, now, settings)?
    };
    let found = Expected::of(proof.verdict);
    let wrong = if found == case.expect {
        let missed = case.reason.as_ref().filter(|reason| !says(&proof, reason));
        missed.map(|reason| format!("the result is {}, but the proof does not contain `{reason}`", found.word()))
    } else {
        Some(format!("expected {}, got {}", case.expect.word(), found.word()))
    };
    let why = wrong.map(|wrong| format!("{wrong}\n{}", render::risk(&proof)));
    Ok(TestResults {
        risk: risk.name().to_owned(),
        file: Some(file.to_owned()),
        case: case.name.clone(),
        passed: why.is_none(),
        outcome: Some(found.word()),
        skipped: None,
        why,
    })
}

/// The objects of a case: all there is of the kinds that the risk's rules look at.
fn objects(
    risk: &Arc<Risk>,
    case: &Case,
    graph_data: &mut ConfinedDirectory,
    now: Timestamp,
    settings: &Settings,
) -> Result<Option<Objects>> {
    let Some(all) = case.all_objects(graph_data)? else { return Ok(None) };
    let mut objects = Objects::new(now, "the case").showing_values();
    for request in super::plan_of(risk, settings)?.object_requests() {
        objects.mark_read(request.kind.clone());
    }
    for object in all {
        if !objects.insert(object) {
            bail!("an object has no apiVersion or kind");
        }
    }
    Ok(Some(objects))
}

/// Whether a proof says something, in whatever part of it.
fn says(proof: &RiskProof, what: &str) -> bool {
    let texts = |rule: &RuleProof| {
        let parts = [&rule.why, &rule.value, &rule.missing];
        parts.into_iter().flatten().chain(&rule.warnings).any(|text| text.contains(what))
    };
    proof.rules.iter().any(texts)
}

/// A case that every risk has.
fn made(risk: &Risk, case: &str, result: CaseOutcome) -> TestResults {
    let (outcome, skipped, why) = match result {
        CaseOutcome::Skipped(why) => (None, Some(why), None),
        CaseOutcome::Judged(proof, wrong) => {
            let why = wrong.map(|wrong| format!("{wrong}\n{}", render::risk(&proof)));
            (Some(Expected::of(proof.verdict).word()), None, why)
        }
    };
    TestResults {
        risk: risk.name().to_owned(),
        file: None,
        case: case.to_owned(),
        passed: why.is_none(),
        outcome,
        skipped,
        why,
    }
}
