//! A fleet under one graph, and what a change of the graph does to it.

use std::sync::Arc;

use crate::fixtures::{answer, graph, now, risk, series, snapshot, version};
use clearway_advice::Settings;
use clearway_advice::fleet::{Change, ClusterAssessment, FleetChannel, FleetReport, Member, State, UnusableEvidence};
use clearway_graph::Graph;
use serde_json::{Value, json};

fn promql(query: &str) -> Value {
    json!([{"type": "PromQL", "promql": {"promql": query}}])
}

/// Clusters at 1.0.0: their names, and their metrics.
const CLUSTERS: [(&str, &str); 3] = [("proxy", "proxy 1\n"), ("plain", "proxy 0\n"), ("silent", "other 1\n")];

fn member(name: &str) -> Member {
    let (id, channel) = (Some(format!("id-{name}")), Some("stable".to_owned()));
    Member { name: name.to_owned(), id, version: version("1.0.0"), channel, arch: None }
}

fn standings(graph: Graph) -> Vec<(Member, ClusterAssessment)> {
    let ground = FleetChannel::new(graph, Settings::default());
    let stance = ground.version_plan(&version("1.0.0")).map(Arc::new);
    let standing = |(name, metrics): &(&str, &str)| {
        let series = series(metrics);
        let standing = match &stance {
            Ok(stance) => stance.assess(&snapshot(&series), now()),
            Err(error) => ClusterAssessment::Absent { why: error.to_string() },
        };
        (member(name), standing)
    };
    CLUSTERS.iter().map(standing).collect()
}

fn change(published: Graph, proposed: Graph) -> Change {
    let (published, proposed) = (standings(published), standings(proposed));
    let pairs = published.into_iter().zip(proposed).map(|((member, before), (_, after))| (member, before, after));
    Change::of(pairs.collect(), Vec::new())
}

/// 1.0.1 behind the risk of a proxy, and nothing else.
fn risky() -> Graph {
    graph(&answer(&[], &[("1.0.1", vec![risk("SlowProxy", promql("max(proxy)"))])]))
}

/// 1.0.1 for everybody.
fn free() -> Graph {
    graph(&answer(&["1.0.1"], &[]))
}

#[test]
fn the_picture_counts_clusters_by_state_target_and_risk() {
    let refused = vec![UnusableEvidence { name: "broken".to_owned(), why: "It is no snapshot.".to_owned() }];
    let picture = FleetReport::of(standings(risky()), refused);
    let states: Vec<_> = picture.clusters.iter().map(|row| (row.member.name.as_str(), row.state)).collect();
    assert_eq!(states, [("plain", State::Recommended), ("proxy", State::Stranded), ("silent", State::Unknown)]);
    let json: Value = serde_json::from_str(&picture.to_json()).unwrap();
    assert_eq!(
        json["summary"],
        json!({"clusters": 3, "recommended": 1, "newest": 0, "unknown": 1, "stranded": 1, "absent": 0, "refused": 1})
    );
    assert_eq!(json["targets"], json!([{"version": "1.0.1", "recommended": 1, "notRecommended": 1, "unknown": 1}]));
    assert_eq!(json["risks"], json!([{"name": "SlowProxy", "match": 1, "noMatch": 1, "unknown": 1}]));
    assert_eq!(
        json["strandedVersions"],
        json!([{"channel": "stable", "version": "1.0.0", "missing": "toNewestPatch", "clusters": 3}])
    );
    assert_eq!(
        json["clusters"][1],
        json!({
            "name": "proxy", "id": "id-proxy", "version": "1.0.0", "channel": "stable", "state": "stranded",
            "updates": {"recommended": 0, "notRecommended": 1, "unknown": 0}, "matching": ["SlowProxy"],
        })
    );
    assert_eq!(json["clusters"][0]["newestRecommended"], "1.0.1");
}

#[test]
fn the_newest_version_of_a_channel_is_not_stranded_and_one_outside_is_absent() {
    let newest = graph(&json!({"nodes": [{"version": "1.0.0", "payload": "p"}]}));
    assert!(standings(newest).iter().all(|(_, standing)| standing.state() == State::Newest));
    let alone = graph(&answer(&[], &[]));
    assert!(standings(alone).iter().all(|(_, standing)| standing.state() == State::Newest));
    let later = graph(&json!({"nodes": [{"version": "1.0.0", "payload": "p"}, {"version": "1.1.0", "payload": "q"}]}));
    assert!(standings(later).iter().all(|(_, standing)| standing.state() == State::Stranded));
    let elsewhere = graph(&json!({"nodes": [{"version": "2.0.0", "payload": "p"}]}));
    let picture = FleetReport::of(standings(elsewhere), Vec::new());
    assert_eq!(picture.summary.absent, 3);
    assert!(picture.clusters[0].why.as_ref().unwrap().contains("1.0.0 is not in the graph"), "{picture:?}");
}

#[test]
fn a_new_risk_blocks_strands_and_leaves_unknown() {
    let change = change(free(), risky());
    let json: Value = serde_json::from_str(&change.to_json()).unwrap();
    assert_eq!(
        json["summary"],
        json!({
            "clusters": 3, "changed": 2, "newlyBlocked": 1, "newlyUnknown": 1, "newlyRecommended": 0,
            "newlyStranded": 1, "freed": 0, "refused": 0,
        })
    );
    assert_eq!(json["newlyStranded"], json!(["proxy"]));
    assert_eq!(
        json["clusters"],
        json!([
            {
                "name": "proxy", "id": "id-proxy", "version": "1.0.0", "channel": "stable",
                "published": "recommended", "proposed": "stranded",
                "newlyBlocked": [{"version": "1.0.1", "published": "True", "proposed": "False", "risks": ["SlowProxy"]}],
            },
            {
                "name": "silent", "id": "id-silent", "version": "1.0.0", "channel": "stable",
                "published": "recommended", "proposed": "unknown",
                "newlyUnknown": [{"version": "1.0.1", "published": "True", "proposed": "Unknown", "risks": ["SlowProxy"]}],
            },
        ])
    );
    assert_eq!(json["risks"], json!([{"name": "SlowProxy", "proposed": {"match": 1, "noMatch": 1, "unknown": 1}}]));
    assert_eq!(json["newlyStrandedVersions"][0]["missing"], "toNewestPatch");
    assert!(change.blocks());
}

#[test]
fn the_other_way_round_everything_gets_better() {
    let change = change(risky(), free());
    let summary = change.summary;
    assert_eq!((summary.newly_recommended, summary.freed, summary.changed), (2, 1, 2));
    assert_eq!((summary.newly_blocked, summary.newly_unknown, summary.newly_stranded), (0, 0, 0));
    assert!(!change.blocks() && change.newly_stranded_versions.is_empty());
}

#[test]
fn an_update_that_is_withdrawn_is_blocked_and_a_graph_without_the_version_strands() {
    let both = graph(&answer(&["1.0.1", "1.0.2"], &[]));
    let withdrawn = change(both, free());
    assert_eq!((withdrawn.summary.newly_blocked, withdrawn.summary.newly_stranded), (3, 0));
    let update = &withdrawn.clusters[0].newly_blocked[0];
    assert_eq!((update.version.to_string().as_str(), update.proposed), ("1.0.2", None));
    let gone = change(free(), graph(&json!({"nodes": [{"version": "2.0.0", "payload": "p"}]})));
    assert_eq!((gone.summary.newly_blocked, gone.summary.newly_stranded), (3, 3));
    assert_eq!(change(free(), free()).clusters, []);
}

#[test]
fn the_order_of_the_clusters_makes_no_difference() {
    let mut turned = standings(risky());
    turned.reverse();
    assert_eq!(FleetReport::of(turned, Vec::new()), FleetReport::of(standings(risky()), Vec::new()));
}
