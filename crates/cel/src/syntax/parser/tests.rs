use super::*;
use crate::print;

fn read(text: &str) -> Ast {
    parse(text, &Limits::default()).unwrap_or_else(|error| panic!("{text}: {error} at {:?}", error.span))
}

/// The canonical text, which shows how the parts belong together.
fn shape(text: &str) -> String {
    print(&read(text))
}

fn refusal(text: &str) -> CelError {
    parse(text, &Limits::default()).expect_err(text)
}

#[test]
fn operators_bind_as_the_specification_says() {
    assert_eq!(shape("1+2*3-4"), "1 + 2 * 3 - 4");
    assert_eq!(shape("(1+2)*3"), "(1 + 2) * 3");
    assert_eq!(shape("1-(2-3)"), "1 - (2 - 3)");
    assert_eq!(shape("a==b<c in d"), "a == b < c in d");
    assert_eq!(shape("a || b && c || d"), "a || b && c || d");
    assert_eq!(shape("(a || b) && (c)"), "(a || b) && c");
    assert_eq!(shape("(a && b) && c"), "(a && b) && c", "terms in parentheses stay together");
    assert_eq!(shape("a ? b : c ? d : e"), "a ? b : c ? d : e");
    assert_eq!(shape("(a ? b : c) ? (d ? e : f) : g"), "(a ? b : c) ? (d ? e : f) : g");
    assert_eq!(shape("-a.b[c](1)".replace("](1)", "].d(1)").as_str()), "-a.b[c].d(1)");
}

#[test]
fn runs_of_unary_operators_cancel() {
    assert_eq!(shape("!!a"), "a");
    assert_eq!(shape("!!!a"), "!a");
    assert_eq!(shape("--a"), "a");
    assert_eq!(shape("---1"), "-(1)");
    assert_eq!(shape("--1"), "1");
    assert_eq!(shape("-1"), "-1");
    assert_eq!(shape("-(1)"), "-(1)");
    assert_eq!(shape("- 1.5"), "-1.5");
    assert_eq!(shape("!-1"), "!-1");
    for text in ["!-a", "-!a", "--9223372036854775808", "9223372036854775808", "!", "-"] {
        assert_eq!(refusal(text).class, ErrorClass::Syntax, "{text}");
    }
    assert_eq!(shape("-9223372036854775808"), "-9223372036854775808");
}

#[test]
fn literals_have_their_values() {
    assert_eq!(shape("0xff"), "255");
    assert_eq!(shape("0xFFu"), "255u");
    assert_eq!(shape(".5e1"), "5.0");
    assert_eq!(shape("1e9"), "1000000000.0");
    assert_eq!(shape(r#"'a"\x41\101A\U00000041\n'"#), r#""a\"AAAA\n""#);
    assert_eq!(shape(r"b'\xffé\000'"), r#"b"\xff\xc3\xa9\x00""#);
    assert_eq!(shape("'''a\r\nb'''"), r#""a\nb""#);
    assert_eq!(shape(r"r'\n'"), r#""\\n""#);
    assert_eq!(shape(r#"bR"\x"  "#), r#"b"\\x""#);
    for text in ["'\\ud800'", "'\\U00110000'", "b'\\u0041'", "'\\8'", "'\\400'", "'a\nb'", "'a", "1.", "1e999", "'\\'"]
    {
        assert_eq!(refusal(text).class, ErrorClass::Syntax, "{text}");
    }
}

#[test]
fn brackets_may_end_with_a_comma_except_calls() {
    assert_eq!(shape("[1,2,]"), "[1, 2]");
    assert_eq!(shape("[,]"), "[]");
    assert_eq!(shape("{'a':1,}"), "{\"a\": 1}");
    assert_eq!(shape("{,}"), "{}");
    assert_eq!(shape("a.B{c: 1, ?d: e,}"), "a.B{c: 1, ?d: e}");
    assert_eq!(shape("[?a, b[?0].?c, {?'k': v}]"), "[?a, b[?0].?c, {?\"k\": v}]");
    assert_eq!(shape("{a ? b : c : d}"), "{a ? b : c: d}");
    assert_eq!(refusal("f(1,)").class, ErrorClass::Syntax);
    assert_eq!(refusal("[1,,]").class, ErrorClass::Syntax);
}

#[test]
fn names_may_be_reserved_words_only_behind_a_dot() {
    assert_eq!(shape("a.namespace.package()"), "a.namespace.package()");
    assert_eq!(shape(".a.`b-c/d`"), ".a.`b-c/d`");
    for text in [
        "namespace",
        "for(1)",
        "a.true",
        "a.in",
        "in",
        ".",
        "a.",
        "a..b",
        "`a`",
        "a ? b ? c : d : e",
        "a b",
        "(",
        ")",
        "",
        "a[",
        "f(",
    ] {
        assert_eq!(refusal(text).class, ErrorClass::Syntax, "{text}");
    }
}

#[test]
fn errors_are_where_the_wrong_word_is() {
    let error = refusal("a &&\n  b +* c");
    assert_eq!(error.span, Span::new(10, 11));
    assert_eq!(error.to_string(), "expected a value, found `*`");
    assert_eq!(refusal("a + 'x\\q'").span, Span::new(6, 8));
    assert_eq!(refusal("a ä").span, Span::new(2, 4));
}

#[test]
fn comments_and_blanks_are_skipped() {
    assert_eq!(shape(" a // x && y\n\t+\u{c}b//"), "a + b");
}

/// The boundaries were measured with cel-go's parser (Kubernetes 1.36).
#[test]
fn nesting_is_limited_as_in_kubernetes() {
    let accepted = |text: &str| parse(text, &Limits::default()).is_ok();
    let chain = |first: &str, more: &str, count: usize| format!("{first}{}", more.repeat(count));
    assert!(accepted(&chain("1", "+1", 250)) && !accepted(&chain("1", "+1", 251)));
    assert!(accepted(&chain("a", ".b", 250)) && !accepted(&chain("a", ".b", 251)));
    assert!(accepted(&chain("a", "[0]", 250)) && !accepted(&chain("a", "[0]", 251)));
    assert!(accepted(&chain("a", ".f()", 250)) && !accepted(&chain("a", ".f()", 251)));
    let nested = |open: &str, close: &str, count: usize| format!("{}1{}", open.repeat(count), close.repeat(count));
    assert!(accepted(&nested("(", ")", 249)) && !accepted(&nested("(", ")", 250)));
    assert!(accepted(&nested("[", "]", 249)) && !accepted(&nested("[", "]", 250)));
    assert!(accepted(&nested("1+(", ")", 124)) && !accepted(&nested("1+(", ")", 125)));
    assert!(accepted(&nested("a==(", ")", 124)) && !accepted(&nested("a==(", ")", 125)));
    assert!(accepted(&nested("a?b:", "", 249)) && !accepted(&nested("a?b:", "", 250)));
    assert!(accepted(&chain("a", "&&a", 20_000)) && accepted(&chain("a", "||a", 20_000)));
    assert!(accepted(&format!("{}a", "!".repeat(50_000))));
}

#[test]
fn long_texts_are_refused_with_the_limit() {
    let error = refusal(&"é".repeat(100_001));
    assert_eq!(error.class, ErrorClass::TooLarge);
    assert!(error.to_string().contains("100000"), "{error}");
    assert!(parse(&format!("'{}'", "é".repeat(99_998)), &Limits::default()).is_ok());
}
