//! The condition types and reasons of Gateway API, as closed vocabularies.

use std::fmt;

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident $(= $text:literal)?),* $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$doc])* $variant),* }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The word as the API has it.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => words!(@text $variant $($text)?)),* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
    (@text $variant:ident) => { stringify!($variant) };
    (@text $variant:ident $text:literal) => { $text };
}

words! {
    /// The type of a condition.
    ConditionType {
        /// Valid enough to produce some configuration of the data plane (G3).
        Accepted,
        /// Every reference leads to something that may be used; does not block (G3).
        ResolvedRefs,
        /// Configuration was sent to the data plane, and works soon (G4).
        Programmed,
        /// Traffic flows now; optional (G4).
        Ready,
        /// The installed CRDs are of a version that the controller knows.
        SupportedVersion,
        /// Another listener claims the same port and hostname, or another protocol.
        Conflicted,
        /// Listeners that end TLS on one port overlap in hostnames.
        OverlappingTlsConfig = "OverlappingTLSConfig",
        /// Clients without a valid certificate are let in.
        InsecureFrontendValidationMode,
        /// Some rules of a route were dropped.
        PartiallyInvalid,
    }
}

words! {
    /// The reason of a condition.
    Reason {
        /// Accepted.
        Accepted,
        /// References are resolved.
        ResolvedRefs,
        /// Programmed.
        Programmed,
        /// Ready.
        Ready,
        /// The version is supported.
        SupportedVersion,
        /// The version is not supported.
        UnsupportedVersion,
        /// Not known yet.
        Pending,
        /// Not valid.
        Invalid,
        /// Parameters are missing or of an unknown kind.
        InvalidParameters,
        /// Some or all listeners are not valid.
        ListenersNotValid,
        /// Some or all listeners are not ready.
        ListenersNotReady,
        /// A type of address is not supported.
        UnsupportedAddress,
        /// An address cannot be used.
        AddressNotUsable,
        /// No address could be assigned.
        AddressNotAssigned,
        /// There is no capacity left.
        NoResources,
        /// A reference into another namespace is not allowed by a ReferenceGrant.
        RefNotPermitted,
        /// The client certificate of a Gateway is missing or malformed.
        InvalidClientCertificateRef,
        /// References of listeners are not resolved.
        ListenersNotResolved,
        /// The validation of client certificates became insecure.
        ConfigurationChanged,
        /// A port cannot be used.
        PortUnavailable,
        /// A protocol is not supported.
        UnsupportedProtocol,
        /// No certificate of an authority is valid.
        NoValidCaCertificate = "NoValidCACertificate",
        /// A value is not supported.
        UnsupportedValue,
        /// Listeners of one port have protocols that exclude each other.
        ProtocolConflict,
        /// Listeners of one port have the same hostname.
        HostnameConflict,
        /// Listeners conflict, for whatever reason.
        ListenerConflict,
        /// A certificate is missing or malformed.
        InvalidCertificateRef,
        /// A kind of routes is unknown or does not fit the protocol.
        InvalidRouteKinds,
        /// The certificate of an authority is missing or malformed.
        InvalidCaCertificateRef = "InvalidCACertificateRef",
        /// The certificate of an authority is of an unknown kind.
        InvalidCaCertificateKind = "InvalidCACertificateKind",
        /// Hostnames of listeners overlap.
        OverlappingHostnames,
        /// A ListenerSet may not attach to its Gateway.
        NotAllowed,
        /// The Gateway of a ListenerSet is not accepted.
        ParentNotAccepted,
        /// The Gateway of a ListenerSet is not programmed.
        ParentNotProgrammed,
        /// A Gateway has more listeners than it can serve.
        TooManyListeners,
        /// No listener admits the route.
        NotAllowedByListeners,
        /// No listener has a hostname that meets those of the route.
        NoMatchingListenerHostname,
        /// The parent has no such listener.
        NoMatchingParent,
        /// Filters of a rule exclude each other.
        IncompatibleFilters,
        /// A reference is of a kind that is not supported.
        InvalidKind,
        /// A backend does not exist.
        BackendNotFound,
        /// Another policy has the same target.
        Conflicted,
        /// The target of a policy does not exist.
        TargetNotFound,
    }
}
