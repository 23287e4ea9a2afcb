//! SECURITY.md claims nothing without a test.

use std::fs;
use std::path::Path;

#[test]
fn every_claim_of_the_threat_model_has_a_test() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let page = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Claim"));
    let mut claims = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [claim, test] = cells[..] else { panic!("not a claim and a test: {row}") };
        let names: Vec<&str> = test.split('`').filter(|part| !part.trim().is_empty()).collect();
        let [file, name] = names[..] else { panic!("not a file and a test: {test}") };
        let code = fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{claim} {file}: {error}"));
        let (before, _) =
            code.split_once(&format!("fn {name}(")).unwrap_or_else(|| panic!("{claim} {file}: no {name}"));
        let attributes = before.rsplit("\n\n").next().unwrap_or_default();
        let is_test = attributes.contains("test]") || attributes.contains("test(");
        assert!(is_test, "{claim} {name} is not a test");
        claims += 1;
    }
    assert!(claims > 30, "the tables are read: {claims}");
}
