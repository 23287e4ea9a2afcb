//! Routes and their parents: which listeners a route fits, for every kind of routes (rule 2.7).

use std::collections::BTreeMap;

use clearway_conditions::Status;

use super::Engine;
use super::attachment::{Attachment, Fit, ParentOutcome, RouteState};
use super::listeners::{ListenerState, ParentState};
use super::store::Id;
use crate::hostname::route_meets_listener;
use crate::model::{Body, Name, NamespacesFrom, Object, ObjectKind, ParentRef, Protocol, Route, RouteKind};
use crate::settings::TlsRouteElsewhere;
use crate::status::{Cause, Condition};
use crate::words::{ConditionType, Reason};

/// Causes of one condition that are kept; a Gateway may have many listeners, and each may refuse a route.
const CAUSES: usize = 4;

impl Engine {
    /// The route in a slot.
    pub(super) fn route(&self, id: Id) -> Option<&Route> {
        match &self.store.object(id)?.body {
            Body::Route(route) => Some(route),
            _ => None,
        }
    }

    /// Evaluates the routes that are marked, settles clashes between them, and counts them at their listeners.
    pub(super) fn evaluate_routes(&mut self) {
        for id in std::mem::take(&mut self.dirty.routes) {
            let state = self.store.object(id).and_then(|object| match &object.body {
                Body::Route(route) => Some(self.evaluate_route(object, route)),
                _ => None,
            });
            self.replace_route(id, state);
        }
        self.settle_clashes();
        for id in std::mem::take(&mut self.dirty.unsettled) {
            self.settle_route(id);
        }
    }

    /// Replaces what is known of a route, and counts where it fits.
    fn replace_route(&mut self, id: Id, state: Option<RouteState>) {
        let old = self.routes.remove(id);
        let kind = match self.store.key(id).map(|key| &key.kind) {
            Some(ObjectKind::Route(kind)) => *kind,
            _ => return,
        };
        let clashes = match kind {
            RouteKind::Http => Some(0),
            RouteKind::Grpc => Some(1),
            _ => None,
        };
        if let Some(side) = clashes {
            let before = old.as_ref().map(RouteState::fitting).unwrap_or_default();
            let after = state.as_ref().map(RouteState::fitting).unwrap_or_default();
            for (attachments, step) in [(&before, -1_i64), (&after, 1)] {
                for attachment in attachments {
                    if let Some(count) = self.fitting_count(attachment, side) {
                        *count = u32::try_from(i64::from(*count) + step).unwrap_or(0);
                        self.dirty.clashes.insert((attachment.parent, attachment.listener));
                    }
                }
            }
        }
        match state {
            Some(mut state) => {
                if let Some(old) = old {
                    // Until they are settled again; what is compared then is the old status with the new one.
                    (state.lost, state.conditions, state.attached) = (old.lost, old.conditions, old.attached);
                    if old.outcomes.len() != state.outcomes.len()
                        || old.outcomes.iter().zip(&state.outcomes).any(|(one, two)| one.controller != two.controller)
                    {
                        self.dirty.changed.insert(id);
                    }
                }
                self.routes.insert(id, state);
                self.dirty.unsettled.insert(id);
            }
            None => {
                if let Some(old) = old {
                    self.count_attached(&old.attached, &[]);
                    self.dirty.changed.insert(id);
                }
            }
        }
    }

    fn fitting_count(&mut self, attachment: &Attachment, side: usize) -> Option<&mut u32> {
        let parent = self.parents.get_mut(&attachment.parent).filter(|parent| parent.epoch == attachment.epoch)?;
        parent.fitting.get_mut(attachment.listener as usize)?.get_mut(side)
    }

    /// Adjusts the numbers of attached routes; parents whose numbers differ now have changed.
    pub(super) fn count_attached(&mut self, before: &[Attachment], after: &[Attachment]) {
        for (attachments, others, step) in [(before, after, -1_i64), (after, before, 1)] {
            for attachment in attachments.iter().filter(|one| !others.contains(one)) {
                let parent = self.parents.get_mut(&attachment.parent);
                let Some(parent) = parent.filter(|parent| parent.epoch == attachment.epoch) else { continue };
                if let Some(count) = parent.attached.get_mut(attachment.listener as usize) {
                    *count = u32::try_from(i64::from(*count) + step).unwrap_or(0);
                    self.dirty.changed.insert(attachment.parent);
                }
            }
        }
    }

    fn evaluate_route(&self, object: &Object, route: &Route) -> RouteState {
        let references = self.route_references(object, route);
        let (mut outcomes, mut unserved) = (Vec::new(), Vec::new());
        for (index, reference) in route.parents.iter().enumerate() {
            // The same parent twice has one entry in the status.
            if route.parents.iter().take(index).any(|earlier| earlier == reference) {
                continue;
            }
            match self.served_parent(reference) {
                Ok((id, parent)) => {
                    let fit = self.fit(object, route, reference, id, parent);
                    outcomes.push(self.outcome(index, route, parent, fit, &references));
                }
                Err(why) => unserved.push((index, why)),
            }
        }
        RouteState {
            resolved: references.condition,
            outcomes,
            lost: BTreeMap::new(),
            conditions: Vec::new(),
            attached: Vec::new(),
            unserved,
        }
    }

    /// The parent, or why the route gets no status for it.
    fn served_parent(&self, reference: &ParentRef) -> Result<(Id, &ParentState), String> {
        let target = &reference.target;
        match &target.kind {
            ObjectKind::Gateway | ObjectKind::ListenerSet => {}
            ObjectKind::Service => return Err("a Service as parent is for a mesh, which is not judged here".to_owned()),
            _ => return Err("parents of this kind are not supported".to_owned()),
        }
        let id = self.store.find(target).filter(|id| self.store.object(*id).is_some()).ok_or("not found")?;
        let parent = self.parents.get(&id).ok_or("no controller serves it")?;
        Ok((id, parent))
    }

    /// Finds the listeners of a parent that a route fits: by name and port, by kind and namespace, by hostname.
    fn fit(&self, object: &Object, route: &Route, reference: &ParentRef, id: Id, parent: &ParentState) -> Fit {
        if let Some(why) = &parent.closed {
            return Fit::Rejected(Reason::NoMatchingParent, vec![Cause::at(&reference.target, why.clone())]);
        }
        let named = |listener: &ListenerState| {
            reference.section.as_ref().is_none_or(|section| *section == listener.listener.name)
                && reference.port.is_none_or(|port| listener.listener.port == Some(port))
        };
        let candidates: Vec<(u32, &ListenerState)> =
            (0_u32..).zip(&parent.listeners).filter(|(_, listener)| named(listener)).collect();
        if candidates.is_empty() {
            let cause = Cause::at(&reference.target, describe_missing(reference));
            return Fit::Rejected(Reason::NoMatchingParent, vec![cause]);
        }
        let own = &reference.target.namespace;
        let namespace = &object.key.namespace;
        let admits = |listener: &ListenerState| self.admits(&listener.listener.allowed.namespaces, own, namespace);
        let of_kind = |listener: &ListenerState| listener.supported_kinds.contains(&route.kind);
        let allowed: Vec<(u32, &ListenerState)> =
            candidates.iter().copied().filter(|(_, listener)| of_kind(listener) && admits(listener)).collect();
        if allowed.is_empty() {
            let elsewhere = route.kind == RouteKind::Tls
                && candidates.iter().all(|(_, listener)| listener.listener.protocol != Protocol::Tls)
                && self.settings.choices.tls_route_elsewhere == TlsRouteElsewhere::UnsupportedValue;
            let reason = if elsewhere { Reason::UnsupportedValue } else { Reason::NotAllowedByListeners };
            let cause = |(_, listener): &(u32, &ListenerState)| {
                let what = if of_kind(listener) {
                    describe_namespaces(&listener.listener.allowed.namespaces, own, namespace)
                } else {
                    describe_kinds(listener, route.kind)
                };
                Cause::at(format!("listener {}", listener.listener.name), what).through(&reference.target)
            };
            return Fit::Rejected(reason, candidates.iter().take(CAUSES).map(cause).collect());
        }
        let meets = |listener: &ListenerState| {
            !route.kind.has_hostnames() || route_meets_listener(&route.hostnames, listener.listener.hostname.as_ref())
        };
        let fitting: Vec<Attachment> = allowed
            .iter()
            .filter(|(_, listener)| meets(listener))
            .map(|(index, _)| Attachment { parent: id, listener: *index, epoch: parent.epoch })
            .collect();
        if fitting.is_empty() {
            let cause = |(_, listener): &(u32, &ListenerState)| {
                let hostname = listener.listener.hostname.as_ref().map_or("", |hostname| hostname.as_str());
                let what = format!("hostname {hostname} meets none of the route's");
                Cause::at(format!("listener {}", listener.listener.name), what).through(&reference.target)
            };
            let causes = allowed.iter().take(CAUSES).map(cause).collect();
            return Fit::Rejected(Reason::NoMatchingListenerHostname, causes);
        }
        Fit::Listeners(fitting)
    }

    /// Settles the conditions of a route after clashes, and counts it at its listeners.
    fn settle_route(&mut self, id: Id) {
        let Some(mut state) = self.routes.remove(id) else { return };
        let (mut conditions, mut attached) = (Vec::new(), Vec::new());
        for outcome in &state.outcomes {
            let (accepted, listeners) = self.accepted_condition(outcome, &state);
            attached.extend(listeners);
            let mut list = vec![accepted, state.resolved.clone()];
            let is_accepted = list.first().is_some_and(|condition| condition.status == Status::True);
            list.extend(outcome.partially_invalid.clone().filter(|_| is_accepted));
            conditions.push(list);
        }
        attached.sort_unstable();
        attached.dedup();
        if conditions != state.conditions {
            self.dirty.changed.insert(id);
            state.conditions = conditions;
        }
        self.count_attached(&state.attached, &attached);
        state.attached = attached;
        self.routes.insert(id, state);
        self.mark_policies(id);
    }

    fn accepted_condition(&self, outcome: &ParentOutcome, state: &RouteState) -> (Condition, Vec<Attachment>) {
        let kind = ConditionType::Accepted;
        match &outcome.fit {
            Fit::Rejected(reason, causes) => (Condition::bad(kind, *reason, causes.clone()), Vec::new()),
            Fit::Listeners(listeners) => {
                let lost = |one: &Attachment| state.lost.get(&(one.parent, one.listener));
                let left: Vec<Attachment> = listeners.iter().copied().filter(|one| lost(one).is_none()).collect();
                match listeners.iter().find_map(lost) {
                    Some(winner) if left.is_empty() => {
                        let what = "it is older, of the other kind, and has the same hostnames at the listener";
                        (Condition::bad(kind, self.clash_reason(), vec![Cause::at(winner, what)]), left)
                    }
                    _ => (Condition::good(kind), left),
                }
            }
        }
    }
}

fn describe_missing(reference: &ParentRef) -> String {
    match (&reference.section, reference.port) {
        (Some(section), Some(port)) => format!("it has no listener {section} with port {port}"),
        (Some(section), None) => format!("it has no listener {section}"),
        (None, Some(port)) => format!("it has no listener with port {port}"),
        (None, None) => "it has no listeners".to_owned(),
    }
}

fn describe_kinds(listener: &ListenerState, kind: RouteKind) -> String {
    if listener.supported_kinds.is_empty() {
        return "it takes no routes".to_owned();
    }
    let kinds: Vec<&str> = listener.supported_kinds.iter().map(|kind| kind.as_str()).collect();
    format!("it allows {}, not {}", kinds.join(" and "), kind.as_str())
}

fn describe_namespaces(from: &NamespacesFrom, own: &Name, namespace: &Name) -> String {
    match from {
        NamespacesFrom::Same => format!("it allows routes from {own} only, not from {namespace}"),
        NamespacesFrom::Selector(_) => format!("its selector does not match the labels of namespace {namespace}"),
        NamespacesFrom::Other(word) => format!("`from: {word}` is not supported, so it allows no routes"),
        NamespacesFrom::None | NamespacesFrom::All => "it allows routes from no namespace".to_owned(),
    }
}
