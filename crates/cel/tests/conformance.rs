//! The tests of the CEL specification, where their files are: `CLEARWAY_CEL_SPEC` names the directory.
//!
//! Tests that need Protocol Buffers are listed in `unsupported.txt`; the list is complete, and has no test that runs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clearway_cel::conformance;

/// The files that the list is about.
const FILES: [&str; 16] = [
    "basic",
    "bindings_ext",
    "conversions",
    "encoders_ext",
    "fields",
    "fp_math",
    "integer_math",
    "lists",
    "logic",
    "macros",
    "math_ext",
    "namespace",
    "optionals",
    "parse",
    "plumbing",
    "string",
];

#[test]
fn the_specification_is_followed() {
    let Some(directory) = std::env::var_os("CLEARWAY_CEL_SPEC").map(PathBuf::from) else {
        eprintln!("CLEARWAY_CEL_SPEC is not set: the tests of the CEL specification are not run");
        return;
    };
    let mut passed = 0;
    let mut wrong = Vec::new();
    let mut unsupported = BTreeSet::new();
    let extra = std::env::var("CLEARWAY_CEL_SPEC_FILES").unwrap_or_default();
    let files: Vec<&str> = if extra.is_empty() { FILES.to_vec() } else { extra.split(',').collect() };
    for file in files {
        let text = std::fs::read_to_string(directory.join(format!("{file}.textproto"))).unwrap();
        let report = conformance::run(&text).unwrap();
        passed += report.passed;
        wrong.extend(report.failed.iter().map(|case| format!("{}: {}: {}", case.name, case.expression, case.note)));
        unsupported.extend(report.unsupported.iter().map(|case| format!("{}\t{}", case.name, case.note)));
    }
    println!("{passed} passed, {} failed, {} unsupported", wrong.len(), unsupported.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if extra.is_empty() {
        let listed: BTreeSet<String> = include_str!("unsupported.txt").lines().map(str::to_owned).collect();
        let missing: Vec<&String> = unsupported.difference(&listed).collect();
        let superfluous: Vec<&String> = listed.difference(&unsupported).collect();
        assert!(missing.is_empty() && superfluous.is_empty(), "missing: {missing:#?}\nsuperfluous: {superfluous:#?}");
    }
}
