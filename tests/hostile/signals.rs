//! Signals: the first one ends a process in order, and another one ends it at once, whatever it is doing.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use clearway_testbed::IN_TIME;
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::operator::{Operator, lease_path};
use crate::program::{Service, get};
use crate::stranger::{End, Said, Stranger};

/// An answer with rules that take as long as rules may; one of another number has other rules.
fn expensive(answer: usize) -> String {
    let node = |version: &str| json!({"version": version, "payload": format!("r.example.com/p:{version}")});
    let rule = |number: usize| {
        let list = "[0,1,2,3,4,5,6,7,8,9]";
        let expression = format!("{list}.all(a, {list}.all(b, a + b < {}))", 100 + number + answer * 900);
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

/// While somebody holds the lock of the state directory, the operator cannot end in order: it waits for it.
#[test]
fn a_second_signal_ends_the_operator() {
    let place = tempfile::tempdir().unwrap();
    let answer = expensive(0);
    let service = Stranger::start(move |_| Said::json(answer.clone()));
    let upstream = format!("http://{}/api", service.host);
    // The next renewal would wait for the lock, too, and the signal with it.
    let mut operator = Operator::start(place.path(), &["--upstream", &upstream, "--lease-duration", "24h"]);
    operator.line_with("leading");
    let lock = File::open(place.path().join("state/lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    operator.signal_twice();
    assert_eq!(operator.ended(), Some(3));
}

/// A client that does not finish its request is waited for.
#[test]
fn a_second_signal_ends_the_service() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("data")).unwrap();
    let listen = ["--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0", "--log", "info"];
    let patient = ["serve", "--graph-data", "data", "--drain", "24h", "--read-timeout", "24h"];
    let mut service = Service::start(place.path(), &[&patient[..], &listen].concat());
    let line = service.line_with(&["serving on http://"]);
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap();
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"GET /api/upgrades_info/graph?channel=c HTTP/1.1\r\n").unwrap();
    service.signal();
    service.line_with(&["stopping"]);
    service.signal();
    service.wait();
    assert_eq!(service.code(), Some(3));
}

/// An API server that says nothing is waited for at the end: by the lease for two seconds, by what evaluates for longer.
#[test]
fn a_second_signal_ends_every_form_of_the_operator() {
    let silent = || Said { status: 200, head: Vec::new(), body: Vec::new(), end: End::Stalled };
    let server = Stranger::start(move |asked| match asked {
        // So that the operator for Gateways starts at all: the class does not exist yet.
        _ if asked.contains("gatewayclasses") || asked.starts_with("/apis/gateway.networking.k8s.io") => {
            Said { status: 404, ..Said::json(r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":404}"#) }
        }
        _ => silent(),
    });
    for form in [&[][..], &["--policies", "--shutdown-delay", "24h"], &["--gateway-class", "c"]] {
        let place = tempfile::tempdir().unwrap();
        let kubeconfig = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
             clusters: [{{name: a, cluster: {{server: 'http://{}'}}}}]\nusers: [{{name: a, user: {{}}}}]\n",
            server.host
        );
        fs::write(place.path().join("kube.yaml"), kubeconfig).unwrap();
        let options = ["operator", "--kubeconfig", "kube.yaml", "--status-listen", "127.0.0.1:0", "--log", "info"];
        let mut operator = Service::start(place.path(), &[&options[..], form].concat());
        operator.line_with(&["probes and metrics on"]);
        operator.signal();
        operator.line_with(&["stopping"]);
        operator.signal();
        operator.wait();
        assert_eq!(operator.code(), Some(3), "{form:?}: {}", operator.last_words());
    }
}

/// What rules cost keeps no probe waiting, no renewal of the lease, and no signal: each answer has new rules, so that there is
/// always something to evaluate.
#[test]
fn rules_that_take_long_hold_nothing_up() {
    let place = tempfile::tempdir().unwrap();
    let answers = Cell::new(0);
    let service = Stranger::start(move |_| {
        answers.set(answers.get() + 1);
        Said::json(expensive(answers.get()))
    });
    let upstream = format!("http://{}/api", service.host);
    let mut operator = Operator::start(place.path(), &["--upstream", &upstream, "--lease-renewal", "1s"]);
    let line = operator.line_with("probes and metrics on");
    let status = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    operator.line_with("leading");
    let (before, begin) = (renewed(place.path()), Instant::now());
    let (rules_before, others_before) = operator.computing_times();
    let mut renewals = BTreeSet::from([before]);
    // Three renewals, with a probe after each, while the rules took some computing time.
    while renewals.len() < 4 || operator.computing_times().0 < rules_before + Duration::from_millis(300) {
        assert!(begin.elapsed() < IN_TIME, "{renewals:?}, {:?} of rules", operator.computing_times());
        if renewals.insert(renewed(place.path())) {
            let answer = get(&status, "/livez");
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        thread::sleep(Duration::from_millis(20));
    }
    // The threads that answer probes, renew the lease and receive signals evaluate nothing: what they compute is next to nothing
    // beside the rules, however fast the machine is.
    let (rules, others) = operator.computing_times();
    let (rules, others) = (rules.saturating_sub(rules_before), others.saturating_sub(others_before));
    assert!(others < rules / 4, "{rules:?} of rules, {others:?} of everything else");
    operator.end();
}

/// When the lease was renewed last.
fn renewed(place: &Path) -> String {
    let lease: Value = serde_saphyr::from_str(&fs::read_to_string(lease_path(place)).unwrap()).unwrap();
    lease["spec"]["renewTime"].as_str().unwrap().to_owned()
}
