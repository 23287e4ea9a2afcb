//! The engine: objects in, the status of each out, and only what a change can reach is computed again.
//!
//! Objects are kept in a [`Store`] with the references between them. [`Engine::apply`] notes a change and marks what
//! depends on it; [`Engine::evaluate`] computes what is marked, in an order in which every step needs only earlier ones:
//! classes, then Gateways with their ListenerSets, then routes, then policies. Starting from nothing is the same with
//! everything marked.

mod attachment;
mod clashes;
mod classes;
mod conflicts;
mod gateways;
mod listener_sets;
mod listeners;
mod policies;
mod references;
mod route_conditions;
mod routes;
mod slot_values;
mod store;
mod traffic;
mod verdicts;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{Body, Name, Object, ObjectKey, ObjectKind};
use crate::settings::{BundleVersion, Features, Knowledge, Settings};
use crate::status::{AncestorStatus, Condition, ListenerStatus, ObjectStatus, ParentStatus};
use attachment::RouteState;
use listeners::ParentState;
use slot_values::SlotValues;
use store::{Id, Store};

pub use traffic::{RouteTraffic, RuleTraffic, TrafficAnswer, TrafficShare};
pub use verdicts::GrantVerdict;

/// A change of one object.
#[derive(Debug, Clone)]
pub enum Change {
    /// The object is new, or it is different now.
    Put(Box<Object>),
    /// The object is gone.
    Delete(ObjectKey),
}

/// Computes the status of objects, and again when some of them change.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    store: Store,
    /// The version that is judged by; see [`Settings::bundle_version`].
    version: BundleVersion,
    /// CRDs of Gateway API, with their bundle versions.
    definitions: BTreeMap<Id, Option<Name>>,
    /// ListenerSets by the Gateway they name.
    listener_sets: BTreeMap<Id, BTreeSet<Id>>,
    /// Policies by the Service they are for.
    policies_of: BTreeMap<Id, BTreeSet<Id>>,
    dirty: Dirty,
    classes: BTreeMap<Id, Vec<Condition>>,
    /// Gateways and ListenerSets, as routes see them.
    parents: BTreeMap<Id, ParentState>,
    routes: SlotValues<RouteState>,
    /// Listeners at which a route lost its hostnames to another one.
    clashing: BTreeSet<(Id, u32)>,
    policies: BTreeMap<Id, Vec<AncestorStatus>>,
    /// Counts the tables of listeners, so that attachments to an older one are recognized.
    epoch: u64,
}

/// What has to be computed again.
#[derive(Debug, Default)]
struct Dirty {
    version: bool,
    classes: BTreeSet<Id>,
    /// Gateways, with their ListenerSets.
    gateways: BTreeSet<Id>,
    /// ListenerSets that changed; their Gateway may not exist.
    listener_sets: BTreeSet<Id>,
    routes: BTreeSet<Id>,
    /// Listeners whose routes may claim the same hostnames.
    clashes: BTreeSet<(Id, u32)>,
    /// Routes whose acceptance has to be settled, after clashes.
    unsettled: BTreeSet<Id>,
    policies: BTreeSet<Id>,
    changed: BTreeSet<Id>,
    /// Objects that were deleted while they had a status.
    deleted: BTreeSet<ObjectKey>,
}

impl Engine {
    /// An engine without objects.
    pub fn new(settings: Settings) -> Self {
        Engine {
            version: settings.bundle_version.unwrap_or(BundleVersion::NEWEST),
            settings,
            store: Store::default(),
            definitions: BTreeMap::new(),
            listener_sets: BTreeMap::new(),
            policies_of: BTreeMap::new(),
            dirty: Dirty::default(),
            classes: BTreeMap::new(),
            parents: BTreeMap::new(),
            routes: SlotValues::default(),
            clashing: BTreeSet::new(),
            policies: BTreeMap::new(),
            epoch: 0,
        }
    }

    /// What is assumed of the implementation.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The bundle version that is judged by.
    pub fn bundle_version(&self) -> BundleVersion {
        self.version
    }

    /// Notes a change; [`Engine::evaluate`] computes what comes of it.
    pub fn apply(&mut self, change: Change) {
        match change {
            Change::Put(object) => self.put(*object),
            Change::Delete(key) => self.delete(&key),
        }
    }

    /// Notes a change, and computes what comes of it: the objects whose status is different now.
    pub fn update(&mut self, change: Change) -> Vec<ObjectKey> {
        self.apply(change);
        self.evaluate()
    }

    fn put(&mut self, object: Object) {
        let id = self.store.intern(&object.key);
        if self.store.object(id) == Some(&object) {
            return;
        }
        let had_status = self.store.object(id).is_some();
        self.unregister(id);
        let old_generation = self.store.object(id).and_then(|old| old.metadata.generation);
        if had_status && old_generation != object.metadata.generation {
            // `observedGeneration` follows, whatever the conditions say.
            self.dirty.changed.insert(id);
        }
        self.store.put(id, object);
        self.register(id);
        self.mark(id);
    }

    fn delete(&mut self, key: &ObjectKey) {
        let Some(id) = self.store.find(key).filter(|id| self.store.object(*id).is_some()) else { return };
        self.mark(id);
        self.unregister(id);
        self.store.remove(id);
        self.dirty.deleted.insert(key.clone());
    }

    /// Adds an object to the indexes by which others find it.
    fn register(&mut self, id: Id) {
        let Some(object) = self.store.object(id) else { return };
        match &object.body {
            Body::ListenerSet(set) => {
                let parent = set.parent.clone();
                let parent = self.store.intern(&parent);
                self.listener_sets.entry(parent).or_default().insert(id);
            }
            Body::BackendTlsPolicy(policy) => {
                let targets: Vec<ObjectKey> = policy.targets.iter().map(|(target, _)| target.clone()).collect();
                for target in targets {
                    let target = self.store.intern(&target);
                    self.policies_of.entry(target).or_default().insert(id);
                }
            }
            Body::Definition(version) => {
                let version = version.clone();
                self.definitions.insert(id, version);
                self.dirty.version = true;
            }
            _ => {}
        }
    }

    /// Takes an object out of the indexes again, and marks what its old form reached.
    fn unregister(&mut self, id: Id) {
        let Some(object) = self.store.object(id) else { return };
        match &object.body {
            Body::ListenerSet(set) => {
                if let Some(parent) = self.store.find(&set.parent) {
                    remove_from(&mut self.listener_sets, parent, id);
                    self.dirty.gateways.insert(parent);
                }
            }
            Body::BackendTlsPolicy(policy) => {
                let targets: Vec<Id> =
                    policy.targets.iter().filter_map(|(target, _)| self.store.find(target)).collect();
                for target in targets {
                    remove_from(&mut self.policies_of, target, id);
                    self.mark_dependents(target);
                }
            }
            Body::Route(_) => self.mark_policies(id),
            Body::Definition(_) => {
                self.definitions.remove(&id);
                self.dirty.version = true;
            }
            _ => {}
        }
    }

    /// Marks an object and what depends on it.
    fn mark(&mut self, id: Id) {
        let Some(kind) = self.store.key(id).map(|key| key.kind.clone()) else { return };
        match kind {
            ObjectKind::GatewayClass => {
                self.dirty.classes.insert(id);
                self.mark_dependents(id);
            }
            ObjectKind::Gateway => {
                self.dirty.gateways.insert(id);
                if self.settings.capacity.gateways.is_some() {
                    let all: Vec<Id> = self.store.of_kind(&ObjectKind::Gateway).collect();
                    self.dirty.gateways.extend(all);
                }
            }
            ObjectKind::ListenerSet | ObjectKind::Route(_) => self.mark_one(id),
            ObjectKind::BackendTlsPolicy => {
                self.mark_one(id);
                let object = self.store.object(id);
                let targets: Vec<Id> = match object.map(|object| &object.body) {
                    Some(Body::BackendTlsPolicy(policy)) => {
                        policy.targets.iter().filter_map(|(target, _)| self.store.find(target)).collect()
                    }
                    _ => Vec::new(),
                };
                for target in targets {
                    self.mark_dependents(target);
                }
            }
            ObjectKind::ReferenceGrant => {
                let namespace = self.store.key(id).map(|key| key.namespace.clone()).unwrap_or_default();
                let dependents: Vec<Id> = self.store.depending_on_grants(&namespace).collect();
                for dependent in dependents {
                    self.mark_one(dependent);
                }
            }
            ObjectKind::EndpointSlice | ObjectKind::Definition => {}
            _ => self.mark_dependents(id),
        }
    }

    fn mark_dependents(&mut self, id: Id) {
        let dependents: Vec<Id> = self.store.dependents(id).collect();
        for dependent in dependents {
            self.mark_one(dependent);
        }
    }

    fn mark_one(&mut self, id: Id) {
        let Some(key) = self.store.key(id) else { return };
        match &key.kind {
            ObjectKind::Gateway => {
                self.dirty.gateways.insert(id);
            }
            ObjectKind::ListenerSet => {
                self.dirty.listener_sets.insert(id);
                if let Some(Body::ListenerSet(set)) = self.store.object(id).map(|object| &object.body)
                    && let Some(parent) = self.store.find(&set.parent)
                {
                    self.dirty.gateways.insert(parent);
                }
            }
            ObjectKind::Route(_) => {
                self.dirty.routes.insert(id);
            }
            ObjectKind::BackendTlsPolicy => {
                self.dirty.policies.insert(id);
            }
            _ => {}
        }
    }

    /// Computes what is marked; the objects whose status is different now, deleted ones included. Each is there once, in the
    /// order in which the objects came.
    pub fn evaluate(&mut self) -> Vec<ObjectKey> {
        if std::mem::take(&mut self.dirty.version) {
            self.choose_version();
        }
        self.evaluate_classes();
        self.evaluate_gateways();
        self.evaluate_routes();
        self.evaluate_policies();
        self.store.sweep();
        let changed = std::mem::take(&mut self.dirty.changed);
        let mut deleted = std::mem::take(&mut self.dirty.deleted);
        let mut keys: Vec<ObjectKey> = Vec::with_capacity(changed.len() + deleted.len());
        for key in changed.into_iter().filter_map(|id| self.store.key(id)).filter(|key| has_status(&key.kind)) {
            deleted.remove(key);
            keys.push(key.clone());
        }
        keys.extend(deleted.into_iter().filter(|key| has_status(&key.kind)));
        keys
    }

    /// Finds the bundle version to judge by; everything may depend on it.
    fn choose_version(&mut self) {
        let newest = self.definitions.values().flatten().filter_map(|text| text.parse().ok()).max();
        let version = self.settings.bundle_version.or(newest).unwrap_or(BundleVersion::NEWEST);
        let classes: Vec<Id> = self.store.of_kind(&ObjectKind::GatewayClass).collect();
        self.dirty.classes.extend(classes);
        if version != self.version {
            self.version = version;
            let all: Vec<Id> = self.store.all().collect();
            for id in all {
                self.mark_one(id);
            }
        }
    }

    /// The status that an object should have; none if it is of no controller here, or of a kind without status.
    pub fn status(&self, key: &ObjectKey) -> Option<ObjectStatus> {
        let id = self.store.find(key)?;
        match &key.kind {
            ObjectKind::GatewayClass => Some(ObjectStatus::GatewayClass { conditions: self.classes.get(&id)?.clone() }),
            ObjectKind::Gateway => {
                let state = self.parents.get(&id)?;
                Some(ObjectStatus::Gateway {
                    addresses: state.addresses.clone(),
                    conditions: state.conditions.clone(),
                    listeners: listener_statuses(state),
                    attached_listener_sets: state.attached_listener_sets,
                })
            }
            ObjectKind::ListenerSet => {
                let state = self.parents.get(&id)?;
                Some(ObjectStatus::ListenerSet {
                    conditions: state.conditions.clone(),
                    listeners: listener_statuses(state),
                })
            }
            ObjectKind::Route(_) => {
                let parents: Vec<ParentStatus> = self.routes.get(id)?.statuses(self.route(id)?);
                (!parents.is_empty()).then_some(ObjectStatus::Route { parents })
            }
            ObjectKind::BackendTlsPolicy => {
                let ancestors = self.policies.get(&id)?.clone();
                (!ancestors.is_empty()).then_some(ObjectStatus::Policy { ancestors })
            }
            _ => None,
        }
    }

    /// The object itself.
    pub fn object(&self, key: &ObjectKey) -> Option<&Object> {
        self.store.object(self.store.find(key)?)
    }

    /// The objects that an object refers to, whether they exist or not.
    pub fn references(&self, key: &ObjectKey) -> Vec<ObjectKey> {
        let references = self.store.find(key).into_iter().flat_map(|id| self.store.references(id));
        references.filter_map(|id| self.store.key(id).cloned()).collect()
    }

    /// Whether any object refers to this one.
    pub fn is_referenced(&self, key: &ObjectKey) -> bool {
        self.store.find(key).is_some_and(|id| self.store.dependents(id).next().is_some())
    }

    /// Every object, in order.
    pub fn keys(&self) -> BTreeSet<ObjectKey> {
        self.store
            .all()
            .filter(|id| self.store.object(*id).is_some())
            .filter_map(|id| self.store.key(id).cloned())
            .collect()
    }

    /// The class of a Gateway: its controller and features; none if it is not served here.
    fn class_of(&self, class: &Name) -> Option<(Name, Arc<Features>)> {
        let key = ObjectKey { kind: ObjectKind::GatewayClass, namespace: "".into(), name: class.clone() };
        let body = self.store.find(&key).and_then(|id| self.store.object(id)).map(|object| &object.body);
        let (controller, features) = match body {
            Some(Body::GatewayClass(class)) => (class.controller.clone(), class.features.as_ref()),
            _ => (self.settings.assumed_controller.clone()?, None),
        };
        if self.settings.controller.as_ref().is_some_and(|wanted| *wanted != controller) {
            return None;
        }
        let of_class = features.filter(|_| self.settings.features_of_class);
        let features = of_class.map(|list| list.iter().cloned().collect()).or_else(|| self.settings.features.clone());
        Some((controller, Arc::new(Features(features))))
    }

    /// Whether it is known how many endpoints a Service has.
    fn knows_endpoints(&self) -> bool {
        match self.settings.endpoints {
            Knowledge::Complete => true,
            Knowledge::Unknown => false,
            Knowledge::IfAny => self.store.has_endpoints(),
        }
    }
}

/// Whether objects of a kind have a status that is computed here.
fn has_status(kind: &ObjectKind) -> bool {
    matches!(
        kind,
        ObjectKind::GatewayClass
            | ObjectKind::Gateway
            | ObjectKind::ListenerSet
            | ObjectKind::Route(_)
            | ObjectKind::BackendTlsPolicy
    )
}

fn listener_statuses(state: &ParentState) -> Vec<ListenerStatus> {
    let status = |(listener, attached): (&listeners::ListenerState, &u32)| ListenerStatus {
        name: listener.listener.name.clone(),
        supported_kinds: listener.supported_kinds.clone(),
        attached_routes: *attached,
        conditions: listener.conditions.clone(),
    };
    state.listeners.iter().zip(&state.attached).map(status).collect()
}

fn remove_from(index: &mut BTreeMap<Id, BTreeSet<Id>>, key: Id, member: Id) {
    if let Some(members) = index.get_mut(&key) {
        members.remove(&member);
        if members.is_empty() {
            index.remove(&key);
        }
    }
}
