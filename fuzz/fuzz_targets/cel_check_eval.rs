//! An expression, a line `---`, and an object in JSON: checking ends in every environment, evaluating ends within the
//! budget and gives the same twice, with an explanation too, and a result without what is unknown is the same with it.
#![no_main]

use std::sync::LazyLock;

use clearway_cel::{
    Bindings, Budget, DeclaredType, Environment, KubernetesVersion, Limits, Program, ResultType, Session,
};
use clearway_schema::Schema;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

static ENVIRONMENTS: LazyLock<Vec<Environment>> = LazyLock::new(|| {
    let version = KubernetesVersion::LATEST;
    let schema = Schema::read(&json!({"type": "object", "properties": {
        "s": {"type": "string", "maxLength": 10},
        "i": {"type": "integer"},
        "t": {"type": "string", "format": "date-time"},
        "d": {"type": "string", "format": "duration"},
        "b": {"type": "string", "format": "byte"},
        "l": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "m": {"type": "object", "additionalProperties": {"type": "integer"}},
        "o": {"type": "object", "properties": {"a-b": {"x-kubernetes-int-or-string": true}}},
        "k": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
            "items": {"type": "object", "required": ["n"], "properties": {"n": {"type": "string"}}}},
    }}))
    .expect("a schema");
    vec![
        Environment::standard().declare("object", &DeclaredType::Dyn).declare("self", &DeclaredType::Dyn),
        Environment::kubernetes_crd(version, schema.root(), true, true).with_result(ResultType::Any),
        Environment::kubernetes_admission(version, true).with_result(ResultType::Any),
        Environment::resource_rule(),
    ]
});

fuzz_target!(|text: &str| {
    let (expression, object) = text.split_once("\n---\n").unwrap_or((text, "{}"));
    let object: Value = serde_json::from_str(object).unwrap_or(Value::Null);
    let budget = Budget { cost: 50_000, memory: 4 << 20, work: 1 << 20 };
    let removed = |value: &Value| value == "(removed)";
    for environment in &*ENVIRONMENTS {
        let Ok(program) = Program::compile(expression, environment, &Limits::default()) else { continue };
        let estimate = program.estimate();
        assert!(estimate.min <= estimate.max);
        let bindings = Bindings::new().with("object", &object).with("self", &object).with("oldSelf", &object);
        let one = program.evaluate(bindings.clone(), &budget);
        let two = program.evaluate(bindings.clone(), &budget);
        assert_eq!(format!("{one:?}"), format!("{two:?}"));
        let session = Session::new(bindings.clone());
        if let Ok(explained) = program.explain(&session, &budget) {
            assert_eq!(explained.evaluation.cost, one.cost);
        }
        // A result that does not depend on what was removed is the same without it, unless a budget ends one of them.
        let known = program.evaluate(bindings.with_unknown(&removed), &budget).outcome;
        if let (Some(with), Some(without)) = (one.outcome.as_bool(), known.as_bool()) {
            assert_eq!(with, without);
        }
        _ = program.check_estimate(None);
    }
});
