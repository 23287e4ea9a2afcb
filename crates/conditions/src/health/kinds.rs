//! The rules of single kinds, by subject. Each takes the [`Facts`](super::facts::Facts) of an object and gives its verdict.

pub(in crate::health) mod autoscaling;
pub(in crate::health) mod extensions;
pub(in crate::health) mod gateways;
pub(in crate::health) mod jobs;
pub(in crate::health) mod pods;
pub(in crate::health) mod services;
pub(in crate::health) mod workloads;
