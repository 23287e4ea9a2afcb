//! What an evaluation has used, and whether that is too much.

use crate::cost::limits::Budget;
use crate::error::ErrorClass;

/// Counts cost, memory and work against a budget.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    pub(crate) cost: u64,
    pub(crate) cost_limit: u64,
    memory_left: u64,
    pub(crate) work_left: u64,
}

impl Meter {
    pub(crate) fn new(budget: &Budget) -> Self {
        Meter { cost: 0, cost_limit: budget.cost, memory_left: budget.memory, work_left: budget.work }
    }

    /// Adds cost.
    pub(crate) fn charge(&mut self, cost: u64) -> Result<(), ErrorClass> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.cost_limit { Err(ErrorClass::CostLimit) } else { Ok(()) }
    }

    /// Something of so many bytes is made.
    pub(crate) fn memory(&mut self, bytes: usize) -> Result<(), ErrorClass> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.memory_left = self.memory_left.checked_sub(bytes).ok_or(ErrorClass::MemoryLimit)?;
        Ok(())
    }

    /// So many elements, or parts of texts, are looked at.
    pub(crate) fn work(&mut self, steps: usize) -> Result<(), ErrorClass> {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        self.work_left = self.work_left.checked_sub(steps).ok_or(ErrorClass::WorkLimit)?;
        Ok(())
    }

    /// One more element is put into a list whose length is not known before; [`Meter::elements`] of none is the list.
    pub(crate) fn element(&mut self) -> Result<(), ErrorClass> {
        self.work(1)?;
        self.memory(ELEMENT_BYTES)
    }

    /// A list or map with so many elements is made. To be asked before it is, so that none grows beyond the limit.
    pub(crate) fn elements(&mut self, count: usize) -> Result<(), ErrorClass> {
        self.work(count)?;
        self.memory(count.saturating_mul(ELEMENT_BYTES).saturating_add(ELEMENT_BYTES))
    }
}

/// What one value in a list takes.
const ELEMENT_BYTES: usize = 48;
