//! How often and when a request is tried again.
//!
//! Delays double up to a ceiling and are spread by a jitter, so that many clients do not come back all at once. The
//! jitter is computed from a seed: with the same seed, the same request waits the same time.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::Duration;

use crate::oci::OciError;
use crate::waiting;

/// How patient requests are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// How often a request is tried before it has failed.
    ///
    /// The default is meant for a registry that fails every second request: then one request of 4096 is given up.
    pub attempts: u32,
    /// The delay before the second attempt, at most; it doubles with each further one.
    pub first: Duration,
    /// The longest delay.
    pub longest: Duration,
    /// The longest delay that a registry may ask for (`Retry-After`).
    pub longest_asked: Duration,
    /// What the jitter is computed from; by default another one in each process.
    pub seed: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Pace {
            attempts: 12,
            first: Duration::from_millis(200),
            longest: Duration::from_secs(4),
            longest_asked: Duration::from_mins(1),
            seed: RandomState::new().hash_one("jitter"),
        }
    }
}

/// What went wrong with one attempt.
#[derive(Debug)]
pub(in crate::oci) enum AttemptError {
    /// The next attempt may succeed.
    Passing {
        /// What happened.
        why: String,
        /// How long the registry wants to be left alone.
        wait: Option<Duration>,
    },
    /// Every further attempt would end the same way.
    Lasting(OciError),
}

impl AttemptError {
    pub(in crate::oci) fn passing(why: impl Into<String>) -> Self {
        AttemptError::Passing { why: why.into(), wait: None }
    }
}

impl From<OciError> for AttemptError {
    fn from(error: OciError) -> Self {
        AttemptError::Lasting(error)
    }
}

impl Pace {
    /// The delay after a failed attempt (the first is 1) at something.
    pub(in crate::oci) fn delay(&self, attempt: u32, at: &str, asked: Option<Duration>) -> Duration {
        let doubled = self.first.saturating_mul(1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX));
        let most = doubled.min(self.longest);
        let spread = jitter(self.seed, at, attempt);
        // Between half of it and all of it.
        let jittered = most / 2 + (most / 2).mul_f64(spread);
        jittered.max(asked.unwrap_or_default().min(self.longest_asked))
    }

    /// Tries until it succeeds, fails for good, or has been tried often enough.
    pub(in crate::oci) async fn persist<T, F>(&self, at: &str, mut attempt: impl FnMut() -> F) -> Result<T, OciError>
    where
        F: Future<Output = Result<T, AttemptError>>,
    {
        let mut tried = 0;
        loop {
            tried += 1;
            match attempt().await {
                Ok(value) => return Ok(value),
                Err(AttemptError::Lasting(error)) => return Err(error),
                Err(AttemptError::Passing { why, .. }) if tried >= self.attempts => {
                    return Err(OciError::Unreachable { at: at.to_owned(), attempts: tried, why });
                }
                Err(AttemptError::Passing { wait, why }) => {
                    let delay = self.delay(tried, at, wait);
                    waiting::to_retry(at, why, tried, Some(self.attempts), delay);
                    tokio::time::sleep(delay).await;
                }
            }
        }
    }
}

/// A number from 0 to 1 that follows from the arguments.
fn jitter(seed: u64, at: &str, attempt: u32) -> f64 {
    // Not `RandomState`: the same arguments are to give the same number in every process.
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write_u64(seed);
    hasher.write(at.as_bytes());
    hasher.write_u32(attempt);
    f64::from(u32::try_from(hasher.finish() >> 32).unwrap_or(u32::MAX)) / f64::from(u32::MAX)
}

/// The delay of a `Retry-After` header; only its form in seconds, which is what registries send.
pub(in crate::oci) fn retry_after(value: &str) -> Option<Duration> {
    value.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace() -> Pace {
        Pace { seed: 7, ..Pace::default() }
    }

    #[test]
    fn delays_grow_within_bounds_and_follow_from_the_seed() {
        let pace = pace();
        for attempt in 1..40 {
            let most = (pace.first * 2_u32.pow(attempt.min(12) - 1)).min(pace.longest);
            let delay = pace.delay(attempt, "a", None);
            assert!(delay >= most / 2 && delay <= most, "{attempt}: {delay:?}");
            assert_eq!(delay, pace.delay(attempt, "a", None));
            assert_ne!(delay, pace.delay(attempt, "b", None));
        }
    }

    #[test]
    fn what_the_registry_asks_for_is_honoured_within_a_bound() {
        let asked = |header| pace().delay(1, "a", retry_after(header));
        assert_eq!(asked("7"), Duration::from_secs(7));
        assert_eq!(asked("86400"), Duration::from_mins(1));
        assert!(asked("0") < Duration::from_secs(1));
        assert!(asked("Wed, 21 Oct 2015 07:28:00 GMT") < Duration::from_secs(1));
        assert!(asked("-1") < Duration::from_secs(1));
    }

    #[tokio::test]
    async fn passing_trouble_is_tried_again_and_lasting_trouble_is_not() {
        let pace = Pace { attempts: 3, first: Duration::ZERO, ..pace() };
        let mut tried = 0;
        let error = pace
            .persist("here", || {
                tried += 1;
                std::future::ready(Err::<(), _>(AttemptError::passing("the registry answers 502")))
            })
            .await
            .unwrap_err();
        assert_eq!(tried, 3);
        assert_eq!(
            error.to_string(),
            "here: failed after 3 attempts: the registry answers 502; try again when the registry is available"
        );
        tried = 0;
        let lasting = || OciError::NotFound { at: "here".into(), what: "tag" };
        let error = pace
            .persist("here", || {
                tried += 1;
                std::future::ready(Err::<(), _>(lasting().into()))
            })
            .await
            .unwrap_err();
        assert_eq!((tried, error.kind()), (1, "not_found"));
    }
}
