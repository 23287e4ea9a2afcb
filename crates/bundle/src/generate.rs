//! Clearway's own CRDs: Rust types become the CRDs of each channel.

mod definition;
mod structural;
mod yaml;

pub use definition::{Column, Definition, described};
pub use structural::{BuildError, CHANNEL_KEYWORD};
pub use yaml::{to_yaml, write_escaped_yaml, write_plain_yaml};
