//! The effects of updates in a cluster: following objects, asking services, applying releases, reporting.
//!
//! What is decided is in `clearway-update`; here it is carried out. [`driver`] runs the reconciler of one object,
//! [`apply_update`] prepares and applies a release, [`operator`] does this for every object while it holds the
//! [`lease`], and [`install`] puts all of it into a cluster. [`gateway_status`] writes the status of Gateway API
//! objects. [`gatekeeper_installation`] says whether Gatekeeper itself is in the cluster,
//! [`gatekeeper_objects`] reads its policies, and [`constraint_status`] writes what an audit found. Without a cluster the same works in a directory: [`embedded`].

pub mod apply_update;
pub mod constraint_status;
pub mod driver;
pub mod embedded;
pub mod gatekeeper_installation;
pub mod gatekeeper_objects;
pub mod gateway_status;
pub mod heartbeat;
pub mod install;
pub mod lease;
pub mod metrics;
pub mod metrics_access;
pub mod metrics_store;
pub mod operator;
mod other_operator;
pub mod policies;
pub mod release_violations;
