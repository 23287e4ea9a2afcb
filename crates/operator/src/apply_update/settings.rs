//! What updates are applied with: registries, keys, limits, intervals and the clock.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use clearway_core::{Arch, Timestamp};
use clearway_release::{ReleaseLimits, Selection};
use clearway_sources::clock;
use clearway_sources::oci::{Cache, Registry};
use clearway_sources::release::{Key, Registries};
use clearway_update::api::Kind;
use clearway_update::task::Veto;

use super::{Pace, PolicyProgram};
use crate::driver::MemoryPermit;
use crate::heartbeat::Heartbeat;
use crate::release_violations::{COMPONENT_ROUND_BYTES, ROUND_BYTES, ReleaseEvaluator, registry_host};

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
    /// What evaluates the cluster's constraints over a release; without it they are not evaluated.
    pub policies: Option<PolicyProgram>,
    /// How many requests go side by side.
    pub side_by_side: usize,
    /// How soon things are tried again.
    pub pace: Pace,
    /// A number from 0 to 1, drawn once: many clusters do not try again at the same time.
    pub jitter: f64,
    /// Where the time is read.
    pub clock: Clock,
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
            policies: None,
            side_by_side: 8,
            pace: Pace::default(),
            jitter: 0.5,
            clock: Clock::new(clock::now),
        }
    }

    /// What evaluates policies over releases, for rules of an object of a kind that ask about them; `running` is the image of
    /// the release that it runs.
    pub(crate) fn release_evaluator(
        &self,
        kind: Kind,
        running: &str,
        memory: MemoryPermit,
        heartbeat: Heartbeat,
    ) -> ReleaseEvaluator<'_> {
        let is_one_of_many = kind == Kind::ComponentVersion;
        ReleaseEvaluator {
            registries: Some(self.registries()),
            hosts: registry_host(running).into_iter().collect(),
            selection: &self.selection,
            limits: ReleaseLimits::of_graph(),
            round_bytes: if is_one_of_many { COMPONENT_ROUND_BYTES } else { ROUND_BYTES },
            memory,
            is_one_of_many,
            heartbeat,
            named: None,
            program: self.policies.as_ref(),
        }
    }

    pub(super) fn registries(&self) -> Registries<'_> {
        Registries { registry: &self.registry, cache: &self.cache, arch: self.arch.as_ref() }
    }
}
