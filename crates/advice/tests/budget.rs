//! What rules may cost: one that takes too much, or a risk with very many, costs no other risk its answer (U18).

use crate::fixtures::{answer, graph, now, objects, promql, risk, series, version};
use clearway_advice::evidence::{FailureClass, Snapshot};
use clearway_advice::{
    Budget, EvaluationBudget, Plan, RULE_MEMORY, RULE_PATTERNS, RiskProof, Settings, Verdict, assess_path,
};
use clearway_graph::paths;
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

/// A few letters of a regular expression become a hundred kilobytes. Rules of usual size have their share of the memory.
#[test]
fn rules_that_take_much_memory_fail_and_no_others() {
    let pattern = |rule: usize, number: usize| format!("'a'.matches('[a-z]{{400}}x{rule}y{number}')");
    let large = |rule: usize| (0..4).map(|number| pattern(rule, number)).collect::<Vec<_>>().join(" || ");
    let mut risks: Vec<Value> =
        (0..40).map(|at| risk(&format!("Large{at:02}"), json!([resource(&large(at))]))).collect();
    risks.push(risk("Small", json!([promql("max(b)")])));
    risks.push(risk("Usual", json!([resource("object.metadata.name.matches('^m')")])));
    let found = verdicts(risks, EvaluationBudget::default());
    let failed = |name: &str| {
        let all = found.iter().filter(|(risk, _, _)| risk.starts_with(name));
        all.filter(|(_, _, failure)| *failure == Some(FailureClass::Budget)).count()
    };
    assert!((1..40).contains(&failed("Large")), "{found:?}");
    assert_eq!((failed("Small"), failed("Usual")), (0, 0), "{found:?}");
}

/// An answer whose updates carry the same risks: all from 1.0.0, or each from the one before.
fn many_updates(count: usize, in_a_row: bool, risks: &[Value]) -> Value {
    let name = |number: usize| format!("1.0.{number}");
    let node = |number| json!({"version": name(number), "payload": format!("example.com/p@{number}")});
    let edge = |number| json!({"from": name(if in_a_row { number - 1 } else { 0 }), "to": name(number)});
    json!({
        "nodes": (0..=count).map(node).collect::<Vec<_>>(), "edges": [],
        "conditionalEdges": [{"edges": (1..=count).map(edge).collect::<Vec<_>>(), "risks": risks}],
    })
}

fn about_release(name: &str) -> Value {
    json!({"type": "Policy", "policy": {"kind": "A", "name": name, "objects": "Release"}})
}

/// How many rules of risks with a name there was no memory for.
fn without_memory<'p>(risks: impl Iterator<Item = &'p RiskProof>, name: &str) -> usize {
    let rules = risks.filter(|risk| risk.name == name).flat_map(|risk| &risk.rules);
    rules.filter(|rule| rule.why.as_deref().is_some_and(|why| why.contains("rule_memory"))).count()
}

/// A risk that asks about the objects of a release is another one for each release; its other rules are not. Each of these
/// is within its share.
#[test]
fn rules_are_kept_once_for_all_releases() {
    let pattern = |number: usize| resource(&format!("object.kind.matches('[a-z]{{1000}}{number}')"));
    let rules: Vec<Value> = [about_release("a")].into_iter().chain((0..23).map(pattern)).collect();
    let memory = |updates: usize| {
        let graph = graph(&many_updates(updates, false, &[risk("Releases", Value::Array(rules.clone()))]));
        let plan = Plan::new(&graph, &version("1.0.0"), &Settings::default()).unwrap();
        let updates = plan.assess(&Snapshot::new(&series(""), now(), "s"), now()).updates;
        let proofs = updates.iter().flat_map(|update| &update.risks).map(AsRef::as_ref);
        assert_eq!(without_memory(proofs, "Releases"), 0);
        plan.memory()
    };
    let one = memory(1);
    assert!(one > 8 << 20, "{one}: these rules are large");
    assert!(memory(40) < one + (8 << 20), "{one} and {}", memory(40));
}

/// What a rule about releases takes is the sum over all releases, and not for each of them.
#[test]
fn rules_about_many_releases_are_bounded_together() {
    const UPDATES: usize = 1_000;
    let rules: Vec<Value> = (0..32).map(|number| about_release(&format!("{number:0>20}"))).collect();
    let risks = [
        risk("Releases", Value::Array(rules)),
        risk("Small", json!([promql("max(b)")])),
        risk("Usual", json!([resource("object.metadata.name.matches('^m')")])),
    ];
    let store = series("");
    let evidence = Snapshot::new(&store, now(), "s");
    let settings = Settings::default();
    let found = graph(&many_updates(UPDATES, false, &risks));
    let updates = Plan::new(&found, &version("1.0.0"), &settings).unwrap().assess(&evidence, now()).updates;
    let found = graph(&many_updates(UPDATES, true, &risks));
    let path = paths(&found, &version("1.0.0"), &version(&format!("1.0.{UPDATES}"))).unwrap().shortest;
    let hops = assess_path(&path, &evidence, now(), &settings).hops;
    let direct = updates.iter().flat_map(|update| &update.risks).map(AsRef::as_ref);
    let in_a_row = hops.iter().flat_map(|hop| &hop.risks).map(AsRef::as_ref);
    for proofs in [direct.collect::<Vec<&RiskProof>>(), in_a_row.collect()] {
        let failed = |name: &str| without_memory(proofs.iter().copied(), name);
        let kept = UPDATES * 32 - failed("Releases");
        // A rule that was read takes more than a kilobyte.
        assert!((1..RULE_MEMORY / 1_024).contains(&kept) && failed("Releases") > 0, "{kept}");
        assert_eq!((failed("Small"), failed("Usual")), (0, 0));
    }
}

/// Whatever the rules are, what they come to is counted, and bounded by the cap and the texts.
#[test]
fn the_memory_of_a_plan_grows_with_what_its_rules_take() {
    let memory = |rules: Vec<Value>| {
        let graph = graph(&answer(&[], &[("1.0.1", vec![risk("A", Value::Array(rules))])]));
        Plan::new(&graph, &version("1.0.0"), &Settings::default()).unwrap().memory()
    };
    let none = memory(vec![json!({"type": "Always"})]);
    let sum = (0..6).fold("b".to_owned(), |sum, _| format!("({sum} + {sum})"));
    let text = "b".repeat(sum.len());
    assert!(memory(vec![promql(&sum)]) > memory(vec![promql(&text)]) + 64 * 256);
    let values: Vec<u8> = vec![0; 2_000];
    assert!(memory(vec![json!({"type": "Other", "values": values})]) > none + 2_000 * 80);
    assert!(
        memory(vec![resource("object.a.matches('[a-z]{400}')")])
            > memory(vec![resource("object.a == '[a-z]{400}'")]) + (64 << 10)
    );
}

/// A store of several clusters is asked with the id of one in place of each `_id=""`.
#[test]
fn the_texts_for_a_shared_store_are_part_of_the_memory_of_a_plan() {
    const ID: &str = "0d9fd3a5-8b7e-4b7a-9a52-1d4a5a4a1f6c";
    let plan = |label: &str| {
        let selectors = vec![format!("max(a{{{label}=\"\"}})"); 20].join(" or ");
        let graph = graph(&answer(&[], &[("1.0.1", vec![risk("A", json!([promql(&selectors)]))])]));
        Plan::new(&graph, &version("1.0.0"), &Settings::default()).unwrap()
    };
    let (shared, other) = (plan("_id"), plan("_ix"));
    let longer = shared.questions_for(ID)[0].text().len() - other.questions_for(ID)[0].text().len();
    assert_eq!(longer, 20 * ID.len());
    // There are eight copies of a text.
    assert_eq!(shared.memory() - other.memory(), longer * 8);
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

/// Each of ten risks would use all that there is; what they take is not missing for the cheap one, whichever is asked first.
#[test]
fn expensive_risks_leave_a_cheap_one_its_equal_part() {
    let expensive = |at: usize| resource(&format!("object.list.exists(a, object.list.exists(b, a + b > {}))", 5 + at));
    let steps = Budget { rule: 1_000_000, risk: 1_000_000, assessment: 1_000_000 };
    let steps = EvaluationBudget { steps, ..EvaluationBudget::default() };
    let sums = |at: usize| promql(&format!("sum({}) + {at} * 0", vec!["a"; 20].join(" + ")));
    let samples = Budget { rule: 66, risk: 66, assessment: 66 };
    let samples = EvaluationBudget { samples, ..EvaluationBudget::default() };
    let cheap = [resource("object.list[0] == 2"), promql("max(b)")];
    for ((budget, cheap), rules) in
        [steps, samples].into_iter().zip(cheap).zip([&expensive as &dyn Fn(usize) -> Value, &sums])
    {
        for name in ["A cheap one", "The cheap one"] {
            let mut risks: Vec<Value> = (0..10).map(|at| risk(&format!("Expensive{at}"), json!([rules(at)]))).collect();
            risks.push(risk(name, json!([cheap])));
            let found = verdicts(risks, budget);
            let (few, many): (Vec<_>, Vec<_>) = found.into_iter().partition(|(risk, _, _)| risk == name);
            assert_eq!(few, [(name.to_owned(), Verdict::NoMatch, None)]);
            assert_eq!(many.len(), 10);
            assert!(many.iter().all(|(_, _, failure)| *failure == Some(FailureClass::Budget)), "{many:?}");
        }
    }
}

/// A few letters of a regular expression ask for all of Unicode, in each of very many rules. Compiling stops at the cap, and a
/// rule of usual size has its share.
#[test]
fn compiling_the_patterns_of_all_rules_is_bounded() {
    let pattern = |at: usize| resource(&format!("object.kind.matches('(?i)[\\\\PL]{at}')"));
    let mut risks: Vec<Value> = (0..40)
        .map(|number| {
            let rules: Vec<Value> = (0..20).map(|at| pattern(number * 20 + at)).collect();
            risk(&format!("Many{number}"), Value::Array(rules))
        })
        .collect();
    risks.push(risk("Usual", json!([resource("object.metadata.name.matches('^m')")])));
    let graph = graph(&answer(&[], &[("1.0.1", risks)]));
    let plan = Plan::new(&graph, &version("1.0.0"), &Settings::default()).unwrap();
    let store = series("");
    let updates = plan.assess(&Snapshot::new(&store, now(), "s"), now()).updates;
    let refused = |name: &str| {
        let risks = updates[0].risks.iter().filter(|risk| risk.name.starts_with(name));
        let rules = risks.flat_map(|risk| &risk.rules);
        rules.filter(|rule| rule.why.as_deref().is_some_and(|why| why.contains("rule_patterns"))).count()
    };
    // Those that are compiled take more than 128 KiB each.
    assert!((800 - (RULE_PATTERNS >> 17)..800).contains(&refused("Many")), "{}", refused("Many"));
    assert_eq!(refused("Usual"), 0);
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
