//! Releases, channels and raw metadata: what becomes nodes and edges, and what does not.

use crate::fixtures::{arch, codes, loaded, served, updates, version};
use clearway_core::Limits;
use clearway_graph::{Inputs, load};

fn with_releases(json: &str, more: &[(&str, &str)]) -> clearway_graph::Outcome {
    let base = [
        ("version", "1.1.0"),
        ("channels/c.yaml", "name: c\nversions: [1.0.0, 1.0.1, 1.0.2]\n"),
        ("releases/all.json", json),
    ];
    let inputs: Inputs = base.iter().chain(more).map(|(path, content)| (*path, *content)).collect();
    load(&inputs, &Limits::default())
}

#[test]
fn one_bad_release_is_its_own_problem() {
    let good =
        r#"{"version":"1.0.0","payload":"p0"},{"version":"1.0.1","arch":"amd64","payload":"p1","previous":["1.0.0"]}"#;
    for (bad, codes_wanted) in [
        ("", vec![]),
        (r#"{"version":"1.0","payload":"p"},"#, vec!["GD041 releases/all.json:1"]),
        (r#"{"version":7,"payload":"p"},"#, vec!["GD041 releases/all.json:1"]),
        (r#"{"payload":"p"},"#, vec!["GD041 releases/all.json:1"]),
        (r#"{"version":"1.0.2"},"#, vec!["GD041 releases/all.json:1"]),
        (r#"{"version":"1.0.2","payload":""},"#, vec!["GD041 releases/all.json:1"]),
        (r#"{"version":"1.0.2","payload":"p","arch":"AMD"},"#, vec!["GD041 releases/all.json:1"]),
        ("3,", vec!["GD041 releases/all.json:1"]),
        (r#"{"version":"1.0.2","payload":"p","colour":"red"},"#, vec!["GD005 releases/all.json:1"]),
        (
            r#"{"version":"1.0.2","payload":"p","previous":["x",3,"1.0.1"]},"#,
            vec!["GD042 releases/all.json:1", "GD042 releases/all.json:1"],
        ),
        (r#"{"version":"1.0.2","payload":"p","previous":["x","1.0.1"]},"#, vec!["GD042 releases/all.json:1"]),
        (r#"{"version":"1.0.2","payload":"p","metadata":{"a":1}},"#, vec!["GD045 releases/all.json:1"]),
        (
            r#"{"version":"1.0.2","payload":"p","previous":["1.0.2","1.0.3","2.0.0","1.0.1"]},"#,
            vec!["GD043 releases/all.json:1"],
        ),
        (r#"{"version":"1.0.2","payload":"p","next":["1.0.0"]},"#, vec!["GD043 releases/all.json:1"]),
        (r#"{"version":"1.0.1","payload":"p1"},"#, vec!["GD044 releases/all.json:1"]),
    ] {
        let outcome = with_releases(&format!("[{bad}{good}]"), &[]);
        assert_eq!(codes(&outcome), codes_wanted, "{bad}");
        let graph = outcome.revision.unwrap().graph("c", &arch("amd64"));
        assert_eq!(served(&graph, "1.0.0", "1.0.1"), "open", "{bad}");
        if bad.contains("\"1.0.1\"]") {
            assert_eq!(served(&graph, "1.0.1", "1.0.2"), "open", "{bad}");
        }
        assert_eq!(served(&graph, "1.0.2", "1.0.2").replace("no node", "gone"), "gone");
    }
}

#[test]
fn an_architecture_that_lost_all_its_releases_lends_nothing_to_the_next_one() {
    let torn = r#"[{"version":"1.0.9","arch":"ppc64le","payload":"a"},{"version":"1.0.9","arch":"ppc64le","payload":"b"},
        {"version":"1.0.0","arch":"s390x","payload":"c"}]"#;
    let revision = loaded(&[("releases/torn.json", torn)]).revision.expect("a revision");
    let served = |name: &str| -> Vec<String> {
        revision.graph("stable-1", &arch(name)).nodes().iter().map(|node| node.payload().to_owned()).collect()
    };
    assert_eq!(served("ppc64le"), Vec::<String>::new());
    assert_eq!(served("s390x"), ["c"]);
}

#[test]
fn a_release_with_two_payloads_is_not_served_at_all() {
    let outcome = with_releases(
        r#"[{"version":"1.0.0","payload":"p"},{"version":"1.0.1","payload":"p1"},{"version":"1.0.1","payload":"p2"},{"version":"1.0.1","payload":"p2"}]"#,
        &[],
    );
    assert_eq!(codes(&outcome), ["GD044 releases/all.json:1", "GD044 releases/all.json:1"]);
    assert_eq!(outcome.revision.unwrap().graph("c", &arch("amd64")).nodes().len(), 1);
}

#[test]
fn metadata_that_may_remove_an_edge_and_cannot_be_told_takes_the_release_away() {
    const KEY: &str = "io.openshift.upgrades.graph.previous.remove";
    let base = r#"{"version":"1.0.0","payload":"p"},{"version":"1.0.1","payload":"q","previous":["1.0.0"]"#;
    let entry = r#","metadata":{"KEY":"1.0.0"}"#;
    for (rest, want) in [
        ("}", "open"),
        (&format!("{entry}}}"), "gone"),
        // A key twice, in both ways to read a file.
        (r#","metadata":{"KEY":"1.0.0","KEY":""}}"#, "no node"),
        (r#","metadata":{"KEY":"1.0.0","KEY":"","x":1}}"#, "no node"),
        (r#","metadata":{"KEY":"1.0.0"},"metadata":{}}"#, "no node"),
        (r#","metadata":{"KEY":"1.0.0","KEY":"1.0.0"}}"#, "gone"),
        // What is not text.
        (r#","metadata":{"KEY":["1.0.0"]}}"#, "no node"),
        (r#","metadata":{"KEY":null}}"#, "no node"),
        (r#","metadata":[{"KEY":"1.0.0"}]}"#, "no node"),
        (r#","metadata":"KEY=1.0.0"}"#, "no node"),
        (r#","metadata":null}"#, "open"),
        // Two entries for one release.
        (&format!(r#"{entry}}},{{"version":"1.0.1","payload":"q","metadata":{{"KEY":"0.9.0"}}}}"#), "no node"),
        (&format!(r#"{entry}}},{{"version":"1.0.1","payload":"q","metadata":{{"KEY":"1.0.0"}}}}"#), "gone"),
        (&format!(r#"{entry}}},{{"version":"1.0.1","payload":"q","metadata":{{"colour":"red"}}}}"#), "gone"),
    ] {
        let json = format!("[{base}{rest}]").replace("KEY", KEY);
        let graph = with_releases(&json, &[]).revision.unwrap().graph("c", &arch("amd64"));
        assert_eq!(served(&graph, "1.0.0", "1.0.1"), want, "{json}");
    }
}

#[test]
fn a_file_of_releases_that_breaks_off_refuses_the_revision() {
    for (path, text) in [
        ("releases/x.json", r#"[{"version":"1.0.0","payload":"p"},"#),
        ("releases/x.json", r#"[{"version":"1.0.0""#),
        ("releases/x.yaml", "- version: \"1.0"),
        ("releases/x.json", "\u{0}"),
    ] {
        let outcome = with_releases("[]", &[(path, text)]);
        assert!(outcome.revision.is_none(), "{text}: {:?}", codes(&outcome));
    }
}

#[test]
fn yaml_and_json_say_the_same() {
    let json = r#"[{"version":"1.0.0","arch":"arm64","payload":"p@sha256:0"},{"version":"1.0.1","arch":"arm64","payload":"q","previous":["1.0.0"],"metadata":{"url":"u"}}]"#;
    let yaml = "- {version: 1.0.0, arch: arm64, payload: 'p@sha256:0'}\n- version: 1.0.1\n  arch: arm64\n  payload: q\n  previous: [1.0.0]\n  metadata:\n    url: u\n";
    let one = with_releases(json, &[]).revision.unwrap().graph("c", &arch("arm64"));
    let other = with_releases("[]", &[("releases/x.yaml", yaml)]).revision.unwrap().graph("c", &arch("arm64"));
    assert_eq!(one, other);
    let metadata = one.nodes()[0].metadata();
    assert_eq!(metadata.get("io.openshift.upgrades.graph.release.manifestref"), Some("sha256:0"));
    assert_eq!(metadata.get("io.openshift.upgrades.graph.release.channels"), Some("c"));
}

#[test]
fn metadata_from_outside_adds_and_removes_edges() {
    const KEY: &str = "io.openshift.upgrades.graph";
    let releases = r#"[{"version":"1.0.0","payload":"a"},{"version":"1.0.1","payload":"b","previous":["1.0.0"]},{"version":"1.0.2","payload":"c","previous":["1.0.1"]}]"#;
    for (version, key, value, want, code) in [
        ("1.0.2", "previous.add", "1.0.0, 9.9.9", ["open", "open", "open"], None),
        ("1.0.2+arm64", "previous.add", "1.0.0", ["open", "open", "open"], None),
        ("1.0.0", "next.add", "1.0.2", ["open", "open", "open"], None),
        ("1.0.2", "previous.add", "1.0.0,junk", ["open", "open", "open"], Some("GD031")),
        ("1.0.0", "previous.add", "1.0.2", ["open", "gone", "open"], Some("GD043")),
        ("1.0.2", "previous.remove", "1.0.1", ["open", "gone", "gone"], None),
        ("1.0.2", "previous.remove", "*", ["open", "gone", "gone"], None),
        ("1.0.2", "previous.remove", "junk", ["open", "gone", "gone"], Some("GD031")),
        ("1.0.1", "next.remove", "1.0.2", ["open", "gone", "gone"], None),
        ("1.0.0", "next.remove", "junk", ["gone", "gone", "open"], Some("GD031")),
        ("1.0.2", "previous.remove_regex", "^1[.]0[.]1[+]amd64$", ["open", "gone", "gone"], None),
        ("1.0.2", "previous.remove_regex", "[", ["open", "gone", "gone"], Some("GD031")),
        ("1.0.2", "colour", "red", ["open", "gone", "open"], None),
    ] {
        let raw = format!(r#"{{"{version}": {{"{KEY}.{key}": "{value}"}}}}"#);
        let outcome = with_releases(releases, &[("raw/metadata.json", &raw)]);
        assert_eq!(outcome.diagnostics.first().map(|found| found.code.as_ref()), code, "{raw}");
        let graph = outcome.revision.unwrap().graph("c", &arch("amd64"));
        let got =
            [("1.0.0", "1.0.1"), ("1.0.0", "1.0.2"), ("1.0.1", "1.0.2")].map(|(from, to)| served(&graph, from, to));
        assert_eq!(got, want, "{raw}");
        let kept = graph.nodes().iter().any(|node| node.metadata().contains_key(&format!("{KEY}.{key}")));
        assert_eq!(kept, key == "colour", "{raw}");
    }
    for raw in ["{", "[]", r#"{"x": {}}"#, r#"{"1.0.0": []}"#, r#"{"1.0.0": {"a": 1}}"#, ""] {
        let outcome = with_releases(releases, &[("raw/metadata.json", raw)]);
        assert!(outcome.revision.is_none(), "{raw}: {:?}", codes(&outcome));
    }
}

/// Of two that stand under one key, one would not remove what it is there for.
#[test]
fn metadata_from_outside_that_stands_twice_refuses_the_revision() {
    const REGEX: &str = "io.openshift.upgrades.graph.previous.remove_regex";
    let read = |raw: &str| loaded(&[("raw/metadata.json", &raw.replace("KEY", REGEX))]);
    for (raw, message) in [
        (r#"{"1.0.1": {"KEY": "^1[.]0[.]0", "KEY": "^0[.]"}}"#, format!("`{REGEX}` of 1.0.1 is set twice")),
        (r#"{"1.0.1": {"KEY": "^1", "a": "b", "KEY": "^1"}}"#, format!("`{REGEX}` of 1.0.1 is set twice")),
        (r#"{"1.0.1": {"KEY": "^1"}, "1.0.1": {"a": "b"}}"#, "the metadata of 1.0.1 is set twice".to_owned()),
        (r#"{"1.0.1": {}, "1.0.1": {"KEY": "^1"}}"#, "the metadata of 1.0.1 is set twice".to_owned()),
        (r#"{"1.0.1+a": {"KEY": "^0"}, "1.0.1+b": {"KEY": "^1"}}"#, "the metadata of 1.0.1 is set twice".to_owned()),
    ] {
        let outcome = read(raw);
        let found = outcome.diagnostics.first().unwrap();
        assert_eq!((found.code.as_ref(), &found.message), ("GD030", &message), "{raw}");
        assert!(outcome.revision.is_none(), "{raw}");
    }
    // What is only shown may stand twice.
    assert!(read(r#"{"1.0.1": {"a": "b", "a": "b", "KEY": "^0"}, "1.0.2": {"KEY": "^0"}}"#).revision.is_some());
}

#[test]
fn a_channel_holds_a_version_of_every_architecture_or_of_the_one_it_names() {
    let outcome = loaded(&[("channels/fast-1.yaml", "name: fast-1\nversions:\n- 1.0.0\n- 1.0.1+arm64\n- 9.0.0\n")]);
    let revision = outcome.revision.unwrap();
    let versions = |of: &str| -> Vec<String> {
        revision.graph("fast-1", &arch(of)).nodes().iter().map(|node| node.version().to_string()).collect()
    };
    assert_eq!((versions("amd64"), versions("arm64")), (vec!["1.0.0".into()], vec!["1.0.0".into(), "1.0.1".into()]));
    assert_eq!((versions("arm").len(), versions("s390x").len()), (0, 0));
    assert!(revision.graph("nobody", &arch("amd64")).nodes().is_empty());
    let node = &revision.release(&version("1.0.0"), &arch("amd64")).unwrap().node;
    assert_eq!(node.metadata().get("io.openshift.upgrades.graph.release.channels"), Some("fast-1,stable-1"));
}

#[test]
fn channels_are_named_in_cincinnatis_order() {
    let files: Vec<_> = ["stable-4.9", "candidate-4.9", "fast-4.10", "candidate-4.10", "odd"]
        .map(|name| (format!("channels/{name}.yaml"), format!("name: {name}\nversions: [1.0.2]\n")))
        .into();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let revision = loaded(&files).revision.unwrap();
    let node = &revision.release(&version("1.0.2"), &arch("amd64")).unwrap().node;
    assert_eq!(
        node.metadata().get("io.openshift.upgrades.graph.release.channels"),
        Some("odd,stable-1,candidate-4.10,fast-4.10,candidate-4.9,stable-4.9")
    );
}

#[test]
fn channel_files_are_read_or_refuse_the_revision() {
    for (text, code, refused) in [
        ("name: x\nversions: []\nfeeder: {name: y}\ntombstones: []\n", None, false),
        ("name: x\nversions: [1.0.0, 1.0, junk]\n", Some("GD011"), false),
        ("name: x\nversions: [1.0.0]\ntombstones: [1.0.0]\n", Some("GD013"), false),
        ("name: X\nversions: [1.0.0]\n", Some("GD014"), false),
        ("name: stable-1\nversions: [1.0.0]\n", Some("GD012"), false),
        ("name: x\nversions: [1.0.0]\ncolour: red\n", Some("GD005"), false),
        ("versions: [1.0.0]\n", Some("GD010"), true),
        ("name: ''\nversions: [1.0.0]\n", Some("GD010"), true),
        ("name: x\n", Some("GD010"), true),
        ("name: x\nversions: 1.0.0\n", Some("GD010"), true),
        ("name: x\nname: y\nversions: []\n", Some("GD010"), true),
        ("name: [\n", Some("IN001"), true),
        ("", Some("GD010"), true),
    ] {
        let outcome = loaded(&[("channels/x.yaml", text)]);
        assert_eq!(outcome.revision.is_none(), refused, "{text}");
        assert_eq!(outcome.diagnostics.first().map(|found| found.code.as_ref()), code, "{text}");
    }
}

#[test]
fn a_tombstoned_version_that_is_still_listed_stays_served() {
    let channel = "name: dead-1\nversions: [1.0.0, 1.0.1]\ntombstones: [1.0.1, 1.0.2]\n";
    let outcome = loaded(&[("channels/dead-1.yaml", channel)]);
    assert_eq!(codes(&outcome), ["GD013 channels/dead-1.yaml:2"]);
    let graph = outcome.revision.unwrap().graph("dead-1", &arch("amd64"));
    assert_eq!(served(&graph, "1.0.0", "1.0.1"), "open");
    assert_eq!(served(&graph, "1.0.0", "1.0.2"), "no node");
}

#[test]
fn no_file_at_all_is_no_revision() {
    assert!(load(&Inputs::new(), &Limits::default()).revision.is_none());
}

#[test]
fn next_lists_edges_too() {
    let outcome = loaded(&[
        (
            "releases/more.json",
            r#"[{"version":"1.0.3","arch":"amd64","payload":"p"},{"version":"1.0.1-rc.1","arch":"amd64","payload":"p","next":["1.0.3"]}]"#,
        ),
        ("channels/all.yaml", "name: all\nversions: [1.0.1-rc.1, 1.0.3]\n"),
    ]);
    assert_eq!(updates(&outcome, "amd64"), ["open", "open", "open"]);
    let graph = outcome.revision.unwrap().graph("all", &arch("amd64"));
    assert_eq!(served(&graph, "1.0.1-rc.1", "1.0.3"), "open");
}
