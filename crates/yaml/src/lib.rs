//! YAML and JSON documents as located trees, within limits.
//!
//! Linters need to say *where* something is wrong, in files nobody here wrote, of any size. So a document becomes a
//! [`tape`]: its values in reading order in one vector, each with its line and column, most of them borrowed from the
//! text. [`read`] goes through a stream of documents (and through the items of a `List`) with the memory of the largest
//! one, reports each unreadable one as a diagnostic, and goes on with the next.
//!
//! Scalars mean what the Kubernetes tools take them for (see [`scalar`]).

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

mod build;
mod read;
pub mod scalar;
mod split;
pub mod tape;

pub use build::FieldFilter;
pub use read::{ReadEvent, Source, Summary, codes, read, read_documents, read_fields};
pub use tape::{Node, Span, Tape, Value};
