//! Why a Prometheus did not answer, by what a person or a retry can do about it.

use std::path::PathBuf;

use clearway_core::{Address, humanize};

use crate::http::HttpError;
use crate::service::RequestUrl;

/// What an answer has too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Bytes of a body, or of all bodies of a collection.
    Bytes,
    /// Series.
    Series,
    /// Samples.
    Samples,
}

impl Measure {
    fn as_str(self) -> &'static str {
        match self {
            Measure::Bytes => "bytes",
            Measure::Series => "series",
            Measure::Samples => "samples",
        }
    }
}

/// Why a Prometheus did not give what it was asked for. No variant holds a token or a password.
#[derive(Debug, thiserror::Error)]
pub enum PrometheusError {
    /// The address is none.
    #[error("`{url}` is not the address of a Prometheus: {why}")]
    Address {
        /// What was given.
        url: Address,
        /// What is wrong with it.
        why: String,
    },
    /// Nobody can be spoken to.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// A file that proves who asks cannot be used.
    #[error("{} cannot be used as {what}: {why}", path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// Nobody answers, or the connection broke.
    #[error("{url} cannot be reached: {why}")]
    Unreachable {
        /// What was asked.
        url: RequestUrl,
        /// What failed.
        why: String,
    },
    /// The answer was not complete in time.
    #[error("{url}: no complete answer within {limit:?}")]
    Timeout {
        /// What was asked.
        url: RequestUrl,
        /// How long was waited.
        limit: std::time::Duration,
    },
    /// Prometheus, or something before it, refuses or has failed.
    #[error("{url} answers {status}{}", explained(error_type, why))]
    Refused {
        /// What was asked.
        url: RequestUrl,
        /// The status code.
        status: u16,
        /// The kind of error in the words of the API: `bad_data`, `execution`, `timeout`, `canceled`, `internal`,
        /// `unavailable`, `not_found` …; empty if the answer is none of the API's.
        error_type: String,
        /// What the answer says; empty if it says nothing readable.
        why: String,
    },
    /// There is more than is wanted.
    #[error("{url}: the answer has more than {limit} {}; select fewer series, or raise the limit", measure.as_str())]
    TooLarge {
        /// What was asked.
        url: RequestUrl,
        /// Of what there is too much.
        measure: Measure,
        /// The limit.
        limit: u64,
    },
    /// The body is no answer of the API.
    #[error("{url}: {why}")]
    NotAnAnswer {
        /// What was asked.
        url: RequestUrl,
        /// What it is instead.
        why: String,
    },
    /// The answer is about another time than was asked for: replayed by a cache, or invented.
    #[error("{url}: the answer is for another time than requested (difference: {})", humanize(*difference))]
    OtherTime {
        /// What was asked.
        url: RequestUrl,
        /// How far the times are apart.
        difference: std::time::Duration,
    },
    /// Some stores behind it did not answer, or the engine doubts its result. What is missing may be what matters.
    #[error("{url}: the answer has warnings and may be partial: {}", warnings.join("; "))]
    PartialResponse {
        /// What was asked.
        url: RequestUrl,
        /// The warnings, each in one line.
        warnings: Vec<String>,
    },
}

impl PrometheusError {
    /// A stable word for the kind of error.
    pub fn kind(&self) -> &'static str {
        match self {
            PrometheusError::Address { .. } => "address",
            PrometheusError::Http(_) => "client",
            PrometheusError::Credentials { .. } => "credentials",
            PrometheusError::Unreachable { .. } => "unreachable",
            PrometheusError::Timeout { .. } => "timeout",
            PrometheusError::Refused { .. } => "refused",
            PrometheusError::TooLarge { .. } => "too_large",
            PrometheusError::NotAnAnswer { .. } => "not_an_answer",
            PrometheusError::OtherTime { .. } => "other_time",
            PrometheusError::PartialResponse { .. } => "partial_response",
        }
    }
}

fn explained(error_type: &str, why: &str) -> String {
    match (error_type, why) {
        ("", "") => String::new(),
        ("", why) => format!(": {why}"),
        (kind, "") => format!(" ({kind})"),
        (kind, why) => format!(" ({kind}): {why}"),
    }
}
