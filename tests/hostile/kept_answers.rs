//! Answers that are kept: each takes as much memory as the operator lets its object have, in each of the ways in which
//! little text becomes much memory, for many objects at the same time.

use clearway_advice::Settings;
use clearway_core::{GraphLimits, Timestamp};
use clearway_update::upstream::{BudgetLimits, Knowledge};
use serde_json::{Value, json};

use crate::memory::hostile_answers;
use crate::operator::{Operator, is_recommended, message, reason, write_component, write_state};
use crate::stranger::{Said, Stranger};

/// Add-ons of hostile publishers, and of honest ones.
const HOSTILE: usize = 7;
const HONEST: [&str; 2] = ["calm", "even"];

/// Makes the matching rules of a risk from its number.
type MakeRules = fn(usize) -> Value;

/// What takes memory: the name, and the rules.
const SHAPES: [(&str, MakeRules); 5] = [
    ("many risks", |_| json!([{"type": "Always"}])),
    ("large trees of queries", |number| {
        let query = (0..6).fold(format!("m{number}"), |sum, _| format!("({sum}+{sum})"));
        json!([{"type": "PromQL", "promql": {"promql": query}}])
    }),
    ("many small values", |_| json!([{"type": "Other", "values": vec![json!({"a": 0}); 20]}])),
    ("large expressions", |number| {
        let expression = (0..80).map(|part| format!("object.a{part} == {number}")).collect::<Vec<_>>().join(" || ");
        json!([{"type": "Resource", "resource": {"apiVersion": "v1", "kind": "Node", "expression": expression, "whenAbsent": "NoMatch"}}])
    }),
    ("large regular expressions", |number| {
        let expression = format!("object.metadata.name.matches('[a-z]{{20}}{number}')");
        json!([{"type": "Resource", "resource": {"apiVersion": "v1", "kind": "Node", "expression": expression, "whenAbsent": "NoMatch"}}])
    }),
];

/// An answer of a shape with so many risks, over some updates, and one more update without risks that tells it from others.
fn answer(shape: usize, risks: usize) -> String {
    let node = |version: String| json!({"payload": format!("r.example.com/p:{version}"), "version": version});
    let (_, rules) = SHAPES[shape];
    let risk = |number: usize| json!({"name": format!("R{number}"), "url": "https://example.com", "message": "It breaks.", "matchingRules": rules(number)});
    let targets = 1 + risks / 50;
    let group = |target: usize| {
        let risks: Vec<Value> = (target * 50..risks.min((target + 1) * 50)).map(risk).collect();
        json!({"edges": [{"from": "1.0.0", "to": format!("1.2.{target}")}], "risks": risks})
    };
    let nodes =
        ["1.0.0".to_owned(), marker(shape)].into_iter().chain((0..targets).map(|target| format!("1.2.{target}")));
    json!({
        "nodes": nodes.map(node).collect::<Vec<_>>(), "edges": [[0, 1]],
        "conditionalEdges": (0..targets).map(group).filter(|group| group["risks"] != json!([])).collect::<Vec<_>>(),
    })
    .to_string()
}

/// The update that is recommended by an answer of a shape.
fn marker(shape: usize) -> String {
    format!("1.1.{shape}")
}

/// An answer of a shape that takes nearly so much memory, as far as the caps on answers allow it.
fn largest(shape: usize, memory: usize) -> String {
    let version = "1.0.0".parse().unwrap();
    let taken = |answer: &str| {
        let read = Knowledge::read(answer.as_bytes(), &version, Timestamp::EPOCH, &Settings::default());
        read.unwrap_or_else(|error| panic!("{}: {error}", SHAPES[shape].0)).memory()
    };
    let [small, large] = [10, 20].map(|risks| answer(shape, risks));
    // It grows evenly.
    let each = (taken(&large) - taken(&small)).div_ceil(10);
    let base = taken(&small).saturating_sub(10 * each);
    let caps = GraphLimits::default();
    let within_caps = (caps.risks_bytes * 9 / 10 / (large.len() / 20)).min(caps.queries * 9 / 10);
    let found = answer(shape, (memory.saturating_sub(base) * 9 / 10 / each).max(1).min(within_caps));
    let bytes = taken(&found);
    assert!(bytes <= memory, "{}: {bytes} of {memory}", SHAPES[shape].0);
    found
}

/// An update without risks.
fn good() -> String {
    let node = |version: &str| json!({"version": version, "payload": format!("r.example.com/p:{version}")});
    json!({"nodes": [node("1.0.0"), node("1.9.0")], "edges": [[0, 1]], "conditionalEdges": []}).to_string()
}

fn hostile(number: usize) -> String {
    format!("hostile-{number:02}")
}

/// The shape of the answer for an add-on.
fn shape_of(number: usize, round: usize) -> usize {
    (number + round) % SHAPES.len()
}

/// The number of the hostile add-on that is asked for.
fn number_of(asked: &str) -> Option<usize> {
    asked.split("channel=hostile-").nth(1)?.get(..2)?.parse().ok()
}

#[test]
fn answers_as_large_as_each_object_may_keep() {
    let place = tempfile::tempdir().unwrap();
    let state = place.path().join("state");
    write_state(&state);
    let names: Vec<String> = (0..HOSTILE).map(hostile).chain(HONEST.map(str::to_owned)).collect();
    for name in &names {
        write_component(&state, name);
    }
    let limits = BudgetLimits::default();
    let shares: Vec<String> = (0..SHAPES.len()).map(|shape| largest(shape, limits.share)).collect();
    let pools: Vec<String> =
        (0..SHAPES.len()).map(|shape| largest(shape, limits.share + limits.most_of_pool)).collect();
    let stranger = Stranger::start(|_| Said::json(good()));
    let upstream = format!("http://{}/api", stranger.host);
    // One round: without optimisation it computes for minutes.
    let mut operator = Operator::start(place.path(), &["--upstream", &upstream, "--between-rounds", "1h"]);
    for name in &names {
        operator.until_component(name, "is advised", |status| is_recommended(status, "1.9.0"));
    }
    // Every shape is kept for some add-ons, and the two that take most for the ClusterVersion.
    let mut last = 0;
    for (round, of_cluster) in [1, 2].into_iter().enumerate() {
        let (shares, pools) = (shares.clone(), pools.clone());
        let whole = largest(of_cluster, limits.cluster_version);
        last = round;
        // Named, so that they are read once: without optimisation that takes long.
        let name = format!("round-{round}");
        stranger.says(move |asked| match number_of(asked) {
            // The pool has room for two of these.
            Some(number @ (0 | 1)) => Said::json(pools[shape_of(number, round)].clone()).named(&name),
            Some(number) => Said::json(shares[shape_of(number, round)].clone()).named(&name),
            None if asked.contains("channel=c&") => Said::json(whole.clone()).named(&name),
            None => Said::json(good()),
        });
        operator.until(SHAPES[of_cluster].0, |status| is_recommended(status, &marker(of_cluster)));
        for number in 0..HOSTILE {
            let shape = shape_of(number, round);
            operator
                .until_component(&hostile(number), SHAPES[shape].0, |status| is_recommended(status, &marker(shape)));
        }
    }
    // While that is kept, all of them send what is refused: more than there is room for, and as much as can be parsed.
    let (_, make) = hostile_answers::ANSWERS.iter().find(|(name, _)| *name == "rules with many small values").unwrap();
    let (parsed, above) = (make(&GraphLimits::default()), pools[0].clone());
    stranger.says(move |asked| match number_of(asked) {
        Some(number) if number % 2 == 0 => Said::json(parsed.clone()),
        Some(_) => Said::json(above.clone()),
        None if asked.contains("channel=c&") => Said::json(parsed.clone()),
        None => Said::json(good()),
    });
    let refused = |status: &Value| reason(status, "RetrievedUpdates") == "ResponseInvalid";
    operator.until("the answer is refused", refused);
    for number in 2..HOSTILE {
        let name = hostile(number);
        let status = operator.until_component(&name, "is refused", refused);
        let said = message(&status, "RetrievedUpdates");
        assert!(
            said.contains(&format!("for ComponentVersion {name} takes")) && said.contains("answer_memory"),
            "{said}"
        );
        assert!(is_recommended(&status, &marker(shape_of(number, last))), "what was good stays: {name}");
    }
    for name in HONEST {
        let status = operator.until_component(name, "is advised", |status| is_recommended(status, "1.9.0"));
        assert_eq!(reason(&status, "RetrievedUpdates"), "AsExpected", "{name}");
    }
    // It looks at its memory.
    operator.end();
}
