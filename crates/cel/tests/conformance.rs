//! The tests of the CEL specification: none fails.
//!
//! Tests that need Protocol Buffers are listed in `unsupported.txt`; the list is complete, and has no test that runs.
//! `CLEARWAY_CEL_UNSUPPORTED=write` writes it anew.

use std::collections::BTreeSet;
use std::path::Path;

use clearway_cel::conformance;
use clearway_testbed::{Component, have};

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/unsupported.txt");

#[test]
fn the_specification_is_followed() {
    if !have(&[Component::CelSpec]) {
        return;
    }
    let mut files: Vec<_> = std::fs::read_dir(Component::CelSpec.find().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "textproto"))
        .collect();
    files.sort();
    assert!(files.len() >= 30, "the specification has at least 30 files: {files:?}");
    let mut passed = 0;
    let mut wrong = Vec::new();
    let mut unsupported = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let report = conformance::run(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        passed += report.passed;
        wrong.extend(report.failed.iter().map(|case| format!("{}: {}: {}", case.name, case.expression, case.note)));
        unsupported.extend(report.unsupported.iter().map(|case| format!("{}\t{}", case.name, case.note)));
    }
    println!("{passed} passed, {} failed, {} unsupported", wrong.len(), unsupported.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if std::env::var_os("CLEARWAY_CEL_UNSUPPORTED").is_some() {
        let lines: Vec<&str> = unsupported.iter().map(String::as_str).collect();
        std::fs::write(Path::new(LIST), lines.join("\n") + "\n").unwrap();
        return;
    }
    let listed: BTreeSet<String> = include_str!("unsupported.txt").lines().map(str::to_owned).collect();
    let missing: Vec<&String> = unsupported.difference(&listed).collect();
    let superfluous: Vec<&String> = listed.difference(&unsupported).collect();
    assert!(missing.is_empty() && superfluous.is_empty(), "missing: {missing:#?}\nsuperfluous: {superfluous:#?}");
}
