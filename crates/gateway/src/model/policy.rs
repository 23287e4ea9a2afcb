//! BackendTLSPolicies.

use clearway_yaml::Node;

use super::key::{Name, ObjectKey};
use super::reference::Reference;
use super::{items, text};

/// A BackendTLSPolicy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackendTlsPolicy {
    /// What it applies to, each with the name of a port if it is limited to one.
    pub targets: Vec<(ObjectKey, Option<Name>)>,
    /// The certificates of authorities; always in the namespace of the policy.
    pub certificates: Vec<ObjectKey>,
    /// `wellKnownCACertificates`.
    pub well_known: Option<Name>,
}

impl BackendTlsPolicy {
    pub(crate) fn read(spec: Option<Node<'_>>, namespace: &Name) -> Self {
        let local = |node: Node<'_>, kind: &str| {
            let mut target = Reference::read(node, namespace, "", kind).target;
            target.namespace = namespace.clone();
            target
        };
        let validation = spec.and_then(|spec| spec.get("validation"));
        BackendTlsPolicy {
            targets: items(spec, "targetRefs")
                .map(|node| (local(node, "Service"), text(node, "sectionName").map(Name::from)))
                .collect(),
            certificates: items(validation, "caCertificateRefs").map(|node| local(node, "ConfigMap")).collect(),
            well_known: validation.and_then(|node| text(node, "wellKnownCACertificates")).map(Name::from),
        }
    }
}
