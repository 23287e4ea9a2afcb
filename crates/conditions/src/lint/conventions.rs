//! What is conventional: the profiles of projects, the condition types they know, and the patterns of names.

pub(in crate::lint) mod pattern;
pub(in crate::lint) mod profile;
pub(in crate::lint) mod table;
