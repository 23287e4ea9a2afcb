//! GatewayClasses, Gateways, ListenerSets and their listeners.

use std::sync::Arc;

use clearway_yaml::Node;

use super::key::{GATEWAY_GROUP, Name, ObjectKey, ObjectKind};
use super::reference::Reference;
use super::{items, name, port, text};
use crate::hostname::Hostname;
use crate::selector::LabelSelector;

/// A GatewayClass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GatewayClass {
    /// The controller that is responsible for it.
    pub controller: Name,
    /// `parametersRef`; whether its namespace was given is known by its being empty.
    pub parameters: Option<ObjectKey>,
    /// `status.supportedFeatures`; none if the class does not list any.
    pub features: Option<Vec<Name>>,
}

/// A Gateway.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gateway {
    /// The name of its class.
    pub class: Name,
    /// Its listeners, in order.
    pub listeners: Vec<Arc<Listener>>,
    /// Which ListenerSets may attach.
    pub allowed_listeners: NamespacesFrom,
    /// Addresses that it asks for.
    pub addresses: Vec<Address>,
    /// `infrastructure.parametersRef`.
    pub parameters: Option<ObjectKey>,
    /// `tls.backend.clientCertificateRef`.
    pub client_certificate: Option<Reference>,
    /// How clients are authenticated, by port; the entry without a port is the default.
    pub frontend: Vec<(Option<u16>, FrontendValidation)>,
}

/// A ListenerSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerSet {
    /// The Gateway that it attaches to, or whatever it names instead.
    pub parent: ObjectKey,
    /// Its listeners, in order.
    pub listeners: Vec<Arc<Listener>>,
}

/// A listener of a Gateway or a ListenerSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Its name, unique in its resource.
    pub name: Name,
    /// Its port; none if it is missing or no port.
    pub port: Option<u16>,
    /// Its protocol.
    pub protocol: Protocol,
    /// The hostname it is limited to.
    pub hostname: Option<Hostname>,
    /// Its TLS settings.
    pub tls: Option<ListenerTls>,
    /// Which routes may attach.
    pub allowed: AllowedRoutes,
}

/// The protocol of a listener.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// HTTP.
    Http,
    /// HTTPS.
    Https,
    /// TLS.
    Tls,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// One that is not known.
    Other(Name),
}

/// The TLS settings of a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerTls {
    /// Who ends the TLS connection.
    pub mode: TlsMode,
    /// The certificates.
    pub certificates: Vec<Reference>,
    /// Whether options of the implementation stand in for certificates.
    pub has_options: bool,
}

/// Who ends a TLS connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsMode {
    /// The Gateway.
    Terminate,
    /// The backend.
    Passthrough,
    /// A mode that is not known.
    Other(Name),
}

/// Which routes may attach to a listener.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedRoutes {
    /// From which namespaces; `Same` by default.
    pub namespaces: NamespacesFrom,
    /// Of which kinds; empty for all that fit the protocol.
    pub kinds: Vec<ObjectKind>,
}

/// A choice of namespaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum NamespacesFrom {
    /// All.
    All,
    /// That of the resource itself.
    #[default]
    Same,
    /// Those with certain labels.
    Selector(LabelSelector),
    /// None.
    None,
    /// A word that is not known: none is allowed.
    Other(Name),
}

/// An address that a Gateway asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// `IPAddress`, `Hostname`, or a type of an implementation.
    pub kind: Name,
    /// The address; empty if the implementation is to choose.
    pub value: Name,
}

/// How the certificates of clients are checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrontendValidation {
    /// The certificates of authorities.
    pub certificates: Vec<Reference>,
    /// Whether clients without a valid certificate are let in (`AllowInsecureFallback`).
    pub insecure: bool,
}

impl GatewayClass {
    pub(crate) fn read(root: Node<'_>) -> Self {
        let spec = root.get("spec");
        let features = root.at(&["status", "supportedFeatures"]).filter(|list| list.is_sequence());
        GatewayClass {
            controller: spec.map(|spec| name(spec, "controllerName")).unwrap_or_default(),
            parameters: spec.and_then(|spec| spec.get("parametersRef")).filter(|node| node.is_mapping()).map(|node| {
                let kind = ObjectKind::new(text(node, "group").unwrap_or(""), text(node, "kind").unwrap_or(""));
                ObjectKey { kind, namespace: name(node, "namespace"), name: name(node, "name") }
            }),
            // Up to v1.1 the features were texts, from v1.2 on they are objects with a name.
            features: features.map(|list| {
                let feature = |node: Node<'_>| Name::from(text(node, "name").unwrap_or_else(|| node.raw()));
                list.items().map(feature).collect()
            }),
        }
    }
}

impl Gateway {
    pub(crate) fn read(spec: Option<Node<'_>>, namespace: &Name) -> Self {
        let tls = spec.and_then(|spec| spec.get("tls"));
        let validation = |node: Node<'_>| {
            let validation = node.get("validation").filter(|node| node.is_mapping())?;
            Some(FrontendValidation {
                certificates: items(Some(validation), "caCertificateRefs")
                    .map(|node| Reference::read(node, namespace, "", ""))
                    .collect(),
                insecure: text(validation, "mode") == Some("AllowInsecureFallback"),
            })
        };
        let frontend = tls.and_then(|tls| tls.get("frontend"));
        let default = frontend.and_then(|node| node.get("default")).and_then(validation).map(|found| (None, found));
        let by_port = items(frontend, "perPort").filter_map(|node| {
            // An entry without validation switches it off for its port.
            let found = node.get("tls").and_then(validation).unwrap_or_default();
            Some((Some(port(node, "port")?), found))
        });
        Gateway {
            class: spec.map(|spec| name(spec, "gatewayClassName")).unwrap_or_default(),
            listeners: listeners(spec, namespace),
            allowed_listeners: spec
                .and_then(|spec| spec.get("allowedListeners"))
                .and_then(|node| node.get("namespaces"))
                .map_or(NamespacesFrom::None, |node| NamespacesFrom::read(node, NamespacesFrom::None)),
            addresses: items(spec, "addresses")
                .map(|node| Address {
                    kind: text(node, "type").unwrap_or("IPAddress").into(),
                    value: name(node, "value"),
                })
                .collect(),
            parameters: spec.and_then(|spec| spec.at(&["infrastructure", "parametersRef"])).map(|node| {
                let kind = ObjectKind::new(text(node, "group").unwrap_or(""), text(node, "kind").unwrap_or(""));
                ObjectKey { kind, namespace: namespace.clone(), name: name(node, "name") }
            }),
            client_certificate: tls
                .and_then(|tls| tls.at(&["backend", "clientCertificateRef"]))
                .map(|node| Reference::read(node, namespace, "", "Secret")),
            frontend: default.into_iter().chain(by_port).collect(),
        }
    }

    /// How clients of a port are authenticated: by its own entry, or by default.
    pub fn frontend_validation(&self, port: Option<u16>) -> Option<&FrontendValidation> {
        let find = |wanted: Option<u16>| self.frontend.iter().find(|(port, _)| *port == wanted).map(|(_, found)| found);
        port.and_then(|port| find(Some(port))).or_else(|| find(None))
    }
}

impl ListenerSet {
    pub(crate) fn read(spec: Option<Node<'_>>, namespace: &Name) -> Self {
        let parent = spec.and_then(|spec| spec.get("parentRef"));
        let parent = parent.map(|node| Reference::read(node, namespace, GATEWAY_GROUP, "Gateway").target);
        ListenerSet {
            parent: parent.unwrap_or_else(|| ObjectKey::new(ObjectKind::Gateway, namespace, &"".into())),
            listeners: listeners(spec, namespace),
        }
    }
}

fn listeners(spec: Option<Node<'_>>, namespace: &Name) -> Vec<Arc<Listener>> {
    items(spec, "listeners").map(|node| Arc::new(Listener::read(node, namespace))).collect()
}

impl Listener {
    fn read(node: Node<'_>, namespace: &Name) -> Self {
        let allowed = node.get("allowedRoutes");
        Listener {
            name: name(node, "name"),
            port: port(node, "port"),
            protocol: match text(node, "protocol").unwrap_or("") {
                "HTTP" => Protocol::Http,
                "HTTPS" => Protocol::Https,
                "TLS" => Protocol::Tls,
                "TCP" => Protocol::Tcp,
                "UDP" => Protocol::Udp,
                other => Protocol::Other(other.into()),
            },
            hostname: text(node, "hostname").and_then(Hostname::read),
            tls: node.get("tls").filter(|tls| tls.is_mapping()).map(|tls| ListenerTls {
                mode: match text(tls, "mode") {
                    None | Some("Terminate") => TlsMode::Terminate,
                    Some("Passthrough") => TlsMode::Passthrough,
                    Some(other) => TlsMode::Other(other.into()),
                },
                certificates: items(Some(tls), "certificateRefs")
                    .map(|node| Reference::read(node, namespace, "", "Secret"))
                    .collect(),
                has_options: tls.get("options").is_some_and(|options| options.fields().next().is_some()),
            }),
            allowed: AllowedRoutes {
                namespaces: allowed
                    .and_then(|allowed| allowed.get("namespaces"))
                    .map_or(NamespacesFrom::Same, |node| NamespacesFrom::read(node, NamespacesFrom::Same)),
                kinds: items(allowed, "kinds")
                    .map(|node| {
                        let group = node.get("group").filter(|group| !group.is_null());
                        ObjectKind::new(group.map_or(GATEWAY_GROUP, Node::raw), text(node, "kind").unwrap_or(""))
                    })
                    .collect(),
            },
        }
    }

    /// Who ends a TLS connection at this listener; none where TLS is not spoken. `Terminate` is the default.
    pub fn tls_mode(&self) -> Option<&TlsMode> {
        match self.protocol {
            Protocol::Https | Protocol::Tls => Some(self.tls.as_ref().map_or(&TlsMode::Terminate, |tls| &tls.mode)),
            _ => None,
        }
    }
}

impl Protocol {
    /// The word of the API.
    pub fn as_str(&self) -> &str {
        match self {
            Protocol::Http => "HTTP",
            Protocol::Https => "HTTPS",
            Protocol::Tls => "TLS",
            Protocol::Tcp => "TCP",
            Protocol::Udp => "UDP",
            Protocol::Other(other) => other,
        }
    }
}

impl NamespacesFrom {
    fn read(node: Node<'_>, default: NamespacesFrom) -> Self {
        match text(node, "from") {
            None => default,
            Some("All") => NamespacesFrom::All,
            Some("Same") => NamespacesFrom::Same,
            Some("None") => NamespacesFrom::None,
            Some("Selector") => match node.get("selector").filter(|selector| selector.is_mapping()) {
                Some(selector) => NamespacesFrom::Selector(LabelSelector::read(selector)),
                // Without the selector it says nothing, so nothing is allowed.
                None => NamespacesFrom::None,
            },
            Some(other) => NamespacesFrom::Other(other.into()),
        }
    }
}
