//! The suites below `tests/suites` pass, as they do with gator, and cover what Gatekeeper has.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clearway_core::Limits;
use clearway_policy::rego::Budget;
use clearway_policy::run::{World, print, run_suite};
use clearway_policy::{Filter, Suite, read_document};

fn suites(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            suites(&path, found);
        } else if path.file_name().is_some_and(|name| name == "suite.yaml") {
            found.push(path);
        }
    }
}

#[test]
fn every_suite_passes() {
    let root = std::env::var("CLEARWAY_POLICY_SUITES")
        .map_or_else(|_| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suites")), PathBuf::from);
    let mut found = Vec::new();
    suites(&root, &mut found);
    found.sort();
    let limits = Limits::default();
    let budget = Budget::default();
    let world = World {
        read: &|path| fs::read_to_string(path).map_err(|error| error.to_string()),
        clock: &|| Duration::ZERO,
        limits: &limits,
        budget: &budget,
        watch: &|_, evaluate| evaluate(),
    };
    let filter = Filter::read("").unwrap();
    let mut results = Vec::new();
    for file in &found {
        let name = file.display().to_string();
        let document = read_document(&fs::read_to_string(file).unwrap(), &name, &limits).unwrap();
        let suite = Suite::read(&document).unwrap();
        results.push(run_suite(&suite, &name, &filter, &world));
    }
    let failed: Vec<_> = results.iter().filter(|result| result.is_failure()).cloned().collect();
    assert!(failed.is_empty(), "{} of {} suites fail\n{}", failed.len(), results.len(), print(&failed, false));
}
