//! One update of one object: what is to be applied, whose it becomes, and what is left alone.

use std::collections::BTreeSet;

use clearway_core::ObjectId;
use serde_json::Value;

use crate::api::VersionObject;
use crate::desired_update::downgrade::CurrentRelease;
use crate::owner::Owner;
use crate::rollout::{Failure, UpdateRequest, reported_failures};

/// The annotation of a ClusterVersion or ComponentVersion that asks for a veto of the preflight, with the value `veto`.
pub const PREFLIGHT: &str = "clearway.dev/preflight";

/// Whether findings of the preflight hold an update up. Unless an administrator asks for it, nothing does (U23).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Veto {
    /// They are recorded, and the update goes on.
    #[default]
    Never,
    /// One that is blocking does, unless the update is forced.
    WhenBlocking,
}

/// One update of one object.
#[derive(Debug, Clone)]
pub struct Task {
    /// What is to be brought about.
    pub request: UpdateRequest,
    /// The object that asks for it, for Events about it.
    pub about: Value,
    /// Whose everything becomes.
    pub owner: Owner,
    /// Whether it was begun before: then the preflight, which looks at the cluster before the first write, is over.
    pub begun: bool,
    /// Objects that are not touched.
    pub unmanaged: BTreeSet<ObjectId>,
    /// Whether the preflight may hold this update up.
    pub veto: Veto,
    /// The failures of this update that an earlier process reported.
    pub carried: Vec<Failure>,
    /// What the release is compared with, to tell a downgrade.
    pub current: CurrentRelease,
}

impl Task {
    /// What an object asks for; `raw` is the same object as it is stored.
    pub fn new(request: UpdateRequest, object: &VersionObject, raw: &Value) -> Self {
        let unmanaged = object.spec.overrides.iter().filter(|one| one.unmanaged).map(|one| ObjectId {
            group: one.group.clone(),
            kind: one.kind.clone(),
            namespace: one.namespace.clone(),
            name: one.name.clone(),
        });
        let asked = object.metadata.annotations.as_ref().and_then(|all| all.get(PREFLIGHT));
        let veto = if asked.is_some_and(|asked| asked == "veto") { Veto::WhenBlocking } else { Veto::Never };
        let about = serde_json::json!({
            "apiVersion": raw["apiVersion"], "kind": raw["kind"],
            "metadata": {"name": raw["metadata"]["name"], "uid": raw["metadata"]["uid"]},
        });
        let status = object.status.clone().unwrap_or_default();
        let begun = status.open_entry_for(&request.release.image).is_some();
        Task {
            owner: Owner::of(object),
            unmanaged: unmanaged.collect(),
            request,
            about,
            begun,
            veto,
            carried: if begun { reported_failures(&status, &status.conditions) } else { Vec::new() },
            current: CurrentRelease::of(&status),
        }
    }
}
