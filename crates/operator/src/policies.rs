//! Gatekeeper's policies in a cluster: templates and constraints are loaded, requests are admitted or denied, and objects
//! that exist are audited.

pub mod evaluation;
