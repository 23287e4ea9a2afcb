//! An embedded cluster: a state directory, and around the operator what a cluster has and a directory lacks.
//!
//! The operator is the real one, and so is everything it reads and writes. What is *played* are the controllers that bring
//! workloads about: there is no kubelet and no pod, so [`play`] writes into the status of Namespaces, CRDs, Deployments,
//! `StatefulSets`, `DaemonSets` and Jobs what their controllers would, a few steps for each change. The health rules that
//! an update waits for see a roll-out as they see one in a cluster. Nothing else is played: what waits for another
//! controller waits here for ever, as it would in a cluster without it.
//!
//! All of it takes a [`StateDirectory`], never a cluster: there, nobody may write such a status.

mod controllers;

use std::time::Duration;

use clearway_core::{GroupVersionKind, ObjectReference, Timestamp};
use clearway_release::Payload;
use clearway_sources::store::{Apply, StateDirectory, Store as _, StoreError};
use serde_json::json;
use tokio::sync::mpsc;

use crate::install::carry_out::{Adoption, first};
use clearway_update::api::{Kind, SINGLETON, Spec, VersionObject};
use clearway_update::owner::{MANAGER, Owner};

/// Rounds of all controllers after which what was founded is at rest: more than any of them takes steps.
const ROUNDS: usize = 16;

/// What a cluster begins with.
#[derive(Debug, Clone)]
pub struct Founding {
    /// The version it is at, and its id.
    pub adoption: Adoption,
    /// Where the release of that version is.
    pub image: String,
    /// The channel it follows.
    pub channel: Option<String>,
    /// The update service it asks.
    pub upstream: Option<String>,
}

/// A step that a controller took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    /// Whose status it is.
    pub key: ObjectReference,
    /// What it says now.
    pub said: String,
}

/// Adopts a version: the ClusterVersion says that it is there, and so are the objects of its release, at rest.
pub async fn found(state: &StateDirectory, founding: &Founding, release: Option<&Payload>) -> Result<(), StoreError> {
    let Founding { adoption, image, channel, upstream } = founding;
    let object = VersionObject {
        kind: Kind::ClusterVersion,
        metadata: serde_json::from_value(json!({"name": SINGLETON})).unwrap_or_default(),
        spec: Spec {
            cluster_id: adoption.id.clone(),
            channel: channel.clone(),
            upstream: upstream.clone(),
            ..Spec::default()
        },
        status: None,
    };
    let mut stored = state.create(&serde_json::to_value(&object).unwrap_or_default()).await?;
    let mut status = first(adoption, stored["metadata"]["generation"].as_i64().unwrap_or(1));
    status.desired.image.clone_from(image);
    for entry in &mut status.history {
        entry.image.clone_from(image);
    }
    stored["status"] = serde_json::to_value(&status).unwrap_or_default();
    state.replace_status(&stored).await?;
    let Some(release) = release else { return Ok(()) };
    let owner = Owner::of(&object);
    let how = Apply { manager: MANAGER, force: true, dry_run: false };
    for manifest in release.manifests.iter().filter(|manifest| !manifest.deletes()) {
        state.apply(&owner.stamped(manifest), &how).await?;
    }
    for _ in 0..ROUNDS {
        if round(state, adoption.now).await.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Plays the controllers until the future is dropped: a step of each object at every `pace`.
pub async fn play(
    state: StateDirectory,
    pace: Duration,
    clock: fn() -> Timestamp,
    told: mpsc::UnboundedSender<Played>,
) {
    loop {
        for played in round(&state, clock()).await {
            // Nobody has to listen.
            let _ = told.send(played);
        }
        tokio::time::sleep(pace).await;
    }
}

/// One step of every object that has one to take.
async fn round(state: &StateDirectory, now: Timestamp) -> Vec<Played> {
    let mut played = Vec::new();
    for (api_version, kind) in controllers::KINDS {
        // One that cannot be read is told of by whoever opened the directory; the others go on.
        let objects = match state.readable(&GroupVersionKind::new(api_version, kind)) {
            Ok((objects, _)) => objects,
            Err(error) => {
                tracing::debug!(%error, kind, "cannot read the objects");
                continue;
            }
        };
        for mut object in objects {
            let Some(step) = controllers::next(&object, now) else { continue };
            object["status"] = step.status;
            match state.replace_status(&object).await {
                Ok(stored) => {
                    played.extend(ObjectReference::of(&stored).ok().map(|key| Played { key, said: step.said }));
                }
                // Somebody changed it meanwhile: the next round sees it as it is then.
                Err(error) => tracing::debug!(%error, "failed to store a status"),
            }
        }
    }
    played
}

#[cfg(test)]
mod tests;
