//! Reads series from what others write: bytes in, a [`Series`](crate::Series) or a located error out.
//!
//! - [`text`]: the text that programs expose to Prometheus;
//! - [`open_metrics`]: the same in the form of `OpenMetrics`;
//! - [`api()`]: answers of Prometheus' HTTP API;
//! - [`snapshot()`]: our own form, compact and quick to read, written by [`write_snapshot`].
//!
//! All are read within limits, and no input panics.

mod api;
mod cursor;
mod exposition;
mod snapshot;

pub use api::{ApiAnswer, ApiError, api};
pub use exposition::{open_metrics, text};
pub use snapshot::{SNAPSHOT_HEADER, snapshot, write_snapshot};

use crate::series::{BuildError, Capacity};

/// How much is read before it is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadLimits {
    /// Bytes of the input.
    pub bytes: usize,
    /// Series, samples and labels in it.
    pub capacity: Capacity,
}

impl Default for ReadLimits {
    /// A gibibyte, and the default capacity of a store.
    fn default() -> Self {
        ReadLimits { bytes: 1 << 30, capacity: Capacity::default() }
    }
}

/// Why an input is not read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ReadError {
    /// The line, counted from 1.
    pub line: usize,
    /// The character in it, counted from 1.
    pub column: usize,
    /// What is wrong, in one sentence.
    pub message: String,
}

impl ReadError {
    fn at(input: &str, byte: usize, message: impl Into<String>) -> Self {
        let mut end = byte.min(input.len());
        while !input.is_char_boundary(end) {
            end = end.saturating_sub(1);
        }
        let before = input.get(..end).unwrap_or_default();
        let line = before.matches('\n').count().saturating_add(1);
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count().saturating_add(1);
        ReadError { line, column, message: message.into() }
    }

    fn whole(message: impl Into<String>) -> Self {
        ReadError { line: 1, column: 1, message: message.into() }
    }

    fn built(input: &str, error: &BuildError) -> Self {
        ReadError::at(input, input.len(), error.to_string())
    }
}

/// The input as text, if it is not too long.
fn checked<'b>(bytes: &'b [u8], limits: &ReadLimits) -> Result<&'b str, ReadError> {
    if bytes.len() > limits.bytes {
        let message = format!("The input has {} bytes; the limit is {}.", bytes.len(), limits.bytes);
        return Err(ReadError::whole(message));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = bytes.get(..error.valid_up_to()).and_then(|bytes| std::str::from_utf8(bytes).ok());
        ReadError::at(valid.unwrap_or_default(), usize::MAX, "The input is not UTF-8.")
    })
}

#[cfg(test)]
mod tests;
