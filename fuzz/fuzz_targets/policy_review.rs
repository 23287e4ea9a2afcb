//! Rego, a line `---`, and an object in JSON: compiling ends, evaluating ends within the budget and gives the same twice.
#![no_main]

use clearway_policy::rego::{Budget, Program, RegoCode, RegoVersion};
use clearway_policy::rego::values;
use clearway_policy::{Review, Source};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let (rego, object) = text.split_once("\n---\n").unwrap_or((text, "{}"));
    let object: Value = serde_json::from_str(object).unwrap_or(Value::Null);
    let review = values::from_review(&Review::of_object(&object, Source::Original).to_json());
    let parameters = values::from_json(object.get("parameters").unwrap_or(&Value::Null));
    let budget = Budget { steps: 100_000, ..Budget::default() };
    for version in [RegoVersion::V0, RegoVersion::V1] {
        let code = RegoCode { rego: rego.to_owned(), libs: Vec::new(), version };
        let Ok(program) = Program::compile(&code) else { continue };
        let mut evaluator = program.evaluator();
        let one = evaluator.evaluate(&review, &parameters, &budget);
        let two = evaluator.evaluate(&review, &parameters, &budget);
        assert_eq!(one, two);
    }
});
