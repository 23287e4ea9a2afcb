//! The address of a service, which may hold credentials and never shows them.

use std::borrow::Cow;
use std::fmt;

/// An address as somebody wrote it: a URL, or what should be one. What may be a secret in it (user and password, and the
/// values of a query) is left out wherever it is shown: in messages, logs, metrics and statuses. Only
/// [`Address::expose`] gives all of it, to whoever connects.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(String);

impl Address {
    /// The address with everything that is in it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Address {
    fn from(text: &str) -> Self {
        Address(text.trim().to_owned())
    }
}

impl std::str::FromStr for Address {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Address::from(text))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redacted(&self.0))
    }
}

impl serde::Serialize for Address {
    /// As it is shown.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", redacted(&self.0))
    }
}

/// A text in which addresses show no credentials: what stands between `://` and `@`, and what follows a `?`.
pub fn redacted(text: &str) -> Cow<'_, str> {
    if !text.contains("://") && !text.contains('@') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // An address without a scheme may still begin with a password.
    let first = rest.find("://").map_or(0, |at| at.saturating_add(3));
    let (head, tail) = rest.split_at_checked(first).unwrap_or(("", rest));
    out.push_str(head);
    rest = tail;
    loop {
        let end = rest.find(ends_address).unwrap_or(rest.len());
        let (address, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        push_address(&mut out, address);
        let Some(next) = after.find("://") else {
            out.push_str(after);
            return Cow::Owned(out);
        };
        let (between, tail) = after.split_at_checked(next.saturating_add(3)).unwrap_or((after, ""));
        out.push_str(between);
        rest = tail;
    }
}

fn ends_address(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '"' | '\'' | '<' | '>' | '`' | ',' | ')')
}

/// Appends what stands behind a scheme.
fn push_address(out: &mut String, address: &str) {
    let (plain, secret) = address.split_once(['?', '#']).map_or((address, false), |(plain, _)| (plain, true));
    let (host, path) = plain.find('/').and_then(|at| plain.split_at_checked(at)).unwrap_or((plain, ""));
    // A password may hold a slash that somebody forgot to encode.
    match plain.rsplit_once('@') {
        Some((_, shown)) if !host.contains('@') => out.push_str(shown),
        _ => {
            out.push_str(host.rsplit_once('@').map_or(host, |(_, host)| host));
            out.push_str(path);
        }
    }
    if secret {
        out.push_str("?…");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_and_queries_are_not_shown() {
        for (text, want) in [
            ("https://updates.example.com/graph", "https://updates.example.com/graph"),
            ("https://me:hunter2@h:8443/a?channel=x", "https://h:8443/a?…"),
            ("https://me:hun/ter2@h/a", "https://h/a"),
            ("https://me@ex:hunter2@h/a", "https://h/a"),
            ("https://h/a?token=hunter2", "https://h/a?…"),
            ("https://h/a#token=hunter2", "https://h/a?…"),
            ("me:hunter2@h/a", "h/a"),
            ("//me:hunter2@h/a", "h/a"),
            ("", ""),
            ("plain text", "plain text"),
        ] {
            let address = Address::from(text);
            assert_eq!((address.to_string().as_str(), address.expose()), (want, text));
            assert!(!format!("{address:?}").contains("hunter2"), "{address:?}");
        }
    }

    #[test]
    fn addresses_within_a_sentence_are_redacted() {
        assert_eq!(
            redacted("cannot reach https://me:hunter2@a/x?t=hunter2, then \"http://b:hunter2@c\" (https://d)"),
            "cannot reach https://a/x?…, then \"http://c\" (https://d)"
        );
        assert_eq!(redacted("mail someone@example.com"), "mail someone@example.com");
    }
}
