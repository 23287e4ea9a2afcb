//! `clearway policy` without a cluster: suites, objects in files, findings, explanations, and templates that misbehave.

mod evaluators;

use serde_json::json;

use crate::{Answer, Place};

const TEMPLATE: &str = "\
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: requiredlabels}
spec:
  crd:
    spec:
      names: {kind: RequiredLabels}
      validation:
        openAPIV3Schema:
          type: object
          properties:
            labels: {type: array, items: {type: string}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package requiredlabels

      violation[{\"msg\": msg, \"details\": {\"label\": label}}] {
        label := input.parameters.labels[_]
        not input.review.object.metadata.labels[label]
        msg := sprintf(\"label %v is missing\", [label])
      }
";

const CONSTRAINT: &str = "\
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: RequiredLabels
metadata: {name: owner}
spec:
  match: {kinds: [{apiGroups: [\"\"], kinds: [Namespace]}]}
  parameters: {labels: [owner]}
";

const BAD: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: bad}\n";
const GOOD: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: good, labels: {owner: a}}\n";

const SUITE: &str = "\
apiVersion: test.gatekeeper.sh/v1alpha1
kind: Suite
tests:
- name: labels
  template: template.yaml
  constraint: constraint.yaml
  cases:
  - {name: missing, object: bad.yaml, assertions: [{violations: 1, message: label owner is missing}]}
  - {name: present, object: good.yaml, assertions: [{violations: no}]}
";

fn place() -> Place {
    let place = Place::new();
    for (name, text) in [("template", TEMPLATE), ("constraint", CONSTRAINT), ("bad", BAD), ("good", GOOD)] {
        place.write(&format!("{name}.yaml"), text);
    }
    place
}

/// A template like the one above, with other rules.
fn template(rules: &str) -> String {
    let indented: Vec<String> = rules.lines().map(|line| format!("      {line}")).collect();
    let front = TEMPLATE.split_once("      violation").unwrap().0;
    format!("{front}{}\n", indented.join("\n"))
}

fn test(place: &Place, more: &[&str]) -> Answer {
    let files = ["policy", "test", "-f", "template.yaml", "-f", "constraint.yaml", "-f", "bad.yaml"];
    place.run(&[files.as_slice(), more].concat())
}

#[test]
fn suites_pass_and_fail_as_in_gator() {
    let place = place();
    place.write("suite.yaml", SUITE);
    let answer = place.run(&["policy", "verify", "suite.yaml", "-v", "--junit", "results.xml"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.out.contains("    --- PASS: missing") && answer.out.contains("\nPASS\n"), "{}", answer.out);
    let results = std::fs::read_to_string(place.path().join("results.xml")).unwrap();
    assert!(results.contains("tests=\"2\"") && results.contains("labels/missing"), "{results}");

    place.write("suite.yaml", SUITE.replace("violations: 1", "violations: 2"));
    let answer = place.run(&["policy", "verify", "."]);
    assert_eq!(answer.code, 1, "{answer:?}");
    assert!(answer.out.contains("but want exactly 2"), "{}", answer.out);
    assert!(answer.err.ends_with("Error: FAIL\n"), "{}", answer.err);
    // Only the case that passes is selected.
    let answer = place.run(&["policy", "verify", "suite.yaml", "--run", "labels//present"]);
    assert_eq!(answer.code, 0, "{answer:?}");
}

#[test]
fn a_suite_that_names_a_missing_file_fails_and_the_others_run() {
    let place = place();
    place.write("a/suite.yaml", SUITE);
    place.write("suite.yaml", SUITE);
    let answer = place.run(&["policy", "verify", "./..."]);
    assert_eq!(answer.code, 1, "{answer:?}");
    assert!(answer.out.contains("no such file or directory"), "{}", answer.out);
    assert!(answer.out.lines().any(|line| line.starts_with("ok\t") && line.contains("suite.yaml")), "{}", answer.out);
}

#[test]
fn objects_are_evaluated_against_the_policies_beside_them() {
    let place = place();
    let answer = test(&place, &["-f", "good.yaml"]);
    assert_eq!(answer.out, "v1/Namespace bad: [\"owner\"] Message: \"label owner is missing\"\n", "{answer:?}");
    assert_eq!(answer.code, 1);
    let answer = test(&place, &["-o", "json"]);
    let found = answer.json();
    assert_eq!(found[0]["msg"], "label owner is missing");
    assert_eq!(found[0]["metadata"], json!({"details": {"label": "owner"}}));
    assert_eq!(found[0]["violatingObject"]["metadata"]["name"], "bad");
    // What only warns does not fail.
    place.write("constraint.yaml", format!("{CONSTRAINT}  enforcementAction: warn\n"));
    assert_eq!(test(&place, &[]).code, 0);
    assert_eq!(test(&place, &["--deny-only"]).out, "");
}

#[test]
fn an_unknown_action_is_a_warning_unless_it_is_to_be_rejected() {
    let place = place();
    place.write("constraint.yaml", format!("{CONSTRAINT}  enforcementAction: shout\n"));
    let answer = test(&place, &[]);
    assert!(answer.err.contains("warning: constraint.yaml") && answer.err.contains("not enforced"), "{answer:?}");
    let answer = test(&place, &["--reject-unknown-actions"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    assert!(answer.err.contains("shout"), "{answer:?}");
}

#[test]
fn an_explanation_names_what_matched_and_what_did_not() {
    let place = place();
    place.write("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: n}\n");
    let explain =
        |object: &str| place.run(&["policy", "explain", object, "-f", "template.yaml", "-f", "constraint.yaml"]);
    let answer = explain("bad.yaml");
    assert_eq!(answer.code, 1, "{answer:?}");
    for want in [
        "RequiredLabels owner",
        "kinds: matches",
        "parameters: {\"labels\":[\"owner\"]}",
        "deny: label owner is missing",
    ] {
        assert!(answer.out.contains(want), "{want}: {}", answer.out);
    }
    let answer = explain("pod.yaml");
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.out.contains("kinds: does not match") && answer.out.contains("not evaluated"), "{}", answer.out);
}

#[test]
fn lint_reports_every_mistake_with_its_place() {
    let place = place();
    place.write(
        "broken.yaml",
        template("violation[{\"msg\": 1}] { no_such_function(1) }")
            .replace("requiredlabels", "broken")
            .replace("RequiredLabels", "Broken"),
    );
    place.write("alone.yaml", CONSTRAINT.replace("RequiredLabels", "NoTemplate"));
    let answer = place.run(&[
        "policy",
        "lint",
        "-f",
        "template.yaml",
        "-f",
        "constraint.yaml",
        "-f",
        "broken.yaml",
        "-f",
        "alone.yaml",
    ]);
    assert_eq!(answer.code, 1, "{answer:?}");
    for want in ["no_such_function", "broken.yaml", "NoTemplate", "alone.yaml"] {
        assert!(answer.out.contains(want), "{want}: {}", answer.out);
    }
    assert_eq!(place.run(&["policy", "lint", "-f", "template.yaml", "-f", "constraint.yaml"]).code, 0);
}

/// Bad input: templates that never end, or that take all memory, are ended with one message; exit code 1.
#[test]
fn a_template_that_does_not_end_is_ended() {
    let place = place();
    let endless =
        "violation[{\"msg\": \"m\"}] { a := numbers.range(1, 100000); b := a[_]; c := a[_]; d := a[_]; b + c + d < 0 }";
    place.write("template.yaml", template(endless));
    let answer = test(&place, &["--max-steps", "100000"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    let stopped = "the evaluation needs more than 100000 steps; it was stopped";
    assert_eq!(answer.out, format!("v1/Namespace bad: [\"owner\"] Message: {stopped:?}\n"), "{answer:?}");

    // No text is larger than the engine allows, but together they are: 400 texts of 5 MB.
    let doubling: Vec<String> =
        (1..20).map(|number| format!("s{number} := concat(\"\", [s{}, s{}]); ", number - 1, number - 1)).collect();
    let doubling = doubling.concat();
    let many = "many := [text | numbers.range(1, 400)[_]; text := concat(\"\", [s19, \"x\"])]; count(many) > 0";
    place.write(
        "template.yaml",
        template(&format!("violation[{{\"msg\": \"m\"}}] {{ s0 := \"0123456789\"; {doubling} {many} }}")),
    );
    let answer = test(&place, &["--memory-limit", "512"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    assert!(answer.err.contains("evaluating policies needs more than 512 MiB of memory"), "{answer:?}");
}

#[test]
fn evaluations_are_measured() {
    let answer = place().run(&[
        "policy",
        "bench",
        "-f",
        "template.yaml",
        "-f",
        "constraint.yaml",
        "-f",
        "bad.yaml",
        "--iterations",
        "20",
        "-o",
        "json",
    ]);
    let data = answer.json();
    assert_eq!((&data["evaluations"], &data["violations"], answer.code), (&json!(20), &json!(20), 0), "{answer:?}");
}

/// A directory may have accepted findings, but not that its policies are not loaded.
#[test]
fn a_policy_that_is_not_loaded_cannot_be_accepted() {
    let place = place();
    place.write("policies/broken.yaml", template("violation[{\"msg\": msg}] { msg := }"));
    place.write("policies/constraint.yaml", CONSTRAINT);
    let codes = ["PO001", "PO002", "PO003", "PO004", "PO005", "PO006"];
    let accepted = codes.map(|code| format!("- {{code: {code}, reason: hidden, expires: 2099-01-01}}\n")).concat();
    place.write("policies/.clearway-lint.yaml", format!("suppressions:\n{accepted}"));
    let answer = place.run(&["policy", "lint", "-f", "policies"]);
    assert_eq!(answer.code, 1, "{}", answer.out);
    assert!(answer.out.contains("PO001") && answer.out.contains("PO003"), "{}", answer.out);
}
