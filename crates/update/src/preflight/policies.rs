//! Constraints of the cluster that the objects of the release violate: an admission webhook would deny them.

use super::{Check, Finding, View};

/// What a constraint denies stops an update half-way.
#[derive(Debug)]
pub(super) struct Policies;

/// Objects of the release that a constraint of the cluster denies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDenial {
    /// The kind and name of the constraint.
    pub constraint: String,
    /// How many violations there are.
    pub count: u64,
    /// The first objects, each with the message of the constraint.
    pub objects: Vec<String>,
}

impl Check for Policies {
    fn name(&self) -> &'static str {
        "Policies"
    }

    fn findings(&self, view: &View<'_>) -> Vec<Finding> {
        let finding = |denial: &PolicyDenial| {
            let PolicyDenial { constraint, count, objects } = denial;
            let violations = if *count == 1 { "1 violation".to_owned() } else { format!("{count} violations") };
            let more = u64::try_from(objects.len()).is_ok_and(|named| *count > named);
            let more = if more && !objects.is_empty() { "; …" } else { "" };
            let objects = objects.join("; ");
            let message =
                format!("The release has {violations} of the constraint {constraint}, which denies: {objects}{more}.");
            Finding::blocking(self, message)
        };
        view.policies.iter().map(finding).collect()
    }
}
