//! What the conventions say about single condition types: polarity, presence, reasons, replacements.

use super::pattern::{name_part, reads_negative};
use crate::lint::Profile;
use crate::lint::view::walk::Site;
use crate::{Polarity, Presence, Status};

/// A condition type of Gateway API.
#[derive(Debug)]
pub(crate) struct ListedCondition {
    pub(crate) name: &'static str,
    pub(crate) polarity: Polarity,
    pub(crate) presence: Presence,
    on_true: &'static [&'static str],
    on_false: &'static [&'static str],
    on_unknown: &'static [&'static str],
}

impl ListedCondition {
    /// The reasons the API lists for a status (GW22).
    pub(crate) fn reasons(&self, status: Status) -> &'static [&'static str] {
        match status {
            Status::True => self.on_true,
            Status::False => self.on_false,
            Status::Unknown => self.on_unknown,
        }
    }
}

const fn positive(
    name: &'static str,
    on_true: &'static [&'static str],
    on_false: &'static [&'static str],
    on_unknown: &'static [&'static str],
) -> ListedCondition {
    ListedCondition { name, polarity: Polarity::Positive, presence: Presence::Always, on_true, on_false, on_unknown }
}

const fn negative(
    name: &'static str,
    on_true: &'static [&'static str],
    on_false: &'static [&'static str],
) -> ListedCondition {
    let (polarity, presence) = (Polarity::Negative, Presence::WhileAbnormal);
    ListedCondition { name, polarity, presence, on_true, on_false, on_unknown: &[] }
}

/// Traffic flows now. Support for it is extended, so it is never missed (G4, G8).
const READY: ListedCondition = ListedCondition {
    presence: Presence::WhileAbnormal,
    ..positive("Ready", &["Ready"], &["ListenersNotReady", "Invalid", "Pending"], &["Pending"])
};
const CLASS: &[ListedCondition] = &[
    positive("Accepted", &["Accepted"], &["InvalidParameters", "Unsupported", "UnsupportedVersion"], &["Pending"]),
    // Part of the experimental channel only, so never missed.
    ListedCondition {
        presence: Presence::WhileAbnormal,
        ..positive("SupportedVersion", &["SupportedVersion"], &["UnsupportedVersion"], &[])
    },
];
const GATEWAY: &[ListedCondition] = &[
    positive(
        "Accepted",
        &["Accepted", "ListenersNotValid"],
        &["Invalid", "InvalidParameters", "UnsupportedAddress", "ListenersNotValid"],
        &["Pending"],
    ),
    positive(
        "Programmed",
        &["Programmed"],
        &["Invalid", "Pending", "NoResources", "AddressNotAssigned", "AddressNotUsable"],
        &["Pending"],
    ),
    // Recommended, not required.
    ListedCondition {
        presence: Presence::WhileAbnormal,
        ..positive(
            "ResolvedRefs",
            &["ResolvedRefs"],
            &["RefNotPermitted", "InvalidClientCertificateRef", "ListenersNotResolved"],
            &[],
        )
    },
    READY,
    negative("InsecureFrontendValidationMode", &["ConfigurationChanged"], &[]),
];
const LISTENER: &[ListedCondition] = &[
    positive(
        "Accepted",
        &["Accepted"],
        &[
            "PortUnavailable",
            "UnsupportedProtocol",
            "NoValidCACertificate",
            "UnsupportedValue",
            "ProtocolConflict",
            "HostnameConflict",
            "ListenerConflict",
            "TooManyListeners",
            "Invalid",
        ],
        &["Pending"],
    ),
    positive(
        "ResolvedRefs",
        &["ResolvedRefs"],
        &[
            "InvalidCertificateRef",
            "InvalidRouteKinds",
            "RefNotPermitted",
            "InvalidCACertificateRef",
            "InvalidCACertificateKind",
        ],
        &[],
    ),
    positive(
        "Programmed",
        &["Programmed"],
        &["Invalid", "Pending", "PortUnavailable", "HostnameConflict", "ProtocolConflict", "InvalidTLSConfig"],
        &["Pending"],
    ),
    READY,
    negative("Conflicted", &["HostnameConflict", "ProtocolConflict", "ListenerConflict"], &["NoConflicts"]),
    negative("OverlappingTLSConfig", &["OverlappingHostnames", "OverlappingCertificates"], &[]),
];
const LISTENER_SET: &[ListedCondition] = &[
    positive(
        "Accepted",
        &["Accepted", "ListenersNotValid"],
        &["Invalid", "NotAllowed", "ParentNotAccepted", "ListenersNotValid"],
        &["Pending"],
    ),
    positive(
        "Programmed",
        &["Programmed"],
        &["Invalid", "ParentNotProgrammed", "ListenersNotValid", "PortUnavailable", "NotAllowed"],
        &["Pending"],
    ),
    READY,
];
const ROUTE: &[ListedCondition] = &[
    positive(
        "Accepted",
        &["Accepted"],
        &[
            "NotAllowedByListeners",
            "NoMatchingListenerHostname",
            "NoMatchingParent",
            "UnsupportedValue",
            "IncompatibleFilters",
        ],
        &["Pending"],
    ),
    positive(
        "ResolvedRefs",
        &["ResolvedRefs"],
        &["RefNotPermitted", "InvalidKind", "BackendNotFound", "UnsupportedProtocol"],
        &[],
    ),
    negative("PartiallyInvalid", &["UnsupportedValue"], &[]),
];
const POLICY: &[ListedCondition] = &[
    positive(
        "Accepted",
        &["Accepted"],
        &["Conflicted", "Invalid", "TargetNotFound", "NoValidCACertificate"],
        &["Pending"],
    ),
    positive("ResolvedRefs", &["ResolvedRefs"], &["InvalidCACertificateRef", "InvalidKind"], &[]),
];
const MESH: &[ListedCondition] = &[positive("Accepted", &["Accepted"], &["InvalidParameters"], &["Pending"])];

/// The types Gateway API lists for a list of conditions; nothing for a place it does not describe.
pub(crate) fn gateway(kind: &str, site: Site) -> Option<&'static [ListedCondition]> {
    match (site, kind) {
        (Site::Top, "GatewayClass") => Some(CLASS),
        (Site::Top, "Gateway") => Some(GATEWAY),
        (Site::Top, "ListenerSet" | "XListenerSet") => Some(LISTENER_SET),
        (Site::Top, "XMesh") => Some(MESH),
        (Site::Listener, "Gateway" | "ListenerSet" | "XListenerSet") => Some(LISTENER),
        (Site::Parent, kind) if kind.ends_with("Route") => Some(ROUTE),
        (Site::Ancestor, "BackendTLSPolicy") => Some(POLICY),
        _ => None,
    }
}

/// The listed type of that name.
pub(crate) fn listed(kind: &str, site: Site, name: &str) -> Option<&'static ListedCondition> {
    gateway(kind, site)?.iter().find(|listed| listed.name == name)
}

/// Whether a list must always hold a type once its object was observed (SC013, SC023).
pub(crate) fn is_always(profile: Profile, group: &str, kind: &str, site: Site, name: &str) -> bool {
    match profile {
        Profile::Gateway => listed(kind, site, name).is_some_and(|listed| listed.presence == Presence::Always),
        _ => required(profile, group, kind, site).contains(&name),
    }
}

/// The types that must be in a list, apart from those Gateway API lists.
pub(crate) fn required(profile: Profile, group: &str, kind: &str, site: Site) -> &'static [&'static str] {
    match (profile, site, group, kind) {
        (Profile::Openshift, Site::Top, "config.openshift.io", "ClusterOperator") => {
            &["Available", "Progressing", "Degraded"]
        }
        (Profile::Knative, Site::Top, "serving.knative.dev", "Service") => &["ConfigurationsReady", "RoutesReady"],
        _ => &[],
    }
}

/// What Flux and kstatus report only while it is True.
const ABNORMAL_TRUE: &[&str] = &[
    "Reconciling",
    "Stalled",
    "FetchFailed",
    "StorageOperationFailed",
    "IncludeUnavailable",
    "ArtifactOutdated",
    "BuildFailed",
];

/// Whether a type may only be present while it is True (SC014).
pub(crate) fn only_while_true(profile: Profile, kind: &str, site: Site, name: &str) -> bool {
    match profile {
        Profile::Kstatus => ABNORMAL_TRUE.contains(&name),
        Profile::Gateway => listed(kind, site, name).is_some_and(|listed| listed.polarity == Polarity::Negative),
        _ => false,
    }
}

/// Which status of a type is the healthy one; nothing where neither is.
pub(crate) fn polarity(profile: Profile, kind: &str, site: Site, name: &str) -> Option<Polarity> {
    let by_name = || Some(if reads_negative(name) { Polarity::Negative } else { Polarity::Positive });
    match profile {
        Profile::Gateway => listed(kind, site, name).map(|listed| listed.polarity),
        Profile::Knative => Some(Polarity::Positive),
        Profile::Kstatus if name == "Reconciling" => None,
        Profile::Kstatus if ABNORMAL_TRUE.contains(&name) => Some(Polarity::Negative),
        Profile::Openshift => {
            let ends = |end: &str| name.ends_with(end);
            if ends("Progressing") || ends("Disabled") || ends("Evaluating") {
                None
            } else if ends("Degraded") || ends("Failing") {
                Some(Polarity::Negative)
            } else if ends("Available") || ends("Upgradeable") {
                Some(Polarity::Positive)
            } else {
                // Operators have hundreds of types of their own, of either polarity.
                None
            }
        }
        Profile::Native => None,
        // A participle says what is going on, not whether it is good.
        _ if name_part(name).ends_with("ing") => None,
        _ => by_name(),
    }
}

/// A name that was given up, and what to write instead (G8).
pub(crate) fn replacement(kind: &str, site: Site, name: &str) -> Option<&'static str> {
    match (name, site, kind) {
        ("Scheduled", Site::Top, "Gateway") => Some("`Accepted` (same sense)"),
        ("Detached", Site::Listener, _) => Some("`Accepted` with the sense inverted: Detached=False is Accepted=True"),
        _ => None,
    }
}

/// A reason that was given up, and what to write instead.
pub(crate) fn reason_replacement(reason: &str) -> Option<&'static str> {
    match reason {
        "NotReconciled" | "Waiting" => Some("Pending"),
        "Scheduled" | "Attached" => Some("Accepted"),
        _ => None,
    }
}
