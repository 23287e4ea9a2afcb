//! `clearway status` against a real control plane: what a person sees while workloads roll out, hang, fail and recover.

mod absent;
mod lab;
mod linting;
mod rights;
mod rollout;
mod tree;
mod usage;
mod weather;
