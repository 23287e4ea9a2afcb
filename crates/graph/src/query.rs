//! What is asked of a revision or a graph: explanations, paths, differences, drawings, other forms of the files.

pub(crate) mod bit_set;
pub mod convert;
pub mod diff;
pub(crate) mod explain;
pub(crate) mod outgoing;
pub(crate) mod paths;
pub mod render;
pub(crate) mod risk_updates;
pub(crate) mod stranded;
