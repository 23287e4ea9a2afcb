//! Whether references resolve: kinds, grants, existence and contents (rules 2.3 and 2.8).

use super::Engine;
use crate::model::{Backend, Body, FilterReference, Name, ObjectKey, ObjectKind, Reference, RouteKind, Rule, Service};
use crate::settings::{FailingReferences, Knowledge, MissingPort, UnknownKinds};
use crate::status::Cause;
use crate::words::Reason;

/// Why a reference cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReferenceProblem {
    pub(super) reason: Reason,
    pub(super) cause: Cause,
}

/// What became of a reference to contents, such as a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Contents {
    Usable,
    Unusable(ReferenceProblem),
    /// Nothing is known of it, because Secrets were not read.
    Unknown(Cause),
}

/// Whoever refers to something.
#[derive(Debug, Clone, Copy)]
pub(super) struct Referrer<'a> {
    pub(super) kind: &'a ObjectKind,
    pub(super) namespace: &'a Name,
}

fn problem(reason: Reason, target: &ObjectKey, what: impl Into<String>) -> ReferenceProblem {
    ReferenceProblem { reason, cause: Cause::at(target, what) }
}

impl Engine {
    /// Whether an object may refer to another one: in its own namespace, or by a grant in that of the other.
    pub(super) fn is_permitted(&self, from: Referrer<'_>, target: &ObjectKey) -> bool {
        target.namespace == *from.namespace
            || self.store.grants(&target.namespace).any(|(_, grant)| grant.allows(from.kind, from.namespace, target))
    }

    fn check_permission(&self, from: Referrer<'_>, target: &ObjectKey) -> Result<(), ReferenceProblem> {
        if self.is_permitted(from, target) {
            return Ok(());
        }
        let what = format!("no ReferenceGrant in {} allows {} from {}", target.namespace, from.kind, from.namespace);
        Err(problem(Reason::RefNotPermitted, target, what))
    }

    /// Checks a backend: kind, grant, existence, protocol, in this order.
    pub(super) fn check_backend(
        &self,
        from: Referrer<'_>,
        route: RouteKind,
        reference: &Reference,
        port: Option<u16>,
    ) -> Result<(), ReferenceProblem> {
        let target = &reference.target;
        if target.kind != ObjectKind::Service {
            let known = self.settings.backend_kinds.contains(&target.kind);
            if !known && self.settings.unknown_kinds == UnknownKinds::Assumed {
                return self.check_permission(from, target);
            }
            if !known {
                return Err(problem(Reason::InvalidKind, target, "backends of this kind are not supported"));
            }
        }
        self.check_permission(from, target)?;
        let Some(object) = self.store.get(target) else {
            return Err(problem(Reason::BackendNotFound, target, "not found"));
        };
        let Body::Service(service) = &object.body else { return Ok(()) };
        let Some(number) = port else { return Ok(()) };
        match service.port(number) {
            Some(found) => match &found.app_protocol {
                Some(protocol) => self.check_protocol(route, target, protocol),
                None => Ok(()),
            },
            None if self.settings.choices.missing_port == MissingPort::NotFound => {
                Err(problem(Reason::BackendNotFound, target, format!("it has no port {number}")))
            }
            None => Ok(()),
        }
    }

    /// Whether a route can speak the protocol of a port. Names outside of `kubernetes.io/` are left to implementations.
    fn check_protocol(&self, route: RouteKind, target: &ObjectKey, protocol: &str) -> Result<(), ReferenceProblem> {
        let Some(name) = protocol.strip_prefix("kubernetes.io/") else { return Ok(()) };
        let fits = match (name, route) {
            (_, RouteKind::Tcp | RouteKind::Udp)
            | ("h2c", RouteKind::Http | RouteKind::Grpc)
            | ("ws", RouteKind::Http)
            | ("wss", RouteKind::Tls) => true,
            ("wss", RouteKind::Http) => self.has_policy(target),
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let hint = if name == "wss" && route == RouteKind::Http { " without a BackendTLSPolicy" } else { "" };
        let what = format!("{} cannot use appProtocol {protocol}{hint}", route.as_str());
        Err(problem(Reason::UnsupportedProtocol, target, what))
    }

    /// Whether a BackendTLSPolicy is for a Service.
    fn has_policy(&self, service: &ObjectKey) -> bool {
        self.store.find(service).is_some_and(|id| self.policies_of.contains_key(&id))
    }

    /// Checks what a filter refers to.
    pub(super) fn check_filter(
        &self,
        from: Referrer<'_>,
        route: RouteKind,
        filter: &FilterReference,
    ) -> Result<(), ReferenceProblem> {
        match filter {
            FilterReference::Mirror(reference) | FilterReference::Authorization(reference) => {
                self.check_backend(from, route, reference, None)
            }
            FilterReference::Extension(reference) => {
                let target = &reference.target;
                let known = self.settings.extension_kinds.contains(&target.kind);
                match (known, self.settings.unknown_kinds) {
                    (true, _) if self.store.get(target).is_some() => Ok(()),
                    (true, _) => Err(problem(Reason::BackendNotFound, target, "not found")),
                    (false, UnknownKinds::Assumed) => Ok(()),
                    (false, UnknownKinds::Refused) => {
                        Err(problem(Reason::InvalidKind, target, "filters of this kind are not supported"))
                    }
                }
            }
        }
    }

    /// What is wrong with the references of a rule: those of backends with their filters, then those of filters.
    pub(super) fn rule_problems(&self, from: Referrer<'_>, route: RouteKind, rule: &Rule) -> Vec<ReferenceProblem> {
        let mut problems = Vec::new();
        for backend in &rule.backends {
            problems.extend(self.backend_problem(from, route, backend));
        }
        let filters = rule.filters.iter().filter_map(|filter| filter.reference.as_ref());
        problems.extend(filters.filter_map(|filter| self.check_filter(from, route, filter).err()));
        problems
    }

    /// What is wrong with a backend or with one of its filters.
    pub(super) fn backend_problem(
        &self,
        from: Referrer<'_>,
        route: RouteKind,
        backend: &Backend,
    ) -> Option<ReferenceProblem> {
        let filters = backend.filters.iter().filter_map(|filter| filter.reference.as_ref());
        let own = self.check_backend(from, route, &backend.reference, backend.port).err();
        own.or_else(|| filters.map(|filter| self.check_filter(from, route, filter)).find_map(Result::err))
    }

    /// The reason to report for several problems; they are not empty.
    pub(super) fn leading_reason(&self, problems: &[ReferenceProblem]) -> Option<Reason> {
        let gravity = |reason: Reason| match reason {
            Reason::RefNotPermitted => 0,
            Reason::InvalidKind => 1,
            Reason::BackendNotFound => 2,
            _ => 3,
        };
        match self.settings.choices.failing_references {
            FailingReferences::First => problems.first().map(|problem| problem.reason),
            FailingReferences::Gravest => problems.iter().map(|problem| problem.reason).min_by_key(|one| gravity(*one)),
        }
    }

    /// Checks a certificate with its key: grant, kind, existence, contents. `invalid` is the reason for the last three.
    pub(super) fn check_certificate(&self, from: Referrer<'_>, reference: &Reference, invalid: Reason) -> Contents {
        let target = &reference.target;
        if let Err(problem) = self.check_permission(from, target) {
            return Contents::Unusable(problem);
        }
        let unusable = |what: &str| Contents::Unusable(problem(invalid, target, what));
        if target.kind != ObjectKind::Secret {
            return match self.settings.unknown_kinds {
                UnknownKinds::Assumed => Contents::Usable,
                UnknownKinds::Refused => unusable("certificates of this kind are not supported"),
            };
        }
        match self.store.get(target).map(|object| &object.body) {
            Some(Body::Secret(secret)) if !secret.contents_known => {
                Contents::Unknown(Cause::at(target, "its contents were not read"))
            }
            Some(Body::Secret(secret)) if !secret.certificate => {
                unusable("tls.crt is missing or not a PEM certificate")
            }
            Some(Body::Secret(secret)) if !secret.private_key => {
                unusable("tls.key is missing or not a PEM private key")
            }
            Some(_) => Contents::Usable,
            None if self.settings.secrets != Knowledge::Complete => {
                Contents::Unknown(Cause::at(target, "Secrets were not read"))
            }
            None => unusable("not found"),
        }
    }

    /// Checks the certificate of an authority: kind, grant, existence, contents.
    pub(super) fn check_authority(
        &self,
        from: Referrer<'_>,
        target: &ObjectKey,
        [wrong_kind, invalid]: [Reason; 2],
    ) -> Result<(), ReferenceProblem> {
        if target.kind != ObjectKind::ConfigMap {
            return match self.settings.unknown_kinds {
                UnknownKinds::Assumed => Ok(()),
                UnknownKinds::Refused => Err(problem(wrong_kind, target, "authorities of this kind are not supported")),
            };
        }
        self.check_permission(from, target)?;
        match self.store.get(target).map(|object| &object.body) {
            Some(Body::ConfigMap(map)) if map.certificate => Ok(()),
            Some(_) => Err(problem(invalid, target, "ca.crt is missing or not a PEM certificate")),
            None => Err(problem(invalid, target, "not found")),
        }
    }

    /// The Service that a reference leads to.
    pub(super) fn service(&self, target: &ObjectKey) -> Option<&Service> {
        match &self.store.get(target)?.body {
            Body::Service(service) => Some(service),
            _ => None,
        }
    }
}
