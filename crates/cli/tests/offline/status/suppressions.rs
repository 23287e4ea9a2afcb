//! Suppressions: what is known and accepted, each for a reason and until a day.

use crate::{Answer, Place, WIDGET};

fn lint(suppressions: &str, now: &str) -> Answer {
    let place = Place::new();
    place.write("w.yaml", WIDGET);
    place.write("accepted.yaml", suppressions);
    place.run(&["status", "lint", "-o", "json", "-f", "w.yaml", "--now", now, "--suppressions", "accepted.yaml"])
}

fn one(fields: &str) -> String {
    format!("# accepted\nsuppressions:\n- {{code: SC002, {fields}expires: 2026-06-30, reason: ticket 7}}\n")
}

#[test]
fn what_is_covered_is_not_reported() {
    for fields in ["", "file: w.yaml, ", "object: Widget.example.com later, path: '*[type=Ready]*', "] {
        let answer = lint(&one(fields), "2026-06-30T23:59:59Z");
        assert_eq!((answer.places(), answer.code), (Vec::new(), 0), "{fields}");
        assert!(answer.err.contains("1 finding suppressed\n"), "{answer:?}");
    }
    for fields in ["file: v.yaml, ", "object: Widget.example.org later, ", "path: status.conditions, "] {
        let answer = lint(&one(fields), "2026-06-01T00:00:00Z");
        assert_eq!(answer.places(), ["SC002 w.yaml:6:27", "SU002 accepted.yaml:3:3"], "{fields}");
        assert_eq!(answer.code, 1, "{fields}");
    }
}

#[test]
fn what_has_ended_comes_back_and_is_reported() {
    let answer = lint(&one(""), "2026-07-01T00:00:00Z");
    assert_eq!(answer.places(), ["SC002 w.yaml:6:27", "SU001 accepted.yaml:3:3"]);
    assert_eq!(answer.code, 1);
    let finding = &answer.json()[1];
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
        ("- {code: SC002, reason: r}", "2:3", "the suppression of SC002 has no end: `expires` is missing"),
        ("- {code: SC002, expires: 2027-01-01}", "2:3", "the suppression of SC002 has no reason"),
        ("- {code: SC999, expires: 2027-01-01, reason: r}", "2:10", "`SC999` is not a code of this linter"),
        ("- {code: SC002, expires: never, reason: r}", "2:26", "`never` is neither a day such as 2027-06-30 nor "),
        ("- {code: SC002, expires: 2027-01-01, reason: r, fiel: x}", "2:49", "no field `fiel`; did you mean file?"),
        ("- [unclosed", "2:3", "not YAML: unclosed bracket '['"),
    ] {
        let answer = lint(&format!("suppressions:\n{text}\n"), "2026-01-01T00:00:00Z");
        assert_eq!((answer.code, answer.out.as_str()), (3, ""), "{answer:?}");
        assert!(answer.err.starts_with("error: invalid suppressions in accepted.yaml\n"), "{answer:?}");
        assert!(
            answer.err.contains(message) && answer.err.contains(&format!("--> accepted.yaml:{place}\n")),
            "{answer:?}"
        );
    }
}

#[test]
fn every_mistake_is_reported_at_once() {
    let text = "suppressions:\n- {code: SC002, reason: r}\n- {code: SC999, expires: 2027-01-01, reason: r}\n";
    let answer = lint(text, "2026-01-01T00:00:00Z");
    assert_eq!((answer.err.matches("error[SU003]").count(), answer.code), (2, 3), "{answer:?}");
}

#[test]
fn a_file_of_them_that_is_missing_is_named() {
    let place = Place::new();
    place.write("w.yaml", WIDGET);
    let answer = place.run(&["status", "lint", "-f", "w.yaml", "--suppressions", "nope.yaml"]);
    let want = "error: cannot read the suppressions in nope.yaml: No such file or directory (os error 2)\n";
    assert_eq!((answer.err.as_str(), answer.out.as_str(), answer.code), (want, "", 3));
}
