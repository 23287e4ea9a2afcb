//! Decisions about updates, as functions of values: nothing here waits, reads or writes.
//!
//! Start at [`api`]: ClusterVersion and ComponentVersion, which share one spec and one status. What happens to one of them
//! is a state machine, [`reconciler`]: it takes what happened and the time, and returns what is to be done. The other
//! modules are what it is made of: what the spec asks for ([`desired_update`]), what the update service answered
//! ([`upstream`]), the state of the update that is applied ([`rollout`]), and what the status says ([`status`]). What the
//! cluster looks like before an update is judged by [`preflight`]. The operator's driver carries the effects out.

pub mod api;
pub mod desired_update;
pub mod health;
pub mod owner;
pub mod preflight;
pub mod reconciler;
pub mod rollout;
pub mod status;
pub mod task;
pub mod upstream;
