//! Every rule about blocks and their overlaps, each on a graph small enough to read.

use crate::fixtures::{self, arch, codes, loaded, updates, version};
use clearway_core::{Limits, Severity};
use clearway_graph::{Rule, Statement, Verdict, load};

const A: &str = "url: https://example.com/a\nname: A\nmessage: It breaks.\nmatchingRules: [{type: Always}]\n";
const B: &str =
    "url: https://example.com/b\nname: B\nmessage: It breaks.\nmatchingRules: [{type: PromQL, promql: {promql: up}}]\n";

/// Blocks, the three updates of amd64 and of arm64, and what is diagnosed.
struct Case {
    what: &'static str,
    blocks: Vec<String>,
    amd64: [&'static str; 3],
    arm64: [&'static str; 3],
    codes: &'static [&'static str],
}

fn block(to: &str, from: &str, rest: &str) -> String {
    format!("to: {to}\nfrom: {from}\n{rest}")
}

#[test]
fn blocks_and_their_overlaps() {
    const OPEN: [&str; 3] = ["open", "open", "open"];
    let same = |what, blocks, amd64, codes| Case { what, blocks, amd64, arm64: amd64, codes };
    let cases = [
        same("no block", vec![], OPEN, &[]),
        same("a block to and from is silent", vec![block("1.0.2", "1[.]0[.]1", "")], ["open", "open", "gone"], &[]),
        same("a block with all texts and rules is a risk", vec![block("1.0.2", ".*", A)], ["open", "A", "A"], &[]),
        same(
            "`from` is searched anywhere in the version",
            vec![block("1.0.2", "'0[.]1'", "")],
            ["open", "open", "gone"],
            &[],
        ),
        same("`from` sees the architecture behind the version", vec![block("1.0.2", "'^1[.]0[.]1$'", "")], OPEN, &[]),
        Case {
            what: "`from` may ask for an architecture",
            blocks: vec![block("1.0.2", "'[+]arm64$'", "")],
            amd64: OPEN,
            arm64: ["open", "gone", "gone"],
            codes: &[],
        },
        same(
            "several silent blocks add up",
            vec![block("1.0.2", "1[.]0[.]0", ""), block("1.0.2", "1[.]0[.]1", "")],
            ["open", "gone", "gone"],
            &[],
        ),
        same(
            "a silent block beats a risk, whichever is read first",
            vec![block("1.0.2", "1[.]0[.]0", ""), block("1.0.2", ".*", A), block("1.0.2", "1[.]0[.]0", "")],
            ["open", "gone", "A"],
            &[],
        ),
        same(
            "risks of an edge are united, each once, by name",
            vec![block("1.0.2", ".*", B), block("1.0.2", "1[.]0[.]1", A), block("1.0.2", "1[.]0[.]", B)],
            ["open", "B", "A,B"],
            &[],
        ),
        Case {
            what: "a silent block to one architecture touches no other",
            blocks: vec![block("1.0.2+arm64", ".*", "")],
            amd64: OPEN,
            arm64: ["open", "gone", "gone"],
            codes: &[],
        },
        Case {
            what: "a risk to one architecture touches no other, and leaves no hole there",
            blocks: vec![block("1.0.2+arm64", ".*", A)],
            amd64: OPEN,
            arm64: ["open", "A", "A"],
            codes: &[],
        },
        same("a block to what nobody lists does nothing", vec![block("9.0.0", ".*", "")], OPEN, &[]),
        same("a pre-release is another version", vec![block("1.0.2-arm64", ".*", "")], OPEN, &[]),
        same(
            "a `from` that is no expression blocks every source",
            vec![block("1.0.2", "'4[.'", A)],
            ["open", "A", "A"],
            &["GD021 blocked-edges/0.yaml:2"],
        ),
        same(
            "a `from` that is a number blocks every source",
            vec![block("1.0.2", "4.18", "")],
            ["open", "gone", "gone"],
            &["GD021 blocked-edges/0.yaml:2"],
        ),
        same(
            "no `from` blocks every source",
            vec!["to: 1.0.2\n".into()],
            ["open", "gone", "gone"],
            &["GD021 blocked-edges/0.yaml:1"],
        ),
        same(
            "a `from` that stands twice blocks every source",
            vec!["to: 1.0.2\nfrom: nothing\nfrom: never\n".into()],
            ["open", "gone", "gone"],
            &["GD006 blocked-edges/0.yaml:3", "GD021 blocked-edges/0.yaml:3"],
        ),
        same(
            "texts without rules are a risk for every cluster",
            vec![block("1.0.2", ".*", "url: https://example.com\nname: Slow\nmessage: M\n")],
            ["open", "Slow", "Slow"],
            &["GD023 blocked-edges/0.yaml:1"],
        ),
        same(
            "an empty list of rules is no rules",
            vec![block("1.0.2", ".*", "url: https://example.com\nname: Slow\nmessage: M\nmatchingRules: []\n")],
            ["open", "Slow", "Slow"],
            &["GD023 blocked-edges/0.yaml:6"],
        ),
        same(
            "rules that cannot be read are a risk for every cluster",
            vec![block(
                "1.0.2",
                ".*",
                "url: https://example.com\nname: Slow\nmessage: M\nmatchingRules: [{type: PromQL}, 3]\n",
            )],
            ["open", "Slow", "Slow"],
            &["GD024 blocked-edges/0.yaml:6"],
        ),
        same(
            "rules that are set twice are a risk for every cluster",
            vec![block("1.0.2", ".*", &format!("{B}matchingRules: [{{type: PromQL, promql: {{promql: down}}}}]\n"))],
            ["open", "B", "B"],
            &["GD006 blocked-edges/0.yaml:7", "GD024 blocked-edges/0.yaml:7"],
        ),
        same(
            "rules without a name take the edge away",
            vec![block("1.0.2", ".*", "url: https://example.com\nmessage: M\nmatchingRules: [{type: Always}]\n")],
            ["open", "gone", "gone"],
            &["GD022 blocked-edges/0.yaml:5"],
        ),
        same(
            "a text that is none takes the edge away",
            vec![block(
                "1.0.2",
                ".*",
                "url: https://example.com\nname: 7\nmessage: M\nmatchingRules: [{type: Always}]\n",
            )],
            ["open", "gone", "gone"],
            &["GD022 blocked-edges/0.yaml:6"],
        ),
        same(
            "some texts and no rules take the edge away",
            vec![block("1.0.2", ".*", "name: Slow\n")],
            ["open", "gone", "gone"],
            &["GD022 blocked-edges/0.yaml:3"],
        ),
        same(
            "an unknown key is named and opens nothing",
            vec![block(
                "1.0.2",
                ".*",
                "url: https://example.com\nname: Slow\nmessage: M\nmatchingrules: [{type: PromQL}]\n",
            )],
            ["open", "Slow", "Slow"],
            &["GD023 blocked-edges/0.yaml:1", "GD005 blocked-edges/0.yaml:6"],
        ),
        same(
            "a silent block with a key more is still one",
            vec![block("1.0.2", ".*", "fixedIn: 1.0.3\n")],
            ["open", "gone", "gone"],
            &[],
        ),
        same(
            "a `fixedIn` that is no version",
            vec![block("1.0.2", ".*", "fixedIn: soon\n")],
            ["open", "gone", "gone"],
            &["GD026 blocked-edges/0.yaml:3"],
        ),
        same(
            "an unknown rule type is carried through",
            vec![block("1.0.2", ".*", &A.replace("{type: Always}", "{type: Moon, phase: {full: true}}"))],
            ["open", "A", "A"],
            &["GD025 blocked-edges/0.yaml:6"],
        ),
        same(
            "two risks of one name are both served",
            vec![block("1.0.2", ".*", A), block("1.0.2", ".*", &A.replace("breaks", "burns"))],
            ["open", "A,A", "A,A"],
            &["GD027 blocked-edges/1.yaml:0"],
        ),
    ];
    for case in cases {
        let named: Vec<_> =
            (0..).zip(&case.blocks).map(|(at, text)| (format!("blocked-edges/{at}.yaml"), text)).collect();
        let files: Vec<_> = named.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let outcome = loaded(&files);
        assert_eq!(updates(&outcome, "amd64"), case.amd64, "{} (amd64)", case.what);
        assert_eq!(updates(&outcome, "arm64"), case.arm64, "{} (arm64)", case.what);
        assert_eq!(codes(&outcome), case.codes, "{}", case.what);
    }
}

#[test]
fn an_unknown_rule_type_is_a_warning_that_names_the_known_ones() {
    let text = block("1.0.2", ".*", &A.replace("{type: Always}", "{type: promql}"));
    let outcome = loaded(&[("blocked-edges/0.yaml", &text)]);
    let [finding] = outcome.diagnostics.as_slice() else { panic!("{:?}", outcome.diagnostics) };
    assert_eq!((&*finding.code, finding.severity), ("GD025", Severity::Warning));
    assert_eq!(finding.message, "unknown rule type `promql`; it is served unchanged");
    assert!(finding.help.as_deref().is_some_and(|help| help.contains("Always, PromQL")), "{finding:?}");
}

#[test]
fn a_block_whose_target_cannot_be_told_refuses_the_revision() {
    for (block, code) in [
        ("from: .*\n", "GD020"),
        ("to: banana\nfrom: .*\n", "GD020"),
        ("to: 4.10\nfrom: .*\n", "GD020"),
        ("to: [1.0.2]\nfrom: .*\n", "GD020"),
        ("to: 1.0.1\nfrom: .*\nto: 1.0.2\n", "GD020"),
        ("- 1\n", "GD020"),
        ("- {to: 1.0.2, from: .*}\n", "GD020"),
        ("items: [{to: 1.0.2, from: .*}]\n", "GD020"),
        ("kind: List\nitems: [{to: 1.0.2, from: .*}]\n", "GD020"),
        ("", "GD020"),
        ("# a comment only\n", "GD020"),
        ("to: 1.0.1\nfrom: .*\n---\nto: 1.0.2\nfrom: .*\n", "GD007"),
        ("to: \"1.0.2\nfrom: .*\n", "IN001"),
    ] {
        let outcome = loaded(&[("blocked-edges/x.yaml", block)]);
        assert!(outcome.revision.is_none(), "{block}");
        assert!(outcome.diagnostics.iter().any(|found| found.code == code), "{block}: {:?}", codes(&outcome));
    }
}

#[test]
fn a_block_is_not_hidden_behind_items() {
    for block in [
        "to: 1.0.2\nfrom: .*\nitems: [{to: 9.9.9, from: nothing}]\n",
        "items: [{to: 9.9.9, from: nothing}]\nto: 1.0.2\nfrom: .*\n",
        "to: 1.0.2\nfrom: .*\nitems: []\n",
    ] {
        let outcome = loaded(&[("blocked-edges/x.yaml", block)]);
        assert_eq!(updates(&outcome, "amd64"), ["open", "gone", "gone"], "{block}");
        assert!(outcome.diagnostics.iter().any(|found| found.code == "GD005"), "{block}: {:?}", codes(&outcome));
    }
}

#[test]
fn file_names_decide_what_is_read_and_an_odd_one_is_named() {
    let block = "to: 1.0.2\nfrom: .*\n";
    for (path, gone, code) in [
        ("blocked-edges/a.yaml", true, None),
        ("blocked-edges/a.yml", true, Some("GD004")),
        ("blocked-edges/a.txt", false, Some("GD004")),
        ("blocked-edges/old/a.yaml", false, Some("GD004")),
        ("hack/a.yaml", false, None),
    ] {
        let outcome = loaded(&[(path, block)]);
        assert_eq!(updates(&outcome, "amd64")[2] == "gone", gone, "{path}");
        assert_eq!(outcome.diagnostics.first().map(|found| found.code.as_ref()), code, "{path}");
    }
}

#[test]
fn an_unknown_rule_keeps_its_parameters_on_the_wire() {
    let rules = A.replace("{type: Always}", "{type: Moon, phase: {full: true, of: [1, x]}}, {type: Always}");
    let outcome = loaded(&[("blocked-edges/x.yaml", &block("1.0.2", ".*", &rules))]);
    let graph = outcome.revision.unwrap().graph("stable-1", &arch("amd64"));
    let body = String::from_utf8(clearway_graph::wire::write(&graph)).unwrap();
    assert!(body.contains(r#"[{"type":"Moon","phase":{"full":true,"of":[1,"x"]}},{"type":"Always"}]"#), "{body}");
}

#[test]
fn every_file_that_had_a_say_is_named() {
    let outcome = loaded(&[
        ("blocked-edges/a.yaml", &block("1.0.2", ".*", A)),
        ("blocked-edges/b.yaml", &block("1.0.2", "1[.]0[.]0", "")),
        ("blocked-edges/c.yaml", &block("1.0.2", "1[.]0[.]1", "")),
        ("raw/metadata.json", r#"{"1.0.2": {"io.openshift.upgrades.graph.previous.add": "1.0.0"}}"#),
    ]);
    let revision = outcome.revision.unwrap();
    let explained = revision.explain(&version("1.0.0"), &version("1.0.2"), &arch("amd64")).unwrap();
    let said: Vec<_> = explained
        .said
        .iter()
        .map(|said| match said {
            Statement::Listed { key, file } | Statement::Metadata { key, file } => format!("{key} {file}"),
            Statement::Blocked(block) => block.file.clone(),
        })
        .collect();
    assert_eq!(
        said,
        [
            "previous releases/all.json",
            "io.openshift.upgrades.graph.previous.add raw/metadata.json",
            "blocked-edges/a.yaml",
            "blocked-edges/b.yaml",
        ]
    );
    // The file speaks of 1.0.2, but not of this update to it.
    let other = revision.explain(&version("1.0.1"), &version("1.0.2"), &arch("amd64")).unwrap();
    assert!(!other.said.iter().any(|said| matches!(said, Statement::Metadata { .. })), "{:?}", other.said);
    assert_eq!((explained.verdict, explained.channels), (Verdict::Removed, vec!["stable-1"]));
    assert_eq!(explained.to.position.map(|position| position.line), Some(4));
    let missing = revision.explain(&version("1.0.2"), &version("1.0.0"), &arch("amd64")).unwrap();
    assert_eq!(missing.verdict, Verdict::NotListed);
}

#[test]
fn metadata_is_said_to_come_from_the_file_that_changed_the_edge() {
    let key = "io.openshift.upgrades.graph.previous.remove";
    let releases = format!(
        r#"[{{"version":"1.0.0","payload":"p@0"}},{{"version":"1.0.1","payload":"p@1"}},
            {{"version":"1.0.2","payload":"p@2","previous":["1.0.0","1.0.1"],"metadata":{{"{key}":"1.0.1"}}}}]"#
    );
    let raw = format!(r#"{{"1.0.2": {{"{key}": "1.0.0"}}}}"#);
    let outcome = loaded(&[("releases/all.json", &releases), ("raw/metadata.json", &raw)]);
    let revision = outcome.revision.unwrap();
    for (from, file) in [("1.0.0", "raw/metadata.json"), ("1.0.1", "releases/all.json")] {
        let explained = revision.explain(&version(from), &version("1.0.2"), &arch("amd64")).unwrap();
        assert_eq!(explained.verdict, Verdict::Removed);
        assert!(explained.said.contains(&Statement::Metadata { key, file }), "{from}: {:?}", explained.said);
    }
}

#[test]
fn an_auto_extend_is_a_url() {
    for (value, bad) in [("https://example.com/1", false), ("yes", true), ("[a]", true), ("https://", true)] {
        let outcome = loaded(&[("blocked-edges/x.yaml", &block("1.0.2", ".*", &format!("{A}autoExtend: {value}\n")))]);
        assert_eq!(outcome.diagnostics.iter().any(|found| found.code == "GD028"), bad, "{value}");
    }
}

#[test]
fn rules_that_are_not_given_are_always() {
    let texts = "url: https://example.com\nname: Slow\nmessage: M\n";
    let outcome = loaded(&[("blocked-edges/x.yaml", &block("1.0.2", ".*", texts))]);
    let graph = outcome.revision.unwrap().graph("stable-1", &arch("amd64"));
    assert_eq!(graph.conditional()[0].risks[0].rules(), [Rule::of_kind(Rule::ALWAYS)]);
}

#[test]
fn rules_with_a_key_twice_are_always() {
    let texts = "url: https://example.com\nname: Slow\nmessage: M\n";
    for rules in [
        "matchingRules: [{type: PromQL, promql: {promql: a}}]\nmatchingRules: [{type: PromQL, promql: {promql: b}}]\n",
        "matchingRules: [{type: PromQL, promql: {promql: a, promql: b}}]\n",
        "matchingRules: [{type: PromQL, promql: {promql: a}, promql: {promql: b}}]\n",
        "matchingRules: [{type: Always, type: PromQL, promql: {promql: b}}]\n",
        "matchingRules:\n- type: Resource\n  resource: {labelSelector: {matchLabels: {a: b, a: c}}}\n",
    ] {
        for (path, target) in
            [("blocked-edges/x.yaml", "to: 1.0.2\nfrom: .*\n"), ("risks/x.yaml", "to: 1.0.2\nfrom: '*'\n")]
        {
            let outcome = loaded(&[(path, &format!("{target}{texts}{rules}"))]);
            assert!(
                outcome.diagnostics.iter().any(|found| found.code == "GD024"),
                "{rules}: {:?}",
                outcome.diagnostics
            );
            let graph = outcome.revision.unwrap().graph("stable-1", &arch("amd64"));
            assert_eq!(graph.conditional()[0].risks[0].rules(), [Rule::of_kind(Rule::ALWAYS)], "{rules}");
        }
    }
}

#[test]
fn a_file_that_exists_and_cannot_be_read_refuses_the_revision_and_is_named() {
    let good = fixtures::inputs(&[]);
    assert!(load(&good, &Limits::default()).revision.is_some());
    for path in ["blocked-edges/1.0.2.yaml", "risks", "version", "raw/metadata.json", "signatures/sha256/ab/1"] {
        let mut inputs = good.clone();
        inputs.insert_unreadable(path, "permission denied");
        let outcome = load(&inputs, &Limits::default());
        assert!(outcome.revision.is_none(), "{path}");
        let [finding] = outcome.diagnostics.as_slice() else { panic!("{:?}", outcome.diagnostics) };
        assert_eq!((finding.code.as_ref(), finding.place.file.as_deref()), ("GD008", Some(path)));
        assert_eq!(finding.message, format!("cannot read {path}: permission denied"));
    }
}
