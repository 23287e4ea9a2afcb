//! Objects of the release that another owner claims.

use super::{Check, Finding, View};

/// They are never taken over, so the update would wait for ever.
#[derive(Debug)]
pub(super) struct Owners;

impl Check for Owners {
    fn name(&self) -> &'static str {
        "Owners"
    }

    fn findings(&self, view: &View<'_>) -> Vec<Finding> {
        let claimed = |manifest: &&clearway_release::Manifest| {
            let live = view.live(manifest)?;
            if manifest.create_only() && !manifest.deletes() {
                return None;
            }
            let other = view.task.owner.other(live)?;
            let id = view.id(manifest);
            let message = format!("{id} is in this release but belongs to {other}; it is not overwritten.");
            Some(Finding::blocking(self, message))
        };
        view.manifests().filter_map(|manifest| claimed(&manifest)).collect()
    }
}
