//! One permit for what needs much memory for a short time: parsing an answer of an update service, and reading the objects
//! that rules ask about.
//!
//! Each of these has a limit of its own. With many add-ons, whose publishers may all be hostile at the same moment, the
//! limits would add up; with the permit the operator needs the memory of one of them.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Hands out one permit at a time. Clones share it.
#[derive(Debug, Clone)]
pub struct MemoryPermit(Arc<Semaphore>);

impl Default for MemoryPermit {
    fn default() -> Self {
        MemoryPermit(Arc::new(Semaphore::new(1)))
    }
}

impl MemoryPermit {
    /// Waits for the permit, in the order of calls; it is returned when the value is dropped. `None` if the permit is never
    /// handed out again, which the caller treats as permitted.
    pub async fn acquire(&self) -> Option<OwnedSemaphorePermit> {
        self.0.clone().acquire_owned().await.ok()
    }
}
