//! Pages and files of the console as answers, with the headers that keep browsers from doing anything else with them.

use bytes::Bytes;
use clearway_console::{CONTENT_SECURITY_POLICY, ChangeResult, Page, PageError, Parts};
use clearway_core::Digest;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY as POLICY, CONTENT_TYPE, ETAG, HeaderName,
    LOCATION, REFERRER_POLICY, VARY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use crate::data::body::{Body, Content};
use crate::request::answer_body::AnswerBody;
use crate::request::respond::{Answer, has};

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
/// The browser keeps it, and asks each time whether it is still the same.
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");
const NOT_KEPT: HeaderValue = HeaderValue::from_static("no-store");
/// The name of a file changes with its content.
const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// Bytes in every coding, for as long as the page or file is kept.
pub(super) fn kept(bytes: &[u8]) -> Body {
    Body::compressed(&Bytes::copy_from_slice(bytes), &Digest::sha256(bytes))
}

fn body(body: &Body, request: &HeaderMap) -> Answer {
    let Some(variant) = body.choose(request) else { return Response::new(AnswerBody::whole("")) };
    let mut response = match &variant.content {
        _ if has(request, &variant.tag) => {
            let mut response = Response::new(AnswerBody::whole(""));
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        }
        Content::Kept(bytes) => Response::new(AnswerBody::whole(bytes.clone())),
        // Bodies of the console are kept in every coding.
        Content::Packed { .. } => Response::new(AnswerBody::whole("")),
    };
    let headers = response.headers_mut();
    headers.reserve(12);
    headers.insert(ETAG, variant.tag.clone());
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    if let Some(name) = variant.coding.name() {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(name));
    }
    response
}

/// A page that depends on nothing but the revision.
pub(super) fn page_of_revision(page: &Body, request: &HeaderMap) -> Answer {
    let mut response = body(page, request);
    response.headers_mut().insert(CONTENT_TYPE, HTML);
    response.headers_mut().insert(CACHE_CONTROL, ASK_AGAIN);
    response
}

/// A file that pages refer to.
pub(super) fn asset(asset: &Body, media_type: &'static str, request: &HeaderMap) -> Answer {
    let mut response = body(asset, request);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response.headers_mut().insert(CACHE_CONTROL, FOREVER);
    response
}

/// A page about the present.
pub(super) fn present(page: Page) -> Answer {
    let mut response = Response::new(AnswerBody::whole(page.html));
    response.headers_mut().insert(CONTENT_TYPE, HTML);
    response.headers_mut().insert(CACHE_CONTROL, NOT_KEPT);
    response
}

/// A page that says why there is no other.
pub(super) fn error(error: &PageError, parts: Parts) -> Answer {
    let mut response = present(error.page(parts));
    *response.status_mut() = match error {
        PageError::NotFound(_) => StatusCode::NOT_FOUND,
        PageError::Invalid(_) => StatusCode::BAD_REQUEST,
        PageError::NotReady(_) => StatusCode::SERVICE_UNAVAILABLE,
        PageError::TooLarge | PageError::Template(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    response
}

/// The same with another status.
pub(super) fn refusal(status: StatusCode, why: &str, parts: Parts) -> Answer {
    let mut response = error(&PageError::Invalid(why.to_owned()), parts);
    *response.status_mut() = status;
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// The address is for other methods.
pub(super) fn not_allowed(allowed: &'static str, why: &str, parts: Parts) -> Answer {
    let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, why, parts);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// The page that says what came of a change.
pub(super) fn change(page: Page, result: ChangeResult) -> Answer {
    let mut response = present(page);
    *response.status_mut() = match result {
        ChangeResult::Done => StatusCode::OK,
        ChangeResult::Invalid => StatusCode::BAD_REQUEST,
        ChangeResult::Unauthenticated => StatusCode::UNAUTHORIZED,
        ChangeResult::Forbidden => StatusCode::FORBIDDEN,
        ChangeResult::NotFound => StatusCode::NOT_FOUND,
        ChangeResult::Refused => StatusCode::CONFLICT,
        ChangeResult::Unreachable => StatusCode::BAD_GATEWAY,
    };
    if result == ChangeResult::Unauthenticated {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// The page is elsewhere.
pub(super) fn redirect(to: &'static str) -> Answer {
    let mut response = Response::new(AnswerBody::whole(""));
    *response.status_mut() = StatusCode::FOUND;
    response.headers_mut().insert(LOCATION, HeaderValue::from_static(to));
    response
}

/// What every answer says to browsers. Forms are sent with the origin of their page; other requests have no use for it.
pub(super) fn add_headers(headers: &mut HeaderMap, has_forms: bool) {
    headers.insert(POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Without a referrer, browsers leave out the origin of forms, too.
    let referrer = if has_forms { "same-origin" } else { "no-referrer" };
    headers.insert(REFERRER_POLICY, HeaderValue::from_static(referrer));
    for name in ["cross-origin-opener-policy", "cross-origin-resource-policy"] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static("same-origin"));
    }
}
