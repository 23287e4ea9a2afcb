//! The dialect of RE2, pattern by pattern.

use super::*;
use proptest::prelude::*;

const SIZE: usize = 256 << 10;

#[test]
fn whole_values_are_matched_in_the_dialect_of_re2() {
    for (pattern, value, expected) in [
        ("a", "abc", false),
        ("a|b", "b", true),
        ("a|b", "ab", false),
        (".*", "a\nb", true),
        ("", "", true),
        ("OpenStack|oVirt|VSphere", "oVirt", true),
        ("|rendered-master-.*", "", true),
        ("4[.][0-9][.].*", "4.9.3", true),
        ("4[.][0-9][.].*", "4.10.3", false),
        (r".*(?:[.]dkr[.]ecr(?:-fips)?[.].*)[/@:].*", "x.dkr.ecr-fips.y@z", true),
        (r"\d", "٣", false),
        (r"\d+", "42", true),
        (r"\w", "é", false),
        (r"[\w.]+", "a.b", true),
        ("a{", "a{", true),
        ("a{,2}", "a{,2}", true),
        ("a{2}", "aa", true),
        ("a{0000000000002}", "a{0000000000002}", true),
        ("a{999,1000}b", "b", false),
        ("a{2,}b", "aaaab", true),
        ("[[]", "[", true),
        ("[a[b]", "[", true),
        ("[]a]", "]", true),
        ("[^]a]", "b", true),
        ("[a&&b]", "&", true),
        ("[a-]", "-", true),
        ("[+--]", ",", true),
        ("[[:digit:]x]", "7", true),
        (r"\Qa.b\E+", "a.bb", true),
        (r"\Qa.b", "axb", false),
        (r"\x41\x{42}\103", "ABC", true),
        ("(?i)abc", "ABC", true),
        ("(?i)é", "É", true),
        (r"\pL+", "né", true),
        (r"[\p{Greek}1]", "α", true),
        (r"a\bb", "ab", false),
        (r"\<", "<", true),
        ("a]b}", "a]b}", true),
        ("(?P<name>a)(?:b)", "ab", true),
    ] {
        let compiled = Pattern::new(pattern, SIZE).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        assert_eq!(compiled.matches(value), expected, "{pattern} on {value:?}");
    }
}

#[test]
fn what_re2_refuses_is_refused() {
    for pattern in [
        "(",
        ")",
        "[a",
        "*",
        "a**",
        "a{2}{3}",
        r"\1",
        r"\y",
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "(?x)a",
        "[z-a]",
        r"a\",
        "a{1001}",
        r"\xZZ",
        "[[:nothing:]]",
    ] {
        assert!(matches!(Pattern::new(pattern, SIZE), Err(PatternError::Syntax(_))), "{pattern}");
    }
}

#[test]
fn positions_are_counted_over_all_patterns_of_a_query() {
    use crate::{Limits, Query};
    let limits = Limits { pattern_positions: 100, ..Limits::default() };
    let parse = |text: &str| Query::parse(text, &limits).map(|_| ()).map_err(|errors| errors.to_string());
    assert_eq!(parse(r#"a{b=~"x{30}"} or a{b=~"x{30}"}"#), Ok(()), "the same one counts once");
    let error = parse(r#"a{b=~"x{30}"} or a{b=~"y{30}"}"#).unwrap_err();
    assert!(error.contains("more than 100 positions"), "{error}");
}

#[test]
fn a_pattern_that_is_not_kept_gives_the_same_answers() {
    use crate::eval::{Settings, instant};
    use crate::{Limits, Millis, Query, read};
    let (_, measure) = Pattern::within("a(b)?", SIZE, 100).unwrap();
    let kept = Patterns::new(vec![("a(b)?".to_owned(), measure)], SIZE);
    assert!(kept.get("a(b)?").is_some_and(|pattern| pattern.matches("ab")) && kept.get("other").is_none());
    let large = Measure { positions: KEPT, captures: false };
    assert!(Patterns::new(vec![("a".to_owned(), large)], SIZE).get("a").is_none(), "there is no room for it");
    let series = read::text(b"m{a=\"xx\"} 1\nm{a=\"y\"} 2\n", Millis(0), &read::ReadLimits::default()).unwrap();
    let query = Query::parse(r#"m{a=~"x+"}"#, &Limits::default()).unwrap();
    let settings = Settings::default();
    let once = format!("{:?}", instant(&query, &series, Millis(0), &settings).unwrap().value);
    assert_eq!(once, format!("{:?}", instant(&query.clone(), &series, Millis(0), &settings).unwrap().value));
}

#[test]
fn a_pattern_that_grows_is_refused() {
    assert_eq!(Pattern::new("((a{100}){100}){100}", SIZE).unwrap_err(), PatternError::TooLarge(SIZE));
}

proptest! {
    #[test]
    fn no_pattern_panics(pattern in "(?s).{0,60}") {
        let _ = Pattern::new(&pattern, SIZE);
    }

    #[test]
    fn a_pattern_of_odd_characters_does_not_panic(pattern in r"[\[\](){}\\*+?|^$.a-d0-9:,&~<>QEpxP-]{0,30}") {
        let _ = Pattern::new(&pattern, SIZE);
    }
}
