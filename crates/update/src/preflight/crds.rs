//! CRDs of the release against the installed ones and their stored objects, with the findings of `clearway bundle preflight`.

use clearway_bundle::PreflightSeverity;

use super::{Check, Finding, View};

/// What the API server would refuse and what loses data is blocking; the rest is recorded.
#[derive(Debug)]
pub(super) struct Crds;

impl Check for Crds {
    fn name(&self) -> &'static str {
        "CRDs"
    }

    fn findings(&self, view: &View<'_>) -> Vec<Finding> {
        let finding = |one: &clearway_bundle::PreflightFinding| {
            let message = format!("{one}.");
            match one.severity {
                PreflightSeverity::Blocking => Finding::blocking(self, message),
                PreflightSeverity::Warning => Finding::warning(self, message),
            }
        };
        view.crds.iter().map(finding).collect()
    }
}
