//! ClusterVersion (`config.openshift.io/v1`) and ComponentVersion (`clearway.dev/v1alpha1`): one [`Spec`], one [`Status`].
//!
//! The types are the one source of both channels' CRDs: doc comments become descriptions, `schemars` attributes become
//! validation, and what is experimental is marked here and nowhere else (V2). A field is required in the CRD exactly if it
//! is always written. They are wire-compatible with OpenShift's ClusterVersion, whose clients have to work unchanged.
//!
//! Writing is exact, reading is not (V6, U22): unknown fields are passed over, what is missing or `null` has its
//! default, and an element of the wrong shape is left out and named ([`ReadProblem`]) while the rest is read. Start at
//! [`VersionObject::read`].
//!
//! Since unknown fields are passed over, a whole object or spec that was read is never written back: newer clients may
//! have put more into it. Status is ours and written whole; of a spec only the fields that are to change are patched, and
//! [`Spec`] is written only where an object is created.

#![allow(
    clippy::doc_markdown,
    reason = "the comments on these types are descriptions in the CRDs, which are plain text"
)]

mod conditional;
mod definitions;
mod kind;
mod object;
mod read;
mod release;
mod rule;
mod schema;
mod spec;
mod status;

pub use conditional::{ConditionalUpdate, ConditionalUpdateRisk, EVALUATING, RECOMMENDED};
pub use definitions::{bundle_version, crds};
pub use kind::{Kind, SINGLETON};
pub use object::{ReadError, VersionObject};
pub use read::ReadProblem;
pub use release::{AcceptRisk, MULTI, Release, Update, same_image};
pub use rule::ClusterCondition;
pub use spec::{AcceptedRisk, CapabilitiesSpec, ComponentOverride, ConfigMapReference, SignatureStore, Spec};
pub use status::{CapabilitiesStatus, Status, UpdateHistory, UpdateState};
#[cfg(test)]
mod tests;
