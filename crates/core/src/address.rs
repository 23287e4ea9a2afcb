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

    /// The whole text is one address, also where a password has blanks or commas in it, and where the scheme is not written
    /// as it should be: whoever connects may understand it all the same.
    fn shown(&self) -> String {
        let text = self.0.as_str();
        let start = text.find("://").map_or(0, |at| at.saturating_add(3));
        let (scheme, address) = text.split_at_checked(start).unwrap_or(("", text));
        let mut shown = String::with_capacity(text.len());
        // What stands in front of the scheme of another address is none.
        if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.:/".contains(&byte)) {
            shown.push_str(scheme);
        }
        push_address(&mut shown, address);
        shown
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
        f.write_str(&self.shown())
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
        write!(f, "{:?}", self.shown())
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
        let end = end_of_address(rest);
        let (word, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        // A password or a token may hold any of these; only the last ones are those of a sentence.
        let address = word.trim_end_matches([',', ')', '\'', '.', ':', ';']);
        push_address(&mut out, address);
        out.push_str(word.get(address.len()..).unwrap_or_default());
        let Some(next) = after.find("://") else {
            out.push_str(after);
            return Cow::Owned(out);
        };
        let (between, tail) = after.split_at_checked(next.saturating_add(3)).unwrap_or((after, ""));
        out.push_str(between);
        rest = tail;
    }
}

/// Where an address ends that a sentence goes on behind. What cannot be a port may be the beginning of a password with a blank in
/// it, which ends at an `@`.
fn end_of_address(text: &str) -> usize {
    let end_behind = |start: usize| {
        let rest = text.get(start..).unwrap_or_default();
        rest.find(ends_address).map_or(text.len(), |end| start.saturating_add(end))
    };
    let end = end_behind(0);
    let word = text.get(..end).unwrap_or(text);
    let host = word.split(['/', '?', '#']).next().unwrap_or_default();
    let sentence = text.split("://").next().unwrap_or_default();
    match sentence.rfind('@') {
        Some(at) if has_no_port(host) && !word.contains('@') => end_behind(at),
        _ => end,
    }
}

fn ends_address(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '"' | '<' | '>' | '`')
}

/// Appends what stands behind a scheme.
fn push_address(out: &mut String, address: &str) {
    let (plain, secret) = address.split_once(['?', '#']).map_or((address, None), |(plain, rest)| (plain, Some(rest)));
    // A password may hold either of them, too: everything in front of the `@` is part of it then.
    if secret.is_some_and(|rest| rest.contains('@')) {
        out.push_str("?…");
        return;
    }
    let (host, path) = plain.find('/').and_then(|at| plain.split_at_checked(at)).unwrap_or((plain, ""));
    // A password may hold a slash that somebody forgot to encode.
    match plain.rsplit_once('@') {
        Some((_, shown)) if !host.contains('@') => out.push_str(shown),
        // A password that was not encoded either: this is its beginning, and not a port.
        None if secret.is_some() && path.is_empty() && has_no_port(host) => {}
        _ => {
            out.push_str(host.rsplit_once('@').map_or(host, |(_, host)| host));
            out.push_str(path);
        }
    }
    if secret.is_some() {
        out.push_str("?…");
    }
}

/// Whether something else than a port follows the last colon.
fn has_no_port(host: &str) -> bool {
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    !host.ends_with(']') && !port.bytes().all(|byte| byte.is_ascii_digit())
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
            // Whoever reads addresses understands all of these.
            ("https://me:a,hunter2@h/a", "https://h/a"),
            ("https://me:a)hunter2'@h/a", "https://h/a"),
            ("https://me:a hunter2@h/a", "https://h/a"),
            ("https://me:a\"<hunter2@h/a", "https://h/a"),
            ("https://me:a(hunter2)@h/a", "https://h/a"),
            ("https://me:a[hunter2]@h/a", "https://h/a"),
            ("https://me:a{hunter2}@h/a", "https://h/a"),
            ("https://h/a?token=a)hunter2", "https://h/a?…"),
            ("https://h/a?token=a]hunter2", "https://h/a?…"),
            ("https://h/a?token=a,hunter2", "https://h/a?…"),
            ("https://h/a?token=a hunter2", "https://h/a?…"),
            ("https:/h/a?token=hunter2", "https:/h/a?…"),
            ("https:h/a?token=hunter2", "https:h/a?…"),
            ("https:\\\\me:hunter2@h/a", "h/a"),
            ("h/a?token=hunter2", "h/a?…"),
            ("h/a#hunter2", "h/a?…"),
            ("https://me:hunter2?x@h/a", "https://?…"),
            ("https://me:hunter2/x?y@h/a", "https://?…"),
            ("https://me:hunter2/x#y@h/a", "https://?…"),
            ("https://me:2024?hunter2@h/a", "https://?…"),
            ("https://h/a?mail=hunter2@b", "https://?…"),
            ("https://h:8443?token=hunter2", "https://h:8443?…"),
            ("https://[fe80::1]?token=hunter2", "https://[fe80::1]?…"),
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
        // What may be part of a password or a token does not end an address.
        assert_eq!(
            redacted("(https://me:a,hunter2@h/a), 'https://b?t=a)hunter2': https://c:a'hunter2@d."),
            "(https://h/a), 'https://b?…': https://d."
        );
        assert_eq!(redacted("https://a/x,https://me:hunter2@b/y"), "https://b/y");
        // Nor does a blank, where it cannot be read otherwise.
        assert_eq!(redacted("cannot reach https://me:a hunter2@h/a: refused"), "cannot reach https://h/a: refused");
        assert_eq!(
            redacted("https://h:8443 refused someone@example.com"),
            "https://h:8443 refused someone@example.com"
        );
    }
}
