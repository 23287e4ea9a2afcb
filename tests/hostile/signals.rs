//! Signals: the first one ends a process in order, and another one ends it at once, whatever it is doing.

use std::fs::File;

use rustix::fs::{FlockOperation, flock};
use serde_json::json;

use crate::operator::Operator;
use crate::stranger::{Said, Stranger};

/// An answer with rules that take as long as rules may.
fn expensive() -> String {
    let node = |version: &str| json!({"version": version, "payload": format!("r.example.com/p:{version}")});
    let rule = |number: usize| {
        let list = "[0,1,2,3,4,5,6,7,8,9]";
        let expression = format!("{list}.all(a, {list}.all(b, a + b < {}))", 100 + number);
        json!({"type": "Resource", "resource": {"apiVersion": "v1", "kind": "Node", "expression": expression}})
    };
    let risk = |number: usize| {
        let rules: Vec<_> = (0..30).map(|at| rule(number * 30 + at)).collect();
        json!({"name": format!("R{number}"), "url": "https://example.com", "message": "m", "matchingRules": rules})
    };
    let risks: Vec<_> = (0..30).map(risk).collect();
    json!({
        "nodes": [node("1.0.0"), node("1.1.0")], "edges": [],
        "conditionalEdges": [{"edges": [{"from": "1.0.0", "to": "1.1.0"}], "risks": risks}],
    })
    .to_string()
}

/// Nobody can write into the state directory while somebody holds its lock, so the operator cannot end in order.
#[test]
fn a_second_signal_ends_the_operator() {
    let place = tempfile::tempdir().unwrap();
    let answer = expensive();
    let service = Stranger::start(move |_| Said::json(answer.clone()));
    let upstream = format!("http://{}/api", service.host);
    let mut operator = Operator::start(place.path(), &["--upstream", &upstream]);
    operator.line_with("leading");
    let lock = File::open(place.path().join("state/lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    operator.signal();
    operator.line_with("another signal exits immediately");
    operator.signal();
    operator.ended();
}
