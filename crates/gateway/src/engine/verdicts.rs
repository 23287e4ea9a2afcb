//! What there is to say of objects that have no status in the API: ReferenceGrants, and routes without a parent here.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Engine;
use super::attachment::Attachment;
use super::references::Referrer;
use crate::model::{Body, Name, Object, ObjectKey, ParentRef};

/// What a ReferenceGrant does. It has no status in the API, so this is only shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GrantVerdict {
    /// Whether it says who may refer to what.
    pub accepted: bool,
    /// References that need it or another grant like it.
    pub allows: Vec<String>,
    /// What is wrong with it, or how many references it allows.
    pub message: String,
}

impl Engine {
    /// What a ReferenceGrant does, if it is one.
    pub fn grant_verdict(&self, key: &ObjectKey) -> Option<GrantVerdict> {
        let Body::ReferenceGrant(grant) = &self.store.get(key)?.body else { return None };
        let mut allows = BTreeSet::new();
        for id in self.store.depending_on_grants(&key.namespace) {
            let Some(object) = self.store.object(id) else { continue };
            let from = Referrer { kind: &object.key.kind, namespace: &object.key.namespace };
            for target in foreign_targets(object, key) {
                if grant.allows(from.kind, from.namespace, target) {
                    allows.insert(format!("{} → {target}", object.key));
                }
            }
        }
        let accepted = !grant.from.is_empty() && !grant.to.is_empty();
        let message = match (accepted, allows.len()) {
            (false, _) => "it allows nothing: both `from` and `to` need an entry".to_owned(),
            (true, 0) => "no reference needs it".to_owned(),
            (true, 1) => "1 reference needs it".to_owned(),
            (true, count) => format!("{count} references need it"),
        };
        Some(GrantVerdict { accepted, allows: allows.into_iter().collect(), message })
    }

    /// The parents that a route gets no status for, each with the reason.
    pub fn unserved_parents(&self, key: &ObjectKey) -> Vec<(&ParentRef, &str)> {
        let Some(id) = self.store.find(key) else { return Vec::new() };
        let (Some(state), Some(route)) = (self.routes.get(id), self.route(id)) else { return Vec::new() };
        state.unserved.iter().filter_map(|(index, why)| Some((route.parents.get(*index)?, why.as_str()))).collect()
    }

    /// The listeners that a route is attached to, each with its Gateway or ListenerSet.
    pub fn attachments(&self, key: &ObjectKey) -> Vec<(ObjectKey, Name)> {
        let Some(state) = self.store.find(key).and_then(|id| self.routes.get(id)) else { return Vec::new() };
        let listener = |one: &Attachment| {
            let listener = self.parents.get(&one.parent)?.listeners.get(one.listener as usize)?;
            Some((self.store.key(one.parent)?.clone(), listener.listener.name.clone()))
        };
        state.attached.iter().filter_map(listener).collect()
    }
}

/// What an object refers to in the namespace of a grant.
fn foreign_targets<'a>(object: &'a Object, grant: &'a ObjectKey) -> impl Iterator<Item = &'a ObjectKey> {
    let mut targets: Vec<&ObjectKey> = Vec::new();
    match &object.body {
        Body::Route(route) => targets.extend(route.references().map(|reference| &reference.target)),
        Body::Gateway(gateway) => {
            let listeners = gateway.listeners.iter().filter_map(|listener| listener.tls.as_ref());
            targets.extend(listeners.flat_map(|tls| &tls.certificates).map(|reference| &reference.target));
            targets.extend(gateway.client_certificate.iter().map(|reference| &reference.target));
            let authorities = gateway.frontend.iter().flat_map(|(_, validation)| &validation.certificates);
            targets.extend(authorities.map(|reference| &reference.target));
        }
        Body::ListenerSet(set) => {
            let listeners = set.listeners.iter().filter_map(|listener| listener.tls.as_ref());
            targets.extend(listeners.flat_map(|tls| &tls.certificates).map(|reference| &reference.target));
        }
        _ => {}
    }
    targets.into_iter().filter(move |target| target.namespace == grant.namespace)
}
