//! Permits for what needs much memory for a short time.
//!
//! One is for reading the objects that rules ask about, and for parsing a release that a rule asks about. Nothing holds it
//! while it waits for a registry. Another one is for parsing an answer of an update service.
//!
//! Nobody waits for the first one to parse an answer, or to ask for one: how long rules are evaluated depends on what
//! objects contain, and an update service must not learn that from the time of a request.
//!
//! Answers for ComponentVersions are on their way or wait to be parsed only a few at a time, in the order of asking: their
//! publishers are many, and each may send as much as the cap allows, as slowly as the timeout allows. The ClusterVersion
//! waits for none of them.
//!
//! Releases for rules of ComponentVersions are fetched for one look at a time, and for one look at a time releases are
//! evaluated. Who fetches does not hold the permit to evaluate, or wait for it: a registry must not learn how long the
//! rules of others are evaluated. Files that wait for their evaluation have a budget in bytes, and nobody waits for room in it:
//! what does not fit is dropped.
//!
//! Each of these has a limit of its own. With many add-ons, whose publishers may all be hostile at the same moment, the
//! limits would add up; with the permits the operator needs the memory of one of each.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Answers for ComponentVersions that are asked for and parsed at one time.
pub const COMPONENT_ANSWERS: usize = 4;
/// Bytes of files of releases for rules of ComponentVersions that wait to be evaluated, of all of them together.
pub const COMPONENT_RELEASE_BYTES: usize = 16 << 20;

/// Hands out the permits of each sort, most of them one at a time. Clones share them.
#[derive(Debug, Clone)]
pub struct MemoryPermit {
    memory: Arc<Semaphore>,
    parsing: Arc<Semaphore>,
    component_answers: Arc<Semaphore>,
    release_fetch: Arc<Semaphore>,
    release_evaluation: Arc<Semaphore>,
    /// One permit for each byte.
    release_files: Arc<Semaphore>,
}

impl Default for MemoryPermit {
    fn default() -> Self {
        let permits = |count: usize| Arc::new(Semaphore::new(count));
        MemoryPermit {
            memory: permits(1),
            parsing: permits(1),
            component_answers: permits(COMPONENT_ANSWERS),
            release_fetch: permits(1),
            release_evaluation: permits(1),
            release_files: permits(COMPONENT_RELEASE_BYTES),
        }
    }
}

impl MemoryPermit {
    /// Waits for the permit, in the order of calls; it is returned when the value is dropped. `None` if the permit is never
    /// handed out again, which the caller treats as permitted.
    pub async fn acquire(&self) -> Option<OwnedSemaphorePermit> {
        self.memory.clone().acquire_owned().await.ok()
    }

    /// The same with the permit to parse an answer of an update service.
    pub async fn acquire_parsing(&self) -> Option<OwnedSemaphorePermit> {
        self.parsing.clone().acquire_owned().await.ok()
    }

    /// The same with one of the permits to ask for the answer for a ComponentVersion, held until it is parsed.
    pub async fn acquire_component_answer(&self) -> Option<OwnedSemaphorePermit> {
        self.component_answers.clone().acquire_owned().await.ok()
    }

    /// The same with the permit to fetch the releases of a look for a ComponentVersion.
    pub async fn acquire_release_fetch(&self) -> Option<OwnedSemaphorePermit> {
        self.release_fetch.clone().acquire_owned().await.ok()
    }

    /// The same with the permit to evaluate the releases of a look.
    pub async fn acquire_release_evaluation(&self) -> Option<OwnedSemaphorePermit> {
        self.release_evaluation.clone().acquire_owned().await.ok()
    }

    /// Room for so many bytes of files of releases that wait to be evaluated, if there is any now; it is returned when the
    /// value is dropped.
    pub fn keep_release_files(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        self.release_files.clone().try_acquire_many_owned(u32::try_from(bytes).ok()?).ok()
    }
}
