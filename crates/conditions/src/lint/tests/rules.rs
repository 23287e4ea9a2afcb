//! What each rule must and must not find, beyond its examples.

use clearway_core::Severity;

use super::super::Profile;
use super::*;

const T: &str = "\"True\"";
const F: &str = "\"False\"";
const U: &str = "Unknown";

fn in_group(api_version: &str, kind: &str, conditions: &[String]) -> Vec<Diagnostic> {
    let conditions: Vec<&str> = conditions.iter().map(String::as_str).collect();
    found(&object(api_version, kind, &conditions), &policy())
}

fn metav1(conditions: &[String]) -> Vec<Diagnostic> {
    in_group("example.com/v1", "Database", conditions)
}

fn knative(conditions: &[String]) -> Vec<Diagnostic> {
    in_group("sources.knative.dev/v1", "PingSource", conditions)
}

fn flux(conditions: &[String]) -> Vec<Diagnostic> {
    in_group("source.toolkit.fluxcd.io/v1", "GitRepository", conditions)
}

#[test]
fn sc000_conditions_that_are_no_list_are_one_finding_with_their_place() {
    let head = "apiVersion: example.com/v1\nkind: Database\nmetadata: {name: a}\n";
    for (status, path) in [
        ("status: 3\n", "status"),
        ("status: {conditions: {Ready: true}}\n", "status.conditions"),
        ("status: {conditions: [3, null]}\n", "status.conditions"),
        ("status: {listeners: [{name: http, conditions: soon}]}\n", "status.listeners[name=http].conditions"),
    ] {
        let findings = found(&format!("{head}{status}"), &policy());
        assert!(findings.iter().any(|one| one.place.path.as_deref() == Some(path)), "{status}: {findings:#?}");
        assert_eq!(findings[0].code, "SC000", "{status}");
        assert_eq!(findings[0].place.position.map(|position| position.line), Some(4));
    }
    for status in ["", "status: null\n", "status: {conditions: null}\n", "status: {rules: {conditions: [a, b]}}\n"] {
        assert_eq!(places(&found(&format!("{head}{status}"), &policy())), Vec::<String>::new(), "{status}");
    }
}

#[test]
fn sc001_a_repeated_type_is_told_once_in_short_and_long_lists() {
    for filler in [0, 40] {
        let mut list = vec![condition("Ready", T, ""); 3];
        list.extend((0..filler).map(|number| condition(&format!("Part{number}Done"), T, "")));
        let findings = metav1(&list);
        assert_eq!(places(&findings), ["SC001 status.conditions[1].type"], "{filler}");
        assert!(findings[0].message.contains("3 conditions of type `Ready`"), "{}", findings[0].message);
    }
}

#[test]
fn sc002_an_unquoted_boolean_is_told_with_the_quoted_form() {
    let findings = metav1(&[condition("Ready", "True", "")]);
    assert_eq!(places(&findings), ["SC002 status.conditions[type=Ready].status"]);
    assert_eq!(findings[0].help.as_deref(), Some("quote it: status: \"True\""));
    for status in ["\"\"", "\"true\"", "Yes", "7", "{}", "-"] {
        let more = format!("status: {status}");
        assert!(codes(&metav1(&[condition("Ready", T, &more)])).contains(&"SC002"), "{status}");
    }
}

#[test]
fn kn3_knative_may_leave_the_status_out() {
    let findings = knative(&[condition("Ready", T, "status: - ; observedGeneration: -")]);
    assert_eq!((codes(&findings), findings[0].severity), (vec!["SC002"], Severity::Warning));
}

#[test]
fn sc003_types_are_held_to_the_schema() {
    let long = format!("A{}", "a".repeat(316));
    for bad in ["-Ready", "Bad_", "/Ready", "Exa.mple/Ready", "a b", long.as_str()] {
        let findings = metav1(&[condition("Ready", T, ""), condition(bad, T, "")]);
        assert_eq!(codes(&findings), ["SC003"], "{bad}");
    }
    let findings = metav1(&[condition("Ready", T, ""), condition("Ready", T, "type: -")]);
    assert_eq!(places(&findings), ["SC003 status.conditions[1].type"]);
}

#[test]
fn kn20_knative_wants_a_reason_only_while_false() {
    let none = "reason: - ; observedGeneration: -";
    for (status, want) in [(T, vec![]), (U, vec![]), (F, vec!["SC004"])] {
        assert_eq!(codes(&knative(&[condition("Ready", status, none)])), want, "{status}");
    }
    let empty = "reason: \"\"";
    assert_eq!(metav1(&[condition("Ready", T, empty)])[0].severity, Severity::Error);
    // A kind whose type does not even have the key is not a metav1.Condition; nobody said it was.
    assert_eq!(metav1(&[condition("Ready", T, "reason: -")])[0].severity, Severity::Warning);
}

#[test]
fn gw20_1970_is_for_what_nobody_has_looked_at() {
    let epoch = "lastTransitionTime: 1970-01-01T00:00:00Z";
    assert_eq!(codes(&metav1(&[condition("Ready", U, epoch)])), Vec::<&str>::new());
    assert_eq!(codes(&metav1(&[condition("Ready", T, epoch)])), ["SC005"]);
    let soon = "lastTransitionTime: 2026-01-01T00:04:59Z";
    assert_eq!(codes(&metav1(&[condition("Ready", T, soon)])), Vec::<&str>::new());
    for time in
        ["2026-01-01T00:05:01Z", "0001-01-01T00:00:00Z", "1969-01-01T00:00:00Z", "null", "\"\"", "12", "[]", "-"]
    {
        let more = format!("lastTransitionTime: {time}");
        assert_eq!(codes(&metav1(&[condition("Ready", T, &more)])), ["SC005"], "{time}");
    }
    let offset = "lastTransitionTime: \"2025-06-01T10:05:00.123+02:00\"";
    assert_eq!(codes(&metav1(&[condition("Ready", T, offset)])), Vec::<&str>::new());
}

#[test]
fn sc006_messages_are_measured_in_bytes() {
    let told = |text: String| {
        let findings = metav1(&[condition("Ready", T, &format!("message: \"{text}\""))]);
        findings.iter().map(|one| (one.code.to_string(), one.severity)).collect::<Vec<_>>()
    };
    assert_eq!(told("é".repeat(16_385)), [("SC006".to_owned(), Severity::Error)]);
    assert_eq!(told("é".repeat(600)), [("SC006".to_owned(), Severity::Warning)]);
    assert_eq!(told("a\\n".repeat(20)), [("SC006".to_owned(), Severity::Warning)]);
    assert_eq!(told("cut \u{fffd}".to_owned()), [("SC006".to_owned(), Severity::Warning)]);
    assert_eq!(told("x".repeat(1_024)), []);
}

#[test]
fn sc007_the_status_may_speak_for_its_conditions_in_metav1() {
    let none = condition("Ready", T, "observedGeneration: -");
    assert_eq!(codes(&metav1(std::slice::from_ref(&none))), Vec::<&str>::new());
    let without = object("example.com/v1", "Database", &[&none]).replace("  observedGeneration: 3\n", "");
    assert_eq!(codes(&found(&without, &policy())), ["SC007"]);
    assert_eq!(codes(&flux(&[none])), ["SC007"]);
    assert_eq!(codes(&metav1(&[condition("Ready", T, "observedGeneration: \"3\"")])), ["SC007"]);
    let text = object("example.com/v1", "Database", &[&condition("Ready", T, "")])
        .replace("observedGeneration: 3\n", "observedGeneration: '3'\n");
    assert_eq!(places(&found(&text, &policy())), ["SC007 status.observedGeneration"]);
}

#[test]
fn sc008_no_generation_comes_from_the_future() {
    let findings = metav1(&[condition("Ready", F, "observedGeneration: 4")]);
    assert_eq!(places(&findings), ["SC008 status.conditions[type=Ready].observedGeneration"]);
}

#[test]
fn sc009_is_an_error_once_the_controller_has_been_there() {
    let stale = |whole: i64, more: &str| {
        let yaml = object("example.com/v1", "Database", &[&condition("Ready", T, "observedGeneration: 2"), more])
            .replace("  observedGeneration: 3\n", &format!("  observedGeneration: {whole}\n"));
        found(&yaml, &policy()).iter().map(|one| (one.code.to_string(), one.severity)).collect::<Vec<_>>()
    };
    let other = condition("Migrated", T, "observedGeneration: 2");
    assert_eq!(stale(3, &other), [("SC009".to_owned(), Severity::Error)]);
    assert_eq!(stale(2, &other), [("SC009".to_owned(), Severity::Warning)]);
    assert_eq!(stale(3, &condition("Reconciling", T, "")), [("SC009".to_owned(), Severity::Warning)]);
    // A summary that does not claim anything may be old.
    assert_eq!(codes(&metav1(&[condition("Ready", F, "observedGeneration: 2")])), Vec::<&str>::new());
    // A dependent may be the stale one.
    let findings = metav1(&[condition("Ready", T, ""), condition("Migrated", T, "observedGeneration: 1")]);
    assert!(findings[0].message.contains("`Migrated` is about generation 1"), "{findings:#?}");
}

#[test]
fn sc010_the_grace_and_the_commitment_decide() {
    let only = condition("Migrated", T, "");
    let findings = metav1(std::slice::from_ref(&only));
    assert_eq!((codes(&findings), findings[0].severity), (vec!["SC010"], Severity::Warning));
    let yaml = object("example.com/v1", "Database", &[&only]);
    let chosen = Policy { profile: Some(Profile::Metav1), ..policy() };
    assert_eq!(found(&yaml, &chosen)[0].severity, Severity::Error);
    let young = yaml.replace("creationTimestamp: 2025-06-01T08:00:00Z", "creationTimestamp: 2025-12-31T23:59:30Z");
    assert_eq!(codes(&found(&young, &chosen)), Vec::<&str>::new());
    assert_eq!(codes(&metav1(&[condition("Ready", T, ""), condition("Succeeded", T, "")])), ["SC010"]);
}

#[test]
fn kn16_kn17_the_summary_follows_and_kn18_is_never_told() {
    let list = |ready: &str, part: &str, severity: &str| {
        let more = format!(
            "observedGeneration: -{}",
            if severity.is_empty() { String::new() } else { format!(" ; severity: {severity}") }
        );
        let findings =
            knative(&[condition("Ready", ready, "observedGeneration: -"), condition("SinkProvided", part, &more)]);
        findings.iter().any(|one| one.code == "SC011")
    };
    assert!(list(T, F, "") && list(U, F, "") && list(T, U, ""));
    assert!(!list(F, F, "") && !list(F, U, "") && !list(U, U, "") && !list(T, T, ""));
    // KN18: all True forces nothing.
    assert!(!list(F, T, "") && !list(U, T, ""));
    // Only the severity "" counts.
    assert!(!list(T, F, "Info") && !list(T, F, "Warning") && list(T, F, "\"\""));
}

#[test]
fn gw19_resolved_refs_is_no_dependent() {
    let yaml = super::kinds::route(&[
        &condition("Accepted", T, "reason: Accepted"),
        &condition("ResolvedRefs", F, "reason: BackendNotFound"),
    ]);
    assert_eq!(codes(&found(&yaml, &policy())), Vec::<&str>::new());
}

#[test]
fn sc012_severity_is_knatives_alone() {
    let info = |type_: &str, word: &str| condition(type_, T, &format!("severity: {word} ; observedGeneration: -"));
    assert_eq!(codes(&knative(&[info("Ready", "Info")])), ["SC012"]);
    assert_eq!(codes(&knative(&[info("Ready", "Error")])), ["SC012"]);
    assert_eq!(codes(&knative(&[info("Ready", "\"\""), info("Warm", "Info")])), Vec::<&str>::new());
    assert_eq!(codes(&metav1(&[info("Ready", "Info")])), ["SC012"]);
    let capi = in_group("cluster.x-k8s.io/v1beta1", "Machine", &[info("Ready", "Info")]);
    assert_eq!(codes(&capi), Vec::<&str>::new());
}

#[test]
fn sc015_sc016_trouble_next_to_a_good_summary() {
    let both = flux(&[condition("Reconciling", T, ""), condition("Stalled", T, ""), condition("Ready", F, "")]);
    assert_eq!(codes(&both), ["SC015"]);
    let stalled = metav1(&[condition("Ready", T, ""), condition("Stalled", T, "")]);
    assert_eq!((codes(&stalled), stalled[0].severity), (vec!["SC016"], Severity::Error));
    let named = metav1(&[condition("Ready", T, ""), condition("BackupFailed", T, "")]);
    assert_eq!((codes(&named), named[0].severity), (vec!["SC016"], Severity::Warning));
    assert_eq!(codes(&metav1(&[condition("Ready", T, ""), condition("BackupFailed", F, "")])), Vec::<&str>::new());
    // While work goes on nothing is settled.
    let busy = flux(&[condition("Ready", T, ""), condition("Reconciling", T, ""), condition("FetchFailed", T, "")]);
    assert_eq!(codes(&busy), Vec::<&str>::new());
}

#[test]
fn sc014_sc017_presence_and_polarity() {
    assert_eq!(codes(&flux(&[condition("Ready", T, ""), condition("Reconciling", F, "")])), ["SC014"]);
    assert_eq!(codes(&metav1(&[condition("Ready", T, ""), condition("Reconciling", F, "")])), Vec::<&str>::new());
    assert_eq!(codes(&metav1(&[condition("Ready", T, ""), condition("NotPaused", F, "")])), ["SC017"]);
    assert_eq!(codes(&metav1(&[condition("Ready", T, ""), condition("Notified", T, "")])), Vec::<&str>::new());
}

#[test]
fn sc018_names() {
    for (name, bad) in [
        ("migrated", true),
        ("schema_migrated", true),
        ("Migrating", true),
        ("DatabaseMigrated", true),
        ("example.com/Migrating", true),
        ("Databases", false),
        ("Progressing", false),
        ("example.com/Migrated", false),
    ] {
        let findings = metav1(&[condition("Ready", T, ""), condition(name, T, "")]);
        assert_eq!(codes(&findings).contains(&"SC018"), bad, "{name}");
    }
}

#[test]
fn sc019_sc020_words() {
    for (more, want) in [
        ("reason: becauseOfIt", "SC019"),
        ("reason: Because_Of", "SC019"),
        ("reason: 'A:B'", "SC019"),
        ("reason: Timeout ; message: Timeout", "SC019"),
        ("message: \"\"", "SC020"),
    ] {
        assert_eq!(codes(&metav1(&[condition("Ready", F, more)])), [want], "{more}");
    }
    assert_eq!(codes(&metav1(&[condition("Ready", U, "message: \"\"")])), ["SC020"]);
    // The trouble of a negative type is True.
    let quiet = "message: \"\"";
    let negative = |status| metav1(&[condition("Ready", F, ""), condition("BackupFailed", status, quiet)]);
    assert_eq!((codes(&negative(T)), codes(&negative(F))), (vec!["SC020"], vec![]));
    assert_eq!(codes(&metav1(&[condition("Ready", T, quiet)])), Vec::<&str>::new());
}

#[test]
fn findings_come_in_the_order_of_the_document_then_of_the_codes() {
    let findings = metav1(&[
        condition("Ready", "maybe", "lastTransitionTime: - ; observedGeneration: 9"),
        condition("a b", T, "reason: 'no word'"),
    ]);
    let order: Vec<_> = findings.iter().map(|one| (one.place.position, one.code.clone())).collect();
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(findings.len(), 5, "{findings:#?}");
}

#[test]
fn a_finding_points_at_the_exact_value() {
    let findings = metav1(&[condition("Ready", F, "reason: 'the disk is full'")]);
    let finding = &findings[0];
    let excerpt = finding.excerpt.as_ref().unwrap();
    assert_eq!(&excerpt.text[excerpt.start..excerpt.end], "'the disk is full'");
    assert_eq!(finding.place.object.as_deref(), Some("Database.example.com b/a"));
    assert_eq!(finding.place.path.as_deref(), Some("status.conditions[type=Ready].reason"));
    assert_eq!(finding.note.as_deref(), Some("profile metav1; A12, GW3, KN7"));
}
