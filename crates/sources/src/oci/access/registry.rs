//! The connection to registries: its settings, and one request at a time.
//!
//! The protocol is spoken with `reqwest` directly. The `oci-client` crate was weighed and left: it reads manifests,
//! lists of tags and errors of any length into memory, does not show the `Link` header that pages are followed by, nor
//! `Retry-After`, takes a failing answer to its first request for "no authentication needed", and keeps a rejected token.
//! What would have remained of it is the types of manifests.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use clearway_core::RegistryLimits;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Method, Response, StatusCode, Url};
use tokio::sync::Mutex;

use crate::oci::OciError;
use crate::oci::access::authorize::Grant;
use crate::oci::access::credentials::Credentials;
use crate::oci::access::pace::{AttemptError, Pace, retry_after};
use crate::oci::error::{chain, printable};
use crate::oci::image::media;
use crate::oci::reference::{Repository, is_here, is_loopback};
use crate::waiting;

/// What is read of an answer that says what went wrong.
const COMPLAINT_BYTES: u64 = 16 << 10;
/// How often an answer may point elsewhere.
const REDIRECTS: usize = 5;

/// Which hosts are spoken to without TLS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PlainHttp {
    /// This machine only.
    #[default]
    Loopback,
    /// Every host.
    Always,
    /// None.
    Never,
}

/// The settings of a [`Registry`].
#[derive(Debug, Clone)]
pub struct RegistryOptions {
    /// Certificates of authorities (PEM) to trust besides those of the system.
    pub ca_file: Option<PathBuf>,
    /// Which hosts are spoken to without TLS.
    pub plain_http: PlainHttp,
    /// Who the registry is asked as.
    pub credentials: Credentials,
    /// How long a small answer may take in all, and a layer may be silent.
    pub timeout: Duration,
    /// How long one read of a source may take, with every request and attempt.
    pub deadline: Duration,
    /// How often and when a request is tried again.
    pub pace: Pace,
    /// How many tags are read side by side.
    pub concurrency: usize,
    /// How much is read of what a registry sends.
    pub limits: RegistryLimits,
    /// Bytes of all layers of an image of graph-data, a catalogue or manifests: as they are sent, and unpacked.
    pub image_bytes: u64,
}

impl Default for RegistryOptions {
    fn default() -> Self {
        RegistryOptions {
            ca_file: None,
            plain_http: PlainHttp::default(),
            credentials: Credentials::default(),
            timeout: Duration::from_secs(30),
            deadline: Duration::from_mins(10),
            pace: Pace::default(),
            concurrency: 8,
            limits: RegistryLimits::default(),
            image_bytes: 1 << 30,
        }
    }
}

/// A connection to registries, with its settings and the tokens it was given.
pub struct Registry {
    pub(in crate::oci) client: reqwest::Client,
    pub(in crate::oci) options: RegistryOptions,
    pub(in crate::oci) granted: Mutex<BTreeMap<Repository, Grant>>,
}

/// One thing to ask a registry for.
pub(in crate::oci) struct RegistryRequest<'a> {
    pub(in crate::oci) repository: &'a Repository,
    pub(in crate::oci) method: Method,
    pub(in crate::oci) url: Url,
    pub(in crate::oci) accept: Option<&'static str>,
    /// How long the whole answer may take; without it only silence is bounded.
    pub(in crate::oci) within: Option<Duration>,
    /// What it is, for people.
    pub(in crate::oci) at: &'a str,
    /// The kind of thing, if there is none.
    pub(in crate::oci) what: &'static str,
    /// What is sent, where something is to be written.
    pub(in crate::oci) sends: Option<&'a RequestBody>,
}

/// What is sent to a registry.
pub(in crate::oci) struct RequestBody {
    pub(in crate::oci) media_type: &'static str,
    pub(in crate::oci) bytes: Bytes,
}

impl Registry {
    /// Prepares a connection; nothing is sent yet.
    pub fn new(options: RegistryOptions) -> Result<Self, OciError> {
        // Every TLS user of the process shares one provider. A second call finds it installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        options.credentials.check()?;
        let authorities = options.ca_file.as_deref().map(certificates).transpose()?;
        let client = match authorities {
            Some(authorities) => builder(&options).tls_certs_merge(authorities).build(),
            // A system without authorities, such as an image from scratch, is no obstacle where there is no TLS. Where
            // there is, no certificate is trusted, and that is said then.
            None => builder(&options).build().or_else(|_| builder(&options).tls_certs_only([]).build()),
        };
        let client = client.map_err(|error| OciError::Options { why: chain(&error) })?;
        Ok(Registry { client, options, granted: Mutex::default() })
    }

    /// The URL of something in a repository. Every part was checked when its name was read.
    pub(in crate::oci) fn url(&self, repository: &Repository, rest: &str) -> Result<Url, OciError> {
        let plain = match self.options.plain_http {
            PlainHttp::Always => true,
            PlainHttp::Never => false,
            PlainHttp::Loopback => repository.is_loopback(),
        };
        let scheme = if plain { "http" } else { "https" };
        let url = format!("{scheme}://{}/v2/{}/{rest}", repository.api_host(), repository.path());
        Url::parse(&url).map_err(|error| OciError::Options { why: format!("{repository}: {error}") })
    }

    /// One attempt: the answer, if it is a good one. The registry is told who asks when it wants to know.
    pub(in crate::oci) async fn attempt(&self, ask: &RegistryRequest<'_>) -> Result<Response, AttemptError> {
        let grant = self.granted.lock().await.get(ask.repository).cloned().unwrap_or_default();
        let mut response = self.send(ask, grant.header.as_ref()).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            // Only the registry may ask for the login, and not a host to which it redirects.
            if response.url().origin() != ask.url.origin() {
                let host = response.url().host_str().unwrap_or_default();
                let why = format!("it redirects to {host}, which requires authentication");
                let hint = "the login is only sent to the registry itself";
                return Err(OciError::Denied { at: ask.at.to_owned(), why, hint }.into());
            }
            let header = self.authorize(ask, &response, grant.turn).await?;
            response = self.send(ask, Some(&header)).await?;
        }
        self.judge(ask, response).await
    }

    async fn send(
        &self,
        ask: &RegistryRequest<'_>,
        authorization: Option<&HeaderValue>,
    ) -> Result<Response, AttemptError> {
        let mut request = self.client.request(ask.method.clone(), ask.url.clone());
        if let Some(accept) = ask.accept {
            request = request.header(ACCEPT, accept);
        }
        if let Some(within) = ask.within {
            request = request.timeout(within);
        }
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        if let Some(sends) = ask.sends {
            request = request.header(CONTENT_TYPE, sends.media_type).body(sends.bytes.clone());
        }
        tracing::debug!("reading {} from the registry", ask.at);
        let limit = ask.within.unwrap_or(self.options.timeout);
        // The client bounds the silence between two pieces of a head, and not all of it.
        let answer = tokio::time::timeout(limit, waiting::for_answer(ask.at, limit, request.send())).await;
        let answer = answer.map_err(|_| AttemptError::passing("the registry timed out"))?;
        answer.map_err(|error| classify_error(error, ask.at))
    }

    /// One read of a source, whatever it asks for, which fails after [`RegistryOptions::deadline`]. Without that, a registry
    /// that sends slowly would hold up every later read.
    pub(in crate::oci) async fn in_time<T>(
        &self,
        at: &str,
        read: impl Future<Output = Result<T, OciError>>,
    ) -> Result<T, OciError> {
        let limit = self.options.deadline;
        let read = tokio::time::timeout(limit, read).await;
        read.unwrap_or_else(|_| Err(OciError::Deadline { at: at.to_owned(), limit }))
    }

    /// Sorts an answer into good, worth another attempt, and final.
    pub(in crate::oci) async fn judge(
        &self,
        ask: &RegistryRequest<'_>,
        response: Response,
    ) -> Result<Response, AttemptError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let at = ask.at.to_owned();
        let wait = response.headers().get(RETRY_AFTER).and_then(|value| retry_after(value.to_str().ok()?));
        match status {
            StatusCode::NOT_FOUND => Err(OciError::NotFound { at, what: ask.what }.into()),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let (why, hint) = (self.complaint(response).await, self.options.credentials.hint());
                Err(OciError::Denied { at, why, hint }.into())
            }
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {
                Err(AttemptError::Passing { why: format!("the registry answers {status}"), wait })
            }
            _ if status.is_server_error() => {
                Err(AttemptError::Passing { why: format!("the registry answers {status}"), wait })
            }
            _ => Err(OciError::Protocol { at, why: self.complaint(response).await }.into()),
        }
    }

    /// What a registry says is wrong: its status, and the first of its errors.
    async fn complaint(&self, response: Response) -> String {
        #[derive(serde::Deserialize)]
        struct Complaints {
            errors: Vec<Complaint>,
        }
        #[derive(serde::Deserialize)]
        struct Complaint {
            #[serde(default)]
            message: String,
        }
        let status = response.status();
        // The status says enough, if the rest does not come soon.
        let body =
            tokio::time::timeout(self.options.timeout, bounded(response, ("error_bytes", COMPLAINT_BYTES), "")).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        let first = serde_json::from_slice::<Complaints>(&body).ok().and_then(|said| said.errors.into_iter().next());
        match first.map(|first| printable(&first.message)) {
            Some(message) if !message.is_empty() => format!("{status}: {message}"),
            _ => status.to_string(),
        }
    }
}

impl<'a> RegistryRequest<'a> {
    /// A manifest by tag or digest.
    pub(in crate::oci) fn manifest(
        registry: &Registry,
        repository: &'a Repository,
        method: Method,
        reference: &str,
        at: &'a str,
    ) -> Result<Self, OciError> {
        let url = registry.url(repository, &format!("manifests/{reference}"))?;
        let within = Some(registry.options.timeout);
        Ok(RegistryRequest {
            repository,
            method,
            url,
            accept: Some(media::ACCEPT),
            within,
            at,
            what: "image",
            sends: None,
        })
    }

    pub(in crate::oci) fn again(&self) -> Self {
        RegistryRequest { method: self.method.clone(), url: self.url.clone(), ..*self }
    }
}

fn builder(options: &RegistryOptions) -> reqwest::ClientBuilder {
    let plain = options.plain_http;
    let redirect = reqwest::redirect::Policy::custom(move |attempt| {
        if attempt.previous().len() > REDIRECTS {
            attempt.error("too many redirects")
        } else if attempt.previous().first().is_some_and(|first| may_ask(plain, first, attempt.url())) {
            attempt.follow()
        } else {
            attempt.error("it redirects to a host without TLS, or to this machine")
        }
    });
    reqwest::Client::builder()
        .user_agent(crate::http::USER_AGENT)
        // A layer is hashed as it is stored, so nothing may unpack it on the way.
        .no_gzip()
        .connect_timeout(options.timeout)
        .read_timeout(options.timeout)
        // Where something is, is nobody else's business; the client itself leaves credentials out of a request to another
        // host or port.
        .referer(false)
        .redirect(redirect)
        .retry(reqwest::retry::never())
}

/// Reads a body of at most so many bytes, by the name of the cap.
pub(in crate::oci) async fn bounded(
    mut response: Response,
    (cap, limit): (&'static str, u64),
    at: &str,
) -> Result<Vec<u8>, AttemptError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| classify_error(error, at))? {
        if (body.len() + chunk.len()) as u64 > limit {
            return Err(OciError::TooLarge { at: at.to_owned(), cap, limit }.into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Whether a URL that a registry names may be asked. Services of this machine trust whoever can reach them, so only a registry
/// on this machine may name one.
pub(in crate::oci) fn may_ask(plain: PlainHttp, registry: &Url, url: &Url) -> bool {
    let host_is = |url: &Url, matches: fn(&str) -> bool| url.host_str().is_some_and(matches);
    if host_is(url, is_here) && !host_is(registry, is_here) {
        return false;
    }
    match (url.scheme(), plain) {
        ("https", _) | ("http", PlainHttp::Always) => true,
        ("http", PlainHttp::Loopback) => host_is(url, is_loopback),
        _ => false,
    }
}

/// Sorts a failed request into worth another attempt and final.
pub(in crate::oci) fn classify_error(error: reqwest::Error, at: &str) -> AttemptError {
    // The URL may hold the signature of a storage behind the registry; the name in `at` says what was asked for.
    let error = error.without_url();
    let at = at.to_owned();
    if let Some(why) = untrusted(&error) {
        return OciError::Certificate { at, why }.into();
    }
    if error.is_redirect() || error.is_builder() {
        return OciError::Protocol { at, why: chain(&error) }.into();
    }
    AttemptError::passing(if error.is_timeout() { "the registry timed out".to_owned() } else { chain(&error) })
}

/// What is wrong with the registry's certificate, if that is the trouble: another attempt would meet the same one.
fn untrusted(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    if let Some(rustls::Error::InvalidCertificate(why)) = error.downcast_ref() {
        return Some(why.to_string());
    }
    // An I/O error that wraps another one does not name it as its source.
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => untrusted(inner),
        None => error.source().and_then(untrusted),
    }
}

fn certificates(path: &Path) -> Result<Vec<reqwest::Certificate>, OciError> {
    let unusable = |why: String| OciError::Options { why: format!("{}: {why}", path.display()) };
    let pem = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
    let certificates = reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| unusable(chain(&error)))?;
    if certificates.is_empty() {
        return Err(unusable("it contains no certificate".to_owned()));
    }
    Ok(certificates)
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("options", &self.options).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_without_tls_and_this_machine_are_asked_only_where_that_is_allowed() {
        let may_ask = |plain, registry: &str, url: &str| {
            super::may_ask(plain, &Url::parse(registry).unwrap(), &Url::parse(url).unwrap())
        };
        for (plain, url, want) in [
            (PlainHttp::Loopback, "http://127.0.0.1:5000/x", true),
            (PlainHttp::Loopback, "http://[::1]:5000/x", true),
            (PlainHttp::Loopback, "http://example.com/x", false),
            (PlainHttp::Loopback, "https://example.com/x", true),
            (PlainHttp::Always, "http://example.com/x", true),
            (PlainHttp::Never, "http://127.0.0.1/x", false),
            (PlainHttp::Always, "file:///etc/passwd", false),
        ] {
            assert_eq!(may_ask(plain, "http://localhost:5000", url), want, "{plain:?} {url}");
        }
        for url in [
            "http://127.0.0.1:8001/api",
            "https://127.1/x",
            "https://127.9.9.9/x",
            "https://2130706433/x",
            "http://[::1]/x",
            "https://[::ffff:127.0.0.1]/x",
            "https://0.0.0.0/x",
            "https://0.0.0.1/x",
            "https://[::]/x",
            "https://[::ffff:0.0.0.0]/x",
            "https://localhost:6443/x",
            "https://LOCALHOST./x",
            "https://a.localhost/x",
            "https://a.localhost./x",
            "https://169.254.169.254/latest",
            "https://[fe80::1]/x",
            "https://[::ffff:169.254.169.254]/x",
        ] {
            for plain in [PlainHttp::Loopback, PlainHttp::Always] {
                assert!(!may_ask(plain, "https://r.example.com/v2/a", url), "{plain:?} {url}");
            }
        }
        for url in
            ["https://localhost.example.com/x", "https://notlocalhost/x", "https://10.0.0.1/x", "https://[fd00::1]/x"]
        {
            assert!(may_ask(PlainHttp::Loopback, "https://r.example.com/v2/a", url), "{url}");
        }
        let scheme = |plain_http, repository: &str| {
            let registry = Registry::new(RegistryOptions { plain_http, ..RegistryOptions::default() }).unwrap();
            registry.url(&repository.parse().unwrap(), "x").unwrap().to_string()
        };
        assert_eq!(scheme(PlainHttp::Loopback, "localhost:5000/a"), "http://localhost:5000/v2/a/x");
        assert_eq!(scheme(PlainHttp::Never, "localhost:5000/a"), "https://localhost:5000/v2/a/x");
        assert_eq!(scheme(PlainHttp::Loopback, "docker.io/library/a"), "https://registry-1.docker.io/v2/library/a/x");
    }

    #[test]
    fn files_that_cannot_be_used_are_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let options = RegistryOptions { ca_file: Some(file.path().to_owned()), ..RegistryOptions::default() };
        let error = Registry::new(options).unwrap_err().to_string();
        assert!(error.ends_with("it contains no certificate"), "{error}");
        let options = RegistryOptions { ca_file: Some("/nowhere".into()), ..RegistryOptions::default() };
        assert!(Registry::new(options).unwrap_err().to_string().contains("/nowhere: No such file"));
    }
}
