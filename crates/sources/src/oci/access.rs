//! How a registry is reached: the connection, who asks and how that is proved, and when a request is tried again.

pub(super) mod authorize;
pub(super) mod challenge;
pub(super) mod credentials;
pub(super) mod pace;
pub(super) mod registry;
