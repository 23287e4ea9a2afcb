//! Every rule of the linter: a tiny graph-data that triggers it, and one that does not.

use clearway_core::{Limits, Severity};
use clearway_graph::lint::{
    ExpressionFault, ExpressionFinding, ParameterFinding, QueryFault, QueryFinding, RuleTexts, answer, lint,
};
use clearway_graph::{Inputs, Rule, codes, load, wire};

/// Knows three words of queries: `broken`, `refused` and `odd`; any other text is the metric it asks for. Of expressions it
/// knows `broken` and `costly`, and of parameters `version: broken` and `odd`.
struct Words;

impl RuleTexts for Words {
    fn check_query(&self, query: &str) -> Vec<QueryFinding> {
        let finding = |word: &str, fault, severity| {
            let start = query.find(word)?;
            let (message, help) = (format!("it is {word}"), "mend it".to_owned());
            Some(QueryFinding { fault, severity, message, help, span: start..start + word.len() })
        };
        [
            finding("broken", QueryFault::Unreadable, Severity::Error),
            finding("refused", QueryFault::Refused, Severity::Error),
            finding("odd", QueryFault::Shape, Severity::Warning),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn metrics(&self, query: &str) -> Vec<String> {
        query.split_whitespace().map(str::to_owned).collect()
    }

    fn check_expression(&self, expression: &str) -> Option<ExpressionFinding> {
        let words = [("broken", ExpressionFault::Invalid), ("costly", ExpressionFault::Limit)];
        words.into_iter().find_map(|(word, fault)| {
            let start = expression.find(word)?;
            Some(ExpressionFinding { fault, message: format!("it is {word}"), span: start..start + word.len() })
        })
    }

    fn check_parameters(&self, rule: &Rule) -> Vec<ParameterFinding> {
        let own = rule.parameters[rule.kind.to_lowercase().as_str()].as_object().unwrap();
        let version = own.get("version").and_then(|version| version.as_str()).unwrap_or_default();
        let broken = version.find("broken").map(|start| ParameterFinding {
            key: "version",
            message: "that is broken".to_owned(),
            span: start..start + 6,
            known: true,
        });
        let odd = own.contains_key("odd").then(|| ParameterFinding {
            key: "",
            message: "that is odd".to_owned(),
            span: 0..0,
            known: false,
        });
        broken.into_iter().chain(odd).collect()
    }
}

/// Releases 1.0.0 to 1.0.12 and 1.1.0 to 1.1.2, each updating to every later one, all in `candidate-1`.
fn inputs(files: &[(&str, &str)]) -> Inputs {
    let versions: Vec<String> =
        (0..=12).map(|patch| format!("1.0.{patch}")).chain((0..=2).map(|patch| format!("1.1.{patch}"))).collect();
    let mut releases = Vec::new();
    for (at, version) in versions.iter().enumerate() {
        let previous = serde_json::to_string(&versions[..at]).unwrap();
        releases.push(format!(
            r#"{{"version":"{version}","arch":"amd64","payload":"example.com/os@{version}","previous":{previous}}}"#
        ));
    }
    let releases = format!("[\n{}\n]\n", releases.join(",\n"));
    let channel = format!("name: candidate-1\nversions:\n- {}\n", versions.join("\n- "));
    let base =
        [("version", "1.1.0\n"), ("channels/candidate-1.yaml", channel.as_str()), ("releases/all.json", &releases)];
    base.iter().chain(files).map(|(path, content)| (*path, *content)).collect()
}

/// The findings of one code, as `severity file:line:column message`.
fn found(code: &str, files: &[(&str, &str)]) -> Vec<String> {
    let inputs = inputs(files);
    let outcome = load(&inputs, &Limits::default());
    let revision = outcome.revision.unwrap_or_else(|| panic!("refused: {:?}", outcome.diagnostics));
    let findings = lint(&revision, &inputs, &Words);
    for finding in &findings {
        let listed = codes::code(&finding.code).unwrap_or_else(|| panic!("no code: {finding:?}"));
        assert!(finding.severity <= listed.severity, "{finding:?}");
        assert!(finding.help.is_some() && finding.excerpt.is_some() && finding.place.position.is_some(), "{finding:?}");
    }
    let shown = |finding: &clearway_core::Diagnostic| {
        let at = finding.place.position.unwrap();
        let file = finding.place.file.as_deref().unwrap();
        format!("{} {file}:{}:{} {}", finding.severity.as_str(), at.line, at.column, finding.message)
    };
    findings.iter().filter(|finding| finding.code == code).map(shown).collect()
}

/// A block file of a risk with further lines.
fn block(to: &str, from: &str, name: &str, more: &str) -> String {
    let rules = if more.contains("matchingRules") { "" } else { "matchingRules:\n- type: Always\n" };
    format!(
        "to: {to}\nfrom: {from}\nname: {name}\nurl: https://example.com/{name}\nmessage: {name} breaks.\n{rules}{more}"
    )
}

fn promql(query: &str) -> String {
    format!("matchingRules:\n- type: PromQL\n  promql:\n    promql: |-\n      {query}\n")
}

/// The findings of a code in graph-data with some blocks: `(to, from, name, more)`.
fn in_blocks(code: &str, blocks: &[(&str, &str, &str, &str)]) -> Vec<String> {
    let files: Vec<(String, String)> = blocks
        .iter()
        .enumerate()
        .map(|(at, (to, from, name, more))| {
            let again = if at > 0 && blocks[at - 1].0 == *to { "-again" } else { "" };
            (format!("blocked-edges/{to}-{name}{again}.yaml"), block(to, from, name, more))
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    found(code, &files)
}

#[test]
fn expressions() {
    let one = |code: &str, from: &str| in_blocks(code, &[("1.1.0", from, "Slow", "")]);
    let at = "blocked-edges/1.1.0-Slow.yaml:2:7";
    for (code, from, want) in [
        ("GD100", "2[.]0[.].*", Some("warning `2[.]0[.].*` matches no known release")),
        ("GD100", "1[.]0[.].*", None),
        ("GD100", ".*", None),
        ("GD100", "^1[.]0[.]1$", None),
        ("GD101", "^1[.]0[.]1$", Some("error `^1[.]0[.]1$` never matches: a source is searched as 1.0.1+<arch>")),
        ("GD101", "^1[.]0[.]1[+].*$", None),
        ("GD101", "^1[.]0[.]99$", None),
        (
            "GD102",
            "1[.]0[.]1",
            Some("warning `1[.]0[.]1` also matches 1.0.10, 1.0.11, 1.0.12, where it ends within a number"),
        ),
        (
            "GD101",
            "^1[.]0[.](1$|2[+])",
            Some(
                "error the alternative `1$` of `^1[.]0[.](1$|2[+])` never matches: a source is searched as 1.0.1+<arch>",
            ),
        ),
        (
            "GD105",
            "1[.]0[.](1|99)[+].*",
            Some("info the alternative `99` of `1[.]0[.](1|99)[+].*` matches no known release"),
        ),
        (
            "GD105",
            "^(1[.]0[.][12]|2[.](0|1)[.].*)[+]",
            Some(
                "info the alternative `2[.](0|1)[.].*` of `^(1[.]0[.][12]|2[.](0|1)[.].*)[+]` matches no known release",
            ),
        ),
        ("GD105", "1[.]0[.](1|2|1[0-2])[+].*", None),
        ("GD105", "2[.]0[.](1|2)", None),
        ("GD102", "1[.]0[.][12]|1[.]0[.]1[0-2]", None),
        ("GD102", "1[.]0[.]1[+]", None),
        ("GD102", "1[.]0[.]1[+].*", None),
        ("GD102", "^1[.]0[.]1[+].*$", None),
        ("GD102", "1[.]0[.]1[+]amd", None),
        ("GD102", "1[.]0[.]", None),
        ("GD102", "1[.]0", None),
        ("GD102", "1[.]0[.].*", None),
        ("GD102", "1[.]0[.]9", None),
        ("GD103", "1.0[.]1[+]", Some("info a dot of `1.0[.]1[+]` matches any character")),
        ("GD103", r"1\.0[.].*", None),
        ("GD104", "1[.]0[.]1", None),
        ("GD104", "^1[.]1", None),
        ("GD104", "'[+]amd64'", None),
        ("GD103", "1[.]0.*", None),
    ] {
        let want: Vec<String> = want
            .map(|text| text.split_once(' ').unwrap())
            .map(|(severity, text)| format!("{severity} {at} {text}"))
            .into_iter()
            .collect();
        assert_eq!(one(code, from), want, "{code} {from}");
    }
}

#[test]
fn what_an_expression_matches_by_chance_is_a_warning_where_an_update_is_touched() {
    let more = |next: &str| {
        format!(
            r#"[{{"version":"1.11.3","arch":"amd64","payload":"example.com/a","previous":[]}},
                {{"version":"1.0.113","arch":"amd64","payload":"example.com/b","previous":[],"next":[{next}]}},
                {{"version":"1.3.0","arch":"amd64","payload":"example.com/c","previous":["1.11.0"]}},
                {{"version":"2.1.3","arch":"amd64","payload":"example.com/d","previous":[]}},
                {{"version":"3.0.0","arch":"amd64","payload":"example.com/e","previous":["2.1.3"]}}]"#
        )
    };
    let check = |code: &str, to: &str, from: &str, next: &str| {
        let path = format!("blocked-edges/{to}-Slow.yaml");
        found(code, &[(&path, &block(to, from, "Slow", "")), ("releases/more.json", &more(next))])
    };
    let dot = "a dot of `1.3[+]` matches any character, so it also matches 1.0.113";
    let at = "blocked-edges/1.1.0-Slow.yaml:2:7";
    assert_eq!(check("GD103", "1.1.0", "1.3[+]", "\"1.1.0\""), [format!("warning {at} {dot}")]);
    assert_eq!(check("GD103", "1.1.0", "1.3[+]", ""), [format!("info {at} {dot}")]);
    let start = "`1[.]3` also matches 1.11.3, 2.1.3, where it begins within the version";
    assert_eq!(check("GD104", "1.1.0", "1[.]3", ""), [format!("info {at} {start}")]);
    let at = "blocked-edges/3.0.0-Slow.yaml:2:7";
    assert_eq!(check("GD104", "3.0.0", "1[.]3", ""), [format!("warning {at} {start}")]);
}

#[test]
fn a_surplus_is_counted_in_a_note() {
    let inputs = inputs(&[("blocked-edges/1.1.0-Slow.yaml", &block("1.1.0", "1[.]0[.]1", "Slow", ""))]);
    let revision = load(&inputs, &Limits::default()).revision.unwrap();
    let findings = lint(&revision, &inputs, &Words);
    let finding = findings.iter().find(|finding| finding.code == "GD102").unwrap();
    assert_eq!(finding.note.as_deref(), Some("3 known releases too many, of which 3 can update to 1.1.0"));
    let excerpt = finding.excerpt.as_ref().unwrap();
    assert_eq!(excerpt.text.get(excerpt.start..excerpt.end), Some("1[.]0[.]1"));
}

#[test]
fn queries() {
    for (code, query, want) in [
        ("GD110", "a broken b", Some("error blocked-edges/1.1.0-Slow.yaml:10:9 it is broken")),
        ("GD111", "refused", Some("error blocked-edges/1.1.0-Slow.yaml:10:7 it is refused")),
        ("GD112", "a odd", Some("warning blocked-edges/1.1.0-Slow.yaml:10:9 it is odd")),
        ("GD110", "a", None),
        ("GD111", "a", None),
        ("GD112", "a", None),
        ("GD113", "a", None),
    ] {
        let want: Vec<String> = want.map(str::to_owned).into_iter().collect();
        assert_eq!(in_blocks(code, &[("1.1.0", ".*", "Slow", &promql(query))]), want, "{code} {query}");
    }
    let quoted = "matchingRules:\n- type: PromQL\n  promql:\n    promql: \"x\\n  \\\"y\\\" odd\\n\"\n";
    let want = ["warning blocked-edges/1.1.0-Slow.yaml:9:25 it is odd"];
    assert_eq!(in_blocks("GD112", &[("1.1.0", ".*", "Slow", quoted)]), want);
    let missing = "matchingRules:\n- type: PromQL\n";
    let want = ["error blocked-edges/1.1.0-Slow.yaml:7:3 the risk `Slow` has a PromQL rule without a query"];
    assert_eq!(in_blocks("GD113", &[("1.1.0", ".*", "Slow", missing)]), want);
}

#[test]
fn expressions_of_rules() {
    let resource = |expression: &str| {
        format!(
            "matchingRules:\n- type: Always\n- type: Resource\n  resource:\n    kind: Node\n    expression: {expression}\n"
        )
    };
    for (code, expression, want) in [
        ("GD115", "object.a == broken", Some("11:29 it is broken")),
        ("GD115", "'object.a == ''b'' && broken'", Some("11:39 it is broken")),
        ("GD115", "\"object.a == \\\"b\\\" && broken\"", Some("11:39 it is broken")),
        ("GD115", "|\n      object.a ==\n        broken", Some("13:9 it is broken")),
        ("GD116", "costly", Some("11:17 it is costly")),
        ("GD117", "[broken]", Some("11:17 the risk `Slow` has a Resource rule without an expression")),
        ("GD115", "object.a", None),
        ("GD116", "object.a", None),
        ("GD117", "object.a", None),
    ] {
        let want: Vec<String> =
            want.map(|want| format!("error blocked-edges/1.1.0-Slow.yaml:{want}")).into_iter().collect();
        assert_eq!(in_blocks(code, &[("1.1.0", ".*", "Slow", &resource(expression))]), want, "{code} {expression}");
    }
}

#[test]
fn parameters_of_bundle_rules() {
    let bundle = |more: &str| format!("matchingRules:\n- type: Bundle\n  bundle:\n    group: a.io\n    {more}\n");
    for (code, more, want) in [
        (
            "GD118",
            "version: '>=1 broken'",
            Some("error blocked-edges/1.1.0-Slow.yaml:10:19 the risk `Slow` has a Bundle rule that is broken"),
        ),
        ("GD118", "Version: broken", None),
        ("GD118", "channel: standard", None),
        (
            "GD119",
            "odd: 1",
            Some("warning blocked-edges/1.1.0-Slow.yaml:7:3 the risk `Slow` has a Bundle rule that is odd"),
        ),
        ("GD119", "channel: standard", None),
    ] {
        let want: Vec<String> = want.map(str::to_owned).into_iter().collect();
        assert_eq!(in_blocks(code, &[("1.1.0", ".*", "Slow", &bundle(more))]), want, "{code} {more}");
    }
}

#[test]
fn parameters_of_policy_rules() {
    let policy = |more: &str| format!("matchingRules:\n- type: Policy\n  policy:\n    kind: A\n    {more}\n");
    for (code, more, want) in [
        (
            "GD128",
            "version: broken",
            Some("error blocked-edges/1.1.0-Slow.yaml:10:14 the risk `Slow` has a Policy rule that is broken"),
        ),
        ("GD128", "name: a", None),
        (
            "GD129",
            "odd: 1",
            Some("warning blocked-edges/1.1.0-Slow.yaml:7:3 the risk `Slow` has a Policy rule that is odd"),
        ),
        ("GD129", "name: a", None),
    ] {
        let want: Vec<String> = want.map(str::to_owned).into_iter().collect();
        assert_eq!(in_blocks(code, &[("1.1.0", ".*", "Slow", &policy(more))]), want, "{code} {more}");
    }
}

#[test]
fn a_metric_that_stands_alone() {
    let (both, alone) = (promql("up"), promql("up down"));
    let want = ["info blocked-edges/1.1.0-Slow.yaml:10:10 no other risk uses the metric `down`"];
    assert_eq!(in_blocks("GD114", &[("1.1.1", ".*", "Loud", &both), ("1.1.0", ".*", "Slow", &alone)]), want);
    assert_eq!(in_blocks("GD114", &[("1.1.0", ".*", "Loud", &both), ("1.1.1", ".*", "Slow", &both)]), [""; 0]);
    assert_eq!(in_blocks("GD114", &[("1.1.0", ".*", "Slow", &alone), ("1.1.1", ".*", "Slow", &alone)]), [""; 0]);
}

#[test]
fn targets() {
    let want = ["warning blocked-edges/1.1.7-Slow.yaml:1:5 no channel lists 1.1.7, and no release of it is known"];
    assert_eq!(in_blocks("GD120", &[("1.1.7", ".*", "Slow", "")]), want);
    assert_eq!(in_blocks("GD120", &[("1.1.1", ".*", "Slow", "")]), [""; 0]);
    let want = ["info blocked-edges/1.1.0.yaml:1:5 the updates to 1.1.0 are blocked with no name, message or url"];
    assert_eq!(found("GD126", &[("blocked-edges/1.1.0.yaml", "to: 1.1.0\nfrom: .*\n")]), want);
    assert_eq!(in_blocks("GD126", &[("1.1.1", ".*", "Slow", "")]), [""; 0]);
    let silent = |from: &str, to: &str| {
        let path = format!("blocked-edges/{to}.yaml");
        let (text, risk) = (format!("to: {to}\nfrom: {from}\n"), block("1.1.0", "^1[.]0[.]1[+]", "Slow", ""));
        found("GD127", &[("blocked-edges/1.1.0-Slow.yaml", &risk), (&path, &text)])
    };
    let want = ["warning blocked-edges/1.1.0.yaml:1:5 this block removes updates to 1.1.0, which hides the risk \
                 `Slow` (blocked-edges/1.1.0-Slow.yaml)"];
    assert_eq!(silent(".*", "1.1.0"), want);
    assert_eq!(silent("^1[.]0[.]2[+]", "1.1.0"), [""; 0], "another source");
    assert_eq!(silent(".*", "1.1.1"), [""; 0], "another target");
    let declared = "name: Slow\nurl: https://example.com/1\nmessage: m\nmatchingRules:\n- type: Always\n\
                    to: 1.1.0 - 1.1.2\nfrom: 1.0.x\n";
    let both = [("risks/Slow.yaml", declared), ("blocked-edges/1.1.0.yaml", "to: 1.1.0\nfrom: .*\n")];
    let other = block("1.1.0", ".*", "Loud", "");
    assert_eq!(found("GD127", &both).len(), 1, "a declared risk is hidden as well");
    let three = [both[0], both[1], ("blocked-edges/1.1.0-Loud.yaml", other.as_str())];
    assert!(found("GD127", &three)[0].ends_with("the risk `Loud` (blocked-edges/1.1.0-Loud.yaml) and 1 more"));
    for (fixed, want) in [
        ("1.1.1", Some("`fixedIn` 1.1.1 is not newer than 1.1.1")),
        ("1.0.12", Some("`fixedIn` 1.0.12 is of another minor version than 1.1.1")),
        ("1.1.9", Some("`fixedIn` 1.1.9 is in no channel")),
        ("1.1.2", None),
    ] {
        let more = format!("fixedIn: {fixed}\n");
        let want: Vec<String> =
            want.map(|want| format!("warning blocked-edges/1.1.1-Slow.yaml:8:10 {want}")).into_iter().collect();
        assert_eq!(in_blocks("GD123", &[("1.1.1", ".*", "Slow", &more)]), want, "{fixed}");
    }
}

#[test]
fn a_declared_risk_has_one_finding_for_its_many_blocks() {
    let declared = "name: Slow\nurl: https://example.com/1\nmessage: m\nmatchingRules:\n- type: Always\n\
                    to: 1.1.0 - 1.1.2\nfrom: 1.0.x\nfixedIn: 1.0.3\n";
    let want = ["warning risks/Slow.yaml:8:10 `fixedIn` 1.0.3 is of another minor version than 1.1.0"];
    assert_eq!(found("GD123", &[("risks/Slow.yaml", declared)]), want);
}

#[test]
fn runs() {
    let run = |code: &str, targets: &[&str]| {
        let blocks: Vec<_> = targets.iter().map(|to| (*to, ".*", "Slow", "")).collect();
        in_blocks(code, &blocks)
    };
    let want =
        ["warning blocked-edges/1.0.6-Slow.yaml:1:5 the risk `Slow` is on 1.0.3 and 1.0.6, but not on 1.0.4, 1.0.5"];
    assert_eq!(run("GD121", &["1.0.2", "1.0.3", "1.0.6", "1.0.7"]), want);
    assert_eq!(run("GD121", &["1.0.2", "1.0.3", "1.1.1"]), [""; 0]);
    let want = ["warning blocked-edges/1.0.2-Slow.yaml:1:5 the risk `Slow` is also declared for 1.0.2 in \
                 blocked-edges/1.0.2-Slow-again.yaml"];
    assert_eq!(run("GD122", &["1.0.2", "1.0.2"]), want);
    assert_eq!(run("GD122", &["1.0.2", "1.0.3"]), [""; 0]);
    let want = ["info blocked-edges/1.1.1-Slow.yaml:1:5 the risk `Slow` ends with 1.1.1, and no `fixedIn` says why \
                 1.1.2 does not have it"];
    assert_eq!(run("GD124", &["1.1.0", "1.1.1"]), want);
    assert_eq!(run("GD124", &["1.1.1", "1.1.2"]), [""; 0]);
    assert_eq!(in_blocks("GD124", &[("1.1.0", ".*", "Slow", "fixedIn: 1.1.1\n")]), [""; 0]);
    let fixed = |first, second| {
        let (first, second) = (format!("fixedIn: {first}\n"), format!("fixedIn: {second}\n"));
        in_blocks("GD125", &[("1.0.1", ".*", "Slow", &first), ("1.0.2", ".*", "Slow", &second)])
    };
    let want = ["warning blocked-edges/1.0.2-Slow.yaml:8:10 the risk `Slow` is fixed in 1.0.4 here, and in 1.0.3 in \
                 blocked-edges/1.0.1-Slow.yaml"];
    assert_eq!(fixed("1.0.3", "1.0.4"), want);
    assert_eq!(fixed("1.0.3", "1.0.3"), [""; 0]);
}

#[test]
fn names() {
    for (code, file, want) in [
        ("GD130", "1.1.00-Slow", Some("1:5 the file name does not begin with `1.1.0`, the target")),
        ("GD130", "1.1.1-Slow", Some("1:5 the file name does not begin with `1.1.0`, the target")),
        ("GD130", "Slow", Some("1:5 the file name does not begin with `1.1.0`, the target")),
        ("GD130", "1.1.0-Slow", None),
        ("GD130", "1.1.0", None),
        ("GD131", "1.1.0-slow", Some("3:7 the file name does not contain `Slow`, the name of the risk")),
        ("GD131", "1.1.0-Slow", None),
        ("GD131", "1.1.0-very-Slow-1", None),
    ] {
        let path = format!("blocked-edges/{file}.yaml");
        let severity = if code == "GD130" { "warning" } else { "info" };
        let want: Vec<String> = want.map(|want| format!("{severity} {path}:{want}")).into_iter().collect();
        assert_eq!(found(code, &[(&path, &block("1.1.0", ".*", "Slow", ""))]), want, "{code} {file}");
    }
}

#[test]
fn texts_of_risks() {
    let want = ["warning blocked-edges/1.1.0-slow.yaml:3:7 `slow` is not a valid name of a risk"];
    assert_eq!(in_blocks("GD132", &[("1.1.0", ".*", "slow", "")]), want);
    assert_eq!(in_blocks("GD132", &[("1.1.0", ".*", "Slow_1", "")]), [""; 0]);
    let plain = block("1.1.0", ".*", "Slow", "").replace("https:", "http:");
    let want = ["warning blocked-edges/1.1.0-Slow.yaml:4:6 the url of `Slow` does not begin with `https://`"];
    assert_eq!(found("GD132", &[("blocked-edges/1.1.0-Slow.yaml", &plain)]), want);
}

#[test]
fn channels() {
    for (code, name, versions, want) in [
        (
            "GD140",
            "eus-1",
            "[1.0.0, 1.0.1, 1.0.0]",
            Some("warning channels/eus-1.yaml:2:26 1.0.0 is already listed in eus-1"),
        ),
        ("GD140", "eus-1", "[1.0.0, 1.0.1]", None),
        (
            "GD141",
            "eus-1",
            "[1.0.0, 1.0.10, 1.0.9]",
            Some("info channels/eus-1.yaml:2:27 1.0.9 is listed after 1.0.10"),
        ),
        ("GD141", "eus-1", "[1.0.0, 1.0.0-rc.1, 1.0.9, 1.0.10]", None),
        (
            "GD142",
            "fast-1",
            "[1.0.0, 1.2.0]",
            Some("warning channels/fast-1.yaml:2:19 1.2.0 is in fast-1, but not in candidate-1"),
        ),
        ("GD142", "fast-1", "[1.0.0, 1.0.1+amd64]", None),
        ("GD142", "stable-1", "[1.2.0]", None),
        ("GD142", "eus-1", "[1.2.0]", None),
    ] {
        let path = format!("channels/{name}.yaml");
        let want: Vec<String> = want.map(str::to_owned).into_iter().collect();
        assert_eq!(
            found(code, &[(&path, &format!("name: {name}\nversions: {versions}\n"))]),
            want,
            "{code} {versions}"
        );
    }
}

#[test]
fn stranded_versions() {
    let want = "info channels/candidate-1.yaml:7:3 in candidate-1, there is no path without a risk from 1.0.4 to ";
    let blocks: Vec<String> = (5..=12).map(|patch| format!("1.0.{patch}")).collect();
    let all: Vec<(&str, &str, &str, &str)> = blocks
        .iter()
        .map(String::as_str)
        .chain(["1.1.0", "1.1.1", "1.1.2"])
        .map(|to| (to, "^1[.]0[.]4[+]", "Slow", ""))
        .collect();
    assert_eq!(in_blocks("GD150", &all), [format!("{want}the newest patch of its minor version, nor a later one")]);
    let without_one: Vec<_> = all.into_iter().filter(|block| block.0 != "1.0.9").collect();
    assert_eq!(in_blocks("GD150", &without_one), [""; 0]);
}

#[test]
fn clean_graph_data_and_declared_risks_have_no_findings_of_their_own() {
    let declared = "name: Slow\nurl: https://example.com/1\nmessage: m\nmatchingRules:\n- type: Always\n\
                    to: 1.1.0 - 1.1.2\nfrom: 1.0.x\n";
    for files in [&[][..], &[("risks/Slow.yaml", declared)]] {
        let inputs = inputs(files);
        let revision = load(&inputs, &Limits::default()).revision.unwrap();
        let findings = lint(&revision, &inputs, &Words);
        // That its blocks are not written beside it is told by a rule of its own.
        assert!(findings.iter().all(|finding| ["GD136", "GD150"].contains(&&*finding.code)), "{findings:?}");
    }
}

#[test]
fn lists_of_rules_and_long_messages() {
    let one = |code: &str, more: &str| in_blocks(code, &[("1.1.0", ".*", "Slow", more)]).len();
    let twice = format!("{}- type: PromQL\n  promql: {{promql: up}}\n", promql("up"));
    let then_always = format!("{}- type: Always\n", promql("up"));
    assert_eq!((one("GD134", &twice), one("GD134", &then_always)), (1, 0));
    assert_eq!(one("GD135", "matchingRules:\n- type: Always\n  promql: {promql: up}\n"), 1);
    assert_eq!(one("GD135", "matchingRules:\n- type: Always\n"), 0);
    let message = |length: usize| {
        let text = block("1.1.0", ".*", "Slow", "").replace("Slow breaks.", &"x".repeat(length));
        found("GD133", &[("blocked-edges/1.1.0-Slow.yaml", &text)]).len()
    };
    assert_eq!((message(12_000), message(600)), (1, 0));
}

#[test]
fn a_declared_risk_stands_in_blocked_edges_too() {
    let declared = "to: 1.1.x\nfrom: 1.0.x\nname: Slow\nurl: https://example.com/Slow\nmessage: Slow breaks.\n\
                    matchingRules:\n- type: Always\n";
    let blocks: Vec<(String, String)> = ["1.1.0", "1.1.1", "1.1.2"]
        .iter()
        .map(|to| (format!("blocked-edges/{to}-Slow.yaml"), block(to, "^1[.]0[.].*", "Slow", "")))
        .collect();
    let with = |number: usize| {
        let mut files = vec![("risks/Slow.yaml", declared)];
        files.extend(blocks.iter().take(number).map(|(path, text)| (path.as_str(), text.as_str())));
        (found("GD136", &files), found("GD122", &files))
    };
    let missing = |targets: &str| {
        vec![format!(
            "warning risks/Slow.yaml:1:5 no file of blocked-edges/ puts this risk on all its updates to {targets}"
        )]
    };
    assert_eq!(with(0), (missing("1.1.0, 1.1.1, 1.1.2"), vec![]));
    assert_eq!(with(2), (missing("1.1.2"), vec![]));
    assert_eq!(with(3), (vec![], vec![]));
    // One that leaves out a source is not enough.
    let narrow = block("1.1.2", "^1[.]0[.][0-8][+]", "Slow", "");
    let files = [("risks/Slow.yaml", declared), ("blocked-edges/1.1.2-Slow.yaml", &narrow)];
    let files: Vec<(&str, &str)> =
        files.into_iter().chain(blocks.iter().take(2).map(|(path, text)| (path.as_str(), text.as_str()))).collect();
    assert_eq!(found("GD136", &files), missing("1.1.2"));
}

#[test]
fn an_answer_is_checked_without_a_word_about_files() {
    let risk = |name: &str, url: &str, query: &str| {
        format!(
            r#"{{"name":"{name}","url":"{url}","message":"m","matchingRules":[{{"type":"PromQL","promql":{{"promql":"{query}"}}}}]}}"#
        )
    };
    let nodes: Vec<String> = ["1.0.0", "1.0.1", "1.0.2", "1.1.0"]
        .iter()
        .map(|version| format!(r#"{{"version":"{version}","payload":"p@{version}","metadata":{{}}}}"#))
        .collect();
    let group =
        |from: &str, to: &str, risk: &str| format!(r#"{{"edges":[{{"from":"{from}","to":"{to}"}}],"risks":[{risk}]}}"#);
    let text = format!(
        r#"{{"nodes":[{}],"edges":[[1,2],[2,3]],"conditionalEdges":[{},{}]}}"#,
        nodes.join(","),
        group("1.0.0", "1.0.1", &risk("slow", "ftp://x", "a broken one")),
        group("1.0.0", "1.0.2", &risk("Fine", "https://x", "up")),
    );
    let reading = wire::read(text.as_bytes(), &Limits::default());
    assert_eq!(reading.diagnostics, []);
    let found = answer(&reading.graph.unwrap(), &Words);
    let told: Vec<String> = found
        .iter()
        .map(|finding| {
            assert!(finding.place.file.is_none() && finding.help.is_some(), "{finding:?}");
            format!("{} {}", finding.code, finding.place.path.as_deref().unwrap())
        })
        .collect();
    assert_eq!(
        told,
        [
            "GD110 conditionalEdges[].risks[name=slow].matchingRules[0].promql.promql",
            "GD132 conditionalEdges[].risks[name=slow].name",
            "GD132 conditionalEdges[].risks[name=slow].url",
            "GD150 nodes[version=1.0.0]",
        ]
    );
    assert_eq!(found[0].excerpt.as_ref().map(|excerpt| excerpt.text.as_str()), Some("a broken one"));
}
