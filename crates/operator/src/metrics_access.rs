//! Who may read the operator's metrics: whoever has a token that the API server accepts, of a user that may get the URL
//! `/metrics`. What the API server said is used again for a minute, so that a scrape costs it nothing.
//!
//! Anybody who reaches the port can send tokens, so what that costs is bounded: [`MOST_ANSWERS`] answers are kept, and
//! [`MOST_STRANGERS`] tokens that were not allowed before are asked about in a minute. Tokens are kept as hashes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clearway_core::{Digest, Timestamp};
use clearway_sources::kubernetes::{Cluster, ClusterError};

/// How long an answer of the API server is used.
pub const ANSWER_LASTS: Duration = Duration::from_mins(1);
/// Answers that are kept.
pub const MOST_ANSWERS: usize = 64;
/// Tokens that were not allowed before, and that the API server is asked about in a minute.
pub const MOST_STRANGERS: usize = 60;
/// Bytes of a token; those of service accounts have about a thousand.
pub const TOKEN_BYTES: usize = 8 << 10;

/// Whether somebody may read the metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// They may.
    Allowed,
    /// There is no token, or none that the API server accepts.
    Unauthenticated,
    /// The user of the token may not.
    Forbidden,
    /// Too many tokens were tried; later again.
    TooMany,
    /// The API server could not be asked.
    Unknown(String),
}

/// Who knows whether a token gives access: the API server, or a test.
pub trait TokenReviewer: Send + Sync + 'static {
    /// Whether a token gives access.
    fn review(&self, token: &str) -> impl Future<Output = Access> + Send;
}

impl TokenReviewer for Cluster {
    async fn review(&self, token: &str) -> Access {
        let reviewed = async {
            let Some(user) = self.user_of_token(token).await? else { return Ok(Access::Unauthenticated) };
            let allowed = self.may_get_path(&user, "/metrics").await?;
            Ok::<_, ClusterError>(if allowed { Access::Allowed } else { Access::Forbidden })
        };
        reviewed.await.unwrap_or_else(|error| Access::Unknown(error.to_string()))
    }
}

/// Decides who may read the metrics, and remembers it for a minute.
#[derive(Debug)]
pub struct MetricsAccess<R> {
    reviewer: R,
    clock: fn() -> Timestamp,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    /// By the hash of the token.
    answers: BTreeMap<String, (Access, Timestamp)>,
    /// When tokens were asked about that were not allowed before.
    strangers: Vec<Timestamp>,
}

impl<R: TokenReviewer> MetricsAccess<R> {
    /// Nobody is known yet.
    pub fn new(reviewer: R, clock: fn() -> Timestamp) -> Self {
        MetricsAccess { reviewer, clock, memory: Mutex::default() }
    }

    /// Whether who sends this token may read the metrics.
    pub async fn check(&self, token: Option<&str>) -> Access {
        let Some(token) = token.filter(|token| (1..=TOKEN_BYTES).contains(&token.len())) else {
            return Access::Unauthenticated;
        };
        let key = Digest::sha256(token.as_bytes()).hex().to_owned();
        let now = (self.clock)();
        if let Some(answer) = self.memory().recall(&key, now) {
            return answer;
        }
        let access = self.reviewer.review(token).await;
        if let Access::Unknown(why) = &access {
            // Not an answer: the next one asks again.
            tracing::warn!(why, "cannot check who is allowed to read the metrics");
        } else {
            self.memory().remember(key, access.clone(), now);
        }
        access
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    /// What is known about a token; nothing if the API server is to be asked.
    fn recall(&mut self, key: &str, now: Timestamp) -> Option<Access> {
        let known = self.answers.get(key);
        if let Some((access, at)) = known
            && now.since(*at) < ANSWER_LASTS
            && *at <= now
        {
            return Some(access.clone());
        }
        // Who was allowed before is not held up by strangers that try their luck.
        if known.is_some_and(|(access, _)| *access == Access::Allowed) {
            return None;
        }
        self.strangers.retain(|at| *at <= now && now.since(*at) < ANSWER_LASTS);
        if self.strangers.len() >= MOST_STRANGERS {
            return Some(Access::TooMany);
        }
        self.strangers.push(now);
        None
    }

    /// Keeps an answer, in place of the oldest if there are too many; of those that were allowed last.
    fn remember(&mut self, key: String, access: Access, now: Timestamp) {
        self.answers.insert(key, (access, now));
        while self.answers.len() > MOST_ANSWERS {
            let least = self.answers.iter().min_by_key(|(_, (access, at))| (*access == Access::Allowed, *at));
            let Some(least) = least.map(|(key, _)| key.clone()) else { return };
            self.answers.remove(&least);
        }
    }
}

#[cfg(test)]
mod tests;
