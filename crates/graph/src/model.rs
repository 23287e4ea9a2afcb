//! What a revision consists of: releases, versions, edges, risks, and the answers that are cut from it.

pub(crate) mod edges;
pub(crate) mod graph;
pub(crate) mod metadata;
pub(crate) mod pattern;
pub mod range;
pub(crate) mod revision;
pub(crate) mod risk;
pub(crate) mod risk_table;
pub(crate) mod serial;
pub(crate) mod sets;
pub(crate) mod verdicts;
pub(crate) mod versions;
