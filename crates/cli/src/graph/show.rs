//! `clearway graph show`: the releases of a channel and where each may go.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde_json::{Value, json};

use crate::arguments::GraphShow;
use crate::exit::Exit;
use crate::output;

/// Where one release may go.
#[derive(Default)]
struct Ways<'g> {
    plain: Vec<u32>,
    conditional: Vec<u32>,
    risks: BTreeSet<&'g str>,
}

/// Runs the command.
pub(super) fn run(options: &GraphShow) -> Result<Exit> {
    let revision = super::revision(&super::inputs(&options.source)?)?;
    super::known(&revision, &options.channel, &options.arch)?;
    let graph = revision.graph(&options.channel, &options.arch);
    let mut ways: BTreeMap<u32, Ways<'_>> = BTreeMap::new();
    for (edge, risks) in graph.updates() {
        let way = ways.entry(edge.from).or_default();
        let targets = if risks.is_empty() { &mut way.plain } else { &mut way.conditional };
        targets.push(edge.to);
        way.risks.extend(risks.iter().map(|risk| risk.name()));
    }
    let version =
        |place: u32| graph.node(place).map(|node| node.version().without_build().to_string()).unwrap_or_default();
    let none = Ways::default();
    let rows = (0..).zip(graph.nodes()).map(|(place, _)| (place, ways.get(&place).unwrap_or(&none)));
    let rows: Vec<(u32, &Ways<'_>)> = rows.collect();
    let data: Vec<Value> = rows
        .iter()
        .map(|(place, ways)| {
            let versions = |places: &[u32]| places.iter().map(|place| version(*place)).collect::<Vec<_>>();
            json!({
                "version": version(*place),
                "updates": versions(&ways.plain),
                "conditionalUpdates": versions(&ways.conditional),
                "risks": ways.risks,
            })
        })
        .collect();
    output::print_data(options.output, &data, || {
        let newest = |places: &[u32]| places.iter().max().map_or_else(|| "-".to_owned(), |place| version(*place));
        output::table(
            &["VERSION", "UPDATES", "NEWEST", "CONDITIONAL", "NEWEST", "RISKS"],
            rows.iter().map(|(place, ways)| {
                vec![
                    version(*place),
                    ways.plain.len().to_string(),
                    newest(&ways.plain),
                    ways.conditional.len().to_string(),
                    newest(&ways.conditional),
                    ways.risks.iter().copied().collect::<Vec<_>>().join(", "),
                ]
            }),
        )
    })?;
    Ok(Exit::Yes)
}
