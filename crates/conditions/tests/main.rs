//! Status conditions: the model in a real API server, lint on objects of a cluster, and the health of objects.
//!
//! One program: each file of its own would be compiled, linted and linked with all dependencies once more.

mod any_text;
mod health_many;
mod health_rules;
mod health_wait;
mod lint_cluster;
mod live_schema;
