//! URLs, as Go's `net/url` reads and writes them. Whether a text is one is said by the schema's own reader.

#![expect(clippy::format_push_string, reason = "writing to a text does not fail, and this is how it reads best")]

use clearway_schema::is_request_uri;

/// A URL or an absolute path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Url {
    pub(crate) scheme: String,
    opaque: String,
    user: Option<(Vec<u8>, Option<Vec<u8>>)>,
    host: Vec<u8>,
    omit_host: bool,
    /// As it was written.
    raw_path: String,
    path: Vec<u8>,
    query: String,
    force_query: bool,
    fragment: Option<String>,
}

impl Url {
    /// Reads a URL; nothing if it is none.
    pub(crate) fn parse(text: &str) -> Option<Url> {
        if !is_request_uri(text) {
            return None;
        }
        // What was a request's URI with its fragment is read once more without it.
        let (text, fragment) = match text.split_once('#') {
            Some((text, fragment)) => (text, Some(fragment)),
            None => (text, None),
        };
        let mut url =
            Url { fragment: fragment.filter(|fragment| !fragment.is_empty()).map(str::to_owned), ..Url::default() };
        if let Some(fragment) = fragment {
            unescape(fragment, false)?;
        }
        if text == "*" {
            "*".clone_into(&mut url.raw_path);
            url.path = b"*".to_vec();
            return Some(url);
        }
        let (scheme, mut rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        if rest.ends_with('?') && rest.matches('?').count() == 1 {
            url.force_query = true;
            rest = rest.strip_suffix('?').unwrap_or(rest);
        } else if let Some((before, query)) = rest.split_once('?') {
            query.clone_into(&mut url.query);
            rest = before;
        }
        if !rest.starts_with('/') {
            if url.scheme.is_empty() {
                // Only what is in front of a fragment can be no request's URI.
                return (rest.is_empty() || !rest.split('/').next().unwrap_or_default().contains(':')).then(|| {
                    rest.clone_into(&mut url.raw_path);
                    url.path = unescape(rest, false).unwrap_or_default();
                    url
                });
            }
            rest.clone_into(&mut url.opaque);
            return Some(url);
        }
        let has_authority = !url.scheme.is_empty() || !rest.starts_with("///");
        if let Some(after) = rest.strip_prefix("//").filter(|_| has_authority) {
            let at = after.find('/').unwrap_or(after.len());
            let (authority, path) = after.split_at_checked(at)?;
            let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
            url.host = host_bytes(host)?;
            url.user = match user {
                None => None,
                Some(user) => Some(match user.split_once(':') {
                    Some((name, password)) => (unescape(name, false)?, Some(unescape(password, false)?)),
                    None => (unescape(user, false)?, None),
                }),
            };
            rest = path;
        } else if !url.scheme.is_empty() {
            url.omit_host = true;
        }
        url.path = unescape(rest, false)?;
        rest.clone_into(&mut url.raw_path);
        Some(url)
    }

    /// The host with its port.
    pub(crate) fn host(&self) -> String {
        String::from_utf8_lossy(&self.host).into_owned()
    }

    fn host_and_port(&self) -> (String, String) {
        let host = self.host();
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, port),
            _ => (host.as_str(), ""),
        };
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        (bare.to_owned(), port.to_owned())
    }

    pub(crate) fn host_name(&self) -> String {
        self.host_and_port().0
    }

    pub(crate) fn port(&self) -> String {
        self.host_and_port().1
    }

    /// The path as it was written if that is a valid way, otherwise with the usual escapes.
    pub(crate) fn escaped_path(&self) -> String {
        let usual = escape(&self.path, is_path_byte);
        if self.raw_path != usual && self.raw_path.bytes().all(|byte| is_path_byte(byte) || b"!'()*[]%".contains(&byte))
        {
            return self.raw_path.clone();
        }
        if self.path == b"*" { "*".to_owned() } else { usual }
    }

    /// How many bytes its largest part may have.
    pub(crate) fn bytes(&self) -> usize {
        let path = self.path.len().saturating_mul(3).max(self.raw_path.len());
        path.max(self.query.len()).max(self.host.len()).max(self.scheme.len())
    }

    /// How many parameters it may have.
    pub(crate) fn parameters(&self) -> usize {
        self.query.split('&').filter(|part| !part.is_empty()).count()
    }

    /// The parameters in the order of their names; those that cannot be read are left out.
    pub(crate) fn query(&self) -> Vec<(String, Vec<String>)> {
        let mut found: std::collections::BTreeMap<String, Vec<String>> = std::collections::BTreeMap::new();
        for part in self.query.split('&').filter(|part| !part.is_empty() && !part.contains(';')) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let read = |text: &str| unescape(text, true).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            if let (Some(key), Some(value)) = (read(key), read(value)) {
                found.entry(key).or_default().push(value);
            }
        }
        found.into_iter().collect()
    }

    /// The whole URL.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        if !self.scheme.is_empty() {
            text.push_str(&self.scheme);
            text.push(':');
        }
        if self.opaque.is_empty() {
            let named = !self.host.is_empty() || self.user.is_some();
            if named || (!self.scheme.is_empty() && !self.omit_host) {
                if !self.host.is_empty() || !self.path.is_empty() || self.user.is_some() {
                    text.push_str("//");
                }
                if let Some((name, password)) = &self.user {
                    text.push_str(&escape(name, is_user_byte));
                    if let Some(password) = password {
                        text.push(':');
                        text.push_str(&escape(password, is_user_byte));
                    }
                    text.push('@');
                }
                text.push_str(&escape(&self.host, is_host_byte));
            }
            text.push_str(&self.escaped_path());
        } else {
            text.push_str(&self.opaque);
        }
        if self.force_query || !self.query.is_empty() {
            text.push('?');
            text.push_str(&self.query);
        }
        if let Some(fragment) = &self.fragment {
            text.push('#');
            text.push_str(fragment);
        }
        text
    }
}

fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at > 0 => return text.split_once(':'),
            b':' => return None,
            _ => break,
        }
    }
    Some(("", text))
}

/// A host, of which only bytes beyond ASCII and zones are escaped.
fn host_bytes(host: &str) -> Option<Vec<u8>> {
    unescape(host, false)
}

/// Bytes with `%` escapes resolved; `+` is a space in a query.
fn unescape(text: &str, query: bool) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16));
                let (high, low) = (digit()?, digit()?);
                out.push(u8::try_from(high * 16 + low).ok()?);
            }
            b'+' if query => out.push(b' '),
            byte => out.push(byte),
        }
    }
    Some(out)
}

fn escape(bytes: &[u8], allowed: fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        if allowed(*byte) {
            out.push(char::from(*byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)
}

fn is_path_byte(byte: u8) -> bool {
    is_unreserved(byte) || b"$&+,/:;=@".contains(&byte)
}

fn is_user_byte(byte: u8) -> bool {
    is_unreserved(byte) || b"$&+,;=".contains(&byte)
}

fn is_host_byte(byte: u8) -> bool {
    is_unreserved(byte) || b"!$&'()*+,;=:[]<>\"".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_parts() {
        let url = Url::parse("HTTPS://user:p%40ss@[::1]:8080/a%20b/c?x=1&x=2&y=a+b&;z#f").unwrap();
        assert_eq!(url.scheme, "https");
        assert_eq!(url.host(), "[::1]:8080");
        assert_eq!(url.host_name(), "::1");
        assert_eq!(url.port(), "8080");
        assert_eq!(url.escaped_path(), "/a%20b/c");
        let query = url.query();
        assert_eq!(
            query,
            [("x".to_owned(), vec!["1".to_owned(), "2".to_owned()]), ("y".to_owned(), vec!["a b".to_owned()])]
        );
        assert_eq!(url.text(), "https://user:p%40ss@[::1]:8080/a%20b/c?x=1&x=2&y=a+b&;z#f");
    }

    #[test]
    fn paths_are_urls_and_words_are_not() {
        assert_eq!(Url::parse("/a/b").unwrap().escaped_path(), "/a/b");
        assert_eq!(Url::parse("mailto:a@b").unwrap().host(), "");
        for text in ["", "a/b", "://x", "http://a b"] {
            assert!(Url::parse(text).is_none(), "{text}");
        }
    }
}
