//! The objects that rules look at: only of the kinds that the graph's rules name, and judged live as a snapshot would
//! keep them.

use std::collections::BTreeMap;

use clearway_advice::Plan;
use clearway_advice::evidence::{self, Failure, FailureClass, ObjectKind, Wanted};
use clearway_core::Timestamp;
use clearway_sources::snapshot::{self, GroupKind, ObjectLimits, ObjectName, Objects, Part, Selection};
use serde_json::Value;

use super::cluster::Connected;

/// Objects by their kind, or why they are not known.
pub(crate) type Parts = BTreeMap<GroupKind, Part<Objects>>;

/// What a cluster has of the kinds that rules look at.
pub(crate) fn take(plan: &Plan, connected: &Connected) -> Parts {
    plan.kinds().into_iter().map(|kind| taken(plan, kind, connected)).collect()
}

fn taken(plan: &Plan, kind: &ObjectKind, connected: &Connected) -> (GroupKind, Part<Objects>) {
    let Connected { runtime, cluster, catalog } = connected;
    let key = GroupKind { group: kind.group.clone(), kind: kind.kind.clone() };
    let selection = if is_config_map(&key) { named(plan, kind) } else { Selection::default() };
    if is_config_map(&key) && selection.only.is_empty() {
        let why = "of ConfigMaps only those are looked at that a rule names".to_owned();
        return (key, Part::NotCollected { why });
    }
    match catalog.of(&kind.group, &kind.kind) {
        Some(resource) => runtime.block_on(snapshot::objects(cluster, resource, &selection, &ObjectLimits::default())),
        // A kind that is not served has no objects.
        None => (key, Part::Collected(Objects { selection, items: Vec::new() })),
    }
}

/// The contents of `ConfigMap`s are whatever their owners put there, so nobody takes all of them.
fn is_config_map(kind: &GroupKind) -> bool {
    kind.group.is_empty() && kind.kind == "ConfigMap"
}

/// The objects of a kind that rules name.
fn named(plan: &Plan, kind: &ObjectKind) -> Selection {
    let own = plan.wanted().into_iter().filter(|wanted| wanted.kind == *kind);
    let name = |wanted: &Wanted| Some(ObjectName { namespace: wanted.namespace.clone(), name: wanted.name.clone()? });
    Selection { only: own.filter_map(name).collect(), ..Selection::default() }
}

/// What was taken, as evidence. What was not is not known, and never "not there".
pub(crate) fn evidence(parts: &Parts, seen: Timestamp, source: &str, live: bool) -> evidence::Objects {
    let mut objects = evidence::Objects::new(seen, source, live);
    for (key, part) in parts {
        let kind = ObjectKind { group: key.group.clone(), kind: key.kind.clone() };
        let found = match part {
            Part::Collected(found) => found,
            Part::NotCollected { why } => {
                let message = format!("Objects of the kind {kind} are not known: {why}.");
                objects.fail(kind, Failure::new(FailureClass::Absent, message));
                continue;
            }
        };
        let Selection { namespace, name, labels, only } = &found.selection;
        if !only.is_empty() {
            for one in only {
                let items = found.items.iter().filter(|item| one.names(item)).cloned().collect();
                let ObjectName { namespace, name } = one.clone();
                objects.found(Wanted { kind: kind.clone(), namespace, name: Some(name) }, items);
            }
        } else if found.selection == Selection::default() {
            // All of them without their data, which is not known to be absent.
            if !is_config_map(key) {
                objects.looked_for(kind);
                found.items.iter().cloned().for_each(|item: Value| {
                    objects.insert(item);
                });
            }
        } else if labels.is_none() && !is_config_map(key) {
            let wanted = Wanted { kind, namespace: namespace.clone(), name: name.clone() };
            objects.found(wanted, found.items.clone());
        }
    }
    objects
}
