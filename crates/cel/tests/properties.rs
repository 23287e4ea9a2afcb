//! What holds for all expressions: the order of terms does not matter, more data never costs less, parts are unknown only
//! where they matter.

use clearway_cel::{Bindings, Budget, DeclaredType, Environment, Limits, Outcome, Program, ResultType};
use proptest::prelude::*;
use serde_json::{Value, json};

fn environment() -> Environment {
    Environment::standard().declare("object", &DeclaredType::Dyn)
}

/// A short text for every outcome.
fn outcome(expression: &str, object: &Value) -> (String, u64) {
    let program = Program::compile(expression, &environment(), &Limits::default()).unwrap();
    let unknown = |value: &Value| value == "(removed)";
    let bindings = Bindings::new().with("object", object).with_unknown(&unknown);
    let evaluation = program.evaluate(bindings, &Budget::default());
    let text = match evaluation.outcome {
        Outcome::Value(value) => value.canonical(),
        Outcome::Unknown => "unknown".to_owned(),
        // Which of two errors is told depends on the order; that there is one does not.
        Outcome::Error(_) => "error".to_owned(),
    };
    (text, evaluation.cost)
}

/// Terms that are true, false, no bool, an error, or unknown.
fn term() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "true",
        "false",
        "object.yes",
        "object.no",
        "object.missing",
        "object.removed",
        "object.number",
        "(1 / 0 == 1)",
        "object.list.all(x, x > 1)",
        "object.list.exists(x, 6 / x == 3)",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(one, two)| format!("({one} && {two})")),
            (inner.clone(), inner.clone()).prop_map(|(one, two)| format!("({one} || {two})")),
            inner.clone().prop_map(|one| format!("!({one})")),
            (inner.clone(), inner.clone(), inner).prop_map(|(one, two, three)| format!("({one} ? {two} : {three})")),
        ]
    })
}

fn object() -> Value {
    json!({"yes": true, "no": false, "removed": "(removed)", "number": 3, "list": [0, 1, 2, 3]})
}

/// Values of every kind, some of which were removed, or hold something that was.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "object",
        "object.removed",
        "object.holder",
        "object.mixed",
        "object.nested",
        "object.list",
        "object.name",
        "object.missing",
        "'a'",
        "1",
        "['a', 'b']",
        "[['a'], ['b']]",
    ]);
    leaf.prop_map(|text| format!("dyn({text})")).prop_recursive(4, 24, 2, |inner| {
        let forms = "[$x] | $x[0] | $x.removed | $x.?removed.orValue('a') | $x.?removed.hasValue() | has($x.removed) | \
            $x.size() | size($x) | type($x) == string | string($x) | int($x) | $x.distinct() | $x.sort() | \
            $x.isSorted() | $x.min() | $x.max() | $x.sum() | $x.flatten() | $x.flatten(2) | $x.reverse() | \
            $x.slice(0, 1) | $x.first() | $x.last().hasValue() | $x.join(',') | $x.contains('a') | $x.matches('^a') | \
            $x.split('a') | '%s'.format([$x]) | '%s'.format([[$x]]) | $x.all(e, e == 'a') | $x.exists(e, e == 'a') | \
            $x.exists_one(e, e == 'a') | $x.map(e, [e]) | $x.filter(e, e != 'a') | $x.sortBy(e, e) | \
            $x.transformList(i, e, e == 'a') | $x.transformMap(k, e, e == 'a') | $x in [['a', 'b'], ['a', 'c']] | \
            {'k': $x} | optional.of($x).hasValue() | optional.ofNonZeroValue($x).hasValue() | quantity($x).isInteger() | \
            isIP($x) | $x == $y | $x != $y | $x < $y | $x + $y | $x in $y | $x.indexOf($y) | $x.lastIndexOf($y) | \
            sets.contains($x, $y) | sets.equivalent($x, $y) | sets.intersects($x, $y) | $x == 'a' ? $x : $y | \
            $x == 'a' ^^ $y == 'a' | $x == 'a' && $y == 'a' | [$x, $y]";
        let forms: Vec<String> = forms.split('|').map(|form| form.trim().replace("^^", "||")).collect();
        let form = prop::sample::select(forms);
        (form, inner.clone(), inner)
            .prop_map(|(form, x, y)| format!("dyn({})", form.replace("$x", &x).replace("$y", &y)))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(500), ..ProptestConfig::default() })]

    #[test]
    fn and_and_or_are_commutative(one in term(), two in term()) {
        let object = object();
        for operator in ["&&", "||"] {
            let (forward, _) = outcome(&format!("{one} {operator} {two}"), &object);
            let (backward, _) = outcome(&format!("{two} {operator} {one}"), &object);
            prop_assert_eq!(forward, backward, "{} {} {}", one, operator, two);
        }
    }

    #[test]
    fn and_and_or_are_associative(terms in prop::collection::vec(term(), 3)) {
        let object = object();
        for operator in ["&&", "||"] {
            let [one, two, three] = terms.as_slice() else { continue };
            let (left, _) = outcome(&format!("({one} {operator} {two}) {operator} {three}"), &object);
            let (right, _) = outcome(&format!("{one} {operator} ({two} {operator} {three})"), &object);
            prop_assert_eq!(left, right);
        }
    }

    #[test]
    fn the_laws_of_de_morgan_hold(one in term(), two in term()) {
        let object = object();
        let (left, _) = outcome(&format!("!({one} && {two})"), &object);
        let (right, _) = outcome(&format!("!({one}) || !({two})"), &object);
        prop_assert_eq!(left, right);
    }

    #[test]
    fn a_known_result_does_not_depend_on_what_was_removed(expression in term(), instead in prop::bool::ANY) {
        let removed = object();
        let mut known = object();
        known["removed"] = json!(instead);
        let (without, _) = outcome(&expression, &removed);
        if without != "unknown" {
            prop_assert_eq!(without, outcome(&expression, &known).0, "{}", expression);
        }
    }

    #[test]
    fn no_function_gives_away_what_was_removed(expression in value(), instead in prop::sample::select(vec![
        json!("a"), json!("b"), json!(""), json!("127.0.0.1"), json!(1), json!(true), json!(null), json!([]),
        json!(["a"]), json!(["b", "a"]), json!({}), json!({"removed": "a"}),
    ])) {
        let with = |removed: Value| json!({
            "removed": removed, "holder": {"removed": removed}, "mixed": ["a", removed, "c"],
            "nested": [[removed], ["a"]], "list": ["a", "b", "c"], "name": "a",
        });
        let run = |object: &Value| {
            let environment = Environment::resource_rule().with_result(ResultType::Any);
            let program = Program::compile(&expression, &environment, &Limits::default()).ok()?;
            let unknown = |value: &Value| value == "(removed)";
            let bindings = Bindings::new().with("object", object).with_unknown(&unknown);
            Some(match program.evaluate(bindings, &Budget::default()).outcome {
                // Lists and maps may hold what is not known.
                Outcome::Value(value) if matches!(value.type_name(), "list" | "map" | "optional_type") => {
                    "unknown".to_owned()
                }
                Outcome::Value(value) => value.canonical(),
                Outcome::Unknown => "unknown".to_owned(),
                Outcome::Error(_) => "error".to_owned(),
            })
        };
        let known = run(&with(json!("(removed)")));
        if known.as_deref().is_some_and(|known| known != "unknown") {
            prop_assert_eq!(known, run(&with(instead)), "{}", expression);
        }
    }

    #[test]
    fn more_data_never_costs_less(
        list in prop::collection::vec(0_i64..5, 0..20),
        more in prop::collection::vec(0_i64..5, 0..20),
        text in "[a-c]{0,40}",
        longer in "[a-c]{0,40}",
    ) {
        let small = json!({"list": list, "text": text});
        let both = [list, more].concat();
        let large = json!({"list": both, "text": format!("{text}{longer}")});
        for expression in [
            "object.list.map(x, x * 2)",
            "object.list.filter(x, x > 2)",
            "object.list.exists_one(x, x == 1)",
            "object.list.all(x, x >= 0)",
            "object.text + object.text",
            "object.text.matches('^[a-z]*$')",
            "object.text.contains('zzz')",
            "object.text == object.text",
            "object.text.replace('a', 'b')",
            "object.list.distinct()",
            "4 in object.list && false || object.list.map(x, string(x)).join(',') != ''",
        ] {
            let (_, less) = outcome(expression, &small);
            let (_, most) = outcome(expression, &large);
            prop_assert!(less <= most, "{}: {} and {}", expression, less, most);
        }
    }

    #[test]
    fn a_larger_budget_gives_the_same(expression in term(), cost in 0_u64..200) {
        let environment = environment().with_result(ResultType::Any);
        let program = Program::compile(&expression, &environment, &Limits::default()).unwrap();
        let object = object();
        let run = |cost: u64| {
            let evaluation = program.evaluate(Bindings::new().with("object", &object), &Budget::with_cost(cost));
            (format!("{:?}", evaluation.outcome), evaluation.cost)
        };
        let (all, used) = run(1_000_000);
        let (some, spent) = run(cost);
        let right = if cost >= used { some == all } else { some.contains("CostLimit") };
        prop_assert!(right, "{} with {} of {}: {}", expression, cost, used, some);
        prop_assert!(spent <= used);
    }
}

#[test]
fn what_is_removed_is_unknown_and_not_an_error() {
    let object = json!({"spec": {"secret": "(removed)", "name": "a", "list": ["x", "(removed)"]}});
    for (expression, wanted) in [
        ("object.spec.secret == 'x'", "unknown"),
        ("object.spec.secret.size() > 3", "unknown"),
        ("object.spec.secret == 'x' || object.spec.name == 'a'", "true"),
        ("object.spec.secret == 'x' && object.spec.name == 'b'", "false"),
        ("object.spec.name == 'a' ? 1 : object.spec.secret", "int(1)"),
        ("object.spec.secret == 'x' ? 1 : 2", "unknown"),
        ("has(object.spec.secret)", "true"),
        ("has(object.spec.other)", "false"),
        ("object.spec.list.exists(x, x == 'x')", "true"),
        ("object.spec.list.exists(x, x == 'y')", "unknown"),
        ("object.spec.list.all(x, x == 'y')", "false"),
        ("'x' in object.spec.list", "true"),
        ("'y' in object.spec.list", "unknown"),
        ("object.spec.list == ['x', 'y']", "unknown"),
        ("object.spec.list == ['z', 'y']", "false"),
        ("object.spec.list.size()", "int(2)"),
        ("object.spec.secret == object.spec.missing", "unknown"),
        ("object.spec.missing == object.spec.secret", "error"),
        ("object.spec.secret == 'x' || 1 / 0 == 1", "unknown"),
    ] {
        assert_eq!(outcome(expression, &object).0, wanted, "{expression}");
    }
}
