//! Condition types and reasons: short names the API server checks, so they are checked before it sees them.
//!
//! An empty or free-text reason makes the server refuse the *whole* status write, and the status freezes. Hence a value
//! of [`ConditionType`] or [`Reason`] is always one the server accepts. What the program itself writes is a literal and
//! held to more, at compile time: CamelCase, as the conventions ask (`condition_type!`, `reason!`).
//! Start at [`ConditionType`].

use std::borrow::Cow;
use std::fmt;

/// The most bytes a condition type may have, as in metav1.
pub const MAX_TYPE_BYTES: usize = 316;
/// The most bytes a reason may have.
pub const MAX_REASON_BYTES: usize = 1024;
/// The pattern of a condition type, as in metav1.
pub const TYPE_PATTERN: &str =
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
/// The pattern of a reason, as in metav1.
pub const REASON_PATTERN: &str = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";

const MAX_NAME_BYTES: usize = 63;

/// The type of a condition: `Ready`, or `example.com/CertificateExpired` for one's own on a foreign API (G7).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConditionType(Cow<'static, str>);

/// Why a condition has its status, in one CamelCase word.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reason(Cow<'static, str>);

/// Why a text is not a condition type or not a reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The API server would refuse it as a condition type.
    #[error("`{text}` is not a condition type: a CamelCase name of at most 63 bytes, after an optional `domain/`")]
    Type {
        /// What was given, at most its first 64 characters.
        text: String,
    },
    /// The API server would refuse it as a reason.
    #[error("`{text}` is not a reason: one CamelCase word of 1 to 1024 letters, digits, `_`, `,` or `:`")]
    Reason {
        /// What was given, at most its first 64 characters.
        text: String,
    },
}

/// A [`ConditionType`] from a literal; one that is not CamelCase after an optional `domain/` does not compile.
///
/// ```
/// use clearway_conditions::condition_type;
/// assert_eq!(condition_type!("Ready").as_str(), "Ready");
/// assert_eq!(condition_type!("example.com/BackupOverdue").as_str(), "example.com/BackupOverdue");
/// ```
/// ```compile_fail
/// clearway_conditions::condition_type!("");
/// ```
/// ```compile_fail
/// clearway_conditions::condition_type!("not ready");
/// ```
/// ```compile_fail
/// clearway_conditions::condition_type!("ready");
/// ```
/// ```compile_fail
/// clearway_conditions::condition_type!("Example.com/Ready");
/// ```
#[macro_export]
macro_rules! condition_type {
    ($text:expr) => {
        const { $crate::model::ConditionType::literal($text) }
    };
}

/// A [`Reason`] from a literal; one that is not a CamelCase word does not compile (K5).
///
/// ```
/// use clearway_conditions::reason;
/// assert_eq!(reason!("DbDown").as_str(), "DbDown");
/// ```
/// ```compile_fail
/// clearway_conditions::reason!("");
/// ```
/// ```compile_fail
/// clearway_conditions::reason!("the db is down");
/// ```
/// ```compile_fail
/// clearway_conditions::reason!("dbDown");
/// ```
#[macro_export]
macro_rules! reason {
    ($text:expr) => {
        const { $crate::model::Reason::literal($text) }
    };
}

impl ConditionType {
    /// A type known while compiling. Use `condition_type!`, which runs this at compile time only.
    #[doc(hidden)]
    #[must_use]
    pub const fn literal(text: &'static str) -> Self {
        assert!(
            is_type(text.as_bytes()) && is_camel_case(name_of(text.as_bytes())),
            "a condition type is a CamelCase name of at most 63 letters and digits, after an optional `domain/`"
        );
        ConditionType(Cow::Borrowed(text))
    }

    /// A type learnt at run time, if the API server takes it.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if is_type(text.as_bytes()) {
            Ok(ConditionType(Cow::Owned(text.to_owned())))
        } else {
            Err(NameError::Type { text: text.chars().take(64).collect() })
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its bytes, if it is a literal; comparisons at compile time need them.
    pub(in crate::model) const fn literal_bytes(&self) -> &[u8] {
        match &self.0 {
            Cow::Borrowed(text) => text.as_bytes(),
            Cow::Owned(_) => &[],
        }
    }
}

impl Reason {
    /// A reason known while compiling. Use `reason!`, which runs this at compile time only.
    #[doc(hidden)]
    #[must_use]
    pub const fn literal(text: &'static str) -> Self {
        assert!(
            text.len() <= MAX_REASON_BYTES && is_camel_case(text.as_bytes()),
            "a reason is one CamelCase word of letters and digits"
        );
        Reason(Cow::Borrowed(text))
    }

    /// A reason learnt at run time, if the API server takes it.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if is_reason(text.as_bytes()) {
            Ok(Reason(Cow::Owned(text.to_owned())))
        } else {
            Err(NameError::Reason { text: text.chars().take(64).collect() })
        }
    }

    /// The nearest legal reason to a foreign text: words are joined in CamelCase, other characters dropped. A text
    /// without a single letter gives `otherwise`.
    pub fn sanitize(text: &str, otherwise: Reason) -> Reason {
        if let Ok(reason) = Reason::parse(text) {
            return reason;
        }
        let mut name = String::new();
        for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            let at_start = name.is_empty();
            let mut rest = word.chars().skip_while(|c| at_start && !c.is_ascii_alphabetic());
            name.extend(rest.next().map(|first| first.to_ascii_uppercase()));
            name.extend(rest);
        }
        name.truncate(MAX_REASON_BYTES);
        Reason::parse(&name).unwrap_or(otherwise)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConditionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// [`TYPE_PATTERN`], the length, and the label rule that the name has at most 63 bytes.
const fn is_type(text: &[u8]) -> bool {
    let name = name_of(text);
    let domain_ok = match text.split_at_checked(text.len() - name.len()) {
        Some(([], _)) => true,
        Some(([domain @ .., b'/'], _)) => is_domain(domain),
        _ => false,
    };
    text.len() <= MAX_TYPE_BYTES && domain_ok && is_label_name(name)
}

/// What follows the last slash, or everything.
const fn name_of(text: &[u8]) -> &[u8] {
    let mut rest = text;
    let mut name = text;
    while let [first, tail @ ..] = rest {
        if *first == b'/' {
            name = tail;
        }
        rest = tail;
    }
    name
}

const fn is_domain(text: &[u8]) -> bool {
    let mut rest = text;
    // What the previous byte was: a label neither begins nor ends with `-`, and none is empty.
    let mut previous = b'.';
    while let [byte, tail @ ..] = rest {
        let ok = match *byte {
            b'a'..=b'z' | b'0'..=b'9' => true,
            b'-' => previous != b'.',
            b'.' => previous != b'.' && previous != b'-',
            _ => false,
        };
        if !ok {
            return false;
        }
        previous = *byte;
        rest = tail;
    }
    previous != b'.' && previous != b'-'
}

const fn is_label_name(text: &[u8]) -> bool {
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        if !(byte.is_ascii_alphanumeric() || matches!(*byte, b'-' | b'_' | b'.')) {
            return false;
        }
        rest = tail;
    }
    text.len() <= MAX_NAME_BYTES
        && matches!(text, [first, ..] if first.is_ascii_alphanumeric())
        && matches!(text, [.., last] if last.is_ascii_alphanumeric())
}

/// [`REASON_PATTERN`] and the length.
const fn is_reason(text: &[u8]) -> bool {
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        if !(byte.is_ascii_alphanumeric() || matches!(*byte, b'_' | b',' | b':')) {
            return false;
        }
        rest = tail;
    }
    text.len() <= MAX_REASON_BYTES
        && matches!(text, [first, ..] if first.is_ascii_alphabetic())
        && matches!(text, [.., last] if last.is_ascii_alphanumeric() || *last == b'_')
}

const fn is_camel_case(text: &[u8]) -> bool {
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        if !byte.is_ascii_alphanumeric() {
            return false;
        }
        rest = tail;
    }
    matches!(text, [first, ..] if first.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn types_are_what_the_api_server_takes() {
        let longest = format!("{}/{}", ["a"; 126].join("."), "B".repeat(63));
        for text in ["Ready", "a/B", "example.com/My-Type_1.x", "x-1.y/Z", "lower", "9", &longest] {
            assert!(ConditionType::parse(text).is_ok(), "{text}");
        }
        let long_name = "A".repeat(64);
        let long_domain = format!("{}/B", "a".repeat(315));
        for text in
            ["", "/", "a/", "/A", "a/b/C", "A.com/B", "-a/B", "a-/B", "a..b/C", "Not Ready", "Ready-", "_R", "Größe"]
                .into_iter()
                .chain([long_name.as_str(), &long_domain])
        {
            assert!(ConditionType::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn q11_k5_a_reason_is_never_empty_nor_free_text() {
        for text in ["DbDown", "a", "A,B", "A:B", "my_name", "X_"] {
            assert!(Reason::parse(text).is_ok(), "{text}");
        }
        let long = "A".repeat(1025);
        for text in ["", "Continuous Archiving is Working", "A,", "A:", "1A", "_A", "A-B", long.as_str()] {
            assert!(Reason::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_foreign_reason_becomes_the_nearest_legal_one() {
        let sanitize = |text| Reason::sanitize(text, reason!("Unexplained")).to_string();
        assert_eq!(sanitize("Continuous Archiving is working"), "ContinuousArchivingIsWorking");
        assert_eq!(sanitize("image-pull-back-off"), "ImagePullBackOff");
        assert_eq!(sanitize("404 not found"), "NotFound");
        assert_eq!(sanitize("A,B"), "A,B");
        assert_eq!(sanitize(""), "Unexplained");
        assert_eq!(sanitize("12 %"), "Unexplained");
        assert_eq!(sanitize(&"é x".repeat(2000)).len(), MAX_REASON_BYTES);
    }

    proptest! {
        #[test]
        fn every_text_can_be_made_a_reason(text in ".{0,80}") {
            let reason = Reason::sanitize(&text, reason!("Unexplained"));
            prop_assert!(Reason::parse(reason.as_str()).is_ok());
        }

        #[test]
        fn what_parses_is_what_the_patterns_say(text in "[aZ9/._:, -]{0,8}") {
            // The patterns of the schema, spelled out by hand: the crate has no regular expressions.
            let label = |t: &str| {
                t.starts_with(|c: char| c.is_ascii_alphanumeric())
                    && t.ends_with(|c: char| c.is_ascii_alphanumeric())
                    && t.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
            };
            let dns = |t: &str| {
                t.split('.').all(|part| {
                    !part.is_empty()
                        && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
                        && !part.starts_with('-')
                        && !part.ends_with('-')
                })
            };
            let want = match text.split_once('/') {
                None => label(&text),
                Some((domain, name)) => dns(domain) && label(name),
            };
            prop_assert_eq!(ConditionType::parse(&text).is_ok(), want);
        }
    }
}
