//! Every rule has a failing and a passing example, and the examples do what they say.

use super::super::{RULES, Scope, sarif_rules};
use super::*;

fn run(yaml: &str, scope: Scope) -> Vec<Diagnostic> {
    let mut findings = found(yaml, &policy());
    if scope == Scope::Sequence {
        findings.extend(sequence(yaml, &policy()));
    }
    findings
}

#[test]
fn every_failing_example_fails_by_its_rule_and_no_other() {
    for rule in RULES {
        let findings = run(rule.bad, rule.scope);
        assert!(!findings.is_empty(), "{} finds nothing in its own example", rule.code);
        assert!(findings.iter().all(|finding| finding.code == rule.code), "{}: {findings:#?}", rule.code);
        let gravest = findings.iter().map(|finding| finding.severity).max();
        assert!(gravest <= Some(rule.severity), "{}", rule.code);
    }
}

#[test]
fn every_passing_example_passes_every_rule() {
    for rule in RULES {
        let findings = run(rule.good, rule.scope);
        assert!(findings.is_empty(), "{}: {findings:#?}", rule.code);
    }
}

#[test]
fn every_finding_of_the_examples_has_place_help_and_note() {
    for rule in RULES {
        for finding in run(rule.bad, rule.scope) {
            let place = &finding.place;
            assert!(place.file.is_some() && place.position.is_some() && place.object.is_some(), "{finding:#?}");
            assert!(place.path.is_some() && finding.help.is_some() && finding.excerpt.is_some(), "{finding:#?}");
            assert!(finding.note.as_deref().is_some_and(|note| note.starts_with("profile ")), "{finding:#?}");
        }
    }
}

#[test]
fn the_pages_are_whole() {
    let codes: Vec<String> = (0..=25).map(|number| format!("SC{number:03}")).collect();
    assert_eq!(RULES.iter().map(|rule| rule.code).collect::<Vec<_>>(), codes);
    for rule in RULES {
        assert!(rule.page.starts_with(&format!("# {}: {}\n", rule.code, rule.title)), "{}", rule.code);
        for part in ["Why", "Checked", "Profiles", "Fails", "Passes", "References"] {
            assert!(rule.page.contains(&format!("\n## {part}\n")), "{} lacks {part}", rule.code);
        }
        assert!(rule.bad.starts_with("apiVersion:") && rule.good.starts_with("apiVersion:"), "{}", rule.code);
        assert!(rule.title.len() < 90, "{}", rule.code);
        assert_eq!(super::super::rule(rule.code).map(|rule| rule.title), Some(rule.title));
    }
    assert_eq!(sarif_rules().len(), RULES.len());
    assert!(super::super::rule("SC999").is_none());
}
