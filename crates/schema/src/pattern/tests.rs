use super::*;

fn matches(pattern: &str, text: &str) -> bool {
    let translated = GoPattern::translate(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    regex::bytes::Regex::new(&translated.rust).unwrap().is_match(text.as_bytes())
}

#[test]
fn classes_are_about_ascii() {
    assert!(matches(r"^\d+$", "123") && !matches(r"^\d+$", "١"));
    assert!(matches(r"^[\w-]+$", "a-b_1") && !matches(r"^\w$", "é"));
    assert!(matches(r"\bfoo\b", "a foo b") && matches(r"o\Bo", "foo"));
    assert!(matches(r"^\s$", "\n") && !matches(r"^\s$", "\u{b}"));
    assert!(matches(r"^\pL\p{Greek}\P{L}$", "éα1"));
    assert!(matches(r"^[[:alpha:]\d]+$", "a1"));
}

#[test]
fn what_one_dialect_has_and_the_other_has_not_is_text() {
    assert!(matches(r"^a{,2}$", "a{,2}") && matches(r"^\<a\>$", "<a>"));
    assert!(matches(r"^[a&&b]+$", "&ab") && matches(r"^[]a]+$", "]a") && matches(r"^[[a]+$", "[a"));
    assert!(matches(r"^\Q.+\E.$", ".+x") && matches(r"^\x{e9}\101\a$", "éA\u{7}"));
    assert!(matches(r"(?i)^ÀB$", "àb") && matches(r"^(?s:.)$", "\n") && matches("(?)a", "a"));
    assert!(matches(r"^a#b c$", "a#b c"));
}

#[test]
fn what_go_refuses_is_refused() {
    for pattern in [
        "(",
        ")",
        "[a",
        "a**",
        "a{2}{3}",
        "*",
        "(*)",
        "|*",
        "a{1001}",
        "a{3,2}",
        "(a{100}){100}",
        r"\1",
        r"\8",
        r"\q",
        "(?=a)",
        "(?<=a)",
        "(?P<n>a)(?P<n>b)",
        "(?x)a",
        r"[z-a]",
        r"[\b]",
        r"\C",
        r"a\",
        "(?i",
        r"\x{110000}",
        "(?P=n)",
        "[[:nope:]]",
        "(?-)",
        r"\xZ",
    ] {
        assert!(GoPattern::translate(pattern).is_err(), "{pattern}");
    }
    for pattern in ["", "a|", "()", "a{1000}", "(a{10}){100}", "^*", r"\0", "a??", "(?i-s:a)", r"[a-\x7f]", "x{0}"] {
        assert!(GoPattern::translate(pattern).is_ok(), "{pattern}");
    }
}

/// Classes of all of Unicode are what takes long to read, most where case is ignored.
#[test]
fn reading_is_counted_by_the_classes() {
    let reading = |pattern: &str| GoPattern::translate(pattern).unwrap().reading;
    assert!(reading("abc") < 10 && reading("(?i)[a-z]{1000}") < 40);
    assert!(reading(r"\pL") > 1_000 && reading(&r"\pL".repeat(100)) > 100_000);
    for class in [r"\pL", r"[\PL]", r"[\W]", "[[:^alpha:]]", r"[\x{1}-\x{10FFFF}]"] {
        assert!(reading(class) < 2_000, "{class}");
        assert!(reading(&format!("a(?si:{class})")) > 60_000, "{class}");
    }
}

/// Braces and brackets without an end are letters, of which there may be many.
#[test]
fn what_has_no_end_is_text() {
    assert!(matches(r"^{1,{2{}$", "{1,{2{}") && matches(r"^[[:a]+$", "[:a"));
    for text in ["{".repeat(200_000), format!("[{}a]", "[:".repeat(100_000))] {
        assert!(GoPattern::translate(&text).is_ok());
    }
}

#[test]
fn counts_are_in_the_size() {
    let states = |pattern: &str| GoPattern::translate(pattern).unwrap().states;
    assert!(states("abc") < 10 && states("a{1000}") > 1_000 && states("(ab{10}){50}") > 500);
}
