//! Looks at the cluster before the first write, for the checks of the preflight.

use std::collections::BTreeSet;

use clearway_bundle::{BundleLimits, Preflight};
use clearway_core::{GroupKind, GroupVersionKind, ObjectReference};
use clearway_release::{Manifest, Payload};
use clearway_sources::store::{Apply, Store, StoreError};
use clearway_update::owner::MANAGER;
use clearway_update::preflight::{DryRunError, DryRunFailure, NeededKinds, View, is_workload, needed_kinds};
use clearway_update::task::Task;
use futures::FutureExt as _;
use serde_json::Value;

use super::policies::look_at_policies;
use super::stored_objects::check_stored_objects;
use super::{Settings, side_by_side};

/// Looks at a cluster. What may not be read is a sentence in the view; an API server that does not answer is an error.
pub async fn collect_view<'a, S: Store>(
    store: &S,
    settings: &Settings,
    task: &'a Task,
    payload: &'a Payload,
) -> Result<View<'a>, StoreError> {
    let mut view = View::empty(task, payload, settings.clock.now());
    let most = settings.side_by_side.max(1);
    look_at_objects(&mut view, store, most).await?;
    look_at_crds(&mut view, store).await?;
    try_out(&mut view, store, most).await;
    if let Some(program) = &settings.policies {
        look_at_policies(&mut view, store, program).await?;
    }
    let NeededKinds { nodes, pods, budgets } = needed_kinds(&view);
    let kind = |wanted: bool, api_version, kind| wanted.then(|| GroupVersionKind::new(api_version, kind));
    view.nodes = all(&mut view, store, kind(nodes, "v1", "Node")).await?;
    view.pods = all(&mut view, store, kind(pods, "v1", "Pod")).await?;
    view.budgets = all(&mut view, store, kind(budgets, "policy/v1", "PodDisruptionBudget")).await?;
    Ok(view)
}

async fn look_at_objects<S: Store>(view: &mut View<'_>, store: &S, most: usize) -> Result<(), StoreError> {
    let keys: BTreeSet<ObjectReference> = view.manifests().map(Manifest::reference).collect();
    let kinds: BTreeSet<GroupVersionKind> = keys.iter().map(|key| key.kind.clone()).collect();
    let selector = view.task.owner.selector();
    let selector = &selector;
    let owned = kinds.iter().map(|kind| {
        async move { seen(store.list(kind, selector).await, || format!("the existing {kind} objects")) }.boxed()
    });
    let named = keys.iter().map(|key| async move { seen(store.get(key).await, || key.to_string()) }.boxed());
    let mut found = Vec::new();
    for outcome in side_by_side(most, owned).await {
        outcome?.map_or_else(|why| view.unseen.push(why), |objects| found.extend(objects));
    }
    for outcome in side_by_side(most, named).await {
        outcome?.map_or_else(|why| view.unseen.push(why), |object| found.extend(object));
    }
    for object in found {
        if let Ok(reference) = ObjectReference::of(&object) {
            view.objects.insert(reference.id(), object);
        }
    }
    Ok(())
}

/// Compares the CRDs of the release that are applied with those that are there, and checks their stored objects.
async fn look_at_crds<S: Store>(view: &mut View<'_>, store: &S) -> Result<(), StoreError> {
    let crds = view.manifests().filter(|manifest| manifest.is_definition() && is_applied(view, manifest));
    let crds: Vec<&Manifest> = crds.collect();
    let installed: Vec<&Value> = crds.iter().filter_map(|manifest| view.live(manifest)).collect();
    let release: Vec<&Value> = crds.iter().map(|manifest| &manifest.object).collect();
    let mut preflight = Preflight::of_release(&installed, &release, &BundleLimits::default());
    check_stored_objects(store, &mut preflight, |_, _| ()).await?;
    view.crds = preflight.finish();
    Ok(())
}

/// Whether a manifest would be applied to the object that is there.
pub(super) fn is_applied(view: &View<'_>, manifest: &Manifest) -> bool {
    let left_alone = manifest.create_only() && view.live(manifest).is_some();
    let claimed = view.live(manifest).is_some_and(|live| view.task.owner.other(live).is_some());
    !(manifest.deletes() || left_alone || claimed)
}

/// Has the API server say what would become of each manifest that it can judge now: not those of a kind that the
/// release defines, nor those in a namespace that is still to be made.
async fn try_out<S: Store>(view: &mut View<'_>, store: &S, most: usize) {
    let defined: BTreeSet<GroupKind> =
        view.manifests().filter_map(|manifest| Some(manifest.definition()?.kind)).collect();
    let namespaces: BTreeSet<&str> =
        view.manifests().map(|manifest| manifest.id.namespace.as_str()).filter(|name| !name.is_empty()).collect();
    let namespaces = namespaces.into_iter().map(|name| {
        let there = async move {
            let found =
                store.get(&ObjectReference::cluster_scoped(GroupVersionKind::new("v1", "Namespace"), name)).await;
            // Without the right to read namespaces, the dry run itself shows whether it exists.
            (!matches!(found, Ok(None))).then_some(name)
        };
        there.boxed()
    });
    let there: BTreeSet<&str> = side_by_side(most, namespaces).await.into_iter().flatten().collect();
    let tried = view.manifests().filter(|manifest| {
        let homeless = !manifest.id.namespace.is_empty() && !there.contains(manifest.id.namespace.as_str());
        let unknown = defined.contains(&manifest.id.group_kind());
        is_applied(view, manifest) && !homeless && !unknown
    });
    let how = Apply { manager: MANAGER, force: true, dry_run: true };
    let owner = &view.task.owner;
    let dry_runs = tried.map(|manifest| {
        let tried = async move {
            let answer = store.apply(&owner.stamped(manifest), &how).await;
            // Only workloads are looked at again; a thousand others need not be kept.
            let keep = is_workload(&manifest.id);
            (manifest, answer.map(|answer| if keep { answer } else { Value::Null }))
        };
        tried.boxed()
    });
    for (manifest, outcome) in side_by_side(most, dry_runs).await {
        let id = manifest.id.clone();
        match outcome {
            Ok(answer) if answer.is_null() => {}
            Ok(answer) => drop(view.workloads.insert(id, answer)),
            Err(error) => {
                view.dry_runs.push(DryRunFailure { id, file: manifest.file.clone(), error: dry_run_error(&error) });
            }
        }
    }
}

async fn all<S: Store>(
    view: &mut View<'_>,
    store: &S,
    kind: Option<GroupVersionKind>,
) -> Result<Option<Vec<Value>>, StoreError> {
    let Some(kind) = kind else { return Ok(None) };
    match seen(store.list(&kind, "").await, || format!("the existing {kind} objects"))? {
        Ok(objects) => Ok(Some(objects)),
        Err(why) => {
            view.unseen.push(why);
            Ok(None)
        }
    }
}

/// What was seen, or a sentence why it may not be; a kind that is not served has no objects.
fn seen<T: Default>(
    outcome: Result<T, StoreError>,
    what: impl FnOnce() -> String,
) -> Result<Result<T, String>, StoreError> {
    match outcome {
        Ok(found) => Ok(Ok(found)),
        Err(StoreError::NoSuchKind { .. } | StoreError::Missing { .. }) => Ok(Ok(T::default())),
        Err(error) if error.is_passing() => Err(error),
        Err(error) => Ok(Err(format!("{} could not be read: {error}.", what()))),
    }
}

/// What a failed dry run says about the object.
fn dry_run_error(error: &StoreError) -> DryRunError {
    match error {
        // A webhook that cannot be tried says nothing about the object.
        StoreError::Refused { why } if why.contains("does not support dry run") => DryRunError::Inconclusive,
        StoreError::Refused { why } | StoreError::Forbidden { why } => DryRunError::Refused(why.clone()),
        StoreError::TooLarge { .. } => DryRunError::Refused(format!("{error}.")),
        StoreError::NoSuchKind { .. } => DryRunError::NoSuchKind,
        StoreError::Away { .. }
        | StoreError::Missing { .. }
        | StoreError::Conflict { .. }
        | StoreError::AnswerTooLarge { .. }
        | StoreError::Expired { .. } => DryRunError::Inconclusive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_about_the_object_is_a_refusal() {
        let refused = |why: &str| StoreError::Refused { why: why.to_owned() };
        for (error, want) in [
            (refused("spec.x: Invalid value"), DryRunError::Refused("spec.x: Invalid value".to_owned())),
            (StoreError::Forbidden { why: "no".to_owned() }, DryRunError::Refused("no".to_owned())),
            (
                StoreError::NoSuchKind { kind: GroupVersionKind::new("example.com/v1", "Thing") },
                DryRunError::NoSuchKind,
            ),
            (refused("admission webhook \"a\" does not support dry run"), DryRunError::Inconclusive),
            (StoreError::Away { why: "webhook timed out".to_owned() }, DryRunError::Inconclusive),
        ] {
            assert_eq!(dry_run_error(&error), want, "{error}");
        }
    }
}
