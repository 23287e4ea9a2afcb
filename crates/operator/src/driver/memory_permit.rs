//! One permit for what needs much memory for a short time: parsing an answer of an update service, reading the objects that
//! rules ask about, and parsing a release that a rule asks about. Nothing holds it while it waits for a registry.
//!
//! Another permit is for a round of fetching releases for rules, whose files are kept until all of them are fetched. It may
//! be held for minutes, and only rounds wait for it.
//!
//! Each of these has a limit of its own. With many add-ons, whose publishers may all be hostile at the same moment, the
//! limits would add up; with the permit the operator needs the memory of one of them.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Hands out one permit of each sort at a time. Clones share them.
#[derive(Debug, Clone)]
pub struct MemoryPermit {
    memory: Arc<Semaphore>,
    release_round: Arc<Semaphore>,
}

impl Default for MemoryPermit {
    fn default() -> Self {
        MemoryPermit { memory: Arc::new(Semaphore::new(1)), release_round: Arc::new(Semaphore::new(1)) }
    }
}

impl MemoryPermit {
    /// Waits for the permit, in the order of calls; it is returned when the value is dropped. `None` if the permit is never
    /// handed out again, which the caller treats as permitted.
    pub async fn acquire(&self) -> Option<OwnedSemaphorePermit> {
        self.memory.clone().acquire_owned().await.ok()
    }

    /// The same with the permit to fetch the releases of one round.
    pub async fn acquire_release_round(&self) -> Option<OwnedSemaphorePermit> {
        self.release_round.clone().acquire_owned().await.ok()
    }
}
