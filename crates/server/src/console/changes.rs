//! Forms that callers send: who may send one, what is read of it, and the answer.
//!
//! The console has no login and keeps no session. A caller is known by the bearer token of the request itself, which is
//! handed to [`ClusterChanges`] and forgotten. A page of another site can make a browser send a form here, and a proxy may
//! add an identity to it; so a request has to prove that it comes from a page of this console.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use clearway_console::pages::change as change_page;
use clearway_console::{Change, ChangeOutcome, PageError, Parts};
use clearway_core::{BearerToken, BearerTokenError};
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use tokio::sync::Semaphore;

use super::answer;
use crate::request::respond::Answer;

/// Says where a request comes from. Scripts of pages cannot set it.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FORM: &str = "application/x-www-form-urlencoded";
/// Changes that are made at one time; more of them wait.
const AT_ONE_TIME: usize = 4;

/// Makes changes of a cluster with the identity of the caller, and never with its own.
pub trait ClusterChanges: Send + Sync + 'static {
    /// Makes a change, and says what came of it. The token is used for this change only.
    fn make<'a>(&'a self, change: &'a Change, caller: &'a BearerToken) -> BoxFuture<'a, ChangeOutcome>;
}

/// Bounds on the forms of callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeLimits {
    /// Bytes of a form.
    pub form_bytes: usize,
    /// How long a form may take to arrive.
    pub form_time: Duration,
}

impl Default for ChangeLimits {
    fn default() -> Self {
        ChangeLimits { form_bytes: 16 << 10, form_time: Duration::from_secs(10) }
    }
}

/// Who makes changes, and within which bounds.
pub(super) struct Changes {
    maker: Box<dyn ClusterChanges>,
    limits: ChangeLimits,
    turns: Semaphore,
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Why a form is not looked at.
type Refusal = (StatusCode, &'static str);

impl Changes {
    pub(super) fn new(maker: impl ClusterChanges, limits: ChangeLimits) -> Self {
        Changes { maker: Box::new(maker), limits, turns: Semaphore::new(AT_ONE_TIME) }
    }

    /// The answer to a form that was sent to one of the paths for forms.
    pub(super) async fn answer(&self, request: Request<Incoming>, parts: Parts) -> Result<Answer, PageError> {
        let refused = |(status, why): Refusal| answer::refusal(status, why, parts);
        let (head, body) = request.into_parts();
        if let Err(refusal) = check_origin(&head.headers).and_then(|()| check_type(&head.headers)) {
            return Ok(refused(refusal));
        }
        let from_header = match token_of_header(&head.headers) {
            Ok(token) => token,
            Err(error) => {
                let why = format!("Your identity cannot be used: {error}.");
                return Ok(answer::refusal(StatusCode::UNAUTHORIZED, &why, parts));
            }
        };
        let body = match self.read(body).await {
            Ok(body) => body,
            Err(refusal) => return Ok(refused(refusal)),
        };
        let (change, from_form) = Change::read(head.uri.path(), &body)?;
        let Some(caller) = from_header.or(from_form) else {
            let why =
                "Your identity is missing: fill in the field Token, or use a proxy that adds the header Authorization.";
            return Ok(refused((StatusCode::UNAUTHORIZED, why)));
        };
        let outcome = {
            // The semaphore is never closed.
            let _turn = self.turns.acquire().await;
            self.maker.make(&change, &caller).await
        };
        let page = change_page::render(&change, &outcome, parts)?;
        Ok(answer::change(page, outcome.result))
    }

    async fn read<B>(&self, body: B) -> Result<Bytes, Refusal>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let too_large = (StatusCode::PAYLOAD_TOO_LARGE, "The form is too large.");
        if body.size_hint().lower() > u64::try_from(self.limits.form_bytes).unwrap_or(u64::MAX) {
            return Err(too_large);
        }
        let read = Limited::new(body, self.limits.form_bytes).collect();
        match tokio::time::timeout(self.limits.form_time, read).await {
            Ok(Ok(read)) => Ok(read.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large),
            Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "The form ended before all of it arrived.")),
            Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "The form did not arrive in time.")),
        }
    }
}

/// Whether a request comes from a page of this console. What the browser says about it decides; of an old browser, which
/// says nothing, the origin has to be the host of the request.
fn check_origin(headers: &HeaderMap) -> Result<(), Refusal> {
    let is_own = match headers.get(FETCH_SITE) {
        Some(site) => site == "same-origin",
        None => match (headers.get(ORIGIN).and_then(|origin| origin.to_str().ok()), headers.get(HOST)) {
            (Some(origin), Some(host)) => {
                let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
                name.is_some_and(|name| name.as_bytes().eq_ignore_ascii_case(host.as_bytes()))
            }
            _ => false,
        },
    };
    if is_own {
        return Ok(());
    }
    Err((
        StatusCode::FORBIDDEN,
        "The request does not come from a page of this console. Open the page of the update here.",
    ))
}

fn check_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = value.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case(FORM) {
        return Ok(());
    }
    Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "Only forms are read: application/x-www-form-urlencoded."))
}

/// The token that the browser or a proxy sent with the request; none if the form has to have it.
fn token_of_header(headers: &HeaderMap) -> Result<Option<BearerToken>, BearerTokenError> {
    let Some(value) = headers.get(AUTHORIZATION) else { return Ok(None) };
    let value = value.to_str().map_err(|_| BearerTokenError::Character)?;
    BearerToken::from_authorization(value).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn only_pages_of_the_console_send_forms() {
        for (site, origin, want) in [
            (Some("same-origin"), None, true),
            (Some("same-origin"), Some("https://proxy.example.com"), true),
            (Some("same-site"), Some("http://localhost:9081"), false),
            (Some("cross-site"), Some("http://localhost:9081"), false),
            (Some("none"), None, false),
            (None, Some("http://localhost:9081"), true),
            (None, Some("http://LOCALHOST:9081"), true),
            (None, Some("http://localhost:9082"), false),
            (None, Some("http://localhost:9081.example.com"), false),
            (None, Some("http://example.com/localhost:9081"), false),
            (None, Some("localhost:9081"), false),
            (None, Some("null"), false),
            (None, Some(""), false),
            (None, None, false),
        ] {
            let mut headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost:9081"))]);
            for (name, value) in [(FETCH_SITE, site), (ORIGIN, origin)] {
                if let Some(value) = value {
                    headers.insert(name, HeaderValue::from_static(value));
                }
            }
            assert_eq!(check_origin(&headers).is_ok(), want, "{site:?} {origin:?}");
        }
    }
}
