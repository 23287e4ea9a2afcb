//! What a registry wants to be told before it answers: the `WWW-Authenticate` header.

/// A way to say who is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::oci) enum Challenge {
    /// With a user and a password.
    Basic,
    /// With a token from somebody else.
    Bearer {
        /// The URL that gives tokens.
        realm: String,
        /// The name of the registry there.
        service: Option<String>,
    },
}

/// The way to take of those that the headers offer: a token, if there is one.
pub(in crate::oci) fn choose<'h>(headers: impl Iterator<Item = &'h str>) -> Option<Challenge> {
    let offered: Vec<Challenge> = headers.flat_map(read).collect();
    offered.iter().find(|challenge| **challenge != Challenge::Basic).or(offered.first()).cloned()
}

/// The challenges of one header that are understood.
fn read(header: &str) -> Vec<Challenge> {
    let mut found: Vec<(String, Vec<(String, String)>)> = Vec::new();
    for part in split(header) {
        // A part either begins a challenge (`Bearer realm="…"`) or goes on with one (`service="…"`).
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let key = match name.trim().split_once(char::is_whitespace) {
            Some((scheme, key)) => {
                found.push((scheme.to_ascii_lowercase(), Vec::new()));
                key.trim()
            }
            None if value.is_empty() => {
                found.push((name.trim().to_ascii_lowercase(), Vec::new()));
                continue;
            }
            None => name.trim(),
        };
        if let Some((_, parameters)) = found.last_mut() {
            parameters.push((key.to_ascii_lowercase(), unquote(value.trim())));
        }
    }
    let challenge = |(scheme, parameters): (String, Vec<(String, String)>)| {
        let get = |key: &str| parameters.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
        match scheme.as_str() {
            "basic" => Some(Challenge::Basic),
            "bearer" => Some(Challenge::Bearer { realm: get("realm")?, service: get("service") }),
            _ => None,
        }
    };
    found.into_iter().filter_map(challenge).collect()
}

/// Splits at commas that stand outside of quotes.
fn split(header: &str) -> Vec<&str> {
    let (mut quoted, mut escaped) = (false, false);
    let parts = header.split(move |one: char| {
        let ends = one == ',' && !quoted;
        if one == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && one == '\\' && !escaped;
        ends
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn unquote(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return value.to_owned() };
    let mut text = String::with_capacity(inner.len());
    let mut escaped = false;
    for one in inner.chars() {
        if one == '\\' && !escaped {
            escaped = true;
        } else {
            escaped = false;
            text.push(one);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headers_of_known_registries_are_understood() {
        let bearer = |realm: &str, service: Option<&str>| {
            Some(Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) })
        };
        for (headers, want) in [
            (
                vec![r#"Bearer realm="https://quay.io/v2/auth",service="quay.io",scope="repository:a/b:pull,push""#],
                bearer("https://quay.io/v2/auth", Some("quay.io")),
            ),
            (vec![r#"bearer service=x , realm="https://a/b?c=d""#], bearer("https://a/b?c=d", Some("x"))),
            (vec![r#"Basic realm="Registry, with a \"comma\"""#], Some(Challenge::Basic)),
            (vec!["Basic"], Some(Challenge::Basic)),
            (vec![r#"Basic realm="x", Bearer realm="https://t""#], bearer("https://t", None)),
            (vec!["Basic realm=x", r#"Bearer realm="https://t""#], bearer("https://t", None)),
            (vec!["Negotiate"], None),
            (vec![r#"Bearer service="x""#], None),
            (vec!["", ",,,", "=", r#"""#, "Bearer realm=\"unclosed"], bearer("\"unclosed", None)),
            (vec![], None),
        ] {
            assert_eq!(choose(headers.iter().copied()), want, "{headers:?}");
        }
    }

    proptest! {
        #[test]
        fn no_header_panics(header in r#"((Bearer|Basic|realm|service|x)?[ ,="\\a]{0,3}|\PC{0,3}){0,12}"#) {
            let _ = choose([header.as_str()].into_iter());
        }
    }
}
