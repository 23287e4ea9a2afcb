//! The options that all linters have: which findings are shown, left out or accepted, and the count of every code.

use crate::{Answer, Place, WIDGET};

/// A template without a constraint (PO004, a note), and with a parameter that it does not use (PO006, a warning).
const TEMPLATE: &str = r#"apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: k8sowner}
spec:
  crd:
    spec:
      names: {kind: K8sOwner}
      validation:
        openAPIV3Schema:
          type: object
          properties: {unused: {type: string}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package k8sowner
      violation[{"msg": msg}] { not input.review.object.metadata.labels.owner; msg := "no owner" }
"#;

/// A directory for each linter, and how it is linted.
const LINTERS: [(&str, &[&str]); 3] = [
    ("graph", &["graph", "lint", "--graph", "graph"]),
    ("objects", &["status", "lint", "-f", "objects"]),
    ("policies", &["policy", "lint", "-f", "policies"]),
];

fn place() -> Place {
    let place = Place::new();
    place.write("objects/w.yaml", WIDGET);
    place.write("policies/t.yaml", TEMPLATE);
    place.write("graph/version", "1.2.0\n");
    place.write("graph/channels/stable-1.0.yaml", "name: stable-1.0\nversions: [1.0.0]\nodd: 1\n");
    place.write("graph/releases/a.json", r#"[{"version": "1.0.0", "payload": "x@sha256:1"}]"#);
    place
}

fn run(place: &Place, linter: &[&str], more: &[&str]) -> Answer {
    place.run(&[linter, more].concat())
}

/// The codes of the findings.
fn codes(place: &Place, linter: &[&str], more: &[&str]) -> Vec<String> {
    let answer = run(place, linter, &[&["-o", "json"], more].concat());
    answer.places().iter().map(|place| place.split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn codes_are_selected_and_ignored_by_their_beginning_in_every_linter() {
    let place = place();
    for (name, linter) in LINTERS {
        let all = codes(&place, linter, &[]);
        let first = all.first().unwrap_or_else(|| panic!("{name} has no finding")).clone();
        assert!(codes(&place, linter, &["--select", &first]).iter().all(|code| *code == first), "{name}");
        assert!(!codes(&place, linter, &["--ignore", &first]).contains(&first), "{name}");
        let family = first.get(..2).unwrap();
        assert_eq!(codes(&place, linter, &["--select", family]), all, "{name}");
        assert!(codes(&place, linter, &["--ignore", family]).is_empty(), "{name}");
        let both = codes(&place, linter, &["--ignore", family, "--select", &first]);
        assert!(!both.is_empty() && both.iter().all(|code| *code == first), "{name}: {both:?}");
        let unknown = run(&place, linter, &["--select", "QQ"]);
        assert_eq!((unknown.code, unknown.out.as_str()), (3, ""), "{name}");
        assert!(unknown.err.starts_with("error: `--select QQ`: no code begins with `QQ`; codes begin with "), "{name}");
    }
}

#[test]
fn notes_are_counted_and_shown_only_on_request() {
    let place = place();
    let policies = LINTERS[2].1;
    let usual = run(&place, policies, &[]);
    assert_eq!(usual.code, 1, "{usual:?}");
    assert!(usual.out.contains("warning[PO006]") && !usual.out.contains("info[PO004]"), "{usual:?}");
    assert!(usual.out.contains("\nPO004  note      1         A template has no constraint\n"), "{usual:?}");
    assert!(usual.err.contains("1 object checked: 0 errors, 1 warning, 1 note\n"), "{usual:?}");
    assert!(usual.err.contains("--severity info shows all"), "{usual:?}");
    let all = run(&place, policies, &["--severity", "info"]);
    assert!(all.out.contains("info[PO004]") && all.code == 1, "{all:?}");
    // What is below the wanted severity does not fail the check.
    let errors = run(&place, policies, &["--severity", "error"]);
    assert!(errors.code == 0 && !errors.out.contains("warning[PO006]"), "{errors:?}");
    assert_eq!(run(&place, policies, &["--ignore", "PO006"]).code, 0, "notes are allowed");
}

#[test]
fn a_file_in_the_linted_directory_has_accepted_findings() {
    for (name, linter) in LINTERS {
        let place = place();
        let all = codes(&place, linter, &[]);
        let code = all.first().unwrap();
        let file = format!("{name}/.clearway-lint.yaml");
        let write = |expires: &str| {
            place.write(&file, format!("suppressions:\n- {{code: {code}, reason: ticket 7, expires: {expires}}}\n"));
        };
        write("2999-12-31");
        let left: Vec<String> = all.iter().filter(|one| *one != code).cloned().collect();
        assert_eq!(codes(&place, linter, &[]), left, "{name}");
        write("2020-01-01");
        let expired = codes(&place, linter, &[]);
        assert_eq!(expired, [all.as_slice(), &["SU001".to_owned()]].concat(), "{name}");
        place.write(&file, "suppressions:\n- {code: SU001, reason: r, expires: 2999-12-31}\n");
        assert!(codes(&place, linter, &[]).contains(&"SU002".to_owned()), "{name}");
        // What is not asked for cannot be known to be unused.
        assert!(!codes(&place, linter, &["--select", code]).contains(&"SU002".to_owned()), "{name}");
        place.write(&file, "suppressions:\n- {code: QQ1, reason: r, expires: 2999-12-31}\n");
        let invalid = run(&place, linter, &[]);
        assert_eq!((invalid.code, invalid.out.as_str()), (3, ""), "{name}");
        assert!(invalid.err.starts_with(&format!("error: invalid suppressions in {file}")), "{name}: {invalid:?}");
    }
}

#[test]
fn many_findings_fit_a_screen_and_wide_shows_all() {
    let place = Place::new();
    for number in 0..200 {
        place.write(&format!("objects/{number}.yaml"), WIDGET.replace("later", &format!("w{number}")));
    }
    let linter = ["status", "lint", "-f", "objects"];
    let usual = run(&place, &linter, &[]);
    // In a pipe there are few lines, and each is whole.
    assert!(usual.out.lines().count() <= 50 && !usual.out.contains('…'), "{usual:?}");
    assert!(usual.out.contains("SC002  error     200"), "{usual:?}");
    assert!(usual.err.contains(" not shown; -o wide shows all"), "{usual:?}");
    let wide = run(&place, &linter, &["-o", "wide"]);
    assert_eq!(wide.out.matches("error[SC002]").count(), 200);
    assert_eq!(run(&place, &linter, &["-o", "json"]).json().as_array().map(Vec::len), Some(200));
}
