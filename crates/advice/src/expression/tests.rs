//! What expressions say of objects, and what those of strangers cannot do.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn said(text: &str, object: &Value) -> Result<bool, String> {
    let expression = Expression::new(text, &PatternWork::alone()).map_err(|failure| failure.message)?;
    let holds = expression.holds(object, &mut Steps::new(100_000_000));
    holds.map_err(|failure| failure.map_or("no steps left".to_owned(), |failure| failure.to_string()))
}

#[test]
fn expressions_read_objects() {
    let object = json!({
        "metadata": {"name": "web", "labels": {"a.b/c": "d"}},
        "spec": {"replicas": 3, "ratio": 0.5, "containers": [{"image": "x:1"}, {"image": "y:2"}], "paused": true},
        "status": {"version": "1.4.10", "memory": "2Gi", "since": "2026-05-04T09:00:00Z", "ip": "10.0.0.1"},
    });
    for (text, want) in [
        ("object.spec.replicas == 3", true),
        ("object.spec.replicas > 2 && object.spec.ratio < 1.0", true),
        ("object.spec.paused", true),
        ("has(object.spec.other)", false),
        ("!has(object.spec.other) || object.spec.other", true),
        ("object.metadata.labels['a.b/c'] == 'd'", true),
        ("object.spec.containers.exists(c, c.image.startsWith('x:'))", true),
        ("object.spec.containers.all(c, c.image.endsWith(':1'))", false),
        ("size(object.spec.containers.filter(c, c.image == 'y:2')) == 1", true),
        ("object.spec.containers.map(c, c.image) == ['x:1', 'y:2']", true),
        ("'a.b/c' in object.metadata.labels", true),
        ("object.metadata.name.contains('we') ? int('7') == 7 : false", true),
        ("object.spec.replicas / 2 == 1 && object.spec.?other.orValue(5) == 5", true),
        ("object.spec.containers[0].image.matches('^x:[0-9]+$')", true),
        ("semver(object.status.version).isLessThan(semver('1.4.9'))", false),
        ("quantity(object.status.memory).isGreaterThan(quantity('1Gi'))", true),
        ("timestamp(object.status.since) < timestamp('2026-06-01T00:00:00Z')", true),
        ("cidr('10.0.0.0/8').containsIP(object.status.ip)", true),
    ] {
        assert_eq!(said(text, &object), Ok(want), "{text}");
    }
}

#[test]
fn unsupported_expressions_are_named_and_errors_carry_no_data() {
    let object = json!({"spec": {"list": vec![1; 2_000], "name": "marker", "number": 7}});
    let deep = format!("{}1{} == 1", "(".repeat(300), ")".repeat(300));
    let chain = format!("1{} == 1", "+1".repeat(300));
    let long = format!("'{}' == ''", "1".repeat(20_000));
    for (text, want) in [
        ("object.", "The expression is refused (line 1, column "),
        ("object.spec.name ==\n  other", "The expression is refused (line 2, column 3): "),
        (
            "size(object.spec.list)",
            "The expression is refused (line 1, column 1): the expression must return a bool, not int.",
        ),
        (
            "true && math.abs(object.spec.number) == 7",
            "The expression is refused (line 1, column 9): the function `abs` ",
        ),
        ("1 == 'a'", "The expression is refused (line 1, column 1): "),
        (
            "has(object.metadata.managedFields)",
            "The expression is refused (line 1, column 21): `managedFields` is not in evidence.",
        ),
        ("timestamp('today') < timestamp(object.spec.name)", "The expression is refused (line 1, column 11): "),
        ("object.spec.name.matches('(')", "The expression is refused (line 1, column 26): "),
        (deep.as_str(), "The expression is refused (line 1, column "),
        (chain.as_str(), "The expression is refused (line 1, column "),
        (long.as_str(), "The expression is refused (line 1, column "),
        (
            "lists.range(2000000).all(a, a > 0)",
            "The expression is refused (line 1, column 1): the expression costs at least ",
        ),
        (
            "object.spec.list.all(a, object.spec.list.all(b, a == b))",
            "the evaluation costs more than one object is allowed",
        ),
        ("object.spec[object.spec.name] == 1", "no such field"),
        ("object.spec.name.other == 1", "no such field"),
        ("true && object.spec.name + 1 == 1", "values of different types"),
        ("object.spec.list[30000] == 1", "number or index out of range"),
        ("1 / (object.spec.number - 7) == 1", "number or index out of range"),
        ("timestamp(object.spec.name) > timestamp(0)", "a value that a function does not accept"),
        ("object.spec.list.all(a,\n a.matches(object.spec.name))", "values of different types"),
        ("object.spec.name", "the result is neither true nor false"),
    ] {
        let found = said(text, &object).unwrap_err();
        assert!(found.starts_with(want), "{text}: {found}");
        assert!(!found.contains("marker"), "{text}: {found}");
    }
    assert_eq!(said("object.spec.list.all(a, a == 1)", &object), Ok(true));
}

/// Otherwise an expression could be written so that the place of its error is the value of a field.
#[test]
fn where_an_evaluation_ends_is_not_said() {
    let letter = |letter: char| format!("(object.name.startsWith('{letter}') && 1 / (size(object.name) - 1) == 1)");
    let text = ('a'..='z').map(letter).collect::<Vec<_>>().join(" || ");
    let ends = ["a", "m", "z"].map(|name| said(&text, &json!({"name": name})));
    assert!(ends.iter().all(|end| end == &Err("number or index out of range".to_owned())), "{ends:?}");
}

#[test]
fn what_crashed_or_deceived_an_older_evaluator_does_neither() {
    // Two of a sign cancel each other before types are checked, as in Kubernetes.
    for (text, want) in [("!!true", true), ("--1 == 1", true), ("!!!true", false), ("--object.a == 'b'", true)] {
        assert_eq!(said(text, &json!({"a": "b"})), Ok(want), "{text}");
    }
    for text in ["!1", "!!1", "!object.a", "!!object.a", "-object.a == 1", "b'a'.contains(b'')", "[1].contains(1)"] {
        assert!(said(text, &json!({"a": "b"})).is_err(), "{text}");
    }
    let object = json!({"a": {"b": 1}, "list": vec![1; 200]});
    let text = "object.list.map(a, string(a)).join('')";
    let towers = [
        "object.list.map(a, object.list.map(b, object.list.map(c, object.list.map(d, [a, b, c, d])))) == []".to_owned(),
        format!("[[1]]{} == [[1]]", ".map(a, a + a)".repeat(60)),
        format!("{}x", "object.list.all(x, ".repeat(100)) + " == 1" + &")".repeat(100),
        format!("'{}'.matches('((((a{{20}}){{20}}){{20}}){{20}}){{20}}')", "a".repeat(1_000)),
        format!("{text}{} == ''", format!(".replace('', {text})").repeat(4)),
    ];
    for text in &towers {
        assert!(said(text, &object).is_err(), "{text}");
    }
    // Long chains, on a stack that is no larger than that of any thread.
    for (start, link) in
        [("1", "+1"), ("object", ".a"), ("object", "[0]"), ("true", "&&true"), ("''", "+''"), ("", "!")]
    {
        for times in [200, 8_000] {
            let chain = format!("{start}{}", link.repeat(times));
            let run = move || drop(said(&chain, &json!({})));
            std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
        }
    }
}

#[test]
fn an_expression_that_reads_a_removed_field_is_not_evaluated() {
    let object = json!({
        "env": [{"name": "MODE", "value": REMOVED}], "args": ["--token", REMOVED], "kept": 1, "key": "args",
        "flag": format!("--password={REMOVED}"), "data": REMOVED,
    });
    for text in [
        "object.env.exists(e, e.value == 'x')",
        "object.args[1] == 'x'",
        "object['args'] == ['--token', 'x']",
        // Without naming the field, or any field at all.
        "object[object.key][1].startsWith('a')",
        "object.all(k, object[k] != 'x')",
        "object == {'env': object.env, 'args': object.args, 'kept': dyn(1), 'key': dyn('args'), 'flag': dyn('a'), 'data': dyn('b')}",
        "'%s'.format([object]) == ''",
        "object.args.join(' ').contains('removed')",
        "object.args.exists(a, a.contains('removed'))",
        "sets.contains(object.args, ['x'])",
        "['--token', 'x'] == object.args",
        "object.flag.startsWith('--password')",
        "type(object.data) == string",
        "has(object.data.password)",
        "'removed' in object.data",
        "size(object.flag) > 3",
    ] {
        assert_eq!(said(text, &object), Err(ObjectError::Removed.as_str().to_owned()), "{text}");
    }
    // What does not depend on it is told.
    for text in
        ["object.kept == 1", "has(object.args)", "object.args.size() == 2", "object.kept == 1 || object.data == 'x'"]
    {
        assert_eq!(said(text, &object), Ok(true), "{text}");
    }
}

#[test]
fn many_objects_share_one_budget() {
    let expression = Expression::new("object.list.all(a, a == 1)", &PatternWork::alone()).unwrap();
    let object = json!({"list": vec![1; 1_000]});
    let mut steps = Steps::new(100_000);
    let held: Vec<_> = (0..20).map(|_| expression.holds(&object, &mut steps)).collect();
    assert_eq!((held[0], held[19]), (Ok(true), Err(None)));
}

#[test]
fn every_part_is_explained_and_what_was_removed_is_not_shown() {
    let object = json!({"spec": {"replicas": 3, "token": REMOVED}});
    let expression =
        Expression::new("object.spec.replicas > 5 ||\n  object.spec.token == 'x'", &PatternWork::alone()).unwrap();
    let parts = expression.explain(&object);
    let shown: Vec<(usize, &str, &str)> =
        parts.iter().map(|part| (part.level, part.expression.as_str(), part.value.as_str())).collect();
    assert!(shown.contains(&(1, "object.spec.replicas > 5", "false")), "{shown:?}");
    assert!(shown.contains(&(2, "object.spec.replicas", "3")), "{shown:?}");
    assert!(shown.contains(&(2, "object.spec.token", "unknown")), "{shown:?}");
    assert_eq!(shown.len(), 5, "{shown:?}");
    assert!(parts.iter().all(|part| !part.value.contains(REMOVED)), "{shown:?}");
    // What a field was looked for in is shown if it is not there.
    let parts = Expression::new("object.spec.size.contains('x')", &PatternWork::alone()).unwrap().explain(&object);
    let shown: Vec<(&str, &str)> = parts.iter().map(|part| (part.expression.as_str(), part.value.as_str())).collect();
    let spec = r#"{"replicas": 3, "token": unknown}"#;
    assert_eq!(shown[1..3], [("object.spec.size", "error: no such key"), ("object.spec", spec)]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(512), ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(parts in prop::collection::vec(prop::sample::select(vec![
        "object", ".", "spec", "list", "[", "]", "(", ")", "{", "}", ",", ":", "?", "1", "-1", "9223372036854775807",
        "1u", "1.5", "'a'", "b'x'", "r'\\d'", "true", "null", "==", "<", "&&", "||", "!", "-", "+", "*", "/", "in ",
        "has(", "size(", "all(", "map(", "filter(", "x", "x,", "string(", "int(", "contains(", "é", "`", "\n", " ",
    ]), 0..16)) {
        let _ = said(&parts.concat(), &json!({"spec": {"list": [1, "a", null, 1.5, {"a": []}]}}));
    }
}
