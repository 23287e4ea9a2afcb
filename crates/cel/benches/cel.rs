//! Compiling and evaluating beside the API server's own CEL packages, on one core: at least three times faster.
//!
//! `cargo bench -p clearway-cel --bench cel` measures the same rules over the same objects in both, and ends with exit
//! code 1 below the bound. Without `--bench`, short runs show that all is well.

use std::process::ExitCode;
use std::time::Instant;

use clearway_cel::{Bindings, Budget, Environment, KubernetesVersion, Limits, Outcome, Program};
use clearway_schema::Schema;
use clearway_testbed::{Component, have};
use serde_json::{Value, json};

#[path = "../tests/generate.rs"]
#[expect(dead_code, reason = "only the schema and the objects are used")]
mod generate;
#[path = "../tests/differential/reference.rs"]
mod reference;

use reference::Reference;

/// Rules in the shapes of public CRDs.
const RULES: &[&str] = &[
    "self.i >= 0",
    "has(self.s) && self.s.size() <= 63",
    "self.s == self.u || self.e in ['one', 'two']",
    "self.ls.all(x, x.size() < 40)",
    "self.ml.exists(x, x.k == 'k0' && x.v > -10)",
    "self.ml.all(x, self.ml.exists_one(y, x.k == y.k))",
    "!has(self.o) || self.o.deep.x < 100",
    "self.s.matches('^[a-zA-Z0-9 ,.:/=?-]*$')",
    "self.set.all(x, self.set.filter(y, x == y).size() == 1)",
    "self.t > timestamp('0001-01-01T00:00:00Z') && self.d < duration('1000h')",
    "self.li.map(x, x * 2).sum() < 1000",
    "self.?o.?a.orValue('') != 'x'",
    "(has(self.i) ? self.i : 0) + (has(self.j) ? self.j % 10 : 0) < 1000",
    "self.m.all(k, self.m[k].size() < 100) && self.kind == 'Test'",
];

const BOUND: f64 = 3.0;

fn main() -> ExitCode {
    let timed = std::env::args().any(|argument| argument == "--bench");
    if !have(&[Component::CelReference]) {
        return ExitCode::SUCCESS;
    }
    let seconds = if timed { 0.4 } else { 0.01 };
    let schema = Schema::read(&generate::schema()).expect("a schema");
    let environment = Environment::kubernetes_crd(KubernetesVersion::new(35), schema.root(), true, false);
    // An object with all fields, so that no rule ends early.
    let mut random = generate::Random::new(3);
    let fields = generate::schema()["properties"].as_object().map_or(0, serde_json::Map::len);
    let object = std::iter::repeat_with(|| generate::object(&mut random))
        .find(|object| object.as_object().is_some_and(|object| object.len() >= fields) && object["ml"][1].is_object())
        .expect("an object with all fields");
    let mut reference = Reference::start();
    reference.ask(&[json!({"define": "s", "schema": generate::schema()})]);
    let mut passes = true;
    for what in ["evaluate", "compile"] {
        let (mut here, mut there) = (0.0, 0.0);
        println!("{what}, nanoseconds for one rule");
        for rule in RULES {
            let question = json!({"env": "crd", "schema": "s", "expr": rule, "object": object});
            let mut timing = question.clone();
            timing["bench"] = json!(what);
            timing["seconds"] = json!(seconds);
            let answers = reference.ask(&[question, timing]);
            let ours = if what == "evaluate" {
                evaluate(rule, &environment, &object, answers[0].value.as_deref(), seconds)
            } else {
                compile(rule, &environment, seconds)
            };
            let theirs = answers[1].nanoseconds.expect("a measurement");
            println!("  {ours:10.0} here {theirs:10.0} there {:7.1} times  {rule}", theirs / ours);
            here += ours;
            there += theirs;
        }
        let ratio = there / here;
        let enough = ratio >= BOUND || !timed;
        passes &= enough;
        println!("  {}: {ratio:.1} times faster together, at least {BOUND}", if enough { "PASS" } else { "FAIL" });
    }
    if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Nanoseconds of one run, repeated for some time.
fn measure(seconds: f64, mut run: impl FnMut()) -> f64 {
    let begin = Instant::now();
    let mut count = 0_u32;
    while begin.elapsed().as_secs_f64() < seconds {
        for _ in 0..10 {
            run();
        }
        count += 10;
    }
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(count)
}

fn evaluate(rule: &str, environment: &Environment, object: &Value, wanted: Option<&str>, seconds: f64) -> f64 {
    let program = Program::compile(rule, environment, &Limits::default()).expect("a rule");
    let run = || program.evaluate(Bindings::new().with("self", object), &Budget::default());
    // Both must have done the same.
    let Outcome::Value(value) = run().outcome else { panic!("{rule} gives no value") };
    assert_eq!(Some(value.canonical().as_str()), wanted, "{rule}");
    measure(seconds, || {
        std::hint::black_box(run());
    })
}

fn compile(rule: &str, environment: &Environment, seconds: f64) -> f64 {
    measure(seconds, || {
        std::hint::black_box(Program::compile(rule, environment, &Limits::default()).expect("a rule"));
    })
}
