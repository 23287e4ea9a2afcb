//! Carrying out an update: fetching a release, looking at the cluster, bringing the release about, removing what it no longer has.
//!
//! Two halves, with the status of the object stored between them (see [`clearway_update::rollout`]). [`prepare`] writes nothing: it
//! fetches and checks the release and runs the [`preflight`](clearway_update::preflight). [`apply`] brings the release about stage by
//! stage, waits until each is healthy, and then prunes. Both go on until they are done, say in a [`Rollout`](clearway_update::rollout::Rollout)
//! what they wait for, and may be dropped at any point: what was done stays, and done again it comes to the same.
//! [`Worker`] runs them for a driver. [`render`] gives the objects as files instead; with [`Settings::render`] an update is
//! handed over so, and is done when something else has applied them.
//!
//! # Who owns what
//!
//! What a release brings about carries the label [`OWNER`](clearway_update::owner::OWNER), `ClusterVersion.version` for example, and was applied by the field
//! manager [`MANAGER`](clearway_update::owner::MANAGER). What another owner claims is never touched. What nobody claims is taken over when a release has it.
//!
//! # What is waited for
//!
//! The objects of a stage are applied first, then waited for together: a Deployment may stand before the `ConfigMap` it
//! mounts. An update waits as long as it takes. What takes longer than [`Pace::patience`], has failed by its own
//! account, or is refused by the API server becomes a [`Failure`](clearway_update::rollout::Failure), and is tried again all the same.
//!
//! # What is pruned
//!
//! When every object of the release is there and healthy: what carries our label, was applied by us, and is not in the
//! release. Definitions go after everything else and namespaces last. A definition of which objects are left, and a
//! namespace in which something is left that somebody else made, stay and are told of in an Event: removing them would remove
//! what is not ours. They keep the label, so the next update looks at them again.

mod apply;
mod apply_object;
mod concurrency;
mod external_apply;
pub mod failure_pages;
mod judge;
mod ledger;
mod observed_health;
mod pace;
pub(crate) mod policies;
mod prepare;
mod prune;
mod render;
mod retrieve;
mod settings;
mod stored_objects;
mod view;
mod worker;

pub use apply::apply;
pub use pace::Pace;
pub use policies::{POLICY_WORKER, PolicyProgram, PolicyRequest};
pub use prepare::prepare;
pub use prune::{Appliers, orphans};
pub use render::{PRUNE, RENDERED, RenderError, RenderedRelease, render, write_rendered};
pub use settings::{Clock, Settings};
pub use stored_objects::check_stored_objects;
pub use view::collect_view;
pub use worker::Worker;

pub(crate) use concurrency::side_by_side;
