//! Any text as two bundles, separated by a line `===`, as waivers and a name ledger, and behind another such line as a stored
//! object: reading, judging and the preflight end, findings are the same twice, and a bundle compared with itself has no
//! change.
#![no_main]

use clearway_bundle::{
    Bundle, BundleLimits, BundleReader, Comparison, NameLedger, Preflight, RULES, Waivers, codes, compare_channels,
    conversion_losses, guard_policy,
};
use clearway_core::{Limits, Timestamp};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fn read(text: &str) -> Bundle {
    let documents = Limits { nodes: 20_000, ..Limits::default() };
    let limits = BundleLimits { documents, crds: 20, api_versions: 5, schema_fields: 5_000, ..BundleLimits::default() };
    let mut reader = BundleReader::new("fuzz", "example.com", limits);
    reader.add_file("fuzz.yaml", text.as_bytes());
    reader.finish()
}

fuzz_target!(|text: &str| {
    let (old, new) = text.split_once("\n===\n").unwrap_or((text, text));
    let (new, object) = new.split_once("\n===\n").unwrap_or((new, ""));
    let (old, new) = (read(old), read(new));
    for problem in old.problems.iter().chain(&new.problems) {
        assert!(problem.code.starts_with("IN") || codes::RULES.iter().any(|rule| rule.code == problem.code));
    }
    let ledger = NameLedger::of_bundles([&old]);
    let (again, problems) = NameLedger::read("ledger", &ledger.to_string());
    assert_eq!((&again, problems.len()), (&ledger, 0));
    let comparison = Comparison { ledger: Some(&ledger), ..Comparison::new(&old, &new) };
    let judgement = comparison.judge();
    assert_eq!(judgement, comparison.judge());
    for finding in &judgement.findings {
        assert!(RULES.iter().any(|rule| rule.id == finding.rule));
        _ = finding.to_diagnostic();
    }
    for finding in Comparison::new(&old, &old).judge().findings {
        assert!(finding.rule.as_str() == "R45" || finding.rule.as_str() == "R40", "{finding:?}");
    }
    assert!(compare_channels(&old, &old).violations.is_empty());
    for crd in new.crds.values() {
        _ = conversion_losses(crd, old.crds.get(&crd.name));
    }
    let object = serde_json::from_str(object).unwrap_or_else(|_| json!({"metadata": {"name": "a"}, "spec": {"a": "b"}}));
    assert_eq!(preflight(&old, &new, &object), preflight(&old, &new, &object));
    _ = guard_policy(&new);
    let mut waivers = Waivers::read("waivers", text);
    _ = judgement.with_waivers(&mut waivers, Timestamp::EPOCH);
    _ = (waivers.problems(), NameLedger::read("ledger", text));
});

fn preflight(old: &Bundle, new: &Bundle, object: &Value) -> Vec<clearway_bundle::PreflightFinding> {
    let mut preflight = Preflight::new(old, new);
    for (crd, _) in preflight.wanted() {
        preflight.check_object(&crd, object);
    }
    preflight.finish()
}
