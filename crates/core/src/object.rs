//! How Kubernetes objects are named: their kind, which object is meant, and how to address it; and whether what an object
//! reports is up to date.
//!
//! | type | holds | use it |
//! |---|---|---|
//! | [`GroupKind`] | group, kind | to compare kinds: the versions of a kind hold the same objects |
//! | [`GroupVersionKind`] | group, version, kind | to read or write objects, which happens in one version |
//! | [`ObjectName`] | namespace, name | where the kind is known |
//! | [`ObjectId`] | group, kind, namespace, name | to compare objects, and as a key of maps |
//! | [`ObjectReference`] | kind with version, namespace, name | to address one object in an API |
//!
//! [`form`] says which texts can be names. [`Observed`] is a value that an object reports, with whether it is about the
//! present [`Generation`] of the object.

mod credentials;
pub mod form;
mod id;
mod kind;
mod observed;
mod reference;

pub use credentials::{is_config_map, is_secret_kind};
pub use id::{ObjectId, ObjectName};
pub use kind::{GroupKind, GroupVersionKind, split_api_version};
pub use observed::{Generation, GenerationError, Observed};
pub use reference::{ObjectReference, ObjectReferenceError};
