//! What an expression makes and searches is paid for before it happens, so that a budget bounds time and memory. Work is
//! counted here, and not time: it is the same on every machine.

use clearway_cel::{
    Bindings, Budget, Environment, ErrorClass, Evaluation, Limits, Outcome, Program, RegexWork, Session,
};
use serde_json::{Value, json};

/// Evaluates an expression over `object`, and hands on what came out.
fn evaluate<T>(expression: &str, object: &Value, budget: Budget, look: impl FnOnce(&Evaluation<'_>) -> T) -> T {
    let environment = Environment::resource_rule();
    let program = Program::compile(expression, &environment, &Limits::default()).unwrap();
    look(&program.evaluate(Bindings::new().with("object", object), &budget))
}

/// The class of the error, and the work that was done before it.
fn ended(expression: &str, object: &Value, budget: Budget) -> (Option<ErrorClass>, u64) {
    evaluate(expression, object, budget, |evaluation| {
        let class = match &evaluation.outcome {
            Outcome::Error(error) => Some(error.class),
            _ => None,
        };
        (class, evaluation.work)
    })
}

fn is_true(expression: &str, object: &Value) -> bool {
    evaluate(expression, object, Budget::default(), |evaluation| evaluation.outcome.as_bool() == Some(true))
}

fn with_text(text: &str) -> Value {
    json!({ "text": text })
}

/// Forty letters become a hundred kilobytes.
fn large_patterns(count: usize) -> String {
    let one = |number: usize| format!("object.text.matches('^[a-z]{{400}}{number}$')");
    (0..count).map(one).collect::<Vec<_>>().join(" || ")
}

#[test]
fn compiled_patterns_take_a_bounded_amount_of_memory() {
    let limits = Limits { regex_bytes: 1 << 17, ..Limits::default() };
    let memory = |text: &str| Program::compile(text, &Environment::resource_rule(), &limits).unwrap().memory();
    let (few, many) = (memory(&large_patterns(2)), memory(&large_patterns(60)));
    assert!(few > 256 << 10, "{few}");
    assert!(many < 2 << 20, "{many}");
    // Those that are not kept are compiled when they are needed, and say the same.
    let text = with_text(&format!("{}59", "a".repeat(400)));
    assert!(is_true(&large_patterns(60), &text));
    assert!(!is_true(&large_patterns(59), &text));
}

/// What searches remember is the caller's, so that a program that is kept does not grow with what it is evaluated on.
#[test]
fn searches_of_a_caller_give_the_same_results() {
    let program = Program::compile(&large_patterns(3), &Environment::resource_rule(), &Limits::default()).unwrap();
    let searches = program.searches();
    for (end, want) in [("2", true), ("3", false)] {
        let object = with_text(&format!("{}{end}", "b".repeat(400)));
        let session = Session::new(Bindings::new().with("object", &object)).with_searches(&program, &searches);
        assert_eq!(session.evaluate(&program, &Budget::default()).outcome.as_bool(), Some(want));
    }
}

/// Every match of this one looks for the end of the text first.
#[test]
fn each_search_of_find_all_is_paid_for() {
    const EXPRESSION: &str = "object.text.findAll('.*[^A-Z]|[A-Z]').size() == 1";
    let work = |length: usize| ended(EXPRESSION, &with_text(&"A".repeat(length)), Budget::default());
    let ((small_class, small), (large_class, large)) = (work(500), work(2_000));
    assert_eq!((small_class, large_class), (None, None));
    assert!(large > small * 12, "four times the text takes sixteen times the work: {small}, {large}");
    let budget = Budget { work: 2_000_000, ..Budget::default() };
    let (class, used) = ended(EXPRESSION, &with_text(&"A".repeat(20_000)), budget);
    assert_eq!(class, Some(ErrorClass::WorkLimit));
    assert!(used <= budget.work, "{used}");
}

/// A pattern may keep so many states at once that each byte is looked at in each of them.
#[test]
fn a_search_is_paid_for_by_the_states_of_its_pattern() {
    let object = with_text(&"ab".repeat(500));
    let (class, work) = ended("object.text.matches('a[ab]{800}c')", &object, Budget::default());
    assert_eq!(class, None);
    assert!(work >= 1_000 * 800 / 4, "{work}");
    let budget = Budget { work: 100_000, ..Budget::default() };
    for call in ["matches('a[ab]{800}c')", "find('a[ab]{800}c') == ''", "findAll('a[ab]{800}c').size() == 0"] {
        let (class, _) = ended(&format!("object.text.{call}"), &object, budget);
        assert_eq!(class, Some(ErrorClass::WorkLimit), "{call}");
    }
}

#[test]
fn ordinary_searches_stay_within_the_budget() {
    let names: Vec<String> = (0..1_000).map(|number| format!("{number:03}-{}", "n".repeat(59))).collect();
    let object = json!({ "names": names, "text": "key-1=value-1,key-2=value-2,".repeat(100) });
    let budget = Budget { work: 10_000_000, ..Budget::default() };
    for expression in [
        "object.names.all(name, name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))",
        "object.text.findAll('[a-z]+-[0-9]+').size() == 400",
        "object.text.split(',').size() == 201",
    ] {
        assert_eq!(ended(expression, &object, budget).0, None, "{expression}");
        assert!(is_true(expression, &object), "{expression}");
    }
}

/// As Go finds them: nothing within a character, and nothing empty at the end of another match.
#[test]
fn find_all_finds_what_go_finds() {
    let object = with_text("");
    for expression in [
        "'baab'.findAll('a*') == ['', 'aa', '']",
        "'aéb'.findAll('') == ['', '', '', '']",
        "'aéb'.findAll('', 3) == ['', '', '']",
        "'é'.findAll('.') == ['é']",
        "'a1b22'.findAll('[0-9]+') == ['1', '22']",
        "'a1b22'.findAll('[0-9]+', 1) == ['1']",
        "'a1b22'.findAll('[0-9]+', 0) == []",
        "'ab ab'.findAll('\\\\bab') == ['ab', 'ab']",
        "'aab'.findAll('^a') == ['a']",
        "''.findAll('x*') == ['']",
        "''.findAll('x') == []",
    ] {
        assert!(is_true(expression, &object), "{expression}");
    }
}

/// Lists stop growing at the limit of memory. Each element of a list is one unit of work, so that the work tells how many
/// were made.
#[test]
fn lists_of_parts_end_at_the_limit_of_memory() {
    const ELEMENTS: u64 = 100;
    const TEXT: u64 = 80_000;
    let budget = Budget { memory: ELEMENTS * 48, work: u64::MAX, ..Budget::default() };
    let object = with_text(&"a,".repeat(40_000));
    for call in ["split('')", "split(',')", "split('a', 30000)"] {
        let (class, work) = ended(&format!("object.text.{call}.size() > 0"), &object, budget);
        assert_eq!(class, Some(ErrorClass::MemoryLimit), "{call}");
        assert!(work < TEXT / 8 + ELEMENTS + 50, "{call}: {work}");
    }
    for pattern in ["", "a"] {
        let (class, work) = ended(&format!("object.text.findAll('{pattern}').size() > 0"), &object, budget);
        assert_eq!(class, Some(ErrorClass::MemoryLimit), "findAll {pattern}");
        let states = 1 + u64::try_from(pattern.len()).unwrap();
        assert!(work < (ELEMENTS + 2) * (TEXT + 8) * states / 4 + 100, "findAll {pattern}: {work}");
    }
}

#[test]
fn formatted_texts_end_at_the_limit_of_memory() {
    const LENGTH: u64 = 10_000;
    let object = json!({ "list": vec!["a".repeat(10_000); 200] });
    let budget = Budget { memory: 5 * LENGTH, ..Budget::default() };
    for expression in ["'%s'.format([object.list]) == ''", "'%s'.format([{'a': object.list}]) == ''"] {
        let (class, work) = ended(expression, &object, budget);
        assert_eq!(class, Some(ErrorClass::MemoryLimit), "{expression}");
        assert!(work < 6 * (LENGTH / 8) + 50, "{expression}: {work}");
    }
    let (class, _) = ended("'%x'.format([object.list[0]]) == ''", &object, Budget { memory: LENGTH, ..budget });
    assert_eq!(class, Some(ErrorClass::MemoryLimit));
}

/// What is searched for is read too, also in a short text.
#[test]
fn long_texts_to_search_for_are_paid_for() {
    let object = with_text(&"ab".repeat(40_000));
    for call in ["split(object.text).size() == 1", "replace(object.text, '') == 'a'", "contains(object.text)"] {
        let (class, work) = ended(&format!("'a'.{call}"), &object, Budget::default());
        assert_eq!(class, None, "{call}");
        assert!(work >= 80_000 / 16, "{call}: {work}");
    }
}

/// The work of compiling an expression, and the class of the error if it is refused.
fn compiled(expression: &str, limits: &Limits) -> (usize, Option<ErrorClass>) {
    let mut work = RegexWork::new(limits.regex_work);
    let refused = Program::compile_within(expression, &Environment::resource_rule(), limits, &mut work).err();
    (work.used(), refused.map(|error| error.class))
}

/// Each of these takes up to a hundred kilobytes, or looks at all of Unicode, for some twenty letters.
#[test]
fn compiling_the_patterns_of_an_expression_is_bounded() {
    let limits = Limits { regex_bytes: 1 << 17, regex_work: 4 << 20, ..Limits::default() };
    let literals = |count: usize, pattern: &dyn Fn(usize) -> String| {
        let one = |number: usize| format!("object.text.matches(r'{}')", pattern(number));
        (0..count).map(one).collect::<Vec<_>>().join("||")
    };
    for pattern in [r"\pL", r"(?i)[\PL]{0}"] {
        let text = literals(700, &|number| format!("{pattern}{number}"));
        let (used, refused) = compiled(&text, &limits);
        assert!(used <= limits.regex_work, "{pattern}: {used}");
        assert_eq!(refused, Some(ErrorClass::TooLarge), "{pattern}");
        // The work is that of a few dozen, wherever the others are.
        let (few, refused) = compiled(&literals(5, &|number| format!("{pattern}{number}")), &limits);
        assert_eq!(refused, None, "{pattern}");
        assert!(few * 100 > limits.regex_work, "{pattern}: {few}");
    }
    // What cannot be compiled is paid for as well.
    let (used, refused) = compiled(&literals(700, &|number| format!(r"\pL{{900}}{number}")), &limits);
    assert_eq!(refused, Some(ErrorClass::InvalidConstant));
    assert!(used > limits.regex_bytes, "{used}");
}

/// The check of constants and the code that is written share what they compile, and so do equal texts.
#[test]
fn equal_patterns_are_compiled_once() {
    let limits = Limits::default();
    for function in ["matches('[a-z]{400}')", "find('[a-z]{400}') == ''", "findAll('[a-z]{400}').size() == 0"] {
        let many = vec![format!("object.text.{function}"); 100].join(" || ");
        let one = compiled(&format!("object.text.{function}"), &limits);
        assert_eq!(compiled(&many, &limits), one, "{function}");
        assert!(one.0 < 64 << 10, "{function}: {one:?}");
    }
    let usual = (0..64).map(|number| format!("object.text.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?{number}$')"));
    let (used, refused) = compiled(&usual.collect::<Vec<_>>().join(" || "), &limits);
    assert_eq!(refused, None);
    assert!(used < 1 << 20, "{used}");
}

/// A pattern that is made on evaluation is paid for by what compiling it may write, before it is compiled.
#[test]
fn compiling_on_evaluation_is_paid_for() {
    let object = json!({ "text": r"\pL{5}", "plain": "^a+$" });
    let (class, small) = ended("'b'.matches(object.plain)", &object, Budget::default());
    assert_eq!(class, None);
    let (class, large) = ended("'b'.matches(object.text)", &object, Budget::default());
    assert_eq!(class, None);
    assert!(small < 8 << 10 && large > 128 << 10, "{small}, {large}");
    let budget = Budget { work: 100_000, ..Budget::default() };
    let (class, used) = ended("'b'.matches(object.text)", &object, budget);
    assert_eq!(class, Some(ErrorClass::WorkLimit));
    assert!(used <= budget.work, "{used}");
}
