//! One way to speak HTTP to somebody else's server: bounded in time and in size, with the trust of this machine.
//!
//! Proxies come from the environment (`HTTPS_PROXY`, `NO_PROXY` …) and trusted certificates from the system, to which
//! [`HttpOptions::ca_file`] adds. Nothing here tries again: whoever asks knows what an attempt is worth.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::{Url, redirect};

/// How this program names itself to every server.
pub(crate) const USER_AGENT: &str = concat!("clearway/", env!("CARGO_PKG_VERSION"));

/// Redirects that are followed; more is a loop.
const REDIRECTS: usize = 5;

/// How a server is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpOptions {
    /// How long a whole exchange may take, from connecting to the last byte: a body that trickles in counts too.
    pub timeout: Duration,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// Bytes of a body, unpacked. The largest answer and the largest archive seen in practice are below 1 MB.
    pub body_bytes: u64,
    /// Certificates (PEM) that are trusted besides those of the system.
    pub ca_file: Option<PathBuf>,
    /// Hosts that a server may redirect to, besides itself.
    pub redirect_hosts: Vec<String>,
    /// The option that adds to them, where whoever reads an error has one.
    pub redirect_option: Option<&'static str>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        HttpOptions {
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            body_bytes: 32 << 20,
            ca_file: None,
            redirect_hosts: Vec::new(),
            redirect_option: None,
        }
    }
}

/// Why a server cannot be spoken to at all.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The file of certificates is not there, or holds none.
    #[error("the certificates in {} cannot be read: {why}", path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The system gives no way to speak TLS.
    #[error("cannot create an HTTP client: {why}")]
    Client {
        /// What is wrong.
        why: String,
    },
}

/// A client that keeps to the options.
pub fn client(options: &HttpOptions) -> Result<reqwest::Client, HttpError> {
    client_as(options, None)
}

/// The same for a client that proves with a certificate who it is.
pub(crate) fn client_as(
    options: &HttpOptions,
    identity: Option<reqwest::Identity>,
) -> Result<reqwest::Client, HttpError> {
    install_tls();
    let mut builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .timeout(options.timeout)
        .connect_timeout(options.connect_timeout)
        // What stands in the query of an address is nobody else's business.
        .referer(false)
        .redirect(policy(options.redirect_hosts.clone(), options.redirect_option));
    if let Some(identity) = identity {
        builder = builder.identity(identity);
    }
    if let Some(path) = &options.ca_file {
        let failed = |why: String| HttpError::Certificates { path: path.clone(), why };
        let pem = fs::read(path).map_err(|error| failed(error.to_string()))?;
        let certificates = reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| failed(innermost(&error)))?;
        if certificates.is_empty() {
            return Err(failed("it contains no certificate".to_owned()));
        }
        builder = builder.tls_certs_merge(certificates);
    }
    builder.build().map_err(|error| HttpError::Client { why: innermost(&error) })
}

/// Every TLS user of the process shares one provider. A second call finds it installed.
pub(crate) fn install_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Which redirects are followed: a few, on the same host or to one that is allowed, and never from an encrypted connection to
/// a plain one. The client itself leaves credentials out of a request to another host or port.
fn policy(allowed: Vec<String>, option: Option<&'static str>) -> redirect::Policy {
    redirect::Policy::custom(move |attempt| {
        match refuse_redirect(attempt.previous(), attempt.url(), &allowed, option) {
            Some(why) => attempt.error(why),
            None => attempt.follow(),
        }
    })
}

/// Why a redirect is not followed, if it is not. `previous` are the addresses that led to it, the first one first; `option` is
/// the one that allows another host.
fn refuse_redirect(previous: &[Url], next: &Url, allowed: &[String], option: Option<&str>) -> Option<String> {
    let encrypted = previous.iter().any(|url| url.scheme() == "https");
    if !matches!(next.scheme(), "http" | "https") || (encrypted && next.scheme() != "https") {
        return Some("it redirects from https to another scheme".to_owned());
    }
    if previous.len() > REDIRECTS {
        return Some("it redirects in a loop".to_owned());
    }
    let host = next.host_str().unwrap_or_default();
    let is_own = previous.first().and_then(Url::host_str).is_some_and(|own| own.eq_ignore_ascii_case(host));
    let is_allowed = || allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(host));
    let help = || option.map(|option| format!("; allow it with {option} {host}")).unwrap_or_default();
    (!is_own && !is_allowed()).then(|| format!("it redirects to another host, {host}{}", help()))
}

/// Why a body did not come.
#[derive(Debug)]
pub(crate) enum BodyError {
    /// It is larger than the limit.
    TooLarge,
    /// The connection failed, or time ran out.
    Lost(reqwest::Error),
}

/// The body of a response, which is given up as soon as it is larger than the limit.
pub(crate) async fn body(mut response: reqwest::Response, limit: u64) -> Result<Bytes, BodyError> {
    if response.content_length().is_some_and(|length| length > limit) {
        return Err(BodyError::TooLarge);
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(BodyError::Lost)? {
        if (body.len() + chunk.len()) as u64 > limit {
            return Err(BodyError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// Why an exchange failed, in the words that a person can act on.
pub(crate) fn why(error: &reqwest::Error, options: &HttpOptions) -> String {
    if error.is_timeout() {
        let limit = if error.is_connect() { options.connect_timeout } else { options.timeout };
        return format!("no complete answer within {limit:?}");
    }
    innermost(error)
}

/// The innermost cause, which is the one a person can act on: those around it name layers of the client.
pub(crate) fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    // "deadline has elapsed" says nothing to whoever set no deadline.
    let late = |error: &std::io::Error| error.kind() == std::io::ErrorKind::TimedOut;
    if error.is::<tokio::time::error::Elapsed>() || error.downcast_ref().is_some_and(late) {
        return "the request timed out".to_owned();
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_stay_on_the_same_host_unless_another_is_allowed() {
        let refused = |previous: &[&str], next: &str, allowed: &[&str]| {
            let previous: Vec<Url> = previous.iter().map(|url| Url::parse(url).unwrap()).collect();
            let allowed: Vec<String> = allowed.iter().map(|&host| host.to_owned()).collect();
            let next = Url::parse(next).unwrap();
            // Only who has an option is told about it.
            let plain = refuse_redirect(&previous, &next, &allowed, None).unwrap_or_default();
            assert!(!plain.contains("--"), "{plain}");
            let why = refuse_redirect(&previous, &next, &allowed, Some("--allow")).unwrap_or_default();
            assert!(why.starts_with(&plain), "{why}");
            why
        };
        for (previous, next, allowed, want) in [
            (&["https://a.example.com/x"][..], "https://a.example.com/y", &[][..], ""),
            (&["https://a.example.com/x"], "https://A.example.com:8443/y", &[], ""),
            (&["http://a.example.com/x"], "https://a.example.com/y", &[], ""),
            (&["https://a.example.com/x"], "http://a.example.com/y", &[], "from https"),
            (&["http://a.example.com", "https://a.example.com"], "http://a.example.com/y", &[], "from https"),
            (
                &["https://a.example.com/x"],
                "https://b.example.com/y",
                &[],
                "another host, b.example.com; allow it with --allow b.example.com",
            ),
            (&["https://a.example.com/x"], "https://b.example.com/y", &["b.example.com"], ""),
            (&["https://a.example.com/x"], "http://b.example.com/y", &["b.example.com"], "from https"),
            (&["https://a.example.com", "https://b.example.com"], "https://a.example.com", &["b.example.com"], ""),
            (&["https://a.example.com", "https://b.example.com"], "https://c.example.com", &["b.example.com"], "c.ex"),
            (&["http://a.example.com/x"], "http://127.0.0.1/y", &[], "another host, 127.0.0.1"),
            (&["http://a.example.com/x"], "file:///etc/passwd", &[], "another scheme"),
            (&["http://a/"; 6], "http://a/", &[], "in a loop"),
        ] {
            let why = refused(previous, next, allowed);
            assert!(why.contains(want) && why.is_empty() == want.is_empty(), "{previous:?} {next}: {why}");
        }
    }

    #[test]
    fn certificates_that_are_none_are_refused_by_name() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("ca.pem");
        let refused = || {
            let options = HttpOptions { ca_file: Some(path.clone()), ..HttpOptions::default() };
            client(&options).unwrap_err().to_string()
        };
        assert!(refused().contains("ca.pem cannot be read: No such file"), "{}", refused());
        fs::write(&path, "no certificate").unwrap();
        assert!(refused().ends_with("it contains no certificate"), "{}", refused());
    }
}
