//! Bounds what a review gives: messages and details are made by templates.

use clearway_policy::ReviewResult;

use super::super::protocol::{ResultMessage, ReviewOutcome};
use super::super::{MAX_MESSAGE_BYTES, MAX_RESULT_BYTES};

/// The most bytes of one message.
const MESSAGE_BYTES: usize = 16 << 10;
/// The most bytes of the details of one violation, as JSON.
const DETAIL_BYTES: usize = 64 << 10;
/// Bytes of a result besides its message and details.
const OTHER_BYTES: usize = 1 << 10;

/// The room in one response.
pub(super) struct ResponseBudget {
    left: usize,
}

impl ResponseBudget {
    pub(super) fn new() -> Self {
        // Escapes may make a text several times as long.
        ResponseBudget { left: usize::try_from(MAX_MESSAGE_BYTES / 8).unwrap_or(usize::MAX) }
    }

    /// The results that fit: those that deny first, long messages cut, and large details left out. A result that denies
    /// is never lost to others.
    pub(super) fn bounded(&mut self, results: Vec<ReviewResult>) -> ReviewOutcome {
        let (mut ordered, rest): (Vec<_>, Vec<_>) = results.into_iter().partition(ReviewResult::denies);
        ordered.extend(rest);
        let mut room = MAX_RESULT_BYTES;
        let mut kept = Vec::new();
        for mut result in ordered {
            if result.message.len() > MESSAGE_BYTES {
                let end = result.message.floor_char_boundary(MESSAGE_BYTES);
                result.message.truncate(end);
                result.message.push_str("...");
            }
            let details = result.details.as_ref().map_or(0, |details| details.to_string().len());
            let details = if details > DETAIL_BYTES { 0 } else { details };
            if details == 0 {
                result.details = None;
            }
            let size = result.message.len().saturating_add(details).saturating_add(OTHER_BYTES);
            if size > room {
                break;
            }
            if size > self.left {
                return ReviewOutcome::Error(format!(
                    "the results of many objects together are larger than {} bytes; review fewer objects at once",
                    MAX_MESSAGE_BYTES / 8
                ));
            }
            room = room.saturating_sub(size);
            self.left = self.left.saturating_sub(size);
            kept.push(ResultMessage::from(result));
        }
        ReviewOutcome::Results(kept)
    }
}

#[cfg(test)]
mod tests {
    use clearway_policy::EnforcementAction;
    use serde_json::json;

    use super::*;

    fn result(action: &str, message: String) -> ReviewResult {
        ReviewResult {
            kind: "K8sX".to_owned(),
            name: "x".to_owned(),
            message,
            details: Some(json!("d".repeat(DETAIL_BYTES))),
            action: EnforcementAction::of(action),
            scoped_actions: Vec::new(),
        }
    }

    #[test]
    fn a_flood_of_large_warnings_hides_no_denial() {
        let mut results: Vec<ReviewResult> = (0..500).map(|_| result("warn", "ä".repeat(MESSAGE_BYTES))).collect();
        results.push(result("deny", "no".to_owned()));
        let ReviewOutcome::Results(kept) = ResponseBudget::new().bounded(results) else { panic!("an error") };
        assert!(kept.len() < 100, "{} results", kept.len());
        let kept: Vec<ReviewResult> = kept.into_iter().map(ReviewResult::from).collect();
        assert_eq!((kept[0].message.as_str(), &kept[0].details), ("no", &None));
        assert_eq!(kept[1].message.len(), MESSAGE_BYTES + 3);
    }

    #[test]
    fn what_many_objects_give_is_bounded_too() {
        let mut budget = ResponseBudget::new();
        let results = || (0..60).map(|_| result("deny", "m".repeat(MESSAGE_BYTES))).collect::<Vec<_>>();
        let outcomes: Vec<bool> =
            (0..10).map(|_| matches!(budget.bounded(results()), ReviewOutcome::Error(_))).collect();
        assert!(!outcomes[0] && outcomes[9], "{outcomes:?}");
    }
}
