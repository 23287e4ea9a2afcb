//! `clearway risk test`: given these metrics, does the risk apply?

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use clearway_advice::evidence::{Evidence, FailureClass, Observation, Record, Recorded, Snapshot};
use clearway_advice::{Plan, RiskProof, Settings, Verdict, render};
use clearway_core::{Limits, Timestamp, Version};
use clearway_graph::{Edge, Effect, Graph, Node, Risk, load};
use clearway_promql::eval::{Sample, Value};
use clearway_promql::read::{self, ReadLimits};
use clearway_promql::{Labels, Millis};
use clearway_sources::graph_data;
use serde::Serialize;

use super::cases::{self, Case, Expected};
use crate::arguments::RiskTest;
use crate::exit::Exit;
use crate::junit;
use crate::output;

/// When the samples of a case are taken to be seen. Cases have no clock.
const NOW: Timestamp = Timestamp::EPOCH;

/// What came of one case.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Tested {
    risk: String,
    /// The file of the case; none for one that every risk has.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    case: String,
    passed: bool,
    /// What was wanted and what came, with the proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// Runs the command.
pub(super) fn run(options: &RiskTest) -> Result<Exit> {
    let inputs = graph_data::directory(&options.graph, &Limits::default())?;
    let Some(revision) = load(&inputs, &Limits::default()).revision else {
        bail!("the graph-data is refused as a whole; `clearway graph lint` says why");
    };
    // A risk may stand in many blocks; those of the same name and text are one.
    let mut risks: BTreeMap<(&str, &str), &Arc<Risk>> = BTreeMap::new();
    for block in revision.blocks() {
        if let Effect::Condition(risk) = &block.effect {
            risks.insert((risk.name(), risk.json()), risk);
        }
    }
    let files = cases::read(&options.graph)?;
    let known: BTreeSet<&str> = risks.keys().map(|(name, _)| *name).collect();
    if let Some((name, file)) = files.iter().find(|(_, file)| !known.contains(file.risk.as_str())) {
        bail!("{name}: there is no risk `{}`", file.risk);
    }
    let mut tested = Vec::new();
    for ((name, _), risk) in &risks {
        for (file, tests) in files.iter().filter(|(_, tests)| tests.risk == *name) {
            for case in &tests.cases {
                tested.push(written(risk, file, case)?);
            }
        }
        if !options.only_written {
            tested.extend(generated(risk)?);
        }
    }
    tell(options, &tested)?;
    Ok(if tested.iter().all(|test| test.passed) { Exit::Yes } else { Exit::No })
}

fn tell(options: &RiskTest, tested: &[Tested]) -> Result<()> {
    if let Some(path) = &options.junit {
        let mut suites: BTreeMap<&str, Vec<junit::Case>> = BTreeMap::new();
        for test in tested {
            let result = test.why.clone().map_or(junit::Outcome::Passed, junit::Outcome::Failed);
            suites.entry(&test.risk).or_default().push(junit::Case { name: test.case.clone(), result });
        }
        std::fs::write(path, junit::write(suites)).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    output::print_data(options.output.format, &tested, || {
        let mut text = String::new();
        for test in tested {
            let word = if test.passed { "ok  " } else { "FAIL" };
            let file = test.file.as_ref().map(|file| format!("  ({file})")).unwrap_or_default();
            // Writing into a text cannot fail.
            let _ = writeln!(text, "{word} {}: {}{file}", test.risk, output::printable(&test.case));
            for line in test.why.iter().flat_map(|why| why.lines()) {
                let _ = writeln!(text, "       {line}");
            }
        }
        let failed = tested.iter().filter(|test| !test.passed).count();
        text + &format!("{} passed, {failed} failed\n", tested.len() - failed)
    })
}

/// A case that somebody wrote.
fn written(risk: &Arc<Risk>, file: &str, case: &Case) -> Result<Tested> {
    let at = Millis(0);
    let series = case.series.as_ref().map(|text| read::text(text.as_bytes(), at, &ReadLimits::default()));
    let series = series.transpose().with_context(|| format!("{file}: the series of `{}`", case.name))?;
    let evidence = Snapshot {
        series: series.as_ref(),
        cluster_id: case.cluster_id.as_deref(),
        ..Snapshot::empty(NOW, "the series of the case")
    };
    let proof = judged(risk, &evidence)?;
    let found = Expected::of(proof.verdict);
    let passed = found == case.expect;
    let why = (!passed)
        .then(|| format!("expected {}, but it is {}\n{}", case.expect.word(), found.word(), render::risk(&proof)));
    Ok(Tested { risk: risk.name().to_owned(), file: Some(file.to_owned()), case: case.name.clone(), passed, why })
}

/// What no query may take for "does not apply": a store that is away, no series, two of them, a value that is neither.
fn generated(risk: &Arc<Risk>) -> Result<Vec<Tested>> {
    let sample = |value: f64, job: &str| Sample { labels: Labels::new([("case".to_owned(), job.to_owned())]), value };
    let answers = |samples: Vec<Sample>| {
        Record::Answered(Observation {
            value: Value::Vector(samples),
            observed_at: NOW,
            source: "a made-up answer".to_owned(),
            reproduce: None,
            warnings: Vec::new(),
        })
    };
    let weather: [(&str, Record); 4] = [
        ("the metrics store is away", Record::failed(FailureClass::Unreachable, "Nobody answers.")),
        ("the query gives no series", answers(Vec::new())),
        ("the query gives two series", answers(vec![sample(0.0, "one"), sample(0.0, "two")])),
        ("the query gives 2", answers(vec![sample(2.0, "one")])),
    ];
    let plan = plan(risk)?;
    let mut tested = Vec::new();
    for (case, record) in weather {
        let queries = plan.questions().into_iter().map(|question| (question.text().to_owned(), record.clone()));
        let evidence = Recorded { queries: queries.collect(), configured: true, ..Recorded::default() };
        if evidence.queries.is_empty() {
            return Ok(Vec::new());
        }
        let proof = judged(risk, &evidence)?;
        let passed = proof.verdict != Verdict::NoMatch;
        let why = (!passed).then(|| format!("taken for `does not apply`\n{}", render::risk(&proof)));
        tested.push(Tested { risk: risk.name().to_owned(), file: None, case: case.to_owned(), passed, why });
    }
    Ok(tested)
}

/// A graph with nothing but the risk.
fn plan(risk: &Arc<Risk>) -> Result<Plan> {
    let node = |minor| Arc::new(Node::new(Version::new(1, minor, 0), "", BTreeMap::<String, String>::new()));
    let edge = Edge { from: 0, to: 1 };
    let graph = Graph::assemble(vec![node(0), node(1)], [], [(edge, vec![Arc::clone(risk)])]);
    Ok(Plan::new(&graph, &Version::new(1, 0, 0), &Settings::default())?)
}

/// What becomes of a risk with some evidence.
fn judged(risk: &Arc<Risk>, evidence: &dyn Evidence) -> Result<Arc<RiskProof>> {
    let assessment = plan(risk)?.assess(evidence, NOW);
    let update = assessment.updates.into_iter().next().context("the risk leads nowhere")?;
    update.risks.into_iter().next().context("the update lost its risk")
}
