//! `clearway status explain`: a page for every rule.

use crate::Place;

#[test]
fn every_rule_has_a_page() {
    let place = Place::new();
    for number in 0..=25 {
        let code = format!("SC{number:03}");
        let page = place.run(&["status", "explain", &code]);
        assert_eq!((page.code, page.err.as_str()), (0, ""), "{code}");
        assert!(page.out.starts_with(&format!("# {code}: ")), "{code}");
        for part in ["\n## Why\n", "\n## Fails\n", "\n## Passes\n"] {
            assert!(page.out.contains(part), "{code} has no {part:?}");
        }
        assert_eq!(place.run(&["status", "explain", &code.to_lowercase()]), page);
    }
}

#[test]
fn without_a_rule_all_are_listed() {
    let place = Place::new();
    let list = place.run(&["status", "explain"]);
    assert_eq!((list.code, list.err.as_str()), (0, ""));
    let codes: Vec<&str> = list.out.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let want: Vec<String> = std::iter::once("RULE".to_owned()).chain((0..=25).map(|n| format!("SC{n:03}"))).collect();
    assert_eq!(codes, want);
    let data = place.run(&["status", "explain", "-o", "json"]).json();
    assert_eq!(data.as_array().unwrap().len(), 26);
    for rule in data.as_array().unwrap() {
        for key in ["code", "severity", "scope", "title", "page"] {
            assert!(rule[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {rule}");
        }
    }
    let one = place.run(&["status", "explain", "SC011", "-o", "json"]).json();
    assert_eq!(one, data[11]);
}

#[test]
fn an_unknown_rule_is_refused_with_where_to_look() {
    let answer = Place::new().run(&["status", "explain", "SC999"]);
    assert_eq!((answer.code, answer.out.as_str()), (3, ""));
    assert_eq!(answer.err, "error: rule `SC999` not found; `clearway status explain` lists all rules\n");
}
