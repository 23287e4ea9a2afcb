//! What rules come to, case by case (U2, U3, U10, U16, U18, U19); `table.rs` has every type over everything.

use std::time::Duration;

use crate::fixtures::{self, assess, now, one, promql, proof, risk, series, snapshot};
use clearway_advice::evidence::{FailureClass, Observation, Record, RecordedEvidence};
use clearway_advice::{Evidence, Outcome, RiskProof, Status, Verdict, recommend};
use clearway_core::Timestamp;
use clearway_promql::eval::{self, Row, Sample, Value as Seen};
use clearway_promql::{Labels, Millis};
use serde_json::{Value, json};

fn vector(values: &[f64]) -> Seen {
    let labels = |at: usize| Labels::new([("n".to_owned(), at.to_string())]);
    Seen::Vector(values.iter().enumerate().map(|(at, value)| Sample { labels: labels(at), value: *value }).collect())
}

fn answered(value: Seen, at: Timestamp) -> Record {
    let source = "https://prometheus.example.com".to_owned();
    Record::Answered(Observation { value, observed_at: at, source, reproduce: None, warnings: Vec::new() })
}

/// A cluster whose metrics store said this to `max(a)`.
fn said(record: Record) -> RecordedEvidence {
    RecordedEvidence {
        queries: [("max(a)".to_owned(), record)].into(),
        configured: true,
        ..RecordedEvidence::default()
    }
}

fn told(proof: &RiskProof) -> (Verdict, String) {
    (proof.verdict, proof.rules[0].why.clone().unwrap_or_default())
}

#[test]
fn promql_matches_on_one_does_not_on_zero_and_fails_on_everything_else() {
    use FailureClass::{Timeout, Unreachable};
    let late = now().minus(Duration::from_mins(121));
    let early = now().plus(Duration::from_hours(1));
    let table: Vec<(RecordedEvidence, Verdict, &str)> = vec![
        (said(answered(vector(&[1.0]), now())), Verdict::Match, ""),
        (said(answered(vector(&[0.0]), now())), Verdict::NoMatch, ""),
        (said(answered(vector(&[-0.0]), now())), Verdict::NoMatch, ""),
        (said(answered(vector(&[]), now())), Verdict::Unknown, "The query returned no series."),
        (said(answered(vector(&[2.0]), now())), Verdict::Unknown, "The query returned 2; the value must be 0 or 1."),
        (said(answered(vector(&[-1.0]), now())), Verdict::Unknown, "The query returned -1; the value must be 0 or 1."),
        (said(answered(vector(&[0.5]), now())), Verdict::Unknown, "The query returned 0.5; the value must be 0 or 1."),
        (
            said(answered(vector(&[f64::NAN]), now())),
            Verdict::Unknown,
            "The query returned NaN; the value must be 0 or 1.",
        ),
        (
            said(answered(vector(&[f64::INFINITY]), now())),
            Verdict::Unknown,
            "The query returned +Inf; the value must be 0 or 1.",
        ),
        (
            said(answered(vector(&[1.0, 0.0]), now())),
            Verdict::Unknown,
            "The query returned 2 series; exactly one is required.",
        ),
        (
            said(answered(vector(&[1.0, 1.0]), now())),
            Verdict::Unknown,
            "The query returned 2 series; exactly one is required.",
        ),
        (
            said(answered(Seen::Scalar(1.0), now())),
            Verdict::Unknown,
            "The query returned a scalar; an instant vector is required.",
        ),
        (
            said(answered(Seen::String("1".to_owned()), now())),
            Verdict::Unknown,
            "The query returned a string; an instant vector is required.",
        ),
        (
            said(answered(Seen::Matrix(vec![Row { labels: Labels::default(), samples: vec![(0, 1.0)] }]), now())),
            Verdict::Unknown,
            "The query returned a range vector; an instant vector is required.",
        ),
        (
            said(Record::failed(Unreachable, "The connection was refused.")),
            Verdict::Unknown,
            "The connection was refused.",
        ),
        (said(Record::failed(Timeout, "No answer within 30s.")), Verdict::Unknown, "No answer within 30s."),
        (said(answered(vector(&[0.0]), late)), Verdict::Unknown, "The answer is 2h1m old; the maximum age is 2h."),
        (said(answered(vector(&[1.0]), late)), Verdict::Unknown, "The answer is 2h1m old; the maximum age is 2h."),
        (said(answered(vector(&[0.0]), early)), Verdict::Unknown, "The answer was observed 1h in the future."),
        (said(Record::Pending { due: None }), Verdict::Pending, "It will be evaluated soon."),
        (said(Record::Pending { due: Some(early) }), Verdict::Pending, "It will be evaluated at 2026-05-04T10:00:00Z."),
        (
            RecordedEvidence { configured: true, ..RecordedEvidence::default() },
            Verdict::Pending,
            "It will be evaluated soon.",
        ),
        (RecordedEvidence::default(), Verdict::Unknown, "No metrics source is configured."),
    ];
    for (evidence, verdict, why) in table {
        let proof = proof(json!([promql("max(a)")]), &evidence);
        assert_eq!(told(&proof), (verdict, why.to_owned()), "{evidence:?}");
        // Whatever is not known says what is missing.
        assert_eq!(proof.rules[0].missing.is_some(), verdict == Verdict::Unknown, "{proof:?}");
        // And nothing but an evaluated rule decides.
        assert_eq!(proof.decided_by.is_some(), matches!(verdict, Verdict::Match | Verdict::NoMatch));
    }
}

#[test]
fn a_failed_query_falls_through_and_a_pending_one_does_not() {
    use Outcome::{Failed, Match, NoMatch, NotReached, NotRecognised, Pending};
    let rules = || json!([{"type": "Phase", "moon": 1}, promql("max(a)"), {"type": "Always"}]);
    let outcomes = |evidence: &RecordedEvidence| {
        let proof = proof(rules(), evidence);
        (proof.verdict, proof.decided_by, proof.rules.iter().map(|rule| rule.outcome).collect::<Vec<_>>())
    };
    assert_eq!(
        outcomes(&said(answered(vector(&[0.0]), now()))),
        (Verdict::NoMatch, Some(1), vec![NotRecognised, NoMatch, NotReached])
    );
    assert_eq!(
        outcomes(&said(answered(vector(&[]), now()))),
        (Verdict::Match, Some(2), vec![NotRecognised, Failed, Match])
    );
    assert_eq!(outcomes(&RecordedEvidence::default()), (Verdict::Match, Some(2), vec![NotRecognised, Failed, Match]));
    assert_eq!(
        outcomes(&said(Record::Pending { due: None })),
        (Verdict::Pending, None, vec![NotRecognised, Pending, NotReached])
    );
}

#[test]
fn malformed_parameters_are_failures_with_a_sentence() {
    let rollout = |parameters: Value| json!({"type": "Rollout", "rollout": parameters});
    let condition = |parameters: Value| json!({"type": "Condition", "condition": parameters});
    let whole = || json!({"apiVersion": "v1", "kind": "Node", "type": "Ready", "status": "True"});
    let with = |key: &str, value: Value| {
        let mut parameters = whole();
        parameters[key] = value;
        condition(parameters)
    };
    for (rule, why) in [
        (json!({"type": "PromQL"}), "The rule has no query: `promql.promql` is missing or not a string."),
        (
            json!({"type": "PromQL", "promql": {"promql": 1}}),
            "The rule has no query: `promql.promql` is missing or not a string.",
        ),
        (json!({"type": "PromQL", "promql": []}), "The rule has no query: `promql.promql` is missing or not a string."),
        (json!({"type": "Rollout"}), "The rule has no parameters: `rollout` is missing."),
        (json!({"type": "Rollout", "rollout": 3}), "`rollout` is not an object."),
        (rollout(json!({"duration": "1h"})), "`rollout.start` is missing."),
        (rollout(json!({"start": 7, "duration": "1h"})), "`rollout.start` is not a string, or is empty."),
        (
            rollout(json!({"start": "2026-05-04T09:00:00Z"})),
            "`rollout.duration` is missing; set `duration` or `percentage`.",
        ),
        (
            rollout(json!({"start": "2026-05-04T09:00:00Z", "duration": "soon"})),
            "`rollout.duration` is `soon`, not a duration such as 12h or 3d.",
        ),
        (
            rollout(json!({"start": "2026-05-04T09:00:00Z", "percentage": 101})),
            "`rollout.percentage` is not a number from 0 to 100.",
        ),
        (
            rollout(json!({"start": "2026-05-04T09:00:00Z", "percentage": "5"})),
            "`rollout.percentage` is not a number from 0 to 100.",
        ),
        (
            rollout(json!({"start": "2026-05-04T09:00:00Z", "percentage": 5, "duration": "1h"})),
            "`rollout.percentage` is set together with `duration`; set only one of them.",
        ),
        (
            rollout(json!({"start": "2026-05-04T09:00:00Z", "percentage": 0, "Percentage": 100})),
            "`rollout.percentage` is set twice, in two spellings.",
        ),
        (json!({"type": "Condition", "condition": {}, "Condition": {}}), "`condition` is set twice, in two spellings."),
        (condition(json!({})), "`condition.apiVersion` is missing."),
        (with("kind", json!("")), "`condition.kind` is not a string, or is empty."),
        (with("status", json!("Maybe")), "`condition.status` is `Maybe`, not one of True, False, Unknown."),
        (with("status", json!(true)), "`condition.status` is not a string, or is empty."),
        (with("quantifier", json!("Some")), "`condition.quantifier` is `Some`, not one of Any, All."),
        (with("whenAbsent", json!("No")), "`condition.whenAbsent` is `No`, not one of Unknown, Match, NoMatch."),
        (with("labelSelector", json!("a=b")), "`condition.labelSelector` is not an object."),
    ] {
        let proof =
            proof(json!([rule]), &RecordedEvidence { cluster_id: Some("x".to_owned()), ..RecordedEvidence::default() });
        assert_eq!(told(&proof), (Verdict::Unknown, why.to_owned()), "{rule}");
        assert_eq!(proof.rules[0].failure, Some(FailureClass::Malformed), "{rule}");
    }
    let start = rollout(json!({"start": "tomorrow", "duration": "1h"}));
    let proof = proof(json!([start]), &RecordedEvidence::default());
    assert!(told(&proof).1.starts_with("`rollout.start` is not a time: "), "{proof:?}");
}

#[test]
fn the_fence_refuses_by_name_and_the_walk_goes_on() {
    let store = series("a 1\n");
    let evidence = snapshot(&store);
    let proof = proof(json!([promql("max_over_time(a[30d])"), {"type": "Always"}]), &evidence);
    assert_eq!((proof.verdict, proof.decided_by), (Verdict::Match, Some(1)));
    assert_eq!(proof.rules[0].failure, Some(FailureClass::Refused));
    assert_eq!(
        told(&proof).1,
        "The fence refuses the query (limit `range`): The range reaches back 30d; the limit is 1d."
    );
    assert_eq!(proof.rules[0].parameters, "max_over_time(a[30d])");
}

#[test]
fn a_budget_and_a_stop_are_failures() {
    let store = series("a{n=\"1\"} 1\na{n=\"2\"} 1\n");
    let mut evidence = snapshot(&store);
    evidence.evaluation = eval::Settings { samples: 2, ..eval::Settings::default() };
    let proof_of = |evidence: &dyn Evidence| proof(json!([promql("max(a)")]), evidence);
    assert_eq!(proof_of(&evidence).rules[0].failure, Some(FailureClass::Budget));
    let stop = || true;
    evidence.evaluation = eval::Settings { stop: Some(&stop), ..eval::Settings::default() };
    assert_eq!(proof_of(&evidence).rules[0].failure, Some(FailureClass::Timeout));
    evidence.evaluation = eval::Settings { lookback: Millis(300_000), ..eval::Settings::default() };
    assert_eq!(proof_of(&evidence).verdict, Verdict::Match);
}

#[test]
fn a_shared_store_is_asked_for_this_cluster_only() {
    let store = series("a{_id=\"one\"} 1\na{_id=\"two\"} 0\nb 1\n");
    let mut evidence = snapshot(&store);
    evidence.store_id = Some("two");
    let found = proof(json!([promql("max(a{_id=\"\"})")]), &evidence);
    assert_eq!(found.verdict, Verdict::NoMatch);
    assert!(found.rules[0].reproduce.as_deref().unwrap().contains(r#"_id="two""#));
    assert!(found.rules[0].warnings.is_empty());
    let lacking = proof(json!([promql("max(a{_id=\"\"}) * max(b)")]), &evidence);
    assert_eq!(
        lacking.rules[0].warnings,
        ["1 selector(s) of the query lack `_id=\"\"`, so the store returns series of all its clusters."]
    );
}

#[test]
fn a_rollout_comes_to_every_cluster_in_its_time() {
    let start = now().minus(Duration::from_hours(12));
    let by = |id: &str, parameters: Value| {
        let evidence = RecordedEvidence { cluster_id: Some(id.to_owned()), ..RecordedEvidence::default() };
        proof(json!([{"type": "Rollout", "rollout": parameters}]), &evidence).verdict
    };
    let matching = |parameters: Value| {
        (0..200).filter(|id| by(&format!("cluster-{id}"), parameters.clone()) == Verdict::Match).count()
    };
    // Half of the day is over, so it was the turn of about half of the clusters.
    assert!((70..130).contains(&matching(json!({"start": start, "duration": "1d"}))));
    assert_eq!(matching(json!({"start": start, "duration": "12h"})), 0);
    assert_eq!(matching(json!({"start": now().plus(Duration::from_secs(1)), "duration": "0s"})), 200);
    assert!((30..70).contains(&matching(json!({"start": start, "percentage": 75}))));
    assert_eq!(matching(json!({"start": start, "percentage": 100})), 0);
    assert_eq!(matching(json!({"start": start, "percentage": 0})), 200);
    assert_eq!(matching(json!({"start": now().plus(Duration::from_secs(1)), "percentage": 100})), 200);
    // A larger percentage only adds clusters.
    for id in 0..50 {
        let id = format!("cluster-{id}");
        let steps: Vec<bool> = [10, 25, 50, 90]
            .map(|share| by(&id, json!({"start": start, "percentage": share})) == Verdict::NoMatch)
            .to_vec();
        assert!(steps.is_sorted(), "{id}: {steps:?}");
    }
    let without =
        proof(json!([{"type": "Rollout", "rollout": {"start": start, "percentage": 5}}]), &RecordedEvidence::default());
    assert_eq!(told(&without), (Verdict::Unknown, "The cluster id is unknown.".to_owned()));
}

#[test]
fn always_matches_and_needs_no_evidence() {
    let found = proof(
        json!([{"type": "Always", "promql": {"promql": "max(a)"}}, promql("max(a)")]),
        &RecordedEvidence::default(),
    );
    assert_eq!((found.verdict, found.decided_by), (Verdict::Match, Some(0)));
    assert_eq!(found.rules[1].outcome, Outcome::NotReached);
}

#[test]
fn evaluating_says_whether_every_risk_has_a_rule_that_is_recognised() {
    let store = series("a 0\n");
    let evidence = snapshot(&store);
    let told = |rules: Value| {
        let update = one(rules, &evidence);
        let evaluating = update.evaluating.unwrap();
        format!(
            "{} {}, {} {}",
            evaluating.status, evaluating.reason, update.recommended.status, update.recommended.reason
        )
    };
    assert_eq!(told(json!([promql("max(a)")])), "True EvaluatingRisks, True NotExposedToRisks");
    assert_eq!(told(json!([promql("max(a)"), {"type": "Phase"}])), "True EvaluatingRisks, True NotExposedToRisks");
    assert_eq!(told(json!([{"type": "Phase"}, promql("max(a)")])), "True EvaluatingRisks, True NotExposedToRisks");
    assert_eq!(told(json!([])), "False NoMatchingRules, False Broken");
    assert_eq!(told(json!([{"type": "Phase"}])), "False UnrecognizedRules, Unknown EvaluationFailed");
    assert_eq!(told(json!([{"type": "Phase"}, {"type": "Tide"}])), "False UnrecognizedRules, Unknown EvaluationFailed");
    assert_eq!(told(json!([{}])), "False UnrecognizedRules, Unknown EvaluationFailed");
    // Rules that the service could not send as rules.
    assert_eq!(told(json!("Always")), "False UnrecognizedRules, Unknown EvaluationFailed");
}

/// A source that cannot be reached has a reason of its own; a `ClusterVersion` has the seed's (U10).
#[test]
fn a_source_that_cannot_be_reached_is_not_an_answer_without_series() {
    let failed = |class| said(Record::failed(class, "https://p.example.com cannot be reached: connection refused."));
    for (class, reason) in [
        (FailureClass::Unreachable, "EvidenceUnreachable"),
        (FailureClass::Unauthorized, "EvidenceUnreachable"),
        (FailureClass::Timeout, "EvidenceUnreachable"),
        (FailureClass::Evaluation, "PromQLError"),
        (FailureClass::Stale, "PromQLError"),
    ] {
        let update = one(json!([promql("max(a)")]), &failed(class));
        assert_eq!((update.recommended.status, update.recommended.reason.as_str()), (Status::Unknown, reason));
        assert!(update.recommended.message.starts_with("Unable to evaluate PromQL to determine"), "{update:?}");
        let status = recommend::with_accepted(&update, |_| true);
        assert_eq!((status.status, status.reason.as_str()), (Status::Unknown, "PromQLError"));
        assert_eq!(status.message, update.recommended.message);
    }
    // What decides in its place is enough.
    let update = one(json!([promql("max(a)"), {"type": "Always"}]), &failed(FailureClass::Unreachable));
    assert_eq!(update.recommended.status, Status::False);
}

/// Risks with their rule, the status and reason, and the paragraphs of the message.
type Combined<'a> = (Vec<(&'a str, &'a Value)>, &'a str, &'a [&'a str]);

#[test]
fn reasons_and_messages_follow_from_all_risks_together() {
    let store = series("yes 1\nno 0\n");
    let evidence = snapshot(&store);
    let (yes, no, gone) = (promql("max(yes)"), promql("max(no)"), promql("max(gone)"));
    let foreign = json!({"type": "Phase"});
    let table: Vec<Combined<'_>> = vec![
        (
            vec![("B", &yes), ("A", &yes)],
            "False MultipleReasons",
            &["A happens. https://example.com/A", "B happens. https://example.com/B"],
        ),
        (vec![("B", &no), ("A", &yes)], "False A", &["A happens. https://example.com/A"]),
        (vec![("a-b", &yes)], "False ExposedToRisks", &["a-b happens. https://example.com/a-b"]),
        (
            vec![("B", &gone), ("A", &yes)],
            "False MultipleReasons",
            &[
                "A happens. https://example.com/A",
                "Unable to evaluate PromQL to determine if the cluster is impacted by B. https://example.com/B The query returned no series.",
            ],
        ),
        (
            vec![("B", &gone), ("A", &foreign)],
            "Unknown PromQLError",
            &[
                "Unable to evaluate Phase to determine if the cluster is impacted by A. https://example.com/A The rule type Phase is not supported by this version of Clearway.",
                "Unable to evaluate PromQL to determine if the cluster is impacted by B. https://example.com/B The query returned no series.",
            ],
        ),
        (
            vec![("B", &no), ("A", &no)],
            "True NotExposedToRisks",
            &["The update is recommended, because none of the conditional update risks apply to this cluster."],
        ),
    ];
    for (risks, want, paragraphs) in table {
        let risks = risks.into_iter().map(|(name, rule)| risk(name, json!([rule]))).collect();
        let graph = fixtures::graph(&fixtures::answer(&[], &[("1.0.1", risks)]));
        let update = assess(&graph, &evidence).updates.remove(0);
        assert_eq!(format!("{} {}", update.recommended.status, update.recommended.reason), want);
        assert_eq!(update.recommended.message, paragraphs.join("\n\n"));
    }
    let due = now().plus(Duration::from_mins(10));
    let update = one(json!([promql("max(a)")]), &said(Record::Pending { due: Some(due) }));
    assert_eq!(update.recommended.reason, "EvaluationPending");
    assert_eq!(
        update.recommended.message,
        "The risk Broken will be evaluated at 2026-05-04T09:10:00Z. https://example.com/Broken"
    );
}
