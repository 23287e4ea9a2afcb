//! What remains of a message when everything that differs from write to write is taken away.
//!
//! Times, durations, identifiers, addresses and the order of words go; two messages with the same remains say the same,
//! and a controller that alternates between them wakes every watcher for nothing (A22).

use std::hash::{DefaultHasher, Hash, Hasher};

/// A hash of a text.
pub(crate) fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// A hash of what remains of a message. The words are added up, so that their order does not matter.
pub(crate) fn remains(message: &str) -> u64 {
    let in_word = |at: char| at.is_alphanumeric() || matches!(at, ':' | '.' | '-' | '_' | '+');
    message
        .split(|at: char| !in_word(at))
        .map(|word| word.trim_matches(|at| matches!(at, ':' | '.' | '-')))
        .filter(|word| !word.is_empty())
        .fold(0_u64, |sum, word| sum.wrapping_add(remains_of_word(word)))
}

fn remains_of_word(word: &str) -> u64 {
    if is_volatile(word) {
        return hash("\0");
    }
    // `web-7d4b9c-x2x9p`: the parts that are identifiers go, the others stay.
    word.split('-').fold(1, |sum, part| {
        let part = if is_volatile(part) { "\0" } else { part };
        sum.wrapping_mul(31).wrapping_add(hash(part))
    })
}

fn is_volatile(word: &str) -> bool {
    let bytes = word.as_bytes();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return false;
    }
    let all = |test: fn(&u8) -> bool| bytes.iter().all(test);
    let is_hex = bytes.len() >= 6 && all(u8::is_ascii_hexdigit) && digits < bytes.len();
    let is_pointer = word.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let is_long_number = bytes.len() >= 5 && digits == bytes.len();
    let is_uuid = bytes.len() == 36 && all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    let starts_with_digit = bytes.first().is_some_and(u8::is_ascii_digit);
    let is_clock = starts_with_digit
        && bytes.contains(&b':')
        && all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'-' | b'+' | b'T' | b'Z'));
    let is_date = bytes.len() == 10
        && bytes.get(4) == Some(&b'-')
        && bytes.get(7) == Some(&b'-')
        && all(|byte| byte.is_ascii_digit() || *byte == b'-');
    let is_address = word.split('.').count() == 4 && all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b':'));
    is_hex || is_pointer || is_long_number || is_uuid || is_clock || is_date || is_address || is_duration(word)
}

/// Whether a word is a duration as Go writes them: `1h2m3.5s`, `250ms`.
fn is_duration(word: &str) -> bool {
    let mut rest = word;
    let mut parts = 0;
    while !rest.is_empty() {
        let number = rest.trim_start_matches(|at: char| at.is_ascii_digit() || at == '.');
        if number.len() == rest.len() {
            return false;
        }
        let unit = ["ns", "us", "µs", "ms", "h", "m", "s", "d"].into_iter().find_map(|unit| number.strip_prefix(unit));
        match unit {
            Some(after) => rest = after,
            None => return false,
        }
        parts += 1;
    }
    parts > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a22_messages_that_differ_in_volatile_tokens_only_are_the_same() {
        for (a, b) in [
            ("failed after 1.5s", "failed after 2m3s"),
            (
                "request 3f2a91bc-77de-4a01-9c1e-1f2d3c4b5a69 denied",
                "request 11112222-3333-4444-5555-666677778888 denied",
            ),
            ("waiting for a, b, c", "waiting for c, a, b"),
            ("dial tcp 10.0.0.1:443: refused", "dial tcp 10.0.0.27:8443: refused"),
            ("at 2024-05-01T12:00:00Z", "at 2024-05-01T12:00:07Z"),
            ("pod web-7d4b9c1 lost", "pod web-9f8e7d1 lost"),
            ("object 0xc000123 freed", "object 0xc000456 freed"),
        ] {
            assert_eq!(remains(a), remains(b), "{a} / {b}");
        }
    }

    #[test]
    fn messages_that_say_something_else_differ() {
        for (a, b) in [("2 of 3 ready", "3 of 3 ready"), ("waiting for a", "waiting for b"), ("port 80", "port 81")] {
            assert_ne!(remains(a), remains(b), "{a} / {b}");
        }
    }

    proptest! {
        #[test]
        fn no_message_panics(text in ".{0,80}") {
            let _ = remains(&text);
        }
    }
}
