//! Reads an answer, element by element.
//!
//! Indices count every element of `nodes`, also the ones that cannot be read, so a bad node shifts nobody.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use clearway_core::{Diagnostic, Limits, Place, Version};
use serde_json::Value;

use crate::codes::{self, Code};
use crate::graph::{Edge, Graph, Node};
use crate::risk::{Risk, Rule};
use crate::versions::id;

/// What an answer was read as.
#[derive(Debug)]
pub struct Reading {
    /// The graph; nothing if the answer is no graph at all.
    pub graph: Option<Graph>,
    /// What is wrong with the answer, by its paths.
    pub diagnostics: Vec<Diagnostic>,
}

/// The name of a risk that stands for one that could not be read and has none.
const UNNAMED: &str = "UnreadableRisk";

/// Reads an answer. Whatever it holds, this does not fail; see [`Reading`].
pub fn read(bytes: &[u8], limits: &Limits) -> Reading {
    let mut reader = Reader::default();
    let graph = reader.graph(bytes, limits);
    Reading { graph, diagnostics: reader.diagnostics }
}

#[derive(Default)]
struct Reader {
    diagnostics: Vec<Diagnostic>,
    /// The distinct risks, so that a risk that stands in many groups is kept once.
    risks: HashMap<String, Arc<Risk>>,
}

impl Reader {
    fn report(&mut self, code: &Code, path: String, message: impl Into<String>) {
        let place = Place { path: Some(path), ..Place::default() };
        self.diagnostics.push(code.finding(message).at(place).with_help(code.text));
    }

    fn graph(&mut self, bytes: &[u8], limits: &Limits) -> Option<Graph> {
        let unreadable = &codes::WIRE_UNREADABLE;
        if bytes.len() > limits.document_bytes {
            self.report(
                unreadable,
                String::new(),
                format!("the answer is larger than {} bytes", limits.document_bytes),
            );
            return None;
        }
        let answer: Value = match serde_json::from_slice(bytes) {
            Ok(answer) => answer,
            Err(error) => {
                self.report(unreadable, String::new(), format!("not JSON: {error}"));
                return None;
            }
        };
        let Some(nodes) = answer.get("nodes").and_then(Value::as_array) else {
            self.report(unreadable, "nodes".to_owned(), "the answer has no list of nodes");
            return None;
        };
        let (nodes, places) = self.nodes(nodes);
        let edges = self.edges(list(&answer, "edges"), &nodes, &places);
        let conditional = self.conditional(list(&answer, "conditionalEdges"), &nodes);
        for key in ["edges", "conditionalEdges"] {
            if answer.get(key).is_some_and(|value| !value.is_array() && !value.is_null()) {
                self.report(
                    &codes::WIRE_EDGE,
                    key.to_owned(),
                    format!("`{key}` is not a list; nothing of it is offered"),
                );
            }
        }
        for edge in edges.iter().filter(|edge| conditional.contains_key(edge)) {
            let message = format!("the update {} is both recommended and conditional", shown(&nodes, *edge));
            self.report(&codes::WIRE_BOTH, "edges".to_owned(), message);
        }
        Some(Graph::assemble(nodes, edges, conditional))
    }

    /// The nodes that can be read, and for each element of the list its node.
    fn nodes(&mut self, elements: &[Value]) -> (Vec<Arc<Node>>, Vec<Option<u32>>) {
        let mut nodes: Vec<Arc<Node>> = Vec::with_capacity(elements.len());
        let mut read: Vec<Option<Node>> = Vec::with_capacity(elements.len());
        for (at, element) in elements.iter().enumerate() {
            read.push(match node(element) {
                Ok(node) => Some(node),
                Err(why) => {
                    self.report(&codes::WIRE_NODE, format!("nodes[{at}]"), why);
                    None
                }
            });
        }
        // One version with two contents is none that could be offered.
        let mut first: HashMap<String, &Node> = HashMap::new();
        let mut torn: BTreeSet<Version> = BTreeSet::new();
        for node in read.iter().flatten() {
            if *first.entry(node.version().to_string()).or_insert(node) != node {
                torn.insert(node.version().clone());
            }
        }
        drop(first);
        let mut known: HashMap<Version, u32> = HashMap::new();
        let mut places = Vec::with_capacity(elements.len());
        for (at, node) in read.into_iter().enumerate() {
            let Some(node) = node else {
                places.push(None);
                continue;
            };
            if torn.contains(node.version()) {
                let message = format!("the version {} stands here with two contents", node.version());
                self.report(&codes::WIRE_NODE, format!("nodes[{at}]"), message);
                places.push(None);
                continue;
            }
            let place = *known.entry(node.version().clone()).or_insert_with(|| {
                nodes.push(Arc::new(node));
                id(nodes.len() - 1)
            });
            places.push(Some(place));
        }
        (nodes, places)
    }

    fn edges(&mut self, elements: &[Value], nodes: &[Arc<Node>], places: &[Option<u32>]) -> BTreeSet<Edge> {
        let mut edges = BTreeSet::new();
        for (at, element) in elements.iter().enumerate() {
            let path = || format!("edges[{at}]");
            let place = |value: &Value| places.get(usize::try_from(value.as_u64()?).ok()?).copied();
            let pair = element.as_array().map(Vec::as_slice);
            let Some([from, to]) = pair else {
                self.report(&codes::WIRE_EDGE, path(), "an edge is a list of two indices");
                continue;
            };
            match (place(from), place(to)) {
                (Some(Some(from)), Some(Some(to))) => {
                    let edge = Edge { from, to };
                    if self.leads_up(nodes, edge, path) {
                        edges.insert(edge);
                    }
                }
                // The node was reported already.
                (Some(_), Some(_)) => {}
                _ => self.report(&codes::WIRE_EDGE, path(), format!("no nodes have the indices {from} and {to}")),
            }
        }
        edges
    }

    fn leads_up(&mut self, nodes: &[Arc<Node>], edge: Edge, path: impl Fn() -> String) -> bool {
        let version = |place: u32| nodes.get(place as usize).map(|node| node.version());
        let up = version(edge.from).zip(version(edge.to)).is_some_and(|(from, to)| from.precedence(to).is_lt());
        if !up {
            let message = format!("the update {} does not lead to a newer version", shown(nodes, edge));
            self.report(&codes::WIRE_ORDER, path(), message);
        }
        up
    }

    fn conditional(&mut self, groups: &[Value], nodes: &[Arc<Node>]) -> BTreeMap<Edge, Vec<Arc<Risk>>> {
        let places: HashMap<String, u32> = nodes.iter().map(|node| node.version().to_string()).zip(0..).collect();
        let mut edges: BTreeMap<Edge, Vec<Arc<Risk>>> = BTreeMap::new();
        for (at, group) in groups.iter().enumerate() {
            let path = format!("conditionalEdges[{at}]");
            if !group.is_object() || group.get("edges").is_some_and(|edges| !edges.is_array()) {
                self.report(
                    &codes::WIRE_EDGE,
                    path,
                    "a group has lists of `edges` and `risks`; nothing of it is offered",
                );
                continue;
            }
            let risks = self.risks(group, &path);
            let mut here: HashSet<Edge> = HashSet::new();
            for (at, element) in list(group, "edges").iter().enumerate() {
                let path = || format!("{path}.edges[{at}]");
                let place = |key: &str| {
                    let text = element.get(key)?.as_str()?;
                    places
                        .get(text)
                        .copied()
                        .or_else(|| places.get(&text.parse::<Version>().ok()?.to_string()).copied())
                };
                let (Some(from), Some(to)) = (place("from"), place("to")) else {
                    self.report(&codes::WIRE_EDGE, path(), format!("no nodes for the update {element}"));
                    continue;
                };
                let edge = Edge { from, to };
                if !self.leads_up(nodes, edge, path) || !here.insert(edge) {
                    continue;
                }
                if edges.contains_key(&edge) {
                    let message = format!("the update {} stands in two groups", shown(nodes, edge));
                    self.report(&codes::WIRE_REPEATED, path(), message);
                }
                edges.entry(edge).or_default().extend(risks.iter().cloned());
            }
        }
        edges
    }

    /// The risks of a group: never none, because edges without a risk would be recommended.
    fn risks(&mut self, group: &Value, path: &str) -> Vec<Arc<Risk>> {
        let mut risks = Vec::new();
        for (at, element) in list(group, "risks").iter().enumerate() {
            let risk = risk(element).unwrap_or_else(|why| {
                self.report(&codes::WIRE_RISK, format!("{path}.risks[{at}]"), why);
                stand_in(element, why)
            });
            risks.push(self.shared(risk));
        }
        if risks.is_empty() {
            self.report(&codes::WIRE_RISK, format!("{path}.risks"), "the group has no list of risks");
            let risk = stand_in(&Value::Null, "it names no risk");
            risks.push(self.shared(risk));
        }
        risks
    }

    fn shared(&mut self, risk: Risk) -> Arc<Risk> {
        Arc::clone(self.risks.entry(risk.json().to_owned()).or_insert_with(|| Arc::new(risk)))
    }
}

/// The elements of a list under a key; none if there is no such list.
fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn node(element: &Value) -> Result<Node, String> {
    let version = element.get("version").and_then(Value::as_str).ok_or("a node without a version")?;
    let parsed = version.parse::<Version>().map_err(|error| error.to_string())?;
    let payload = element.get("payload").and_then(Value::as_str).filter(|payload| !payload.is_empty());
    let payload = payload.ok_or_else(|| format!("the node {version} has no payload"))?;
    let mut metadata = BTreeMap::new();
    match element.get("metadata") {
        None | Some(Value::Null) => {}
        Some(Value::Object(fields)) => {
            // A value that is no text says nothing to anybody.
            let texts = fields.iter().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
            metadata.extend(texts);
        }
        Some(_) => return Err(format!("the metadata of the node {version} is not an object")),
    }
    Ok(Node::new(parsed, payload, metadata))
}

/// A risk, or why it cannot be read.
fn risk(element: &Value) -> Result<Risk, &'static str> {
    let text = |key: &str| element.get(key).and_then(Value::as_str);
    let name = text("name").filter(|name| !name.is_empty()).ok_or("the risk has no name")?;
    let url = text("url").ok_or("the risk has no url")?;
    let message = text("message").ok_or("the risk has no message")?;
    let rules = element.get("matchingRules").and_then(Value::as_array);
    let rules = rules.ok_or("the risk has no list of matchingRules")?;
    let rules: Option<Vec<Rule>> = rules.iter().map(Rule::from_json).collect();
    let rules = rules.ok_or("an entry of matchingRules is not an object with a type")?;
    Ok(Risk::new(name, url, message, rules))
}

/// What stands for a risk that cannot be read: what is left of its texts, and a rule that no cluster can evaluate.
fn stand_in(element: &Value, why: &str) -> Risk {
    let text = |key: &str| element.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let message = text("message")
        .map_or_else(|| format!("The update service sent a risk that cannot be read: {why}."), str::to_owned);
    Risk::new(
        text("name").unwrap_or(UNNAMED),
        text("url").unwrap_or(""),
        message,
        vec![Rule::of_kind(Rule::UNREADABLE)],
    )
}

fn shown(nodes: &[Arc<Node>], edge: Edge) -> String {
    let name = |place: u32| nodes.get(place as usize).map_or_else(String::new, |node| node.version().to_string());
    format!("from {} to {}", name(edge.from), name(edge.to))
}
