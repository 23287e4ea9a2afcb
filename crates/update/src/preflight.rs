//! What speaks against an update here and now, found before the first write.
//!
//! A list of checks, each a function of one [`View`] of the cluster that is collected once: what is added is a type with
//! [`Check`] and a line in [`CHECKS`]. Findings are advice. They are recorded with the update and told in an Event; only if
//! an administrator asks for it ([`Veto`](crate::task::Veto)) does a blocking one hold the update up (U23).

mod crds;
mod definitions;
mod dry_run;
mod health;
mod node_capacity;
mod owners;
mod policies;
mod quantity;
mod view;

use std::fmt;

pub use node_capacity::{NeededKinds, is_workload, needed_kinds};
pub use policies::PolicyDenial;
pub use view::{DryRunError, DryRunFailure, View};

/// Something to look at before an update.
pub trait Check: Send + Sync {
    /// A word for it.
    fn name(&self) -> &'static str;

    /// What it finds.
    fn findings(&self, view: &View<'_>) -> Vec<Finding>;
}

/// Something that speaks against an update.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// How much.
    pub severity: Severity,
    /// The check that found it.
    pub check: &'static str,
    /// A sentence.
    pub message: String,
}

/// How much something speaks against an update. The graver one sorts first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The update will get stuck, or something is lost.
    Blocking,
    /// Somebody should know.
    Warning,
}

/// All checks.
pub const CHECKS: &[&dyn Check] = &[
    &health::Health,
    &definitions::Definitions,
    &crds::Crds,
    &node_capacity::NodeCapacity,
    &owners::Owners,
    &dry_run::DryRun,
    &policies::Policies,
];

/// What all checks find, the gravest first.
pub fn findings(view: &View<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = CHECKS.iter().flat_map(|check| check.findings(view)).collect();
    let unseen = view.unseen.iter().map(|message| Finding {
        severity: Severity::Warning,
        check: "View",
        message: message.clone(),
    });
    found.extend(unseen);
    found.sort();
    found.dedup();
    found
}

impl Finding {
    fn blocking(check: &dyn Check, message: String) -> Self {
        Finding { severity: Severity::Blocking, check: check.name(), message }
    }

    fn warning(check: &dyn Check, message: String) -> Self {
        Finding { severity: Severity::Warning, check: check.name(), message }
    }

    /// Whether it holds an update up where that is wanted.
    pub fn is_blocking(&self) -> bool {
        self.severity == Severity::Blocking
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Preflight {}: {}", self.check, self.message)
    }
}

#[cfg(test)]
mod tests;
