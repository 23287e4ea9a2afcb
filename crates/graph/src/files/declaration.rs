//! One file of `risks/`: a risk declared once, with version ranges for the edges that it is on.
//!
//! It compiles to a block for each known release in its targets, and so to the same graph as those blocks would.
//!
//! ```yaml
//! name: SlowDisk
//! url: https://example.com/issues/7
//! message: Nodes with slow disks do not come back.
//! matchingRules:
//! - type: Always
//! to: 4.14.0 - 4.14.11
//! from: 4.13.x
//! fixedIn: 4.14.12
//! ```
//!
//! `to` and `from` are a range or a list of them (see [`crate::model::range`]). A risk with different sources for different
//! targets has a list `edges` of `to` and `from` instead.

use std::sync::Arc;

use clearway_core::{Position, Version};
use clearway_yaml::Node;

use crate::codes;
use crate::files::block::{self, Block, Effect, Sources};
use crate::files::findings::Findings;
use crate::files::record::{Record, read_one};
use crate::model::range::{Range, Ranges};

/// A risk as its file declares it.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// The file.
    pub file: String,
    /// What becomes of the edges; [`Effect::Remove`] only if the risk cannot be shown.
    pub effect: Effect,
    /// The edges that it is on.
    pub edges: Vec<DeclaredEdges>,
    /// The release that no longer has the problem.
    pub fixed_in: Option<Version>,
}

/// Sources and targets of a declared risk.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredEdges {
    /// The targets.
    pub to: Ranges,
    /// The sources.
    pub from: Arc<Ranges>,
    position: Option<Position>,
    from_position: Option<Position>,
}

impl DeclaredEdges {
    /// Edges from some versions to others.
    pub fn new(to: Ranges, from: Ranges) -> Self {
        DeclaredEdges { to, from: Arc::new(from), position: None, from_position: None }
    }
}

const KEYS: &[&str] = &["name", "url", "message", "matchingRules", "fixedIn", "to", "from", "edges"];
const ENTRY_KEYS: &[&str] = &["to", "from"];

/// Reads a declaration; nothing, with the revision refused, if its targets cannot be read.
pub(crate) fn read(path: &str, bytes: &[u8], findings: &mut Findings<'_>) -> Option<Declaration> {
    read_one(path, bytes, &codes::DECLARED_TARGET, findings, |record, findings| {
        let repeated = record.check_keys(KEYS, findings);
        let root = record.root;
        let listed = root.get("edges").is_some();
        let both = listed && (root.get("to").is_some() || root.get("from").is_some());
        if both || repeated.iter().any(|key| matches!(*key, "to" | "from" | "edges")) {
            let message = "the targets are set twice: use either `to` and `from`, or a list `edges`";
            findings.refuse(record.finding(&codes::DECLARED_TARGET, root, message));
            return None;
        }
        let (ranges, cap) = (count_ranges(root), findings.caps().ranges);
        let place = record.finding(&codes::OVER_CAP, root, "").place;
        if findings.exceeds("ranges", ranges, cap, "version ranges in one declared risk", || place) {
            return None;
        }
        let edges: Option<Vec<DeclaredEdges>> = match root.get("edges") {
            None => edges(record, root, findings).map(|edges| vec![edges]),
            Some(list) if list.items().next().is_some() => {
                list.items().map(|item| entry(record, item, findings)).collect()
            }
            Some(other) => {
                let message = "`edges` is not a list of `to` and `from`";
                findings.refuse(record.finding(&codes::DECLARED_TARGET, other, message));
                None
            }
        };
        let fixed_in = block::fixed_in(record, findings);
        let mut effect = block::effect(record, findings);
        if root.get("matchingRules").is_none() && ["name", "url", "message"].iter().all(|key| root.get(key).is_none()) {
            let message = "the risk has no name, url or message; its edges are removed";
            findings.push(record.finding(&codes::BLOCK_INCOMPLETE, root, message));
            effect = Effect::Remove;
        }
        Some(Declaration { file: path.to_owned(), effect, edges: edges?, fixed_in })
    })
}

/// An entry of `edges`. One that has a key twice would be on fewer edges than it seems to be.
fn entry<'a>(record: Record<'a>, item: Node<'a>, findings: &mut Findings<'_>) -> Option<DeclaredEdges> {
    if let Some(key) = record.check_keys_of(item, "an entry of `edges`", ENTRY_KEYS, findings).first() {
        let message = format!("`{key}` is set twice in an entry of `edges`");
        let finding = record.finding(&codes::DECLARED_TARGET, item, message);
        findings.refuse(finding.with_help("write an entry for each, or one list of ranges"));
        return None;
    }
    edges(record, item, findings)
}

fn edges(record: Record<'_>, node: Node<'_>, findings: &mut Findings<'_>) -> Option<DeclaredEdges> {
    let help = "such as `to: 4.14.0 - 4.14.11`";
    let to = match node.get("to").ok_or((node, "the risk has no `to`".to_owned())).and_then(ranges) {
        Ok(to) => to,
        Err((at, why)) => {
            findings.refuse(record.finding(&codes::DECLARED_TARGET, at, why).with_help(help));
            return None;
        }
    };
    let from = node.get("from").ok_or((node, "the risk has no `from`".to_owned())).and_then(ranges);
    let from = from.unwrap_or_else(|(at, why)| {
        let message = format!("{why}; every source is blocked");
        findings.push(
            record.finding(&codes::DECLARED_SOURCE, at, message).with_help("such as `from: 4.13.x`, or `from: '*'`"),
        );
        Ranges::any()
    });
    let position = |key: &str| node.get(key).and_then(|node| record.position(node));
    Some(DeclaredEdges { to, from: Arc::new(from), position: position("to"), from_position: position("from") })
}

/// How many ranges a declaration has, before any of them is read.
fn count_ranges(root: Node<'_>) -> usize {
    let of = |node: Node<'_>| -> usize {
        let lists = ["to", "from"].into_iter().filter_map(|key| node.get(key));
        lists.map(|list| if list.is_sequence() { list.items().count() } else { 1 }).sum()
    };
    of(root) + root.get("edges").into_iter().flat_map(Node::items).map(|item| of(item).max(1)).sum::<usize>()
}

/// The ranges of a text or a list of texts, or the value that is none.
fn ranges(node: Node<'_>) -> Result<Ranges, (Node<'_>, String)> {
    let range = |node: Node<'_>| match node.as_text() {
        Some(text) => text.parse::<Range>().map_err(|error| error.to_string()),
        None => Err(format!("{} is not a range of versions; write it in quotes", node.describe())),
    };
    let list: Result<Vec<Range>, _> = if node.is_sequence() {
        node.items().map(|item| range(item).map_err(|why| (item, why))).collect()
    } else {
        range(node).map(|range| vec![range]).map_err(|why| (node, why))
    };
    Ranges::new(list?).ok_or_else(|| (node, "an empty list contains no version".to_owned()))
}

impl Declaration {
    /// How many version ranges it has.
    pub(crate) fn ranges(&self) -> usize {
        self.edges.iter().map(|edges| edges.to.iter().count() + edges.from.iter().count()).sum()
    }

    /// Adds the blocks it stands for: one for each known version (sorted, without build) in its targets. Stops above
    /// `most` blocks in all, and says whether it did not have to.
    pub(crate) fn compile(&self, versions: &[Version], blocks: &mut Vec<Block>, most: usize) -> bool {
        for edges in &self.edges {
            let targets = targets(&edges.to, versions);
            let count: usize = targets.iter().map(|(places, _)| places.len()).sum();
            if blocks.len() + count > most {
                return false;
            }
            let places = targets.into_iter().flat_map(|(places, arch)| places.map(move |at| (at, arch)));
            for (version, arch) in places.filter_map(|(at, arch)| Some((versions.get(at)?, arch))) {
                let arch = arch.and_then(|arch| arch.parse().ok());
                blocks.push(Block {
                    file: self.file.clone(),
                    position: edges.position,
                    to: arch.map_or_else(|| version.clone(), |arch| version.with_arch(&arch)),
                    from: Sources::Ranges(Arc::clone(&edges.from)),
                    from_position: edges.from_position,
                    effect: self.effect.clone(),
                    fixed_in: self.fixed_in.clone(),
                });
            }
        }
        true
    }
}

/// The places of the versions that ranges hold, as stretches that do not overlap, each with the only architecture that
/// is meant. Ranges that overlap are put together before anything is built from them.
fn targets<'r>(ranges: &'r Ranges, versions: &[Version]) -> Vec<(std::ops::Range<usize>, Option<&'r str>)> {
    let mut stretches: Vec<(Option<&str>, usize, usize)> = ranges
        .iter()
        .map(|range| (range.arch(), range.index_range(versions)))
        .filter(|(_, among)| !among.is_empty())
        .map(|(arch, among)| (arch, among.start, among.end))
        .collect();
    stretches.sort_unstable();
    let mut joined: Vec<(std::ops::Range<usize>, Option<&str>)> = Vec::new();
    for (arch, start, end) in stretches {
        match joined.last_mut().filter(|(last, of)| *of == arch && start <= last.end) {
            Some((last, _)) => last.end = last.end.max(end),
            None => joined.push((start..end, arch)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_overlap_are_one_stretch_and_architectures_their_own() {
        let versions: Vec<Version> = (0..6).map(|patch| Version::new(1, 0, patch)).collect();
        let ranges: Vec<Range> = ["1.0.2 - 1.0.4", "1.0.0 - 1.0.2", "1.0.4+arm64", "9.9.9", "1.0.3"]
            .into_iter()
            .map(|text| text.parse().unwrap())
            .collect();
        let ranges = Ranges::new(ranges).unwrap();
        assert_eq!(targets(&ranges, &versions), [(0..5, None), (4..5, Some("arm64"))]);
    }
}
