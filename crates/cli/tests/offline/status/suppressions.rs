//! Suppressions: what is known and accepted, each for a reason and until a day.

use crate::{Answer, Place, WIDGET};

fn lint(suppressions: &str, now: &str) -> Answer {
    let place = Place::new();
    place.write("w.yaml", WIDGET);
    place.write("accepted.yaml", suppressions);
    place.run(&["status", "lint", "-o", "json", "-f", "w.yaml", "--now", now, "--suppressions", "accepted.yaml"])
}

#[test]
fn what_is_covered_is_not_reported() {
    for kind in ["", "kind: Widget, ", "kind: Widget.example.com, type: Ready, name: later, "] {
        let text = format!("- {{rule: SC002, {kind}until: 2026-06-30, reason: ticket 7}}\n");
        let answer = lint(&text, "2026-06-30T23:59:59Z");
        assert_eq!((answer.places(), answer.code), (Vec::new(), 0), "{text}");
    }
    for kind in ["kind: Gadget", "kind: Widget.example.org", "name: other", "type: Synced", "namespace: shop"] {
        let text = format!("- {{rule: SC002, {kind}, until: 2026-06-30, reason: ticket 7}}\n");
        assert_eq!(lint(&text, "2026-06-01T00:00:00Z").places(), ["SC002 w.yaml:6:27"], "{text}");
    }
}

#[test]
fn what_has_ended_comes_back_and_is_reported() {
    let text = "# accepted\n- {rule: SC002, until: 2026-06-30, reason: ticket 7}\n";
    let answer = lint(text, "2026-07-01T00:00:00Z");
    assert_eq!(answer.places(), ["SC000 accepted.yaml:2:3", "SC002 w.yaml:6:27"]);
    assert_eq!(answer.code, 1);
    let finding = &answer.json()[0];
    assert_eq!(finding["severity"], "warning");
    assert!(
        finding["message"].as_str().unwrap().starts_with("the suppression of SC002 expired at 2026-06-30"),
        "{finding}"
    );
    assert!(finding["help"].as_str().unwrap().ends_with("its reason was: ticket 7"), "{finding}");
}

#[test]
fn a_mistake_in_them_ends_the_check_before_it_begins() {
    for (text, place, message) in [
        ("- {rule: SC002, reason: r}\n", "1:3", "the suppression of SC002 has no end date: `until` is missing"),
        ("- {rule: SC002, until: 2027-01-01}\n", "1:3", "the suppression of SC002 has no reason"),
        ("\n- {rule: SC999, until: 2027-01-01, reason: r}\n", "2:10", "`SC999` is not a rule"),
        ("- {rule: SC002, until: never, reason: r}\n", "1:24", "`never` is neither a day such as 2026-09-30 nor "),
        ("- {rule: SC002, until: 2027-01-01, reason: r, nmae: x}\n", "1:47", "a suppression has no field `nmae`"),
        ("- [unclosed\n", "1:3", "not YAML: unclosed bracket '['"),
    ] {
        let answer = lint(text, "2026-01-01T00:00:00Z");
        assert_eq!((answer.code, answer.out.as_str()), (3, ""), "{answer:?}");
        assert!(answer.err.starts_with("error: invalid suppressions in accepted.yaml\n"), "{answer:?}");
        assert!(
            answer.err.contains(message) && answer.err.contains(&format!("--> accepted.yaml:{place}\n")),
            "{answer:?}"
        );
        assert!(answer.err.contains("= help: "), "{answer:?}");
    }
}

#[test]
fn every_mistake_is_reported_at_once() {
    let answer =
        lint("- {rule: SC002, reason: r}\n- {rule: SC999, until: 2027-01-01, reason: r}\n", "2026-01-01T00:00:00Z");
    assert_eq!((answer.err.matches("error[SC000]").count(), answer.code), (2, 3), "{answer:?}");
}

#[test]
fn a_file_of_them_that_is_missing_is_named() {
    let place = Place::new();
    place.write("w.yaml", WIDGET);
    let answer = place.run(&["status", "lint", "-f", "w.yaml", "--suppressions", "nope.yaml"]);
    let want = "error: cannot read the suppressions in nope.yaml: No such file or directory (os error 2)\n";
    assert_eq!((answer.err.as_str(), answer.out.as_str(), answer.code), (want, "", 3));
}
