//! ListenerSets: whether they may attach, and their own conditions (rule 2.6).

use clearway_conditions::Status;

use super::Engine;
use super::listeners::{Answer, ListenerState, ParentState, ready};
use super::store::Id;
use crate::model::{Body, Gateway, ListenerSet, Name, NamespacesFrom, Object, ObjectKey, ObjectKind};
use crate::selector::{Labels, NAMESPACE_NAME_LABEL};
use crate::settings::Features;
use crate::status::{Cause, Condition};
use crate::words::{ConditionType, Reason};

/// A ListenerSet of a Gateway.
pub(super) struct SetInput<'a> {
    pub(super) id: Id,
    pub(super) object: &'a Object,
    pub(super) set: &'a ListenerSet,
    pub(super) admission: Admission,
}

/// Whether a ListenerSet may attach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Admission {
    Allowed,
    Refused(String),
}

impl Engine {
    /// The ListenerSets that name a Gateway, oldest first.
    pub(super) fn listener_sets_of<'a>(
        &'a self,
        gateway_id: Id,
        gateway_object: &Object,
        gateway: &Gateway,
        features: &Features,
    ) -> Vec<SetInput<'a>> {
        let members = self.listener_sets.get(&gateway_id).into_iter().flatten();
        let mut sets: Vec<SetInput<'a>> = members
            .filter_map(|id| {
                let object = self.store.object(*id)?;
                let Body::ListenerSet(set) = &object.body else { return None };
                let namespace = &object.key.namespace;
                let admission = if !features.has("ListenerSet") {
                    Admission::Refused("ListenerSets are not supported".to_owned())
                } else if self.admits(&gateway.allowed_listeners, &gateway_object.key.namespace, namespace) {
                    Admission::Allowed
                } else {
                    Admission::Refused(format!("{} does not allow ListenerSets from {namespace}", gateway_object.key))
                };
                Some(SetInput { id: *id, object, set, admission })
            })
            .collect();
        sets.sort_by(|one, two| one.object.age().cmp(&two.object.age()));
        sets
    }

    /// Whether a choice of namespaces by a resource in `own` includes `other`.
    pub(super) fn admits(&self, from: &NamespacesFrom, own: &Name, other: &Name) -> bool {
        match from {
            NamespacesFrom::All => true,
            NamespacesFrom::Same => own == other,
            NamespacesFrom::Selector(selector) => selector.matches(&self.labels(other)),
            NamespacesFrom::None | NamespacesFrom::Other(_) => false,
        }
    }

    /// The labels of a namespace, with the one that every namespace has.
    fn labels(&self, namespace: &Name) -> Labels {
        let key = ObjectKey { kind: ObjectKind::Namespace, namespace: "".into(), name: namespace.clone() };
        let mut labels = match self.store.get(&key).map(|object| &object.body) {
            Some(Body::Namespace(labels)) => labels.clone(),
            _ => Labels::new(),
        };
        labels.insert(NAMESPACE_NAME_LABEL.into(), namespace.clone());
        labels
    }

    pub(super) fn listener_set_state(
        &self,
        input: &SetInput<'_>,
        gateway: &ParentState,
        listeners: Vec<ListenerState>,
    ) -> ParentState {
        let (accepted, programmed) = answers(input, gateway, &listeners);
        let mut conditions =
            vec![accepted.condition(ConditionType::Accepted), programmed.condition(ConditionType::Programmed)];
        let valid = listeners.iter().filter(|listener| is_valid(listener)).count();
        if let (Some(condition), true) =
            (conditions.first_mut(), matches!(accepted, Answer::Yes) && valid < listeners.len())
        {
            let causes = invalid_causes(&listeners);
            *condition =
                Condition::bad(ConditionType::Accepted, Reason::ListenersNotValid, causes).with_status(Status::True);
        }
        if self.settings.ready {
            conditions.push(ready(&programmed, Reason::ListenersNotReady));
        }
        let closed = match &input.admission {
            Admission::Refused(_) => Some("it is not allowed to attach to its Gateway".to_owned()),
            Admission::Allowed => gateway.closed.clone().map(|why| format!("of its Gateway: {why}")),
        };
        ParentState {
            gateway: gateway.gateway,
            controller: gateway.controller.clone(),
            features: gateway.features.clone(),
            closed,
            attached: vec![0; listeners.len()],
            fitting: vec![[0, 0]; listeners.len()],
            listeners,
            epoch: 0,
            conditions,
            addresses: Vec::new(),
            attached_listener_sets: 0,
        }
    }
}

/// Whether a ListenerSet is accepted, and whether it is programmed.
fn answers(input: &SetInput<'_>, gateway: &ParentState, listeners: &[ListenerState]) -> (Answer, Answer) {
    let both = |reason, causes: Vec<Cause>| (Answer::No(reason, causes.clone()), Answer::No(reason, causes));
    if let Admission::Refused(why) = &input.admission {
        return both(Reason::NotAllowed, vec![Cause::own(why.clone())]);
    }
    let status = |kind: ConditionType| {
        let condition = gateway.conditions.iter().find(|condition| condition.kind == kind);
        condition.map_or(Status::Unknown, |condition| condition.status)
    };
    match status(ConditionType::Accepted) {
        Status::True => {}
        Status::False => {
            let cause = Cause::at(&input.set.parent, "it is not accepted");
            let programmed = Answer::No(Reason::ParentNotProgrammed, vec![cause.clone()]);
            return (Answer::No(Reason::ParentNotAccepted, vec![cause]), programmed);
        }
        Status::Unknown => {
            let unknown = Answer::Unknown(Cause::at(&input.set.parent, "it is not accepted yet"));
            return (unknown.clone(), unknown);
        }
    }
    if !listeners.iter().any(is_valid) {
        return both(Reason::ListenersNotValid, invalid_causes(listeners));
    }
    let programmed = match status(ConditionType::Programmed) {
        Status::True => Answer::Yes,
        Status::False => {
            Answer::No(Reason::ParentNotProgrammed, vec![Cause::at(&input.set.parent, "it is not programmed")])
        }
        Status::Unknown => Answer::Unknown(Cause::at(&input.set.parent, "it is not programmed yet")),
    };
    (Answer::Yes, programmed)
}

/// A listener of a ListenerSet counts if it is accepted and its references resolve.
fn is_valid(listener: &ListenerState) -> bool {
    let resolved = listener.condition(ConditionType::ResolvedRefs);
    listener.is_true(ConditionType::Accepted) && resolved.is_none_or(|condition| condition.status != Status::False)
}

fn invalid_causes(listeners: &[ListenerState]) -> Vec<Cause> {
    if listeners.is_empty() {
        return vec![Cause::own("it has no listeners")];
    }
    let invalid = listeners.iter().filter(|listener| !is_valid(listener));
    invalid
        .flat_map(|listener| {
            let accepted = listener.causes(ConditionType::Accepted);
            if accepted.is_empty() { listener.causes(ConditionType::ResolvedRefs) } else { accepted }
        })
        .collect()
}
