//! Versions without a way forward that carries no risk (U17).

use crate::sketch::{graphs, sketch, version};
use clearway_core::Version;
use clearway_graph::{Edge, Graph, MissingPath, Stranded, StrandedBudget, SupportedVersions};
use proptest::prelude::*;

fn stranded(graph: &Graph, supported: &SupportedVersions) -> Vec<Stranded> {
    clearway_graph::stranded(graph, supported, &mut StrandedBudget::default()).unwrap()
}

fn shown(found: &[Stranded]) -> Vec<String> {
    let way = |way: &clearway_graph::RiskyPath| {
        let hop = |hop: &clearway_graph::Hop| {
            let names: Vec<_> = hop.risks.iter().map(|risk| risk.name()).collect();
            format!("{}>{}?{}", hop.from, hop.to, names.join(","))
        };
        format!(" {:?} {} x{}", way.goal, way.hops.iter().map(hop).collect::<Vec<_>>().join(" "), way.updates)
    };
    found
        .iter()
        .map(|one| format!("{} {:?}{}", one.version, one.missing, one.ways.iter().map(way).collect::<String>()))
        .collect()
}

#[test]
fn the_newest_patch_and_the_newest_minor_are_excepted() {
    let graph = sketch("1.1.0>1.1.1 1.1.0>1.2.0 1.1.1>1.2.0 1.2.0>1.2.1");
    assert_eq!(shown(&stranded(&graph, &SupportedVersions::default())), [""; 0]);
}

#[test]
fn what_only_a_risk_leads_out_of_is_named_with_the_risk() {
    let graph = sketch(
        "1.1.0>1.1.1 1.1.0>1.1.2?A 1.1.1>1.1.2?A 1.1.1>1.1.2?B
         1.1.0>1.2.0?C 1.1.1>1.2.0 1.1.2>1.2.0?C 1.1.2>1.2.1?C 1.2.0>1.2.1",
    );
    let found = stranded(&graph, &SupportedVersions::default());
    assert_eq!(
        shown(&found),
        [
            "1.1.0 ToNewestPatch NewestPatch 1.1.0>1.1.2?A x1 NewestPatch 1.1.1>1.1.2?A,B x1",
            "1.1.1 ToNewestPatch NewestPatch 1.1.1>1.1.2?A,B x1",
            "1.1.2 OutOfMinor LaterMinor 1.1.2>1.2.1?C x2",
        ]
    );
    assert_eq!(found.iter().map(|one| one.newest_patch).collect::<Vec<_>>(), [false, false, true]);
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json[2]["missing"], "outOfMinor");
    assert_eq!(json[2]["ways"][0]["hops"][0]["risks"][0]["name"], "C");
}

#[test]
fn where_one_risk_is_not_enough_the_whole_way_is_shown_and_where_there_is_none_nothing() {
    let graph = sketch("1.1.0>1.1.1?A 1.1.1>1.1.2?B 1.2.0");
    assert_eq!(
        shown(&stranded(&graph, &SupportedVersions::default())),
        [
            "1.1.0 Both NewestPatch 1.1.0>1.1.1?A 1.1.1>1.1.2?B x1",
            "1.1.1 Both NewestPatch 1.1.1>1.1.2?B x1",
            "1.1.2 OutOfMinor",
        ]
    );
}

#[test]
fn a_pre_release_is_the_newest_patch_only_where_there_is_no_release() {
    let graph = sketch("1.1.0>1.1.1-rc.1 1.1.0-rc.1>1.1.0 1.2.0-rc.0 1.2.0-rc.0>1.2.0-rc.1?A");
    assert_eq!(
        shown(&stranded(&graph, &SupportedVersions::default())),
        [
            "1.1.0-rc.1 OutOfMinor",
            "1.1.0 OutOfMinor",
            "1.1.1-rc.1 OutOfMinor",
            "1.2.0-rc.0 ToNewestPatch NewestPatch 1.2.0-rc.0>1.2.0-rc.1?A x1",
        ]
    );
}

#[test]
fn only_supported_versions_are_asked_about() {
    let graph = sketch("1.1.0 1.1.1 1.1.2 1.1.3 1.2.0");
    let supported = SupportedVersions {
        oldest: Some(version("1.1.1")),
        newest: Some(version("1.1.2")),
        ..SupportedVersions::default()
    };
    assert_eq!(shown(&stranded(&graph, &supported)), ["1.1.1 Both", "1.1.2 Both"]);
}

/// Whether a chain of updates without a risk leads from one version to one that is wanted.
fn leads(graph: &Graph, from: u32, wanted: &dyn Fn(&Version) -> bool) -> bool {
    wanted(graph.node(from).unwrap().version())
        || graph.edges().iter().filter(|edge| edge.from == from).any(|edge| leads(graph, edge.to, wanted))
}

proptest! {
    #[test]
    fn exactly_the_versions_without_a_plain_way_are_found(graph in graphs()) {
        let minor = |version: &Version| (version.major(), version.minor());
        let versions: Vec<&Version> = graph.nodes().iter().map(|node| node.version()).collect();
        let mut expected = Vec::new();
        for (place, one) in (0..).zip(&versions) {
            let mates = || versions.iter().filter(|other| minor(other) == minor(one));
            let newest = mates().rfind(|mate| mate.pre_release().is_empty()).or(mates().next_back()).unwrap();
            let patch = one < newest && !leads(&graph, place, &|other| other == *newest);
            let out = minor(one) < minor(versions.last().unwrap())
                && !leads(&graph, place, &|other| minor(other) > minor(one));
            match (patch, out) {
                (true, true) => expected.push(((*one).clone(), MissingPath::Both)),
                (true, false) => expected.push(((*one).clone(), MissingPath::ToNewestPatch)),
                (false, true) => expected.push(((*one).clone(), MissingPath::OutOfMinor)),
                (false, false) => {}
            }
        }
        let found = stranded(&graph, &SupportedVersions::default());
        prop_assert_eq!(found.iter().map(|one| (one.version.clone(), one.missing)).collect::<Vec<_>>(), expected);
        for hop in found.iter().flat_map(|one| &one.ways).flat_map(|way| &way.hops) {
            let edge = Edge { from: graph.find(&hop.from).unwrap(), to: graph.find(&hop.to).unwrap() };
            prop_assert!(!hop.risks.is_empty());
            prop_assert!(graph.updates().any(|(found, risks)| found == edge && *risks == *hop.risks));
        }
    }
}
