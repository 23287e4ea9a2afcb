//! Computing the status of 10,000 routes, 100 Gateways and 1,000 namespaces.
//!
//! - From the parsed JSON to the status of each: at most five times the time to parse that JSON, and below 200 MiB.
//! - One changed route: at most a thousandth of that.
//! - Ten times the routes: at most eleven times the time.

use std::time::{Duration, Instant};

use clearway_gateway::{Change, Engine, Object, Settings};
use serde_json::{Value, json};

const API: &str = "gateway.networking.k8s.io/v1";
const GATEWAYS: usize = 100;
const NAMESPACES: usize = 1_000;

fn object(kind: &str, namespace: &str, name: &str, spec: &Value) -> Value {
    let group = if kind == "Service" || kind == "Namespace" { "v1" } else { API };
    json!({"apiVersion": group, "kind": kind, "spec": spec, "metadata": {"namespace": namespace, "name": name,
        "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z", "uid": "5f0d6c3e-9f0b-4a43-8a5c-0f1f4ad3d6c1",
        "resourceVersion": "123456", "labels": {"app": "web"}}})
}

fn route(index: usize, generation: i64) -> Value {
    let namespace = format!("ns{}", index % NAMESPACES);
    let mut route = object(
        "HTTPRoute",
        &namespace,
        &format!("route{index}"),
        &json!({
            "parentRefs": [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "infra", "name": format!("gw{}", index % GATEWAYS)}],
            "hostnames": [format!("a{index}.example.com"), format!("b{index}.example.com")],
            "rules": [{
                "matches": [{"path": {"type": "PathPrefix", "value": format!("/v{generation}")}}],
                "backendRefs": [{"group": "", "kind": "Service", "name": "web", "port": 80, "weight": 1}],
            }],
        }),
    );
    route["metadata"]["generation"] = json!(generation);
    route
}

fn world(routes: usize) -> impl Iterator<Item = Value> {
    let class = object("GatewayClass", "", "class", &json!({"controllerName": "example.com/one"}));
    let gateways = (0..GATEWAYS).map(|index| {
        let listener = |number: usize| {
            json!({"name": format!("l{number}"), "port": 8000 + number, "protocol": "HTTP",
            "hostname": "*.example.com", "allowedRoutes": {"namespaces": {"from": "All"}}})
        };
        let listeners: Vec<Value> = (0..4).map(listener).collect();
        let spec = json!({"gatewayClassName": "class", "listeners": listeners});
        object("Gateway", "infra", &format!("gw{index}"), &spec)
    });
    let namespaces = (0..NAMESPACES).flat_map(|index| {
        let name = format!("ns{index}");
        let service = object("Service", &name, "web", &json!({"ports": [{"port": 80}]}));
        [object("Namespace", "", &name, &json!({})), service]
    });
    std::iter::once(class).chain(gateways).chain(namespaces).chain((0..routes).map(|index| route(index, 1)))
}

fn compute(values: &[Value]) -> (Engine, Duration) {
    let start = Instant::now();
    let mut engine = Engine::new(Settings::default());
    for value in values {
        if let Some(object) = Object::from_json(value) {
            engine.apply(Change::Put(Box::new(object)));
        }
    }
    let changed = engine.evaluate();
    let statuses = changed.iter().filter_map(|key| engine.status(key)).count();
    assert!(statuses > values.len() / 2, "{statuses}");
    (engine, start.elapsed())
}

/// The least of several times, which others on the machine disturb least.
fn best<T>(mut run: impl FnMut() -> (T, Duration)) -> (T, Duration) {
    let mut all: Vec<(T, Duration)> = (0..5).map(|_| run()).collect();
    all.sort_by_key(|(_, time)| *time);
    all.remove(0)
}

/// The argument with which this program measures its own memory, in a process where nothing else was allocated before.
const MEMORY: &str = "measure-memory";

/// The most memory that the process has held so far, in MiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// Reads the objects one by one, as they come from an API server, and computes their status.
fn measure_memory() {
    let mut engine = Engine::new(Settings::default());
    for value in world(10_000) {
        let value: Value = serde_json::from_str(&value.to_string()).unwrap();
        engine.apply(Change::Put(Box::new(Object::from_json(&value).unwrap())));
    }
    assert!(engine.evaluate().len() > 10_000);
    println!("{}", peak());
}

fn peak_of_own_process() -> f64 {
    let output = std::process::Command::new(std::env::current_exe().unwrap()).arg(MEMORY).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

fn main() {
    if std::env::args().any(|argument| argument == MEMORY) {
        return measure_memory();
    }
    let mut missed = Vec::new();
    let mut check = |what: &str, value: f64, bound: f64| {
        println!("{what}: {value:.4} (at most {bound})");
        if value > bound {
            missed.push(what.to_owned());
        }
    };
    let texts: Vec<String> = world(10_000).map(|value| value.to_string()).collect();
    let (_, parse) = best(|| {
        let start = Instant::now();
        let values: Vec<Value> = texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        (values.len(), start.elapsed())
    });
    let values: Vec<Value> = texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let (mut engine, scratch) = best(|| compute(&values));
    println!("parse {parse:?}, from scratch {scratch:?}");
    check("from scratch / parsing the JSON", scratch.as_secs_f64() / parse.as_secs_f64(), 5.0);
    check("memory in MiB", peak_of_own_process(), 200.0);
    let mut generation = 1;
    let ((), one) = best(|| {
        let rounds = 200;
        let start = Instant::now();
        for index in 0..rounds {
            generation += 1;
            let object = Object::from_json(&route(index * 37, generation)).unwrap();
            assert!(!engine.update(Change::Put(Box::new(object))).is_empty());
        }
        ((), start.elapsed() / u32::try_from(rounds).unwrap())
    });
    println!("one changed route {one:?}");
    check("one changed route / from scratch", one.as_secs_f64() / scratch.as_secs_f64(), 0.001);
    let ten: Vec<Value> = world(100_000).collect();
    let (_, large) = best(|| compute(&ten));
    println!("ten times the routes {large:?}");
    check("ten times the routes / once", large.as_secs_f64() / scratch.as_secs_f64(), 11.0);
    if !missed.is_empty() {
        eprintln!("missed: {}", missed.join("; "));
        std::process::exit(1);
    }
}
