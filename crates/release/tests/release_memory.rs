//! What a few bytes of a release become in memory is bounded for all of its objects together.

use clearway_core::Digest;
use clearway_release::{ContentError, Files, METADATA, Payload, ReleaseLimits, Selection};
use serde_json::Value;

const GOOD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns}\n";

fn release(text: &str) -> Files {
    let metadata = br#"{"kind": "cincinnati-metadata-v0", "version": "1.2.3"}"#.to_vec();
    [(METADATA.to_owned(), metadata), ("a.yaml".to_owned(), text.as_bytes().to_vec())].into()
}

fn read_payload(files: &Files, limits: &ReleaseLimits) -> Result<Payload, ContentError> {
    Payload::read(files, Digest::sha256(b""), &Selection::default(), limits)
}

/// Each object stays within the limit of one, and all of them together do not.
#[test]
fn a_release_whose_objects_take_too_much_memory_is_refused() {
    const LIMIT: u64 = 1 << 20;
    let limits = ReleaseLimits { memory: LIMIT, ..ReleaseLimits::default() };
    let list = |what: &str, count: usize| format!("[{}]", vec![what; count].join(","));
    let aliased = |number: usize, value: &str| {
        let (a, b) = (list(value, 20), list("*a", 20));
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{number}}}\na: &a {a}\nb: {b}\n---\n")
    };
    for value in ["0", "{a: 0}", "text", "[]", "{}"] {
        let all = |count: usize| {
            let text: String = (0..count).map(|number| aliased(number, value)).collect();
            read_payload(&release(&text), &limits)
        };
        assert_eq!(all(1).unwrap().manifests.len(), 1, "{value}");
        let error = all(200).unwrap_err();
        assert_eq!(error.errors, 1, "{value}: the rest is not read");
        assert!(error.to_string().contains("more than 1048576 bytes of memory"), "{value}: {error}");
        assert!(error.to_string().contains("; remove objects, or divide the release"), "{value}: {error}");
    }
}

/// Memory is counted for the worst: what is counted is at least what the values and names of an object take.
#[test]
fn the_memory_of_an_object_is_at_least_that_of_its_values() {
    let object = format!("{GOOD}data: {{{}}}\n", (0..50).map(|key| format!("k{key}: x")).collect::<Vec<_>>().join(","));
    let files = release(&object);
    let within = |memory: u64| read_payload(&files, &ReleaseLimits { memory, ..ReleaseLimits::default() }).is_ok();
    let value = u64::try_from(size_of::<Value>() + size_of::<String>()).unwrap();
    assert!(!within(50 * value));
    assert!(within(50 * value * 10), "and not much more");
}
