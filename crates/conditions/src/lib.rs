//! Status conditions: the model, the roll-up, the lint rules, the health of any object.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

pub mod lint;
pub mod model;
mod object;

pub use object::{NOT_AN_OBJECT, Object, ObjectId};

pub use model::{ConditionSeverity, Polarity, Presence, Status};
