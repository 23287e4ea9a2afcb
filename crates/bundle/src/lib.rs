//! CRD bundles: from Rust types to the CRDs of each channel, and what an installed CRD makes of an object.
//!
//! - [`Definition::crd`] turns the schema that `schemars` makes of a type into a CRD of one [`Channel`], with the
//!   annotations of the bundle (V1). What is experimental is marked in the type, with the keyword [`CHANNEL_KEYWORD`], and
//!   exists in the experimental channel only (V2). Same types, same bytes.
//! - [`CrdSchema`] reads the schema of any CRD as it is installed, and says of an object what the API server would: what
//!   it drops, and what it refuses (U15).

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

mod channel;
mod crd_schema;
mod definition;
mod structural;
mod yaml;

pub use channel::{BUNDLE_VERSION, CHANNEL, Channel, Installed, UnknownChannel};
pub use crd_schema::{CrdSchema, Report};
pub use definition::{Column, Definition, described};
pub use structural::{BuildError, CHANNEL_KEYWORD};
pub use yaml::to_yaml;
