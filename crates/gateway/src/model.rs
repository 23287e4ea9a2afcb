//! Lenient views of the objects: what the rules look at, and nothing else.
//!
//! An enum value that is not known is kept as it is, a missing field is an absent one, and defaults of the CRDs are applied
//! while reading (rule 2.1), so that the rules never meet an undefaulted object (V6). Start at [`Object::read`].

mod certificate;
mod gateway;
mod grant;
mod key;
mod policy;
mod read;
mod reference;
mod route;
mod route_rules;
mod service;

use clearway_yaml::Node;

pub use certificate::{ConfigMap, Secret};
pub use gateway::{
    Address, AllowedRoutes, FrontendValidation, Gateway, GatewayClass, Listener, ListenerSet, ListenerTls,
    NamespacesFrom, Protocol, TlsMode,
};
pub use grant::ReferenceGrant;
pub use key::{GATEWAY_GROUP, Name, ObjectKey, ObjectKind, RouteKind};
pub use policy::BackendTlsPolicy;
pub use read::{Body, Metadata, Object};
pub use reference::Reference;
pub use route::{Backend, ParentRef, Route};
pub use route_rules::{Filter, FilterReference, Rule, RuleProblem};
pub use service::{EndpointSlice, Service, ServicePort};

/// The text under a key, if it is one and not empty.
pub(crate) fn text<'t>(node: Node<'t>, key: &str) -> Option<&'t str> {
    node.get(key).and_then(Node::as_text).filter(|text| !text.is_empty())
}

/// The name under a key; empty if it is missing. An unquoted number is a name too, if a wrong one.
pub(crate) fn name(node: Node<'_>, key: &str) -> Name {
    node.get(key).filter(|value| !value.is_null()).map_or("", Node::raw).into()
}

/// The elements of the list under a key.
pub(crate) fn items<'t>(node: Option<Node<'t>>, key: &str) -> impl Iterator<Item = Node<'t>> {
    node.and_then(|node| node.get(key)).into_iter().flat_map(Node::items)
}

/// The port under a key, if it is one.
pub(crate) fn port(node: Node<'_>, key: &str) -> Option<u16> {
    node.get(key).and_then(Node::as_int).and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0)
}
