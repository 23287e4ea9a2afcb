//! `clearway risk`: explain and test risks.

mod broken_evidence;
mod cases;
mod explain;
mod generated_series;
mod layout;
mod list;
mod occurrences;
mod parameters;
mod rule;
mod test;

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use clearway_advice::evidence::Evidence;
use clearway_advice::{Plan, RiskProof, Settings};
use clearway_core::{Timestamp, Version};
use clearway_graph::{Edge, Graph, Node};

use crate::arguments::Risk;
use crate::exit::Exit;

/// Carries out a command.
pub(crate) fn run(command: &Risk) -> Result<Exit> {
    match command {
        Risk::List(options) => list::run(options),
        Risk::Explain(options) => explain::run(options),
        Risk::Test(options) => test::run(options),
    }
}

/// A plan with nothing but a risk.
fn plan_of(risk: &Arc<clearway_graph::Risk>, settings: &Settings) -> Result<Plan> {
    let node = |minor| Arc::new(Node::new(Version::new(1, minor, 0), "", BTreeMap::<String, String>::new()));
    let edge = Edge { from: 0, to: 1 };
    let graph = Graph::assemble(vec![node(0), node(1)], [], [(edge, vec![Arc::clone(risk)])]);
    Ok(Plan::new(&graph, &Version::new(1, 0, 0), settings)?)
}

/// What becomes of a risk with some evidence.
fn evaluate(
    risk: &Arc<clearway_graph::Risk>,
    evidence: &dyn Evidence,
    now: Timestamp,
    settings: &Settings,
) -> Result<Arc<RiskProof>> {
    let assessment = plan_of(risk, settings)?.assess(evidence, now);
    let update = assessment.updates.into_iter().next().context("the risk has no update")?;
    update.risks.into_iter().next().context("the update has no risk")
}
