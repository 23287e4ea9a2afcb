//! When something is due that strangers see: requests to update services and registries.
//!
//! How long an answer is worked on, and how long objects are looked at, depends on what objects contain. So what is due next
//! is whole intervals after what was due last, however long that took.

use std::time::Duration;

use clearway_core::Timestamp;

/// The first time after `now` that is whole intervals after `begun`.
pub(super) fn next_due(begun: Timestamp, interval: Duration, now: Timestamp) -> Timestamp {
    let seconds = interval.as_secs().max(1);
    let intervals = (now.since(begun).as_secs() / seconds).saturating_add(1);
    begun.plus(Duration::from_secs(seconds.saturating_mul(intervals)))
}
