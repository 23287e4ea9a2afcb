//! `clearway policy preview`: which objects of a release would violate the constraints of a cluster.

use std::collections::BTreeMap;

use anyhow::Result;
use clearway_core::{GroupVersionKind, ObjectReference};
use clearway_policy::{EnforcementPoint, Inventory, ObjectKind, Process};
use clearway_release::{ReleaseLimits, Selection};
use clearway_sources::clock;
use clearway_sources::store::{ClusterStore, Store as _, StoreError};
use serde_json::Value;

use super::audit::connect;
use super::audit::evaluation::Evaluation;
use super::audit::report::{self, Occasion};
use super::policies::{self, LoadedPolicies, is_policy};
use super::{files, worker};
use crate::arguments::PolicyPreview;
use crate::commands::release::NamedRelease;
use crate::exit::Exit;
use crate::runtime;

/// Runs the command.
pub(super) fn run(options: &PolicyPreview) -> Result<Exit> {
    let registry = &options.registry;
    let named = NamedRelease::at(&options.release, options.arch.clone(), registry.ca.file.clone(), &registry.access)?;
    let payload = named.payload(&Selection::default(), &ReleaseLimits::default())?;
    let applied = payload.manifests.iter().filter(|manifest| !manifest.deletes());
    let objects: Vec<&Value> = applied.map(|manifest| &manifest.object).collect();
    let mut preview = match options.files.as_slice() {
        [] => Preview::of_cluster(options, &objects)?,
        files => Preview::of_files(&files::read_objects(files)?),
    };
    let Preview { policies, inventory, namespaces } = &mut preview;
    if !policies.inventory_users().is_empty() {
        let synced = |object: &&&Value| policies.synced.is_empty() || policies.synced.contains(&ObjectKind::of(object));
        policies.extend(inventory, objects.iter().filter(synced).copied());
    }
    for object in objects.iter().filter(|object| ObjectKind::of(object).is_namespace()) {
        namespaces.insert(text(object, "/metadata/name").to_owned(), Ok(Some((*object).clone())));
    }
    let budget = worker::budget(&options.limits);
    let limit = options.output.constraint_violations_limit;
    let mut evaluation = Evaluation::new(policies, EnforcementPoint::Webhook, inventory, &budget, clock::now(), limit);
    let excluded = policies.excluded(Process::Webhook);
    for object in objects.iter().filter(|object| !excluded.excludes(object)) {
        match namespaces.get(text(object, "/metadata/namespace")) {
            Some(Err(error)) => evaluation.fail_object(object, format!("its namespace cannot be read: {error}")),
            Some(Ok(namespace)) => evaluation.add(object, namespace.as_ref()),
            None => evaluation.add(object, None),
        }
    }
    report::print(&evaluation.finish(), Occasion::Preview, options.output.format)
}

/// What the objects of a release are evaluated with.
struct Preview {
    policies: LoadedPolicies,
    inventory: Inventory,
    /// Namespaces by name: nothing if one does not exist, or why it cannot be read.
    namespaces: BTreeMap<String, Result<Option<Value>, StoreError>>,
}

impl Preview {
    fn of_cluster(options: &PolicyPreview, objects: &[&Value]) -> Result<Self> {
        runtime::block_on(async {
            let store = connect(&options.connection).await?;
            let mut policies = LoadedPolicies::of(&policies::read_cluster(&store).await?);
            let inventory = policies.read_inventory(&store).await;
            let namespaces = read_namespaces(&store, objects).await;
            Ok(Preview { policies, inventory, namespaces })
        })?
    }

    fn of_files(objects: &[(String, Value)]) -> Self {
        let policies = LoadedPolicies::of(objects);
        let mut inventory = Inventory::default();
        let others = || objects.iter().map(|(_, object)| object).filter(|object| !is_policy(object));
        if !policies.inventory_users().is_empty() {
            policies.extend(&mut inventory, others());
        }
        let namespaces = others().filter(|object| ObjectKind::of(object).is_namespace());
        let namespaces =
            namespaces.map(|object| (text(object, "/metadata/name").to_owned(), Ok(Some(object.clone())))).collect();
        Preview { policies, inventory, namespaces }
    }
}

/// The namespaces of objects in a cluster.
async fn read_namespaces(
    store: &ClusterStore,
    objects: &[&Value],
) -> BTreeMap<String, Result<Option<Value>, StoreError>> {
    let mut found = BTreeMap::new();
    for name in objects.iter().map(|object| text(object, "/metadata/namespace")).filter(|name| !name.is_empty()) {
        if !found.contains_key(name) {
            let key = ObjectReference::cluster_scoped(GroupVersionKind::new("v1", "Namespace"), name);
            found.insert(name.to_owned(), store.get(&key).await);
        }
    }
    found
}

fn text<'o>(object: &'o Value, path: &str) -> &'o str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}
