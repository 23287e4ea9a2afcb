//! What is served: where it comes from, how it is prepared, and when the next revision takes its place.

pub(crate) mod archive;
pub(crate) mod body;
pub(crate) mod feed;
pub(crate) mod last_good;
pub(crate) mod publication;
pub(crate) mod refresh;
pub(crate) mod watch;
