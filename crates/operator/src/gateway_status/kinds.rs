//! The kinds that are watched, how much of each, and how an object is read.

use clearway_gateway::model::GATEWAY_GROUP;
use clearway_gateway::{Object, ObjectKind};
use clearway_sources::kubernetes::ObjectPart;
use serde_json::{Value, json};

/// A kind that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WatchedKind {
    pub(super) group: &'static str,
    pub(super) kind: &'static str,
    pub(super) part: ObjectPart,
}

const fn whole(group: &'static str, kind: &'static str) -> WatchedKind {
    WatchedKind { group, kind, part: ObjectPart::Whole }
}

/// Every kind that decides about a status. EndpointSlices do not.
pub(super) const KINDS: [WatchedKind; 15] = [
    whole(GATEWAY_GROUP, "GatewayClass"),
    whole(GATEWAY_GROUP, "Gateway"),
    whole(GATEWAY_GROUP, "ListenerSet"),
    whole(GATEWAY_GROUP, "HTTPRoute"),
    whole(GATEWAY_GROUP, "GRPCRoute"),
    whole(GATEWAY_GROUP, "TLSRoute"),
    whole(GATEWAY_GROUP, "TCPRoute"),
    whole(GATEWAY_GROUP, "UDPRoute"),
    whole(GATEWAY_GROUP, "ReferenceGrant"),
    whole(GATEWAY_GROUP, "BackendTLSPolicy"),
    whole("", "Service"),
    WatchedKind { group: "", kind: "Namespace", part: ObjectPart::Metadata },
    WatchedKind { group: "apiextensions.k8s.io", kind: "CustomResourceDefinition", part: ObjectPart::Metadata },
    WatchedKind { group: "", kind: "Secret", part: ObjectPart::MetadataByWatch },
    WatchedKind { group: "", kind: "ConfigMap", part: ObjectPart::MetadataByWatch },
];

impl WatchedKind {
    /// The kind as the engine names it.
    pub(super) fn object_kind(&self) -> ObjectKind {
        ObjectKind::new(self.group, self.kind)
    }

    /// Whether objects are read one by one when something refers to them.
    pub(super) fn is_by_name(&self) -> bool {
        self.part == ObjectPart::MetadataByWatch
    }

    /// An object as the engine sees it; none for what it does not need.
    pub(super) fn read(&self, value: &Value) -> Option<Object> {
        if self.kind != "CustomResourceDefinition" {
            return Object::from_json(value);
        }
        // Of a definition there is only metadata; its name ends with its group.
        let (_, group) = value["metadata"]["name"].as_str()?.split_once('.')?;
        if group != GATEWAY_GROUP {
            return None;
        }
        let mut whole = value.clone();
        whole["spec"] = json!({"group": group});
        Object::from_json(&whole)
    }
}

/// Whether objects of a kind have a status that is written.
pub(super) fn has_status(kind: &ObjectKind) -> bool {
    matches!(
        kind,
        ObjectKind::GatewayClass
            | ObjectKind::Gateway
            | ObjectKind::ListenerSet
            | ObjectKind::Route(_)
            | ObjectKind::BackendTlsPolicy
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_gateway::model::Body;

    #[test]
    fn of_definitions_those_of_gateway_api_are_read_with_their_bundle_version() {
        let definition = |name: &str| {
            json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": name, "annotations": {"gateway.networking.k8s.io/bundle-version": "v1.6.1"}},
            })
        };
        let kind = KINDS.iter().find(|kind| kind.kind == "CustomResourceDefinition").unwrap();
        let read = kind.read(&definition("gateways.gateway.networking.k8s.io")).unwrap();
        assert_eq!(read.body, Body::Definition(Some("v1.6.1".into())));
        for other in ["gateways.networking.istio.io", "x", "xmeshes.gateway.networking.x-k8s.io"] {
            assert_eq!(kind.read(&definition(other)), None, "{other}");
        }
        assert_eq!(kind.read(&json!(null)), None);
    }

    #[test]
    fn contents_of_secrets_are_never_watched() {
        let secrets: Vec<ObjectPart> =
            KINDS.iter().filter(|kind| kind.kind == "Secret").map(|kind| kind.part).collect();
        assert_eq!(secrets, [ObjectPart::MetadataByWatch]);
    }
}
