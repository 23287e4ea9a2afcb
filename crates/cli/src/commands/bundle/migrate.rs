//! `clearway bundle migrate`: rewrites stored objects in the storage version, so that older versions can be removed.
//!
//! An object is rewritten by a patch that changes nothing: the API server stores whatever it writes in the storage version
//! of the CRD. A conflict means that somebody else has just written the object, which does the same. `status.storedVersions`
//! is pruned only after a second list found nothing that was not rewritten, and only if the CRD has not changed meanwhile.
//! Ended at any point and run again, it starts over and comes to the same.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clearway_core::{GroupVersionKind, ObjectReference};
use clearway_sources::store::{ClusterStore, ObjectPages, Part, Store as _, StoreError};
use serde::Serialize;
use serde_json::{Value, json};

use super::{installed, source};
use crate::arguments::BundleMigrate;
use crate::exit::Exit;
use crate::output::{self, Document, LiveLine};

/// Lists of one CRD before giving up on finding nothing new.
const MAX_LISTS: usize = 5;
/// Objects that are named if they cannot be rewritten.
const NAMED: usize = 5;

/// What became of one CRD.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Migration {
    crd: String,
    storage_version: String,
    stored_versions: Vec<String>,
    /// Objects that were rewritten; with `--dry-run`, those that would be.
    rewritten: usize,
    /// Objects that could not be, with the reason, and how many there are in all.
    failed: Vec<String>,
    failures: usize,
    /// Whether `status.storedVersions` is the storage version alone now.
    pruned: bool,
}

pub(super) fn run(options: &BundleMigrate) -> Result<Exit> {
    let done = source::wait(async {
        let store = installed::connect(&options.report.connection).await?;
        let mut done = Vec::new();
        for crd in crds(&store, options).await? {
            done.push(migrate(&store, &crd, options).await?);
        }
        Ok(done)
    })?;
    output::print_data(options.report.output.format, &done, || table(&done, options.dry_run))?;
    if done.is_empty() {
        output::print_note!("every CRD stores its objects in one version; there is nothing to migrate");
    }
    let complete = |one: &Migration| one.failures == 0 && (options.dry_run || one.pruned);
    Ok(if done.iter().all(complete) { Exit::Yes } else { Exit::No })
}

/// The named CRDs, or all that have more than one stored version.
async fn crds(store: &ClusterStore, options: &BundleMigrate) -> Result<Vec<Value>> {
    if options.crds.is_empty() {
        let mut all = store.list(&installed::crd_kind(), "").await?;
        all.retain(|crd| stored_versions(crd).len() > 1);
        return Ok(all);
    }
    let mut found = Vec::new();
    for name in &options.crds {
        let reference = ObjectReference::cluster_scoped(installed::crd_kind(), name.as_str());
        let crd = store.get(&reference).await?;
        found.push(crd.with_context(|| format!("there is no CRD {name}; `clearway bundle installed` lists them"))?);
    }
    Ok(found)
}

async fn migrate(store: &ClusterStore, crd: &Value, options: &BundleMigrate) -> Result<Migration> {
    let name = text(crd, "/metadata/name");
    let storage = storage_version(crd).with_context(|| format!("{name} has no storage version"))?;
    let kind = GroupVersionKind {
        group: text(crd, "/spec/group"),
        version: storage.clone(),
        kind: text(crd, "/spec/names/kind"),
    };
    let mut migration = Migration {
        crd: name,
        stored_versions: stored_versions(crd),
        storage_version: storage,
        rewritten: 0,
        failed: Vec::new(),
        failures: 0,
        pruned: false,
    };
    if migration.stored_versions == [migration.storage_version.clone()] {
        migration.pruned = true;
        return Ok(migration);
    }
    let mut rewritten = HashSet::new();
    for _ in 0..MAX_LISTS {
        let before = rewritten.len() + migration.failures;
        rewrite_all(store, &kind, options, &mut rewritten, &mut migration).await?;
        let is_complete = rewritten.len() + migration.failures == before;
        if options.dry_run || migration.failures > 0 {
            break;
        }
        if is_complete {
            migration.pruned = prune(store, crd, &migration.storage_version).await?;
            break;
        }
    }
    migration.rewritten = rewritten.len();
    Ok(migration)
}

/// Rewrites every object of a kind that was not rewritten before.
async fn rewrite_all(
    store: &ClusterStore,
    kind: &GroupVersionKind,
    options: &BundleMigrate,
    rewritten: &mut HashSet<String>,
    migration: &mut Migration,
) -> Result<()> {
    let mut interval = tokio::time::interval(Duration::from_secs(1) / options.rate.get());
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut progress = LiveLine::new();
    let mut pages = ObjectPages::new(store, kind.clone());
    while let Some(page) = pages.next_page().await? {
        for object in &page.items {
            let uid = text(object, "/metadata/uid");
            if rewritten.contains(&uid) {
                continue;
            }
            if !options.dry_run {
                interval.tick().await;
                if let Err(why) = rewrite(store, object).await? {
                    migration.failures += 1;
                    if migration.failed.len() < NAMED {
                        migration.failed.push(why);
                    }
                    continue;
                }
            }
            rewritten.insert(uid);
            progress.set(&format!("rewrote {} objects of {}", rewritten.len(), migration.crd));
        }
    }
    progress.clear();
    Ok(())
}

/// Rewrites one object as it is; the inner error is why it cannot be.
async fn rewrite(store: &ClusterStore, object: &Value) -> Result<Result<(), String>> {
    let reference = ObjectReference::of(object)?;
    let patch = json!({"metadata": {"resourceVersion": object.pointer("/metadata/resourceVersion")}});
    match store.patch(&reference, Part::Main, &patch).await {
        // Somebody else wrote it, or it is gone: either way nothing of it is stored in an older version.
        Ok(_) | Err(StoreError::Conflict { .. } | StoreError::Missing { .. }) => Ok(Ok(())),
        Err(error) if error.is_passing() => Err(error.into()),
        Err(error) => Ok(Err(format!("{reference}: {error}"))),
    }
}

/// Leaves only the storage version in `status.storedVersions`, unless the CRD has changed meanwhile.
async fn prune(store: &ClusterStore, crd: &Value, storage: &str) -> Result<bool> {
    let reference = ObjectReference::of(crd)?;
    let now = store.get(&reference).await?.with_context(|| format!("{reference} was deleted meanwhile"))?;
    if storage_version(&now).as_deref() != Some(storage) {
        output::print_note!("the storage version of {reference} has changed; run the migration again");
        return Ok(false);
    }
    let patch = json!({
        "metadata": {"resourceVersion": now.pointer("/metadata/resourceVersion")},
        "status": {"storedVersions": [storage]},
    });
    match store.patch(&reference, Part::Status, &patch).await {
        Ok(_) => Ok(true),
        Err(StoreError::Conflict { .. }) => {
            output::print_note!("{reference} was changed by another client; run the migration again");
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn storage_version(crd: &Value) -> Option<String> {
    let versions = crd.pointer("/spec/versions")?.as_array()?;
    let storage = versions.iter().find(|version| version["storage"] == true)?;
    storage["name"].as_str().map(str::to_owned)
}

fn stored_versions(crd: &Value) -> Vec<String> {
    let stored = crd.pointer("/status/storedVersions").and_then(Value::as_array);
    stored.into_iter().flatten().filter_map(|version| version.as_str().map(str::to_owned)).collect()
}

fn table(done: &[Migration], dry_run: bool) -> Document {
    let rows = done.iter().map(|one| {
        let state = match (one.failures, one.pruned) {
            (0, true) => "migrated".to_owned(),
            (0, false) if dry_run => "to be rewritten".to_owned(),
            (0, false) => "rewritten, but older versions are still in status.storedVersions; run it again".to_owned(),
            (failures, _) => format!("{failures} objects cannot be rewritten: {}", one.failed.join("; ")),
        };
        let stored = one.stored_versions.join(", ");
        vec![one.crd.clone(), stored, one.storage_version.clone(), one.rewritten.to_string(), state]
    });
    if done.is_empty() {
        return Document::default();
    }
    output::table(&["CRD", "STORED", "STORAGE", "OBJECTS", "STATE"], rows).into()
}
