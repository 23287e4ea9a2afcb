//! The published patterns for types and reasons as exact byte matchers, and what a name reads like.
//!
//! A regular expression per condition would cost more than reading the YAML; the tests compare with the expressions.

/// `^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
pub(crate) fn is_type(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    prefix.is_none_or(|prefix| prefix.split('.').all(is_label))
        && framed(name.as_bytes(), u8::is_ascii_alphanumeric)
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`
pub(crate) fn is_reason(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',' | b':'))
}

fn is_label(text: &str) -> bool {
    let lower = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    framed(text.as_bytes(), lower) && text.bytes().all(|byte| lower(&byte) || byte == b'-')
}

fn framed(bytes: &[u8], edge: impl Fn(&u8) -> bool) -> bool {
    bytes.first().is_some_and(&edge) && bytes.last().is_some_and(edge)
}

/// The part of a type behind its domain.
pub(crate) fn name_part(kind: &str) -> &str {
    kind.rsplit_once('/').map_or(kind, |(_, name)| name)
}

/// Whether a word is `PascalCase`: an upper-case letter, then letters and digits.
pub(crate) fn is_pascal(text: &str) -> bool {
    text.as_bytes().first().is_some_and(u8::is_ascii_uppercase) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether a name says what is *not* the case (`NotReady`, `NoConflicts`), so that False is a double negative (A7).
pub(crate) fn is_negated(name: &str) -> bool {
    ["Not", "No"].iter().any(|lead| {
        name.strip_prefix(lead).is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
    })
}

const NEGATIVE_ENDS: &[&str] = &[
    "Failed",
    "Failure",
    "Error",
    "Errors",
    "Pressure",
    "Degraded",
    "Stalled",
    "Conflict",
    "Conflicted",
    "Invalid",
    "Missing",
    "Unhealthy",
    "Unavailable",
    "Unready",
    "Unreachable",
    "Unschedulable",
    "Unresolved",
    "Exceeded",
];

/// Whether a name reads as trouble when True.
pub(crate) fn reads_negative(kind: &str) -> bool {
    let name = name_part(kind);
    is_negated(name) || NEGATIVE_ENDS.iter().any(|end| name.ends_with(end))
}

const POSITIVE_ENDS: &[&str] = &[
    "Ready",
    "Available",
    "Healthy",
    "Valid",
    "Synced",
    "Succeeded",
    "Established",
    "Reconciled",
    "Resolved",
    "Provisioned",
    "Deployed",
    "Enabled",
    "Attached",
    "Connected",
];

/// Whether a name reads as health when True.
pub(crate) fn reads_positive(kind: &str) -> bool {
    let name = name_part(kind);
    !reads_negative(kind) && POSITIVE_ENDS.iter().any(|end| name.ends_with(end))
}

/// Present participles that are declared to run for long (A9), and words that only look like participles.
const LONG_RUNNING: &[&str] = &[
    "Deleting",
    "Evaluating",
    "Failing",
    "Issuing",
    "Missing",
    "Pending",
    "Progressing",
    "Reconciling",
    "Resizing",
    "Scaling",
    "Terminating",
    "Upgrading",
];

/// Whether a name is a present participle that nobody declared as long-running (A8).
pub(crate) fn is_passing_action(kind: &str) -> bool {
    let name = name_part(kind);
    name.len() > 4 && name.ends_with("ing") && !LONG_RUNNING.iter().any(|known| name.ends_with(known))
}

/// Whether a reason carries an identifier of one occurrence: many digits in a row, or a piece of a hash (A20).
pub(crate) fn has_identifier(reason: &str) -> bool {
    let (mut digits, mut hex, mut hex_digits) = (0_usize, 0_usize, 0_usize);
    for byte in reason.bytes() {
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        (hex, hex_digits) =
            if byte.is_ascii_hexdigit() { (hex + 1, hex_digits + usize::from(byte.is_ascii_digit())) } else { (0, 0) };
        if digits >= 5 || (hex >= 8 && hex_digits >= 2) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TYPE: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
    const REASON: &str = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";

    fn agrees(text: &str) {
        assert_eq!(is_type(text), regex::Regex::new(TYPE).unwrap().is_match(text), "type {text:?}");
        assert_eq!(is_reason(text), regex::Regex::new(REASON).unwrap().is_match(text), "reason {text:?}");
    }

    #[test]
    fn chosen_texts_agree_with_the_published_patterns() {
        for text in [
            "",
            "a",
            "_",
            "-",
            "Ready",
            "Ready-",
            "-Ready",
            "a/b",
            "/b",
            "a/",
            "a.b/C",
            "a..b/C",
            ".a/B",
            "A.b/C",
            "a-/B",
            "a/b/c",
            "Ready\n",
            "é",
            "A,B",
            "A:",
            "A_",
            "1A",
            "a.b-c.d/E.f_g-h",
            "A:B,C_",
        ] {
            agrees(text);
        }
    }

    proptest! {
        #[test]
        fn any_text_agrees_with_the_published_patterns(text in "[-a-cA-C0-2_.,:/é\n]{0,8}") {
            agrees(&text);
        }
    }

    #[test]
    fn names_read_as_people_read_them() {
        for name in ["NotReady", "NoConflicts", "BuildFailed", "MemoryPressure", "Degraded", "example.com/SyncError"] {
            assert!(reads_negative(name), "{name}");
        }
        for name in ["Node", "Nominated", "Notified", "Ready", "Accepted"] {
            assert!(!reads_negative(name), "{name}");
        }
        assert!(is_passing_action("Creating") && is_passing_action("example.com/Starting"));
        assert!(!is_passing_action("Progressing") && !is_passing_action("Ping") && !is_passing_action("Pending"));
    }

    #[test]
    fn a20_identifiers_are_told_from_words() {
        for reason in ["Pod12345", "Failed8f3a91bc", "JobDeadbeef99"] {
            assert!(has_identifier(reason), "{reason}");
        }
        for reason in ["HTTP404", "ISO8601", "BackendFaceDecade", "MinimumReplicasAvailable"] {
            assert!(!has_identifier(reason), "{reason}");
        }
    }
}
