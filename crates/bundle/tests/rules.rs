//! Every rule has a pair of bundles that breaks it and one that does not, as files in `tests/rules`.

use clearway_bundle::{Bundle, BundleLimits, BundleReader, Comparison, ExamplePair, Finding, RULES, Rule, Verdict};

fn bundle(text: &str) -> Bundle {
    let mut reader = BundleReader::new("bundle", "example.com", BundleLimits::default());
    reader.add_file("bundle.yaml", text.as_bytes());
    let bundle = reader.finish();
    assert!(bundle.problems.is_empty(), "{:?}\n{text}", bundle.problems);
    bundle
}

fn findings(pair: ExamplePair) -> Vec<Finding> {
    Comparison::new(&bundle(pair.old), &bundle(pair.new)).judge().findings
}

/// What the broken pair of a rule gives.
fn expected(rule: &Rule) -> Verdict {
    match rule.id.as_str() {
        // It has no effect, so that no version is too small for it.
        "R25" => Verdict::Allowed,
        "R21" => Verdict::NeedsReview,
        "R42" | "R46" => Verdict::Warning,
        _ => Verdict::Violation,
    }
}

#[test]
fn v3_the_broken_pair_of_every_rule_breaks_it() {
    for rule in RULES {
        let Some(pair) = rule.broken else { continue };
        let findings = findings(pair);
        let found: Vec<_> = findings.iter().filter(|finding| finding.rule == rule.id).collect();
        assert!(!found.is_empty(), "{}: {findings:#?}", rule.id);
        assert_eq!(found[0].verdict, expected(rule), "{}: {found:#?}", rule.id);
        let worse = findings.iter().filter(|finding| finding.verdict > expected(rule)).collect::<Vec<_>>();
        assert!(worse.is_empty(), "{}: {worse:#?}", rule.id);
    }
}

#[test]
fn v3_the_allowed_pair_of_every_rule_is_allowed() {
    for rule in RULES {
        let Some(pair) = rule.allowed else { continue };
        let findings = findings(pair);
        let refused = |finding: &&Finding| {
            finding.verdict == Verdict::Violation || (finding.rule == rule.id && finding.verdict != Verdict::Allowed)
        };
        let refused: Vec<_> = findings.iter().filter(refused).collect();
        assert!(refused.is_empty(), "{}: {refused:#?}", rule.id);
    }
}

#[test]
fn rules_are_complete_and_documented() {
    for (number, rule) in RULES.iter().take(46).enumerate() {
        assert_eq!(rule.id.as_str(), format!("R{:02}", number + 1));
        assert!(rule.broken.is_some() && rule.allowed.is_some());
    }
    for rule in RULES {
        assert!(!rule.title.is_empty() && rule.why.ends_with('.') && rule.stored_objects.ends_with('.'), "{}", rule.id);
        assert_eq!(Rule::find(&rule.id.as_str().to_lowercase()).map(|found| found.id), Some(rule.id));
    }
}

#[test]
fn a_finding_names_the_field_and_its_place() {
    let rule = Rule::find("R12").unwrap();
    let findings = findings(rule.broken.unwrap());
    let finding = findings.iter().find(|finding| finding.rule == rule.id).unwrap();
    assert_eq!(finding.path, "things v1 spec.name");
    let diagnostic = finding.to_diagnostic();
    assert_eq!(diagnostic.code, "R12");
    assert_eq!(diagnostic.place.file.as_deref(), Some("bundle.yaml"));
    assert_eq!(diagnostic.place.position.unwrap().line, 18);
    let json = serde_json::to_value(finding).unwrap();
    assert_eq!(json["needed"], "new-api-version");
    assert_eq!(json["allowed"], "minor");
    assert_eq!(json["old"], serde_json::json!(["A", "B", "C"]));
}
