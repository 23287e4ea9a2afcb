//! Services and EndpointSlices: whether a backend exists, and whether anything is behind it.

use clearway_yaml::Node;

use super::key::{Name, ObjectKey, ObjectKind};
use super::{items, name, port, text};

/// A Service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Service {
    /// Its ports.
    pub ports: Vec<ServicePort>,
    /// Whether it stands for a name outside of the cluster, and so has no endpoints of its own.
    pub external: bool,
}

/// A port of a Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServicePort {
    /// The name, empty if it has none.
    pub name: Name,
    /// The number.
    pub port: Option<u16>,
    /// What is spoken there, such as `kubernetes.io/h2c`.
    pub app_protocol: Option<Name>,
}

/// An EndpointSlice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointSlice {
    /// The Service it belongs to; none for one that was made by hand for something else.
    pub service: Option<ObjectKey>,
    /// How many of its endpoints take traffic.
    pub ready: usize,
}

impl Service {
    pub(crate) fn read(spec: Option<Node<'_>>) -> Self {
        Service {
            ports: items(spec, "ports")
                .map(|node| ServicePort {
                    name: name(node, "name"),
                    port: port(node, "port"),
                    app_protocol: text(node, "appProtocol").map(Name::from),
                })
                .collect(),
            external: spec.and_then(|spec| text(spec, "type")) == Some("ExternalName"),
        }
    }

    /// The port with that number.
    pub fn port(&self, number: u16) -> Option<&ServicePort> {
        self.ports.iter().find(|port| port.port == Some(number))
    }
}

impl EndpointSlice {
    pub(crate) fn read(root: Node<'_>, namespace: &Name) -> Self {
        let label = root.at(&["metadata", "labels", "kubernetes.io/service-name"]).and_then(Node::as_text);
        let takes_traffic = |endpoint: &Node<'_>| {
            // An endpoint that does not say is ready, as the API has it.
            let ready = endpoint.at(&["conditions", "ready"]).and_then(Node::as_bool).unwrap_or(true);
            ready && items(Some(*endpoint), "addresses").next().is_some()
        };
        EndpointSlice {
            service: label.map(|label| ObjectKey::new(ObjectKind::Service, namespace, &label.into())),
            ready: items(Some(root), "endpoints").filter(takes_traffic).count(),
        }
    }
}
