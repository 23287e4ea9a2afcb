//! Decisions that the specification leaves open, each with a name, a default and its documentation (rule 2.12).

/// One table gives the type, its texts and its documentation, so that none of them is forgotten.
macro_rules! choices {
    ($($(#[$about:meta])* $field:ident: $kind:ident = $name:literal, $doc:literal {
        $($(#[$option:meta])* $variant:ident = $value:literal),* $(,)?
    })*) => {
        /// Decisions that the specification leaves open. The first option of each is the default.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Choices { $($(#[$about])* pub $field: $kind),* }

        $(
            $(#[$about])*
            #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
            pub enum $kind { $($(#[$option])* $variant),* }

            impl $kind {
                const VALUES: &'static [(&'static str, $kind)] = &[$(($value, $kind::$variant)),*];
            }
        )*

        /// The documentation of every choice.
        pub const CHOICES: &[ChoiceDoc] = &[
            $(ChoiceDoc { name: $name, about: $doc, values: &[$($value),*] }),*
        ];

        impl Choices {
            /// Makes a choice by its name.
            pub fn set(&mut self, name: &str, value: &str) -> Result<(), ChoiceError> {
                match name {
                    $($name => {
                        let found = $kind::VALUES.iter().find(|(text, _)| *text == value);
                        let (_, chosen) = found.ok_or_else(|| ChoiceError::Value {
                            name: $name,
                            values: $kind::VALUES.iter().map(|(text, _)| *text).collect::<Vec<_>>().join(", "),
                        })?;
                        self.$field = *chosen;
                        Ok(())
                    })*
                    _ => Err(ChoiceError::Name {
                        name: name.chars().take(64).collect(),
                        names: CHOICES.iter().map(|choice| choice.name).collect::<Vec<_>>().join(", "),
                    }),
                }
            }
        }
    };
}

/// What a choice is about.
#[derive(Debug, Clone, Copy)]
pub struct ChoiceDoc {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is decided.
    pub about: &'static str,
    /// Its values; the first is the default.
    pub values: &'static [&'static str],
}

/// A choice that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// No choice has that name.
    #[error("choice `{name}` not found; there are {names}")]
    Name {
        /// The name.
        name: String,
        /// All names.
        names: String,
    },
    /// The choice has no such value.
    #[error("choice `{name}` must be one of {values}")]
    Value {
        /// The choice.
        name: &'static str,
        /// Its values.
        values: String,
    },
}

choices! {
    /// Whether a listener is accepted although no certificate of it can be used.
    bad_certificate: BadCertificate = "bad-certificate",
        "Is a listener accepted although none of its certificates can be used? (GEP-1364: it is not.)" {
        /// `Accepted=True`, `ResolvedRefs=False`, `Programmed=False`.
        #[default]
        Accepted = "accepted",
        /// `Accepted=False` too.
        NotAccepted = "not-accepted",
    }
    /// What a Gateway says of `Programmed` when none of its listeners is programmed.
    no_listener_programmed: NoListenerProgrammed = "no-listener-programmed",
        "Is a Gateway programmed although none of its listeners is?" {
        /// `Programmed=False/Invalid`.
        #[default]
        Invalid = "invalid",
        /// `Programmed=True`.
        Programmed = "programmed",
    }
    /// The reason of a listener of a ListenerSet that conflicts.
    entry_conflict: EntryConflict = "entry-conflict",
        "The reason of a conflict of a ListenerSet's listener: the specific one (as the conformance tests expect) or ListenerConflict." {
        /// `HostnameConflict` or `ProtocolConflict`, as the conformance tests have it.
        #[default]
        Specific = "specific",
        /// `ListenerConflict`, as the documentation of the type has it.
        ListenerConflict = "listener-conflict",
    }
    /// The reason of a TLSRoute at listeners that are not for TLS.
    tls_route_elsewhere: TlsRouteElsewhere = "tls-route-elsewhere",
        "The reason of a TLSRoute whose listeners do not speak TLS." {
        /// `NotAllowedByListeners`, as the conformance tests have it.
        #[default]
        NotAllowed = "not-allowed-by-listeners",
        /// `UnsupportedValue`, as the documentation of the type has it.
        UnsupportedValue = "unsupported-value",
    }
    /// Whether HTTP and HTTPS (or TLS) on one port exclude each other.
    http_beside_tls: HttpBesideTls = "http-beside-tls",
        "Do an HTTP listener and an HTTPS or TLS listener on one port conflict?" {
        /// They do: `ProtocolConflict`.
        #[default]
        Conflict = "conflict",
        /// They do not.
        Distinct = "distinct",
    }
    /// Whether HTTPS and TLS on one port exclude each other.
    https_beside_tls: HttpsBesideTls = "https-beside-tls",
        "Do an HTTPS and a TLS listener on one port conflict, although their hostnames differ?" {
        /// They do not, unless their hostnames are the same.
        #[default]
        Distinct = "distinct",
        /// They do: `ProtocolConflict`.
        Conflict = "conflict",
    }
    /// What of a backend whose Service does not have the port.
    missing_port: MissingPort = "missing-port",
        "Is a reference resolved although the Service has no such port? Its traffic fails either way." {
        /// `ResolvedRefs` stays True.
        #[default]
        Resolved = "resolved",
        /// `BackendNotFound`.
        NotFound = "backend-not-found",
    }
    /// Which reason is reported when several references fail.
    failing_references: FailingReferences = "failing-references",
        "Which reason is reported when references fail for several: that of the first one, or the gravest (RefNotPermitted, InvalidKind, BackendNotFound, UnsupportedProtocol)." {
        /// That of the first one.
        #[default]
        First = "first",
        /// The gravest.
        Gravest = "gravest",
    }
    /// What of routes at a Gateway that is not accepted.
    unaccepted_gateway: UnacceptedGateway = "unaccepted-gateway",
        "Are routes of a Gateway that is not accepted still judged by its listeners?" {
        /// They are: the status of listeners and routes is independent.
        #[default]
        Independent = "independent",
        /// They are not accepted: `NoMatchingParent`.
        Rejected = "rejected",
    }
    /// The reason of an HTTPRoute or GRPCRoute that loses a hostname to an older route of the other kind.
    hostname_clash: HostnameClash = "hostname-clash",
        "The reason of an HTTPRoute or GRPCRoute that loses its hostnames to an older route of the other kind." {
        /// `HostnameConflict`.
        #[default]
        HostnameConflict = "hostname-conflict",
        /// `NotAllowedByListeners`.
        NotAllowed = "not-allowed-by-listeners",
    }
    /// What of a class when the version of the CRDs is not known.
    unknown_version: UnknownVersion = "unknown-version",
        "Is a GatewayClass accepted although the bundle version of the CRDs is not supported?" {
        /// It is, with `SupportedVersion=False`.
        #[default]
        BestEffort = "best-effort",
        /// It is not: `UnsupportedVersion`.
        Rejected = "rejected",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_value_can_be_chosen_and_the_first_is_the_default() {
        for choice in CHOICES {
            let mut choices = Choices::default();
            for value in choice.values.iter().rev() {
                choices.set(choice.name, value).unwrap();
            }
            assert_eq!(choices, Choices::default(), "{}", choice.name);
            assert!(choices.set(choice.name, "x").unwrap_err().to_string().contains(choice.values[0]));
        }
        assert!(Choices::default().set("x", "y").unwrap_err().to_string().contains("missing-port"));
    }
}
