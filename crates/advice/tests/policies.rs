//! `Policy` rules: match, no match or a failure with its class for everything that the status of a constraint can say
//! (U19, P6).

use std::time::Duration;

use crate::fixtures::{self, ObjectEvidence, answer, assess, graph, now, objects, proof, risk, version};
use clearway_advice::evidence::{
    FailureClass, Objects, RecordedEvidence, ReleaseConstraint, ReleaseEvaluation, UnevaluatedReason,
};
use clearway_advice::{Plan, RiskProof, Settings, Verdict};
use clearway_core::{GroupKind, ObjectName, Timestamp};
use serde_json::{Value, json};

fn violation(kind: &str, namespace: Option<&str>, name: &str) -> Value {
    json!({
        "group": "", "version": "v1", "kind": kind, "namespace": namespace, "name": name, "message": "MARKER",
        "enforcementAction": "deny",
    })
}

fn status(audited_at: Timestamp, total: u64, violations: &[Value]) -> Value {
    json!({
        "auditTimestamp": audited_at.to_string(), "totalViolations": total, "violations": violations,
        "byPod": [{"id": "MARKER"}],
    })
}

fn constraint(spec: &Value, status: &Value) -> Value {
    json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "RequiredLabels", "metadata": {"name": "owner"},
        "spec": spec, "status": status,
    })
}

fn rule(more: &Value) -> Value {
    let mut parameters = json!({"kind": "RequiredLabels", "name": "owner"});
    parameters.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!([{"type": "Policy", "policy": parameters}])
}

fn known(list: &[Value]) -> Objects {
    let mut objects = objects(list);
    for kind in ["RequiredLabels", "Other"] {
        objects.mark_read(GroupKind { group: "constraints.gatekeeper.sh".to_owned(), kind: kind.to_owned() });
    }
    objects
}

fn told(proof: &RiskProof) -> (Verdict, Option<FailureClass>) {
    (proof.verdict, proof.rules[0].failure)
}

#[test]
fn a_rule_matches_if_the_last_audit_found_violations() {
    let spec = json!({"parameters": {"labels": ["MARKER"]}});
    let recent = now().minus(Duration::from_mins(5));
    let some = [
        violation("Pod", Some("shop"), "web"),
        violation("Pod", Some("shop"), "web"),
        violation("Pod", Some("bank"), "api"),
        violation("Namespace", None, "shop"),
        violation("Service", Some("shop"), "web"),
    ];
    for (spec, status, want, value) in [
        (
            &spec,
            status(recent, 0, &[]),
            Verdict::NoMatch,
            "0 violations of RequiredLabels owner, audited at 2026-05-04T08:55:00Z",
        ),
        (
            &spec,
            status(recent, 1, &some[..1]),
            Verdict::Match,
            "1 violation of RequiredLabels owner, audited at 2026-05-04T08:55:00Z: Pod shop/web",
        ),
        (
            &spec,
            status(recent, 70, &some),
            Verdict::Match,
            "70 violations of RequiredLabels owner, audited at 2026-05-04T08:55:00Z: Namespace shop, Pod bank/api, Pod shop/web, …",
        ),
        // What is listed exists, whatever the number says.
        (&spec, status(recent, 0, &some[..1]), Verdict::Match, "1 violation"),
        // Violations count whatever happens to them.
        (&json!({"enforcementAction": "dryrun"}), status(recent, 1, &[]), Verdict::Match, "1 violation"),
        (
            &json!({"enforcementAction": "scoped", "scopedEnforcementActions": [
                {"action": "warn", "enforcementPoints": [{"name": "audit.gatekeeper.sh"}]},
            ]}),
            status(recent, 0, &[]),
            Verdict::NoMatch,
            "0 violations",
        ),
    ] {
        let found = proof(rule(&json!({})), &ObjectEvidence(known(&[constraint(spec, &status)])));
        assert_eq!(found.verdict, want, "{status} {:?}", found.rules[0]);
        let shown = found.rules[0].value.clone().unwrap_or_default();
        assert!(shown.contains(value), "{shown}");
        // Counts and names only.
        assert!(!serde_json::to_string(&found).unwrap().contains("MARKER"), "{found:?}");
    }
}

#[test]
fn an_audit_that_says_nothing_is_a_failure_with_a_class() {
    let (none, late) = (json!({}), now().minus(Duration::from_mins(121)));
    let elsewhere = json!({"enforcementAction": "scoped", "scopedEnforcementActions": [
        {"action": "deny", "enforcementPoints": [{"name": "validation.gatekeeper.sh"}]},
    ]});
    for (spec, status, class, why) in [
        (&none, json!(null), FailureClass::Absent, "The status of the constraint RequiredLabels owner has no audit."),
        (&none, json!({"byPod": []}), FailureClass::Absent, "has no audit"),
        (&none, json!({"totalViolations": 0}), FailureClass::Absent, "has no audit"),
        (&none, json!({"auditTimestamp": now().to_string()}), FailureClass::Absent, "has no audit"),
        (&none, json!({"auditTimestamp": "yesterday", "totalViolations": 0}), FailureClass::Absent, "has no audit"),
        (
            &none,
            json!({"auditTimestamp": now().to_string(), "totalViolations": -1}),
            FailureClass::Absent,
            "has no audit",
        ),
        (&none, status(late, 0, &[]), FailureClass::Stale, "is 2h1m old; the maximum age is 2h"),
        (&none, status(late, 5, &[]), FailureClass::Stale, "the maximum age is 2h"),
        (&none, status(now().plus(Duration::from_hours(1)), 0, &[]), FailureClass::Stale, "in the future"),
        (&json!({"enforcementAction": "shout"}), status(now(), 0, &[]), FailureClass::Absent, "Audits do not evaluate"),
        (&elsewhere, status(now(), 0, &[]), FailureClass::Absent, "Audits do not evaluate"),
    ] {
        let found = proof(rule(&json!({})), &ObjectEvidence(known(&[constraint(spec, &status)])));
        assert_eq!(told(&found), (Verdict::Unknown, Some(class)), "{spec} {status}");
        let said = found.rules[0].why.clone().unwrap_or_default();
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn a_constraint_that_does_not_exist_means_what_the_rule_says() {
    let other = constraint(&json!({}), &status(now(), 1, &[]));
    for (more, verdict, class) in [
        (json!({"name": "other"}), Verdict::Unknown, Some(FailureClass::Absent)),
        (json!({"name": "other", "whenAbsent": "NoMatch"}), Verdict::NoMatch, None),
        (json!({"kind": "Other", "whenAbsent": "Match"}), Verdict::Match, None),
        // Nobody looked for this kind.
        (json!({"kind": "Unread"}), Verdict::Unknown, Some(FailureClass::NotConfigured)),
        (json!({"name": 1}), Verdict::Unknown, Some(FailureClass::Malformed)),
        (json!({"kind": null}), Verdict::Unknown, Some(FailureClass::Malformed)),
        (json!({"whenAbsent": "Perhaps"}), Verdict::Unknown, Some(FailureClass::Malformed)),
    ] {
        let found = proof(rule(&more), &ObjectEvidence(known(std::slice::from_ref(&other))));
        assert_eq!(told(&found), (verdict, class), "{more} {:?}", found.rules[0]);
    }
}

/// A plan for updates to 1.0.1 and 1.0.2 that carry the same risk with a rule about the objects of the release.
fn release_plan(more: &Value) -> (clearway_graph::Graph, Plan) {
    let mut own = json!({"objects": "Release"});
    own.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let carried = || vec![risk("Denied", rule(&own))];
    let graph = graph(&answer(&[], &[("1.0.1", carried()), ("1.0.2", carried())]));
    let plan = Plan::new(&graph, &version("1.0.0"), &Settings::default()).unwrap();
    (graph, plan)
}

/// The results of evaluations, as objects.
fn results(plan: &Plan, evaluate: impl Fn(&ReleaseConstraint) -> ReleaseEvaluation) -> Objects {
    let questions = plan.release_questions();
    let asked = questions.iter().filter_map(|(question, _)| question.release_constraint());
    objects(&asked.map(|constraint| constraint.to_object(&evaluate(constraint))).collect::<Vec<_>>())
}

#[test]
fn a_rule_about_a_release_is_answered_for_each_update() {
    let (graph, plan) = release_plan(&json!({}));
    // Nothing of it can be read from a cluster.
    assert_eq!((plan.object_questions().len(), plan.object_requests().len()), (0, 0));
    let payloads: Vec<_> = plan.release_questions().iter().map(|(one, _)| one.release_constraint().cloned()).collect();
    let payloads: Vec<String> = payloads.into_iter().flatten().map(|one| one.release.payload).collect();
    assert_eq!(payloads, ["example.com/p@1.0.1", "example.com/p@1.0.2"]);
    let name = |name: &str| ("Pod".to_owned(), ObjectName { namespace: "shop".to_owned(), name: name.to_owned() });
    let found = results(&plan, |constraint| match constraint.release.version.to_string().as_str() {
        "1.0.1" => ReleaseEvaluation::Evaluated { total: 0, objects: vec![] },
        _ => ReleaseEvaluation::Evaluated { total: 7, objects: vec![name("d"), name("b"), name("a"), name("c")] },
    });
    let assessment = assess(&graph, &ObjectEvidence(found.clone()));
    let seen: Vec<_> = assessment
        .updates
        .iter()
        .map(|update| (update.risks[0].verdict, update.risks[0].rules[0].value.clone().unwrap()))
        .collect();
    assert_eq!(
        seen,
        [
            (
                Verdict::Match,
                "7 violations of RequiredLabels owner by the objects of 1.0.2: Pod shop/a, Pod shop/b, Pod shop/c, …"
                    .to_owned()
            ),
            (Verdict::NoMatch, "0 violations of RequiredLabels owner by the objects of 1.0.1".to_owned()),
        ]
    );
    // What a controller records of the same objects comes to the same.
    let mut records = fixtures::recorded(&plan, &found);
    for (question, steps) in plan.release_questions() {
        let clearway_advice::evidence::Reply::Answered(seen) = found.answer(question, steps) else {
            panic!("no answer")
        };
        records.insert(question.text().to_owned(), clearway_advice::evidence::Record::Answered(seen));
    }
    let recorded = RecordedEvidence { objects: Some(records), ..RecordedEvidence::default() };
    assert_eq!(assess(&graph, &recorded), assessment);
}

#[test]
fn a_release_that_was_not_evaluated_is_unknown() {
    use ReleaseEvaluation::{Absent, NotEnforced, Unknown};
    for (more, evaluation, verdict, class) in [
        (json!({}), Absent, Verdict::Unknown, Some(FailureClass::Absent)),
        (json!({"whenAbsent": "NoMatch"}), Absent, Verdict::NoMatch, None),
        (json!({"whenAbsent": "NoMatch"}), NotEnforced, Verdict::Unknown, Some(FailureClass::Absent)),
        (
            json!({"whenAbsent": "NoMatch"}),
            Unknown(UnevaluatedReason::ReleaseUnreadable),
            Verdict::Unknown,
            Some(FailureClass::Unreachable),
        ),
        (json!({}), Unknown(UnevaluatedReason::Forbidden), Verdict::Unknown, Some(FailureClass::Unauthorized)),
        (json!({}), Unknown(UnevaluatedReason::NotEvaluated), Verdict::Unknown, Some(FailureClass::Evaluation)),
    ] {
        let (graph, plan) = release_plan(&more);
        let assessment = assess(&graph, &ObjectEvidence(results(&plan, |_| evaluation.clone())));
        assert_eq!(told(&assessment.updates[0].risks[0]), (verdict, class), "{more} {evaluation:?}");
    }
    // Nobody evaluated anything, or not this.
    let (graph, _) = release_plan(&json!({}));
    let mut other = Objects::new(now(), "a snapshot");
    for evidence in [other.clone(), {
        other.add_requested(
            clearway_advice::evidence::ObjectRequest {
                kind: ReleaseConstraint::group_kind(),
                namespace: None,
                name: Some("another".to_owned()),
            },
            vec![],
        );
        other
    }] {
        let assessment = assess(&graph, &ObjectEvidence(evidence));
        assert_eq!(told(&assessment.updates[0].risks[0]), (Verdict::Unknown, Some(FailureClass::NotConfigured)));
    }
    // Another registry is named, with the option that allows it; what cannot be a host is not repeated.
    let (_, plan) = release_plan(&json!({}));
    let questions = plan.release_questions();
    let constraint = questions.iter().find_map(|(question, _)| question.release_constraint()).unwrap();
    let words = "the release is in another registry than the one that the cluster runs";
    for (payload, want) in [
        ("example.com/p@1", format!("{words}: example.com; commands fetch it with --allow-releases-from example.com")),
        ("oci://H:5000/p@1", format!("{words}: h:5000; commands fetch it with --allow-releases-from h:5000")),
        ("\u{202e}example.com/p", words.to_owned()),
        ("example.com", words.to_owned()),
    ] {
        let mut constraint = constraint.clone();
        constraint.release.payload = payload.to_owned();
        let object = constraint.to_object(&Unknown(UnevaluatedReason::OtherRegistry));
        assert_eq!(constraint.unevaluated_reason(&object), Some(want));
        assert_eq!(constraint.unevaluated_reason(&constraint.to_object(&Absent)), None);
    }
    // Words of a stranger are not repeated.
    let mut odd = results(&plan, |_| Absent);
    for (question, _) in plan.release_questions() {
        let object = json!({
            "apiVersion": "clearway.dev/v1alpha1", "kind": "ReleaseViolations",
            "metadata": {"name": question.request().name}, "status": {"notEvaluated": "MARKER", "totalViolations": 0},
        });
        odd.insert(object);
    }
    let assessment = assess(&graph, &ObjectEvidence(odd));
    assert_eq!(told(&assessment.updates[0].risks[0]), (Verdict::Unknown, Some(FailureClass::Evaluation)));
    assert!(!assessment.to_json().contains("MARKER"));
}
