//! Any bytes as a snapshot: as an archive, and as its files, with a line `=== NAME` before each. Reading ends; what is
//! read is written and packed, reads as the same, and can be redacted.
#![no_main]

use clearway_core::Limits;
use clearway_promql::read::write_snapshot;
use clearway_sources::snapshot::{
    Files, LoadedSnapshot, Part, RedactOptions, Snapshot, assemble, read_archive, redact, to_archive, to_files,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { file_bytes: 1 << 20, document_bytes: 1 << 18, depth: 64, nodes: 20_000, ..Limits::default() };
    for loaded in [read_archive(bytes, &limits), assemble(files(bytes), &limits)] {
        match loaded {
            Ok(LoadedSnapshot { snapshot, diagnostics }) => {
                assert!(diagnostics.iter().all(|diagnostic| diagnostic.code.starts_with("SN")));
                check(&snapshot);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});

/// The parts of a text, by the names before them.
fn files(bytes: &[u8]) -> Files {
    let text = String::from_utf8_lossy(bytes);
    let parts = text.split("=== ").skip(1).filter_map(|part| part.split_once('\n'));
    parts.map(|(name, content)| (name.trim().to_owned(), content.as_bytes().to_vec())).collect()
}

fn check(snapshot: &Snapshot) {
    let Ok(written) = to_files(snapshot) else { return };
    let again = assemble(written.clone(), &Limits::default()).expect("what is written is read").snapshot;
    assert_eq!(to_files(&again).expect("it was written before"), written);
    assert_eq!(again.taken_at, snapshot.taken_at);
    if let (Part::Collected(one), Part::Collected(other)) = (&snapshot.series, &again.series) {
        assert_eq!(write_snapshot(&one.series), write_snapshot(&other.series));
    }
    let archive = to_archive(snapshot).expect("it was written before");
    read_archive(archive.as_slice(), &Limits::default()).expect("what is packed is read");
    if let Ok(redacted) = redact(snapshot, &RedactOptions::default()) {
        assert!(redacted.redacted);
        to_files(&redacted).expect("what is redacted is written");
    }
}
