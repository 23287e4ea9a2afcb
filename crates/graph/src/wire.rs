//! The graph as JSON, as Cincinnati serves it, and back.
//!
//! [`write()`] copies rendered nodes and risks together: the same graph gives the same bytes. [`read`] takes answers of
//! Cincinnati and of this program and never fails on one element; whatever it cannot read it leaves out or makes
//! impossible to recommend, so that no answer is read as more permissive than it was sent.

mod read;

pub use read::{Reading, read};

use clearway_core::{CapExceeded, GraphLimits};

use crate::model::graph::{Edge, Graph};

/// The body of an answer: `{version, nodes, edges, conditionalEdges}` on one line.
pub fn write(graph: &Graph) -> Vec<u8> {
    // Without a bound it always fits.
    write_bytes(graph, usize::MAX).unwrap_or_default()
}

/// The same for an answer that keeps to its caps; the one that it is above if it does not.
pub fn write_within(graph: &Graph, caps: &GraphLimits) -> Result<Vec<u8>, CapExceeded> {
    match graph.above(caps) {
        Some(above) => Err(above),
        None => write_bytes(graph, caps.answer_bytes).ok_or(CapExceeded {
            cap: "answer_bytes",
            limit: caps.answer_bytes as u64,
            what: "bytes in one answer",
        }),
    }
}

/// The body, if it has at most so many bytes.
fn write_bytes(graph: &Graph, most: usize) -> Option<Vec<u8>> {
    let nodes: usize = graph.nodes().iter().map(|node| node.json().len() + 1).sum();
    let risks = |group: &crate::Group| group.risks.iter().map(|risk| risk.json().len() + 1).sum::<usize>();
    let groups: usize = graph.conditional().iter().map(|group| 32 + risks(group) + 48 * group.edges.len()).sum();
    let mut out = Vec::with_capacity((64 + nodes + 12 * graph.edges().len() + groups).min(most));
    let fits = |out: &Vec<u8>| (out.len() <= most).then_some(());
    out.extend_from_slice(b"{\"version\":1,\"nodes\":[");
    for (at, node) in graph.nodes().iter().enumerate() {
        separate(&mut out, at);
        out.extend_from_slice(node.json().as_bytes());
        fits(&out)?;
    }
    out.extend_from_slice(b"],\"edges\":[");
    let numbers = Numbers::new(graph.nodes().len());
    for (at, edge) in graph.edges().iter().enumerate() {
        separate(&mut out, at);
        out.push(b'[');
        out.extend_from_slice(numbers.text(edge.from));
        out.push(b',');
        out.extend_from_slice(numbers.text(edge.to));
        out.push(b']');
        fits(&out)?;
    }
    out.extend_from_slice(b"],\"conditionalEdges\":[");
    for (at, group) in graph.conditional().iter().enumerate() {
        separate(&mut out, at);
        out.extend_from_slice(b"{\"edges\":[");
        for (at, edge) in group.edges.iter().enumerate() {
            separate(&mut out, at);
            write_named(&mut out, graph, *edge);
            fits(&out)?;
        }
        out.extend_from_slice(b"],\"risks\":[");
        for (at, risk) in group.risks.iter().enumerate() {
            separate(&mut out, at);
            out.extend_from_slice(risk.json().as_bytes());
            fits(&out)?;
        }
        out.extend_from_slice(b"]}");
    }
    out.extend_from_slice(b"]}");
    fits(&out)?;
    Some(out)
}

fn separate(out: &mut Vec<u8>, at: usize) {
    if at > 0 {
        out.push(b',');
    }
}

fn write_named(out: &mut Vec<u8>, graph: &Graph, edge: Edge) {
    let (Some(from), Some(to)) = (graph.node(edge.from), graph.node(edge.to)) else { return };
    out.extend_from_slice(b"{\"from\":");
    out.extend_from_slice(from.name().as_bytes());
    out.extend_from_slice(b",\"to\":");
    out.extend_from_slice(to.name().as_bytes());
    out.push(b'}');
}

/// The places of nodes as text, each written once.
struct Numbers {
    digits: String,
    ends: Vec<u32>,
}

impl Numbers {
    fn new(count: usize) -> Self {
        use std::fmt::Write as _;
        let mut numbers = Numbers { digits: String::with_capacity(4 * count), ends: Vec::with_capacity(count + 1) };
        numbers.ends.push(0);
        for number in 0..count {
            // Writing into a text cannot fail.
            let _ = write!(numbers.digits, "{number}");
            numbers.ends.push(crate::model::versions::id(numbers.digits.len()));
        }
        numbers
    }

    fn text(&self, number: u32) -> &[u8] {
        let end = |at: usize| self.ends.get(at).copied().unwrap_or(0) as usize;
        self.digits.as_bytes().get(end(number as usize)..end(number as usize + 1)).unwrap_or(b"0")
    }
}
