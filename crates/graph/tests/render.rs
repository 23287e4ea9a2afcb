//! Drawings: what is in them, that they are well formed, and that nothing in a text escapes from its place.

use std::sync::Arc;

use crate::sketch::{graphs, node, sketch, version};
use clearway_core::Limits;
use clearway_graph::render::{Format, Options, RenderDetail};
use clearway_graph::{Edge, Graph, Inputs, Risk, load, render};
use proptest::prelude::*;

fn drawn(graph: &Graph, format: Format, show: RenderDetail) -> String {
    render(graph, &Options { format, show, title: "stable".into(), ..Options::default() }).unwrap()
}

/// The names of open elements at the end, and what is wrong, for a text that should be one XML element.
fn well_formed(text: &str) -> Result<(), String> {
    let (mut open, mut rest, mut roots) = (Vec::new(), text, 0);
    while let Some((before, tail)) = rest.split_once('<') {
        if before.contains('>') || (open.is_empty() && !before.trim().is_empty()) {
            return Err(format!("text where none may be: {before}"));
        }
        for reference in before.split('&').skip(1) {
            let name = reference.split_once(';').ok_or("a bare &")?.0;
            ["amp", "lt", "gt", "quot"].contains(&name).then_some(()).ok_or_else(|| format!("&{name};"))?;
        }
        let (tag, tail) = tail.split_once('>').ok_or("an open tag")?;
        rest = tail;
        if let Some(name) = tag.strip_prefix('/') {
            (open.pop() == Some(name)).then_some(()).ok_or_else(|| format!("</{name}>"))?;
            continue;
        }
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let name = tag.split_whitespace().next().ok_or("a tag without a name")?;
        (tag.matches('"').count() % 2 == 0 && !tag.contains('<')).then_some(()).ok_or_else(|| format!("<{tag}>"))?;
        roots += usize::from(open.is_empty());
        if !empty {
            open.push(name);
        }
    }
    (open.is_empty() && roots == 1 && rest.trim().is_empty()).then_some(()).ok_or_else(|| format!("{open:?} {roots}"))
}

#[test]
fn what_decides_is_drawn_and_the_rest_on_request() {
    // Every version updates to every later one; only the last step of 1.1.1 into 1.2 carries a risk.
    let graph = sketch("1.1.0>1.1.1 1.1.0>1.1.2 1.1.1>1.1.2 1.1.0>1.2.0 1.1.1>1.2.0?Slow 1.1.2>1.2.0?Slow 1.2.0>1.2.1");
    let essential = drawn(&graph, Format::Mermaid, RenderDetail::Essential);
    let edges: Vec<&str> = essential.lines().filter(|line| line.contains("->")).map(str::trim).collect();
    assert_eq!(
        edges,
        ["n0 --> n2", "n0 --> n3", "n1 --> n2", "n1 -.->|\"Slow\"| n3", "n2 -.->|\"Slow\"| n3", "n3 --> n4"],
        "{essential}"
    );
    let all = drawn(&graph, Format::Mermaid, RenderDetail::All);
    assert_eq!(all.lines().filter(|line| line.contains("->")).count(), 7, "{all}");
}

#[test]
fn a_risk_is_not_drawn_where_a_safe_way_leads_as_far() {
    let dashed = |words: &str, show| drawn(&sketch(words), Format::Dot, show).contains("dashed, color");
    // A safe way to the same version; to a newer one; and only to an older one.
    for (words, essential, risks) in [
        ("1.1.0>1.1.1 1.1.1>1.1.2 1.1.0>1.1.2?Slow", false, false),
        ("1.1.0>1.1.1?Slow 1.1.0>1.1.2", false, true),
        ("1.1.0>1.1.1 1.1.0>1.1.2?Slow", true, true),
    ] {
        assert_eq!(dashed(words, RenderDetail::Essential), essential, "{words}");
        assert_eq!(dashed(words, RenderDetail::Risks), risks, "{words}");
        assert!(dashed(words, RenderDetail::All), "{words}");
    }
}

#[test]
fn neighbours_with_the_same_updates_are_one_box() {
    let graph = sketch("1.1.0>1.1.3 1.1.1>1.1.3 1.1.2>1.1.3");
    let text = drawn(&graph, Format::Mermaid, RenderDetail::Essential);
    assert!(text.contains("n0[\"1.1.0–1.1.2<br/>3 versions\"]") && text.contains("n0 --> n3"), "{text}");
    assert_eq!(text.matches("-->").count(), 1);
    let text = drawn(&graph, Format::Dot, RenderDetail::Essential);
    assert!(text.contains("n0 [label=\"1.1.0–1.1.2\\n3 versions\"") && text.contains("  n0 -> n3;"), "{text}");
}

#[test]
fn one_version_is_shown_with_all_of_its_updates() {
    let graph = sketch("1.1.0>1.1.1 1.1.0>1.1.2 1.1.1>1.1.2 1.1.1>1.1.3?Slow 1.1.2>1.1.3 1.1.0>1.1.4");
    let edges = |from: Option<&str>, to: Option<&str>| {
        let (from, to) = (from.map(version), to.map(version));
        let text = render(&graph, &Options { format: Format::Mermaid, from, to, ..Options::default() }).unwrap();
        let lines = text.lines().filter(|line| line.contains("->")).map(|line| line.trim().to_owned());
        lines.collect::<Vec<_>>()
    };
    assert_eq!(edges(Some("1.1.1"), None), ["n1 --> n2", "n1 -.->|\"Slow\"| n3"]);
    assert_eq!(edges(None, Some("1.1.2")), ["n0 --> n2"], "1.1.0 and 1.1.1 are one box");
    assert_eq!(edges(Some("1.1.0"), Some("1.1.3")), ["n0 --> n1", "n0 --> n2", "n1 -.->|\"Slow\"| n3", "n2 --> n3"]);
    let unknown = Options { from: Some(version("9.9.9")), ..Options::default() };
    assert_eq!(render(&graph, &unknown).unwrap_err().to_string(), "9.9.9 is not in this channel");
}

#[test]
fn removed_updates_are_drawn_on_request() {
    let files = [
        ("version", "1.1.0\n"),
        ("channels/c.yaml", "name: c\nversions: [1.0.0, 1.0.1, 1.0.2]\n"),
        ("blocked-edges/1.0.2.yaml", "to: 1.0.2\nfrom: .*\n"),
        (
            "releases/all.json",
            r#"[{"version":"1.0.0","arch":"amd64","payload":"example.com/a@sha256:0"},
                {"version":"1.0.1","arch":"amd64","payload":"example.com/a@sha256:1","previous":["1.0.0"]},
                {"version":"1.0.2","arch":"amd64","payload":"example.com/a@sha256:2","previous":["1.0.0","1.0.1"]}]"#,
        ),
    ];
    let revision = load(&files.into_iter().collect::<Inputs>(), &Limits::default()).revision.expect("a revision");
    let arch = "amd64".parse().unwrap();
    let removed = revision.removed("c", &arch);
    assert_eq!(removed, [(version("1.0.0"), version("1.0.2")), (version("1.0.1"), version("1.0.2"))]);
    let options = Options { format: Format::Mermaid, removed, ..Options::default() };
    let text = render(&revision.graph("c", &arch), &options).unwrap();
    assert_eq!((text.matches("--x").count(), text.matches("-->").count()), (2, 1), "{text}");
}

#[test]
fn no_text_escapes_from_its_place() {
    let name = "a\"b<c>&d\\e\u{1}\nf#g`h]]>\u{202e}";
    let risk = Arc::new(Risk::new(name, "https://example.com", "It breaks.", Vec::new()));
    let nodes = vec![node("1.0.0"), node("1.0.1")];
    let graph = Graph::assemble(nodes, [], [(Edge { from: 0, to: 1 }, vec![risk])]);
    let text = |format| render(&graph, &Options { format, title: name.into(), ..Options::default() }).unwrap();
    let svg = text(Format::Svg);
    assert_eq!(well_formed(&svg), Ok(()), "{svg}");
    assert!(svg.contains("a&quot;b&lt;c&gt;&amp;d"));
    assert!(text(Format::Dot).contains(r#"label="a\"b<c>&d\\e\\x01\nf#g`h]]>\\u{202e}""#), "{}", text(Format::Dot));
    assert!(text(Format::Mermaid).contains("|\"a#quot;b#lt;c#gt;#amp;d\\e\\x01<br/>f#35;g#96;h]]#gt;\\u{202e}\"|"));
    for format in [Format::Svg, Format::Dot, Format::Mermaid] {
        assert!(!text(format).contains(['\u{202e}', '\u{1}']), "{}", text(format));
    }
}

#[test]
fn a_picture_has_what_a_reader_and_a_screen_reader_need() {
    let svg = drawn(&sketch("1.1.0>1.1.1 1.1.1>1.2.0?Slow"), Format::Svg, RenderDetail::Essential);
    for part in [
        "viewBox=\"0 0 ",
        "role=\"img\"",
        "<title id=\"title\">stable</title>",
        "<desc id=\"desc\">",
        "prefers-color-scheme:dark",
        "updates from here: 1 unconditional, 0 conditional",
        "to 1.2.0 from 1.1.1\nrisks: Slow",
    ] {
        assert!(svg.contains(part), "{part} is missing in {svg}");
    }
}

#[test]
fn nothing_at_all_can_be_drawn() {
    for format in [Format::Svg, Format::Dot, Format::Mermaid] {
        assert!(!drawn(&Graph::default(), format, RenderDetail::All).is_empty());
    }
}

proptest! {
    #[test]
    fn every_picture_is_well_formed_and_the_same_again(graph in graphs()) {
        for show in [RenderDetail::Essential, RenderDetail::Risks, RenderDetail::All] {
            let svg = drawn(&graph, Format::Svg, show);
            prop_assert_eq!(well_formed(&svg), Ok(()));
            prop_assert_eq!(&svg, &drawn(&graph.clone(), Format::Svg, show));
            for node in graph.nodes() {
                let text = format!(">{}</text>", node.version());
                prop_assert!(svg.contains(&text));
            }
        }
    }
}
