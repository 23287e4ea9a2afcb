//! Queries made from queries: the cluster's id put in, and one query for many clusters.

pub(crate) mod group_by;
pub(crate) mod placeholder;
