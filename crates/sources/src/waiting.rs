//! Tells a person who waits for a server what is waited for, and for how long at most.
//!
//! It is written to the log under a target of its own ([`TARGET`]) at the debug level: commands show it, and services,
//! for which a slow answer is nothing special, do not.

use std::fmt::Display;
use std::time::Duration;

/// The target of these lines.
pub const TARGET: &str = "clearway_waiting";

/// How long a request may take before somebody is told.
const SILENCE: Duration = Duration::from_secs(3);

/// Failed attempts that are not worth a line: they are over before somebody notices.
const QUIET_ATTEMPTS: u32 = 2;

/// Waits for an answer; after a few seconds somebody is told for what.
pub(crate) async fn for_answer<T>(server: impl Display, limit: Duration, answer: impl Future<Output = T>) -> T {
    tokio::pin!(answer);
    if let Ok(answer) = tokio::time::timeout(SILENCE, &mut answer).await {
        return answer;
    }
    tracing::debug!(
        target: TARGET,
        "no answer from {server} for {} seconds; waiting for up to {} seconds",
        SILENCE.as_secs(),
        limit.as_secs()
    );
    answer.await
}

/// Tells that something is tried again. The number of the attempt counts from 1.
pub(crate) fn to_retry(server: impl Display, why: impl Display, attempt: u32, attempts: Option<u32>, delay: Duration) {
    if attempt <= QUIET_ATTEMPTS {
        return;
    }
    let of = attempts.map(|attempts| format!(" of {attempts}")).unwrap_or_default();
    tracing::debug!(
        target: TARGET,
        "cannot reach {server}: {why}; attempt {attempt}{of} failed, trying again in {:.1} seconds",
        delay.as_secs_f64()
    );
}
