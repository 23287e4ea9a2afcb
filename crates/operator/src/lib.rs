//! The cluster's half: the objects an administrator reads and writes.
//!
//! Start at [`api`]: ClusterVersion and ComponentVersion, which share one spec and one status.

pub mod api;
