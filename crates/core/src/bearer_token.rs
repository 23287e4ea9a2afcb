//! A bearer token of a request. Whoever knows it can act as its owner, so it is not printed.

use std::fmt;

/// A bearer token; `Debug` does not show it, and there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken(String);

/// Why a text is not a bearer token. It does not repeat the text, which may be another secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BearerTokenError {
    /// There is no text.
    #[error("the token is empty")]
    Empty,
    /// A header cannot contain the text.
    #[error("a token consists of letters, digits and ASCII punctuation; this one has other characters")]
    Character,
    /// The header is of another scheme, such as `Basic`.
    #[error("the header Authorization has to be `Bearer TOKEN`")]
    Scheme,
}

impl BearerToken {
    /// Reads a token, with the white space around it that copying adds.
    pub fn read(text: &str) -> Result<Self, BearerTokenError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(BearerTokenError::Empty);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BearerTokenError::Character);
        }
        Ok(BearerToken(text.to_owned()))
    }

    /// Reads the value of the header `Authorization`.
    pub fn from_authorization(value: &str) -> Result<Self, BearerTokenError> {
        match value.trim().split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Self::read(token),
            _ => Err(BearerTokenError::Scheme),
        }
    }

    /// The token itself, for the request that it authenticates.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_printed() {
        let token = BearerToken::read(" eyJhbGciOi.J9-_~+/= \n").unwrap();
        assert_eq!(token.secret(), "eyJhbGciOi.J9-_~+/=");
        assert_eq!(format!("{token:?} {:?}", Some(&token)), "BearerToken(not shown) Some(BearerToken(not shown))");
        for (text, why) in [
            ("", BearerTokenError::Empty),
            (" \t", BearerTokenError::Empty),
            ("secret word", BearerTokenError::Character),
            ("secret\r\nHost: other", BearerTokenError::Character),
            ("geheimnüs", BearerTokenError::Character),
        ] {
            let error = BearerToken::read(text).unwrap_err();
            assert_eq!(error, why, "{text:?}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn only_the_bearer_scheme_is_read() {
        assert_eq!(BearerToken::from_authorization("Bearer abc").unwrap().secret(), "abc");
        assert_eq!(BearerToken::from_authorization("bearer  abc").unwrap().secret(), "abc");
        for (value, why) in [
            ("Basic dXNlcjpwYXNz", BearerTokenError::Scheme),
            ("abc", BearerTokenError::Scheme),
            ("Bearer", BearerTokenError::Scheme),
            ("Bearer a b", BearerTokenError::Character),
        ] {
            assert_eq!(BearerToken::from_authorization(value).unwrap_err(), why, "{value}");
        }
    }
}
