//! The condition model: what a condition is, how a controller reports its own, and how anybody's are read.

mod words;

pub use words::{ConditionSeverity, Polarity, Presence, Status, StatusError};
