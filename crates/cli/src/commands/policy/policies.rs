//! Templates, constraints and Gatekeeper's settings, from a cluster, a snapshot or files. What cannot be loaded is a
//! problem, and the rest is used.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Result, bail};
use clearway_core::GroupVersionKind;
use clearway_operator::gatekeeper_objects::{self, is_policy_kind};
use clearway_policy::{
    Constraint, ExcludedNamespaces, Expander, Inventory, ObjectKind, PolicySet, Process, Template, is_config,
    synced_kinds,
};
use clearway_sources::snapshot::Snapshot;
use clearway_sources::store::{ObjectPages, Store};
use serde_json::Value;

use super::worker;
use crate::output;

/// Something that is not in the results.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Problem {
    /// What is missing, such as a kind.
    pub(super) what: String,
    /// Why.
    pub(super) why: String,
    /// The results that it concerns.
    pub(super) concerns: Concerned,
}

/// The results that a problem concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Concerned {
    /// Those about objects of a kind.
    Kind(ObjectKind),
    /// Those about objects of a group.
    Group(String),
    /// Those about all kinds.
    AllKinds,
    /// Those of templates that use the inventory.
    Inventory,
    /// Those of policies that are not there.
    Policies,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

/// Policies, and what else decides which objects they are evaluated on.
#[derive(Debug, Default)]
pub(super) struct LoadedPolicies {
    pub(super) set: PolicySet,
    pub(super) expander: Expander,
    /// Gatekeeper's `Config`, if there is one.
    config: Option<Value>,
    /// The kinds of the inventory.
    pub(super) synced: BTreeSet<ObjectKind>,
    pub(super) problems: Vec<Problem>,
}

impl LoadedPolicies {
    /// Loads the policies among objects, each of which has where it comes from.
    pub(super) fn of(objects: &[(String, Value)]) -> Self {
        let mut loaded = LoadedPolicies::default();
        let mut refuse = |place: &str, object: &Value, error: &dyn fmt::Display| {
            loaded.problems.push(Problem {
                what: format!("{place}: {} {}", text(object, "/kind"), text(object, "/metadata/name")),
                why: error.to_string(),
                concerns: Concerned::Policies,
            });
        };
        for (place, object) in objects.iter().filter(|(_, object)| Template::is_template(object)) {
            if let Err(error) = worker::watched(place, || loaded.set.add_template(object)) {
                refuse(place, object, &error);
            }
        }
        for (place, object) in objects.iter().filter(|(_, object)| Constraint::is_constraint(object)) {
            match loaded.set.add_constraint(object) {
                Ok(None) => {}
                Ok(Some(warning)) => {
                    let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
                    output::print_problem!("warning: {place}: constraint {kind}/{name}: {warning}; it is not enforced");
                }
                Err(error) => refuse(place, object, &error),
            }
        }
        let mut expansions = Vec::new();
        for (place, object) in objects.iter().filter(|(_, object)| Expander::is_template(object)) {
            match Expander::read([object]) {
                Ok(_) => expansions.push(object),
                Err(error) => refuse(place, object, &error),
            }
        }
        // Each of them was read before.
        loaded.expander = Expander::read(expansions).unwrap_or_default();
        loaded.config = objects.iter().map(|(_, object)| object).find(|object| is_config(object)).cloned();
        loaded.synced = synced_kinds(objects.iter().map(|(_, object)| object));
        loaded
    }

    /// The names of templates whose code looks at the inventory.
    pub(super) fn inventory_users(&self) -> Vec<&str> {
        let users = self.set.templates().filter(|template| template.uses_inventory());
        users.map(|template| template.name.as_str()).collect()
    }

    /// The namespaces that are excluded from a process.
    pub(super) fn excluded(&self, process: Process) -> ExcludedNamespaces {
        self.config.as_ref().map(|config| ExcludedNamespaces::read(config, process)).unwrap_or_default()
    }

    /// Adds objects to an inventory and publishes it; those in excluded namespaces are left out.
    pub(super) fn extend<'o>(&self, inventory: &mut Inventory, objects: impl IntoIterator<Item = &'o Value>) {
        let excluded = self.excluded(Process::Sync);
        for object in objects.into_iter().filter(|object| !excluded.excludes(object)) {
            // Objects of clusters and releases have a version and a kind.
            let _ = inventory.insert(object);
        }
    }

    /// The inventory that templates see in a cluster: the synced kinds, and only if a template looks at it.
    pub(super) async fn read_inventory<S: Store>(&mut self, store: &S) -> Inventory {
        let mut inventory = Inventory::default();
        let users = self.inventory_users();
        if users.is_empty() {
            return inventory;
        }
        if self.synced.is_empty() {
            output::print_problem!(
                "warning: {} uses data.inventory, but no Config or SyncSet names a kind; the inventory is empty",
                users.join(", ")
            );
        }
        let mut objects = Vec::new();
        for kind in self.synced.clone() {
            let mut pages = ObjectPages::new(store, group_version_kind(&kind));
            loop {
                match pages.next_page().await {
                    Ok(Some(page)) => objects.extend(page.items),
                    Ok(None) => break,
                    Err(error) => {
                        self.problems.push(Problem {
                            what: format!("{} objects of the inventory", kind_text(&kind)),
                            why: error.to_string(),
                            concerns: Concerned::Inventory,
                        });
                        break;
                    }
                }
            }
        }
        self.extend(&mut inventory, &objects);
        inventory
    }
}

/// The objects of Gatekeeper in a cluster.
pub(super) async fn read_cluster<S: Store>(store: &S) -> Result<Vec<(String, Value)>> {
    let Some(found) = gatekeeper_objects::read(store).await? else {
        bail!("the cluster does not serve ConstraintTemplates; install their CRD, or read policies from files with -f");
    };
    Ok(found.into_iter().map(|object| ("cluster".to_owned(), object)).collect())
}

/// The objects of Gatekeeper in a snapshot.
pub(super) fn read_snapshot(snapshot: &Snapshot) -> Result<Vec<(String, Value)>> {
    let mut found = Vec::new();
    for (kind, part) in &snapshot.objects {
        if let (true, Ok(objects)) = (is_policy_kind(&kind.group, &kind.kind), part.collected()) {
            found.extend(objects.items.iter().map(|object| ("snapshot".to_owned(), object.clone())));
        }
    }
    if !found.iter().any(|(_, object)| Template::is_template(object)) {
        bail!("the snapshot has no ConstraintTemplates; read policies from files with -f");
    }
    Ok(found)
}

/// Whether an object configures policies, and is not one that they are about.
pub(super) fn is_policy(object: &Value) -> bool {
    let kind = ObjectKind::of(object);
    is_policy_kind(&kind.group, &kind.kind)
}

pub(super) fn object_kind(kind: &GroupVersionKind) -> ObjectKind {
    ObjectKind { group: kind.group.clone(), version: kind.version.clone(), kind: kind.kind.clone() }
}

fn group_version_kind(kind: &ObjectKind) -> GroupVersionKind {
    GroupVersionKind { group: kind.group.clone(), version: kind.version.clone(), kind: kind.kind.clone() }
}

/// A kind as people write it: `Deployment.apps`.
pub(super) fn kind_text(kind: &ObjectKind) -> String {
    if kind.group.is_empty() { kind.kind.clone() } else { format!("{}.{}", kind.kind, kind.group) }
}

fn text<'o>(object: &'o Value, path: &str) -> &'o str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}
