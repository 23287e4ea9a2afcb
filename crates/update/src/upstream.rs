//! The update service as a reconciler sees it: the request, the answer, and what is cached of both.

pub mod cached_state;
pub mod graph_findings;
pub mod knowledge;
pub mod memory_budget;
pub mod request;

pub use cached_state::CachedState;
pub use graph_findings::GraphFindings;
pub use knowledge::Knowledge;
pub use memory_budget::{BudgetLimits, MemberId, MemoryBudget};
pub use request::{RetrievalError, UpstreamRequest};
