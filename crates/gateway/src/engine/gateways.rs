//! Gateways, each together with its ListenerSets (rules 2.4, 2.5).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use clearway_conditions::Status;

use super::Engine;
use super::conflicts::Conflicts;
use super::listener_sets::{Admission, SetInput};
use super::listeners::{Answer, ListenerState, NO_DATA_PLANE, ParentState, Site, Verdict, ready, unsupported};
use super::references::{Contents, Referrer};
use super::store::Id;
use crate::hostname::HostnameIndex;
use crate::model::{Address, Body, Gateway, Listener, Name, Object, ObjectKind, Protocol};
use crate::settings::{DataPlane, EntryConflict, Features, NoListenerProgrammed, Specification, UnacceptedGateway};
use crate::status::{Cause, Condition};
use crate::words::{ConditionType, Reason};

/// What a Gateway and its ListenerSets come to.
type Group = BTreeMap<Id, ParentState>;

/// What there is to know of a Gateway besides its listeners.
struct GatewayInput<'a> {
    id: Id,
    object: &'a Object,
    gateway: &'a Gateway,
    controller: Name,
    features: Arc<Features>,
}

impl Engine {
    /// Evaluates the Gateways that are marked, and the ListenerSets that belong to none that is served here.
    pub(super) fn evaluate_gateways(&mut self) {
        let sets = std::mem::take(&mut self.dirty.listener_sets);
        for id in std::mem::take(&mut self.dirty.gateways) {
            let mut group = self.evaluate_group(id);
            let members: Vec<Id> = self.listener_sets.get(&id).into_iter().flatten().copied().collect();
            for member in std::iter::once(id).chain(members) {
                let state = group.remove(&member);
                self.set_parent(member, state);
            }
        }
        for id in sets {
            let parent = match self.store.object(id).map(|object| &object.body) {
                Some(Body::ListenerSet(set)) => self.store.find(&set.parent),
                _ => None,
            };
            if parent.is_none_or(|parent| !self.parents.contains_key(&parent)) {
                self.set_parent(id, None);
            }
        }
    }

    /// Replaces what is known of a Gateway or ListenerSet; routes that see a difference are marked.
    fn set_parent(&mut self, id: Id, state: Option<ParentState>) {
        let old = self.parents.get(&id);
        let same_for_routes = match (&old, &state) {
            (Some(old), Some(new)) => old.same_for_routes(new),
            (None, None) => true,
            _ => false,
        };
        let same_status = match (&old, &state) {
            (Some(old), Some(new)) => old.same_status(new),
            (None, None) => true,
            _ => false,
        };
        // With another table of listeners the numbers of attached routes start anew.
        if !same_status || !same_for_routes {
            self.dirty.changed.insert(id);
        }
        let kept = old.filter(|_| same_for_routes).map(|old| (old.attached.clone(), old.fitting.clone(), old.epoch));
        match state {
            None => {
                self.parents.remove(&id);
            }
            Some(mut state) => {
                if let Some((attached, fitting, epoch)) = kept {
                    (state.attached, state.fitting, state.epoch) = (attached, fitting, epoch);
                } else {
                    self.epoch += 1;
                    state.epoch = self.epoch;
                }
                self.parents.insert(id, state);
            }
        }
        if !same_for_routes {
            let dependents: Vec<Id> = self.store.dependents(id).collect();
            let is_route = |id: &Id| matches!(self.store.key(*id).map(|key| &key.kind), Some(ObjectKind::Route(_)));
            let routes: Vec<Id> = dependents.into_iter().filter(is_route).collect();
            self.dirty.routes.extend(routes);
        }
    }

    fn evaluate_group(&self, id: Id) -> Group {
        let Some(object) = self.store.object(id) else { return Group::new() };
        let Body::Gateway(gateway) = &object.body else { return Group::new() };
        let Some((controller, features)) = self.class_of(&gateway.class) else { return Group::new() };
        let input = GatewayInput { id, object, gateway, controller, features };
        let sets = self.listener_sets_of(id, object, gateway, &input.features);
        let mut listeners = self.evaluate_listeners(&input, &sets);
        let own = listeners.remove(&id).unwrap_or_default();
        let mut state = self.gateway_state(&input, own);
        let mut group = Group::new();
        for set in &sets {
            let entries = listeners.remove(&set.id).unwrap_or_default();
            let set_state = self.listener_set_state(set, &state, entries);
            let is_accepted = set_state
                .conditions
                .iter()
                .any(|condition| condition.kind == ConditionType::Accepted && condition.status == Status::True);
            state.attached_listener_sets += usize::from(is_accepted);
            group.insert(set.id, set_state);
        }
        group.insert(id, state);
        group
    }

    /// Evaluates the listeners of all resources of a Gateway, in order of precedence.
    fn evaluate_listeners(&self, input: &GatewayInput<'_>, sets: &[SetInput<'_>]) -> HashMap<Id, Vec<ListenerState>> {
        let features = &input.features;
        let mut resources: Vec<(Id, Referrer<'_>, &[Arc<Listener>])> = vec![(
            input.id,
            Referrer { kind: &ObjectKind::Gateway, namespace: &input.object.key.namespace },
            &input.gateway.listeners,
        )];
        let admitted = sets.iter().filter(|set| set.admission == Admission::Allowed);
        resources.extend(admitted.map(|set| {
            let from = Referrer { kind: &ObjectKind::ListenerSet, namespace: &set.object.key.namespace };
            (set.id, from, set.set.listeners.as_slice())
        }));
        let mut conflicts = Conflicts::new(&self.settings.choices, features.has("TLSRouteModeMixed"));
        let mut left = self.settings.capacity.listeners.unwrap_or(usize::MAX);
        let mut verdicts: Vec<Vec<Verdict>> = Vec::new();
        for (id, _, listeners) in &resources {
            let rejected = |listener: &Arc<Listener>| unsupported(listener, features, self);
            let mut found: Vec<Verdict> = listeners
                .iter()
                .map(|listener| Verdict { rejected: rejected(listener), ..Verdict::default() })
                .collect();
            for verdict in found.iter_mut().filter(|verdict| verdict.rejected.is_none()) {
                if left == 0 {
                    let what = "the Gateway has more listeners than it can serve".to_owned();
                    verdict.rejected = Some((Reason::TooManyListeners, what));
                }
                left = left.saturating_sub(1);
            }
            let candidates: Vec<Option<&Listener>> = listeners
                .iter()
                .zip(&found)
                .map(|(listener, verdict)| verdict.rejected.is_none().then_some(&**listener))
                .collect();
            let specific = *id == input.id || self.settings.choices.entry_conflict == EntryConflict::Specific;
            for ((verdict, reason), listener) in found.iter_mut().zip(conflicts.add(&candidates)).zip(*listeners) {
                verdict.conflict = reason.map(|reason| {
                    let what = describe_conflict(reason, listener);
                    (if specific { reason } else { Reason::ListenerConflict }, what)
                });
            }
            verdicts.push(found);
        }
        mark_overlaps(&resources, &mut verdicts);
        let mut evaluated = HashMap::new();
        for ((id, from, listeners), found) in resources.into_iter().zip(verdicts) {
            let site = Site { from, gateway: input.gateway, gateway_namespace: &input.object.key.namespace, features };
            let states =
                listeners.iter().zip(found).map(|(listener, verdict)| self.evaluate_listener(listener, &site, verdict));
            evaluated.insert(id, states.collect());
        }
        evaluated
    }

    fn gateway_state(&self, input: &GatewayInput<'_>, listeners: Vec<ListenerState>) -> ParentState {
        let addresses = self.addresses_of(input.gateway);
        let accepted = self.gateway_accepted(input, &listeners);
        let programmed = self.gateway_programmed(input, &listeners, &accepted, &addresses);
        let mut conditions = vec![
            accepted_condition(&accepted, &listeners),
            programmed.condition(ConditionType::Programmed),
            self.gateway_resolved(input, &listeners),
        ];
        if !self.class_is_accepted(&input.gateway.class) {
            let why = format!("GatewayClass {} is not accepted", input.gateway.class);
            for condition in conditions.iter_mut().take(2) {
                *condition = Condition::pending(condition.kind, why.clone());
            }
        }
        if self.settings.ready {
            conditions.push(ready(&programmed, Reason::ListenersNotReady));
        }
        if input.gateway.frontend.iter().any(|(_, validation)| validation.insecure) {
            let what = "clients without a valid certificate are let in (AllowInsecureFallback)";
            let kind = ConditionType::InsecureFrontendValidationMode;
            let condition = Condition::bad(kind, Reason::ConfigurationChanged, vec![Cause::own(what)]);
            conditions.push(condition.with_status(Status::True));
        }
        let closed = match (self.settings.choices.unaccepted_gateway, &accepted) {
            (UnacceptedGateway::Rejected, Answer::No(..)) => Some("it is not accepted".to_owned()),
            _ => None,
        };
        ParentState {
            gateway: input.id,
            controller: input.controller.clone(),
            features: input.features.clone(),
            closed,
            attached: vec![0; listeners.len()],
            fitting: vec![[0, 0]; listeners.len()],
            listeners,
            epoch: 0,
            conditions,
            addresses: addresses.assigned,
            attached_listener_sets: 0,
        }
    }

    fn gateway_accepted(&self, input: &GatewayInput<'_>, listeners: &[ListenerState]) -> Answer {
        if let Some(cause) = input.gateway.parameters.as_ref().and_then(|target| self.check_parameters(target)) {
            return Answer::No(Reason::InvalidParameters, vec![cause]);
        }
        let unsupported = input.gateway.addresses.iter().find(|address| !is_known_type(address));
        if let Some(address) = unsupported {
            let what = format!("addresses of type {} are not supported", address.kind);
            return Answer::No(Reason::UnsupportedAddress, vec![Cause::own(what)]);
        }
        if self.settings.specification == Specification::Gep1364
            && let Some(cause) = self.without_capacity(input)
        {
            return Answer::No(Reason::NoResources, vec![cause]);
        }
        if listeners.is_empty() {
            return Answer::No(Reason::Invalid, vec![Cause::own("it has no listeners")]);
        }
        let bad = listeners.iter().filter(|listener| !listener.is_true(ConditionType::Accepted));
        let causes: Vec<Cause> = bad.flat_map(|listener| listener.causes(ConditionType::Accepted)).collect();
        // `accepted_condition` leaves it True if some listeners are accepted.
        if causes.is_empty() { Answer::Yes } else { Answer::No(Reason::ListenersNotValid, causes) }
    }

    fn gateway_programmed(
        &self,
        input: &GatewayInput<'_>,
        listeners: &[ListenerState],
        accepted: &Answer,
        addresses: &Addresses,
    ) -> Answer {
        let some_accepted = listeners.iter().any(|listener| listener.is_true(ConditionType::Accepted));
        match accepted {
            Answer::No(Reason::ListenersNotValid, _) if some_accepted => {}
            Answer::No(_, causes) => return Answer::No(Reason::Invalid, causes.clone()),
            _ => {}
        }
        if let Some(cause) = self.without_capacity(input) {
            return Answer::No(Reason::NoResources, vec![cause]);
        }
        if let Some(value) = &addresses.unusable {
            return Answer::No(Reason::AddressNotUsable, vec![Cause::own(format!("address {value} cannot be used"))]);
        }
        if addresses.unassigned {
            let what = "no address could be assigned for one that is given without a value";
            return Answer::No(Reason::AddressNotAssigned, vec![Cause::own(what)]);
        }
        let status = |wanted: Status| {
            let of = |listener: &ListenerState| listener.condition(ConditionType::Programmed).map(|one| one.status);
            listeners.iter().any(|listener| of(listener) == Some(wanted))
        };
        let lenient = self.settings.choices.no_listener_programmed == NoListenerProgrammed::Programmed;
        if !status(Status::True) && !status(Status::Unknown) && !lenient {
            let causes = listeners.iter().flat_map(|listener| listener.causes(ConditionType::Programmed)).collect();
            return Answer::No(Reason::Invalid, causes);
        }
        if self.settings.data_plane == DataPlane::Absent {
            return Answer::Unknown(Cause::own(NO_DATA_PLANE));
        }
        if !status(Status::True) && !lenient {
            return Answer::Unknown(Cause::own("it is not known whether a listener is programmed"));
        }
        Answer::Yes
    }

    /// Whether the client certificate and the references of listeners resolve.
    fn gateway_resolved(&self, input: &GatewayInput<'_>, listeners: &[ListenerState]) -> Condition {
        let kind = ConditionType::ResolvedRefs;
        let from = Referrer { kind: &ObjectKind::Gateway, namespace: &input.object.key.namespace };
        let own = input
            .gateway
            .client_certificate
            .as_ref()
            .map(|reference| self.check_certificate(from, reference, Reason::InvalidClientCertificateRef));
        if let Some(Contents::Unusable(problem)) = own {
            return Condition::bad(kind, problem.reason, vec![problem.cause]);
        }
        let has = |wanted: Status| {
            listeners.iter().any(|one| one.condition(kind).is_some_and(|condition| condition.status == wanted))
        };
        if has(Status::False) {
            let causes = listeners.iter().flat_map(|listener| listener.causes(kind)).collect();
            return Condition::bad(kind, Reason::ListenersNotResolved, causes);
        }
        match own {
            Some(Contents::Unknown(cause)) => Condition::pending(kind, cause.to_string()),
            _ if has(Status::Unknown) => Condition::pending(kind, "Secrets were not read"),
            _ => Condition::good(kind),
        }
    }

    /// Why there is no room for a Gateway: older ones take it.
    fn without_capacity(&self, input: &GatewayInput<'_>) -> Option<Cause> {
        let capacity = self.settings.capacity.gateways?;
        let older = self.store.of_kind(&ObjectKind::Gateway).filter_map(|id| self.store.object(id)).filter(|other| {
            let Body::Gateway(gateway) = &other.body else { return false };
            other.age() < input.object.age()
                && self.class_of(&gateway.class).is_some_and(|(controller, _)| controller == input.controller)
        });
        (older.count() >= capacity).then(|| Cause::own(format!("there is capacity for {capacity} Gateways only")))
    }

    fn addresses_of(&self, gateway: &Gateway) -> Addresses {
        let mut found = Addresses::default();
        if gateway.addresses.is_empty() {
            found.assigned.extend(self.settings.addresses.first().cloned());
            return found;
        }
        for address in gateway.addresses.iter().filter(|address| is_known_type(address)) {
            if self.settings.unusable_addresses.contains(&address.value) {
                found.unusable.get_or_insert_with(|| address.value.clone());
            } else if !address.value.is_empty() {
                found.assigned.push(address.clone());
            } else if let Some(free) = self.settings.addresses.iter().find(|free| free.kind == address.kind) {
                found.assigned.push(free.clone());
            } else {
                // Where no addresses are known, an implementation is taken to have some.
                found.unassigned |= !self.settings.addresses.is_empty();
            }
        }
        found
    }
}

/// What becomes of the addresses that a Gateway asks for.
#[derive(Debug, Default)]
struct Addresses {
    assigned: Vec<Address>,
    unusable: Option<Name>,
    unassigned: bool,
}

fn is_known_type(address: &Address) -> bool {
    matches!(&*address.kind, "IPAddress" | "Hostname" | "NamedAddress")
}

/// The condition of a Gateway; with some listeners accepted, those that are not leave it True.
fn accepted_condition(answer: &Answer, listeners: &[ListenerState]) -> Condition {
    let condition = answer.condition(ConditionType::Accepted);
    let some_accepted = listeners.iter().any(|listener| listener.is_true(ConditionType::Accepted));
    if condition.reason == Reason::ListenersNotValid && some_accepted {
        condition.with_status(Status::True)
    } else {
        condition
    }
}

fn describe_conflict(reason: Reason, listener: &Listener) -> String {
    let port = listener.port.unwrap_or(0);
    match (reason, &listener.hostname) {
        (Reason::ProtocolConflict, _) => {
            format!("another listener of port {port} has a protocol that excludes {}", listener.protocol.as_str())
        }
        (_, Some(hostname)) => format!("another listener of port {port} has the hostname {hostname}, too"),
        (_, None) => format!("another listener has port {port} and no hostname, too"),
    }
}

/// Marks HTTPS listeners of one port whose hostnames overlap.
fn mark_overlaps(resources: &[(Id, Referrer<'_>, &[Arc<Listener>])], verdicts: &mut [Vec<Verdict>]) {
    let takes_part = |listener: &Listener, verdict: &Verdict| {
        listener.protocol == Protocol::Https && verdict.rejected.is_none() && verdict.conflict.is_none()
    };
    let mut ports: HashMap<Option<u16>, HostnameIndex> = HashMap::new();
    for ((_, _, listeners), found) in resources.iter().zip(verdicts.iter()) {
        for (listener, _) in listeners.iter().zip(found).filter(|(listener, verdict)| takes_part(listener, verdict)) {
            ports.entry(listener.port).or_default().insert(listener.hostname.as_ref());
        }
    }
    for ((_, _, listeners), found) in resources.iter().zip(verdicts.iter_mut()) {
        for (listener, verdict) in listeners.iter().zip(found) {
            let meeting = ports.get(&listener.port).map_or(0, |index| index.count_meeting(listener.hostname.as_ref()));
            verdict.overlaps = takes_part(listener, verdict) && meeting > 1;
        }
    }
}
