//! Objects and the references between them.
//!
//! Every object, and every object that is only referred to, has a slot. A slot knows who refers to it, so what depends on
//! a change is found without a search. Grants are found by their namespace, endpoints by their Service.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::model::{Body, Name, Object, ObjectKey, ObjectKind, ReferenceGrant};

/// The slot of an object. Its number says nothing about the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id(u32);

impl Id {
    /// Slots are numbered from 0, without gaps.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug, Default)]
struct Slot {
    key: Option<ObjectKey>,
    object: Option<Object>,
    references: Vec<Id>,
    /// Namespaces whose grants decide about references of this object.
    grant_namespaces: Vec<Name>,
    dependents: BTreeSet<Id>,
}

/// All objects.
#[derive(Debug, Default)]
pub(super) struct Store {
    ids: HashMap<ObjectKey, Id>,
    slots: Vec<Slot>,
    free: Vec<Id>,
    /// Slots that may be without object and dependents.
    loose: Vec<Id>,
    grants: HashMap<Name, Grants>,
    /// Ready endpoints of each slice, by Service.
    endpoints: BTreeMap<ObjectKey, BTreeMap<Id, usize>>,
    slices: usize,
}

#[derive(Debug, Default)]
struct Grants {
    members: BTreeSet<Id>,
    dependents: BTreeSet<Id>,
}

impl Store {
    /// The slot of an object, which need not exist.
    pub(super) fn intern(&mut self, key: &ObjectKey) -> Id {
        if let Some(id) = self.ids.get(key) {
            return *id;
        }
        let slot = Slot { key: Some(key.clone()), ..Slot::default() };
        let id = if let Some(id) = self.free.pop() {
            if let Some(place) = self.slots.get_mut(id.index()) {
                *place = slot;
            }
            id
        } else {
            self.slots.push(slot);
            Id(u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX))
        };
        self.ids.insert(key.clone(), id);
        // Whoever interns it either puts an object there or refers to it.
        self.loose.push(id);
        id
    }

    pub(super) fn find(&self, key: &ObjectKey) -> Option<Id> {
        self.ids.get(key).copied()
    }

    fn slot(&self, id: Id) -> Option<&Slot> {
        self.slots.get(id.index())
    }

    pub(super) fn key(&self, id: Id) -> Option<&ObjectKey> {
        self.slot(id)?.key.as_ref()
    }

    pub(super) fn object(&self, id: Id) -> Option<&Object> {
        self.slot(id)?.object.as_ref()
    }

    /// The object with that key, if it exists.
    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Object> {
        self.object(self.find(key)?)
    }

    pub(super) fn dependents(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        self.slot(id).into_iter().flat_map(|slot| slot.dependents.iter().copied())
    }

    pub(super) fn references(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        self.slot(id).into_iter().flat_map(|slot| slot.references.iter().copied())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Id> + '_ {
        self.ids.values().copied()
    }

    pub(super) fn of_kind<'a>(&'a self, kind: &'a ObjectKind) -> impl Iterator<Item = Id> + 'a {
        let exists = |id: &Id| self.object(*id).is_some();
        self.ids.iter().filter(|(key, _)| key.kind == *kind).map(|(_, id)| *id).filter(exists)
    }

    /// Puts an object into its slot and follows its references.
    pub(super) fn put(&mut self, id: Id, object: Object) {
        self.unlink(id);
        let (references, grant_namespaces) = references_of(&object);
        let references: BTreeSet<Id> = references.iter().map(|key| self.intern(key)).collect();
        for target in &references {
            if let Some(slot) = self.slots.get_mut(target.index()) {
                slot.dependents.insert(id);
            }
        }
        for namespace in &grant_namespaces {
            self.grants.entry(namespace.clone()).or_default().dependents.insert(id);
        }
        match &object.body {
            Body::ReferenceGrant(_) => {
                self.grants.entry(object.key.namespace.clone()).or_default().members.insert(id);
            }
            Body::EndpointSlice(slice) => {
                self.slices += 1;
                if let Some(service) = &slice.service {
                    self.endpoints.entry(service.clone()).or_default().insert(id, slice.ready);
                }
            }
            _ => {}
        }
        if let Some(slot) = self.slots.get_mut(id.index()) {
            slot.references = references.into_iter().collect();
            slot.grant_namespaces = grant_namespaces.into_iter().collect();
            slot.object = Some(object);
        }
    }

    /// Takes an object out of its slot.
    pub(super) fn remove(&mut self, id: Id) {
        self.unlink(id);
        if let Some(slot) = self.slots.get_mut(id.index()) {
            slot.object = None;
        }
        self.loose.push(id);
    }

    fn unlink(&mut self, id: Id) {
        let Some(slot) = self.slots.get_mut(id.index()) else { return };
        let references = std::mem::take(&mut slot.references);
        let namespaces = std::mem::take(&mut slot.grant_namespaces);
        let object = slot.object.take();
        for target in references {
            if let Some(slot) = self.slots.get_mut(target.index()) {
                slot.dependents.remove(&id);
                if slot.dependents.is_empty() && slot.object.is_none() {
                    self.loose.push(target);
                }
            }
        }
        for namespace in namespaces {
            self.change_grants(&namespace, |grants| {
                grants.dependents.remove(&id);
            });
        }
        match object.as_ref().map(|object| &object.body) {
            Some(Body::ReferenceGrant(_)) => {
                let namespace = object.as_ref().map(|object| object.key.namespace.clone()).unwrap_or_default();
                self.change_grants(&namespace, |grants| {
                    grants.members.remove(&id);
                });
            }
            Some(Body::EndpointSlice(slice)) => {
                self.slices = self.slices.saturating_sub(1);
                if let Some(service) = &slice.service
                    && let Some(slices) = self.endpoints.get_mut(service)
                {
                    slices.remove(&id);
                    if slices.is_empty() {
                        self.endpoints.remove(service);
                    }
                }
            }
            _ => {}
        }
    }

    fn change_grants(&mut self, namespace: &Name, change: impl FnOnce(&mut Grants)) {
        if let Some(grants) = self.grants.get_mut(namespace) {
            change(grants);
            if grants.members.is_empty() && grants.dependents.is_empty() {
                self.grants.remove(namespace);
            }
        }
    }

    /// Frees slots that hold nothing and that nothing refers to.
    pub(super) fn sweep(&mut self) {
        for id in std::mem::take(&mut self.loose) {
            let Some(slot) = self.slots.get_mut(id.index()) else { continue };
            if slot.object.is_none() && slot.dependents.is_empty() {
                let Some(key) = slot.key.take() else { continue };
                self.ids.remove(&key);
                self.free.push(id);
            }
        }
    }

    /// The grants of a namespace.
    pub(super) fn grants(&self, namespace: &Name) -> impl Iterator<Item = (Id, &ReferenceGrant)> {
        let members = self.grants.get(namespace).into_iter().flat_map(|grants| grants.members.iter());
        members.filter_map(|id| match &self.object(*id)?.body {
            Body::ReferenceGrant(grant) => Some((*id, grant)),
            _ => None,
        })
    }

    /// Objects with references that grants of a namespace decide about.
    pub(super) fn depending_on_grants(&self, namespace: &Name) -> impl Iterator<Item = Id> + '_ {
        self.grants.get(namespace).into_iter().flat_map(|grants| grants.dependents.iter().copied())
    }

    /// How many endpoints of a Service take traffic; none if it has no slices.
    pub(super) fn ready_endpoints(&self, service: &ObjectKey) -> Option<usize> {
        self.endpoints.get(service).map(|slices| slices.values().sum())
    }

    pub(super) fn has_endpoints(&self) -> bool {
        self.slices > 0
    }
}

/// The objects that an object refers to, and the namespaces whose grants its references need.
fn references_of(object: &Object) -> (Vec<ObjectKey>, BTreeSet<Name>) {
    let namespace = &object.key.namespace;
    let mut keys = Vec::new();
    let mut own_namespace = || keys.push(ObjectKey::new(ObjectKind::Namespace, &"".into(), namespace));
    match &object.body {
        Body::Route(_) | Body::ListenerSet(_) => own_namespace(),
        _ => {}
    }
    match &object.body {
        Body::GatewayClass(class) => keys.extend(class.parameters.clone()),
        Body::Gateway(gateway) => {
            keys.push(ObjectKey::new(ObjectKind::GatewayClass, &"".into(), &gateway.class));
            keys.extend(gateway.parameters.clone());
            keys.extend(gateway.client_certificate.iter().map(|reference| reference.target.clone()));
            let authorities = gateway.frontend.iter().flat_map(|(_, validation)| &validation.certificates);
            keys.extend(authorities.map(|reference| reference.target.clone()));
            keys.extend(gateway.listeners.iter().flat_map(|listener| certificates(listener)));
        }
        Body::ListenerSet(set) => {
            keys.push(set.parent.clone());
            keys.extend(set.listeners.iter().flat_map(|listener| certificates(listener)));
        }
        Body::Route(route) => {
            keys.extend(route.parents.iter().map(|parent| parent.target.clone()));
            keys.extend(route.references().map(|reference| reference.target.clone()));
        }
        Body::BackendTlsPolicy(policy) => {
            keys.extend(policy.targets.iter().map(|(target, _)| target.clone()));
            keys.extend(policy.certificates.iter().cloned());
        }
        _ => {}
    }
    let needs_grant = |key: &&ObjectKey| {
        !key.namespace.is_empty()
            && key.namespace != *namespace
            && !matches!(key.kind, ObjectKind::Gateway | ObjectKind::ListenerSet)
    };
    let namespaces = keys.iter().filter(needs_grant).map(|key| key.namespace.clone()).collect();
    (keys, namespaces)
}

fn certificates(listener: &crate::model::Listener) -> impl Iterator<Item = ObjectKey> + '_ {
    let certificates = listener.tls.iter().flat_map(|tls| &tls.certificates);
    certificates.map(|reference| reference.target.clone())
}
