//! Ways over several updates: the best by each measure, and why there is none.

use std::fmt::Write;

use crate::sketch::{graphs, served, sketch, version};
use clearway_core::Version;
use clearway_graph::{Graph, NoPath, Path, paths};
use proptest::prelude::*;

fn shown(path: &Path) -> String {
    let mut text = path.hops.first().map(|hop| hop.from.to_string()).unwrap_or_default();
    for hop in &path.hops {
        let names: Vec<_> = hop.risks.iter().map(|risk| risk.name()).collect();
        let mark = if names.is_empty() { String::new() } else { format!("?{}", names.join(",")) };
        write!(text, ">{}{mark}", hop.to).unwrap();
    }
    text
}

fn all_three(graph: &Graph, from: &str, to: &str) -> [String; 3] {
    let found = paths(graph, &version(from), &version(to)).unwrap();
    assert!(found.fewest_risks.exact);
    [shown(&found.shortest), shown(&found.fewest_conditional_hops), shown(&found.fewest_risks.path)]
}

#[test]
fn each_measure_has_its_own_best_way() {
    // Two hops with one risk each; three hops of which two carry the same risk; four hops without any but the last.
    let graph = sketch(
        "1.0.0>1.0.1?A 1.0.1>1.0.9?B
         1.0.0>1.0.2?C 1.0.2>1.0.3 1.0.3>1.0.9?C
         1.0.0>1.0.4 1.0.4>1.0.5 1.0.5>1.0.6 1.0.6>1.0.9?D,E,F",
    );
    assert_eq!(
        all_three(&graph, "1.0.0", "1.0.9"),
        ["1.0.0>1.0.1?A>1.0.9?B", "1.0.0>1.0.4>1.0.5>1.0.6>1.0.9?D,E,F", "1.0.0>1.0.2?C>1.0.3>1.0.9?C",]
    );
}

#[test]
fn equal_ways_go_over_the_newest_versions() {
    let graph = sketch("1.0.0>1.0.1 1.0.0>1.0.2 1.0.0>1.0.3?A 1.0.1>1.0.9 1.0.2>1.0.9 1.0.3>1.0.9");
    assert_eq!(all_three(&graph, "1.0.0", "1.0.9"), ["1.0.0>1.0.2>1.0.9"; 3]);
}

#[test]
fn the_architecture_behind_a_version_does_not_matter() {
    let graph = sketch("1.0.0>1.0.1");
    assert!(paths(&graph, &version("1.0.0+amd64"), &version("1.0.1+amd64")).is_ok());
}

#[test]
fn where_there_is_no_way_it_is_said_why() {
    let graph = sketch("1.0.0>1.0.1 1.0.0>1.0.2 1.0.4>1.0.5 1.0.3>1.0.5?A 1.0.0>1.0.7");
    let why = |from: &str, to: &str| paths(&graph, &version(from), &version(to)).unwrap_err();
    assert_eq!(*why("2.0.0", "1.0.1"), NoPath::UnknownFrom { version: version("2.0.0") });
    assert_eq!(*why("1.0.0", "2.0.0"), NoPath::UnknownTo { version: version("2.0.0") });
    for (from, to) in [("1.0.2", "1.0.1"), ("1.0.2", "1.0.2")] {
        assert!(matches!(*why(from, to), NoPath::NotNewer { .. }));
    }
    let none = why("1.0.0", "1.0.5");
    assert_eq!(
        none.to_string(),
        "no sequence of updates leads from 1.0.0 to 1.0.5; the newest version in between that can be reached is 1.0.2; \
         1.0.5 can be reached from 1.0.3"
    );
    assert_eq!(
        serde_json::to_value(&*none).unwrap(),
        serde_json::json!({"reason": "unreachable", "from": "1.0.0", "to": "1.0.5", "newestReachable": "1.0.2", "oldestEntry": "1.0.3"})
    );
}

#[test]
fn a_search_that_is_cut_short_says_so_and_is_never_worse_than_the_fewest_conditional_hops() {
    // Twelve times one of two risks: four thousand ways, none of which is better than another.
    let mut words = String::new();
    for layer in 0..12 {
        let (here, left, right, next) = (layer * 3, layer * 3 + 1, layer * 3 + 2, layer * 3 + 3);
        write!(words, "1.0.{here}>1.0.{left}?L{layer} 1.0.{here}>1.0.{right}?R{layer} ").unwrap();
        write!(words, "1.0.{left}>1.0.{next} 1.0.{right}>1.0.{next} ").unwrap();
    }
    let found = paths(&sketch(&words), &version("1.0.0"), &version("1.0.36")).unwrap();
    assert!(!found.fewest_risks.exact);
    assert_eq!((found.fewest_risks.path.risk_names().len(), found.fewest_risks.path.hops.len()), (12, 24));
}

#[test]
fn a_path_with_too_many_risks_is_refused() {
    let risks: Vec<String> = (0..400).map(|number| format!("R{number:03}{}", "x".repeat(1_000))).collect();
    let chain = |updates: usize| {
        let mut words = String::new();
        for at in 0..updates {
            write!(words, "1.0.{at}>1.0.{}?{} ", at + 1, risks.join(",")).unwrap();
        }
        paths(&sketch(&words), &version("1.0.0"), &version(&format!("1.0.{updates}")))
    };
    assert_eq!(chain(2).unwrap().shortest.risk_names().len(), 400);
    let why = chain(4).unwrap_err();
    assert!(
        why.to_string().contains("more than 4194304 bytes of risks") && why.to_string().contains("path_risk_bytes")
    );
}

/// Every way from one version to another.
fn every(graph: &Graph, from: &Version, to: &Version) -> Vec<Vec<Vec<String>>> {
    if from == to {
        return vec![Vec::new()];
    }
    let mut found = Vec::new();
    for next in graph.nodes() {
        let Some(risks) = served(graph, from, next.version()) else { continue };
        for mut rest in every(graph, next.version(), to) {
            rest.insert(0, risks.clone());
            found.push(rest);
        }
    }
    found
}

fn measures(way: &[Vec<String>]) -> (usize, usize, usize) {
    let mut names: Vec<_> = way.iter().flatten().collect();
    names.sort();
    names.dedup();
    (way.len(), way.iter().filter(|risks| !risks.is_empty()).count(), names.len())
}

proptest! {
    #[test]
    fn the_best_of_all_ways_is_found_and_made_of_updates(graph in graphs()) {
        for from in graph.nodes() {
            for to in graph.nodes() {
                let (from, to) = (from.version(), to.version());
                if from.precedence(to).is_ge() {
                    continue;
                }
                let ways: Vec<_> = every(&graph, from, to).iter().map(|way| measures(way)).collect();
                let Ok(found) = paths(&graph, from, to) else {
                    prop_assert!(ways.is_empty());
                    continue;
                };
                for path in [&found.shortest, &found.fewest_conditional_hops, &found.fewest_risks.path] {
                    prop_assert_eq!(path.hops.first().map(|hop| &hop.from), Some(from));
                    prop_assert_eq!(path.hops.last().map(|hop| &hop.to), Some(to));
                    prop_assert!(path.hops.windows(2).all(|pair| pair[0].to == pair[1].from));
                    for hop in &path.hops {
                        let names: Vec<_> = hop.risks.iter().map(|risk| risk.name().to_owned()).collect();
                        prop_assert_eq!(served(&graph, &hop.from, &hop.to), Some(names));
                    }
                }
                let of = |path: &Path| (path.hops.len(), path.conditional_hops(), path.risk_names().len());
                let (hops, conditional, _) = of(&found.shortest);
                prop_assert_eq!(Some((hops, conditional)), ways.iter().map(|way| (way.0, way.1)).min());
                let (hops, conditional, _) = of(&found.fewest_conditional_hops);
                prop_assert_eq!(Some((conditional, hops)), ways.iter().map(|way| (way.1, way.0)).min());
                let (hops, _, risks) = of(&found.fewest_risks.path);
                prop_assert!(found.fewest_risks.exact);
                prop_assert_eq!(Some((risks, hops)), ways.iter().map(|way| (way.2, way.0)).min());
            }
        }
    }
}
