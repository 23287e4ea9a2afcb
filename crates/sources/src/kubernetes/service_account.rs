//! Names of service accounts, as whom requests can be made.

use std::fmt;

/// Prefix of the user name that the API server gives to a service account.
const USER_PREFIX: &str = "system:serviceaccount";
/// Longest name of a namespace (a DNS label).
const NAMESPACE_BYTES: usize = 63;
/// Longest name of a service account (a DNS subdomain).
const NAME_BYTES: usize = 253;

/// Namespace and name of a service account, both of the form that the API server accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAccountName {
    namespace: String,
    name: String,
}

/// A text that does not name a service account.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not the name of a service account; write NAME or NAMESPACE:NAME")]
pub struct ServiceAccountNameError {
    text: String,
}

impl ServiceAccountName {
    /// Reads `NAME`, which is in `namespace`, or `NAMESPACE:NAME`.
    pub fn read(text: &str, namespace: &str) -> Result<Self, ServiceAccountNameError> {
        let (namespace, name) = text.split_once(':').unwrap_or((namespace, text));
        // These become an HTTP header, and part of a user name that is separated by colons.
        let good = |part: &str, longest: usize, dots: bool| {
            let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            (1..=longest).contains(&part.len()) && part.bytes().all(|byte| inner(byte) || dots && byte == b'.')
        };
        if good(namespace, NAMESPACE_BYTES, false) && good(name, NAME_BYTES, true) {
            Ok(ServiceAccountName { namespace: namespace.to_owned(), name: name.to_owned() })
        } else {
            Err(ServiceAccountNameError { text: text.to_owned() })
        }
    }

    /// The user that the API server knows the service account as.
    pub fn user(&self) -> String {
        format!("{USER_PREFIX}:{}:{}", self.namespace, self.name)
    }
}

impl fmt::Display for ServiceAccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_in_the_default_namespace_unless_it_names_one() {
        let user = |text: &str| ServiceAccountName::read(text, "clearway").map(|name| name.user());
        assert_eq!(user("reader").unwrap(), "system:serviceaccount:clearway:reader");
        assert_eq!(user("ops:reader.v1").unwrap(), "system:serviceaccount:ops:reader.v1");
        for text in ["", ":", "ops:", ":reader", "a:b:c", "Reader", "a b", "a\r\nImpersonate-Group: system:masters"] {
            let error = user(text).unwrap_err().to_string();
            assert!(error.ends_with("write NAME or NAMESPACE:NAME"), "{text}: {error}");
        }
        assert!(user(&"a".repeat(NAME_BYTES + 1)).is_err());
    }
}
