//! An update service as a source: the answer for a channel and an architecture, and the graph-data behind all of them.
//!
//! A service is named by its base (`https://example.com/api/upgrades_info`) or by any of its addresses below it. Start
//! at [`Service::new`]. One call is one request: trying again, and keeping what came before, is the caller's.

use std::time::Duration;

use bytes::Bytes;
use clearway_core::{Address, Arch, EntityTag, GraphLimits, Limits, redacted};
use clearway_graph::Inputs;
use reqwest::header::{ACCEPT, AGE, ETAG, HeaderName, IF_NONE_MATCH};
use reqwest::{RequestBuilder, Response, StatusCode, Url};

use crate::graph_data::{self, ArchiveError};
use crate::http::{self, BodyError, HttpError, HttpOptions};
use crate::waiting;

mod request_url;

pub use request_url::RequestUrl;

/// What follows the base in an address of a service, the longest first.
const ENDPOINTS: [&str; 5] = ["/v1/graph", "/graph-data", "/v1/openapi", "/openapi", "/graph"];
/// The paths below which `clearway serve` and Cincinnati answer, without the `/graph` behind them.
const PREFIXES: [&str; 2] = ["/api/upgrades_info", "/api/upgrades_info/v1"];
/// Bytes of the body of an error that are read: those of a service are one line.
const ERROR_BYTES: u64 = 64 << 10;
/// Letters of somebody else's explanation that are shown.
const SHOWN: usize = 300;

/// Why a service did not give what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The address is none of a service.
    #[error("`{url}` is not the address of an update service: {why}")]
    Address {
        /// What was given.
        url: Address,
        /// What is wrong with it.
        why: String,
    },
    /// Nobody can be spoken to.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The service cannot be reached, or did not finish its answer in time.
    #[error("{url} cannot be reached: {why}")]
    Unreachable {
        /// What was asked for.
        url: RequestUrl,
        /// What failed.
        why: String,
    },
    /// The service refuses, or has failed.
    #[error("{url}: the service answers {status}{}", explained(why.as_deref()))]
    Refused {
        /// What was asked for.
        url: RequestUrl,
        /// The status code.
        status: u16,
        /// What the service said.
        why: Option<String>,
    },
    /// The body has no end, or none near enough.
    #[error("{url}: the answer is larger than {limit} bytes (the cap `{cap}`)")]
    TooLarge {
        /// What was asked for.
        url: RequestUrl,
        /// The name of the limit.
        cap: &'static str,
        /// The limit.
        limit: u64,
    },
    /// The body is no graph.
    #[error("{url}: {why}")]
    NotAGraph {
        /// What was asked for.
        url: RequestUrl,
        /// What it is instead.
        why: &'static str,
    },
    /// The body is no graph-data.
    #[error("{url}: {error}")]
    NotGraphData {
        /// What was asked for.
        url: RequestUrl,
        /// What is wrong with it.
        error: ArchiveError,
    },
}

impl ServiceError {
    /// A stable word for the kind of error.
    pub fn kind(&self) -> &'static str {
        match self {
            ServiceError::Address { .. } => "address",
            ServiceError::Http(_) => "client",
            ServiceError::Unreachable { .. } => "unreachable",
            ServiceError::Refused { .. } => "refused",
            ServiceError::TooLarge { .. } => "too_large",
            ServiceError::NotAGraph { .. } => "not_a_graph",
            ServiceError::NotGraphData { .. } => "not_graph_data",
        }
    }
}

fn explained(why: Option<&str>) -> String {
    why.map(|why| format!(": {why}")).unwrap_or_default()
}

/// What a service said of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// What the caller has is still right.
    NotModified {
        /// How old that was when the service said so, if it or a cache before it says so.
        age: Option<Duration>,
    },
    /// A new answer.
    Body {
        /// The JSON, unpacked; it begins as JSON does, and nothing else was looked at.
        bytes: Bytes,
        /// What it is known by, if the service says so.
        validator: Option<EntityTag>,
        /// How old it was when it came, if the service or a cache before it says so.
        age: Option<Duration>,
    },
}

/// An update service.
#[derive(Debug, Clone)]
pub struct Service {
    client: reqwest::Client,
    options: HttpOptions,
    /// Without a query and without a slash at the end.
    base: RequestUrl,
    /// Where answers are asked for; its query holds what is to be sent along.
    graph: RequestUrl,
    channel: Option<String>,
    arch: Option<String>,
}

impl Service {
    /// A service by its base address, or by an address below it: `…/graph`, `…/v1/graph`, `…/graph-data`.
    ///
    /// `channel` and `arch` in its query are what [`Service::channel`] and [`Service::arch`] tell; the rest of the
    /// query is sent along with every request.
    pub fn new(address: &Address, options: &HttpOptions) -> Result<Self, ServiceError> {
        let failed = |why: &str| ServiceError::Address { url: address.clone(), why: why.to_owned() };
        let mut base = Url::parse(address.expose()).map_err(|error| failed(&error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(failed("it does not begin with https:// or http://"));
        }
        base.set_fragment(None);
        let (mut channel, mut arch, mut rest) = (None, None, Vec::new());
        for (key, value) in base.query_pairs().into_owned() {
            match key.as_str() {
                "channel" => channel = Some(value).filter(|value| !value.is_empty()),
                "arch" => arch = Some(value).filter(|value| !value.is_empty()),
                _ => rest.push((key, value)),
            }
        }
        base.set_query(None);
        if !rest.is_empty() {
            base.query_pairs_mut().extend_pairs(rest);
        }
        let path = base.path().trim_end_matches('/').to_owned();
        let endpoint = ENDPOINTS.iter().find(|endpoint| path.ends_with(*endpoint)).copied().unwrap_or_default();
        let prefix = path.strip_suffix(endpoint).unwrap_or(&path).trim_end_matches('/').to_owned();
        base.set_path(&prefix);
        // Who names one of the two addresses of answers has a service that knows it.
        let base = RequestUrl::new(base);
        let graph = below(&base, if endpoint == "/v1/graph" { endpoint } else { "/graph" });
        Ok(Service { client: http::client(options)?, options: options.clone(), base, graph, channel, arch })
    }

    /// A service whose answers are exactly where an administrator wrote that they are, as OpenShift's operator takes it:
    /// `https://example.com/graph.json` is such an address. Only the base of a service such as ours is completed.
    pub fn as_written(address: &Address, options: &HttpOptions) -> Result<Self, ServiceError> {
        let mut service = Service::new(address, options)?;
        let written = Url::parse(address.expose()).map(|url| url.path().to_owned()).unwrap_or_default();
        if !PREFIXES.iter().any(|prefix| written.trim_end_matches('/').ends_with(prefix)) {
            let mut graph = service.base.expose().clone();
            graph.set_path(&written);
            service.graph = RequestUrl::new(graph);
        }
        Ok(service)
    }

    /// The base address, without credentials.
    pub fn base(&self) -> String {
        self.base.to_string().trim_end_matches('/').to_owned()
    }

    /// The address that answers are asked for at, without credentials.
    pub fn graph_address(&self) -> String {
        self.graph.to_string()
    }

    /// The channel that the address names.
    pub fn channel(&self) -> Option<&str> {
        self.channel.as_deref()
    }

    /// The architecture that the address names.
    pub fn arch(&self) -> Option<&str> {
        self.arch.as_deref()
    }

    /// The answer for a channel and an architecture, unless it is the one that is known already.
    pub async fn answer(&self, channel: &str, arch: &Arch, known: Option<&EntityTag>) -> Result<Answer, ServiceError> {
        self.answer_within(channel, arch, known, GraphLimits::default().answer_bytes as u64).await
    }

    /// The same for an answer of at most so many bytes.
    pub async fn answer_within(
        &self,
        channel: &str,
        arch: &Arch,
        known: Option<&EntityTag>,
        most: u64,
    ) -> Result<Answer, ServiceError> {
        self.answer_to(channel, arch, &[], known, most).await
    }

    /// The same for an asker who says more about itself: its `id`, the `version` it runs.
    pub async fn answer_to(
        &self,
        channel: &str,
        arch: &Arch,
        about: &[(&str, &str)],
        known: Option<&EntityTag>,
        most: u64,
    ) -> Result<Answer, ServiceError> {
        let mut url = self.graph.expose().clone();
        url.query_pairs_mut().append_pair("channel", channel).append_pair("arch", arch.as_str()).extend_pairs(about);
        let url = RequestUrl::new(url);
        let mut request = self.client.get(url.expose().clone()).header(ACCEPT, "application/json");
        if let Some(known) = known {
            request = request.header(IF_NONE_MATCH, known.as_str());
        }
        let response = self.send(&url, request).await?;
        let age = header(&response, AGE).and_then(|age| age.trim().parse().ok()).map(Duration::from_secs);
        if known.is_some() && response.status() == StatusCode::NOT_MODIFIED {
            return Ok(Answer::NotModified { age });
        }
        let response = self.accepted(&url, response).await?;
        let validator = header(&response, ETAG).and_then(EntityTag::new);
        let bytes = self.body(&url, response, ("answer_bytes", most)).await?;
        let failed = |why| ServiceError::NotAGraph { url: url.clone(), why };
        match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{') => Ok(Answer::Body { bytes, validator, age }),
            // Cincinnati's graph-builder answers so before its first scrape is done.
            None => Err(failed("the answer is empty; the service may not be ready yet")),
            Some(b'<') => Err(failed("the answer is a web page, not a graph")),
            Some(_) => Err(failed("the answer is not a graph in JSON")),
        }
    }

    /// The graph-data that the service hands on to mirrors.
    pub async fn graph_data(&self, limits: &Limits) -> Result<Inputs, ServiceError> {
        let url = below(&self.base, "/graph-data");
        let response = self.send(&url, self.client.get(url.expose().clone())).await?;
        let response = self.accepted(&url, response).await?;
        let body = self.body(&url, response, ("packed_bytes", limits.graph.packed_bytes)).await?;
        let limits = limits.of_graph_data();
        // Unpacking takes as long as its limits allow, and others may be waiting for this thread.
        let unpacked = tokio::task::spawn_blocking(move || graph_data::archive(body.as_ref(), &limits)).await;
        let unpacked = unpacked.unwrap_or_else(|error| Err(ArchiveError::Damaged { why: error.to_string() }));
        unpacked.map_err(|error| ServiceError::NotGraphData { url: url.clone(), error })
    }

    async fn send(&self, url: &RequestUrl, request: RequestBuilder) -> Result<Response, ServiceError> {
        tracing::debug!("reading {url}");
        waiting::for_answer(url, self.options.timeout, request.send()).await.map_err(|error| self.lost(url, &error))
    }

    /// The response if it is one; its explanation if it is an error.
    async fn accepted(&self, url: &RequestUrl, response: Response) -> Result<Response, ServiceError> {
        let status = response.status();
        if status == StatusCode::OK {
            return Ok(response);
        }
        // What an error says about itself is a courtesy, and not worth another error.
        let body = http::body(response, ERROR_BYTES).await.unwrap_or_default();
        Err(ServiceError::Refused { url: url.clone(), status: status.as_u16(), why: explanation(&body) })
    }

    /// A body of at most so many bytes, by the name of the cap.
    async fn body(
        &self,
        url: &RequestUrl,
        response: Response,
        (cap, most): (&'static str, u64),
    ) -> Result<Bytes, ServiceError> {
        let limit = self.options.body_bytes.min(most);
        http::body(response, limit).await.map_err(|error| match error {
            BodyError::TooLarge => ServiceError::TooLarge { url: url.clone(), cap, limit },
            BodyError::Lost(error) => self.lost(url, &error),
        })
    }

    fn lost(&self, url: &RequestUrl, error: &reqwest::Error) -> ServiceError {
        ServiceError::Unreachable { url: url.clone(), why: redacted(&http::why(error, &self.options)).into_owned() }
    }
}

fn header(response: &Response, name: HeaderName) -> Option<&str> {
    response.headers().get(name).and_then(|value| value.to_str().ok())
}

fn below(base: &RequestUrl, endpoint: &str) -> RequestUrl {
    let mut url = base.expose().clone();
    url.set_path(&format!("{}{endpoint}", url.path().trim_end_matches('/')));
    RequestUrl::new(url)
}

/// What Cincinnati says of an error: the `value` of `{"kind","value"}`.
fn explanation(body: &[u8]) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    // Some services repeat the address that they were asked at.
    body.get("value")?.as_str().map(|value| shortened(&redacted(value))).filter(|value| !value.is_empty())
}

/// Foreign text for a message: one line, and no more of it than helps.
fn shortened(text: &str) -> String {
    let mut shown: String = text.trim().chars().take(SHOWN).collect();
    shown = shown.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if text.trim().chars().count() > SHOWN { shown + " …" } else { shown }
}

#[cfg(test)]
mod tests;
