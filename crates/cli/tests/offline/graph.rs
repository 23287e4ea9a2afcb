//! `clearway graph` on a graph-data directory: built, shown, explained, converted.

mod init;
mod lint;
mod list;
mod odd_files;
mod sources;

use std::fs;
use std::process::Command;

use super::{Answer, Place};

/// Three releases of two minors, one risk on both edges into 1.1.0, and one edge that is blocked for everybody.
fn graph_data() -> Place {
    let place = Place::new();
    let release = |version: &str, previous: &str| {
        format!(
            "- {{version: {version}, arch: amd64, payload: \"example.com/os@{version}\", previous: [{previous}]}}\n"
        )
    };
    let releases = release("1.0.0", "") + &release("1.0.1", "1.0.0") + &release("1.1.0", "1.0.0, 1.0.1");
    let risk =
        "url: https://example.com/1\nname: SlowDisks\nmessage: Disks may be slow.\nmatchingRules:\n- {type: Always}\n";
    for (name, text) in [
        ("version", "1.1.0\n"),
        ("raw/metadata.json", "{}"),
        ("releases/all.yaml", &releases),
        ("channels/stable.yaml", "name: stable\nversions: [1.0.0, 1.0.1, 1.1.0]\n"),
        ("blocked-edges/1.0.1.yaml", "to: 1.0.1\nfrom: ^1[.]0[.]0[+]\n"),
        ("blocked-edges/1.1.0-SlowDisks.yaml", &format!("to: 1.1.0\nfrom: 1[.]0[.].*\n{risk}")),
    ] {
        place.write(&format!("data/{name}"), text);
    }
    place
}

fn run(place: &Place, line: &str) -> Answer {
    place.run(&line.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn a_channel_is_built_as_an_update_service_answers() {
    let place = graph_data();
    let answer = run(&place, "graph build --graph data --channel stable");
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    let graph = answer.json();
    let versions: Vec<&str> =
        graph["nodes"].as_array().unwrap().iter().map(|node| node["version"].as_str().unwrap()).collect();
    assert_eq!(versions, ["1.0.0", "1.0.1", "1.1.0"]);
    assert_eq!(graph["edges"].as_array().map(Vec::len), Some(0));
    let group = &graph["conditionalEdges"][0];
    assert_eq!(
        (group["edges"].as_array().map(Vec::len), group["risks"][0]["name"].as_str()),
        (Some(2), Some("SlowDisks"))
    );

    let all = run(&place, "graph build --graph data --output-dir out");
    assert_eq!((all.code, all.out.as_str()), (0, ""));
    let written = fs::read_to_string(place.path().join("out/stable_amd64.json")).unwrap();
    assert_eq!(written, answer.out.trim_end());
}

#[test]
fn what_is_not_there_is_refused_by_name_and_never_an_empty_answer() {
    let place = graph_data();
    for (line, want) in [
        ("graph show beta --graph data", "channel `beta` not found; the channels are stable"),
        ("graph show stable --graph data --arch s390x", "s390x"),
        ("graph explain 1.0.0 9.9.9 --graph data", "release 9.9.9 not found"),
        ("graph explain 1.0.0 soon --graph data", "is not a version"),
        ("graph show stable --graph nowhere", "nowhere not found: name a graph-data directory"),
        ("graph show stable --graph .", "not graph-data"),
        ("graph build --graph data", "pass --channel to build one answer, or --output-dir to build all of them"),
    ] {
        let answer = run(&place, line);
        assert_eq!((answer.code, answer.out.as_str()), (3, ""), "{line}");
        assert!(answer.err.contains(want), "{line}: {}", answer.err);
    }
    place.write("data/channels/bad.yaml", "name: [\n");
    let refused = run(&place, "graph show stable --graph data");
    assert_eq!(refused.code, 3);
    assert!(
        refused.err.contains("channels/bad.yaml:") && refused.err.contains("the graph-data is refused"),
        "{}",
        refused.err
    );
}

#[test]
fn a_channel_is_shown_release_by_release() {
    let place = graph_data();
    let shown = run(&place, "graph show stable --graph data");
    let lines: Vec<String> =
        shown.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        lines,
        [
            "VERSION UPDATES NEWEST CONDITIONAL NEWEST RISKS",
            "1.0.0 0 - 1 1.1.0 SlowDisks",
            "1.0.1 0 - 1 1.1.0 SlowDisks",
            "1.1.0 0 - 0 -",
        ]
    );
    let data = run(&place, "graph show stable --graph data -o json").json();
    assert_eq!(data[0]["conditionalUpdates"][0], "1.1.0");
}

#[test]
fn an_edge_is_explained_by_every_file_that_had_a_say() {
    let place = graph_data();
    for (line, code, want) in [
        (
            "graph explain 1.0.0 1.1.0 --graph data",
            2,
            &[
                "none of 1 risks",
                "releases/all.yaml lists it under `previous`",
                "1.1.0-SlowDisks.yaml adds the risk",
                "in the channels stable",
                "Always",
            ][..],
        ),
        (
            "graph explain 1.0.0 1.0.1 --graph data",
            1,
            &["not offered to any cluster", "blocked-edges/1.0.1.yaml removes it"],
        ),
        ("graph explain 1.1.0 1.0.0 --graph data", 1, &["is not an update"]),
    ] {
        let answer = run(&place, line);
        assert_eq!(answer.code, code, "{line}: {answer:?}");
        for text in want {
            assert!(answer.out.contains(text), "{line}: {}", answer.out);
        }
    }
    let data = run(&place, "graph explain 1.0.0 1.1.0 --graph data -o json").json();
    assert_eq!((data["verdict"].as_str(), data["risks"][0]["name"].as_str()), (Some("Conditional"), Some("SlowDisks")));
}

#[test]
fn risks_are_declared_once_and_written_out_again_with_the_same_answers() {
    let place = graph_data();
    let there = run(&place, "graph convert -o risks --graph data --output-dir declared");
    assert_eq!(
        (there.code, there.out.as_str()),
        (0, "1 files are replaced by 1 files; every answer stays the same, byte for byte\n")
    );
    assert!(!place.path().join("declared/blocked-edges/1.1.0-SlowDisks.yaml").exists());
    let back = run(&place, "graph convert -o blocks --graph declared --output-dir again");
    assert_eq!(back.code, 0, "{back:?}");
    let build = |graph: &str| run(&place, &format!("graph build --graph {graph} --channel stable")).out;
    assert_eq!(build("declared"), build("data"));
    assert_eq!(build("again"), build("data"));
}

#[test]
fn ways_are_found_and_named_with_what_they_carry() {
    let place = graph_data();
    let only_risky = run(&place, "graph paths 1.0.0 1.1.0 --channel stable --graph data");
    let want = "shortest: 1 update\n  1.0.0 to 1.1.0  unless SlowDisks applies\nfewest conditional hops: the same\nfewest risks: the same\n";
    assert_eq!((only_risky.code, only_risky.out.as_str()), (2, want));
    let none = run(&place, "graph paths 1.0.0 1.0.1 --channel stable --graph data");
    assert_eq!(none.code, 1);
    assert!(none.out.starts_with("no sequence of updates leads from 1.0.0 to 1.0.1"), "{none:?}");
    let backwards = run(&place, "graph paths 1.1.0 1.0.0 --channel stable --graph data");
    assert_eq!(backwards.code, 3);
    assert!(backwards.err.contains("1.0.0 is not newer than 1.1.0"), "{backwards:?}");
}

#[test]
fn versions_that_only_a_risk_leads_out_of_are_listed() {
    let place = graph_data();
    let answer = run(&place, "graph stranded --graph data --newest-patches");
    assert_eq!(answer.code, 1);
    let lines: Vec<&str> = answer.out.lines().skip(1).collect();
    assert!(
        lines.len() == 2 && lines[0].contains("1.0.0") && lines[0].contains("1.1.0 unless SlowDisks"),
        "{answer:?}"
    );
    place.write("data/blocked-edges/1.1.0-SlowDisks.yaml", "to: 1.1.0\nfrom: never\n");
    fs::remove_file(place.path().join("data/blocked-edges/1.0.1.yaml")).unwrap();
    assert_eq!(run(&place, "graph stranded stable --graph data").code, 0);
}

#[test]
fn a_channel_is_drawn_in_three_languages() {
    let place = graph_data();
    for (format, opening) in [("svg", "<svg "), ("dot", "digraph "), ("mermaid", "flowchart ")] {
        let drawn = run(&place, &format!("graph render stable --graph data -o {format}"));
        assert_eq!((drawn.code, drawn.err.as_str()), (0, ""), "{format}");
        assert!(drawn.out.contains(opening) && drawn.out.contains("SlowDisks"), "{format}: {}", drawn.out);
    }
    let drawn = run(&place, "graph render stable --graph data -o dot").out;
    let caption = "3 releases, 0 unconditional updates, 2 conditional updates, 0 of 1 blocked updates";
    assert!(
        drawn.contains("stable (amd64)") && drawn.contains(caption) && drawn.contains("; revision sha256:"),
        "{drawn}"
    );
    for (file, opening) in [("a.svg", "<svg "), ("b.dot", "digraph "), ("c.gv", "digraph "), ("d.mmd", "flowchart ")] {
        let written = run(&place, &format!("graph render stable --graph data --output {file}"));
        assert_eq!((written.code, written.out.as_str()), (0, ""), "{file}");
        assert!(fs::read_to_string(place.path().join(file)).unwrap().contains(opening), "{file}");
    }
    let other = run(&place, "graph render stable --graph data --output stable.png");
    assert!(other.code == 3 && other.err.contains("nor a file that ends in .svg, .dot, .gv, .mmd"), "{other:?}");
    let unknown = run(&place, "graph render stable --graph data --from 7.0.0");
    assert!(unknown.code == 3 && unknown.err.contains("7.0.0 is not in this channel"), "{unknown:?}");
}

/// Makes the directory a repository with one commit.
fn commit(place: &Place) {
    let git = |line: &str| {
        let done = Command::new("git").arg("-C").arg(place.path().join("data")).args(line.split(' ')).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git("init -q");
    git("add -A");
    git("-c user.name=t -c user.email=t@example.com commit -q -m first");
}

#[test]
fn a_change_is_told_by_channel_with_the_files_that_are_the_reason() {
    let place = graph_data();
    commit(&place);
    let same = run(&place, "graph diff HEAD data --graph data");
    assert_eq!((same.code, same.out.as_str()), (0, ""));
    fs::remove_file(place.path().join("data/blocked-edges/1.1.0-SlowDisks.yaml")).unwrap();
    let changed = run(&place, "graph diff HEAD data --graph data");
    let want = "stable\n  1.0.0–1.0.1 → 1.1.0: now offered to every cluster; it had SlowDisks\n    because blocked-edges/1.1.0-SlowDisks.yaml no longer refers to it\n";
    assert_eq!((changed.code, changed.out.as_str()), (1, want));
}

#[test]
fn a_git_revision_is_shown_as_it_was() {
    let place = graph_data();
    commit(&place);
    let before = run(&place, "graph show stable --graph data");
    place.write("data/channels/stable.yaml", "name: stable\nversions: [1.0.0]\n");
    assert_ne!(run(&place, "graph show stable --graph data"), before);
    assert_eq!(run(&place, "graph show stable --graph data --rev HEAD"), before);
}
