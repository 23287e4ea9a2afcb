//! A Prometheus, or what speaks its HTTP API (Thanos, Mimir, `VictoriaMetrics`), as a source of values.
//!
//! Start at [`Prometheus::new`]; [`Prometheus::instant`] asks for the value of a query, [`Prometheus::series_of`]
//! gathers the raw samples that queries look at, and [`Prometheus::observe`] gives a value as evidence. One call is one
//! question: rounds and retries are the caller's (U9).
//!
//! An answer is whole or it is none (U3): warnings, by which Thanos says that a store behind it did not answer, are a
//! failure, and so is a body that is cut, too large, or something else. Nor is it an answer
//! if it is about another time than was asked for, as one that a cache replays. Remarks (`infos`) are handed on.

mod collect;
mod error;
mod observe;
mod window;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use clearway_core::{Address, Timestamp, redacted};
use clearway_promql::Millis;
use clearway_promql::eval::Value;
use clearway_promql::read::{self, ApiAnswer, ApiError, ReadLimits};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Response, StatusCode, Url};

pub use collect::{CollectLimits, CollectedSeries, SkippedWindow};
pub use error::{Measure, PrometheusError};
pub(crate) use window::QueryWindow;
pub use window::{LOOKBACK, QueryWindows, Window, windows};

use crate::http::{self, BodyError, HttpOptions};
use crate::service::RequestUrl;
use crate::{clock, waiting};

/// What may follow the base in an address that somebody copied, the longest first.
const ENDPOINTS: [&str; 3] = ["/api/v1/query", "/api/v1", "/graph"];
const QUERY: &str = "/api/v1/query";
/// Bytes of the body of an error that are read: those of the API are a few lines.
const ERROR_BYTES: u64 = 64 << 10;
/// Bytes of an answer that is not read on the side.
const LARGE: usize = 1 << 20;
/// Bytes of a token: those of service accounts have about a thousand.
const TOKEN_BYTES: u64 = 64 << 10;
/// Letters of somebody else's explanation that are shown.
const SHOWN: usize = 300;
/// Warnings that are shown: a Thanos with many stores may have as many.
const WARNINGS: usize = 5;

/// How a Prometheus is spoken to. Proxies come from the environment, trust from the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrometheusOptions {
    /// A file with a bearer token. It is read again for every request: tokens of service accounts are replaced hourly.
    pub token_file: Option<PathBuf>,
    /// Certificates (PEM) that are trusted besides those of the system.
    pub ca_file: Option<PathBuf>,
    /// A certificate and its key (PEM) that prove who asks.
    pub identity: Option<ClientIdentity>,
    /// How long a whole question may take, from connecting to the last byte. Prometheus is told to give up then, too.
    pub timeout: Duration,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// Bytes of an answer, unpacked.
    pub body_bytes: u64,
    /// How far the time of an answer may be from the time that was asked for, before it is not evidence.
    pub time_difference: Duration,
}

impl Default for PrometheusOptions {
    fn default() -> Self {
        let http = HttpOptions::default();
        PrometheusOptions {
            token_file: None,
            ca_file: None,
            identity: None,
            timeout: http.timeout,
            connect_timeout: http.connect_timeout,
            // The API needs some 25 bytes for a sample: this is a million of them.
            body_bytes: 32 << 20,
            // Clocks differ, but not by more.
            time_difference: Duration::from_mins(1),
        }
    }
}

/// The files by which a client proves who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The certificate, with those between it and its authority behind it (PEM).
    pub certificate: PathBuf,
    /// Its private key (PEM).
    pub key: PathBuf,
}

/// A whole answer without warnings.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryAnswer {
    /// The value.
    pub value: Value,
    /// The time it is of, in milliseconds since 1970; an empty vector and a matrix do not say.
    pub time: Option<i64>,
    /// What Prometheus remarks.
    pub infos: Vec<String>,
}

/// A Prometheus-compatible endpoint. Cheap to clone; connections are shared.
#[derive(Clone)]
pub struct Prometheus {
    client: reqwest::Client,
    options: PrometheusOptions,
    http: HttpOptions,
    /// Where queries are sent: with what its query holds, without credentials.
    url: RequestUrl,
    /// User and password of the address.
    user: Option<(String, Option<String>)>,
}

impl std::fmt::Debug for Prometheus {
    /// Without what may be a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prometheus").field("url", &self.url).field("options", &self.options).finish_non_exhaustive()
    }
}

impl Prometheus {
    /// An endpoint by its base address; a path in front of `/api/v1` is kept, and a query (`?tenant=a`) is sent along
    /// with every question.
    pub fn new(url: &str, options: &PrometheusOptions) -> Result<Self, PrometheusError> {
        let failed = |why: &str| PrometheusError::Address { url: Address::from(url), why: why.to_owned() };
        let mut parsed = Url::parse(url.trim()).map_err(|error| failed(&error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(failed(&format!("it does not begin with https:// or http://{}", scheme_hint(url))));
        }
        parsed.set_fragment(None);
        let user = (!parsed.username().is_empty() || parsed.password().is_some())
            .then(|| (decoded(parsed.username()), parsed.password().map(decoded)));
        // Both fail only for addresses without a host.
        let _ = parsed.set_password(None);
        let _ = parsed.set_username("");
        let path = parsed.path().trim_end_matches('/').to_owned();
        let base = ENDPOINTS.iter().find_map(|endpoint| path.strip_suffix(endpoint)).unwrap_or(&path);
        parsed.set_path(&format!("{}{QUERY}", base.trim_end_matches('/')));
        let http = HttpOptions {
            timeout: options.timeout,
            connect_timeout: options.connect_timeout,
            body_bytes: options.body_bytes,
            ca_file: options.ca_file.clone(),
            redirect_hosts: Vec::new(),
            redirect_option: None,
        };
        let identity = options.identity.as_ref().map(identity).transpose()?;
        let client = http::client_as(&http, identity)?;
        Ok(Prometheus { client, options: options.clone(), http, url: RequestUrl::new(parsed), user })
    }

    /// The address that is asked, without credentials.
    pub fn shown(&self) -> String {
        let mut url = self.url.expose().clone();
        url.set_query(None);
        RequestUrl::new(url).to_string()
    }

    /// The value of a query at a time, or now.
    pub async fn instant(&self, query: &str, at: Option<Timestamp>) -> Result<QueryAnswer, PrometheusError> {
        self.instant_within(query, at, self.options.body_bytes, clock::now).await
    }

    /// The same from an answer of so many bytes at most; now is told by the clock.
    async fn instant_within(
        &self,
        query: &str,
        at: Option<Timestamp>,
        bytes: u64,
        clock: impl Fn() -> Timestamp,
    ) -> Result<QueryAnswer, PrometheusError> {
        let time = at.map(|at| at.as_seconds().to_string());
        let (answered, _) = self.ask(query, time, bytes).await?;
        self.of_time(answered, millis(at.unwrap_or_else(clock)))
    }

    /// The value of a query at a time in milliseconds, and how many bytes the answer had.
    async fn instant_at(&self, query: &str, at: i64, bytes: u64) -> Result<(QueryAnswer, u64), PrometheusError> {
        let time = Millis(at).as_seconds().to_string();
        let (answered, size) = self.ask(query, Some(time), bytes).await?;
        Ok((self.of_time(answered, at)?, size))
    }

    /// An answer, unless it is about another time than was asked for: replayed by a cache, or invented.
    fn of_time(&self, answered: QueryAnswer, asked: i64) -> Result<QueryAnswer, PrometheusError> {
        let difference = Duration::from_millis(answered.time.map_or(0, |given| given.abs_diff(asked)));
        if difference > self.options.time_difference { Err(self.other_time(difference)) } else { Ok(answered) }
    }

    /// What was said before it is known whether it is of the time that was asked for.
    async fn ask(&self, query: &str, time: Option<String>, bytes: u64) -> Result<(QueryAnswer, u64), PrometheusError> {
        let limit = bytes.min(self.options.body_bytes);
        let form = self.form(query, time);
        // The client bounds one exchange; there may be two.
        let limited = tokio::time::timeout(self.options.timeout, self.exchange(&form, limit)).await;
        let (status, body) = limited.unwrap_or_else(|_| Err(self.late()))?;
        let size = body.len();
        let answered = if size < LARGE {
            self.read(status, &body)
        } else {
            // Reading takes a while, and others may be waiting for this thread.
            let this = self.clone();
            let read = tokio::task::spawn_blocking(move || this.read(status, &body)).await;
            read.unwrap_or_else(|error| {
                Err(PrometheusError::NotAnAnswer { url: self.url.clone(), why: error.to_string() })
            })
        };
        answered.map(|answered| (answered, size as u64))
    }

    fn form(&self, query: &str, time: Option<String>) -> String {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("query", query).extend_pairs(time.map(|time| ("time", time)));
        form.append_pair("timeout", &format!("{}ms", self.options.timeout.as_millis().max(1))).finish()
    }

    /// Sends a form, and as an address where forms are not taken.
    async fn exchange(&self, form: &str, limit: u64) -> Result<(StatusCode, Bytes), PrometheusError> {
        let authorization = self.authorization().await?;
        let mut response = self
            .send(self.client.post(self.url.expose().clone()).body(form.to_owned()), authorization.as_ref())
            .await?;
        // A redirect may turn a form into a plain question without it, which is then refused for what it lacks.
        let lost = response.url() != self.url.expose() && response.status() == StatusCode::BAD_REQUEST;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED || lost {
            let mut url = self.url.expose().clone();
            let query = url.query().filter(|query| !query.is_empty());
            let query = query.map_or_else(|| form.to_owned(), |query| format!("{query}&{form}"));
            url.set_query(Some(&query));
            response = self.send(self.client.get(url), authorization.as_ref()).await?;
        }
        let status = response.status();
        if status != StatusCode::OK {
            // What an error says about itself is a courtesy, and not worth another error.
            return Ok((status, http::body(response, ERROR_BYTES).await.unwrap_or_default()));
        }
        let body = http::body(response, limit).await.map_err(|error| match error {
            BodyError::TooLarge => self.too_large(Measure::Bytes, limit),
            BodyError::Lost(error) => self.lost(&error),
        })?;
        Ok((status, body))
    }

    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        authorization: Option<&HeaderValue>,
    ) -> Result<Response, PrometheusError> {
        let mut request =
            request.header(ACCEPT, "application/json").header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        } else if let Some((user, password)) = &self.user {
            request = request.basic_auth(user, password.as_deref());
        }
        tracing::debug!("querying {}", self.shown());
        let limit = self.options.timeout;
        waiting::for_answer(self.shown(), limit, request.send()).await.map_err(|error| self.lost(&error))
    }

    /// The token as a header, read now.
    async fn authorization(&self) -> Result<Option<HeaderValue>, PrometheusError> {
        let Some(path) = &self.options.token_file else { return Ok(None) };
        let failed = |why: String| PrometheusError::Credentials { path: path.clone(), what: "a bearer token", why };
        let size = tokio::fs::metadata(path).await.map_err(|error| failed(error.to_string()))?.len();
        if size > TOKEN_BYTES {
            return Err(failed(format!("it is larger than {TOKEN_BYTES} bytes")));
        }
        let text = tokio::fs::read(path).await.map_err(|error| failed(error.to_string()))?;
        let token = text.trim_ascii();
        if token.is_empty() {
            return Err(failed("it is empty".to_owned()));
        }
        let header = HeaderValue::from_bytes(&[b"Bearer ", token].concat());
        // The error of the header would be free of it, but nothing is lost by not looking.
        let mut header = header.map_err(|_| failed("it is not one line of text".to_owned()))?;
        header.set_sensitive(true);
        Ok(Some(header))
    }

    /// Reads a body; a status other than 200 is a refusal whatever the body says.
    fn read(&self, status: StatusCode, body: &[u8]) -> Result<QueryAnswer, PrometheusError> {
        let refused = |error_type: &str, why: &str| PrometheusError::Refused {
            url: self.url.clone(),
            status: status.as_u16(),
            error_type: shortened(error_type),
            why: shortened(why),
        };
        let limits = ReadLimits { bytes: body.len(), ..ReadLimits::default() };
        match read::api(body, &limits) {
            Err(ApiError::Refused { kind, message }) => Err(refused(&kind, &message)),
            _ if status != StatusCode::OK => Err(refused("", &plain(body))),
            Err(ApiError::Form(error)) => {
                let why = match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
                    None => "the answer is empty".to_owned(),
                    Some(b'<') => "the answer is a web page, not an answer of the Prometheus API".to_owned(),
                    Some(_) => shortened(&error.to_string()),
                };
                Err(PrometheusError::NotAnAnswer { url: self.url.clone(), why })
            }
            Ok(ApiAnswer { warnings, .. }) if !warnings.is_empty() => {
                let mut shown: Vec<String> = warnings.iter().take(WARNINGS).map(|warning| shortened(warning)).collect();
                if warnings.len() > WARNINGS {
                    shown.push(format!("and {} more", warnings.len() - WARNINGS));
                }
                Err(PrometheusError::PartialResponse { url: self.url.clone(), warnings: shown })
            }
            Ok(ApiAnswer { value, time, infos, .. }) => Ok(QueryAnswer { value, time, infos }),
        }
    }

    fn too_large(&self, measure: Measure, limit: u64) -> PrometheusError {
        PrometheusError::TooLarge { url: self.url.clone(), measure, limit }
    }

    fn other_time(&self, difference: Duration) -> PrometheusError {
        PrometheusError::OtherTime { url: self.url.clone(), difference }
    }

    fn late(&self) -> PrometheusError {
        PrometheusError::Timeout { url: self.url.clone(), limit: self.options.timeout }
    }

    fn lost(&self, error: &reqwest::Error) -> PrometheusError {
        // Who cannot be connected to is not there, however long that took to find out.
        if error.is_timeout() && !error.is_connect() {
            return self.late();
        }
        // Whatever failed may have quoted the address, or one that it was sent to.
        let why = redacted(&http::why(error, &self.http)).into_owned();
        PrometheusError::Unreachable { url: self.url.clone(), why }
    }
}

fn identity(files: &ClientIdentity) -> Result<reqwest::Identity, PrometheusError> {
    let failed = |path: &Path, what, why| PrometheusError::Credentials { path: path.to_owned(), what, why };
    let read = |path: &Path, what| fs::read(path).map_err(|error| failed(path, what, error.to_string()));
    let mut pem = read(&files.certificate, "a client certificate")?;
    // A file without a line break at its end would run into the next.
    pem.push(b'\n');
    pem.extend(read(&files.key, "the key of a client certificate")?);
    // What the reader of keys says may quote the key.
    let why = |_| "it contains no PEM certificate with its private key".to_owned();
    reqwest::Identity::from_pem(&pem).map_err(|error| failed(&files.certificate, "a client certificate", why(error)))
}

/// A time in milliseconds since 1970.
fn millis(time: Timestamp) -> i64 {
    time.as_seconds().saturating_mul(1_000)
}

/// What to write for an address without a scheme, of which the host is read as one; nothing where a password may be in it.
fn scheme_hint(url: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".:-/_".contains(&byte);
    if url.contains("://") || !url.bytes().all(is_plain) {
        return String::new();
    }
    format!("; write http://{url} or https://{url}")
}

/// User and password stand percent-encoded in an address. `+` means itself there.
fn decoded(text: &str) -> String {
    let text = text.replace('+', "%2B");
    form_urlencoded::parse(text.as_bytes()).next().map(|(text, _)| text.into_owned()).unwrap_or_default()
}

/// The text of an error that is none of the API's, if it is text: `Unauthorized`, `upstream connect error`.
fn plain(body: &[u8]) -> String {
    match std::str::from_utf8(body) {
        Ok(text) if !text.trim_start().starts_with('<') => text.to_owned(),
        _ => String::new(),
    }
}

/// Foreign text for a message: one line, and no more of it than helps.
fn shortened(text: &str) -> String {
    let one_line = |letter: char| if letter.is_control() { ' ' } else { letter };
    let shown: String = text.trim().chars().take(SHOWN).map(one_line).collect();
    if text.trim().chars().count() > SHOWN { shown + " …" } else { shown }
}

#[cfg(test)]
mod tests;
