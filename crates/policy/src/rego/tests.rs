//! The engine says what OPA says. Each case of [`CORRECTED`] fails without its correction.

use regorus::Value;
use serde_json::json;

use super::*;

fn code(rego: &str) -> RegoCode {
    RegoCode { rego: rego.to_owned(), libs: Vec::new(), version: RegoVersion::V0 }
}

fn messages(rego: &str) -> Result<Vec<String>, String> {
    let program = Program::compile(&code(rego)).map_err(|error| error.to_string())?;
    let review = values::from_review(&json!({
        "object": {"metadata": {"name": "x"}, "spec": {"n": 1_000_620_000, "small": 5, "list": [1, 2, 3]}},
    }));
    let parameters = values::from_json(&json!({"n": 12_345_678, "f": 1_500_000.5, "names": ["a", "b"]}));
    let mut evaluator = program.evaluator();
    let found = evaluator.evaluate(&review, &parameters, &Budget::default()).map_err(|error| error.to_string())?;
    Ok(found.into_iter().map(|violation| violation.message).collect())
}

/// What a body gives for `msg`.
fn message(body: &str) -> Result<Vec<String>, String> {
    messages(&format!(
        "package t\nviolation[{{\"msg\": msg}}] {{\n{body}\n}}\nf(x) = y {{ x == 1; y := \"one\" }} {{ x == 2; y := \"two\" }}\ng(x) {{ x == 5 }}\nsome_rule {{ input.absent }}\n"
    ))
}

const CORRECTED: &[(&str, &str, &[&str])] = &[
    ("a parenthesis on a new line", "x := input.review.object.spec.small\n(x - 1) == 4\nmsg := \"m\"", &["m"]),
    ("chained bodies of functions", "msg := f(2)", &["two"]),
    ("not f(undefined)", "not g(input.review.missing)\nmsg := \"m\"", &[]),
    ("not f(defined)", "not g(input.review.object.spec.n)\nmsg := \"m\"", &["m"]),
    ("not count(undefined) > 0", "not count(input.review.missing) > 0\nmsg := \"m\"", &[]),
    ("not undefined == 1", "not input.review.missing == 1\nmsg := \"m\"", &["m"]),
    ("not undefined > 1", "not input.review.missing > 1\nmsg := \"m\"", &[]),
    ("not undefined", "not input.review.missing\nmsg := \"m\"", &["m"]),
    ("not object[undefined]", "not input.review.object[input.review.missing]\nmsg := \"m\"", &[]),
    ("not f(rule)", "not g(some_rule)\nmsg := \"m\"", &[]),
    ("not nested calls", "not startswith(lower(input.review.missing), \"a\")\nmsg := \"m\"", &[]),
    ("not in a comprehension", "c := [1 | not g(input.review.missing)]\nmsg := sprintf(\"%d\", [count(c)])", &["0"]),
    (
        "walk in a comprehension",
        "c := [p | [p, v] := walk({\"a\": {\"b\": 1}}); v == 1]\nmsg := sprintf(\"%v\", [c])",
        &["[[\"a\", \"b\"]]"],
    ),
    ("walk with an output", "walk({\"a\": {\"b\": 1}}, [p, 1])\nmsg := sprintf(\"%v\", [p])", &["[\"a\", \"b\"]"]),
    ("output of sprintf", "sprintf(\"%v\", [1], msg)", &["1"]),
    ("re_match", "re_match(\"^a+$\", \"aaa\")\nmsg := \"m\"", &["m"]),
    ("any and all", "any([false, true])\nall([true, true])\nnot all([true, false])\nmsg := \"m\"", &["m"]),
    ("set_diff", "msg := sprintf(\"%v\", [set_diff({1, 2}, {2})])", &["{1}"]),
    ("cast_array", "msg := sprintf(\"%v\", [cast_array({1})])", &["[1]"]),
    ("sprintf: too few", "msg := sprintf(\"%v %v\", [1])", &["1 %!v(MISSING)"]),
    ("sprintf: too many", "msg := sprintf(\"%v\", [1, \"a\"])", &["1%!(EXTRA string=a)"]),
    (
        "sprintf: wrong type",
        "msg := sprintf(\"%d %s %t\", [\"a\", 1, true])",
        &["%!d(string=a) %!s(int=1) %!t(string=true)"],
    ),
    ("sprintf: widths", "msg := sprintf(\"[%-5s][%5d][%05.2f]\", [\"a\", 1, 1.5])", &["[a    ][    1][01.50]"]),
    (
        "numbers of reviews are floats",
        "n := input.review.object.spec.n\nmsg := sprintf(\"%v %d %v %v\", [n, n, n + 1, [n]])",
        &["1.00062e+09 %!d(float64=1.00062e+09) 1000620001 [1.00062e+09]"],
    ),
    (
        "numbers of parameters are not",
        "p := input.parameters.n\nmsg := sprintf(\"%v %d %v %v\", [p, p, p + 1, input.parameters.f])",
        &["12345678 12345678 12345679 1.5000005e+06"],
    ),
    (
        "numbers of the text",
        "msg := sprintf(\"%v %v %v %v\", [1e3, 1000000.0, 1 / 3, 0.1 + 0.2])",
        &["1000 1e+06 0.3333333333333333 0.3"],
    ),
    (
        "collections",
        "msg := sprintf(\"%v %v %v\", [{\"a\": [1, \"b\"]}, {2, 1}, set()])",
        &["{\"a\": [1, \"b\"]} {1, 2} set()"],
    ),
    (
        "digests",
        "msg := concat(\" \", [crypto.md5(\"a\"), crypto.sha1(\"a\")])",
        &["0cc175b9c0f1b6a831c399e269772661 86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"],
    ),
    (
        "hmac",
        "msg := crypto.hmac.sha256(\"a\", \"k\")",
        &["78da91511e675587f5b9df78bedebaf5560da2abb88162ee875dcdf744951d9e"],
    ),
    (
        "networks",
        "net.cidr_contains(\"10.0.0.0/8\", \"10.1.0.0/16\")\nmsg := sprintf(\"%v\", [net.cidr_merge([\"10.0.0.0/25\", \"10.0.0.128/25\"])])",
        &["{\"10.0.0.0/24\"}"],
    ),
    (
        "times",
        "msg := sprintf(\"%v %v\", [time.date(0), time.parse_duration_ns(\"1h2m\")])",
        &["[1970, 1, 1] 3720000000000"],
    ),
];

#[test]
fn corrections_make_the_engine_say_what_opa_says() {
    let mut wrong = Vec::new();
    for (name, body, want) in CORRECTED {
        let got = message(body);
        let want: Vec<String> = want.iter().map(|text| (*text).to_owned()).collect();
        if got.as_ref() != Ok(&want) {
            wrong.push(format!("{name}: {got:?}, not {want:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn variables_that_nothing_gives_a_value_are_refused() {
    for (body, unsafe_at) in [
        ("msg == \"m\"", "3:1: rego_unsafe_var_error: var msg is unsafe"),
        ("x := [y | y > 1]\nmsg := \"m\"", "3:11: rego_unsafe_var_error: var y is unsafe"),
        ("not input.review.object[k]\nmsg := k", "3:25: rego_unsafe_var_error: var k is unsafe"),
        ("some x\nx == 1\nmsg := \"m\"", "4:1: rego_unsafe_var_error: var x is unsafe"),
        ("count(x) == 1\nmsg := \"m\"", "3:7: rego_unsafe_var_error: var x is unsafe"),
        ("msg := sprintf(\"%v\", [y])", "3:23: rego_unsafe_var_error: var y is unsafe"),
    ] {
        let refused = message(body).unwrap_err();
        assert!(refused.contains(unsafe_at), "{body}: {refused}");
    }
    for body in [
        "v := {\"name\": \"x\"}\ninput.review.object[k] == v\nmsg := k",
        "[x, y] := [1, 2]\nmsg := sprintf(\"%v\", [x + y])",
        "{\"name\": msg} = input.review.object.metadata",
        "x = y\ny = 1\nmsg := sprintf(\"%v\", [x])",
        "x := {k: v | v := input.review.object.metadata[k]}\nmsg := sprintf(\"%v\", [x])",
        "not f(3)\nmsg := \"m\"",
        "split(\"a b\", \" \")[_] == \"a\"\nmsg := \"m\"",
        "msg := \"m\" with input as {\"a\": 1}",
    ] {
        assert_eq!(message(body).map(|found| found.len()), Ok(1), "{body}");
    }
}

#[test]
fn chained_bodies_of_sets_are_rules_of_their_own() {
    let text = "package t\nviolation[{\"msg\": msg}] { msg := \"a\" } { msg := \"b\" }\n{ msg := \"c\" }\n";
    assert_eq!(messages(text), Ok(vec!["a".into(), "b".into(), "c".into()]));
}

#[test]
fn what_breaks_the_contract_is_refused_with_its_place() {
    for (text, want) in [
        ("package t\nviolation[{\"msg\": msg}] { msg := }", "template:2:"),
        ("package t\nx { true }", "missing required rules: [violation]"),
        (
            "package t\nimport input.review\nviolation[{\"msg\": \"m\"}] { true }",
            "template:2:1: invalid rego: invalid import: cannot import input",
        ),
        (
            "package t\nimport rego.v1\nviolation contains {\"msg\": \"m\"} if { true }",
            "invalid import: bad import: \"rego.v1\"",
        ),
        ("package t\nimport data.foo\nviolation[{\"msg\": \"m\"}] { true }", "bad import: \"data.foo\""),
        (
            "package t\nviolation[{\"msg\": \"m\"}] { data.foo.bar }",
            "template:2:27: invalid rego: check refs failed: disallowed ref data.foo.bar",
        ),
        ("package t\nviolation[{\"msg\": \"m\"}] { data[x] }", "disallowed ref"),
        ("package t\nviolation[{\"msg\": \"m\"}] { foo(1) }", "template:2:27: rego_type_error: undefined function foo"),
        ("package t\nviolation[{\"msg\": \"m\"}] { count(1, 2, 3) }", "arity mismatch"),
        ("package t\nviolation[{\"msg\": \"m\"}] { true }\nunused { bar(1) }", "undefined function bar"),
        (
            "package t\nviolation[{\"msg\": \"m\"}] { f(1) }\nf(x) = y { y := f(x) }",
            "rego_recursion_error: rule data.t.f is recursive: data.t.f -> data.t.f",
        ),
        ("package t\nviolation[{\"msg\": \"m\"}] { p }\np { q }\nq { p }", "rego_recursion_error"),
        ("package t\nviolation = [1] { true }", "must be a set"),
        ("package t\nviolation[{\"message\": \"m\"}] { true }", "no `violation` has a field `msg`"),
        ("package t\nviolation[{\"msg\": \"m\"}] { external_data({}) }", "external_data is not supported"),
        ("package t\nviolation[{\"msg\": \"m\"}] { http.send({}) }", "http.send is not supported"),
        ("package inventory\nviolation[{\"msg\": \"m\"}] { true }", "reserved"),
        ("", "the module is empty"),
    ] {
        let error = Program::compile(&code(text)).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(want), "{text}\n{error}\nwant {want}");
    }
}

#[test]
fn libraries_are_below_lib_and_may_not_use_each_other_in_circles() {
    let entry = "package t\nimport data.lib.a\nviolation[{\"msg\": msg}] { msg := a.f(1) }";
    let with = |libs: &[&str]| RegoCode {
        rego: entry.to_owned(),
        libs: libs.iter().map(|text| (*text).to_owned()).collect(),
        version: RegoVersion::V0,
    };
    let good = with(&[
        "package lib.a\nf(x) = y { y := data.lib.b.g(x) }",
        "package lib.b\ng(x) = y { y := sprintf(\"%d\", [x]) }",
    ]);
    let found = Program::compile(&good).unwrap().evaluator().evaluate(
        &Value::new_object(),
        &Value::new_object(),
        &Budget::default(),
    );
    assert_eq!(found.unwrap().first().map(|violation| violation.message.as_str()), Some("1"));
    for (libs, want) in [
        (&["package foo\nf(x) = x { true }"][..], "not found in lib prefixes"),
        (&["package lib\nf(x) = x { true }"][..], "not found in lib prefixes"),
        (
            &["package lib.a\nf(x) = y { y := data.lib.b.g(x) }", "package lib.b\ng(x) = y { y := data.lib.a.f(x) }"][..],
            "rego_recursion_error",
        ),
    ] {
        let error = Program::compile(&with(libs)).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
}

#[test]
fn evaluations_end() {
    let endless = "x := numbers.range(1, 500)\ny := numbers.range(1, 500)\nx[i] == y[j] + 2000\nmsg := \"m\"";
    let program = Program::compile(&code(&format!("package t\nviolation[{{\"msg\": msg}}] {{ {endless} }}"))).unwrap();
    let nothing = Value::new_object();
    let budget = Budget { steps: 20_000, ..Budget::default() };
    let stopped = program.evaluator().evaluate(&nothing, &nothing, &budget);
    assert_eq!(stopped, Err(EvaluationError::Steps(20_000)));
    let interrupted = Budget { interrupt: Some(std::rc::Rc::new(|| true)), ..Budget::default() };
    assert_eq!(program.evaluator().evaluate(&nothing, &nothing, &interrupted), Err(EvaluationError::Deadline));
    assert!(message("x := numbers.range(1, 1000000000)\nmsg := \"m\"").unwrap_err().contains("larger than"));
    let doubled = (0..40).map(|n| format!("a{} := concat(\"\", [a{n}, a{n}])\n", n + 1)).collect::<Vec<_>>().concat();
    assert!(message(&format!("a0 := \"xxxxxxxxxx\"\n{doubled}msg := a40")).unwrap_err().contains("a text larger than"));
}

/// Tests have less stack than the threads that load templates.
fn on_large_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run).unwrap().join().unwrap();
}

#[test]
fn deep_nesting_and_long_chains_are_refused_when_a_template_is_loaded() {
    on_large_stack(refuse_deep_templates);
}

fn refuse_deep_templates() {
    let deep = format!("package t\nviolation[{{\"msg\": \"m\"}}] {{ x := {}1{} }}", "[".repeat(500), "]".repeat(500));
    assert!(Program::compile(&code(&deep)).is_err());
    let chain = (0..800).map(|n| format!("f{n}(x) = y {{ y := f{}(x) }}\n", n + 1)).collect::<Vec<_>>().concat();
    let chain = format!("package t\nviolation[{{\"msg\": \"m\"}}] {{ f0(1) }}\n{chain}f800(x) = x {{ true }}\n");
    let error = Program::compile(&code(&chain)).map(|_| ()).unwrap_err();
    assert_eq!(error.kind, RegoErrorKind::Limit, "{error}");
}

#[test]
fn messages_that_are_no_texts_fail_and_missing_ones_are_passed_over() {
    assert!(message("msg := 1").unwrap_err().contains("not a string"));
    let text = "package t\nviolation[r] { r := {\"message\": \"m\"} }\nviolation[r] { r := {\"msg\": \"n\"} }\n";
    assert_eq!(messages(text), Ok(vec!["n".into()]));
}

#[test]
fn version_one_needs_its_keywords_and_version_zero_must_not_use_them() {
    let v1 = RegoCode {
        version: RegoVersion::V1,
        ..code(
            "package t\nviolation contains {\"msg\": msg} if { some x in [1, 2]; not x > 1; msg := sprintf(\"%d\", [x]) }",
        )
    };
    let found = Program::compile(&v1).unwrap().evaluator().evaluate(
        &Value::new_object(),
        &Value::new_object(),
        &Budget::default(),
    );
    assert_eq!(found.unwrap().len(), 1);
    let v0_text = "package t\nviolation[{\"msg\": \"m\"}] { true }";
    assert!(Program::compile(&RegoCode { version: RegoVersion::V1, ..code(v0_text) }).is_err());
}
