//! What changed between two answers, and between two revisions.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::sketch::{graphs, served, sketch, version};
use clearway_core::{Limits, Version};
use clearway_graph::diff::{Diff, FileChangeKind, Line, UpdateChangeKind};
use clearway_graph::{Edge, Graph, Inputs, Node, Revision, Risk, Rule, diff, load};
use proptest::prelude::*;

fn shown(diff: &Diff) -> Vec<String> {
    let cause = |line: &Line| line.release.as_ref().map_or("Update".to_owned(), |release| format!("by {release}"));
    let line =
        |line: &Line| format!("{:?} {} [{}] {line} x{}", line.what, cause(line), line.risks.join(","), line.updates);
    diff.updates.iter().map(line).collect()
}

#[test]
fn what_happened_to_updates_is_put_together_by_risk_and_range() {
    let before = sketch(
        "1.1.0>1.1.1 1.1.0>1.2.3 1.1.1>1.2.3 1.1.2>1.2.3 1.1.3>1.2.3 1.1.3>1.2.4 1.1.4>1.2.3?Old 1.1.4>1.2.4?Old,Other
         1.2.3>1.2.4",
    );
    let after = sketch(
        "1.1.0>1.1.1 1.1.0>1.2.3?New 1.1.1>1.2.3?New 1.1.2>1.2.3?New 1.1.3>1.2.3?New 1.1.3>1.2.4?New 1.1.4>1.2.3
         1.1.4>1.2.4?Other,New 1.2.4 1.1.0>1.1.2?New",
    );
    let found = diff(&before, &after);
    assert_eq!(
        shown(&found),
        [
            "Lost Update [] 1.2.3 → 1.2.4 x1",
            "BecameConditional Update [New] 1.1.0–1.1.3 → 1.2.3–1.2.4 x5",
            "RisksGained Update [New] 1.1.4 → 1.2.4 x1",
            "RisksLost Update [Old] 1.1.4 → 1.2.4 x1",
            "BecameUnconditional Update [Old] 1.1.4 → 1.2.3 x1",
            "Gained Update [New] 1.1.0 → 1.1.2 x1",
        ]
    );
    assert_eq!((found.risks.gained, found.risks.lost), (vec!["New".to_owned()], vec!["Old".to_owned()]));
    assert_eq!((found.totals.became_conditional, found.totals.risks_changed, found.totals.updates_lost), (5, 1, 1));
}

#[test]
fn a_release_that_came_is_the_cause_of_its_updates() {
    let before = sketch("1.1.0>1.1.1 1.1.0>1.1.2 1.1.1>1.1.2");
    let after = sketch("1.1.0>1.1.1 1.1.0>1.1.2 1.1.1>1.1.2 1.1.0>1.1.3 1.1.1>1.1.3 1.1.2>1.1.3");
    let found = diff(&before, &after);
    assert_eq!(shown(&found), ["Gained by 1.1.3 [] 1.1.0–1.1.2 → 1.1.3 x3"]);
    assert_eq!(found.releases.gained, [version("1.1.3")]);
}

#[test]
fn a_range_never_takes_in_an_update_that_stayed() {
    let before = sketch("1.1.0>1.2.0 1.1.1>1.2.0 1.1.2>1.2.0 1.1.0>1.2.1 1.1.2>1.2.1");
    let after = sketch("1.1.0>1.2.0?A 1.1.1>1.2.0 1.1.2>1.2.0?A 1.1.0>1.2.1?A 1.1.2>1.2.1?A");
    assert_eq!(shown(&diff(&before, &after)), ["BecameConditional Update [A] 1.1.0, 1.1.2 → 1.2.0–1.2.1 x4"]);
}

#[test]
fn other_texts_payloads_and_metadata_are_changes() {
    let graph = |payload: &str, message: &str, rule: &str, key: &str| {
        let metadata = BTreeMap::from([(key.to_owned(), "1".to_owned())]);
        let nodes = ["1.0.0", "1.0.1"].map(|text| Arc::new(Node::new(version(text), payload, metadata.clone())));
        let risk = Arc::new(Risk::new("A", "https://example.com", message, vec![Rule::of_kind(rule)]));
        Graph::assemble(nodes.into(), [], [(Edge { from: 0, to: 1 }, vec![risk])])
    };
    let found = diff(&graph("one", "It breaks.", "Always", "k"), &graph("two", "It broke.", "PromQL", "l"));
    assert_eq!(shown(&found), [""; 0]);
    assert_eq!((found.risks.changed.len(), found.totals.risks_changed), (1, 1));
    assert_eq!(found.risks.changed[0].fields, ["message", "matchingRules"]);
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["releases"]["changed"][0]["payload"], serde_json::json!({"before": "one", "after": "two"}));
    assert_eq!(json["releases"]["changed"][0]["metadata"]["k"], serde_json::json!({"before": "1", "after": null}));
    assert_eq!(json["risks"]["changed"][0]["after"]["message"], "It broke.");
}

fn revision(files: &[(&str, &str)]) -> Revision {
    let releases = r#"[
        {"version":"1.0.0","arch":"amd64","payload":"example.com/a@sha256:0"},
        {"version":"1.0.1","arch":"amd64","payload":"example.com/a@sha256:1","previous":["1.0.0"]},
        {"version":"1.0.2","arch":"amd64","payload":"example.com/a@sha256:2","previous":["1.0.0","1.0.1"]}]"#;
    let base = [("version", "1.1.0\n"), ("releases/all.json", releases)];
    let inputs: Inputs = base.iter().chain(files).map(|(path, content)| (*path, *content)).collect();
    load(&inputs, &Limits::default()).revision.expect("a revision")
}

#[test]
fn two_revisions_name_the_files_that_are_the_reason() {
    let block = |from: &str| {
        format!(
            "to: 1.0.1\nfrom: {from}\nurl: https://example.com\nname: A\nmessage: It breaks.\nmatchingRules:\n- type: Always\n"
        )
    };
    let (some, all) = (block("1[.]0[.]9.*"), block(".*"));
    let before =
        revision(&[("channels/c.yaml", "name: c\nversions: [1.0.0, 1.0.1]\n"), ("blocked-edges/1.0.1-A.yaml", &some)]);
    let after = revision(&[
        ("channels/c.yaml", "name: c\nversions: [1.0.0, 1.0.1, 1.0.2]\n"),
        ("blocked-edges/1.0.1-A.yaml", &all),
    ]);
    let arch = "amd64".parse().unwrap();
    let found = before.diff(&after, "c", &arch);
    assert_eq!(
        shown(&found),
        ["BecameConditional Update [A] 1.0.0 → 1.0.1 x1", "Gained by 1.0.2 [] 1.0.0–1.0.1 → 1.0.2 x2"]
    );
    let files: Vec<_> = found.updates.iter().flat_map(|line| &line.files).map(|say| (&*say.file, say.now)).collect();
    assert_eq!(
        files,
        [("blocked-edges/1.0.1-A.yaml", FileChangeKind::Gained), ("channels/c.yaml", FileChangeKind::Gained)]
    );
    assert!(before.diff(&before, "c", &arch).is_empty());
}

/// One line the other way round.
fn turned(line: &Line) -> Line {
    let what = match line.what {
        UpdateChangeKind::Lost => UpdateChangeKind::Gained,
        UpdateChangeKind::Gained => UpdateChangeKind::Lost,
        UpdateChangeKind::BecameConditional => UpdateChangeKind::BecameUnconditional,
        UpdateChangeKind::BecameUnconditional => UpdateChangeKind::BecameConditional,
        UpdateChangeKind::RisksGained => UpdateChangeKind::RisksLost,
        UpdateChangeKind::RisksLost => UpdateChangeKind::RisksGained,
    };
    Line { what, ..line.clone() }
}

/// What a line should say of one update, if anything: whether the risks it names came (or went).
fn happened(before: Option<&Vec<String>>, after: Option<&Vec<String>>) -> Vec<(UpdateChangeKind, Vec<String>)> {
    let minus = |one: &[String], other: &[String]| -> Vec<String> {
        one.iter().filter(|name| !other.contains(name)).cloned().collect()
    };
    match (before, after) {
        (None, Some(risks)) => vec![(UpdateChangeKind::Gained, risks.clone())],
        (Some(risks), None) => vec![(UpdateChangeKind::Lost, risks.clone())],
        (Some(old), Some(new)) if old.is_empty() && !new.is_empty() => {
            vec![(UpdateChangeKind::BecameConditional, new.clone())]
        }
        (Some(old), Some(new)) if new.is_empty() && !old.is_empty() => {
            vec![(UpdateChangeKind::BecameUnconditional, old.clone())]
        }
        (Some(old), Some(new)) => {
            [(UpdateChangeKind::RisksGained, minus(new, old)), (UpdateChangeKind::RisksLost, minus(old, new))]
                .into_iter()
                .filter(|(_, names)| !names.is_empty())
                .collect()
        }
        (None, None) => Vec::new(),
    }
}

proptest! {
    #[test]
    fn nothing_differs_from_itself(graph in graphs()) {
        prop_assert!(diff(&graph, &graph).is_empty());
    }

    #[test]
    fn the_other_way_round_gained_is_lost(a in graphs(), b in graphs()) {
        let (there, back) = (diff(&a, &b), diff(&b, &a));
        let order = |lines: Vec<Line>| {
            let mut shown: Vec<String> = lines.iter().map(|line| format!("{line:?}")).collect();
            shown.sort();
            shown
        };
        prop_assert_eq!(order(there.updates.iter().map(turned).collect()), order(back.updates));
        prop_assert_eq!(there.releases.gained, back.releases.lost);
        prop_assert_eq!(there.risks.gained, back.risks.lost);
        prop_assert_eq!(there.totals.became_conditional, back.totals.became_unconditional);
        prop_assert_eq!(there.totals.updates_lost, back.totals.updates_gained);
    }

    #[test]
    fn lines_stand_for_exactly_what_happened(a in graphs(), b in graphs()) {
        let found = diff(&a, &b);
        let mut versions: Vec<&Version> = a.nodes().iter().chain(b.nodes()).map(|node| node.version()).collect();
        versions.sort();
        versions.dedup();
        let mut counted = 0;
        for from in &versions {
            for to in &versions {
                let (before, after) = (served(&a, from, to), served(&b, from, to));
                let mut expected = happened(before.as_ref(), after.as_ref());
                let covers = |line: &&Line| {
                    let within = |spans: &[clearway_graph::diff::Span], version| spans.iter().any(|span| span.contains(version));
                    within(&line.from, from) && within(&line.to, to)
                };
                let lines: Vec<&Line> = found.updates.iter().filter(covers).collect();
                if before.is_none() && after.is_none() {
                    continue;
                }
                let stays = |version: &Version| a.find(version).is_some() && b.find(version).is_some();
                let release = [to, from].into_iter().find(|version| !stays(version)).map(|version| (*version).clone());
                prop_assert!(lines.iter().all(|line| line.release == release));
                let mut said: Vec<_> = lines.iter().map(|line| (line.what, line.risks.to_vec())).collect();
                said.sort();
                expected.sort();
                counted += said.len();
                prop_assert_eq!(said, expected, "{} {}", from, to);
            }
        }
        prop_assert_eq!(counted, found.updates.iter().map(|line| line.updates).sum::<usize>());
    }
}
