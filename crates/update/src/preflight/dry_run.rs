//! What the API server would refuse: each manifest was tried without being written.

use super::{Check, DryRunError, Finding, View};

/// A refusal found now is no update that stops half-way.
#[derive(Debug)]
pub(super) struct DryRun;

impl Check for DryRun {
    fn name(&self) -> &'static str {
        "DryRun"
    }

    fn findings(&self, view: &View<'_>) -> Vec<Finding> {
        let found = view.dry_runs.iter().filter_map(|failure| {
            let (file, id) = (&failure.file, &failure.id);
            match &failure.error {
                DryRunError::Refused(why) => Some(Finding::blocking(self, format!("{id} ({file}): {why}"))),
                DryRunError::NoSuchKind => {
                    let message = format!(
                        "{id} ({file}): the cluster does not serve this kind, and the release does not define it."
                    );
                    Some(Finding::blocking(self, message))
                }
                DryRunError::Inconclusive => None,
            }
        });
        found.collect()
    }
}
