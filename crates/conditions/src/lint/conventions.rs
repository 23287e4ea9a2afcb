//! What is conventional: the profiles of projects, the condition types they know, and the patterns of names.

pub(super) mod pattern;
pub(super) mod profile;
pub(super) mod table;
