//! How much memory what is kept of update services may take, shared by the drivers of all objects ([`MemoryBudget`]).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clearway_update::api::Kind;
use clearway_update::upstream::{BudgetLimits, MemberId, MemoryBudget};

/// The budget of one operator. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct AnswerMemory(Arc<Mutex<MemoryBudget>>);

impl AnswerMemory {
    /// A budget with other limits than the usual ones.
    pub fn new(limits: BudgetLimits) -> Self {
        AnswerMemory(Arc::new(Mutex::new(MemoryBudget::new(limits))))
    }

    /// The part of an object that is followed from now on.
    pub(super) fn join(&self, kind: Kind) -> AnswerShare {
        AnswerShare { memory: self.clone(), id: self.budget().join(kind) }
    }

    fn budget(&self) -> MutexGuard<'_, MemoryBudget> {
        // Each change is complete before anything could fail.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one object takes of the budget; it is returned when the value is dropped.
#[derive(Debug)]
pub(super) struct AnswerShare {
    memory: AnswerMemory,
    id: MemberId,
}

impl AnswerShare {
    /// The most that the object may keep at present.
    pub(super) fn room(&self) -> usize {
        self.memory.budget().room(self.id)
    }

    /// Accepts an answer that takes so much; an error with the room that there is.
    pub(super) fn accept(&self, bytes: usize) -> Result<(), usize> {
        self.memory.budget().accept(self.id, bytes)
    }

    /// Notes what is kept; `arrived` with the bytes of an accepted answer that was taken in, or is not needed.
    pub(super) fn set_kept(&self, bytes: usize, arrived: Option<usize>) {
        self.memory.budget().set_kept(self.id, bytes, arrived);
    }
}

impl Drop for AnswerShare {
    fn drop(&mut self) {
        self.memory.budget().leave(self.id);
    }
}

#[cfg(test)]
mod tests;
