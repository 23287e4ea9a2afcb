//! The same inputs in any order give the same bytes, and no graph makes assessing panic or recommend without proof.

use crate::fixtures::{self, answer, graph, now, objects, promql, risk, series, version};
use clearway_advice::evidence::{Question, Record, RecordedEvidence, Snapshot, stored_answers};
use clearway_advice::{Evidence, Outcome, Plan, Settings, Status, Verdict, render};
use proptest::prelude::*;
use serde_json::{Value, json};

fn rule() -> impl Strategy<Value = Value> {
    let condition = |name: &str| json!({"type": "Condition", "condition": {"apiVersion": "v1", "kind": "Node", "name": name, "type": "Ready", "status": "False"}});
    prop_oneof![
        Just(json!({"type": "Always"})),
        prop::sample::select(vec![
            "max(one)",
            "max(zero)",
            "gone",
            "pair",
            "max(zero) or max(one)",
            "max(",
            "{a=\"b\"}"
        ])
        .prop_map(promql),
        prop::sample::select(vec!["good", "bad", "none"]).prop_map(condition),
        (0..=100_u32).prop_map(
            |share| json!({"type": "Rollout", "rollout": {"start": "2026-05-01T00:00:00Z", "percentage": share}})
        ),
        prop::sample::select(vec!["object.metadata.name == 'bad'", "has(object.spec)", "object.spec.x", "matches("])
            .prop_map(
                |text| json!({"type": "Resource", "resource": {"apiVersion": "v1", "kind": "Node", "expression": text}})
            ),
        Just(json!({"type": "Phase", "moon": {"b": [1], "a": null}})),
        Just(json!({})),
    ]
}

fn risks() -> impl Strategy<Value = Vec<Value>> {
    let one = (prop::sample::select(vec!["A", "B", "C"]), prop::collection::vec(rule(), 0..4));
    prop::collection::vec(one.prop_map(|(name, rules)| risk(name, json!(rules))), 0..4)
}

fn targets() -> impl Strategy<Value = Vec<(String, Vec<Value>)>> {
    prop::collection::vec(((1..6_u32).prop_map(|patch| format!("1.0.{patch}")), risks()), 0..5)
}

/// A node that is ready or not.
fn node(name: &str, ready: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": ready}]}})
}

/// Turns a list around at a place that the seed names, and maybe over.
fn mix<T>(list: &mut [T], seed: usize) {
    if !list.is_empty() {
        list.rotate_left(seed % list.len());
        if seed % 2 == 1 {
            list.reverse();
        }
    }
}

/// The answer with its lists in another order.
fn mixed(answer: &Value, seed: usize) -> Value {
    let mut answer = answer.clone();
    let old: Vec<Value> = answer["nodes"].as_array().unwrap().clone();
    let mut nodes = old.clone();
    mix(&mut nodes, seed);
    let moved = |place: &Value| {
        let node = &old[usize::try_from(place.as_u64().unwrap()).unwrap()];
        nodes.iter().position(|other| other == node).unwrap()
    };
    let mut edges: Vec<Value> =
        answer["edges"].as_array().unwrap().iter().map(|edge| json!([moved(&edge[0]), moved(&edge[1])])).collect();
    mix(&mut edges, seed / 3);
    answer["edges"] = json!(edges);
    answer["nodes"] = json!(nodes);
    let groups = answer["conditionalEdges"].as_array_mut().unwrap();
    mix(groups, seed / 5);
    for group in groups {
        mix(group["risks"].as_array_mut().unwrap(), seed / 7);
    }
    answer
}

fn json_and_text(answer: &Value, evidence: &dyn Evidence) -> (String, String) {
    let plan = Plan::new(&graph(answer), &version("1.0.0"), &Settings::default()).unwrap();
    let assessment = plan.assess(evidence, now());
    (assessment.to_json(), render::assessment(&assessment))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn order_makes_no_difference(targets in targets(), plain in prop::collection::btree_set(1..6_u32, 0..3), seed in any::<usize>()) {
        let plain: Vec<String> = plain.into_iter().map(|patch| format!("1.0.{patch}")).collect();
        let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
        let conditional: Vec<(&str, Vec<Value>)> = targets.iter().map(|(to, risks)| (to.as_str(), risks.clone())).collect();
        let sent = answer(&plain, &conditional);
        let lines = ["one 1", "zero 0", "pair{n=\"1\"} 1", "pair{n=\"2\"} 0"];
        let nodes = [node("good", "True"), node("bad", "False")];
        let (mut other_lines, mut other_nodes) = (lines, nodes.clone());
        mix(&mut other_lines, seed);
        mix(&mut other_nodes, seed);
        let (store, other_store) = (series(&(lines.join("\n") + "\n")), series(&(other_lines.join("\n") + "\n")));
        let (seen, other_seen) = (objects(&nodes), objects(&other_nodes));
        let of = |store, seen| Snapshot { objects: Some(seen), cluster_id: Some("c"), ..fixtures::snapshot(store) };
        let first = json_and_text(&sent, &of(&store, &seen));
        prop_assert_eq!(&first, &json_and_text(&sent, &of(&store, &seen)));
        prop_assert_eq!(&first, &json_and_text(&mixed(&sent, seed), &of(&other_store, &other_seen)));
    }

    #[test]
    fn what_was_recorded_comes_to_the_same(targets in targets(), shared in any::<bool>()) {
        let conditional: Vec<(&str, Vec<Value>)> = targets.iter().map(|(to, risks)| (to.as_str(), risks.clone())).collect();
        let graph = graph(&answer(&[], &conditional));
        let plan = Plan::new(&graph, &version("1.0.0"), &Settings::default()).unwrap();
        let store = series("one 1\nzero 0\npair{n=\"1\"} 1\npair{n=\"2\"} 0\n");
        let snapshot = Snapshot { store_id: shared.then_some("7"), ..fixtures::snapshot(&store) };
        let questions: Vec<Question> = match snapshot.store_id {
            Some(id) => plan.questions_for(id),
            None => plan.questions().into_iter().cloned().collect(),
        };
        let recorded = RecordedEvidence::of(&snapshot, &questions);
        let answers = recorded.queries.iter().filter_map(|(query, record)| match record {
            Record::Answered(observation) => Some((query.clone(), observation.clone())),
            _ => None,
        });
        let kept = stored_answers::read(&stored_answers::write(&answers.collect())).unwrap();
        let queries = kept.into_iter().map(|(query, observation)| (query, Record::Answered(observation)));
        let replayed = RecordedEvidence { queries: queries.collect(), ..recorded.clone() };
        let first = plan.assess(&snapshot, now()).to_json();
        prop_assert_eq!(&first, &plan.assess(&recorded, now()).to_json());
        prop_assert_eq!(&first, &plan.assess(&replayed, now()).to_json());
    }

    #[test]
    fn nothing_is_recommended_without_proof(targets in targets(), evidence in any::<bool>()) {
        let conditional: Vec<(&str, Vec<Value>)> = targets.iter().map(|(to, risks)| (to.as_str(), risks.clone())).collect();
        let graph = graph(&answer(&[], &conditional));
        let store = series("one 1\nzero 0\n");
        let assessment = if evidence { fixtures::assess(&graph, &fixtures::snapshot(&store)) } else { fixtures::assess(&graph, &RecordedEvidence::default()) };
        let plan = Plan::new(&graph, &version("1.0.0"), &Settings::default()).unwrap();
        let brief = if evidence { plan.summarize(&fixtures::snapshot(&store), now()) } else { plan.summarize(&RecordedEvidence::default(), now()) };
        let statuses: Vec<Status> = assessment.updates.iter().map(|update| update.recommended.status).collect();
        prop_assert_eq!(brief.updates, statuses, "the short form says the same");
        prop_assert_eq!(plan.targets().count(), assessment.updates.len());
        prop_assert_eq!(plan.risks().count(), brief.risks.len());
        let mut versions: Vec<_> = assessment.updates.iter().map(|update| update.version.clone()).collect();
        versions.reverse();
        prop_assert!(versions.is_sorted(), "decreasing versions");
        for update in &assessment.updates {
            prop_assert!(update.conditional);
            let proven = !update.risks.is_empty() && update.risks.iter().all(|risk| {
                risk.verdict == Verdict::NoMatch && risk.decided_by.is_some_and(|at| risk.rules[at].outcome == Outcome::NoMatch)
            });
            prop_assert_eq!(update.recommended.status == Status::True, proven);
            let applies = update.risks.iter().any(|risk| risk.verdict == Verdict::Match);
            prop_assert_eq!(update.recommended.status == Status::False, applies);
        }
    }

    #[test]
    fn no_rule_panics(kind in "Always|PromQL|Condition|Rollout|[A-Za-z]{0,8}", key in "promql|condition|rollout|[a-z]{1,4}", text in ".{0,40}", number in any::<f64>()) {
        for inner in [json!(text), json!(number), json!({"promql": text}), json!({"start": text, "percentage": number}),
            json!({"start": "2026-05-01T00:00:00Z", "duration": text}), json!({"apiVersion": text, "kind": text, "type": text, "status": text}),
            json!({"apiVersion": "v1", "kind": "Node", "type": text, "status": "True", "labelSelector": {"matchLabels": {text.clone(): text}}})] {
            let rules = json!([{"type": kind, key.clone(): inner}]);
            let proof = fixtures::proof(rules, &RecordedEvidence { cluster_id: Some(text.clone()), ..RecordedEvidence::default() });
            prop_assert_eq!(proof.rules.len(), 1);
        }
    }
}
