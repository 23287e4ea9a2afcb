//! The machine's clock, read in one place.

use std::time::{SystemTime, UNIX_EPOCH};

use clearway_core::Timestamp;

/// The present, in whole seconds.
pub fn now() -> Timestamp {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_seconds(seconds).ok()).unwrap_or(Timestamp::EPOCH)
}
