//! Routes of every kind: parents, hostnames and rules.

use clearway_yaml::Node;

use super::key::{GATEWAY_GROUP, Name, ObjectKey, RouteKind};
use super::reference::Reference;
use super::route_rules::{Filter, Rule};
use super::{items, port, text};
use crate::hostname::Hostname;

/// A route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Its kind.
    pub kind: RouteKind,
    /// The resources it wants to attach to.
    pub parents: Vec<ParentRef>,
    /// The hostnames it is for; empty for all.
    pub hostnames: Vec<Hostname>,
    /// Its rules.
    pub rules: Vec<Rule>,
}

/// A reference of a route to a parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentRef {
    /// The parent.
    pub target: ObjectKey,
    /// Whether the namespace was given in the route; the status repeats it then.
    pub namespace_given: bool,
    /// One listener.
    pub section: Option<Name>,
    /// Listeners of one port.
    pub port: Option<u16>,
}

/// A backend of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    /// What it refers to.
    pub reference: Reference,
    /// The port, which a Service needs.
    pub port: Option<u16>,
    /// Its share of the traffic, relative to the sum; 1 by default.
    pub weight: u32,
    /// Filters for this backend alone.
    pub filters: Vec<Filter>,
}

/// The largest weight that the API accepts.
const LARGEST_WEIGHT: i64 = 1_000_000;

impl Route {
    pub(crate) fn read(kind: RouteKind, spec: Option<Node<'_>>, namespace: &Name) -> Self {
        let hostnames = if kind.has_hostnames() {
            items(spec, "hostnames").filter_map(|node| Hostname::read(node.raw())).collect()
        } else {
            Vec::new()
        };
        let mut rules: Vec<Rule> = items(spec, "rules").map(|node| Rule::read(kind, node, namespace)).collect();
        // The CRD of HTTPRoute puts one rule for every path where none are given.
        if kind == RouteKind::Http && spec.is_none_or(|spec| spec.get("rules").is_none_or(Node::is_null)) {
            rules.push(Rule::for_every_path());
        }
        Route {
            kind,
            parents: items(spec, "parentRefs").map(|node| ParentRef::read(node, namespace)).collect(),
            hostnames,
            rules,
        }
    }

    /// Every reference that must resolve, in the order of the rules: backends first, then those of filters.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.rules.iter().flat_map(Rule::references)
    }
}

impl ParentRef {
    fn read(node: Node<'_>, namespace: &Name) -> Self {
        ParentRef {
            target: Reference::read(node, namespace, GATEWAY_GROUP, "Gateway").target,
            namespace_given: text(node, "namespace").is_some(),
            section: text(node, "sectionName").map(Name::from),
            port: port(node, "port"),
        }
    }
}

impl Backend {
    pub(super) fn read(kind: RouteKind, node: Node<'_>, namespace: &Name) -> Self {
        let weight = node.get("weight").and_then(Node::as_int).unwrap_or(1).clamp(0, LARGEST_WEIGHT);
        Backend {
            reference: Reference::read(node, namespace, "", "Service"),
            port: port(node, "port"),
            weight: u32::try_from(weight).unwrap_or(0),
            filters: items(Some(node), "filters").map(|node| Filter::read(kind, node, namespace)).collect(),
        }
    }
}
