use proptest::prelude::*;

use crate::{Limits, parse, print};

/// Expressions of every form, as text with arbitrary parentheses.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "[a-c]",
        any::<i64>().prop_map(|number| number.to_string()),
        any::<u64>().prop_map(|number| format!("{number}u")),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(|number| format!("{number:?}")),
        ".{0,6}".prop_map(|text| {
            let mut out = String::new();
            super::push_string(&text, &mut out);
            out
        }),
        proptest::collection::vec(any::<u8>(), 0..4).prop_map(|bytes| {
            let mut out = String::new();
            super::push_bytes(&bytes, &mut out);
            out
        }),
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just(".x".to_owned()),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let op = prop_oneof![
            "[-+*/%<>]",
            Just("<=".into()),
            Just("==".into()),
            Just(" in ".into()),
            Just("&&".into()),
            Just("||".into())
        ];
        prop_oneof![
            (inner.clone(), op, inner.clone()).prop_map(|(left, op, right)| format!("{left} {op} {right}")),
            inner.clone().prop_map(|inner| format!("({inner})")),
            ("!{1,3}|-{1,3}", inner.clone()).prop_map(|(sign, inner)| format!("{sign}({inner})")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a}) ? ({b}) : {c}")),
            inner.clone().prop_map(|inner| format!("({inner}).f.?g[?0]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}).`a-b`.m({b}, {a})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, ?({b})]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{?({a}): {b}}}")),
            inner.clone().prop_map(|a| format!("x.Y{{in_: {a}, ?b: {a}}}")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("[{a}].map(x, {b}).all(i, v, {a})")),
        ]
    })
}

proptest! {
    #[test]
    fn printing_and_parsing_gives_the_same_tree(text in expression()) {
        if let Ok(ast) = parse(&text, &Limits::default()) {
            let printed = print(&ast);
            let again = parse(&printed, &Limits::default());
            prop_assert!(again.is_ok(), "{text} printed as {printed}");
            prop_assert!(ast.same_tree(&again.unwrap()), "{text} printed as {printed}");
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        let _ = parse(&text, &Limits::default());
    }
}
