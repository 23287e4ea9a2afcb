//! What is loaded, as messages that any child can be sent: a new one gets all of them, and one that was busy gets what
//! changed since. Each change has a number; a child has everything up to the number it was sent last.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use clearway_policy::ObjectKind;
use serde_json::Value;

use super::protocol::{ChangeMessage, Request, ReviewItem, encode};
use super::{Change, LoadOutcome, MAX_ENDS};

/// What a message is about, in the order in which children get them: a constraint follows its template.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Template(String),
    Failure(String),
    Constraint { kind: String, name: String },
    Expansion(String),
    Inventory { namespace: String, kind: ObjectKind, name: String },
}

/// The latest message about something.
#[derive(Debug)]
struct Entry {
    number: u64,
    message: Arc<[u8]>,
    /// What became of it; nothing for a removal.
    loaded: Option<LoadOutcome>,
}

/// What is loaded.
#[derive(Debug, Default)]
pub(super) struct LoadedState {
    number: u64,
    entries: BTreeMap<Key, Entry>,
    by_number: BTreeMap<u64, Key>,
    /// The numbers of removals, which are kept until every child has them.
    removals: BTreeSet<u64>,
    /// The number each child has got.
    children: BTreeMap<u64, u64>,
    /// How often the evaluation of a template failed.
    ends: BTreeMap<String, u32>,
    set_aside: BTreeMap<String, String>,
}

/// The message that repeats a change, and what it is about.
pub(super) fn replay(change: &Change) -> Result<(Key, Vec<u8>), usize> {
    let (key, message) = describe(change);
    let message: Request<_, ReviewItem> = Request::Replay(message);
    Ok((key, encode(&message)?))
}

/// What a change is about, and how it is sent. Fields that say nothing about policies are left out, so that an object
/// whose status alone changed is the same.
pub(super) fn describe(change: &Change) -> (Key, ChangeMessage) {
    let name = |object: &Value| object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    match change {
        Change::PutTemplate(object) => {
            (Key::Template(name(object)), ChangeMessage::PutTemplate(without_status(object)))
        }
        Change::RemoveTemplate { name } => {
            (Key::Template(name.clone()), ChangeMessage::RemoveTemplate { name: name.clone() })
        }
        Change::PutConstraint(object) => (
            Key::Constraint { kind: ObjectKind::of(object).kind, name: name(object) },
            ChangeMessage::PutConstraint { constraint: without_status(object), template: None },
        ),
        Change::RemoveConstraint { kind, name } => (
            Key::Constraint { kind: kind.clone(), name: name.clone() },
            ChangeMessage::RemoveConstraint { kind: kind.clone(), name: name.clone() },
        ),
        Change::PutExpansion(object) => {
            (Key::Expansion(name(object)), ChangeMessage::PutExpansion(without_status(object)))
        }
        Change::RemoveExpansion { name } => {
            (Key::Expansion(name.clone()), ChangeMessage::RemoveExpansion { name: name.clone() })
        }
        Change::PutInventory(object) => {
            let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
            let key =
                Key::Inventory { namespace: namespace.to_owned(), kind: ObjectKind::of(object), name: name(object) };
            (key, ChangeMessage::PutInventory(Value::clone(object)))
        }
        Change::RemoveInventory { kind, namespace, name } => {
            let (group, version, kind) = (kind.group.clone(), kind.version.clone(), kind.kind.clone());
            let message = ChangeMessage::RemoveInventory {
                group: group.clone(),
                version: version.clone(),
                kind: kind.clone(),
                namespace: namespace.clone(),
                name: name.clone(),
            };
            let kind = ObjectKind { group, version, kind };
            (Key::Inventory { namespace: namespace.clone(), kind, name: name.clone() }, message)
        }
    }
}

/// An object without its status and without what the API server counts.
fn without_status(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["managedFields", "resourceVersion", "generation"] {
            metadata.remove(field);
        }
    }
    object
}

impl LoadedState {
    /// The result of a change that was made before and is in effect.
    pub(super) fn known(&self, key: &Key, message: &[u8]) -> Option<LoadOutcome> {
        self.entries.get(key).filter(|entry| *entry.message == *message)?.loaded.clone()
    }

    /// Records a change, and returns its number.
    pub(super) fn put(&mut self, key: &Key, message: Vec<u8>, loaded: LoadOutcome) -> u64 {
        if let Key::Template(name) = key {
            self.forgive(name);
            for (constraint, _) in &loaded.refused_constraints {
                let refused = self.entries.keys().find(|key| {
                    matches!(key, Key::Constraint { kind, name: own } if kind.to_lowercase() == *name && own == constraint)
                });
                if let Some(refused) = refused.cloned() {
                    self.remove_one(&refused);
                }
            }
        }
        self.insert(key.clone(), message.into(), Some(loaded))
    }

    /// Records that something is not loaded any more; with a template go its constraints.
    pub(super) fn remove(&mut self, key: &Key) {
        if let Key::Template(name) = key {
            self.forgive(name);
            let own = self
                .entries
                .keys()
                .filter(|key| matches!(key, Key::Constraint { kind, .. } if kind.to_lowercase() == *name));
            let own: Vec<Key> = own.cloned().collect();
            for constraint in own {
                self.remove_one(&constraint);
            }
        }
        self.remove_one(key);
    }

    fn remove_one(&mut self, key: &Key) {
        if self.entries.get(key).is_none_or(|entry| entry.loaded.is_none()) {
            return;
        }
        let message = match key {
            Key::Template(name) | Key::Failure(name) => ChangeMessage::RemoveTemplate { name: name.clone() },
            Key::Constraint { kind, name } => {
                ChangeMessage::RemoveConstraint { kind: kind.clone(), name: name.clone() }
            }
            Key::Expansion(name) => ChangeMessage::RemoveExpansion { name: name.clone() },
            Key::Inventory { namespace, kind, name } => ChangeMessage::<Value>::RemoveInventory {
                group: kind.group.clone(),
                version: kind.version.clone(),
                kind: kind.kind.clone(),
                namespace: namespace.clone(),
                name: name.clone(),
            },
        };
        let request: Request<_, ReviewItem> = Request::Replay(message);
        // Names are short.
        if let Ok(message) = encode(&request) {
            self.insert(key.clone(), message.into(), None);
        }
        self.drop_removals();
    }

    fn insert(&mut self, key: Key, message: Arc<[u8]>, loaded: Option<LoadOutcome>) -> u64 {
        self.number = self.number.saturating_add(1);
        if loaded.is_none() {
            self.removals.insert(self.number);
        }
        if let Some(before) = self.entries.insert(key.clone(), Entry { number: self.number, message, loaded }) {
            self.by_number.remove(&before.number);
            self.removals.remove(&before.number);
        }
        self.by_number.insert(self.number, key);
        self.number
    }

    /// The messages that a child lacks, and the number it has then.
    pub(super) fn since(&self, number: u64) -> (Vec<Arc<[u8]>>, u64) {
        let mut keys: Vec<&Key> = self.by_number.range(number.saturating_add(1)..).map(|(_, key)| key).collect();
        keys.sort();
        let entries = keys.into_iter().filter_map(|key| self.entries.get(key));
        // A new child has nothing that could be removed.
        let entries = entries.filter(|entry| number > 0 || entry.loaded.is_some());
        (entries.map(|entry| Arc::clone(&entry.message)).collect(), self.number)
    }

    /// The number of the last change.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// A child has everything up to a number.
    pub(super) fn acknowledge(&mut self, child: u64, number: u64) {
        self.children.insert(child, number);
        self.drop_removals();
    }

    /// A child is gone.
    pub(super) fn forget(&mut self, child: u64) {
        self.children.remove(&child);
        self.drop_removals();
    }

    fn drop_removals(&mut self) {
        let seen = self.children.values().copied().min().unwrap_or(self.number);
        while let Some(number) = self.removals.first().copied().filter(|number| *number <= seen) {
            self.removals.remove(&number);
            if let Some(key) = self.by_number.remove(&number) {
                self.entries.remove(&key);
            }
        }
    }

    /// A template is replaced or removed: what it did before does not count any more.
    fn forgive(&mut self, template: &str) {
        self.ends.remove(template);
        self.set_aside.remove(template);
        let key = Key::Failure(template.to_owned());
        if let Some(entry) = self.entries.remove(&key) {
            self.by_number.remove(&entry.number);
        }
    }

    /// Whether the evaluation of some template failed before, so that it pays to be told what is evaluated.
    pub(super) fn has_suspects(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Counts a failure of a template; says whether it is set aside now.
    pub(super) fn record_end(&mut self, template: &str, reason: &str) -> bool {
        let loaded = self.entries.get(&Key::Template(template.to_owned())).is_some_and(|entry| entry.loaded.is_some());
        if !loaded || self.set_aside.contains_key(template) {
            return false;
        }
        let ends = self.ends.entry(template.to_owned()).or_default();
        *ends = ends.saturating_add(1);
        if *ends < MAX_ENDS {
            return false;
        }
        let message = format!(
            "template {template} is set aside, because its evaluation failed {MAX_ENDS} times; the last time {reason}; \
             correct the template"
        );
        let request: Request<_, ReviewItem> = Request::Replay(ChangeMessage::<Value>::FailTemplate {
            name: template.to_owned(),
            message: message.clone(),
        });
        if let Ok(bytes) = encode(&request) {
            self.insert(Key::Failure(template.to_owned()), bytes.into(), Some(LoadOutcome::default()));
        }
        self.ends.remove(template);
        self.set_aside.insert(template.to_owned(), message);
        true
    }

    /// The templates that are set aside, with the reason.
    pub(super) fn set_aside(&self) -> &BTreeMap<String, String> {
        &self.set_aside
    }
}

#[cfg(test)]
mod tests {
    use clearway_core::GroupVersionKind;
    use serde_json::json;

    use super::*;

    fn template(name: &str, text: &str) -> Change {
        Change::PutTemplate(Arc::new(json!({"metadata": {"name": name}, "spec": text})))
    }

    fn constraint(kind: &str, name: &str) -> Change {
        let api_version = "constraints.gatekeeper.sh/v1beta1";
        Change::PutConstraint(Arc::new(json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}})))
    }

    fn put(state: &mut LoadedState, change: &Change) -> u64 {
        let (key, message) = replay(change).unwrap();
        state.put(&key, message, LoadOutcome::default())
    }

    /// The names of changes that a child with a number would get.
    fn sent(state: &LoadedState, number: u64) -> Vec<String> {
        let (messages, _) = state.since(number);
        let text = |bytes: &[u8]| {
            let value: Value = serde_json::from_slice(&bytes[4..]).unwrap();
            let (operation, body) = value["replay"].as_object().unwrap().iter().next().unwrap();
            let name = [&body["name"], &body["metadata"]["name"], &body["constraint"]["metadata"]["name"]];
            let name = name.into_iter().find_map(Value::as_str).unwrap_or_default();
            format!("{operation} {name}")
        };
        messages.iter().map(|message| text(message)).collect()
    }

    #[test]
    fn a_child_gets_what_it_lacks_and_templates_come_before_their_constraints() {
        let mut state = LoadedState::default();
        put(&mut state, &template("k8sx", "one"));
        let number = put(&mut state, &constraint("K8sX", "x"));
        put(&mut state, &template("k8sx", "two"));
        assert_eq!(sent(&state, 0), ["put_template k8sx", "put_constraint x"]);
        assert_eq!(sent(&state, number), ["put_template k8sx"]);
        assert!(sent(&state, state.number()).is_empty());
    }

    #[test]
    fn an_object_whose_status_alone_changed_is_known() {
        let mut state = LoadedState::default();
        put(&mut state, &template("k8sx", "one"));
        let object = json!({
            "metadata": {"name": "k8sx", "resourceVersion": "7", "managedFields": [], "generation": 2},
            "spec": "one", "status": {"created": true},
        });
        let (key, message) = replay(&Change::PutTemplate(Arc::new(object))).unwrap();
        assert_eq!(state.known(&key, &message), Some(LoadOutcome::default()));
        let (key, message) = replay(&template("k8sx", "two")).unwrap();
        assert_eq!(state.known(&key, &message), None);
    }

    #[test]
    fn with_a_template_go_its_constraints_and_removals_are_forgotten_once_everyone_has_them() {
        let mut state = LoadedState::default();
        state.acknowledge(1, 0);
        put(&mut state, &template("k8sx", "one"));
        put(&mut state, &constraint("K8sX", "x"));
        let number = put(&mut state, &constraint("K8sXY", "other"));
        state.acknowledge(1, number);
        state.remove(&Key::Template("k8sx".to_owned()));
        assert_eq!(sent(&state, number), ["remove_template k8sx", "remove_constraint x"]);
        assert_eq!(sent(&state, 0), ["put_constraint other"]);
        assert_eq!(state.entries.len(), 3);
        state.acknowledge(1, state.number());
        assert_eq!(state.entries.len(), 1);
        assert_eq!(state.by_number.len(), 1);
    }

    #[test]
    fn objects_that_come_and_go_leave_nothing_behind() {
        let mut state = LoadedState::default();
        for number in 0..100 {
            let name = format!("pod-{number}");
            let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"}});
            put(&mut state, &Change::PutInventory(Arc::new(object)));
            let kind = GroupVersionKind::new("v1", "Pod");
            let (key, _) = replay(&Change::RemoveInventory { kind, namespace: "shop".to_owned(), name }).unwrap();
            state.remove(&key);
        }
        assert_eq!((state.entries.len(), state.by_number.len()), (0, 0));
    }

    #[test]
    fn a_template_is_set_aside_after_some_ends_until_it_changes() {
        let mut state = LoadedState::default();
        put(&mut state, &template("k8sx", "one"));
        put(&mut state, &constraint("K8sX", "x"));
        let aside: Vec<bool> = (0..4).map(|_| state.record_end("k8sx", "it took too long")).collect();
        assert_eq!(aside, [false, false, true, false]);
        assert_eq!(sent(&state, 0), ["put_template k8sx", "fail_template k8sx", "put_constraint x"]);
        assert!(state.set_aside()["k8sx"].contains("the last time it took too long; correct the template"));
        put(&mut state, &template("k8sx", "two"));
        assert!(state.set_aside().is_empty());
        assert_eq!(sent(&state, 0), ["put_template k8sx", "put_constraint x"]);
        assert!(!state.record_end("never-loaded", "it crashed"));
    }
}
