//! Gateway API: from a set of objects to the status that each should have, and what becomes of traffic.
//!
//! [`Engine`] takes objects ([`model::Object`]) and their changes, and computes the status of each by the rules of the
//! specification, with the causes of what is wrong; [`Settings`] say what is assumed of the implementation. What is known
//! of a data plane is stated too: which share of the requests of a rule fails ([`Engine::traffic`]).

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

pub mod audit;
pub mod difference;
pub mod drawing;
mod engine;
pub mod explain;
pub mod hostname;
pub mod model;
pub mod pages;
pub mod publish;
pub mod selector;
pub mod settings;
pub mod status;
pub mod words;

pub use engine::{Change, Engine, GrantVerdict, RouteTraffic, RuleTraffic, TrafficAnswer, TrafficShare};
pub use model::{Object, ObjectKey, ObjectKind};
pub use settings::Settings;
pub use status::ObjectStatus;
