//! The URL of a request to an update service or a Prometheus, which never shows credentials.

use std::fmt;

use reqwest::Url;

/// A URL as it is requested. Shown, it has no user and no password, and of its query only the channel and the
/// architecture: a token may stand in the rest.
#[derive(Clone, PartialEq, Eq)]
pub struct RequestUrl(Box<Url>);

impl RequestUrl {
    pub(crate) fn new(url: Url) -> Self {
        RequestUrl(Box::new(url))
    }

    /// The URL with everything that is in it, for whoever connects.
    pub(crate) fn expose(&self) -> &Url {
        &self.0
    }
}

impl fmt::Display for RequestUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = Url::clone(&self.0);
        // Both fail only for URLs that can have neither.
        let _ = shown.set_password(None);
        let _ = shown.set_username("");
        shown.set_query(None);
        let public: Vec<_> =
            self.0.query_pairs().filter(|(key, _)| matches!(key.as_ref(), "channel" | "arch")).collect();
        if !public.is_empty() {
            shown.query_pairs_mut().extend_pairs(public);
        }
        f.write_str(shown.as_str())
    }
}

impl fmt::Debug for RequestUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}
