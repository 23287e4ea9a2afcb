//! Any bytes as objects through the linter, in every profile, alone and as a history: nothing panics, every finding is
//! documented and can be shown.
#![no_main]

use clearway_conditions::Object;
use clearway_conditions::lint::{self, History, Policy, Profile};
use clearway_core::Limits;
use clearway_core::diagnostic::{report, sarif, terminal};
use clearway_yaml::{ReadEvent, read_fields};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { file_bytes: 1 << 16, document_bytes: 1 << 13, depth: 64, nodes: 4_000, ..Limits::default() };
    let now = "2026-01-01T00:00:00Z".parse().expect("a time");
    let mut policies = vec![Policy::new(now)];
    policies.extend(Profile::ALL.map(|profile| Policy { profile: Some(profile), ..Policy::new(now) }));
    let mut histories: Vec<History> = policies.iter().map(|_| History::new()).collect();
    let mut findings = Vec::new();
    read_fields(bytes, "fuzz", &limits, lint::needs_field, |found| match found {
        ReadEvent::Object { root, source, list } => match Object::new(root, source, list) {
            Ok(object) => {
                for (policy, history) in policies.iter().zip(&mut histories) {
                    lint::lint(&object, policy, &mut findings);
                    history.push(&object, policy, &mut findings);
                }
            }
            Err(problem) => findings.push(*problem),
        },
        ReadEvent::Problem(problem) => findings.push(problem),
    });
    let mut json = report::Report::new(report::Format::Json);
    for finding in findings.iter().take(50) {
        assert!(!finding.code.starts_with("SC") || lint::rule(&finding.code).is_some(), "{finding:?}");
        _ = (terminal::render(finding, true), sarif::result(finding), json.item(finding));
    }
});
