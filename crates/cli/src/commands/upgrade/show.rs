//! The commands of `clearway upgrade` that only read: the list of updates, the status, the history and a plan.

pub(super) mod history;
pub(super) mod list;
pub(super) mod plan;
pub(super) mod status;
