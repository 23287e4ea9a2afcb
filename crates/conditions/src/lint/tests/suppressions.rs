//! Suppressions: what they cover, that they end, and what is refused.

use clearway_core::Severity;

use super::super::Suppressions;
use super::*;

fn with(text: &str) -> Policy {
    Policy { suppressions: Suppressions::parse(text, "s.yaml").unwrap(), ..policy() }
}

fn remaining(text: &str) -> String {
    let yaml = database(&[
        &condition("Ready", "\"False\"", "message: \"\""),
        &condition("Migrated", "\"False\"", "message: \"\" ; reason: 'no word'"),
    ]);
    places(&found(&yaml, &with(text))).join(", ")
}

#[test]
fn a_suppression_covers_what_it_names() {
    let ready = "SC020 status.conditions[type=Ready].message";
    let migrated = "SC020 status.conditions[type=Migrated].message";
    let word = "SC004 status.conditions[type=Migrated].reason";
    let all = format!("{ready}, {migrated}, {word}");
    assert_eq!(remaining(""), all);
    let tail = "until: 2026-02-01, reason: ticket 1}";
    assert_eq!(remaining(&format!("- {{rule: SC020, {tail}")), word);
    assert_eq!(remaining(&format!("- {{rule: SC020, type: Ready, {tail}")), format!("{migrated}, {word}"));
    assert_eq!(remaining(&format!("- {{rule: SC020, kind: Database, namespace: b, name: a, {tail}")), word);
    assert_eq!(remaining(&format!("- {{rule: SC020, kind: Database.example.com, {tail}")), word);
    for other in [
        "kind: Other",
        "kind: Data",
        "kind: Database.other.example.com",
        "kind: Database.",
        "namespace: c",
        "name: z",
        "type: Other",
    ] {
        assert_eq!(remaining(&format!("- {{rule: SC020, {other}, {tail}")), all, "{other}");
    }
}

#[test]
fn a_day_counts_to_its_end_and_then_the_suppression_is_a_finding() {
    let text =
        "- {rule: SC020, until: 2026-01-01, reason: ticket 1}\n- {rule: SC004, until: 2025-12-31, reason: ticket 2}\n";
    let policy = with(text);
    let expired = policy.suppressions.expired(policy.now);
    assert_eq!(codes(&expired), ["SC000"]);
    assert_eq!(expired[0].severity, Severity::Warning);
    assert!(expired[0].message.contains("SC004") && expired[0].help.as_deref().unwrap().contains("ticket 2"));
    assert_eq!(expired[0].place.position.map(|position| position.line), Some(2));
    assert_eq!(remaining(text), "SC004 status.conditions[type=Migrated].reason");
    assert!(!policy.suppressions.is_empty());
}

#[test]
fn what_has_no_end_no_reason_or_no_rule_is_refused_with_its_place() {
    for (text, want) in [
        ("- {rule: SC020, reason: r}", "the suppression of SC020 has no end date: `until` is missing"),
        ("- {rule: SC020, until: 2026-02-01}", "the suppression of SC020 has no reason"),
        ("- {rule: SC020, until: 2026-02-01, reason: ' '}", "the suppression of SC020 has no reason"),
        ("- {until: 2026-02-01, reason: r}", "a suppression without a rule"),
        ("- {rule: SC999, until: 2026-02-01, reason: r}", "`SC999` is not a rule"),
        ("- {rule: SC020, until: soon, reason: r}", "`soon` is neither a day such as 2026-09-30 nor an RFC 3339 time"),
        (
            "- {rule: SC020, until: 2026-02-30, reason: r}",
            "`2026-02-30` is neither a day such as 2026-09-30 nor an RFC 3339 time",
        ),
        ("- {rule: SC020, until: 2026-02-01, reason: r, kid: Pod}", "a suppression has no field `kid`"),
        ("- SC020", "a suppression is an object, not a string"),
    ] {
        let problems = Suppressions::parse(&format!("\n{text}\n"), "s.yaml").unwrap_err();
        assert_eq!(problems.len(), 1, "{text}");
        assert_eq!(problems[0].message, want);
        assert_eq!(problems[0].place.position.map(|position| position.line), Some(2), "{text}");
    }
    assert_eq!(Suppressions::parse("- {a\n- x: [", "s.yaml").unwrap_err().len(), 1);
}
