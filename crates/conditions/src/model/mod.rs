//! The condition model: what a condition is, how a controller reports its own, and how anybody's are read.

mod list;
mod message;
mod names;
mod observed;
mod pruning;
mod schema;
mod words;

pub use list::{Condition, Conditions, Oddity, Remark};
pub use message::{CUT_MARK, MAX_MESSAGE_BYTES, Message};
pub use names::{ConditionType, MAX_REASON_BYTES, MAX_TYPE_BYTES, NameError, REASON_PATTERN, Reason, TYPE_PATTERN};
pub use observed::{Generation, GenerationError, ObjectStatus, Observed};
pub use pruning::KeptFields;
pub use schema::{MAX_CONDITIONS, conditions_schema};
pub use words::{ConditionSeverity, Polarity, Presence, Status, StatusError};
