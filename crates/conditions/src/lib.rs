//! Status conditions: the model, the roll-up, the lint rules, the health of any object.
//!
//! Who writes status starts at [`model`], where wrong status does not compile. Who reads what others wrote starts at
//! [`health`] ("how is it doing?") or [`lint`] ("does its status keep to the conventions?"); both look at an [`Object`],
//! whether it came from a file or from an API server.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

pub mod health;
pub mod lint;
pub mod model;
mod object;

pub use object::{NOT_AN_OBJECT, Object};

pub use model::{
    Condition, ConditionSeverity, ConditionType, Conditions, ObjectStatus, Polarity, Presence, Reason, Status,
};
