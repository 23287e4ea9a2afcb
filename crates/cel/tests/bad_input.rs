//! What strangers may write: each gives an error with a place, within the limits of time and memory, on a small stack.

use clearway_cel::{Bindings, Budget, DeclaredType, Environment, ErrorClass, Limits, Outcome, Program, parse, print};
use serde_json::{Value, json};

/// More nanoseconds of computing than anything here takes.
const TIME: u64 = 60_000_000_000;

/// The nanoseconds that this thread has computed for, which do not grow while it waits for a processor.
fn computed() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

/// Runs on a thread with a stack of 512 KiB, which is a quarter of what threads have by default.
fn on_a_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let timed = || (work(), computed());
    let (result, time) = std::thread::Builder::new().stack_size(512 << 10).spawn(timed).unwrap().join().unwrap();
    assert!(time.is_none_or(|time| time < TIME), "it took {time:?} ns");
    result
}

fn environment() -> Environment {
    Environment::standard().declare("object", &DeclaredType::Dyn)
}

/// The class of the error that an expression comes to, when it is loaded or evaluated; nothing if it has a value.
fn class_of(expression: String) -> Option<ErrorClass> {
    on_a_small_stack(move || {
        let object = json!({"list": vec![1; 200], "text": "a".repeat(100_000), "deep": deep(100)});
        let program = match Program::compile(&expression, &environment(), &Limits::default()) {
            Ok(program) => program,
            Err(error) => {
                assert!(error.class.is_load_time(), "{error}");
                assert!(error.span.end as usize <= expression.len() && error.span.start <= error.span.end);
                return Some(error.class);
            }
        };
        let evaluation = program.evaluate(Bindings::new().with("object", &object), &Budget::default());
        match evaluation.outcome {
            Outcome::Value(_) | Outcome::Unknown => None,
            Outcome::Error(error) => {
                assert!(error.span.end as usize <= expression.len() && error.span.end > 0, "{error:?}");
                assert!(!error.to_string().contains("aaa"), "an error repeats data: {error}");
                Some(error.class)
            }
        }
    })
}

fn deep(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!({"a": [inner]}))
}

#[test]
fn deep_nesting_is_refused() {
    for text in [
        "(".repeat(100_000),
        "[".repeat(60_000),
        "{1:".repeat(30_000),
        "a.".repeat(40_000) + "a",
        "f(".repeat(40_000),
        "-(".repeat(40_000),
        "true?".repeat(15_000),
        "1+".repeat(40_000) + "1",
        "1 == ".repeat(15_000) + "1",
        "[1].map(x, ".repeat(5_000) + "1",
        "a[".repeat(40_000),
    ] {
        let class = class_of(text);
        assert!(matches!(class, Some(ErrorClass::Syntax | ErrorClass::TooLarge)), "{class:?}");
    }
}

#[test]
fn long_texts_of_operators_end() {
    // Runs of these do not nest, and are read however long they are.
    assert_eq!(class_of("!".repeat(90_000) + "true"), None);
    assert_eq!(class_of("true && ".repeat(10_000) + "true"), None);
    assert_eq!(class_of("false || ".repeat(10_000) + "true"), None);
    assert_eq!(class_of("-".repeat(99_000) + "1"), None);
    assert_eq!(class_of("1+".repeat(1 << 20) + "1"), Some(ErrorClass::TooLarge));
    assert_eq!(class_of(format!("[{}]", "1,".repeat(40_000))), None);
    assert_eq!(class_of(format!("'{}'", "a".repeat(200_000))), Some(ErrorClass::TooLarge));
}

#[test]
fn towers_of_macros_end_by_their_cost() {
    let tower = |levels: usize| {
        let open = (0..levels).fold(String::new(), |text, level| text + &format!("object.list.map(x{level}, "));
        format!("{open}1{}", ")".repeat(levels))
    };
    assert_eq!(class_of(tower(4)), Some(ErrorClass::CostLimit));
    assert_eq!(class_of(format!("[1,2,3]{}", ".map(x, [x, x, x]).flatten()".repeat(30))), Some(ErrorClass::CostLimit));
    // `optMap` doubles what it is called on.
    let doubled = format!("optional.of(1){}", ".optMap(x, x)".repeat(60));
    assert_eq!(class_of(doubled), Some(ErrorClass::TooLarge));
    // Values that share their parts are larger than what holds them.
    let shared =
        (0..60).fold("[1, 2]".to_owned(), |inner, level| format!("cel.bind(v{level}, {inner}, [v{level}, v{level}])"));
    assert_eq!(class_of(format!("{shared} == {shared}")), Some(ErrorClass::WorkLimit));
}

#[test]
fn texts_and_lists_do_not_grow_without_limit() {
    let grown = |count: usize| {
        (0..count)
            .fold("'0123456789'".to_owned(), |inner, level| format!("cel.bind(v{level}, {inner}, v{level} + v{level})"))
    };
    assert!(class_of(grown(60)).is_some_and(ErrorClass::is_budget));
    let lists = (0..60)
        .fold("[1, 2, 3]".to_owned(), |inner, level| format!("cel.bind(v{level}, {inner}, v{level} + v{level})"));
    assert!(class_of(lists).is_some_and(ErrorClass::is_budget));
    assert!(class_of("lists.range(9223372036854775807)".to_owned()).is_some_and(ErrorClass::is_budget));
    let replaced = "object.text.replace('', object.text)".to_owned();
    assert!(class_of(replaced).is_some_and(ErrorClass::is_budget));
    assert!(
        class_of("object.list.map(x, object.text).join(object.text)".to_owned()).is_some_and(ErrorClass::is_budget)
    );
}

#[test]
fn regular_expressions_stay_within_the_limits_of_re2() {
    for pattern in ["(", "a**", "\\8", "(?=a)", "a{1001}", "((a{100}){100}){100}", "[z-a]", "(?P<n>a)(?P<n>b)", "\\pX"]
    {
        let escaped = pattern.replace('\\', "\\\\");
        assert_eq!(class_of(format!("'x'.matches('{escaped}')")), Some(ErrorClass::InvalidRegex), "{pattern}");
    }
    assert_eq!(class_of("object.text.matches('(a*)*$')".to_owned()), None);
    assert!(class_of("object.text.matches(object.text)".to_owned()).is_some_and(ErrorClass::is_budget));
}

#[test]
fn numbers_and_times_end_at_their_ranges() {
    for (expression, class) in [
        ("9223372036854775807 + 1", ErrorClass::Overflow),
        ("-9223372036854775808 - 1", ErrorClass::Overflow),
        ("-(-9223372036854775808)", ErrorClass::Overflow),
        ("-9223372036854775808 / -1", ErrorClass::Overflow),
        ("-9223372036854775808 % -1", ErrorClass::Overflow),
        ("18446744073709551615u + 1u", ErrorClass::Overflow),
        ("0u - 1u", ErrorClass::Overflow),
        ("9223372036854775808", ErrorClass::Syntax),
        ("18446744073709551616u", ErrorClass::Syntax),
        ("1e999", ErrorClass::Syntax),
        ("int(9223372036854775808.0)", ErrorClass::Overflow),
        ("uint(-1)", ErrorClass::Overflow),
        ("int(double('NaN'))", ErrorClass::Overflow),
        ("duration('300000000h')", ErrorClass::Conversion),
        (
            "duration('9000000h') + duration('0s') - duration('-9000000h') - duration('-9000000h')",
            ErrorClass::Conversion,
        ),
        ("timestamp('10000-01-01T00:00:00Z')", ErrorClass::Conversion),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", ErrorClass::Overflow),
        ("timestamp('0001-01-01T00:00:00Z') - duration('1s')", ErrorClass::Overflow),
        ("timestamp(253402300800)", ErrorClass::Overflow),
        ("1 / 0", ErrorClass::DivisionByZero),
        ("1 % 0", ErrorClass::ModulusByZero),
        ("double('NaN') < 1.0", ErrorClass::NotOrdered),
    ] {
        assert_eq!(class_of(expression.to_owned()), Some(class), "{expression}");
    }
}

#[test]
fn keys_and_characters_are_valid() {
    for (expression, class) in [
        ("{double('NaN'): 1}", ErrorClass::InvalidKey),
        ("{1.5: 1}", ErrorClass::InvalidKey),
        ("{null: 1}", ErrorClass::InvalidKey),
        ("{[1]: 1}", ErrorClass::InvalidKey),
        ("{'a': 1, 'a': 2}", ErrorClass::InvalidKey),
        ("{1: 1, 1u: 2}", ErrorClass::InvalidKey),
        ("'\\ud800'", ErrorClass::Syntax),
        ("'\\U00110000'", ErrorClass::Syntax),
        ("'\\xZZ'", ErrorClass::Syntax),
        ("b'\\u00e9'", ErrorClass::Syntax),
        ("'\n'", ErrorClass::Syntax),
        ("string(b'\\xff\\xfe')", ErrorClass::Conversion),
    ] {
        assert_eq!(class_of(expression.to_owned()), Some(class), "{expression}");
    }
}

#[test]
fn deep_data_is_looked_at_without_recursing_too_deep() {
    assert_eq!(class_of("object.deep == object.deep".to_owned()), None);
    assert_eq!(class_of("'%s'.format([object.deep]) != ''".to_owned()), None);
    assert_eq!(class_of("object.list.all(x, object.deep == object.deep)".to_owned()), None);
}

#[test]
fn reading_takes_linear_time() {
    let time = |count: usize| {
        let text = "a.b[0] == 'x' && ".repeat(count) + "true";
        let limits = Limits { code_points: 10_000_000, ..Limits::default() };
        let before = computed()?;
        let ast = parse(&text, &limits).unwrap();
        assert!(parse(&print(&ast), &limits).unwrap().same_tree(&ast));
        computed()?.checked_sub(before)
    };
    let Some(small) = (0..3).map(|_| time(4_000)).min().flatten() else { return };
    let Some(large) = time(64_000) else { return };
    // Sixteen times the text takes some sixteen times as long, and 256 times as long if it were read for each of its parts.
    assert!(large < small * 64, "{small} ns, and {large} ns for sixteen times the text");
}
