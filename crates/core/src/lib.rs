//! Clearway's vocabulary: the few words every other crate speaks.
//!
//! Nothing here has effects. Time is a [`Timestamp`] handed in, bounds are [`Limits`] handed in, and what is wrong with
//! somebody's input is a [`Diagnostic`] handed back. Start at [`Version`] for what is updated, at [`ObjectId`]
//! for how objects of Kubernetes are named, and at [`Diagnostic`] for how every linter of the product speaks.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

mod address;
mod arch;
mod bearer_token;
pub mod diagnostic;
mod digest;
mod entity_tag;
mod event;
pub mod expression;
mod json_size;
pub mod limits;
mod object;
mod open_connections;
pub mod suggestion;
pub mod terminal_text;
mod timestamp;
mod value_path;
mod version;

pub use address::{Address, redacted};
pub use arch::{Arch, ArchError};
pub use bearer_token::{BearerToken, BearerTokenError};
pub use diagnostic::{Diagnostic, Excerpt, Place, Position, Severity};
pub use digest::{Algorithm, Digest, DigestError};
pub use entity_tag::EntityTag;
pub use event::{Event, EventType};
pub use json_size::JsonSize;
pub use limits::{CapExceeded, GraphLimits, Limits, RegistryLimits};
pub use object::form;
pub use object::{
    Generation, GenerationError, GroupKind, GroupVersionKind, ObjectId, ObjectName, ObjectReference,
    ObjectReferenceError, Observed, is_config_map, is_secret_kind, split_api_version,
};
pub use open_connections::{OpenConnection, OpenConnections};
pub use timestamp::{Timestamp, TimestampError, humanize};
pub use value_path::ValuePath;
pub use version::{Version, VersionError};
