//! Any text as a time, a version, a digest, and as the source of an excerpt: what is accepted is written and read back
//! as the same.
#![no_main]

use clearway_core::{Digest, Excerpt, Timestamp, Version};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (usize, usize, &str)| {
    let (start, end, text) = input;
    if let Ok(time) = text.parse::<Timestamp>() {
        assert_eq!(time.to_string().parse::<Timestamp>().map(Timestamp::as_seconds), Ok(time.as_seconds()));
    }
    if let Ok(version) = text.parse::<Version>() {
        assert_eq!(version.to_string().parse::<Version>().as_ref(), Ok(&version));
        assert_eq!(version.precedence(&version.without_build()), std::cmp::Ordering::Equal);
        _ = version.arch();
    }
    if let Ok(digest) = text.parse::<Digest>() {
        assert_eq!(digest.to_string().parse::<Digest>().as_ref(), Ok(&digest));
    }
    if let Some(excerpt) = Excerpt::of(text, start..end) {
        assert!(excerpt.text.get(excerpt.start..excerpt.end).is_some(), "{excerpt:?}");
    }
});
