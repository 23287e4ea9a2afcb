//! The change from a release for one architecture to the one for several, at the same version.
//!
//! Only the graph of multi-architecture releases says where that release is. So while `spec.desiredUpdate.architecture` asks
//! for the change, that graph is asked for, and the release of the present version in it is the only update, as OpenShift's
//! operator has it; updates come afterwards.

use crate::api::{MULTI, Release, Spec, Status};

/// What the update service says of the present version as a multi-architecture release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MultiRelease<'a> {
    /// It has not answered yet.
    Pending,
    /// It did not name it, for this reason.
    Unavailable(&'a str),
    /// The release.
    Found(&'a Release),
}

/// Whether the spec asks for a multi-architecture release.
pub fn requests_multi(spec: &Spec) -> bool {
    spec.desired_update.as_ref().is_some_and(|update| update.architecture.as_deref() == Some(MULTI))
}

/// Whether the object has a multi-architecture release, or is being brought to one.
pub fn is_multi(status: &Status) -> bool {
    status.desired.architecture.as_deref() == Some(MULTI)
}

/// Whether the spec asks for the change.
pub fn changes_architecture(spec: &Spec, status: &Status) -> bool {
    requests_multi(spec) && !is_multi(status)
}
