//! `clearway risk list`: the risks of a graph, with the updates, channels and rules of each, and whether it has a test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Result;
use clearway_core::Version;
use clearway_graph::{Graph, Risk};
use clearway_sources::files::confined::ConfinedDirectory;
use serde::Serialize;

use super::{cases, occurrences};
use crate::arguments::RiskList;
use crate::commands::graph::{self, source};
use crate::exit::Exit;
use crate::output;

/// A risk; several of one name if their texts or rules differ.
#[derive(Debug, Serialize)]
struct ListedRisk {
    name: String,
    url: String,
    message: String,
    /// How many updates have it, each counted once however many channels offer it.
    updates: usize,
    channels: Vec<String>,
    /// The types of its rules, in order of precedence.
    rules: Vec<String>,
    /// Whether a file in `risk-tests/` tests it; absent if the graph is not a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    tested: Option<bool>,
}

/// Where a risk occurs.
#[derive(Default)]
struct Occurrence {
    updates: BTreeSet<(Version, Version)>,
    channels: BTreeSet<String>,
}

/// Risks by name and JSON: one name may stand for several.
#[derive(Default)]
struct Risks {
    risks: BTreeMap<(String, String), (Arc<Risk>, Occurrence)>,
}

/// Runs the command.
pub(super) fn run(options: &RiskList) -> Result<Exit> {
    let (channel, arch) = (options.channel.as_deref(), options.arch.arch.as_ref());
    let mut risks = Risks::default();
    match source::files_or_answer(&options.source, channel, arch)? {
        source::GraphInput::Files(inputs) => {
            let revision = graph::revision(&inputs)?;
            let arch = arch.cloned().unwrap_or_default();
            if let Some(channel) = channel {
                graph::check_channel(&revision, channel, &arch)?;
            } else {
                // A risk may be declared for releases that no channel lists yet.
                for risk in occurrences::risks(&revision).values() {
                    risks.entry(risk);
                }
            }
            for known in revision.channels().filter(|known| channel.is_none_or(|channel| known.name == channel)) {
                risks.add(&known.name, &revision.graph(&known.name, &arch));
            }
        }
        source::GraphInput::Answer(answer) => {
            let view = source::of_answer(answer, channel, arch)?;
            risks.add(&view.name, &view.graph);
        }
    }
    let tested = tested_risks(options)?;
    let listed: Vec<ListedRisk> = risks.risks.into_values().map(|found| listed(found, tested.as_ref())).collect();
    output::print_data(options.output.format, &listed, || {
        output::table(&["RISK", "UPDATES", "CHANNELS", "RULES", "TESTED", "URL"], listed.iter().map(row))
    })?;
    let untested = listed.iter().filter(|risk| risk.tested == Some(false)).count();
    if untested > 0 {
        output::print_note!(
            "{untested} of {} risks have no unit test; `clearway risk test --help` shows how to write one",
            listed.len()
        );
    }
    Ok(Exit::Yes)
}

impl Risks {
    fn entry(&mut self, risk: &Arc<Risk>) -> &mut Occurrence {
        let key = (risk.name().to_owned(), risk.json().to_owned());
        &mut self.risks.entry(key).or_insert_with(|| (Arc::clone(risk), Occurrence::default())).1
    }

    fn add(&mut self, channel: &str, graph: &Graph) {
        let version = |place: u32| graph.node(place).map(|node| node.version().without_build());
        for group in graph.conditional() {
            for risk in group.risks.iter() {
                let occurrence = self.entry(risk);
                occurrence.channels.insert(channel.to_owned());
                let ends = group.edges.iter().filter_map(|edge| Some((version(edge.from)?, version(edge.to)?)));
                occurrence.updates.extend(ends);
            }
        }
    }
}

/// The names of risks with a unit test; nothing if the graph is not a directory here.
fn tested_risks(options: &RiskList) -> Result<Option<BTreeSet<String>>> {
    let graph = &options.source.graph;
    let is_directory = graph.address().is_none()
        && graph.image().is_none()
        && options.source.rev.is_none()
        && graph.as_path().is_dir();
    if !is_directory {
        return Ok(None);
    }
    let files = cases::read(&mut ConfinedDirectory::open(graph.as_path())?)?;
    Ok(Some(files.into_iter().map(|(_, file)| file.risk).collect()))
}

fn listed((risk, occurrence): (Arc<Risk>, Occurrence), tested: Option<&BTreeSet<String>>) -> ListedRisk {
    ListedRisk {
        name: risk.name().to_owned(),
        url: risk.url().to_owned(),
        message: risk.message().to_owned(),
        updates: occurrence.updates.len(),
        channels: occurrence.channels.into_iter().collect(),
        rules: risk.rules().iter().map(|rule| rule.kind.clone()).collect(),
        tested: tested.map(|tested| tested.contains(risk.name())),
    }
}

fn row(risk: &ListedRisk) -> Vec<String> {
    let tested = match risk.tested {
        Some(true) => "yes",
        Some(false) => "no",
        None => "-",
    };
    vec![
        risk.name.clone(),
        risk.updates.to_string(),
        if risk.channels.is_empty() { "-".to_owned() } else { risk.channels.join(",") },
        if risk.rules.is_empty() { "-".to_owned() } else { risk.rules.join(",") },
        tested.to_owned(),
        risk.url.clone(),
    ]
}
