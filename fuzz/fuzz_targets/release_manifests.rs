//! Any text as the files of a release, beside good ones: reading ends, a release that is read is put into stages whole and
//! in the same order twice, every finding is documented, and what is packed again has the same objects.
#![no_main]

use clearway_core::Digest;
use clearway_release::{Files, Payload, ReleaseLimits, Selection, codes, findings, pack};
use libfuzzer_sys::fuzz_target;

const METADATA: &str = r#"{"kind": "cincinnati-metadata-v0", "version": "1.2.3"}"#;
const GOOD: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: good}}";

fuzz_target!(|input: (u8, &str)| {
    let (which, text) = input;
    let names = ["0000_10_core_a.yaml", "0000_50_x.yml", "a.json", "release-metadata", "image-references"];
    let name = names[usize::from(which) % names.len()];
    let mut files: Files = [("release-metadata", METADATA), ("0000_50_good_a.yaml", GOOD), (name, text)]
        .into_iter()
        .map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()))
        .collect();
    let limits = ReleaseLimits { values: 4_000, objects: 200, ..ReleaseLimits::default() };
    let read = |files: &Files, limits| Payload::read(files, Digest::sha256(b""), &Selection::default(), limits);
    for finding in findings(&files, &Selection::default(), &limits).iter() {
        assert!(finding.code.starts_with("IN") || codes::RULES.iter().any(|rule| rule.code == finding.code));
    }
    let Ok(payload) = read(&files, &limits) else { return };
    let stages = payload.stages();
    let staged: usize = stages.iter().flat_map(|stage| &stage.lanes).map(|lane| lane.manifests.len()).sum();
    assert_eq!(staged, payload.manifests.len());
    assert_eq!(stages, payload.stages());
    if !payload.left_out.is_empty() {
        return;
    }
    files.retain(|name, _| name.contains('.'));
    let streams = files.iter().map(|(name, content)| (name.clone(), content.as_slice()));
    // A run level or component that is asked for in an annotation may be none.
    let Ok(packed) = pack(streams, &payload.metadata, "main", &limits) else { return };
    let again = read(&packed.files, &ReleaseLimits::default()).expect("it was packed");
    let objects = |payload: &Payload| {
        let mut objects: Vec<String> = payload.manifests.iter().map(|manifest| manifest.object.to_string()).collect();
        objects.sort();
        objects
    };
    assert_eq!(objects(&again), objects(&payload));
});
