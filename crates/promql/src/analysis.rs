//! What is known of a query before it runs: its types, its functions, its shape, and whether it is let through.

pub mod fence;
pub mod functions;
pub mod shape;
pub mod types;
