//! Risks declared once with version ranges: what they compile to, and the way there and back.

use crate::fixtures::{self, codes, loaded, updates};
use clearway_core::Limits;
use clearway_graph::convert::{self, Conversion};
use clearway_graph::{Inputs, Revision, load, wire};

const RISK: &str = "url: https://example.com/a\nname: Slow\nmessage: It is slow.\nmatchingRules: [{type: PromQL, promql: {promql: up}}]\n";

fn bodies(revision: &Revision) -> Vec<String> {
    let channels: Vec<_> = revision.channels().map(|channel| channel.name.clone()).collect();
    let arches = revision.arches().iter();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    arches.flat_map(|arch| channels.iter().map(|channel| text(wire::write(&revision.graph(channel, arch))))).collect()
}

fn converted(inputs: &Inputs, conversion: &Conversion) -> Inputs {
    let kept = inputs.iter().filter(|(path, _)| !conversion.replaced.contains(*path));
    let kept = kept.map(|(path, content)| (path.to_owned(), content.to_vec()));
    let new = conversion.files.iter().map(|(path, text)| (path.clone(), text.clone().into_bytes()));
    kept.chain(new).collect()
}

#[test]
fn a_declared_risk_is_on_the_edges_its_ranges_hold() {
    for (edges, amd64, arm64, codes_wanted) in [
        ("to: 1.0.2\nfrom: '*'\n", ["open", "Slow", "Slow"], None, &[][..]),
        ("to: 1.0.x\nfrom: 1.0.0\n", ["Slow", "Slow", "open"], None, &[]),
        ("to: '>=1.0.1'\nfrom: 1.0.0 - 1.0.1\n", ["Slow", "Slow", "Slow"], None, &[]),
        ("to: [1.0.1, 1.0.2]\nfrom: [1.0.1, 3.x]\n", ["open", "open", "Slow"], None, &[]),
        ("to: 1.0.2+arm64\nfrom: '*'\n", ["open", "open", "open"], Some(["open", "Slow", "Slow"]), &[]),
        ("to: 1.0.2\nfrom: 1.0.0+arm64\n", ["open", "open", "open"], Some(["open", "Slow", "open"]), &[]),
        ("edges:\n- {to: 1.0.1, from: '*'}\n- {to: 1.0.2, from: 1.0.1}\n", ["Slow", "open", "Slow"], None, &[]),
        ("to: 9.x\nfrom: '*'\n", ["open", "open", "open"], None, &[]),
        ("to: 1.0.2\n", ["open", "Slow", "Slow"], None, &["GD051 risks/Slow.yaml:1"]),
        ("to: 1.0.2\nfrom: '4[.]13'\n", ["open", "Slow", "Slow"], None, &["GD051 risks/Slow.yaml:6"]),
        ("to: 1.0.2\nfrom: []\n", ["open", "Slow", "Slow"], None, &["GD051 risks/Slow.yaml:6"]),
    ] {
        let outcome = loaded(&[("risks/Slow.yaml", &format!("{RISK}{edges}"))]);
        assert_eq!(codes(&outcome), codes_wanted, "{edges}");
        assert_eq!(updates(&outcome, "amd64"), amd64, "{edges}");
        assert_eq!(updates(&outcome, "arm64"), arm64.unwrap_or(amd64), "{edges}");
    }
}

#[test]
fn a_declared_risk_that_cannot_be_shown_takes_its_edges_away() {
    for texts in ["name: Slow\n", "", "matchingRules: [{type: Always}]\n"] {
        let outcome = loaded(&[("risks/x.yaml", &format!("{texts}to: 1.0.2\nfrom: '*'\n"))]);
        assert_eq!(updates(&outcome, "amd64"), ["open", "gone", "gone"], "{texts}");
        assert_eq!(outcome.diagnostics[0].code, "GD022", "{texts}");
    }
}

#[test]
fn a_declared_risk_whose_targets_cannot_be_told_refuses_the_revision() {
    for edges in [
        "",
        "from: '*'\n",
        "to: 4.14\nfrom: '*'\n",
        "to: []\nfrom: '*'\n",
        "edges: []\n",
        "edges: 3\n",
        "edges: [{from: '*'}]\n",
        "to: 1.0.2\nfrom: '*'\nedges: [{to: 1.0.2, from: '*'}]\n",
        "to: 1.0.1\nfrom: '*'\nto: 1.0.2\n",
        "edges: [{to: 1.0.1, from: '*', to: 9.9.9}]\n",
        "edges: [{to: 1.0.1, from: '*', from: 9.9.9}]\n",
    ] {
        let outcome = loaded(&[("risks/x.yaml", &format!("{RISK}{edges}"))]);
        assert!(outcome.revision.is_none(), "{edges}");
        assert!(outcome.diagnostics.iter().any(|found| found.code == "GD050"), "{edges}: {:?}", codes(&outcome));
    }
}

#[test]
fn an_unknown_key_in_an_entry_of_edges_is_named() {
    let outcome = loaded(&[("risks/Slow.yaml", &format!("{RISK}edges:\n- to: 1.0.2\n  from: '*'\n  name: Other\n"))]);
    assert_eq!(codes(&outcome), ["GD005 risks/Slow.yaml:8"]);
    assert!(outcome.diagnostics[0].message.contains("`name` is not a key of an entry of `edges`"));
    assert_eq!(updates(&outcome, "amd64"), ["open", "Slow", "Slow"]);
}

#[test]
fn a_declared_risk_is_not_hidden_behind_items() {
    let hidden = format!("{RISK}to: 1.0.2\nfrom: '*'\nitems:\n- {{name: Other, to: 9.9.9, from: 9.9.8}}\n");
    let outcome = loaded(&[("risks/Slow.yaml", &hidden)]);
    assert_eq!(codes(&outcome), ["GD005 risks/Slow.yaml:7"]);
    assert_eq!(updates(&outcome, "amd64"), ["open", "Slow", "Slow"]);
}

#[test]
fn a_declared_risk_and_its_blocks_are_one_risk() {
    let outcome = loaded(&[
        ("risks/Slow.yaml", &format!("{RISK}to: 1.0.2\nfrom: '*'\n")),
        ("blocked-edges/1.0.2-Slow.yaml", &format!("{RISK}to: 1.0.2\nfrom: .*\n")),
    ]);
    assert_eq!(updates(&outcome, "amd64"), ["open", "Slow", "Slow"]);
}

#[test]
fn converting_there_and_back_leaves_the_graph_alone() {
    let block = |to: &str, from: &str, rest: &str| format!("to: {to}\nfrom: '{from}'\n{rest}");
    let files = [
        ("blocked-edges/a.yaml", block("1.0.1", ".*", RISK)),
        ("blocked-edges/b.yaml", block("1.0.2", "1[.]0[.]0", &format!("{RISK}fixedIn: 1.0.3\n"))),
        ("blocked-edges/c.yaml", block("1.0.2", "[+]arm64$", &RISK.replace("Slow", "Other"))),
        ("blocked-edges/d.yaml", block("1.0.2", "1[.]0[.]1", "")),
        ("blocked-edges/e.yaml", block("7.0.0", "1[.]0[.]", &RISK.replace("Slow", "Later"))),
    ];
    let inputs = fixtures::inputs(&files.each_ref().map(|(path, text)| (*path, text.as_str())));
    let first = load(&inputs, &Limits::default()).revision.unwrap();
    let declared = convert::declare(&first).unwrap();
    assert_eq!(declared.files.keys().collect::<Vec<_>>(), ["risks/Later-7.0.yaml", "risks/Slow-1.0.yaml"]);
    assert_eq!(declared.replaced.len(), 3, "an architecture's expression and a silent block stay: {declared:?}");
    assert!(declared.files["risks/Slow-1.0.yaml"].contains(r#""fixedIn":"1.0.3""#), "{declared:?}");
    let inputs = converted(&inputs, &declared);
    let second = load(&inputs, &Limits::default()).revision.unwrap();
    assert_eq!((second.declarations().len(), bodies(&second)), (2, bodies(&first)));
    let compiled = convert::compile(&second).unwrap();
    let third = load(&converted(&inputs, &compiled), &Limits::default()).revision.unwrap();
    // The risk on a release that nobody knows yet stays declared.
    assert_eq!((third.declarations().len(), bodies(&third)), (1, bodies(&first)));
}

#[test]
fn ranges_of_one_architecture_compile_to_an_expression_for_it() {
    let inputs = fixtures::inputs(&[("risks/Slow.yaml", &format!("{RISK}to: 1.0.x\nfrom: [1.0.0+arm64, 1.0.1]\n"))]);
    let first = load(&inputs, &Limits::default()).revision.unwrap();
    let compiled = convert::compile(&first).unwrap();
    let second = load(&converted(&inputs, &compiled), &Limits::default()).revision.unwrap();
    assert_eq!(bodies(&second), bodies(&first));
    assert!(second.declarations().is_empty() && !second.blocks().is_empty());
}
