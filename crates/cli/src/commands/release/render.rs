//! `clearway release render`: the objects of a release as files, for another tool to apply.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow, bail};
use clearway_core::{ObjectId, ObjectReference};
use clearway_operator::apply_update::{Appliers, orphans, render, write_rendered};
use clearway_release::{Payload, ReleaseLimits, Selection};
use clearway_sources::kubernetes::Cluster;
use clearway_sources::store::{ClusterStore, StateDirectory, Store};
use clearway_update::owner::Owner;

use super::{NamedRelease, wait};
use crate::arguments::ReleaseRender;
use crate::exit::Exit;

/// How many kinds of objects are looked through at a time.
const SIDE_BY_SIDE: usize = 8;

/// Runs the command. Exit code 0: written; 1: it is no release; 3: could not run.
pub(super) fn run(options: &ReleaseRender) -> Result<Exit> {
    if options.connection.is_named() && !options.prune {
        bail!("--kubeconfig and --context need --prune");
    }
    let named = NamedRelease::new(&options.source)?;
    let fetched = wait(named.fetch(None))?;
    let payload = fetched.and_then(|fetched| fetched.payload(&Selection::default(), &ReleaseLimits::default()));
    let payload = match payload {
        Ok(payload) => payload,
        Err(error) if error.is_about_the_release() => {
            crate::output::print_problem!("error: {error}");
            return Ok(Exit::No);
        }
        Err(error) => return Err(error.into()),
    };
    let owner = Owner::new(&options.owner.0, &options.owner.1);
    let rendered = render(&payload, &owner, &BTreeSet::new())?;
    let gone = if options.prune { Some(wait(objects_to_prune(options, &owner, &payload))??) } else { None };
    write_rendered(&options.output_dir, &rendered, gone.as_deref())?;
    let (count, version, place) = (rendered.files.len(), payload.version(), options.output_dir.display());
    crate::output::print_note!("wrote {count} objects of release {version} to {place}");
    Ok(Exit::Yes)
}

/// What is there of the owner, and no longer in the release.
async fn objects_to_prune(options: &ReleaseRender, owner: &Owner, payload: &Payload) -> Result<Vec<ObjectId>> {
    if let Some(directory) = &options.state {
        return found(&StateDirectory::open(directory)?, owner, payload).await;
    }
    found(
        &ClusterStore::new(Cluster::connect(&options.connection.connection()).await?, "clearway-release"),
        owner,
        payload,
    )
    .await
}

async fn found<S: Store>(store: &S, owner: &Owner, payload: &Payload) -> Result<Vec<ObjectId>> {
    let stays: BTreeSet<ObjectId> = payload.manifests.iter().map(|manifest| manifest.id.clone()).collect();
    let found = orphans(store, owner, &stays, Appliers::Anybody, SIDE_BY_SIDE).await;
    let found = found.map_err(|(kind, error)| match kind {
        Some(kind) => anyhow!("cannot list {kind}: {error}"),
        None => error.into(),
    })?;
    Ok(found.iter().filter_map(|object| Some(ObjectReference::of(object).ok()?.id())).collect())
}
