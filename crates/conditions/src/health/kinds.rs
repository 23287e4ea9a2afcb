//! The rules of single kinds, by subject. Each takes the [`Facts`](super::facts::Facts) of an object and gives its verdict.

pub(super) mod autoscaling;
pub(super) mod extensions;
pub(super) mod gateways;
pub(super) mod jobs;
pub(super) mod pods;
pub(super) mod services;
pub(super) mod workloads;
