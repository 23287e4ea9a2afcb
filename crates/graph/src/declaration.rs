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
//! `to` and `from` are a range or a list of them (see [`crate::range`]). A risk with different sources for different
//! targets has a list `edges` of `to` and `from` instead.

use clearway_core::{Position, Version};
use clearway_yaml::Node;

use crate::block::{self, Block, Effect, Sources};
use crate::codes;
use crate::range::{Range, Ranges};
use crate::record::{Findings, Record, read_one};

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
    pub from: Ranges,
    position: Option<Position>,
    from_position: Option<Position>,
}

impl DeclaredEdges {
    /// Edges from some versions to others.
    pub fn new(to: Ranges, from: Ranges) -> Self {
        DeclaredEdges { to, from, position: None, from_position: None }
    }
}

const KEYS: &[&str] = &["name", "url", "message", "matchingRules", "fixedIn", "to", "from", "edges"];

/// Reads a declaration; nothing, with the revision refused, if its targets cannot be read.
pub(crate) fn read(path: &str, bytes: &[u8], findings: &mut Findings<'_>) -> Option<Declaration> {
    read_one(path, bytes, &codes::DECLARED_TARGET, findings, |record, findings| {
        let repeated = record.check_keys(KEYS, findings);
        let root = record.root;
        let listed = root.get("edges").is_some();
        let both = listed && (root.get("to").is_some() || root.get("from").is_some());
        if both || repeated.iter().any(|key| matches!(*key, "to" | "from" | "edges")) {
            let message = "the targets stand here twice: either `to` and `from`, or a list `edges` of them";
            findings.refuse(record.finding(&codes::DECLARED_TARGET, root, message));
            return None;
        }
        let edges: Option<Vec<DeclaredEdges>> = match root.get("edges") {
            None => edges(record, root, findings).map(|edges| vec![edges]),
            Some(list) if list.items().next().is_some() => {
                list.items().map(|item| edges(record, item, findings)).collect()
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
    Some(DeclaredEdges { to, from, position: position("to"), from_position: position("from") })
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
    Ranges::new(list?).ok_or_else(|| (node, "an empty list holds no version".to_owned()))
}

impl Declaration {
    /// The blocks it stands for: one for each known version (sorted, without build) in its targets.
    pub(crate) fn compile(&self, versions: &[Version]) -> Vec<Block> {
        let mut blocks = Vec::new();
        for edges in &self.edges {
            let mut targets: Vec<(usize, Option<&str>)> = Vec::new();
            for range in edges.to.iter() {
                targets.extend(range.among(versions).map(|at| (at, range.arch())));
            }
            targets.sort_unstable();
            targets.dedup();
            for (at, arch) in targets {
                let Some(version) = versions.get(at) else { continue };
                let arch = arch.and_then(|arch| arch.parse().ok());
                blocks.push(Block {
                    file: self.file.clone(),
                    position: edges.position,
                    to: arch.map_or_else(|| version.clone(), |arch| version.with_arch(&arch)),
                    from: Sources::Ranges(edges.from.clone()),
                    from_position: edges.from_position,
                    effect: self.effect.clone(),
                    fixed_in: self.fixed_in.clone(),
                });
            }
        }
        blocks
    }
}
