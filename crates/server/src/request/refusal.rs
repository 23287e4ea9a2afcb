//! What a client is told when it does not get what it asked for: a status, a kind, and a sentence.
//!
//! The kinds and sentences are Cincinnati's where it has one, because clients and dashboards know them.

use http::StatusCode;
use serde_json::json;

use crate::request::query::Field;

/// Why a request is not answered with what it asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The client takes neither of the media types.
    NotAcceptable,
    /// A parameter that must be there is not.
    Missing(Field),
    /// A parameter has a value that cannot be.
    Invalid(Field, String),
    /// The digest or the algorithm of a signature.
    InvalidSignature(String),
    /// There is no such signature.
    NoSignature(String),
    /// There is nothing at this path.
    NotFound,
    /// Only reading is possible.
    Method,
    /// The address is longer than any that makes sense.
    AddressTooLong,
    /// There is no revision yet.
    NotReady,
    /// The upstream service could not be asked, and nothing older of it is known.
    Upstream(String),
}

impl Refusal {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Refusal::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            Refusal::Missing(_) | Refusal::Invalid(..) | Refusal::InvalidSignature(_) => StatusCode::BAD_REQUEST,
            Refusal::NoSignature(_) | Refusal::NotFound => StatusCode::NOT_FOUND,
            Refusal::Method => StatusCode::METHOD_NOT_ALLOWED,
            Refusal::AddressTooLong => StatusCode::URI_TOO_LONG,
            Refusal::NotReady => StatusCode::SERVICE_UNAVAILABLE,
            Refusal::Upstream(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// A word for programs and counters.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Refusal::NotAcceptable => "invalid_content_type",
            Refusal::Missing(_) => "missing_params",
            Refusal::Invalid(..) | Refusal::InvalidSignature(_) => "invalid_params",
            Refusal::NoSignature(_) => "does_not_exist",
            Refusal::NotFound => "not_found",
            Refusal::Method => "method_not_allowed",
            Refusal::AddressTooLong => "uri_too_long",
            Refusal::NotReady => "not_ready",
            Refusal::Upstream(_) => "failed_upstream_fetch",
        }
    }

    /// A sentence for people.
    fn value(&self) -> String {
        match self {
            Refusal::NotAcceptable => "invalid Content-Type requested".to_owned(),
            Refusal::Missing(field) => format!("mandatory client parameters missing: {}", field.name()),
            Refusal::Invalid(field, value) => format!(
                "invalid client parameters: {} '{value}' does not match regex '{}'",
                field.name(),
                field.expression()
            ),
            Refusal::InvalidSignature(why) => why.clone(),
            Refusal::NoSignature(path) => format!("does not exist: signature {path}"),
            Refusal::NotFound | Refusal::Method => String::new(),
            Refusal::AddressTooLong => {
                "the address is too long; channel and arch need only a few dozen bytes".to_owned()
            }
            Refusal::NotReady => "no graph yet: no readable graph-data since the start; try again soon".to_owned(),
            Refusal::Upstream(why) => format!("failed to fetch upstream graph: {why}"),
        }
    }

    /// The JSON that says so; where Cincinnati says nothing, nothing.
    pub(crate) fn body(&self) -> Vec<u8> {
        match self {
            Refusal::NotFound | Refusal::Method => Vec::new(),
            other => json!({"kind": other.kind(), "value": other.value()}).to_string().into_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bodies_are_those_that_clients_know() {
        for (refusal, status, body) in [
            (
                Refusal::Missing(Field::Channel),
                400,
                r#"{"kind":"missing_params","value":"mandatory client parameters missing: channel"}"#,
            ),
            (
                Refusal::Invalid(Field::Channel, "Foo".to_owned()),
                400,
                r#"{"kind":"invalid_params","value":"invalid client parameters: channel 'Foo' does not match regex '^[0-9a-z\\-\\.]+$'"}"#,
            ),
            (
                Refusal::Invalid(Field::Arch, "AMD".to_owned()),
                400,
                r#"{"kind":"invalid_params","value":"invalid client parameters: arch 'AMD' does not match regex '^[0-9a-z]+$'"}"#,
            ),
            (
                Refusal::NotAcceptable,
                406,
                r#"{"kind":"invalid_content_type","value":"invalid Content-Type requested"}"#,
            ),
            (
                Refusal::NoSignature("sha256=ab/signature-1".to_owned()),
                404,
                r#"{"kind":"does_not_exist","value":"does not exist: signature sha256=ab/signature-1"}"#,
            ),
            (Refusal::NotFound, 404, ""),
            (Refusal::Method, 405, ""),
        ] {
            assert_eq!(refusal.status().as_u16(), status, "{refusal:?}");
            assert_eq!(String::from_utf8(refusal.body()).unwrap(), body);
        }
    }
}
