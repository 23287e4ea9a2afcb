//! What is to be carried out, for whom, and how.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use clearway_core::{Arch, ObjectId, Timestamp};
use clearway_release::{ReleaseLimits, Selection};
use clearway_sources::clock;
use clearway_sources::oci::{Cache, Registry};
use clearway_sources::release::{Key, Registries};
use serde_json::Value;

use super::{Owner, Pace};
use crate::api::{UpdateState, VersionObject};
use crate::desired_update::same_image;
use crate::downgrade::CurrentRelease;
use crate::work::{Failure, Order, reported_failures};

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

/// Where the time is read.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

/// What an operator carries updates out with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The connection to registries.
    pub registry: Arc<Registry>,
    /// Where releases are kept, so that one that was begun can go on without a registry.
    pub cache: Cache,
    /// The architecture to take of an image for several.
    pub arch: Option<Arch>,
    /// The keys one of which must have signed a release; without any, nobody asks.
    pub keys: Vec<Key>,
    /// What the cluster is, as far as manifests ask.
    pub selection: Selection,
    /// How much of a release is read.
    pub limits: ReleaseLimits,
    /// Whether the preflight may hold any update up.
    pub veto: Veto,
    /// Where releases are written as files for something else to apply, instead of applying them.
    pub render: Option<PathBuf>,
    /// How many requests go side by side.
    pub side_by_side: usize,
    /// How soon things are tried again.
    pub pace: Pace,
    /// A number from 0 to 1, drawn once: many clusters do not try again at the same time.
    pub jitter: f64,
    /// Where the time is read.
    pub clock: Clock,
}

/// One update of one object.
#[derive(Debug, Clone)]
pub struct Task {
    /// What is to be brought about.
    pub order: Order,
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

impl Clock {
    /// A clock that is read by a function.
    pub fn new(read: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Clock(Arc::new(read))
    }

    /// The present.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

impl Settings {
    /// The usual settings.
    pub fn new(registry: Registry, cache: Cache) -> Self {
        Settings {
            registry: Arc::new(registry),
            cache,
            arch: None,
            keys: Vec::new(),
            selection: Selection::default(),
            limits: ReleaseLimits::default(),
            veto: Veto::Never,
            render: None,
            side_by_side: 8,
            pace: Pace::default(),
            jitter: 0.5,
            clock: Clock::new(clock::now),
        }
    }

    pub(super) fn registries(&self) -> Registries<'_> {
        Registries { registry: &self.registry, cache: &self.cache, arch: self.arch.as_ref() }
    }
}

impl Task {
    /// What an object asks for; `raw` is the same object as it is stored.
    pub fn new(order: Order, object: &VersionObject, raw: &Value) -> Self {
        let unmanaged = object.spec.overrides.iter().filter(|one| one.unmanaged).map(|one| ObjectId {
            group: one.group.clone(),
            kind: one.kind.clone(),
            namespace: one.namespace.clone(),
            name: one.name.clone(),
        });
        let newest = object.status.as_ref().and_then(|status| status.history.first());
        let begun = newest.is_some_and(|entry| {
            entry.state == UpdateState::Partial
                && entry.completion_time.is_none()
                && same_image(&entry.image, &order.release.image)
        });
        let asked = object.metadata.annotations.as_ref().and_then(|all| all.get(PREFLIGHT));
        let veto = if asked.is_some_and(|asked| asked == "veto") { Veto::WhenBlocking } else { Veto::Never };
        let about = serde_json::json!({
            "apiVersion": raw["apiVersion"], "kind": raw["kind"],
            "metadata": {"name": raw["metadata"]["name"], "uid": raw["metadata"]["uid"]},
        });
        let status = object.status.clone().unwrap_or_default();
        Task {
            owner: Owner::of(object),
            unmanaged: unmanaged.collect(),
            order,
            about,
            begun,
            veto,
            carried: if begun { reported_failures(&status.history, &status.conditions) } else { Vec::new() },
            current: CurrentRelease::of(&status),
        }
    }
}
