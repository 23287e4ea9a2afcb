//! From a computed status to the JSON of an object's `status`, beside what others have written there.
//!
//! [`Publisher::merge`] is a pure function of the published status, the computed one and the time. It keeps the time of a
//! condition whose status is the same, the entries of other controllers, conditions of types that are not computed here,
//! and whatever is about a later generation than the one that was judged. So a status that says the same gives the same
//! bytes, and nothing has to be written.

use clearway_core::Timestamp;
use serde_json::{Map, Value, json};

use crate::model::{GATEWAY_GROUP, Object, ParentRef};
use crate::status::{AncestorStatus, Condition, ListenerStatus, ObjectStatus, ParentStatus};
use crate::words::ConditionType;

/// Bytes of a message that are published; the API admits 32,768.
const MESSAGE_BYTES: usize = 32_000;
/// Entries that the status of a route can have, and that of a policy; the API admits no more, those of others included.
const MAX_PARENTS: usize = 32;
const MAX_ANCESTORS: usize = 16;

/// Writes the status of objects.
#[derive(Clone, Copy)]
pub struct Publisher<'a> {
    /// The present, for conditions that change.
    pub now: Timestamp,
    /// Whether entries of a controller are ours to write and to remove.
    pub is_ours: &'a dyn Fn(&str) -> bool,
}

impl std::fmt::Debug for Publisher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Publisher").field("now", &self.now).finish_non_exhaustive()
    }
}

impl Publisher<'_> {
    /// The status that an object should have, given the one that is published; null where there is none.
    ///
    /// Without a computed status, entries of ours are removed from those of routes and policies, and nothing else.
    pub fn merge(&self, object: &Object, computed: Option<&ObjectStatus>, published: &Value) -> Value {
        let mut status = match published {
            Value::Object(fields) => fields.clone(),
            _ => Map::new(),
        };
        let generation = object.metadata.generation;
        let conditions = |old: Option<&Value>, new: &[Condition]| self.conditions(old, new, generation);
        match computed {
            None => {
                for (list, key) in [("parents", "parentRef"), ("ancestors", "ancestorRef")] {
                    if let Some(Value::Array(entries)) = status.get_mut(list) {
                        entries.retain(|entry| entry.get(key).is_none() || !self.owns(entry));
                    }
                }
            }
            Some(ObjectStatus::GatewayClass { conditions: list }) => {
                let merged = conditions(status.get("conditions"), list);
                status.insert("conditions".to_owned(), merged);
            }
            Some(ObjectStatus::Gateway { addresses, conditions: list, listeners, attached_listener_sets }) => {
                let merged = conditions(status.get("conditions"), list);
                status.insert("conditions".to_owned(), merged);
                let addresses: Vec<Value> =
                    addresses.iter().map(|one| json!({"type": &*one.kind, "value": &*one.value})).collect();
                if addresses.is_empty() {
                    status.remove("addresses");
                } else {
                    status.insert("addresses".to_owned(), Value::Array(addresses));
                }
                let merged = self.listeners(status.get("listeners"), listeners, generation);
                status.insert("listeners".to_owned(), merged);
                if *attached_listener_sets > 0 || status.contains_key("attachedListenerSets") {
                    status.insert("attachedListenerSets".to_owned(), json!(attached_listener_sets));
                }
            }
            Some(ObjectStatus::ListenerSet { conditions: list, listeners }) => {
                let merged = conditions(status.get("conditions"), list);
                status.insert("conditions".to_owned(), merged);
                let merged = self.listeners(status.get("listeners"), listeners, generation);
                status.insert("listeners".to_owned(), merged);
            }
            Some(ObjectStatus::Route { parents }) => {
                let entries = parents
                    .iter()
                    .map(|one: &ParentStatus| (parent_ref(&one.parent), &*one.controller, one.conditions.as_slice()));
                let merged = self.entries(status.get("parents"), "parentRef", entries.collect(), generation);
                status.insert("parents".to_owned(), merged);
            }
            Some(ObjectStatus::Policy { ancestors }) => {
                let entries = ancestors.iter().map(|one: &AncestorStatus| {
                    let gateway = json!({
                        "group": GATEWAY_GROUP,
                        "kind": "Gateway",
                        "namespace": &*one.gateway.namespace,
                        "name": &*one.gateway.name,
                    });
                    (gateway, &*one.controller, one.conditions.as_slice())
                });
                let merged = self.entries(status.get("ancestors"), "ancestorRef", entries.collect(), generation);
                status.insert("ancestors".to_owned(), merged);
            }
        }
        Value::Object(status)
    }

    fn owns(&self, entry: &Value) -> bool {
        entry.get("controllerName").and_then(Value::as_str).is_some_and(|name| (self.is_ours)(name))
    }

    /// The entries of a route or a policy: those of others as they are, ours by what they are about.
    fn entries(
        &self,
        published: Option<&Value>,
        key: &str,
        computed: Vec<(Value, &str, &[Condition])>,
        generation: Option<i64>,
    ) -> Value {
        let published: &[Value] = published.and_then(Value::as_array).map_or(&[], Vec::as_slice);
        let mut left: Vec<Option<(Value, &str, &[Condition])>> = computed.into_iter().map(Some).collect();
        let mut merged = Vec::new();
        let render = |reference: Value, controller: &str, conditions: Value| {
            let mut entry = Map::new();
            entry.insert(key.to_owned(), reference);
            entry.insert("controllerName".to_owned(), json!(controller));
            entry.insert("conditions".to_owned(), conditions);
            Value::Object(entry)
        };
        for entry in published {
            if !self.owns(entry) {
                merged.push(entry.clone());
                continue;
            }
            let same = |one: &&mut Option<(Value, &str, &[Condition])>| {
                one.as_ref().is_some_and(|(reference, controller, _)| {
                    entry.get("controllerName").and_then(Value::as_str) == Some(*controller)
                        && entry.get(key).is_some_and(|old| same_reference(old, reference))
                })
            };
            if let Some((_, controller, conditions)) = left.iter_mut().find(same).and_then(Option::take) {
                let conditions = self.conditions(entry.get("conditions"), conditions, generation);
                let reference = entry.get(key).cloned().unwrap_or(Value::Null);
                merged.push(render(reference, controller, conditions));
            }
        }
        // What does not fit is not written: removing an entry of another controller is not ours to do.
        let most = if key == "ancestorRef" { MAX_ANCESTORS } else { MAX_PARENTS };
        let room = most.saturating_sub(merged.len());
        for (reference, controller, conditions) in left.into_iter().flatten().take(room) {
            let conditions = self.conditions(None, conditions, generation);
            merged.push(render(reference, controller, conditions));
        }
        Value::Array(merged)
    }

    fn listeners(&self, published: Option<&Value>, computed: &[ListenerStatus], generation: Option<i64>) -> Value {
        let published: &[Value] = published.and_then(Value::as_array).map_or(&[], Vec::as_slice);
        let named = |name: &str| published.iter().find(|one| one.get("name").and_then(Value::as_str) == Some(name));
        let render = |listener: &ListenerStatus| {
            let old = named(&listener.name);
            let kinds =
                listener.supported_kinds.iter().map(|kind| json!({"group": GATEWAY_GROUP, "kind": kind.as_str()}));
            json!({
                "name": &*listener.name,
                "supportedKinds": kinds.collect::<Vec<Value>>(),
                "attachedRoutes": listener.attached_routes,
                "conditions": self.conditions(old.and_then(|old| old.get("conditions")), &listener.conditions, generation),
            })
        };
        Value::Array(computed.iter().map(render).collect())
    }

    /// Conditions in the order in which they are computed, then those of types that are not computed here.
    fn conditions(&self, published: Option<&Value>, computed: &[Condition], generation: Option<i64>) -> Value {
        let published: &[Value] = published.and_then(Value::as_array).map_or(&[], Vec::as_slice);
        let named = |name: &str| published.iter().find(|one| one.get("type").and_then(Value::as_str) == Some(name));
        let mut merged: Vec<Value> = computed
            .iter()
            .map(|condition| {
                let old = named(condition.kind.as_str());
                let seen = old.and_then(|old| old.get("observedGeneration")).and_then(Value::as_i64);
                match old {
                    // Somebody has judged a later generation than the one that was read here.
                    Some(old) if seen > generation && generation.is_some() => old.clone(),
                    old => self.condition(old, condition, generation),
                }
            })
            .collect();
        let known = |one: &&Value| {
            let name = one.get("type").and_then(Value::as_str).unwrap_or_default();
            ConditionType::ALL.iter().any(|kind| kind.as_str() == name)
        };
        merged.extend(published.iter().filter(|one| !known(one)).cloned());
        Value::Array(merged)
    }

    fn condition(&self, old: Option<&Value>, condition: &Condition, generation: Option<i64>) -> Value {
        let text = |key: &str| old.and_then(|old| old.get(key)).and_then(Value::as_str);
        let same = text("status") == Some(condition.status.as_str());
        // The CRDs put conditions into new objects with a time of 1970, which is no change of ours.
        let kept = text("lastTransitionTime").filter(|time| same && *time != "1970-01-01T00:00:00Z");
        let time = kept.map_or_else(|| self.now.to_string(), str::to_owned);
        let mut message: &str = &condition.message;
        while message.len() > MESSAGE_BYTES {
            let mut end = MESSAGE_BYTES;
            while !message.is_char_boundary(end) {
                end -= 1;
            }
            message = message.get(..end).unwrap_or("");
        }
        let mut written = json!({
            "type": condition.kind.as_str(),
            "status": condition.status.as_str(),
            "reason": condition.reason.as_str(),
            "message": message,
            "lastTransitionTime": time,
        });
        if let (Some(fields), Some(generation)) = (written.as_object_mut(), generation) {
            fields.insert("observedGeneration".to_owned(), json!(generation));
        }
        written
    }
}

/// A parent as its route names it, with the defaults that the API server has put there.
fn parent_ref(parent: &ParentRef) -> Value {
    let mut reference = json!({
        "group": parent.target.kind.group(),
        "kind": parent.target.kind.as_str(),
        "name": &*parent.target.name,
    });
    if let Some(fields) = reference.as_object_mut() {
        if parent.namespace_given {
            fields.insert("namespace".to_owned(), json!(&*parent.target.namespace));
        }
        if let Some(section) = &parent.section {
            fields.insert("sectionName".to_owned(), json!(&**section));
        }
        if let Some(port) = parent.port {
            fields.insert("port".to_owned(), json!(port));
        }
    }
    reference
}

/// Whether two references are about the same; group and kind may be left to their defaults.
fn same_reference(one: &Value, two: &Value) -> bool {
    let text =
        |value: &Value, key: &str, default: &str| value.get(key).and_then(Value::as_str).unwrap_or(default).to_owned();
    [("group", GATEWAY_GROUP), ("kind", "Gateway"), ("namespace", ""), ("name", ""), ("sectionName", "")]
        .iter()
        .all(|(key, default)| text(one, key, default) == text(two, key, default))
        && one.get("port").and_then(Value::as_i64) == two.get("port").and_then(Value::as_i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Reason;

    const OURS: &str = "example.com/ours";

    fn publisher(now: &str) -> (Timestamp, impl Fn(&str) -> bool) {
        (now.parse().unwrap(), |name: &str| name == OURS)
    }

    fn route(generation: i64) -> Object {
        Object::from_json(&json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
            "metadata": {"namespace": "a", "name": "b", "generation": generation},
            "spec": {"parentRefs": [{"name": "gw"}]},
        }))
        .unwrap()
    }

    fn computed(route: &Object, condition: Condition) -> ObjectStatus {
        let crate::model::Body::Route(body) = &route.body else { panic!("a route") };
        let parent = body.parents[0].clone();
        ObjectStatus::Route {
            parents: vec![ParentStatus { parent, controller: OURS.into(), conditions: vec![condition] }],
        }
    }

    fn merged(generation: i64, condition: Condition, published: &Value, now: &str) -> Value {
        let (now, is_ours) = publisher(now);
        let route = route(generation);
        let status = computed(&route, condition);
        Publisher { now, is_ours: &is_ours }.merge(&route, Some(&status), published)
    }

    fn good() -> Condition {
        Condition::good(ConditionType::Accepted)
    }

    #[test]
    fn a_status_that_says_the_same_gives_the_same_bytes() {
        let first = merged(1, good(), &Value::Null, "2026-01-01T00:00:00Z");
        assert_eq!(merged(1, good(), &first, "2026-02-02T00:00:00Z"), first);
        let later = merged(2, good(), &first, "2026-02-02T00:00:00Z");
        let condition = later.pointer("/parents/0/conditions/0").unwrap();
        assert_eq!(
            (&condition["lastTransitionTime"], &condition["observedGeneration"]),
            (&json!("2026-01-01T00:00:00Z"), &json!(2))
        );
        let bad = Condition::bad(ConditionType::Accepted, Reason::NoMatchingParent, Vec::new());
        let changed = merged(2, bad, &later, "2026-03-03T00:00:00Z");
        assert_eq!(changed.pointer("/parents/0/conditions/0/lastTransitionTime"), Some(&json!("2026-03-03T00:00:00Z")));
    }

    #[test]
    fn what_others_wrote_is_kept() {
        let foreign = json!({"parentRef": {"name": "gw"}, "controllerName": "example.com/theirs", "conditions": []});
        let own = json!({"type": "example.com/Cached", "status": "True"});
        let stale = json!({"type": "PartiallyInvalid", "status": "True"});
        let published = json!({"parents": [
            foreign.clone(),
            {"parentRef": {"name": "gw"}, "controllerName": OURS, "conditions": [own.clone(), stale]},
            {"parentRef": {"name": "gone"}, "controllerName": OURS, "conditions": []},
        ]});
        let status = merged(1, good(), &published, "2026-01-01T00:00:00Z");
        let parents = status["parents"].as_array().unwrap();
        assert_eq!((parents.len(), &parents[0]), (2, &foreign));
        let types: Vec<&Value> = parents[1]["conditions"].as_array().unwrap().iter().map(|one| &one["type"]).collect();
        assert_eq!(types, [&json!("Accepted"), &json!("example.com/Cached")]);
        let (now, is_ours) = publisher("2026-01-01T00:00:00Z");
        let without = Publisher { now, is_ours: &is_ours }.merge(&route(1), None, &status);
        assert_eq!(without["parents"], json!([foreign]));
    }

    #[test]
    fn entries_that_do_not_fit_are_not_written() {
        let foreign = |number: usize| json!({"parentRef": {"name": format!("gw-{number}")}, "controllerName": "a/b"});
        let full: Vec<Value> = (0..MAX_PARENTS).map(foreign).collect();
        let published = json!({"parents": full});
        assert_eq!(merged(1, good(), &published, "2026-01-01T00:00:00Z"), published);
    }

    #[test]
    fn a_later_generation_is_never_taken_back() {
        let later = merged(7, good(), &Value::Null, "2026-01-01T00:00:00Z");
        let bad = Condition::bad(ConditionType::Accepted, Reason::NoMatchingParent, Vec::new());
        assert_eq!(merged(6, bad, &later, "2026-02-02T00:00:00Z"), later);
    }

    #[test]
    fn the_time_that_a_crd_puts_there_is_replaced() {
        let crd_default = json!({"parents": [{"parentRef": {"name": "gw"}, "controllerName": OURS, "conditions": [
            {"type": "Accepted", "status": "True", "lastTransitionTime": "1970-01-01T00:00:00Z"}]}]});
        let status = merged(1, good(), &crd_default, "2026-01-01T00:00:00Z");
        assert_eq!(status.pointer("/parents/0/conditions/0/lastTransitionTime"), Some(&json!("2026-01-01T00:00:00Z")));
    }
}
