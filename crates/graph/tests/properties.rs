//! What holds for every input: no panic, no open door, one form, the same bytes.

use crate::fixtures;
use std::collections::BTreeSet;

use clearway_core::Limits;
use clearway_graph::{Graph, Inputs, load, wire};
use proptest::prelude::*;
use serde_json::{Value, json};

fn any_version() -> impl Strategy<Value = String> {
    "[0-2]\\.[0-1]\\.[0-3](-rc\\.[0-1])?"
}

fn a_release() -> impl Strategy<Value = Value> {
    let versions = || prop::collection::vec(any_version(), 0..6);
    (any_version(), "(amd64|arm64|multi)", "[ab]", versions(), versions()).prop_map(
        |(version, arch, payload, previous, next)| {
            json!({"version": version, "arch": arch, "payload": payload, "previous": previous, "next": next})
        },
    )
}

fn a_block() -> impl Strategy<Value = String> {
    let from = prop::sample::select(vec![".*", "1[.]0", "0[.]1", "'['", "'[+]arm64$'", "1.0", "'^1[.]1.*[+]amd64$'"]);
    let rest = prop_oneof![
        Just(String::new()),
        "(A|B|C)x".prop_map(|name| format!(
            "url: https://example.com\nname: {name}\nmessage: m\nmatchingRules: [{{type: Always}}]\n"
        )),
        Just("url: https://example.com\nname: Dx\nmessage: m\n".to_owned()),
        Just("matchingRules: [{type: Always}]\n".to_owned()),
        Just("matchingRules: 3\nname: Ex\nurl: u\nmessage: m\n".to_owned()),
    ];
    (any_version(), "(\\+arm64)?", from, rest)
        .prop_map(|(to, build, from, rest)| format!("to: {to}{build}\nfrom: {from}\n{rest}"))
}

prop_compose! {
    fn some_files()(
        releases in prop::collection::vec(a_release(), 0..24),
        blocks in prop::collection::vec(a_block(), 0..12),
        versions in prop::collection::vec(any_version(), 0..16),
        removed in any_version(),
    ) -> Vec<(String, String)> {
        let mut files = vec![
            ("version".to_owned(), "1.1.0".to_owned()),
            ("channels/c.yaml".to_owned(), format!("name: c\nversions: [{}]\n", versions.join(", "))),
            ("releases/r.json".to_owned(), Value::Array(releases).to_string()),
            ("raw/metadata.json".to_owned(), format!(r#"{{"{removed}": {{"io.openshift.upgrades.graph.previous.remove": "*"}}}}"#)),
        ];
        files.extend((0..).zip(blocks).map(|(at, block): (u32, String)| (format!("blocked-edges/{at}.yaml"), block)));
        files
    }
}

/// What every graph keeps to, wherever it came from.
fn is_sound(graph: &Graph) {
    assert!(graph.nodes().windows(2).all(|pair| pair[0].version() < pair[1].version()), "nodes in order");
    let mut seen = BTreeSet::new();
    for (edge, risks) in graph.updates() {
        let (from, to) = (graph.node(edge.from).expect("a source"), graph.node(edge.to).expect("a target"));
        assert!(from.version().precedence(to.version()).is_lt(), "{} -> {}", from.version(), to.version());
        assert!(seen.insert(edge), "each update once, in one place");
        assert!(risks.windows(2).all(|pair| pair[0].order(&pair[1]).is_lt()), "risks in order, each once");
    }
    assert!(graph.conditional().iter().all(|group| !group.risks.is_empty() && !group.edges.is_empty()));
    let again = wire::read(&wire::write(graph), &Limits::default());
    assert!(again.diagnostics.is_empty(), "{:?}", again.diagnostics);
    assert_eq!(again.graph.as_ref(), Some(graph), "the way over the wire changes nothing");
}

fn bodies(inputs: &Inputs) -> Vec<Vec<u8>> {
    let Some(revision) = load(inputs, &Limits::default()).revision else { return Vec::new() };
    let mut bodies = Vec::new();
    for arch in revision.arches() {
        let graph = revision.graph("c", arch);
        is_sound(&graph);
        bodies.push(wire::write(&graph));
    }
    bodies
}

proptest! {
    #[test]
    fn every_answer_is_sound_and_the_order_of_files_has_no_say(files in some_files()) {
        let one: Inputs = files.iter().cloned().collect();
        let other: Inputs = files.iter().rev().cloned().collect();
        prop_assert_eq!(one.id(), other.id());
        prop_assert_eq!(bodies(&one), bodies(&other));
    }

    #[test]
    fn one_more_block_never_opens_an_update(files in some_files(), block in a_block()) {
        let before: Inputs = files.iter().cloned().collect();
        let mut after = before.clone();
        after.insert("blocked-edges/zz.yaml", block);
        let limits = Limits::default();
        let (Some(before), Some(after)) = (load(&before, &limits).revision, load(&after, &limits).revision) else {
            return Ok(());
        };
        for arch in before.arches() {
            let (before, after) = (before.graph("c", arch), after.graph("c", arch));
            let open = |graph: &Graph| graph.edges().iter().copied().collect::<BTreeSet<_>>();
            let shown = |graph: &Graph| graph.updates().map(|(edge, _)| edge).collect::<BTreeSet<_>>();
            prop_assert!(open(&after).is_subset(&open(&before)) && shown(&after).is_subset(&shown(&before)));
        }
    }

    #[test]
    fn no_file_panics(
        path in "(version|raw/metadata\\.json|channels/x\\.yaml|blocked-edges/x\\.yaml|releases/x\\.(json|yaml))",
        content in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            "(?s)[-\\[\\]{}:,'\"a-z0-9. \n]{0,120}".prop_map(String::into_bytes),
        ],
    ) {
        let mut inputs = fixtures::inputs(&[]);
        inputs.insert(path, content);
        if let Some(revision) = load(&inputs, &Limits::default()).revision {
            for arch in revision.arches() {
                is_sound(&revision.graph("stable-1", arch));
            }
        }
    }

    #[test]
    fn no_answer_panics_and_whatever_is_read_is_sound(
        nodes in prop::collection::vec(prop_oneof![
            any_version().prop_map(|version| json!({"version": version, "payload": "p"})),
            Just(json!({"version": "x"})),
            Just(json!(null)),
        ], 0..8),
        edges in prop::collection::vec((0..9_i32, -1..9_i32).prop_map(|(from, to)| json!([from, to])), 0..12),
        groups in prop::collection::vec((any_version(), any_version(), prop_oneof![
            Just(json!(null)),
            Just(json!([{"name": "A"}])),
            Just(json!([{"name": "A", "url": "", "message": "", "matchingRules": [{"type": "Moon", "x": [1]}]}])),
        ]).prop_map(|(from, to, risks)| json!({"edges": [{"from": from, "to": to}, {}], "risks": risks})), 0..6),
    ) {
        let answer = json!({"nodes": nodes, "edges": edges, "conditionalEdges": groups}).to_string();
        is_sound(&wire::read(answer.as_bytes(), &Limits::default()).graph.expect("a graph"));
    }

    #[test]
    fn no_text_panics_as_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[-\\[\\]{}:,\"a-z0-9.]{0,120}") {
        let _ = wire::read(&bytes, &Limits::default());
        let _ = wire::read(format!("{{\"nodes\":[{text}]}}").as_bytes(), &Limits::default());
    }
}
