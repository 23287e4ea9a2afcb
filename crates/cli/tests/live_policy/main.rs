//! `clearway policy audit` and `clearway policy preview` on a real API server.
//!
//! The CRDs of templates and settings here have Gatekeeper's kinds and versions and no schema; those of constraints are the
//! ones that Clearway makes of templates.

mod actions;
mod gate;
mod interrupted;
mod lab;
mod many;
mod preview;
mod release_rules;
