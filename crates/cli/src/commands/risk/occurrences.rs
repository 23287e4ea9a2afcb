//! The files that declare a risk, and the updates that have it, as ranges.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use clearway_core::{Arch, Version};
use clearway_graph::range::Ranges;
use clearway_graph::{Effect, Graph, Revision, Risk};
use serde::Serialize;

/// A file that declares a risk.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Declaration {
    pub(super) file: String,
    /// The targets and sources as the file writes them.
    pub(super) to: String,
    pub(super) from: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fixed_in: Option<Version>,
}

/// Updates with the same sources.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UpdateRange {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) updates: usize,
    pub(super) channels: Vec<String>,
}

/// Every risk of a name, with its updates by channel.
#[derive(Default)]
pub(super) struct RiskUpdates {
    /// By source and target.
    pub(super) updates: BTreeMap<(Version, Version), BTreeSet<String>>,
    pub(super) known: BTreeSet<Version>,
}

impl RiskUpdates {
    /// Takes in one channel.
    pub(super) fn add(&mut self, channel: &str, graph: &Graph, risk: &Risk) {
        let version = |place: u32| graph.node(place).map(|node| node.version().without_build());
        self.known.extend(graph.nodes().iter().map(|node| node.version().without_build()));
        for group in graph.conditional().iter().filter(|group| group.risks.iter().any(|one| **one == *risk)) {
            for edge in &group.edges {
                if let (Some(from), Some(to)) = (version(edge.from), version(edge.to)) {
                    self.updates.entry((from, to)).or_default().insert(channel.to_owned());
                }
            }
        }
    }

    /// The updates as ranges: targets with the same sources in the same channels stand together.
    pub(super) fn ranges(&self) -> Vec<UpdateRange> {
        let known: Vec<Version> = self.known.iter().cloned().collect();
        let covering = |some: &BTreeSet<&Version>| {
            let marked: Vec<bool> = known.iter().map(|version| some.contains(version)).collect();
            // Every one that is known is not every one there is: both ends say more than a star.
            match (some.len() == known.len(), known.first(), known.last()) {
                (true, Some(first), Some(last)) => format!("{first} - {last}"),
                _ => Ranges::covering(&known, &marked).map(|ranges| ranges.to_string()).unwrap_or_default(),
            }
        };
        let mut by_target: BTreeMap<(&Version, &BTreeSet<String>), BTreeSet<&Version>> = BTreeMap::new();
        for ((from, to), channels) in &self.updates {
            by_target.entry((to, channels)).or_default().insert(from);
        }
        let mut together: BTreeMap<(BTreeSet<&Version>, &BTreeSet<String>), BTreeSet<&Version>> = BTreeMap::new();
        for ((to, channels), from) in by_target {
            together.entry((from, channels)).or_default().insert(to);
        }
        let on =
            |((from, channels), to): (&(BTreeSet<&Version>, &BTreeSet<String>), &BTreeSet<&Version>)| UpdateRange {
                from: covering(from),
                to: covering(to),
                updates: from.len() * to.len(),
                channels: channels.iter().cloned().collect(),
            };
        together.iter().map(on).collect()
    }
}

/// The files of graph-data that declare a risk, each once.
pub(super) fn declared(revision: &Revision, risk: &Risk) -> Vec<Declaration> {
    let is_it = |effect: &Effect| matches!(effect, Effect::Condition(one) if **one == *risk);
    let mut found: Vec<Declaration> = Vec::new();
    for declaration in revision.declarations().iter().filter(|declaration| is_it(&declaration.effect)) {
        found.extend(declaration.edges.iter().map(|edges| Declaration {
            file: declaration.file.clone(),
            to: edges.to.to_string(),
            from: edges.from.to_string(),
            fixed_in: declaration.fixed_in.clone(),
        }));
    }
    let files: BTreeSet<String> = found.iter().map(|declared| declared.file.clone()).collect();
    // A declaration is compiled to blocks of its own file.
    let blocks = revision.blocks().iter().filter(|block| is_it(&block.effect) && !files.contains(&block.file));
    found.extend(blocks.map(|block| Declaration {
        file: block.file.clone(),
        to: block.to.to_string(),
        from: block.from.to_string(),
        fixed_in: block.fixed_in.clone(),
    }));
    found
}

/// The risks of graph-data, by name; several of one name if their texts or rules differ.
pub(super) fn risks(revision: &Revision) -> BTreeMap<(String, String), Arc<Risk>> {
    let effects = revision.blocks().iter().map(|block| &block.effect);
    let effects = effects.chain(revision.declarations().iter().map(|declaration| &declaration.effect));
    let risk = |effect: &Effect| match effect {
        Effect::Condition(risk) => Some(((risk.name().to_owned(), risk.json().to_owned()), Arc::clone(risk))),
        Effect::Remove => None,
    };
    effects.filter_map(risk).collect()
}

/// The updates of a risk in every channel of graph-data, or in one.
pub(super) fn risk_updates(revision: &Revision, risk: &Risk, channel: Option<&str>, arch: &Arch) -> RiskUpdates {
    let mut carried = RiskUpdates::default();
    for known in revision.channels().filter(|known| channel.is_none_or(|channel| known.name == channel)) {
        carried.add(&known.name, &revision.graph(&known.name, arch), risk);
    }
    carried
}
