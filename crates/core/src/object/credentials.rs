//! Which kinds hold credentials, or whatever their owners put there: rules of strangers never read the former, and of the
//! latter only objects that they name.

use super::kind::GroupKind;

/// Kinds whose objects are credentials, in lower case; besides them every kind of tokens, such as `OAuthAccessToken`.
const CREDENTIALS: [&str; 3] = ["secret", "tokenrequest", "tokenreview"];

/// Whether objects of a kind are credentials, whatever its group, and also if the kind is written as a plural, a list or in
/// another case, which commands such as `kubectl` understand. Rules about them are unsupported, whatever rights the process
/// has.
pub fn is_secret_kind(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    let kind = kind.strip_suffix("list").unwrap_or(&kind);
    let kind = kind.strip_suffix('s').unwrap_or(kind);
    CREDENTIALS.contains(&kind) || kind.ends_with("token")
}

/// Whether the objects hold whatever their owners put there, so that only those are read that a rule names.
pub fn is_config_map(kind: &GroupKind) -> bool {
    kind.group.is_empty() && kind.kind == "ConfigMap"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_one_however_it_is_written() {
        for kind in ["Secret", "secret", "SECRETS", "SecretList", "TokenReview", "OAuthAccessToken", "Tokens"] {
            assert!(is_secret_kind(kind), "{kind}");
        }
        for kind in ["ConfigMap", "SecretStore", "ExternalSecret", "Secretary", "List", "s", ""] {
            assert!(!is_secret_kind(kind), "{kind}");
        }
    }
}
