//! The rules that need several snapshots.

use clearway_core::Severity;

use super::*;

const T: &str = "\"True\"";
const F: &str = "\"False\"";

fn in_group(api_version: &str, kind: &str, snapshots: &[&[&str]]) -> Vec<Diagnostic> {
    let documents: Vec<String> = snapshots.iter().map(|conditions| object(api_version, kind, conditions)).collect();
    sequence(&documents.join("---\n"), &policy())
}

fn metav1(snapshots: &[&[&str]]) -> Vec<Diagnostic> {
    in_group("example.com/v1", "Database", snapshots)
}

const LATER: &str = "lastTransitionTime: 2025-06-01T09:00:00Z";

#[test]
fn sc021_time_and_status_move_together() {
    let start = condition("Ready", T, "");
    for (next, want) in [
        (condition("Ready", T, ""), ""),
        (condition("Ready", F, LATER), ""),
        (condition("Ready", T, "message: still so"), ""),
        (condition("Ready", F, ""), "SC021"),
        (condition("Ready", T, LATER), "SC021"),
        (condition("Ready", T, "lastTransitionTime: 2025-06-01T07:00:00Z"), "SC021"),
        (condition("Ready", F, "lastTransitionTime: 2025-06-01T07:00:00Z"), "SC021"),
    ] {
        assert_eq!(codes(&metav1(&[&[&start], &[&next]])).join(" "), want, "{next}");
    }
}

#[test]
fn sc021_the_profile_says_whether_new_words_move_the_time() {
    let start = condition("Ready", T, "");
    let next = condition("Ready", T, &format!("message: other words ; {LATER}"));
    let told = |api_version: &str, kind: &str| {
        in_group(api_version, kind, &[&[&start], &[&next]]).iter().map(|one| one.severity).collect::<Vec<_>>()
    };
    assert_eq!(told("serving.knative.dev/v1", "Route"), []);
    assert_eq!(told("source.toolkit.fluxcd.io/v1", "GitRepository"), []);
    assert_eq!(told("gateway.networking.k8s.io/v1", "Gateway"), [Severity::Error]);
    assert_eq!(told("apps/v1", "Deployment"), [Severity::Error]);
    assert_eq!(told("example.com/v1", "Database"), [Severity::Warning]);
}

#[test]
fn sc022_flapping_is_told_once_per_burst() {
    let at = |minute: usize, status: &str| {
        condition("Ready", status, &format!("lastTransitionTime: 2025-06-01T08:{minute:02}:00Z"))
    };
    let list: Vec<String> = (0..7).map(|step| at(step, if step % 2 == 0 { T } else { F })).collect();
    let snapshots: Vec<[&str; 1]> = list.iter().map(|one| [one.as_str()]).collect();
    let snapshots: Vec<&[&str]> = snapshots.iter().map(<[&str; 1]>::as_slice).collect();
    assert_eq!(codes(&metav1(&snapshots)), ["SC022"]);
    let slow: Vec<String> = (0..7).map(|step| at(step * 8, if step % 2 == 0 { T } else { F })).collect();
    let snapshots: Vec<[&str; 1]> = slow.iter().map(|one| [one.as_str()]).collect();
    let snapshots: Vec<&[&str]> = snapshots.iter().map(<[&str; 1]>::as_slice).collect();
    assert_eq!(codes(&metav1(&snapshots)), Vec::<&str>::new());
}

#[test]
fn sc022_a_new_spec_may_name_new_things() {
    let one = object("example.com/v1", "Database", &[&condition("Ready", T, "message: pod web-7d4b9c1 runs")]);
    let two = object("example.com/v1", "Database", &[&condition("Ready", T, "message: pod web-9f8e7d1 runs")]);
    assert_eq!(codes(&sequence(&format!("{one}---\n{two}"), &policy())), ["SC022"]);
    let newer = two.replace("generation: 3", "generation: 4");
    assert_eq!(codes(&sequence(&format!("{one}---\n{newer}"), &policy())), Vec::<&str>::new());
}

#[test]
fn sc023_what_must_stay_and_what_may_go() {
    let (ready, going) = (condition("Ready", T, ""), condition("Resizing", T, ""));
    let (foreign, own) = (condition("example.com/Audited", T, ""), condition("Migrated", T, ""));
    for (gone, want) in [(&going, "SC023"), (&foreign, "SC023"), (&own, "")] {
        assert_eq!(codes(&metav1(&[&[&ready, gone], &[&ready]])).join(" "), want, "{gone}");
    }
    assert_eq!(codes(&metav1(&[&[&ready, &own], &[&own]])), ["SC023"]);
    let reconciling = condition("Reconciling", T, "");
    let flux = in_group("source.toolkit.fluxcd.io/v1", "GitRepository", &[&[&ready, &reconciling], &[&ready]]);
    assert_eq!(codes(&flux), Vec::<&str>::new());
    let whole = object("example.com/v1", "Database", &[&ready]);
    let none = "apiVersion: example.com/v1\nkind: Database\nmetadata: {name: a, namespace: b, uid: u}\n";
    assert_eq!(places(&sequence(&format!("{whole}---\n{none}"), &policy())), ["SC023 status.conditions"]);
}

#[test]
fn parents_are_followed_by_what_they_are() {
    let list = |parents: &[&str]| {
        let head = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a, uid: u, generation: 3}\nstatus:\n  parents:\n";
        parents.iter().fold(head.to_owned(), |text, parent| {
            let own = if *parent == "x" { condition("Accepted", T, "") } else { condition("Accepted", F, LATER) };
            format!("{text}  - parentRef: {{name: {parent}}}\n    conditions: [{{{own}}}]\n")
        })
    };
    // The same parents in another order, and one of them gone.
    let text = [list(&["x", "y"]), list(&["y", "x"]), list(&["y"])].join("---\n");
    assert_eq!(places(&sequence(&text, &policy())), Vec::<String>::new());
}

#[test]
fn sc024_generations_do_not_fall_and_kn23_do_not_run_ahead() {
    let at = |generation: i64, observed: i64, own: i64, reason: &str| {
        object(
            "example.com/v1",
            "Database",
            &[&condition("Ready", F, &format!("observedGeneration: {own} ; reason: {reason}"))],
        )
        .replace("generation: 3, ", &format!("generation: {generation}, "))
        .replace("  observedGeneration: 3\n", &format!("  observedGeneration: {observed}\n"))
    };
    let told = |one: String, two: String| places(&sequence(&format!("{one}---\n{two}"), &policy()));
    assert_eq!(told(at(3, 3, 3, "A"), at(3, 3, 2, "A")), ["SC024 status.conditions[type=Ready].observedGeneration"]);
    assert_eq!(told(at(3, 3, 3, "A"), at(3, 2, 3, "A")), ["SC024 status.observedGeneration"]);
    assert_eq!(told(at(2, 2, 2, "A"), at(3, 3, 2, "A")), ["SC024 status.conditions[type=Ready]"]);
    assert_eq!(told(at(2, 2, 2, "A"), at(3, 3, 3, "NewObservedGenFailure")), ["SC024 status.conditions[type=Ready]"]);
    assert_eq!(told(at(2, 2, 2, "A"), at(3, 3, 3, "A")), Vec::<String>::new());
}

#[test]
fn an_object_that_was_made_again_starts_anew() {
    let one = object("example.com/v1", "Database", &[&condition("Ready", T, "")]);
    let two = object("example.com/v1", "Database", &[&condition("Ready", F, "")]).replace("uid: u,", "uid: v,");
    assert_eq!(codes(&sequence(&format!("{one}---\n{two}"), &policy())), Vec::<&str>::new());
}

#[test]
fn a_snapshot_out_of_order_is_passed_over() {
    let at = |version: u64, status: &str| {
        object("example.com/v1", "Database", &[&condition("Ready", status, "")])
            .replace("uid: u,", &format!("uid: u, resourceVersion: '{version}',"))
    };
    let text = [at(10, T), at(9, F), at(11, T)].join("---\n");
    assert_eq!(codes(&sequence(&text, &policy())), ["SC000"]);
}
