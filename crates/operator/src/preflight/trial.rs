//! What the API server would refuse: each manifest was tried without being written.

use clearway_sources::store::StoreError;

use super::{Check, Finding, View};

/// A refusal found now is no update that stops half-way.
#[derive(Debug)]
pub(super) struct DryRun;

impl Check for DryRun {
    fn name(&self) -> &'static str {
        "DryRun"
    }

    fn findings(&self, view: &View<'_>) -> Vec<Finding> {
        let found = view.trials.iter().filter_map(|trial| {
            let (file, id) = (&trial.file, &trial.id);
            match &trial.error {
                // A webhook that cannot be tried says nothing about the object.
                StoreError::Refused { why } if why.contains("does not support dry run") => None,
                StoreError::Refused { why } | StoreError::Forbidden { why } => {
                    Some(Finding::blocking(self, format!("{id} ({file}): {why}")))
                }
                error @ StoreError::TooLarge { .. } => {
                    Some(Finding::blocking(self, format!("{id} ({file}): {error}.")))
                }
                StoreError::NoSuchKind { .. } => {
                    let message = format!(
                        "{id} ({file}): the cluster does not serve this kind, and the release does not define it."
                    );
                    Some(Finding::blocking(self, message))
                }
                StoreError::Away { .. }
                | StoreError::Missing { .. }
                | StoreError::Conflict { .. }
                | StoreError::AnswerTooLarge { .. } => None,
            }
        });
        found.collect()
    }
}
