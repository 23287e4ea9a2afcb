//! The cluster's half: the objects an administrator reads and writes, and what keeps them current.
//!
//! Start at [`api`]: ClusterVersion and ComponentVersion, which share one spec and one status. What happens to one of
//! them is a state machine without effects, [`reconciler`]; the modules beside it are the functions it is made of. The
//! effects of an update are in [`carry_out`], and what is looked at before one in [`preflight`]. Without a cluster all of
//! it works in a directory: [`embedded`].

pub mod api;
pub mod architecture;
pub mod cached_state;
pub mod carry_out;
mod conditions;
pub mod desired_update;
pub mod downgrade;
pub mod driver;
pub mod embedded;
pub mod graph_findings;
pub mod heartbeat;
pub mod history;
pub mod install;
pub mod knowledge;
pub mod lease;
pub mod metrics;
pub mod metrics_access;
pub mod metrics_store;
pub mod operator;
mod other_operator;
pub mod preflight;
pub mod recommendations;
pub mod reconciler;
pub mod rollout;
pub mod shape;
mod status;
pub mod upstream_request;
