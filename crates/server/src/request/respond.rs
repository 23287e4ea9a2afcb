//! From a request to a response: which of the few paths it is, and what is there.
//!
//! A request for a graph is: look at the headers, look at the query, look up a body, hand it out. Nothing is computed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clearway_core::Timestamp;
use http::header::{
    AGE, ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH,
    RETRY_AFTER, VARY,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use percent_encoding::percent_decode_str;

use crate::data::body::{Body, Content, Variant};
use crate::listen::RequestHandler;
use crate::request::answer_body::AnswerBody;
use crate::request::cors;
use crate::request::negotiate::{MediaType, media_type};
use crate::request::query;
use crate::request::refusal::Refusal;
use crate::service::Service;

/// What goes back to a client.
pub type Answer = Response<AnswerBody>;

/// The longest address that is looked at.
const MAX_ADDRESS: usize = 4096;
/// Which revision an answer is cut from.
const CLEARWAY_REVISION: HeaderName = HeaderName::from_static("clearway-revision");
/// Everything in a request that a response may depend on.
const VARIES: HeaderValue = HeaderValue::from_static(
    "Accept, Accept-Encoding, Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
);
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const GZIP_FILE: HeaderValue = HeaderValue::from_static("application/gzip");
const GZIP_NAME: HeaderValue = HeaderValue::from_static("attachment; filename=\"graph-data.tar.gz\"");
const OCTETS: HeaderValue = HeaderValue::from_static("application/octet-stream");

pub(crate) fn bytes(content: impl Into<Bytes>) -> AnswerBody {
    AnswerBody::whole(content)
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route<'r> {
    Graph,
    OpenApi,
    GraphData,
    /// What follows `signatures/`.
    Signature(&'r str),
    Nothing,
}

impl<'r> Route<'r> {
    pub(crate) fn of(prefix: &str, path: &'r str) -> Self {
        match path.strip_prefix(prefix) {
            Some("/graph" | "/v1/graph") => Route::Graph,
            Some("/openapi" | "/v1/openapi") => Route::OpenApi,
            Some("/graph-data") => Route::GraphData,
            Some(rest) => rest.strip_prefix("/signatures/").map_or(Route::Nothing, Route::Signature),
            None => Route::Nothing,
        }
    }

    /// A name for counters: there are few of them, whatever clients ask for.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Route::Graph => "graph",
            Route::OpenApi => "openapi",
            Route::GraphData => "graph-data",
            Route::Signature(_) => "signatures",
            Route::Nothing => "other",
        }
    }
}

impl Service {
    /// Answers a request. What it has as a body is not looked at.
    pub async fn respond<B>(&self, request: &Request<B>) -> Answer {
        let route = Route::of(self.prefix(), request.uri().path());
        let begin = std::time::Instant::now();
        let mut response = match self.find(route, request).await {
            Ok(found) => found,
            Err(refusal) => self.refuse(&refusal),
        };
        // Even an answer that is always the same varies for a cache: the next one at this address may be an error.
        let headers = response.headers_mut();
        if !headers.contains_key(VARY) {
            headers.insert(VARY, VARIES);
        }
        cors::allow(request.headers(), headers);
        self.metrics().record_answer(route.name(), response.status(), begin.elapsed());
        response
    }

    async fn find<B>(&self, route: Route<'_>, request: &Request<B>) -> Result<Answer, Refusal> {
        let uri = request.uri();
        if uri.path().len() + uri.query().map_or(0, str::len) > MAX_ADDRESS {
            return Err(Refusal::AddressTooLong);
        }
        if route == Route::Nothing {
            return Err(Refusal::NotFound);
        }
        if request.method() == Method::OPTIONS {
            return cors::preflight(request.headers()).ok_or(Refusal::Method);
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return Err(Refusal::Method);
        }
        match route {
            Route::Graph => self.graph(request.headers(), uri.query()).await,
            Route::OpenApi => Ok(self.whole(request.headers(), self.openapi(), JSON).await),
            Route::GraphData => self.graph_data(request.headers()).await,
            Route::Signature(path) => self.signature(path),
            Route::Nothing => Err(Refusal::NotFound),
        }
    }

    async fn graph(&self, headers: &HeaderMap, query: Option<&str>) -> Result<Answer, Refusal> {
        let media_type = media_type(headers).ok_or(Refusal::NotAcceptable)?;
        let asked = query::read(query)?;
        if self.has_feed() {
            let current = self.current();
            let publication = current.as_ref().ok_or(Refusal::NotReady)?;
            if self.mirror().is_none() || publication.knows(&asked.channel) {
                let body = publication.answer(&asked.channel, &asked.arch);
                let (body, header) = (Arc::clone(body), publication.header().clone());
                // The publication is not held while a client waits.
                drop(current);
                return Ok(self.send(headers, &body, media_type, &header, self.confirmed()).await);
            }
        }
        let mirror = self.mirror().ok_or(Refusal::NotReady)?;
        let mirrored = mirror.answer(&asked.channel, &asked.arch).await.map_err(Refusal::Upstream)?;
        Ok(self.send(headers, &mirrored.body, media_type, &mirrored.revision, mirrored.confirmed()).await)
    }

    /// A prepared body, or the news that the client has it already.
    async fn send(
        &self,
        request: &HeaderMap,
        body: &Arc<Body>,
        media_type: MediaType,
        revision: &HeaderValue,
        confirmed: Timestamp,
    ) -> Answer {
        let Some(variant) = body.choose(request) else { return Response::new(bytes("")) };
        let mut response = self.variant_or_unchanged(request, variant).await;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type.as_str()));
        headers.insert(VARY, VARIES);
        headers.insert(CLEARWAY_REVISION, revision.clone());
        self.add_age(headers, confirmed);
        response
    }

    /// A body that has one media type whatever the client takes.
    async fn whole(&self, request: &HeaderMap, body: &Body, media_type: HeaderValue) -> Answer {
        let Some(variant) = body.choose(request) else { return Response::new(bytes("")) };
        let mut response = self.variant_or_unchanged(request, variant).await;
        response.headers_mut().insert(CONTENT_TYPE, media_type);
        response.headers_mut().insert(CACHE_CONTROL, self.cache_control(Duration::ZERO));
        response
    }

    /// How old the data of an answer is, and until when the answer may be used.
    fn add_age(&self, headers: &mut HeaderMap, confirmed: Timestamp) {
        let age = self.now().since(confirmed);
        headers.insert(AGE, HeaderValue::from(age.as_secs()));
        headers.insert(CACHE_CONTROL, self.cache_control(age));
    }

    async fn graph_data(&self, request: &HeaderMap) -> Result<Answer, Refusal> {
        let publication = self.publication().ok_or_else(|| self.without_files())?;
        let mut response = self.whole(request, publication.graph_data(), GZIP_FILE).await;
        let headers = response.headers_mut();
        headers.insert(CONTENT_DISPOSITION, GZIP_NAME);
        headers.insert(CLEARWAY_REVISION, publication.header().clone());
        self.add_age(headers, self.confirmed());
        Ok(response)
    }

    /// `ALGORITHM=DIGEST/NAME`, found as `ALGORITHM/DIGEST/NAME`. Only names that were read from graph-data are found, so
    /// no path leads anywhere else.
    fn signature(&self, path: &str) -> Result<Answer, Refusal> {
        let path = percent_decode_str(path).decode_utf8_lossy();
        let (digest, name) = path.split_once('/').ok_or(Refusal::NotFound)?;
        let invalid = |why: String| Refusal::InvalidSignature(why);
        let (algorithm, hex) = digest
            .split_once('=')
            .ok_or_else(|| invalid(format!("provided digest is in incorrect format: {digest}")))?;
        if !["sha", "sha256"].contains(&algorithm) {
            return Err(invalid(format!("algo not supported: {algorithm}")));
        }
        if hex.is_empty() || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(invalid(format!("provided digest is in incorrect format: {digest}")));
        }
        let current = self.current();
        let publication = current.as_ref().ok_or_else(|| self.without_files())?;
        let found = publication.signature(&format!("{algorithm}/{hex}/{name}"));
        let mut response = Response::new(bytes(found.ok_or_else(|| Refusal::NoSignature(path.to_string()))?.clone()));
        response.headers_mut().insert(CONTENT_TYPE, OCTETS);
        response.headers_mut().insert(CACHE_CONTROL, self.cache_control(Duration::ZERO));
        Ok(response)
    }

    /// A service that only mirrors another has no files, and never will.
    fn without_files(&self) -> Refusal {
        if self.has_feed() { Refusal::NotReady } else { Refusal::NotFound }
    }

    async fn variant_or_unchanged(&self, request: &HeaderMap, variant: &Variant) -> Answer {
        let mut response = if has(request, &variant.tag) {
            let mut response = Response::new(bytes(""));
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        } else {
            Response::new(match &variant.content {
                Content::Kept(content) => bytes(content.clone()),
                Content::Packed { gzip, length } => self.unpack(gzip.clone(), *length).await,
            })
        };
        let headers = response.headers_mut();
        headers.reserve(10);
        headers.insert(ETAG, variant.tag.clone());
        if let Some(name) = variant.coding.name() {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(name));
        }
        response
    }

    fn refuse(&self, refusal: &Refusal) -> Answer {
        self.metrics().record_refusal(refusal.kind(), refusal.status());
        let body = refusal.body();
        let mut response = Response::new(bytes(body.clone()));
        *response.status_mut() = refusal.status();
        let headers = response.headers_mut();
        if !body.is_empty() {
            headers.insert(CONTENT_TYPE, JSON);
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        match refusal {
            Refusal::Method => headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD")),
            Refusal::NotReady => headers.insert(RETRY_AFTER, HeaderValue::from_static("5")),
            _ => None,
        };
        response
    }
}

impl RequestHandler for Service {
    async fn respond(&self, request: Request<Incoming>) -> Answer {
        Service::respond(self, &request).await
    }
}

/// Whether a client says that it has the body of this tag. A tag that a cache made weak is the same here.
pub(crate) fn has(request: &HeaderMap, tag: &HeaderValue) -> bool {
    request.get_all(IF_NONE_MATCH).into_iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).any(
        |known| {
            let known = known.trim_ascii();
            known == b"*" || known.strip_prefix(b"W/").unwrap_or(known) == tag.as_bytes()
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_one_thing() {
        for (prefix, path, want) in [
            ("/api", "/api/graph", Route::Graph),
            ("/api", "/api/v1/graph", Route::Graph),
            ("", "/graph", Route::Graph),
            ("/api", "/api/openapi", Route::OpenApi),
            ("/api", "/api/v1/openapi", Route::OpenApi),
            ("/api", "/api/graph-data", Route::GraphData),
            ("/api", "/api/signatures/sha256=ab/signature-1", Route::Signature("sha256=ab/signature-1")),
            ("/api", "/api/graph/", Route::Nothing),
            ("/api", "/apigraph", Route::Nothing),
            ("/api", "/api", Route::Nothing),
            ("/api", "/graph", Route::Nothing),
            ("/api", "/api/v2/graph", Route::Nothing),
            ("/api", "/", Route::Nothing),
        ] {
            assert_eq!(Route::of(prefix, path), want, "{prefix} {path}");
        }
    }

    #[test]
    fn a_client_s_tags_are_compared_as_the_standard_says() {
        let tag = HeaderValue::from_static("\"abc\"");
        for (sent, known) in [
            ("\"abc\"", true),
            ("W/\"abc\"", true),
            ("\"x\", \"abc\"", true),
            ("\"x\",W/\"abc\" ", true),
            ("*", true),
            ("\"abc-gzip\"", false),
            ("abc", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_static(sent))]);
            assert_eq!(has(&headers, &tag), known, "{sent}");
        }
    }
}
