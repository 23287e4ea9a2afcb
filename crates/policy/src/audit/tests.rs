//! Audits: what is counted, kept, listed, written and logged.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::inventory::Inventory;
use crate::rego::Budget;

fn template(kind: &str, rego: &str) -> Value {
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
        "metadata": {"name": kind.to_lowercase()},
        "spec": {
            "crd": {"spec": {"names": {"kind": kind}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": rego}],
        },
    })
}

fn constraint(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec,
    })
}

/// Violations are the values of an annotation, separated by commas.
const ANNOTATED: &str = r#"package annotated
violation[{"msg": msg, "details": {"of": input.review.object.metadata.name}}] {
    msg := split(input.review.object.metadata.annotations.violations, ",")[_]
}"#;

fn policies(specs: &[(&str, Value)]) -> PolicySet {
    let mut policies = PolicySet::new();
    policies.add_template(&template("Annotated", ANNOTATED)).unwrap();
    for (name, spec) in specs {
        policies.add_constraint(&constraint("Annotated", name, spec)).unwrap();
    }
    policies
}

fn pod(namespace: &str, name: &str, violations: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": namespace, "labels": {"app": name}, "annotations": {"violations": violations},
        },
    })
}

fn started() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn review(policies: &PolicySet, expander: &Expander, object: &Value) -> ObjectReview {
    let inventory = Inventory::default();
    let budget = Budget::default();
    let reviewer = Reviewer { point: EnforcementPoint::Audit, inventory: &inventory, budget: &budget };
    review_object(object, None, policies, expander, &reviewer, &mut Evaluator::new())
}

fn audit(policies: &PolicySet, limit: usize, objects: &[Value]) -> Audit {
    let mut audit = Audit::new(policies, started(), limit);
    for object in objects {
        let found = review(policies, &Expander::default(), object);
        assert_eq!(found.error, None);
        audit.record(object, &found.results);
    }
    audit
}

fn result(message: &str) -> ReviewResult {
    ReviewResult {
        kind: "Annotated".to_owned(),
        name: "all".to_owned(),
        message: message.to_owned(),
        details: None,
        action: EnforcementAction::Deny,
        scoped_actions: Vec::new(),
    }
}

#[test]
fn the_status_is_gatekeepers() {
    let policies = policies(&[("all", json!({})), ("none", json!({"match": {"name": "absent"}}))]);
    let objects = [pod("shop", "web", "first,second"), pod("shop", "api", "third"), pod("bank", "web", "fourth")];
    let audit = audit(&policies, 20, &objects);
    let existing = json!({"byPod": [{"id": "pod"}], "violations": [{"name": "old"}], "totalViolations": 77});
    let listed = |namespace: &str, name: &str, message: &str| {
        json!({
            "group": "", "version": "v1", "kind": "Pod", "name": name, "namespace": namespace, "message": message,
            "enforcementAction": "deny",
        })
    };
    assert_eq!(
        audit.constraint("Annotated", "all").unwrap().status(Some(&existing)),
        json!({
            "byPod": [{"id": "pod"}],
            "auditTimestamp": "2026-01-01T00:00:00Z",
            "totalViolations": 4,
            "violations": [
                listed("shop", "web", "second"),
                listed("shop", "web", "first"),
                listed("shop", "api", "third"),
                listed("bank", "web", "fourth"),
            ],
        })
    );
    // The violations of an earlier audit are gone.
    assert_eq!(
        audit.constraint("Annotated", "none").unwrap().status(Some(&existing)),
        json!({"byPod": [{"id": "pod"}], "auditTimestamp": "2026-01-01T00:00:00Z", "totalViolations": 0})
    );
    for absent in [None, Some(&json!(null)), Some(&json!("text"))] {
        let status = audit.constraint("Annotated", "none").unwrap().status(absent);
        assert_eq!(status, json!({"auditTimestamp": "2026-01-01T00:00:00Z", "totalViolations": 0}));
    }
}

#[test]
fn objects_of_the_cluster_have_no_namespace_in_the_status() {
    let policies = policies(&[("all", json!({}))]);
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "annotations": {"violations": "bad"}},
    });
    let audit = audit(&policies, 20, &[node]);
    let status = audit.constraint("Annotated", "all").unwrap().status(None);
    assert_eq!(
        status["violations"],
        json!([{"group": "", "version": "v1", "kind": "Node", "name": "n1", "message": "bad", "enforcementAction": "deny"}])
    );
}

#[test]
fn actions_decide_what_is_evaluated_and_counted() {
    let at = |point: &str, action: &str| json!([{"action": action, "enforcementPoints": [{"name": point}]}]);
    let policies = policies(&[
        ("denies", json!({})),
        ("warns", json!({"enforcementAction": "warn"})),
        ("records", json!({"enforcementAction": "dryrun"})),
        ("unknown", json!({"enforcementAction": "shout"})),
        (
            "scoped",
            json!({"enforcementAction": "scoped", "scopedEnforcementActions": at("audit.gatekeeper.sh", "deny")}),
        ),
        (
            "elsewhere",
            json!({"enforcementAction": "scoped", "scopedEnforcementActions": at("validation.gatekeeper.sh", "deny")}),
        ),
    ]);
    let audit = audit(&policies, 20, &[pod("shop", "web", "bad"), pod("shop", "api", "bad")]);
    let found: Vec<(&str, u64, u64)> = audit
        .constraints()
        .map(|constraint| (constraint.constraint().name.as_str(), constraint.total(), constraint.denying()))
        .collect();
    assert_eq!(
        found,
        [
            ("denies", 2, 2),
            ("elsewhere", 0, 0),
            ("records", 2, 0),
            ("scoped", 2, 2),
            ("unknown", 0, 0),
            ("warns", 2, 0)
        ]
    );
    let counts: Vec<(&str, u64)> =
        audit.violations_by_action().iter().map(|(action, count)| (*action, *count)).collect();
    assert_eq!(counts, [("deny", 2), ("dryrun", 2), ("scoped", 2), ("unrecognized", 0), ("warn", 2)]);
    let status = audit.constraint("Annotated", "scoped").unwrap().status(None);
    assert_eq!(status["violations"][0]["enforcementAction"], json!("scoped"));
    assert_eq!(status["violations"][0]["enforcementActions"], json!(["deny"]));
}

#[test]
fn implied_objects_are_audited_as_violations_of_what_implies_them() {
    let policies = policies(&[("pods", json!({"match": {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}}))]);
    let expansion = json!({
        "apiVersion": "expansion.gatekeeper.sh/v1beta1", "kind": "ExpansionTemplate", "metadata": {"name": "pods"},
        "spec": {
            "applyTo": [{"groups": ["apps"], "versions": ["v1"], "kinds": ["Deployment"]}],
            "templateSource": "spec.template", "enforcementAction": "shout",
            "generatedGVK": {"group": "", "version": "v1", "kind": "Pod"},
        },
    });
    let expander = Expander::read([&expansion]).unwrap();
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"template": {"metadata": {"annotations": {"violations": "bad"}}}},
    });
    let found = review(&policies, &expander, &deployment);
    assert_eq!(found.error, None);
    let mut audit = Audit::new(&policies, started(), 20);
    audit.record(&deployment, &found.results);
    let constraint = audit.constraint("Annotated", "pods").unwrap();
    assert_eq!(
        constraint.status(None)["violations"],
        json!([{
            "group": "apps", "version": "v1", "kind": "Deployment", "name": "web", "namespace": "shop",
            "message": "[Implied by pods] bad", "enforcementAction": "shout",
        }])
    );
    assert_eq!(audit.violations_by_action().get("unrecognized"), Some(&1));

    // What cannot be expanded is reported, and violations of the object itself are kept.
    let broken = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "annotations": {"violations": "own"}}, "spec": {},
    });
    let mut everything = policies.clone();
    everything.add_constraint(&constraint_of_everything()).unwrap();
    let found = review(&everything, &expander, &broken);
    assert_eq!(found.results.len(), 1);
    assert!(matches!(found.error, Some(ObjectReviewError::Expansion(_))), "{:?}", found.error);
}

fn constraint_of_everything() -> Value {
    constraint("Annotated", "everything", &json!({}))
}

/// The specification of a constraint, and groups and kinds with whether they are listed for it.
type Case = (Value, &'static [(&'static str, &'static str, bool)]);

#[test]
fn kinds_that_no_constraint_is_about_are_not_listed() {
    let kind = |group: &str, kind: &str| ObjectKind {
        group: group.to_owned(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
    };
    let on = |kinds: Value| json!({"match": {"kinds": kinds}});
    let cases: &[Case] = &[
        (json!({}), &[("", "Pod", true), ("apps", "Deployment", true)]),
        (json!({"match": {}}), &[("", "Pod", true)]),
        (
            on(json!([{"apiGroups": [""], "kinds": ["Pod"]}])),
            &[("", "Pod", true), ("apps", "Deployment", false), ("metrics.k8s.io", "Pod", false)],
        ),
        (on(json!([{"apiGroups": ["*"], "kinds": ["*"]}])), &[("apps", "Deployment", true)]),
        (on(json!([{"apiGroups": ["apps"], "kinds": ["*"]}])), &[("apps", "Deployment", true), ("", "Pod", false)]),
        (on(json!([{"kinds": ["Pod"]}])), &[("", "Pod", true), ("", "Service", false)]),
        (json!({"enforcementAction": "shout"}), &[("", "Pod", false)]),
        (
            json!({"enforcementAction": "scoped", "scopedEnforcementActions": [
                {"action": "deny", "enforcementPoints": [{"name": "validation.gatekeeper.sh"}]},
            ]}),
            &[("", "Pod", false)],
        ),
    ];
    for (spec, expected) in cases {
        let policies = policies(&[("one", spec.clone())]);
        for (group, name, listed) in *expected {
            assert_eq!(policies.is_audited(&kind(group, name), &Expander::default()), *listed, "{spec} {group}/{name}");
        }
    }
    assert!(!policies(&[]).is_audited(&kind("", "Pod"), &Expander::default()));
}

#[test]
fn kinds_that_imply_others_are_listed_for_them() {
    let expansion = |name: &str, from: (&str, &str), to: (&str, &str)| {
        json!({
            "apiVersion": "expansion.gatekeeper.sh/v1beta1", "kind": "ExpansionTemplate", "metadata": {"name": name},
            "spec": {
                "applyTo": [{"groups": [from.0], "versions": ["v1"], "kinds": [from.1]}],
                "templateSource": "spec.template",
                "generatedGVK": {"group": to.0, "version": "v1", "kind": to.1},
            },
        })
    };
    let templates =
        [expansion("jobs", ("batch", "CronJob"), ("batch", "Job")), expansion("pods", ("batch", "Job"), ("", "Pod"))];
    let expander = Expander::read(&templates).unwrap();
    let policies = policies(&[("pods", json!({"match": {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}}))]);
    let kind = |group: &str, version: &str, kind: &str| ObjectKind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
    };
    assert!(policies.is_audited(&kind("batch", "v1", "CronJob"), &expander));
    assert!(policies.is_audited(&kind("batch", "v1beta1", "CronJob"), &expander));
    assert!(policies.is_audited(&kind("batch", "v1", "Job"), &expander));
    assert!(!policies.is_audited(&kind("apps", "v1", "Deployment"), &expander));
}

#[test]
fn log_lines_have_gatekeepers_keys() {
    let mut policies = PolicySet::new();
    policies.add_template(&template("Annotated", ANNOTATED)).unwrap();
    let mut annotated = constraint("Annotated", "all", &json!({"enforcementAction": "warn"}));
    annotated["metadata"]["annotations"] =
        json!({"owner": "ann", "kubectl.kubernetes.io/last-applied-configuration": "{}"});
    policies.add_constraint(&annotated).unwrap();
    policies.add_constraint(&constraint("Annotated", "none", &json!({"match": {"name": "absent"}}))).unwrap();
    let object = pod("shop", "web", "bad");
    let found = review(&policies, &Expander::default(), &object);
    let mut audit = Audit::new(&policies, started(), 20);
    audit.record(&object, &found.results);

    let line = audit.violation_line(&object, &found.results[0]).unwrap();
    assert_eq!(line.message, "bad");
    assert_eq!(
        Value::Object(line.fields),
        json!({
            "semantic": true, "process": "audit", "event_type": "violation_audited", "audit_id": "2026-01-01T00:00:00Z",
            "details": {"of": "web"},
            "constraint_group": "constraints.gatekeeper.sh", "constraint_api_version": "v1beta1",
            "constraint_kind": "Annotated", "constraint_name": "all", "constraint_namespace": "",
            "constraint_action": "warn", "constraint_enforcement_actions": [],
            "constraint_annotations": {"owner": "ann"},
            "resource_group": "", "resource_api_version": "v1", "resource_kind": "Pod",
            "resource_namespace": "shop", "resource_name": "web", "resource_labels": {"app": "web"},
        })
    );
    let lines: Vec<SemanticLine> = audit.constraint_lines().collect();
    assert_eq!(lines.len(), 1, "only constraints with violations");
    assert_eq!(lines[0].message, "audit results for constraint");
    assert_eq!(
        Value::Object(lines[0].fields.clone()),
        json!({
            "semantic": true, "process": "audit", "event_type": "constraint_audited", "audit_id": "2026-01-01T00:00:00Z",
            "constraint_group": "constraints.gatekeeper.sh", "constraint_api_version": "v1beta1",
            "constraint_kind": "Annotated", "constraint_name": "all", "constraint_namespace": "",
            "constraint_action": "warn", "constraint_status": "enforced", "constraint_violations": "1",
        })
    );
    let line = audit.started_line();
    assert_eq!(line.message, "auditing constraints and violations");
    assert_eq!(
        Value::Object(line.fields),
        json!({"semantic": true, "process": "audit", "event_type": "audit_started", "audit_id": "2026-01-01T00:00:00Z"})
    );
    let line = audit.finished_line(Duration::from_millis(1_500));
    assert_eq!(line.message, "auditing is complete");
    assert_eq!(
        Value::Object(line.fields),
        json!({
            "semantic": true, "process": "audit", "event_type": "audit_finished", "audit_id": "2026-01-01T00:00:00Z",
            "duration": "1.5s",
        })
    );
}

#[test]
fn messages_are_shortened_between_characters() {
    let exactly = "x".repeat(256);
    assert_eq!(shorten_message(&exactly), exactly);
    assert_eq!(shorten_message(&"x".repeat(257)), format!("{}...", "x".repeat(253)));
    // The character at bytes 252 to 254 does not fit.
    let text = format!("{}€{}", "x".repeat(252), "y".repeat(10));
    assert_eq!(shorten_message(&text), format!("{}...", "x".repeat(252)));
}

/// Objects and messages with few different values, so that many are equal.
fn violations() -> impl Strategy<Value = Vec<(u8, u8, String)>> {
    prop::collection::vec((0..3_u8, 0..4_u8, "[ab]{0,2}"), 0..60)
}

proptest! {
    #[test]
    fn the_smallest_violations_are_listed_whatever_the_order(
        (found, shuffled) in violations().prop_flat_map(|found| (Just(found.clone()), Just(found).prop_shuffle())),
        limit in 0..8_usize,
    ) {
        let policies = policies(&[("all", json!({}))]);
        let run = |found: &[(u8, u8, String)]| {
            let mut audit = Audit::new(&policies, started(), limit);
            for (namespace, name, message) in found {
                audit.record(&pod(&format!("ns{namespace}"), &format!("pod{name}"), ""), &[result(message)]);
            }
            audit
        };
        let audit = run(&found);
        let constraint = audit.constraint("Annotated", "all").unwrap();
        prop_assert_eq!(constraint.total(), found.len() as u64);
        let mut expected = found.clone();
        expected.sort();
        expected.truncate(limit);
        expected.reverse();
        let listed: Vec<(u8, u8, String)> = constraint
            .violations()
            .into_iter()
            .map(|one| {
                let digit = |text: &str| text.bytes().last().unwrap() - b'0';
                (digit(&one.namespace), digit(&one.name), one.message.clone())
            })
            .collect();
        prop_assert_eq!(listed, expected);
        let (first, second) = found.split_at(found.len() / 2);
        let mut merged = run(first);
        merged.merge(run(second));
        prop_assert_eq!(constraint.status(None), merged.constraint("Annotated", "all").unwrap().status(None));
        prop_assert_eq!(audit.violations_by_action(), merged.violations_by_action());
        let other = run(&shuffled);
        prop_assert_eq!(constraint.status(None), other.constraint("Annotated", "all").unwrap().status(None));
    }

    #[test]
    fn shortened_messages_fit_and_begin_as_the_message_does(message in "(\\PC|\n){0,400}") {
        let short = shorten_message(&message);
        prop_assert!(short.len() <= MESSAGE_BYTES);
        if message.len() <= MESSAGE_BYTES {
            prop_assert_eq!(short, message);
        } else {
            prop_assert!(short.len() > MESSAGE_BYTES - 3 - 3);
            prop_assert!(message.starts_with(short.strip_suffix("...").unwrap()));
        }
    }
}
