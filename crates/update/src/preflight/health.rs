//! What the owner brought about before and is not well now.

use clearway_conditions::health::State;
use clearway_core::ObjectReference;

use super::{Check, Finding, View};
use crate::health::judge;

/// An update on top of something broken makes both harder to understand.
#[derive(Debug)]
pub(super) struct Health;

impl Check for Health {
    fn name(&self) -> &'static str {
        "Health"
    }

    fn findings(&self, view: &View<'_>) -> Vec<Finding> {
        let unwell = |object: &&serde_json::Value| {
            if !view.task.owner.owns(object) {
                return None;
            }
            let verdict = judge(object, None, None, view.now);
            let (key, message) = (ObjectReference::of(object).ok()?, &verdict.message);
            match verdict.state {
                State::Failed => Some(Finding::blocking(self, format!("{key} has failed: {message}"))),
                State::InProgress => Some(Finding::warning(self, format!("{key} is not healthy yet: {message}"))),
                State::Terminating => Some(Finding::warning(self, format!("{key} is being deleted: {message}"))),
                State::Current | State::Suspended | State::NotFound | State::Unknown => None,
            }
        };
        view.live_objects().filter_map(|object| unwell(&object)).collect()
    }
}
