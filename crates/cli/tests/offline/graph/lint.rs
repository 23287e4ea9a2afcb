//! `clearway graph lint`: findings by place in every format, only new ones, codes explained.

use std::process::Command;

use crate::{Answer, Place};

const CHANNEL: &str = "name: candidate-1\nversions:\n- 1.0.1\n- 1.0.10\n- 1.1.0\n- 1.1.1\n";

/// Four releases and no finding.
fn graph_data() -> Place {
    let place = Place::new();
    let release = |version: &str, previous: &str| {
        format!(
            "- {{version: {version}, arch: amd64, payload: \"example.com/os@{version}\", previous: [{previous}]}}\n"
        )
    };
    let releases = release("1.0.1", "")
        + &release("1.0.10", "1.0.1")
        + &release("1.1.0", "1.0.1, 1.0.10")
        + &release("1.1.1", "1.0.1, 1.0.10, 1.1.0");
    for (name, text) in
        [("version", "1.1.0\n"), ("releases/all.yaml", &releases), ("channels/candidate-1.yaml", CHANNEL)]
    {
        place.write(&format!("data/{name}"), text);
    }
    place
}

/// Adds a block with some `from` and query.
fn block(place: &Place, from: &str, query: &str) {
    let text = format!(
        "to: 1.1.1\nfrom: {from}\nurl: https://example.com/1\nname: Slow\nmessage: Disks may be slow.\n\
         matchingRules:\n- type: PromQL\n  promql:\n    promql: |\n      {query}\n- type: Always\n"
    );
    place.write("data/blocked-edges/1.1.1-Slow.yaml", text);
}

const FINE: &str = r#"group(up{job="a"}) or 0 * group(up)"#;

fn run(place: &Place, line: &str) -> Answer {
    place.run(&line.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn clean_graph_data_has_no_findings() {
    let place = graph_data();
    let answer = run(&place, "graph lint --graph data");
    assert_eq!((answer.code, answer.out.as_str()), (0, ""), "{answer:?}");
    assert_eq!(answer.err, "3 files checked: 0 errors, 0 warnings, 0 notes\n");
}

#[test]
fn a_finding_has_its_line_and_what_to_do() {
    let place = graph_data();
    block(&place, "1[.]0[.]1", FINE);
    let answer = run(&place, "graph lint --graph data");
    assert_eq!(answer.code, 1);
    assert_eq!(
        answer.out,
        "warning[GD102]: `1[.]0[.]1` also matches 1.0.10, where it ends within a number
 --> blocked-edges/1.1.1-Slow.yaml:2:7
  |
2 | from: 1[.]0[.]1
  |       ^^^^^^^^^
  |
  = note: 1 known release too many, of which 1 can update to 1.1.1
  = help: if only whole numbers are meant, write `(1[.]0[.]1)[+]`

CODE   SEVERITY  FINDINGS  ABOUT
GD102  warning   1         A `from` whose match ends within a number
"
    );
    assert_eq!(answer.err, "4 files checked: 0 errors, 1 warning, 0 notes\n");
}

#[test]
fn every_format_has_every_finding_by_place() {
    let place = graph_data();
    block(&place, "^1[.]0[.]1$", r#"group(up{job="a|b"}) or 0 * group(up)"#);
    place.write("data/channels/candidate-1.yaml", format!("{CHANNEL}- 1.0.1\n"));
    let answer = run(&place, "graph lint --graph data -o json");
    assert_eq!(answer.code, 1);
    let want = [
        "GD101 blocked-edges/1.1.1-Slow.yaml:2:7",
        "GD112 blocked-edges/1.1.1-Slow.yaml:10:16",
        "GD140 channels/candidate-1.yaml:7:3",
        "GD141 channels/candidate-1.yaml:3:3",
    ];
    let mut places = answer.places();
    places.sort();
    assert_eq!(places, want);
    let sarif = run(&place, "graph lint --graph data -o sarif").json();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), want.len());
    assert_eq!(results[0]["ruleId"], "GD101");
    let yaml = run(&place, "graph lint --graph data -o yaml");
    assert_eq!((yaml.code, yaml.out.matches("severity:").count()), (1, want.len()));
}

#[test]
fn queries_are_read_as_promql_and_pass_the_fence() {
    for (query, code, message) in [
        ("group(up", "GD110", ""),
        (r#"group({job="a"}) or 0 * group(up)"#, "GD111", "The selector names no metric"),
        ("up", "GD112", "The query returns as many series as this selects."),
    ] {
        let place = graph_data();
        block(&place, "1[.]0[.].*", query);
        let findings = run(&place, "graph lint --graph data -o json").json();
        let found = findings.as_array().unwrap().iter().find(|finding| finding["code"] == code);
        assert!(found.is_some_and(|found| found["message"].as_str().unwrap().contains(message)), "{query}: {findings}");
    }
}

#[test]
fn expressions_are_compiled_as_rules_are() {
    let tower = format!("{}x > 0{}", "[1, 2, 3, 4, 5, 6, 7, 8].map(x, ".repeat(8), ")".repeat(8));
    for (expression, want) in [
        ("object.spec.size > 3", None),
        ("object.spec.size > unknown", Some(("GD115", 9, 36, "`unknown` is not declared"))),
        ("size(object.spec) > '3'", Some(("GD115", 9, 17, "`>` is not defined between int and string"))),
        ("object.spec.size", None),
        ("size(object.spec)", Some(("GD115", 9, 17, "must return a bool, not int"))),
        ("lists.range(5000000).all(x, x > 0)", Some(("GD116", 9, 17, "costs at least"))),
        (&format!("0 == {tower}.size()"), Some(("GD116", 9, 17, "costs at least"))),
    ] {
        let place = graph_data();
        let text = format!(
            "to: 1.1.1\nfrom: .*\nurl: https://example.com/1\nname: Slow\nmessage: Disks may be slow.\nmatchingRules:\n\
             - type: Resource\n  resource:\n    expression: {expression}\n    apiVersion: v1\n    kind: Node\n"
        );
        place.write("data/blocked-edges/1.1.1-Slow.yaml", text);
        let answer = run(&place, "graph lint --graph data -o json");
        let findings = answer.json();
        let found = findings
            .as_array()
            .unwrap()
            .iter()
            .find(|finding| finding["code"].as_str().is_some_and(|code| code.starts_with("GD11")));
        let Some((code, line, column, message)) = want else {
            assert_eq!(found, None, "{expression}");
            continue;
        };
        let found = found.unwrap_or_else(|| panic!("{expression}: {findings}"));
        assert_eq!((&found["code"], &found["severity"]), (&code.into(), &"error".into()), "{found}");
        assert!(found["message"].as_str().unwrap().contains(message), "{found}");
        assert_eq!((&found["where"]["line"], &found["where"]["column"]), (&line.into(), &column.into()), "{found}");
        assert_eq!(answer.code, 1);
    }
}

#[test]
fn only_new_findings_are_told_on_request() {
    let place = graph_data();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-C", "data", "-c", "user.name=t", "-c", "user.email=t@example.com"]);
        let done = command.args(arguments).current_dir(place.path()).env("HOME", place.path()).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    block(&place, "1[.]0[.]1", FINE);
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
    let since = "graph lint --graph data --new-since HEAD -o json";
    assert_eq!((run(&place, since).code, run(&place, since).places()), (0, vec![]));
    // The line of the old finding moves, and a block without a reason is added, which hides the risk.
    let path = place.path().join("data/blocked-edges/1.1.1-Slow.yaml");
    let text = format!("# moved\n{}", std::fs::read_to_string(&path).unwrap());
    place.write("data/blocked-edges/1.1.1-Slow.yaml", text);
    place.write("data/blocked-edges/1.1.1.yaml", "to: 1.1.1\nfrom: ^1[.]0[.]10[+]\n");
    let new = run(&place, since);
    let at = "blocked-edges/1.1.1.yaml:1:5";
    assert_eq!((new.code, new.places()), (1, vec![format!("GD126 {at}"), format!("GD127 {at}")]));
    assert_eq!(new.json()[0]["severity"], "warning");
    let all = run(&place, "graph lint --graph data -o json");
    assert_eq!((all.places().len(), all.json()[1]["severity"].as_str()), (3, Some("info")));
    let before = run(&place, "graph lint --graph data --rev HEAD -o json");
    assert_eq!(before.places(), ["GD102 blocked-edges/1.1.1-Slow.yaml:2:7"]);
    assert_eq!(run(&place, "graph lint --graph data --new-since nowhere").code, 3);
}

#[test]
fn a_tombstoned_version_that_is_still_listed_is_a_note() {
    let place = graph_data();
    place.write("data/channels/candidate-1.yaml", format!("{CHANNEL}tombstones: [1.0.10]\n"));
    let answer = run(&place, "graph lint --graph data -o json");
    assert_eq!((answer.code, answer.places()), (0, vec!["GD013 channels/candidate-1.yaml:4:3".to_owned()]));
    assert!(answer.out.contains("edges to and from a tombstoned version were never supported"), "{answer:?}");
}

#[test]
fn what_is_refused_is_told_and_is_no_answer() {
    let place = graph_data();
    place.write("data/channels/bad.yaml", "name: [\n");
    let refused = run(&place, "graph lint --graph data -o json");
    assert_eq!(refused.code, 3);
    assert!(refused.places().iter().any(|place| place.contains("channels/bad.yaml")), "{refused:?}");
    assert!(refused.err.contains("the graph-data is refused"), "{refused:?}");
    assert_eq!(run(&place, "graph lint --graph nowhere").code, 3);
}

#[test]
fn a_code_is_explained() {
    let place = Place::new();
    let page = run(&place, "graph lint --explain gd102");
    assert_eq!((page.code, page.err.as_str()), (0, ""));
    assert!(page.out.starts_with("GD102 (warning): A `from` whose match ends within a number\n\n"), "{page:?}");
    assert_eq!(run(&place, "graph lint --explain GD012 -o json").json()["severity"], "warning");
    let unknown = run(&place, "graph lint --explain GD999");
    assert_eq!(unknown.code, 3);
    assert!(unknown.err.contains("code `GD999` not found; the codes are GD001 to "), "{unknown:?}");
}
