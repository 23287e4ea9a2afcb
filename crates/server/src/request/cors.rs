//! Other origins may read everything: there is nothing here that is not public, and nothing that can be changed.

use http::header::{
    ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_METHOD, CONTENT_TYPE, ORIGIN,
};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};

use crate::request::respond::{Answer, bytes};

/// What a script of another origin may read besides the body.
const EXPOSED: HeaderValue = HeaderValue::from_static("ETag, Age, Clearway-Revision");
/// A day: the answer to a preflight request does not change.
const PREFLIGHT_AGE: HeaderValue = HeaderValue::from_static("86400");

/// Lets the origin that asked read the response.
pub(crate) fn allow(request: &HeaderMap, response: &mut HeaderMap) {
    if let Some(origin) = request.get(ORIGIN) {
        response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        response.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
}

/// The answer to a preflight request; nothing if the request is none.
pub(crate) fn preflight(request: &HeaderMap) -> Option<Answer> {
    request.get(ORIGIN)?;
    let method = request.get(ACCESS_CONTROL_REQUEST_METHOD)?;
    let mut response = Response::new(bytes(""));
    if ![Method::GET, Method::HEAD].iter().any(|known| method.as_bytes() == known.as_str().as_bytes()) {
        *response.status_mut() = StatusCode::BAD_REQUEST;
        *response.body_mut() = bytes("Requested method is not allowed");
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        return Some(response);
    }
    allow(request, response.headers_mut());
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("HEAD, GET"));
    response.headers_mut().insert(ACCESS_CONTROL_MAX_AGE, PREFLIGHT_AGE);
    Some(response)
}
