//! Reads an answer, element by element, within the caps of [`GraphLimits`].
//!
//! Indices count every element of `nodes`, also the ones that cannot be read, so a bad node shifts nobody. The text is
//! gone through twice: first for the nodes, then for the updates, which name nodes that may stand behind them. Nothing is
//! kept of it but what the graph is made of, so an answer takes a small multiple of its bytes, whatever stands in it.

mod any_value;
mod elements;
mod risks;
mod unique_keys;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use clearway_core::{CapExceeded, Diagnostic, GraphLimits, Limits, Place, Version};
use serde::de::DeserializeSeed as _;

use crate::codes::{self, Code};
use crate::files::findings::{BoundedFindings, over};
use crate::model::graph::{Edge, Graph, Node};
use crate::model::sets::Sets;
use crate::model::versions::id;
use any_value::{Any, AnyValue};
use elements::{NodeParts, Nodes, Updates};
use risks::RiskReader;

/// What an answer was read as.
#[derive(Debug)]
pub struct Reading {
    /// The graph; nothing if the answer is not a graph at all, or above a cap on the whole.
    pub graph: Option<Graph>,
    /// What is wrong with the answer, by its paths.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads an answer. Whatever it holds, this does not fail; see [`Reading`].
pub fn read(bytes: &[u8], limits: &Limits) -> Reading {
    let mut reader = Reader::new(&limits.graph);
    let graph = reader.graph(bytes, limits).unwrap_or_else(|refusal| {
        let place = Place { path: Some(String::new()), ..Place::default() };
        reader.kept.push(refusal.at(place));
        None
    });
    let mut diagnostics = reader.kept.into_unsorted();
    // In the order in which the parts are told of, and not in that of the text.
    let part = |found: &Diagnostic| {
        let path = found.place.path.as_deref().unwrap_or_default();
        let part = ["nodes", "edges", "conditionalEdges"].iter().position(|part| path.starts_with(part));
        (found.code == codes::WIRE_BOTH.code, part)
    };
    diagnostics.sort_by_key(part);
    Reading { graph, diagnostics }
}

/// Why an answer is refused as a whole: a diagnostic without its place.
type Refusal = Box<Diagnostic>;

/// What is known of the answer so far.
struct Reader<'t> {
    caps: &'t GraphLimits,
    kept: BoundedFindings,
    /// The cap that the answer is above: what ends the reading early.
    exceeded: Option<CapExceeded>,
    /// The nodes that can be read.
    nodes: Vec<Arc<Node>>,
    /// For each element of the list of nodes, its node.
    places: Vec<Option<u32>>,
    /// The places of nodes by the text of their version.
    names: HashMap<String, u32>,
    edges: Vec<Edge>,
    conditional: Vec<(Edge, u32)>,
    sets: Sets,
    risks: RiskReader<'t>,
    /// The group that each conditional update was last seen in.
    seen: HashMap<Edge, usize>,
    /// Updates in both lists, also those that come to nothing.
    updates: usize,
}

impl<'t> Reader<'t> {
    fn new(caps: &'t GraphLimits) -> Self {
        Reader {
            caps,
            kept: BoundedFindings::new(caps.findings),
            exceeded: None,
            nodes: Vec::new(),
            places: Vec::new(),
            names: HashMap::new(),
            edges: Vec::new(),
            conditional: Vec::new(),
            sets: Sets::default(),
            risks: RiskReader::default(),
            seen: HashMap::new(),
            updates: 0,
        }
    }

    fn report(&mut self, code: &'static Code, path: impl FnOnce() -> String, message: impl FnOnce() -> String) {
        self.kept.report(code.code, code.severity, || {
            let place = Place { path: Some(path()), ..Place::default() };
            code.finding(message()).at(place).with_help(code.text)
        });
    }

    /// Counts one more of something; false, and the end of the reading, above its cap.
    fn counts(&mut self, cap: &'static str, count: usize, most: usize, what: &'static str) -> bool {
        self.exceeded = self.exceeded.or(CapExceeded::first([(cap, count, most, what)]));
        count <= most
    }

    fn graph(&mut self, bytes: &'t [u8], limits: &Limits) -> Result<Option<Graph>, Refusal> {
        let unreadable = |why: String| {
            let code = &codes::WIRE_UNREADABLE;
            Box::new(code.finding(why).with_help(code.text))
        };
        let most = limits.document_bytes.min(self.caps.answer_bytes);
        if bytes.len() > most {
            let above = CapExceeded { cap: "answer_bytes", limit: most as u64, what: "bytes in one answer" };
            return Err(Box::new(over(&codes::WIRE_OVER_CAP, &above)));
        }
        let text = str::from_utf8(bytes).map_err(|error| unreadable(format!("not UTF-8: {error}")))?;
        let mut read: Vec<Option<Node>> = Vec::new();
        let has_nodes = go_through(text, Nodes { reader: self, read: &mut read });
        if !has_nodes.map_err(|why| self.refusal(why, unreadable))? {
            return Err(unreadable("the answer has no list of nodes".to_owned()));
        }
        self.settle(read);
        go_through(text, Updates { reader: self }).map_err(|why| self.refusal(why, unreadable))?;
        self.report_both();
        let (nodes, edges) = (std::mem::take(&mut self.nodes), std::mem::take(&mut self.edges));
        let (conditional, sets) = (std::mem::take(&mut self.conditional), std::mem::take(&mut self.sets));
        let (limit, what) = (self.caps.answer_united as u64, "risks of updates that are in several groups");
        let united = CapExceeded { cap: "answer_united", limit, what };
        let graph = Graph::of_sets(nodes, edges, conditional, sets, self.caps.answer_united);
        let above = graph.as_ref().map_or(Some(united), |graph| graph.above(self.caps));
        match above {
            Some(above) => Err(Box::new(over(&codes::WIRE_OVER_CAP, &above))),
            None => Ok(graph),
        }
    }

    /// Why the reading ended early.
    fn refusal(&self, why: String, unreadable: impl Fn(String) -> Refusal) -> Refusal {
        match self.exceeded {
            Some(above) => Box::new(over(&codes::WIRE_OVER_CAP, &above)),
            None => unreadable(why),
        }
    }

    /// One element of the list of nodes.
    fn node(&mut self, at: usize, parts: NodeParts<'_>) -> Option<Node> {
        match parts.node(self.caps) {
            Ok(node) => Some(node),
            Err((code, why)) => {
                self.report(code, || format!("nodes[{at}]"), || why);
                None
            }
        }
    }

    /// Takes in the nodes that were read. One version with two contents is none that could be offered.
    fn settle(&mut self, read: Vec<Option<Node>>) {
        let mut first: HashMap<&Version, &Node> = HashMap::new();
        let mut torn: BTreeSet<Version> = BTreeSet::new();
        for node in read.iter().flatten() {
            if *first.entry(node.version()).or_insert(node) != node {
                torn.insert(node.version().clone());
            }
        }
        drop(first);
        self.places.reserve_exact(read.len());
        for (at, node) in read.into_iter().enumerate() {
            let torn = node.as_ref().filter(|node| torn.contains(node.version())).map(|node| node.version().clone());
            if let Some(version) = torn {
                let message = || format!("the version {version} occurs twice with different content");
                self.report(&codes::WIRE_NODE, || format!("nodes[{at}]"), message);
            } else if let Some(node) = node {
                let next = id(self.nodes.len());
                let place = *self.names.entry(node.version().to_string()).or_insert(next);
                if place == next {
                    self.nodes.push(Arc::new(node));
                }
                self.places.push(Some(place));
                continue;
            }
            self.places.push(None);
        }
    }

    /// One element of the list of unconditional updates; false if there are too many of them.
    fn edge(&mut self, at: usize, indices: Option<(Option<u64>, Option<u64>)>) -> bool {
        self.updates += 1;
        if !self.counts("answer_edges", self.updates, self.caps.answer_edges, "updates in one answer") {
            return false;
        }
        let path = || format!("edges[{at}]");
        let Some((from, to)) = indices else {
            self.report(&codes::WIRE_EDGE, path, || "an edge is a list of two indices".to_owned());
            return true;
        };
        let place = |index: Option<u64>| self.places.get(usize::try_from(index?).ok()?).copied();
        match (place(from), place(to)) {
            (Some(Some(from)), Some(Some(to))) => {
                let edge = Edge { from, to };
                if self.leads_up(edge, path) {
                    self.edges.push(edge);
                }
            }
            // The node was reported already.
            (Some(_), Some(_)) => {}
            _ => {
                let shown = |index: Option<u64>| index.map_or("no number".to_owned(), |index| index.to_string());
                let message = || format!("no nodes have the indices {} and {}", shown(from), shown(to));
                self.report(&codes::WIRE_EDGE, path, message);
            }
        }
        true
    }

    /// One update of a group; the edge if it is one, and false if there are too many of them.
    fn named_edge(
        &mut self,
        group: usize,
        at: usize,
        from: Option<&str>,
        to: Option<&str>,
    ) -> Result<Option<Edge>, ()> {
        self.updates += 1;
        if !self.counts("answer_edges", self.updates, self.caps.answer_edges, "updates in one answer") {
            return Err(());
        }
        let path = move || format!("conditionalEdges[{group}].edges[{at}]");
        let place = |text: Option<&str>| {
            let text = text?;
            let parsed = || self.names.get(&text.parse::<Version>().ok()?.to_string());
            self.names.get(text).or_else(parsed).copied()
        };
        let (Some(from), Some(to)) = (place(from), place(to)) else {
            let shown =
                |text: Option<&str>| text.map_or_else(|| "nothing".to_owned(), |text| format!("`{}`", short(text)));
            let message = || format!("no nodes for the update from {} to {}", shown(from), shown(to));
            self.report(&codes::WIRE_EDGE, path, message);
            return Ok(None);
        };
        let edge = Edge { from, to };
        if !self.leads_up(edge, path) {
            return Ok(None);
        }
        match self.seen.insert(edge, group) {
            Some(before) if before == group => Ok(None),
            None => Ok(Some(edge)),
            Some(_) => {
                let update = self.shown(edge);
                self.report(&codes::WIRE_REPEATED, path, || format!("the update {update} is in two groups"));
                Ok(Some(edge))
            }
        }
    }

    fn leads_up(&mut self, edge: Edge, path: impl Fn() -> String) -> bool {
        let version = |place: u32| self.nodes.get(place as usize).map(|node| node.version());
        let up = version(edge.from).zip(version(edge.to)).is_some_and(|(from, to)| from.precedence(to).is_lt());
        if !up {
            let update = self.shown(edge);
            let message = || format!("the update {update} does not lead to a newer version");
            self.report(&codes::WIRE_ORDER, path, message);
        }
        up
    }

    /// Updates that stand in both lists, and those that stand in several groups.
    fn report_both(&mut self) {
        self.conditional.sort_by_key(|(edge, _)| *edge);
        let is_conditional =
            |edge: &&Edge| self.conditional.binary_search_by_key(*edge, |(conditional, _)| *conditional).is_ok();
        let mut both: Vec<Edge> = self.edges.iter().filter(is_conditional).copied().collect();
        both.sort_unstable();
        both.dedup();
        for edge in both {
            let update = self.shown(edge);
            let message = || format!("the update {update} is both recommended and conditional");
            self.report(&codes::WIRE_BOTH, || "edges".to_owned(), message);
        }
    }

    fn shown(&self, edge: Edge) -> String {
        let name =
            |place: u32| self.nodes.get(place as usize).map_or_else(String::new, |node| node.version().to_string());
        format!("from {} to {}", name(edge.from), name(edge.to))
    }
}

/// Goes through the text once; what follows the answer in it is an error.
fn go_through<'t, V: AnyValue<'t>>(text: &'t str, visit: V) -> Result<V::Value, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = Any(visit).deserialize(&mut deserializer).map_err(|error| error.to_string())?;
    deserializer.end().map_err(|error| error.to_string())?;
    Ok(read)
}

/// Foreign text for a message.
fn short(text: &str) -> std::borrow::Cow<'_, str> {
    crate::files::record::shortened(text)
}
