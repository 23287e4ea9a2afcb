//! The parts of an answer as they are met in its text. Each takes any JSON value, and none fails on what it is: an answer
//! ends early only above a cap, or where a list occurs twice and nobody can tell which was meant.

use std::borrow::Cow;

use clearway_core::{Exceeded, GraphLimits, Version};
use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess};
use serde_json::value::RawValue;

use super::Reader;
use super::any_value::{Any, AnyValue, Index, Text, next_key};
use crate::codes::{self, Code};
use crate::model::graph::{Edge, Node};
use crate::model::metadata::Metadata;

/// The answer, gone through for its nodes; says whether it has a list of them.
pub(super) struct Nodes<'r, 't> {
    pub(super) reader: &'r mut Reader<'t>,
    pub(super) read: &'r mut Vec<Option<Node>>,
}

impl<'de> AnyValue<'de> for Nodes<'_, 'de> {
    type Value = bool;

    fn other(self) -> bool {
        false
    }

    fn object<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut found = None;
        while let Some(key) = next_key(&mut map)? {
            if key != "nodes" {
                map.next_value::<IgnoredAny>()?;
            } else if found.is_some() {
                return Err(A::Error::custom("`nodes` occurs twice"));
            } else {
                let list = NodeList { reader: &mut *self.reader, read: &mut *self.read };
                found = Some(map.next_value_seed(Any(list))?);
            }
        }
        Ok(found.unwrap_or(false))
    }
}

struct NodeList<'r, 't> {
    reader: &'r mut Reader<'t>,
    read: &'r mut Vec<Option<Node>>,
}

impl<'de> AnyValue<'de> for NodeList<'_, 'de> {
    type Value = bool;

    fn other(self) -> bool {
        false
    }

    fn list<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        let caps = self.reader.caps;
        let mut bytes = 0;
        while let Some(parts) = list.next_element_seed(Any(NodeElement { caps }))? {
            let at = self.read.len();
            bytes += parts.bytes();
            if !self.reader.counts("answer_nodes", at + 1, caps.answer_nodes, "releases in one answer")
                || !self.reader.counts("release_texts", bytes, caps.release_texts, "bytes in payloads and metadata")
            {
                return Err(A::Error::custom("too many nodes"));
            }
            let node = self.reader.node(at, parts);
            self.read.push(node);
        }
        Ok(true)
    }
}

/// What stands in one node.
#[derive(Default)]
pub(super) struct NodeParts<'a> {
    version: Option<Cow<'a, str>>,
    payload: Option<Cow<'a, str>>,
    metadata: Pairs<'a>,
}

/// The metadata of a node.
#[derive(Default)]
enum Pairs<'a> {
    /// It has none.
    #[default]
    Absent,
    /// It is something else.
    NoObject,
    /// The texts of it by their keys, and whether there are more than are kept.
    Texts(Vec<(Cow<'a, str>, Cow<'a, str>)>, bool),
}

impl NodeParts<'_> {
    /// What its texts take, as caps count it.
    fn bytes(&self) -> usize {
        let pairs: &[(Cow<'_, str>, Cow<'_, str>)] = match &self.metadata {
            Pairs::Texts(pairs, _) => pairs,
            _ => &[],
        };
        let metadata: usize = pairs.iter().map(|(key, value)| Metadata::cost(key, value)).sum();
        self.payload.as_ref().map_or(0, |payload| payload.len()) + metadata
    }

    /// The node, or why it is none.
    pub(super) fn node(self, caps: &GraphLimits) -> Result<Node, (&'static Code, String)> {
        let (bytes, bad) = (self.bytes(), |why: String| (&codes::WIRE_NODE, why));
        let version = self.version.ok_or_else(|| bad("a node without a version".to_owned()))?;
        let parsed = version.parse::<Version>().map_err(|error| bad(error.to_string()))?;
        let payload = self.payload.filter(|payload| !payload.is_empty());
        let payload = payload.ok_or_else(|| bad(format!("the node {version} has no payload")))?;
        let (pairs, over) = match self.metadata {
            Pairs::Absent => (Vec::new(), false),
            Pairs::NoObject => return Err(bad(format!("the metadata of the node {version} is not an object"))),
            Pairs::Texts(pairs, over) => (pairs, over),
        };
        let above = Exceeded::first([
            ("metadata_keys", pairs.len() + usize::from(over), caps.metadata_keys, "metadata keys of a node"),
            ("release_bytes", bytes, caps.release_bytes, "bytes in the payload and metadata of a node"),
        ]);
        if let Some(above) = above {
            return Err((&codes::WIRE_TOO_LARGE, format!("the node {version} has {above}")));
        }
        Ok(Node::new(parsed, payload, Metadata::of_pairs(pairs)))
    }
}

/// Reads one node; one without anything if it is no object.
struct NodeElement<'c> {
    caps: &'c GraphLimits,
}

impl<'de> AnyValue<'de> for NodeElement<'_> {
    type Value = NodeParts<'de>;

    fn other(self) -> NodeParts<'de> {
        NodeParts::default()
    }

    fn object<A: MapAccess<'de>>(self, mut map: A) -> Result<NodeParts<'de>, A::Error> {
        let mut parts = NodeParts::default();
        while let Some(key) = next_key(&mut map)? {
            match &*key {
                "version" => parts.version = map.next_value_seed(Any(Text))?,
                "payload" => parts.payload = map.next_value_seed(Any(Text))?,
                "metadata" => parts.metadata = map.next_value_seed(Any(PairsOf { most: self.caps.metadata_keys }))?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(parts)
    }
}

/// Reads metadata, and keeps so many keys of it. A value that is no text says nothing to anybody.
struct PairsOf {
    most: usize,
}

impl<'de> AnyValue<'de> for PairsOf {
    type Value = Pairs<'de>;

    fn other(self) -> Pairs<'de> {
        Pairs::NoObject
    }

    fn null(self) -> Pairs<'de> {
        Pairs::Absent
    }

    fn object<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
        let (mut pairs, mut over) = (Vec::new(), false);
        while let Some(key) = next_key(&mut map)? {
            match map.next_value_seed(Any(Text))? {
                Some(value) if pairs.len() < self.most => pairs.push((key, value)),
                Some(_) => over = true,
                None => {}
            }
        }
        Ok(Pairs::Texts(pairs, over))
    }
}

/// The answer, gone through for its updates.
pub(super) struct Updates<'r, 't> {
    pub(super) reader: &'r mut Reader<'t>,
}

impl<'de> AnyValue<'de> for Updates<'_, 'de> {
    type Value = ();

    fn other(self) {}

    fn object<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut edges, mut conditional) = (false, false);
        while let Some(key) = next_key(&mut map)? {
            let seen = match &*key {
                "edges" => &mut edges,
                "conditionalEdges" => &mut conditional,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if std::mem::replace(seen, true) {
                return Err(A::Error::custom(format!("`{key}` occurs twice")));
            }
            let reader = &mut *self.reader;
            let is_list = if key == "edges" {
                map.next_value_seed(Any(EdgeList { reader }))?
            } else {
                map.next_value_seed(Any(GroupList { reader }))?
            };
            if !is_list {
                let message = || format!("`{key}` is not a list; none of its updates is offered");
                self.reader.report(&codes::WIRE_EDGE, || key.clone().into_owned(), message);
            }
        }
        Ok(())
    }
}

/// Reads the unconditional updates; false if they are no list.
struct EdgeList<'r, 't> {
    reader: &'r mut Reader<'t>,
}

impl<'de> AnyValue<'de> for EdgeList<'_, 'de> {
    type Value = bool;

    fn other(self) -> bool {
        false
    }

    fn null(self) -> bool {
        true
    }

    fn list<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        let mut at = 0;
        while let Some(indices) = list.next_element_seed(Any(Indices))? {
            if !self.reader.edge(at, indices) {
                return Err(A::Error::custom("too many updates"));
            }
            at += 1;
        }
        Ok(true)
    }
}

/// Reads a list of two indices, of which each may be none; nothing if it is no such list.
struct Indices;

impl<'de> AnyValue<'de> for Indices {
    type Value = Option<(Option<u64>, Option<u64>)>;

    fn other(self) -> Self::Value {
        None
    }

    fn list<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let (from, to) = (list.next_element_seed(Any(Index))?, list.next_element_seed(Any(Index))?);
        let mut longer = false;
        while list.next_element::<IgnoredAny>()?.is_some() {
            longer = true;
        }
        Ok(from.zip(to).filter(|_| !longer))
    }
}

/// Reads the groups of conditional updates; false if they are no list.
struct GroupList<'r, 't> {
    reader: &'r mut Reader<'t>,
}

impl<'de> AnyValue<'de> for GroupList<'_, 'de> {
    type Value = bool;

    fn other(self) -> bool {
        false
    }

    fn null(self) -> bool {
        true
    }

    fn list<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        let (mut at, most) = (0, self.reader.caps.answer_groups);
        while list.next_element_seed(Any(Group { reader: &mut *self.reader, at }))?.is_some() {
            at += 1;
            if !self.reader.counts("answer_groups", at, most, "groups of conditional updates in one answer") {
                return Err(A::Error::custom("too many groups"));
            }
        }
        Ok(true)
    }
}

/// Reads one group.
struct Group<'r, 't> {
    reader: &'r mut Reader<'t>,
    at: usize,
}

impl<'de> AnyValue<'de> for Group<'_, 'de> {
    type Value = ();

    fn other(self) {
        let (at, why) = (self.at, "a group has lists of `edges` and `risks`; none of its updates is offered");
        self.reader.report(&codes::WIRE_EDGE, || format!("conditionalEdges[{at}]"), || why.to_owned());
    }

    fn object<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let at = self.at;
        let (mut edges, mut risks) = (None, None);
        while let Some(key) = next_key(&mut map)? {
            let reader = &mut *self.reader;
            match &*key {
                "edges" if edges.is_none() => edges = Some(map.next_value_seed(Any(GroupEdges { reader, at }))?),
                "risks" if risks.is_none() => risks = Some(map.next_value_seed(Any(GroupRisks { reader, at }))?),
                "edges" | "risks" => {
                    return Err(A::Error::custom(format!("`{key}` occurs twice in conditionalEdges[{at}]")));
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        match edges.unwrap_or(Some(Vec::new())) {
            None => self.other(),
            Some(edges) => {
                let set = self.reader.risk_set(at, risks.unwrap_or_default());
                self.reader.conditional.extend(edges.into_iter().map(|edge| (edge, set)));
            }
        }
        Ok(())
    }
}

/// Reads the updates of a group; nothing if they are no list.
struct GroupEdges<'r, 't> {
    reader: &'r mut Reader<'t>,
    at: usize,
}

impl<'de> AnyValue<'de> for GroupEdges<'_, 'de> {
    type Value = Option<Vec<Edge>>;

    fn other(self) -> Option<Vec<Edge>> {
        None
    }

    fn list<A: SeqAccess<'de>>(self, mut list: A) -> Result<Option<Vec<Edge>>, A::Error> {
        let (mut edges, mut at) = (Vec::new(), 0);
        while let Some((from, to)) = list.next_element_seed(Any(Ends))? {
            let edge = self.reader.named_edge(self.at, at, from.as_deref(), to.as_deref());
            edges.extend(edge.map_err(|()| A::Error::custom("too many updates"))?);
            at += 1;
        }
        Ok(Some(edges))
    }
}

/// Reads the versions of a conditional update.
struct Ends;

impl<'de> AnyValue<'de> for Ends {
    type Value = (Option<Cow<'de, str>>, Option<Cow<'de, str>>);

    fn other(self) -> Self::Value {
        (None, None)
    }

    fn object<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut from, mut to) = (None, None);
        while let Some(key) = next_key(&mut map)? {
            match &*key {
                "from" => from = map.next_value_seed(Any(Text))?,
                "to" => to = map.next_value_seed(Any(Text))?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok((from, to))
    }
}

/// Reads the risks of a group, by their numbers.
struct GroupRisks<'r, 't> {
    reader: &'r mut Reader<'t>,
    at: usize,
}

impl<'de> AnyValue<'de> for GroupRisks<'_, 'de> {
    type Value = Vec<u32>;

    fn other(self) -> Vec<u32> {
        Vec::new()
    }

    fn list<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<u32>, A::Error> {
        let (mut numbers, mut at) = (Vec::new(), 0);
        while let Some(raw) = list.next_element::<&'de RawValue>()? {
            let number = self.reader.risk(self.at, at, raw.get());
            numbers.push(number.map_err(|()| A::Error::custom("too many risks"))?);
            at += 1;
        }
        Ok(numbers)
    }
}
