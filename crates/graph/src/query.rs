//! What is asked of a revision or a graph: explanations, paths, differences, drawings, other forms of the files.

pub mod convert;
pub mod diff;
pub(crate) mod explain;
pub(crate) mod outgoing;
pub(crate) mod paths;
pub(crate) mod places;
pub mod render;
pub(crate) mod stranded;
