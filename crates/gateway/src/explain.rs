//! What each condition and reason means, and what to do about it.

use crate::words::{ConditionType, Reason};

/// What a reason of a condition means.
#[derive(Debug, Clone, Copy)]
pub struct Explanation {
    /// The condition.
    pub condition: ConditionType,
    /// The statuses that it has with this reason, such as `False`.
    pub status: &'static str,
    /// The reason.
    pub reason: Reason,
    /// The kinds of objects it is used for.
    pub kinds: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What to do about it; empty if nothing is wrong.
    pub action: &'static str,
}

const fn row(
    condition: ConditionType,
    status: &'static str,
    reason: Reason,
    kinds: &'static str,
    [meaning, action]: [&'static str; 2],
) -> Explanation {
    Explanation { condition, status, reason, kinds, meaning, action }
}

use ConditionType as C;
use Reason as R;

/// All of them, by condition.
#[rustfmt::skip]
pub const EXPLANATIONS: &[Explanation] = &[
    row(C::Accepted, "True", R::Accepted, "all", ["The object is valid enough to produce some configuration of the data plane.", ""]),
    row(C::Accepted, "Unknown", R::Pending, "all", ["No controller has judged the object yet.", "Check that the GatewayClass is accepted and that its controller runs."]),
    row(C::Accepted, "False", R::InvalidParameters, "GatewayClass, Gateway", ["The object that `parametersRef` names does not exist, is of an unknown kind, or its namespace does not fit.", "Create the parameters, or correct `parametersRef`."]),
    row(C::Accepted, "False", R::UnsupportedVersion, "GatewayClass", ["The CRDs of Gateway API are of a version that the controller does not know.", "Install CRDs of a bundle version that the controller supports."]),
    row(C::Accepted, "True or False", R::ListenersNotValid, "Gateway, ListenerSet", ["Some listeners (True) or all of them (False) are not valid.", "Look at the conditions of each listener."]),
    row(C::Accepted, "False", R::Invalid, "Gateway, BackendTLSPolicy", ["The object itself is not valid: a Gateway without listeners, a policy without certificates of authorities.", "Correct the object."]),
    row(C::Accepted, "False", R::UnsupportedAddress, "Gateway", ["An address is of a type that is not supported.", "Use IPAddress or Hostname, or remove the address."]),
    row(C::Accepted, "False", R::NoResources, "Gateway", ["There is no capacity for the Gateway (only by GEP-1364).", "Add capacity, or remove other Gateways."]),
    row(C::Accepted, "False", R::PortUnavailable, "listener", ["The port cannot be used.", "Choose another port."]),
    row(C::Accepted, "False", R::UnsupportedProtocol, "listener", ["The protocol is not supported.", "Use HTTP, HTTPS, TLS, TCP or UDP, as the implementation supports them."]),
    row(C::Accepted, "False", R::UnsupportedValue, "listener, routes", ["A value is not supported, such as a TLS mode, a match type or a filter type.", "Replace the value that the message names."]),
    row(C::Accepted, "False", R::NoValidCaCertificate, "listener, BackendTLSPolicy", ["None of the certificates of authorities can be used.", "Correct the references, or the `ca.crt` of the ConfigMaps."]),
    row(C::Accepted, "False", R::ProtocolConflict, "listener", ["Another listener of the port has a protocol that excludes this one.", "Give one of them another port."]),
    row(C::Accepted, "False", R::HostnameConflict, "listener, HTTPRoute, GRPCRoute", ["Another listener of the port has the same hostname; or an older route of the other kind has the same hostnames.", "Give one of them another hostname."]),
    row(C::Accepted, "False", R::ListenerConflict, "listener of a ListenerSet", ["Another listener claims the same port and hostname.", "Give one of them another port or hostname."]),
    row(C::Accepted, "False", R::InvalidCertificateRef, "listener", ["The certificate cannot be used (only by GEP-1364, or where that is chosen).", "Create the Secret with `tls.crt` and `tls.key` in PEM."]),
    row(C::Accepted, "False", R::TooManyListeners, "listener", ["The Gateway has more listeners than it can serve.", "Remove listeners, or spread them over several Gateways."]),
    row(C::Accepted, "False", R::NotAllowed, "ListenerSet", ["The Gateway does not allow ListenerSets from this namespace.", "Set `allowedListeners.namespaces` of the Gateway."]),
    row(C::Accepted, "False", R::ParentNotAccepted, "ListenerSet", ["The Gateway is not accepted.", "Look at the conditions of the Gateway."]),
    row(C::Accepted, "False", R::NotAllowedByListeners, "routes", ["No listener that the route names admits its kind and its namespace.", "Set `allowedRoutes` of the listener, or name another one."]),
    row(C::Accepted, "False", R::NoMatchingListenerHostname, "routes", ["No hostname of the route meets that of a listener.", "Correct the hostnames of the route or of the listener."]),
    row(C::Accepted, "False", R::NoMatchingParent, "routes", ["The parent has no listener with that name or port, or takes no routes.", "Correct `sectionName` and `port` of the parentRef."]),
    row(C::Accepted, "False", R::IncompatibleFilters, "routes", ["Every rule has filters that exclude each other.", "Remove one of the filters, or move it to another rule."]),
    row(C::Accepted, "False", R::BackendNotFound, "TCPRoute, UDPRoute", ["No backend exists, and the protocol has no way to say so (up to bundle version v1.5, and by GEP-1364).", "Create the Service, or correct the backendRef."]),
    row(C::Accepted, "False", R::Conflicted, "BackendTLSPolicy", ["An older policy has the same target.", "Remove one of the policies, or limit one to a port with `sectionName`."]),
    row(C::Accepted, "False", R::TargetNotFound, "BackendTLSPolicy", ["The Service or its port does not exist.", "Correct the targetRef."]),
    row(C::ResolvedRefs, "True", R::ResolvedRefs, "Gateway, listener, routes, BackendTLSPolicy", ["Every reference leads to something that may be used.", ""]),
    row(C::ResolvedRefs, "Unknown", R::Pending, "Gateway, listener", ["Secrets were not read, so nothing is known of certificates.", "Include the Secrets, or judge a live cluster."]),
    row(C::ResolvedRefs, "False", R::RefNotPermitted, "all with references", ["A reference leads into another namespace, and no ReferenceGrant there allows it.", "Create a ReferenceGrant in the namespace of the target."]),
    row(C::ResolvedRefs, "False", R::InvalidKind, "routes, BackendTLSPolicy", ["A reference is of a kind that is not supported.", "Refer to a Service (or a ConfigMap for certificates), or to a kind that the implementation supports."]),
    row(C::ResolvedRefs, "False", R::BackendNotFound, "routes", ["A backend does not exist. Its share of the requests fails.", "Create the Service, or correct the backendRef."]),
    row(C::ResolvedRefs, "False", R::UnsupportedProtocol, "routes", ["A backend speaks a protocol that the route cannot use.", "Correct `appProtocol` of the Service port, or use another kind of route."]),
    row(C::ResolvedRefs, "False", R::InvalidCertificateRef, "listener", ["A certificate is missing or malformed.", "Create the Secret with `tls.crt` and `tls.key` in PEM."]),
    row(C::ResolvedRefs, "False", R::InvalidRouteKinds, "listener", ["`allowedRoutes.kinds` has a kind that does not fit the protocol.", "Remove the kind."]),
    row(C::ResolvedRefs, "False", R::InvalidCaCertificateRef, "listener, BackendTLSPolicy", ["A certificate of an authority is missing or malformed.", "Create the ConfigMap with `ca.crt` in PEM."]),
    row(C::ResolvedRefs, "False", R::InvalidCaCertificateKind, "listener", ["A certificate of an authority is not in a ConfigMap.", "Refer to a ConfigMap."]),
    row(C::ResolvedRefs, "False", R::InvalidClientCertificateRef, "Gateway", ["The client certificate is missing or malformed.", "Create the Secret with `tls.crt` and `tls.key` in PEM."]),
    row(C::ResolvedRefs, "False", R::ListenersNotResolved, "Gateway", ["References of listeners do not resolve.", "Look at the conditions of each listener."]),
    row(C::Programmed, "True", R::Programmed, "Gateway, listener, ListenerSet", ["The configuration was sent to the data plane, and works soon.", ""]),
    row(C::Programmed, "Unknown", R::Pending, "Gateway, listener, ListenerSet", ["It is not known yet whether the configuration is in use.", ""]),
    row(C::Programmed, "False", R::Invalid, "Gateway, listener", ["The configuration is not valid, so it is not in use.", "Look at `Accepted` and `ResolvedRefs`."]),
    row(C::Programmed, "False", R::NoResources, "Gateway", ["There is no capacity for the Gateway.", "Add capacity, or remove other Gateways."]),
    row(C::Programmed, "False", R::AddressNotUsable, "Gateway", ["An address cannot be used.", "Replace the address."]),
    row(C::Programmed, "False", R::AddressNotAssigned, "Gateway", ["No address could be assigned.", "Give an address with a value."]),
    row(C::Programmed, "False", R::ListenersNotValid, "ListenerSet", ["No listener is valid.", "Look at the conditions of each listener."]),
    row(C::Programmed, "False", R::NotAllowed, "ListenerSet", ["The Gateway does not allow ListenerSets from this namespace.", "Set `allowedListeners.namespaces` of the Gateway."]),
    row(C::Programmed, "False", R::ParentNotProgrammed, "ListenerSet", ["The Gateway is not programmed.", "Look at the conditions of the Gateway."]),
    row(C::Programmed, "False", R::PortUnavailable, "listener", ["The port cannot be used.", "Choose another port."]),
    row(C::Programmed, "False", R::HostnameConflict, "listener", ["Another listener of the port has the same hostname.", "Give one of them another hostname."]),
    row(C::Programmed, "False", R::ProtocolConflict, "listener", ["Another listener of the port has a protocol that excludes this one.", "Give one of them another port."]),
    row(C::Programmed, "False", R::ListenerConflict, "listener of a ListenerSet", ["Another listener claims the same port and hostname.", "Give one of them another port or hostname."]),
    row(C::Ready, "True", R::Ready, "Gateway, listener", ["Traffic flows now. The condition is optional.", ""]),
    row(C::Ready, "Unknown", R::Pending, "Gateway, listener", ["It is not known yet whether traffic flows.", ""]),
    row(C::Ready, "False", R::ListenersNotReady, "Gateway, ListenerSet", ["Listeners are not ready.", "Look at the conditions of each listener."]),
    row(C::Ready, "False", R::Invalid, "listener", ["The configuration is not valid, so no traffic flows.", "Look at `Accepted` and `ResolvedRefs`."]),
    row(C::SupportedVersion, "True", R::SupportedVersion, "GatewayClass", ["The CRDs are of a version that the controller knows.", ""]),
    row(C::SupportedVersion, "False", R::UnsupportedVersion, "GatewayClass", ["The CRDs are of a version that the controller does not know, or do not say which.", "Install CRDs of a bundle version that the controller supports."]),
    row(C::Conflicted, "True", R::HostnameConflict, "listener", ["Another listener of the port has the same hostname.", "Give one of them another hostname."]),
    row(C::Conflicted, "True", R::ProtocolConflict, "listener", ["Another listener of the port has a protocol that excludes this one.", "Give one of them another port."]),
    row(C::Conflicted, "True", R::ListenerConflict, "listener of a ListenerSet", ["Another listener claims the same port and hostname.", "Give one of them another port or hostname."]),
    row(C::OverlappingTlsConfig, "True", R::OverlappingHostnames, "listener", ["Another HTTPS listener of the port has a hostname that overlaps, so a client may reuse a connection for both.", "Give them hostnames that do not overlap, or the same certificate."]),
    row(C::InsecureFrontendValidationMode, "True", R::ConfigurationChanged, "Gateway", ["Clients without a valid certificate are let in.", "Use the mode AllowValidOnly."]),
    row(C::PartiallyInvalid, "True", R::UnsupportedValue, "routes", ["Some rules were dropped, because a value in them is not supported.", "Correct the rules that the message names."]),
    row(C::PartiallyInvalid, "True", R::IncompatibleFilters, "routes", ["Some rules were dropped, because their filters exclude each other.", "Correct the rules that the message names."]),
];

/// What is known of a condition, or of one reason of it; the words are compared without regard to case.
pub fn explain(condition: &str, reason: Option<&str>) -> Vec<&'static Explanation> {
    let wanted = |row: &&Explanation| {
        row.condition.as_str().eq_ignore_ascii_case(condition)
            && reason.is_none_or(|reason| row.reason.as_str().eq_ignore_ascii_case(reason))
    };
    EXPLANATIONS.iter().filter(wanted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_and_every_reason_is_explained() {
        for condition in ConditionType::ALL {
            assert!(!explain(condition.as_str(), None).is_empty(), "{condition}");
        }
        for reason in Reason::ALL {
            assert!(EXPLANATIONS.iter().any(|row| row.reason == *reason), "{reason}");
        }
        for row in EXPLANATIONS {
            assert_eq!(
                explain(row.condition.as_str(), Some(row.reason.as_str())).len(),
                1,
                "{}/{}",
                row.condition,
                row.reason
            );
        }
    }
}
