//! What rules may cost: one that takes too much, or a risk with very many, costs no other risk its answer (U18).

use crate::fixtures::{answer, graph, now, objects, promql, risk, series, version};
use clearway_advice::evidence::{FailureClass, Snapshot};
use clearway_advice::{Budget, EvaluationBudget, Plan, Settings, Verdict};
use serde_json::{Value, json};

fn resource(expression: &str) -> Value {
    json!({"type": "Resource", "resource": {"apiVersion": "v1", "kind": "Node", "expression": expression}})
}

fn verdicts(risks: Vec<Value>, budget: EvaluationBudget) -> Vec<(String, Verdict, Option<FailureClass>)> {
    let graph = graph(&answer(&[], &[("1.0.1", risks)]));
    let plan = Plan::new(&graph, &version("1.0.0"), &Settings { budget, ..Settings::default() }).unwrap();
    let nodes: Vec<Value> = (0..50)
        .map(|at| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{at}")}, "list": vec![1; 100]}))
        .collect();
    let (nodes, store) = (objects(&nodes), series("a{n=\"1\"} 1\na{n=\"2\"} 1\nb 0\n"));
    let evidence = Snapshot { objects: Some(&nodes), ..Snapshot::new(&store, now(), "s") };
    let updates = plan.assess(&evidence, now()).updates;
    let told = |risk: &std::sync::Arc<clearway_advice::RiskProof>| {
        (risk.name.clone(), risk.verdict, risk.rules.first().and_then(|rule| rule.failure))
    };
    updates[0].risks.iter().map(told).collect()
}

#[test]
fn a_rule_that_takes_too_much_fails_alone() {
    let expensive = "object.list.exists(a, object.list.exists(b, a + b > 5))";
    let steps = Budget { rule: 1_000_000, risk: 2_000_000, assessment: 20_000_000 };
    let risks =
        vec![risk("Expensive", json!([resource(expensive)])), risk("Cheap", json!([resource("object.list[0] == 2")]))];
    let found = verdicts(risks, EvaluationBudget { steps, ..EvaluationBudget::default() });
    assert_eq!(
        found,
        [
            ("Cheap".to_owned(), Verdict::NoMatch, None),
            ("Expensive".to_owned(), Verdict::Unknown, Some(FailureClass::Budget)),
        ]
    );
}

#[test]
fn a_risk_with_many_rules_spends_its_own_budget() {
    // Each of the many would have enough alone; together they have the budget of one risk.
    let many: Vec<Value> = (0..30).map(|at| resource(&format!("object.list.exists(a, a > {})", at + 10))).collect();
    let one = resource("object.list.exists(a, a > 1)");
    let steps = Budget { rule: 200_000, risk: 400_000, assessment: 1_000_000_000 };
    let risks = vec![risk("Many", Value::Array(many)), risk("One", json!([one]))];
    let found = verdicts(risks, EvaluationBudget { steps, ..EvaluationBudget::default() });
    assert_eq!(
        found,
        [("Many".to_owned(), Verdict::Unknown, Some(FailureClass::Budget)), ("One".to_owned(), Verdict::NoMatch, None),]
    );
}

#[test]
fn all_queries_share_the_budget_of_the_assessment() {
    let risks = || (0..10).map(|at| risk(&format!("R{at}"), json!([promql(&format!("max(b) + {at} * 0"))]))).collect();
    let with = |assessment| EvaluationBudget {
        samples: Budget { rule: 1_000, risk: 1_000, assessment },
        ..EvaluationBudget::default()
    };
    assert!(verdicts(risks(), with(1_000)).iter().all(|(_, verdict, _)| *verdict == Verdict::NoMatch));
    let spent = verdicts(risks(), with(10));
    assert!(spent.iter().all(|(_, _, failure)| *failure == Some(FailureClass::Budget)), "{spent:?}");
}

/// Objects that a rule only looks at to find those it means, and conditions that it only reads, cost something too.
#[test]
fn selecting_objects_and_reading_conditions_is_part_of_the_budget() {
    let steps = Budget { rule: 20_000, risk: 20_000, assessment: 1_000_000 };
    let labels: serde_json::Map<String, Value> = (0..100).map(|at| (format!("l{at}"), "x".into())).collect();
    let condition = |more: Value| {
        let mut parameters =
            json!({"apiVersion": "v1", "kind": "Node", "type": "Ready", "status": "True", "whenAbsent": "NoMatch"});
        parameters.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([{"type": "Condition", "condition": parameters}])
    };
    let risks = vec![
        risk("Cheap", condition(json!({}))),
        risk("Choosy", condition(json!({"labelSelector": {"matchLabels": labels}}))),
        risk("Narrow", condition(json!({"name": "n1"}))),
    ];
    let found = verdicts(risks, EvaluationBudget { steps, ..EvaluationBudget::default() });
    assert_eq!(
        found,
        [
            ("Cheap".to_owned(), Verdict::NoMatch, None),
            ("Choosy".to_owned(), Verdict::Unknown, Some(FailureClass::Budget)),
            ("Narrow".to_owned(), Verdict::NoMatch, None),
        ]
    );
    let steps = Budget { rule: 5_000, ..steps };
    let found = verdicts(
        vec![risk("Conditions", condition(json!({})))],
        EvaluationBudget { steps, ..EvaluationBudget::default() },
    );
    assert_eq!(found, [("Conditions".to_owned(), Verdict::Unknown, Some(FailureClass::Budget))]);
}
