//! The outcome table of rules about Kubernetes objects: `Condition` and `Resource` (U3, U16, U18, U19).

use std::time::Duration;

use crate::fixtures::{self, ObjectEvidence, now, objects, proof};
use clearway_advice::evidence::{
    Failure, FailureClass, ObjectAnswer, ObjectQuestion, ObjectRequest, Objects, Observation, Question,
    RecordedEvidence, Reply, Snapshot,
};
use clearway_advice::{Evidence, Plan, RiskProof, Settings, Verdict, render};
use clearway_core::{GroupKind, Timestamp};
use clearway_promql::eval::Value as Seen;
use serde_json::{Value, json};

fn told(proof: &RiskProof) -> (Verdict, String) {
    (proof.verdict, proof.rules[0].why.clone().unwrap_or_default())
}

fn operator(name: &str, generation: i64, observed: Option<i64>, status: &str) -> Value {
    json!({
        "apiVersion": "config.example.com/v1", "kind": "Operator",
        "metadata": {"name": name, "generation": generation, "labels": {"tier": name}},
        "status": {"conditions": [{"type": "Degraded", "status": status, "observedGeneration": observed}]},
    })
}

#[test]
fn a_condition_counts_only_if_it_is_about_the_object_of_today() {
    let rule = |more: Value| {
        let mut parameters =
            json!({"apiVersion": "config.example.com/v1", "kind": "Operator", "type": "Degraded", "status": "True"});
        parameters.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([{"type": "Condition", "condition": parameters}])
    };
    let (good, bad) = (operator("good", 3, Some(3), "False"), operator("bad", 3, Some(3), "True"));
    let (stale, odd) = (operator("stale", 3, Some(2), "True"), operator("odd", 3, Some(3), "Unknown"));
    let (first, unproven) = (operator("first", 1, None, "True"), operator("unproven", 2, None, "True"));
    let mut bare = operator("bare", 1, None, "True");
    bare["status"] = json!({});
    let name = |name: &str| json!({"name": name});
    let all = json!({"quantifier": "All"});
    let table: Vec<(Vec<&Value>, Value, Verdict, &str)> = vec![
        (vec![&good, &bad], json!({}), Verdict::Match, ""),
        (vec![&good, &bad], name("good"), Verdict::NoMatch, ""),
        (vec![&good, &bad], json!({"labelSelector": {"matchLabels": {"tier": "bad"}}}), Verdict::Match, ""),
        (vec![&good, &bad], all.clone(), Verdict::NoMatch, ""),
        (vec![&bad, &first], all.clone(), Verdict::Match, ""),
        (vec![&bad, &stale], json!({}), Verdict::Match, ""),
        (vec![&good, &stale], all, Verdict::NoMatch, ""),
        (
            vec![&good, &stale],
            json!({}),
            Verdict::Unknown,
            "The condition Degraded of Operator.config.example.com stale is about an older generation of the object.",
        ),
        (
            vec![&unproven],
            json!({}),
            Verdict::Unknown,
            "The condition Degraded of Operator.config.example.com unproven is without observedGeneration.",
        ),
        (
            vec![&odd],
            json!({}),
            Verdict::Unknown,
            "The condition Degraded of Operator.config.example.com odd is Unknown.",
        ),
        (vec![&odd], json!({"status": "Unknown"}), Verdict::Match, ""),
        (vec![&bare], json!({}), Verdict::Unknown, "Operator.config.example.com bare has no condition Degraded."),
        (vec![&bare], json!({"whenAbsent": "NoMatch"}), Verdict::NoMatch, ""),
        (
            vec![&good],
            name("other"),
            Verdict::Unknown,
            "No Operator.config.example.com that the rule selects was found.",
        ),
        (vec![&good], json!({"name": "other", "whenAbsent": "Match"}), Verdict::Match, ""),
        (
            vec![&good],
            json!({"kind": "Other"}),
            Verdict::Unknown,
            "There is no cluster or snapshot with Other.config.example.com objects.",
        ),
    ];
    for (list, more, verdict, why) in table {
        let list: Vec<Value> = list.into_iter().cloned().collect();
        let found = proof(rule(more.clone()), &ObjectEvidence(objects(&list)));
        assert_eq!(told(&found), (verdict, why.to_owned()), "{more}");
    }
}

/// A cluster that gives one reply to every question about objects.
struct Replies(Reply<Vec<Value>>);

impl Evidence for Replies {
    fn promql(&self, _: &Question, _: u64) -> Reply<Seen> {
        Reply::NotConfigured
    }

    fn objects(&self, question: &ObjectQuestion, steps: u64) -> Reply<ObjectAnswer> {
        self.0.clone().map(|list| {
            let mut tally = question.tally(steps);
            for object in &list {
                tally.add(object);
            }
            tally.finish().unwrap()
        })
    }

    fn cluster_id(&self) -> Option<&str> {
        None
    }
}

/// A reply, the verdict, and why: for `Condition` and for `Resource`.
type Told<'a> = (Reply<Vec<Value>>, Verdict, [&'a str; 2]);

#[test]
fn rules_about_objects_fail_where_nobody_answers_in_time() {
    let node = |ready: &str, ok: Value| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "ok": ok,
            "status": {"conditions": [{"type": "Ready", "status": ready}]}})
    };
    let seen = |nodes: &[Value], at: Timestamp| {
        let source = "https://api.example.com".to_owned();
        Reply::Answered(Observation {
            value: nodes.to_vec(),
            observed_at: at,
            source,
            reproduce: None,
            warnings: Vec::new(),
        })
    };
    let failed = |class, message: &str| Reply::Failed(Failure::new(class, message));
    let rule = |kind: &str| match kind {
        "Condition" => {
            json!({"type": "Condition", "condition": {"apiVersion": "v1", "kind": "Node", "type": "Ready", "status": "True"}})
        }
        _ => json!({"type": "Resource", "resource": {"apiVersion": "v1", "kind": "Node", "expression": "object.ok"}}),
    };
    let (yes, no) = (node("True", json!(true)), node("False", json!(false)));
    let (odd, old) = (node("Perhaps", json!(2)), now().minus(Duration::from_hours(3)));
    let nothing = "No Node that the rule selects was found.";
    let table: Vec<Told<'_>> = vec![
        (seen(std::slice::from_ref(&yes), now()), Verdict::Match, ["", ""]),
        (seen(std::slice::from_ref(&no), now()), Verdict::NoMatch, ["", ""]),
        (seen(&[no.clone(), yes.clone()], now()), Verdict::Match, ["", ""]),
        (seen(&[], now()), Verdict::Unknown, [nothing; 2]),
        (
            seen(&[odd], now()),
            Verdict::Unknown,
            [
                "The condition Ready of Node n is Unknown.",
                "The expression could not be evaluated for Node n: the result is neither true nor false.",
            ],
        ),
        (
            seen(&[json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})], now()),
            Verdict::Unknown,
            ["Node n has no condition Ready.", "The expression could not be evaluated for Node n: no such field."],
        ),
        (seen(&[no], old), Verdict::Unknown, ["The answer is 3h old; the maximum age is 2h."; 2]),
        (failed(FailureClass::Timeout, "No answer within 30s."), Verdict::Unknown, ["No answer within 30s."; 2]),
        (failed(FailureClass::Unauthorized, "Forbidden."), Verdict::Unknown, ["Forbidden."; 2]),
        (Reply::Pending { due: None }, Verdict::Pending, ["It will be evaluated soon."; 2]),
        (Reply::NotConfigured, Verdict::Unknown, ["There is no cluster or snapshot with Node objects."; 2]),
    ];
    for (reply, verdict, whys) in table {
        let evidence = Replies(reply);
        for (kind, why) in ["Condition", "Resource"].into_iter().zip(whys) {
            assert_eq!(
                told(&proof(json!([rule(kind)]), &evidence)),
                (verdict, why.to_owned()),
                "{kind} {:?}",
                evidence.0
            );
        }
    }
    let refused = json!([{"type": "Resource", "resource": {"apiVersion": "v1", "kind": "Node", "expression": "size(object.ok)"}}, {"type": "Always"}]);
    let found = proof(refused, &Replies(Reply::NotConfigured));
    assert_eq!((found.verdict, found.rules[0].failure), (Verdict::Match, Some(FailureClass::Malformed)));
}

#[test]
fn values_are_shown_only_of_objects_that_belong_to_the_user() {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "size": 7, "token": "(removed)"});
    let rule = |expression: &str| json!([{"type": "Resource", "resource": {"apiVersion": "v1", "kind": "Node", "expression": expression}}]);
    let found = |expression: &str, owned: bool| {
        let objects = objects(std::slice::from_ref(&node));
        let objects = if owned { objects.showing_values() } else { objects };
        let proof = proof(rule(expression), &Snapshot { objects: Some(&objects), ..Snapshot::empty(now(), "s") });
        (proof.rules[0].explanation.clone(), render::risk(&proof), serde_json::to_string(&proof).unwrap())
    };
    for expression in
        ["object.size > 5", "object.size > 9", "object.size / 0 == 1", "object.size > 9 || object.token == 'x'"]
    {
        let (explanation, text, json) = found(expression, true);
        assert!(explanation.is_some(), "{expression}");
        assert!(text.contains("object.size = 7") && json.contains(r#""value":"7""#), "{expression}: {text}");
        assert!(!text.contains("(removed)"), "{expression}: {text}");
        let (explanation, text, json) = found(expression, false);
        assert_eq!(explanation, None);
        assert!(!text.contains("= 7") && !json.contains("explanation"), "{expression}: {text}");
    }
    let (_, text, _) = found("object.size / 0 == 1", false);
    assert!(text.contains("for Node n: number or index out of range."), "{text}");
    // A controller has answers and no objects.
    let graph =
        fixtures::graph(&fixtures::answer(&[], &[("1.0.1", vec![fixtures::risk("Big", rule("object.size > 5"))])]));
    let plan = Plan::new(&graph, &fixtures::version("1.0.0"), &Settings::default()).unwrap();
    let objects = fixtures::recorded(&plan, &objects(&[node]).showing_values());
    let recorded = RecordedEvidence { objects: Some(objects), ..RecordedEvidence::default() };
    let assessment = plan.assess(&recorded, now());
    assert_eq!(assessment.updates[0].risks[0].rules[0].explanation, None);
}

/// What was looked for by its name says nothing about others of its kind, and what is not found where names were replaced
/// is not known to be absent (U16).
#[test]
fn objects_that_were_not_looked_for_or_have_another_name_are_not_known() {
    struct Redacted(Objects);
    impl Evidence for Redacted {
        fn promql(&self, _: &Question, _: u64) -> Reply<Seen> {
            Reply::NotConfigured
        }
        fn objects(&self, question: &ObjectQuestion, steps: u64) -> Reply<ObjectAnswer> {
            self.0.answer(question, steps)
        }
        fn cluster_id(&self) -> Option<&str> {
            None
        }
        fn names_replaced(&self) -> bool {
            true
        }
    }
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "s"}, "data": {"a": "b"}});
    let rule = |more: Value| {
        let mut parameters = json!({"apiVersion": "v1", "kind": "ConfigMap", "expression": "object.data.a == 'b'"});
        parameters.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([{"type": "Resource", "resource": parameters}])
    };
    let wanted = |namespace: Option<&str>, name: &str| ObjectRequest {
        kind: GroupKind::from_api_version("v1", "ConfigMap"),
        namespace: namespace.map(str::to_owned),
        name: Some(name.to_owned()),
    };
    let mut some = Objects::new(now(), "kept");
    some.add_requested(wanted(Some("s"), "there"), vec![map("there")]);
    some.add_requested(wanted(None, "nowhere"), vec![]);
    let evidence = ObjectEvidence(some);
    let only = "Only ConfigMap objects that a rule names were read.";
    for (more, verdict, why) in [
        (json!({"namespace": "s", "name": "there"}), Verdict::Match, ""),
        (json!({"namespace": "s", "name": "nowhere", "whenAbsent": "NoMatch"}), Verdict::NoMatch, ""),
        (
            json!({"name": "there", "whenAbsent": "NoMatch"}),
            Verdict::Unknown,
            "Rules can read only ConfigMaps that they name: `namespace` is missing.",
        ),
        (json!({"namespace": "s", "name": "other", "whenAbsent": "NoMatch"}), Verdict::Unknown, only),
        (
            json!({"whenAbsent": "NoMatch"}),
            Verdict::Unknown,
            "Rules can read only ConfigMaps that they name: `name` is missing.",
        ),
    ] {
        assert_eq!(told(&proof(rule(more.clone()), &evidence)), (verdict, why.to_owned()), "{more}");
    }
    let hidden = Redacted(objects(&[map("r-1234")]));
    let may_be = "Names were replaced in the snapshot, so a ConfigMap that the rule selects may exist.";
    for (more, verdict, why) in [
        (json!({"namespace": "s", "name": "there", "whenAbsent": "NoMatch"}), Verdict::Unknown, may_be),
        (json!({"namespace": "s", "name": "r-1234"}), Verdict::Match, ""),
    ] {
        assert_eq!(told(&proof(rule(more.clone()), &hidden)), (verdict, why.to_owned()), "{more}");
    }
    let mut away = Objects::new(now(), "nobody");
    away.fail(GroupKind::from_api_version("v1", "ConfigMap"), Failure::new(FailureClass::Unauthorized, "Forbidden."));
    let evidence = ObjectEvidence(away);
    let named = json!({"namespace": "s", "name": "a"});
    assert_eq!(told(&proof(rule(named.clone()), &evidence)), (Verdict::Unknown, "Forbidden.".to_owned()));
    // What could not be read by one name takes nothing from another.
    let mut partly = Objects::new(now(), "kept");
    partly.add_requested(wanted(Some("s"), "there"), vec![map("there")]);
    partly.fail_request(wanted(Some("s"), "a"), Failure::new(FailureClass::Unauthorized, "Forbidden."));
    let evidence = ObjectEvidence(partly);
    assert_eq!(told(&proof(rule(named), &evidence)), (Verdict::Unknown, "Forbidden.".to_owned()));
    assert_eq!(proof(rule(json!({"namespace": "s", "name": "there"})), &evidence).verdict, Verdict::Match);
}

/// Credentials are never read, whatever rights the process has: the rule is unsupported when it is loaded.
#[test]
fn rules_about_secrets_are_unsupported() {
    for kind in ["Secret", "OAuthAccessToken", "TokenReview"] {
        let secret = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, "data": {"a": "b"}});
        for rule in [
            json!({"type": "Resource", "resource": {"apiVersion": "v1", "kind": kind, "name": "a", "expression": "true"}}),
            json!({"type": "Condition", "condition": {"apiVersion": "v1", "kind": kind, "type": "Ready", "status": "True"}}),
        ] {
            let found = proof(json!([rule]), &ObjectEvidence(objects(std::slice::from_ref(&secret))));
            assert_eq!(told(&found), (Verdict::Unknown, format!("Rules cannot read {kind} objects.")));
            assert_eq!(found.rules[0].failure, Some(FailureClass::Unsupported));
        }
    }
}

/// A kind that the cluster does not serve has no objects, and the proof says that this is why.
#[test]
fn a_kind_that_is_not_served_is_named() {
    let rule = |when: &str| json!([{"type": "Resource", "resource": {"apiVersion": "a/v1", "kind": "B", "expression": "true", "whenAbsent": when}}]);
    let mut none = Objects::new(now(), "kept");
    none.not_served(GroupKind::from_api_version("a/v1", "B"));
    let evidence = ObjectEvidence(none);
    assert_eq!(
        told(&proof(rule("Unknown"), &evidence)),
        (Verdict::Unknown, "The cluster does not serve the kind B.a.".to_owned())
    );
    let found = proof(rule("NoMatch"), &evidence);
    assert_eq!((found.verdict, found.rules[0].value.as_deref()), (Verdict::NoMatch, Some("kind not served")));
}
