//! Listeners: what each of them is, whatever resource it belongs to (rule 2.3).

use std::sync::Arc;

use clearway_conditions::Status;

use super::Engine;
use super::references::{Contents, Referrer};
use super::store::Id;
use crate::model::{Address, Gateway, Listener, Name, ObjectKind, Protocol, Reference, RouteKind, TlsMode};
use crate::settings::{BadCertificate, DataPlane, Features, Specification};
use crate::status::{Cause, Condition};
use crate::words::{ConditionType, Reason};

/// A Gateway or a ListenerSet: its status, and its listeners as routes see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParentState {
    /// The Gateway; the resource itself unless it is a ListenerSet.
    pub(super) gateway: Id,
    pub(super) controller: Name,
    pub(super) features: Arc<Features>,
    /// Why no route can attach, whatever the listeners say.
    pub(super) closed: Option<String>,
    pub(super) listeners: Vec<ListenerState>,
    /// Routes that are attached to each listener.
    pub(super) attached: Vec<u32>,
    /// HTTPRoutes and GRPCRoutes that fit each listener; where both do, they may clash.
    pub(super) fitting: Vec<[u32; 2]>,
    /// Which table of listeners this is.
    pub(super) epoch: u64,
    pub(super) conditions: Vec<Condition>,
    pub(super) addresses: Vec<Address>,
    pub(super) attached_listener_sets: usize,
}

/// A listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListenerState {
    pub(super) listener: Arc<Listener>,
    pub(super) supported_kinds: Vec<RouteKind>,
    pub(super) conditions: Vec<Condition>,
}

/// Where a listener is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site<'a> {
    /// The resource that it belongs to.
    pub(super) from: Referrer<'a>,
    pub(super) gateway: &'a Gateway,
    pub(super) gateway_namespace: &'a Name,
    pub(super) features: &'a Features,
}

/// What was found out about a listener by comparing it with others.
#[derive(Debug, Clone, Default)]
pub(super) struct Verdict {
    /// Why it cannot be accepted whatever the others are.
    pub(super) rejected: Option<(Reason, String)>,
    pub(super) conflict: Option<(Reason, String)>,
    /// Whether its hostname overlaps that of another one with TLS.
    pub(super) overlaps: bool,
}

/// Whether something is so: yes, no for a cause, or not known.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    Yes,
    No(Reason, Vec<Cause>),
    Unknown(Cause),
}

impl Answer {
    pub(super) fn condition(&self, kind: ConditionType) -> Condition {
        match self {
            Answer::Yes => Condition::good(kind),
            Answer::No(reason, causes) => Condition::bad(kind, *reason, causes.clone()),
            Answer::Unknown(cause) => Condition::pending(kind, cause.to_string()),
        }
    }
}

impl ParentState {
    /// Whether routes see the same as before.
    pub(super) fn same_for_routes(&self, other: &ParentState) -> bool {
        let listeners = || self.listeners.iter().zip(&other.listeners);
        self.gateway == other.gateway
            && self.controller == other.controller
            && self.features == other.features
            && self.closed == other.closed
            && self.listeners.len() == other.listeners.len()
            && listeners().all(|(one, two)| one.listener == two.listener && one.supported_kinds == two.supported_kinds)
    }

    /// Whether the published status is the same, apart from the number of routes.
    pub(super) fn same_status(&self, other: &ParentState) -> bool {
        let listeners = || self.listeners.iter().zip(&other.listeners);
        self.conditions == other.conditions
            && self.addresses == other.addresses
            && self.attached_listener_sets == other.attached_listener_sets
            && self.controller == other.controller
            && self.listeners.len() == other.listeners.len()
            && listeners().all(|(one, two)| {
                one.listener.name == two.listener.name
                    && one.supported_kinds == two.supported_kinds
                    && one.conditions == two.conditions
            })
    }
}

impl ListenerState {
    pub(super) fn condition(&self, kind: ConditionType) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    pub(super) fn is_true(&self, kind: ConditionType) -> bool {
        self.condition(kind).is_some_and(|condition| condition.status == Status::True)
    }

    /// Why a condition is not as it should be, seen from the resource.
    pub(super) fn causes(&self, kind: ConditionType) -> Vec<Cause> {
        let about = format!("listener {}", self.listener.name);
        let causes = self.condition(kind).map(|condition| condition.causes.clone()).unwrap_or_default();
        causes.into_iter().map(|cause| cause.through(&about)).collect()
    }
}

/// The kinds of routes that a listener can have by its protocol.
fn kinds_of(listener: &Listener, features: &Features) -> Vec<RouteKind> {
    let kinds: &[RouteKind] = match listener.protocol {
        Protocol::Http | Protocol::Https => &[RouteKind::Http, RouteKind::Grpc],
        Protocol::Tls => &[RouteKind::Tls],
        Protocol::Tcp => &[RouteKind::Tcp],
        Protocol::Udp => &[RouteKind::Udp],
        Protocol::Other(_) => &[],
    };
    kinds.iter().copied().filter(|kind| features.has_route(*kind)).collect()
}

/// Why a listener cannot be accepted whatever the others are: its protocol, its TLS mode, its port.
pub(super) fn unsupported(listener: &Listener, features: &Features, engine: &Engine) -> Option<(Reason, String)> {
    if kinds_of(listener, features).is_empty() {
        let what = format!("protocol {} is not supported", display(listener.protocol.as_str()));
        return Some((Reason::UnsupportedProtocol, what));
    }
    match (&listener.protocol, listener.tls_mode()) {
        (_, Some(TlsMode::Other(mode))) => {
            return Some((Reason::UnsupportedValue, format!("TLS mode {mode} is not supported")));
        }
        (Protocol::Tls, Some(TlsMode::Terminate)) if !features.has("TLSRouteModeTerminate") => {
            return Some((Reason::UnsupportedValue, "TLS mode Terminate is not supported".to_owned()));
        }
        (Protocol::Https, Some(TlsMode::Passthrough)) => {
            return Some((Reason::UnsupportedValue, "TLS mode Passthrough is not possible with HTTPS".to_owned()));
        }
        _ => {}
    }
    match listener.port {
        None => Some((Reason::UnsupportedValue, "no port between 1 and 65535 is given".to_owned())),
        Some(port) if engine.settings.capacity.unavailable_ports.contains(&port) => {
            Some((Reason::PortUnavailable, format!("port {port} cannot be used")))
        }
        Some(_) => None,
    }
}

fn display(word: &str) -> &str {
    if word.is_empty() { "(none)" } else { word }
}

impl Engine {
    /// Evaluates a listener that is neither unsupported nor in conflict, or says which of the two it is.
    pub(super) fn evaluate_listener(
        &self,
        listener: &Arc<Listener>,
        site: &Site<'_>,
        verdict: Verdict,
    ) -> ListenerState {
        let Site { from, features, .. } = *site;
        let Verdict { rejected, conflict, overlaps } = verdict;
        let possible = kinds_of(listener, features);
        let kinds = &listener.allowed.kinds;
        let wanted = |kind: &RouteKind| kinds.is_empty() || kinds.contains(&ObjectKind::Route(*kind));
        let mut supported_kinds: Vec<RouteKind> = possible.iter().copied().filter(wanted).collect();
        let mut unresolved = Vec::new();
        let mut reason = None;
        let dropped = kinds.iter().filter(|kind| !matches!(kind, ObjectKind::Route(route) if possible.contains(route)));
        for kind in dropped {
            reason.get_or_insert(Reason::InvalidRouteKinds);
            let what =
                format!("{kind} cannot attach to a listener of protocol {}", display(listener.protocol.as_str()));
            unresolved.push(Cause::own(what));
        }
        let certificates = self.check_listener_certificates(listener, from);
        if let Answer::No(first, causes) = &certificates {
            reason.get_or_insert(*first);
            unresolved.extend(causes.iter().cloned());
        }
        let authorities = self.check_authorities(listener, site);
        if let Some((first, causes, _)) = &authorities {
            reason.get_or_insert(*first);
            unresolved.extend(causes.iter().cloned());
        }
        let resolved = match (reason, &certificates) {
            (Some(reason), _) => Answer::No(reason, unresolved),
            (None, Answer::Unknown(cause)) => Answer::Unknown(cause.clone()),
            (None, _) => Answer::Yes,
        };
        let without_certificate = matches!(certificates, Answer::No(..));
        let strict = self.settings.specification == Specification::Gep1364
            || self.settings.choices.bad_certificate == BadCertificate::NotAccepted;
        let is_conflict = conflict.is_some();
        let accepted = match (rejected.or_else(|| conflict.clone()), &authorities, &certificates) {
            (Some((reason, what)), _, _) => {
                supported_kinds.clear();
                Answer::No(reason, vec![Cause::own(what)])
            }
            (None, Some((_, causes, true)), _) => Answer::No(Reason::NoValidCaCertificate, causes.clone()),
            (None, _, Answer::No(reason, causes)) if strict => Answer::No(*reason, causes.clone()),
            _ => Answer::Yes,
        };
        let programmed = match &accepted {
            // The conformance tests expect the reason of the conflict here, too.
            Answer::No(reason, causes) if is_conflict || *reason == Reason::PortUnavailable => {
                Answer::No(*reason, causes.clone())
            }
            Answer::No(_, causes) => Answer::No(Reason::Invalid, causes.clone()),
            _ if without_certificate => Answer::No(Reason::Invalid, vec![Cause::own("no certificate can be used")]),
            _ if supported_kinds.is_empty() => {
                Answer::No(Reason::Invalid, vec![Cause::own("no kind of routes can attach")])
            }
            _ => match (&resolved, self.settings.data_plane) {
                (Answer::Unknown(cause), _) => Answer::Unknown(cause.clone()),
                (_, DataPlane::Absent) => Answer::Unknown(Cause::own(NO_DATA_PLANE)),
                _ => Answer::Yes,
            },
        };
        let mut conditions = vec![
            accepted.condition(ConditionType::Accepted),
            programmed.condition(ConditionType::Programmed),
            resolved.condition(ConditionType::ResolvedRefs),
        ];
        if self.settings.ready {
            conditions.push(ready(&programmed, Reason::Invalid));
        }
        if let Some((reason, what)) = conflict {
            let condition = Condition::bad(ConditionType::Conflicted, reason, vec![Cause::own(what)]);
            conditions.push(condition.with_status(Status::True));
        }
        if overlaps {
            let what = "another HTTPS listener of this port has a hostname that overlaps; clients may reuse a connection for both";
            let condition = Condition::bad(
                ConditionType::OverlappingTlsConfig,
                Reason::OverlappingHostnames,
                vec![Cause::own(what)],
            );
            conditions.push(condition.with_status(Status::True));
        }
        ListenerState { listener: listener.clone(), supported_kinds, conditions }
    }

    /// Whether a listener that ends TLS has a certificate to do it with.
    fn check_listener_certificates(&self, listener: &Listener, from: Referrer<'_>) -> Answer {
        if listener.tls_mode() != Some(&TlsMode::Terminate) {
            return Answer::Yes;
        }
        let Some(tls) = listener.tls.as_ref().filter(|tls| !tls.certificates.is_empty()) else {
            let has_options = listener.tls.as_ref().is_some_and(|tls| tls.has_options);
            let cause = Cause::own("TLS is terminated here, but no certificate is given");
            return if has_options { Answer::Yes } else { Answer::No(Reason::InvalidCertificateRef, vec![cause]) };
        };
        let checked = tls
            .certificates
            .iter()
            .map(|certificate| self.check_certificate(from, certificate, Reason::InvalidCertificateRef));
        let (mut problems, mut unknown) = (Vec::new(), None);
        for contents in checked {
            match contents {
                Contents::Usable => {}
                Contents::Unusable(problem) => problems.push(problem),
                Contents::Unknown(cause) => unknown = unknown.or(Some(cause)),
            }
        }
        // A reference that is not granted is graver than one that leads nowhere.
        let reason = problems.iter().map(|problem| problem.reason).max_by_key(|one| *one == Reason::RefNotPermitted);
        match (reason, unknown) {
            (Some(reason), _) => Answer::No(reason, problems.into_iter().map(|problem| problem.cause).collect()),
            (None, Some(cause)) => Answer::Unknown(cause),
            (None, None) => Answer::Yes,
        }
    }

    /// What is wrong with the authorities for clients of an HTTPS listener, and whether none is left.
    fn check_authorities(&self, listener: &Listener, site: &Site<'_>) -> Option<(Reason, Vec<Cause>, bool)> {
        let validation = site.gateway.frontend_validation(listener.port);
        let validation = validation.filter(|_| listener.protocol == Protocol::Https)?;
        // The reference is the Gateway's, also where the listener belongs to a ListenerSet.
        let from = Referrer { kind: &ObjectKind::Gateway, namespace: site.gateway_namespace };
        let reasons = [Reason::InvalidCaCertificateKind, Reason::InvalidCaCertificateRef];
        let check = |reference: &Reference| self.check_authority(from, &reference.target, reasons).err();
        let problems: Vec<_> = validation.certificates.iter().filter_map(check).collect();
        let none_left = problems.len() == validation.certificates.len();
        let reason = problems.first()?.reason;
        Some((reason, problems.into_iter().map(|problem| problem.cause).collect(), none_left))
    }
}

/// What `Programmed` says where configuration goes nowhere.
pub(super) const NO_DATA_PLANE: &str = "no data plane is attached";

/// Traffic flows where configuration is in use.
pub(super) fn ready(programmed: &Answer, reason: Reason) -> Condition {
    match programmed {
        Answer::No(_, causes) => Condition::bad(ConditionType::Ready, reason, causes.clone()),
        other => other.condition(ConditionType::Ready),
    }
}
