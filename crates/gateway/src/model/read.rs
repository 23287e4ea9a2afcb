//! From a document to the view of an object.

use clearway_conditions as conditions;
use clearway_core::Timestamp;
use clearway_yaml::{Node, Source, Tape};

use super::certificate::{ConfigMap, Secret};
use super::gateway::{Gateway, GatewayClass, ListenerSet};
use super::grant::ReferenceGrant;
use super::key::{GATEWAY_GROUP, Name, ObjectKey, ObjectKind};
use super::policy::BackendTlsPolicy;
use super::route::Route;
use super::service::{EndpointSlice, Service};
use crate::selector::Labels;

/// An object as the rules see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Which object it is.
    pub key: ObjectKey,
    /// The group and version it was read in; its status is written in the same.
    pub api_version: Name,
    /// What its metadata says.
    pub metadata: Metadata,
    /// The part that depends on its kind.
    pub body: Body,
}

/// What the metadata of an object says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Its generation; none for a manifest that was never applied.
    pub generation: Option<i64>,
    /// When it was created; none for a manifest that was never applied.
    pub created: Option<Timestamp>,
}

/// What an object is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// A GatewayClass.
    GatewayClass(GatewayClass),
    /// A Gateway.
    Gateway(Box<Gateway>),
    /// A ListenerSet.
    ListenerSet(Box<ListenerSet>),
    /// A route of any kind.
    Route(Box<Route>),
    /// A ReferenceGrant.
    ReferenceGrant(ReferenceGrant),
    /// A BackendTLSPolicy.
    BackendTlsPolicy(BackendTlsPolicy),
    /// A Service.
    Service(Service),
    /// An EndpointSlice.
    EndpointSlice(EndpointSlice),
    /// A Secret, without its contents.
    Secret(Secret),
    /// A ConfigMap, without its contents.
    ConfigMap(ConfigMap),
    /// The labels of a Namespace.
    Namespace(Labels),
    /// The bundle version of a CRD of Gateway API; none if it carries none.
    Definition(Option<Name>),
    /// Any other object: it exists.
    Other,
}

impl Object {
    /// Reads an object from a document, or from an item of a list.
    pub fn read(object: &conditions::Object<'_>) -> Object {
        let root = object.root;
        let spec = root.get("spec").filter(|spec| spec.is_mapping());
        let kind = ObjectKind::new(object.group(), object.kind());
        let namespace: Name = match object.namespace() {
            _ if kind.is_cluster_scoped() => "".into(),
            // A manifest without a namespace is applied to this one, unless the kind has none.
            "" if !matches!(kind, ObjectKind::Other { .. }) => "default".into(),
            namespace => namespace.into(),
        };
        let body = match &kind {
            ObjectKind::GatewayClass => Body::GatewayClass(GatewayClass::read(root)),
            ObjectKind::Gateway => Body::Gateway(Box::new(Gateway::read(spec, &namespace))),
            ObjectKind::ListenerSet => Body::ListenerSet(Box::new(ListenerSet::read(spec, &namespace))),
            ObjectKind::Route(kind) => Body::Route(Box::new(Route::read(*kind, spec, &namespace))),
            ObjectKind::ReferenceGrant => Body::ReferenceGrant(ReferenceGrant::read(spec)),
            ObjectKind::BackendTlsPolicy => Body::BackendTlsPolicy(BackendTlsPolicy::read(spec, &namespace)),
            ObjectKind::Service => Body::Service(Service::read(spec)),
            ObjectKind::EndpointSlice => Body::EndpointSlice(EndpointSlice::read(root, &namespace)),
            ObjectKind::Secret => Body::Secret(Secret::read(root)),
            ObjectKind::ConfigMap => Body::ConfigMap(ConfigMap::read(root)),
            ObjectKind::Namespace => {
                let labels = root.at(&["metadata", "labels"]).into_iter().flat_map(Node::fields);
                Body::Namespace(labels.map(|(key, value)| (key.raw().into(), value.raw().into())).collect())
            }
            ObjectKind::Definition if root.at(&["spec", "group"]).map(Node::raw) == Some(GATEWAY_GROUP) => {
                let annotation = root.at(&["metadata", "annotations", "gateway.networking.k8s.io/bundle-version"]);
                Body::Definition(annotation.and_then(Node::as_text).map(Name::from))
            }
            ObjectKind::Definition | ObjectKind::Other { .. } => Body::Other,
        };
        Object {
            key: ObjectKey { kind, namespace, name: object.name().into() },
            api_version: object.api_version().into(),
            metadata: Metadata { generation: object.generation(), created: object.created() },
            body,
        }
    }

    /// Reads an object of an API server; none if it has no kind, version or metadata.
    pub fn from_json(value: &serde_json::Value) -> Option<Object> {
        let tape = Tape::from_json(value);
        let object = conditions::Object::new(tape.root()?, Source::default(), None).ok()?;
        Some(Object::read(&object))
    }

    /// Objects that are older come first: by the time of creation, then by namespace and name. One that was never
    /// applied is the youngest.
    pub(crate) fn age(&self) -> (bool, Option<Timestamp>, &Name, &Name) {
        let created = self.metadata.created;
        (created.is_none(), created, &self.key.namespace, &self.key.name)
    }
}
