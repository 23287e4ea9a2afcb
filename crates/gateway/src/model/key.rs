//! Which object is meant: kinds that the rules know by name, and all others by group and kind.

use std::fmt;
use std::sync::Arc;

use clearway_core::ObjectId;

/// A text that many objects share.
pub type Name = Arc<str>;

/// The API group of Gateway API.
pub const GATEWAY_GROUP: &str = "gateway.networking.k8s.io";

/// The kinds of routes; every rule is written once for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RouteKind {
    /// HTTPRoute.
    Http,
    /// GRPCRoute.
    Grpc,
    /// TLSRoute.
    Tls,
    /// TCPRoute.
    Tcp,
    /// UDPRoute.
    Udp,
}

impl RouteKind {
    /// All of them.
    pub const ALL: [RouteKind; 5] = [RouteKind::Http, RouteKind::Grpc, RouteKind::Tls, RouteKind::Tcp, RouteKind::Udp];

    /// The kind as the API has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            RouteKind::Http => "HTTPRoute",
            RouteKind::Grpc => "GRPCRoute",
            RouteKind::Tls => "TLSRoute",
            RouteKind::Tcp => "TCPRoute",
            RouteKind::Udp => "UDPRoute",
        }
    }

    /// Whether hostnames are compared with those of listeners.
    pub const fn has_hostnames(self) -> bool {
        matches!(self, RouteKind::Http | RouteKind::Grpc | RouteKind::Tls)
    }

    /// Whether a data plane can answer a request that it has no backend for.
    pub const fn can_answer_errors(self) -> bool {
        matches!(self, RouteKind::Http | RouteKind::Grpc)
    }
}

/// A kind of objects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// GatewayClass.
    GatewayClass,
    /// Gateway.
    Gateway,
    /// ListenerSet.
    ListenerSet,
    /// One of the routes.
    Route(RouteKind),
    /// ReferenceGrant.
    ReferenceGrant,
    /// BackendTLSPolicy.
    BackendTlsPolicy,
    /// Service of the core group.
    Service,
    /// EndpointSlice.
    EndpointSlice,
    /// Secret of the core group.
    Secret,
    /// ConfigMap of the core group.
    ConfigMap,
    /// Namespace.
    Namespace,
    /// CustomResourceDefinition.
    Definition,
    /// Any other kind; only whether its objects exist is known.
    Other {
        /// The API group.
        group: Name,
        /// The kind.
        kind: Name,
    },
}

impl ObjectKind {
    /// The kind that a group and a kind name.
    pub fn new(group: &str, kind: &str) -> Self {
        match (group, kind) {
            (GATEWAY_GROUP, "GatewayClass") => ObjectKind::GatewayClass,
            (GATEWAY_GROUP, "Gateway") => ObjectKind::Gateway,
            (GATEWAY_GROUP, "ListenerSet") => ObjectKind::ListenerSet,
            (GATEWAY_GROUP, "ReferenceGrant") => ObjectKind::ReferenceGrant,
            (GATEWAY_GROUP, "BackendTLSPolicy") => ObjectKind::BackendTlsPolicy,
            ("", "Service") => ObjectKind::Service,
            ("discovery.k8s.io", "EndpointSlice") => ObjectKind::EndpointSlice,
            ("", "Secret") => ObjectKind::Secret,
            ("", "ConfigMap") => ObjectKind::ConfigMap,
            ("", "Namespace") => ObjectKind::Namespace,
            ("apiextensions.k8s.io", "CustomResourceDefinition") => ObjectKind::Definition,
            (GATEWAY_GROUP, _) => match RouteKind::ALL.into_iter().find(|route| route.as_str() == kind) {
                Some(route) => ObjectKind::Route(route),
                None => ObjectKind::Other { group: group.into(), kind: kind.into() },
            },
            _ => ObjectKind::Other { group: group.into(), kind: kind.into() },
        }
    }

    /// The API group.
    pub fn group(&self) -> &str {
        match self {
            ObjectKind::GatewayClass
            | ObjectKind::Gateway
            | ObjectKind::ListenerSet
            | ObjectKind::Route(_)
            | ObjectKind::ReferenceGrant
            | ObjectKind::BackendTlsPolicy => GATEWAY_GROUP,
            ObjectKind::Service | ObjectKind::Secret | ObjectKind::ConfigMap | ObjectKind::Namespace => "",
            ObjectKind::EndpointSlice => "discovery.k8s.io",
            ObjectKind::Definition => "apiextensions.k8s.io",
            ObjectKind::Other { group, .. } => group,
        }
    }

    /// The kind as the API has it.
    pub fn as_str(&self) -> &str {
        match self {
            ObjectKind::GatewayClass => "GatewayClass",
            ObjectKind::Gateway => "Gateway",
            ObjectKind::ListenerSet => "ListenerSet",
            ObjectKind::Route(route) => route.as_str(),
            ObjectKind::ReferenceGrant => "ReferenceGrant",
            ObjectKind::BackendTlsPolicy => "BackendTLSPolicy",
            ObjectKind::Service => "Service",
            ObjectKind::EndpointSlice => "EndpointSlice",
            ObjectKind::Secret => "Secret",
            ObjectKind::ConfigMap => "ConfigMap",
            ObjectKind::Namespace => "Namespace",
            ObjectKind::Definition => "CustomResourceDefinition",
            ObjectKind::Other { kind, .. } => kind,
        }
    }

    /// Whether objects of this kind are in no namespace, whatever their metadata says.
    pub fn is_cluster_scoped(&self) -> bool {
        matches!(self, ObjectKind::GatewayClass | ObjectKind::Namespace | ObjectKind::Definition)
    }
}

impl fmt::Display for ObjectKind {
    /// `HTTPRoute`; with the group for kinds that the rules do not know.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ObjectKind::Other { group, kind } if !group.is_empty() => write!(f, "{kind}.{group}"),
            kind => f.write_str(kind.as_str()),
        }
    }
}

/// One object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Its kind.
    pub kind: ObjectKind,
    /// Its namespace, empty for cluster-scoped objects.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
}

impl ObjectKey {
    /// The object of that kind, namespace and name.
    pub fn new(kind: ObjectKind, namespace: &Name, name: &Name) -> Self {
        ObjectKey { kind, namespace: namespace.clone(), name: name.clone() }
    }

    /// The object as the other crates name it.
    pub fn id(&self) -> ObjectId {
        ObjectId {
            group: self.kind.group().to_owned(),
            kind: self.kind.as_str().to_owned(),
            namespace: self.namespace.to_string(),
            name: self.name.to_string(),
        }
    }
}

impl fmt::Display for ObjectKey {
    /// `HTTPRoute shop/web`, `GatewayClass public`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(if self.name.is_empty() { "(no name)" } else { &self.name })
    }
}
