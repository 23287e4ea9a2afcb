//! The condition model: what a condition is, how a controller reports its own, and how anybody's are read.
//!
//! A controller declares its conditions once ([`condition_set!`](crate::condition_set)) and then, each time it looks at
//! an object, makes one [`Pass`]: it reports what it found and gets the new list. The types leave little room for a wrong
//! status: no word but True, False and Unknown, no False without a reason, no summary set by hand, no condition twice, no
//! time that moves by itself, no condition of another controller lost. Readers start at [`ObjectStatus`], which tells a
//! current condition from a stale one.
//!
//! ```
//! use clearway_conditions::model::{Conditions, Pass, Progress, Status, Verdict};
//! use clearway_core::Generation;
//! use clearway_conditions::{condition_set, reason};
//!
//! condition_set! {
//!     /// What a database says of itself.
//!     pub set Database { summary: Ready, progress: true }
//!     /// Always present.
//!     pub always Aspect {
//!         /// The schema is the one the spec asks for.
//!         SchemaApplied: dependent,
//!         /// Clients can connect.
//!         Reachable: dependent,
//!         /// Nobody is connected.
//!         Idle: info,
//!     }
//!     /// Present while something is wrong.
//!     pub problems Problem {
//!         /// The last backup is too old.
//!         BackupOverdue = "example.com/BackupOverdue": problem,
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let stored = Conditions::default(); // `status.conditions` of the object
//! let (generation, now) = (Generation::new(3)?, "2024-05-01T12:00:00Z".parse()?);
//!
//! let mut pass = Pass::<Database>::begin(&stored, generation, now);
//! pass.report(Aspect::SchemaApplied, Verdict::ok());
//! pass.report(Aspect::Reachable, Verdict::bad(reason!("DbDown"), "connection refused by 10.0.0.7:5432"));
//! pass.report(Aspect::Idle, Verdict::ok_because(reason!("NoClients"), "Nobody is connected."));
//! pass.clear(Problem::BackupOverdue);
//! pass.progress(Progress::reconciling(reason!("Restarting"), "Waiting for the server to restart."));
//! let outcome = pass.finish();
//!
//! let ready = outcome.conditions.get("Ready").ok_or("there is always a summary")?;
//! assert_eq!((ready.status, ready.reason), (Status::False, "DbDown"));
//! assert!(outcome.changed);
//! assert_eq!(outcome.transitions.len(), 5); // from absent: Ready, the three aspects, Reconciling
//! # Ok(()) }
//! ```

mod list;
mod observed;
mod pass;
mod pruning;
mod schema;
mod set;
mod words;

pub use list::{Condition, Conditions, ListDefect, ListProblem};
pub use observed::{ObjectStatus, current_status};
pub use pass::verdict::{Progress, Verdict};
pub use pass::{Outcome, Pass, Transition};
pub use pruning::StoredFields;
pub use schema::{MAX_CONDITIONS, conditions_schema};
pub use set::{ConditionKey, ConditionSet, Declaration, NoProblems, Summary, check_set};
pub use words::message::{CUT_MARK, MAX_MESSAGE_BYTES, Message};
pub use words::names::{
    ConditionType, MAX_REASON_BYTES, MAX_TYPE_BYTES, NameError, REASON_PATTERN, Reason, TYPE_PATTERN,
};
pub use words::{ConditionSeverity, Polarity, Presence, Status, StatusError};

#[cfg(test)]
mod tests;
