//! Advice: what becomes of an answer of the update service and of the metrics store.

use std::time::Duration;

use clearway_advice::evidence::{Failure, FailureClass};
use clearway_update::reconciler::{Input, RE_EVALUATE};
use serde_json::{Value, json};

use crate::world::{Service, World, graph, risk};

/// 1.1.0 has two risks that apply, 1.2.0 one that cannot be evaluated, 1.3.0 one that does not apply.
fn world() -> World {
    let mut world = World::new(graph(&[
        ("1.1.0", vec![risk("Zeta", "z"), risk("Alpha", "a")]),
        ("1.2.0", vec![risk("Beta", "b")]),
        ("1.3.0", vec![risk("Gamma", "c")]),
    ]));
    world.metrics.extend([("z", Some(1.0)), ("a", Some(1.0)), ("b", None), ("c", Some(0.0))]);
    world
}

#[test]
fn a_first_look_becomes_one_status_with_both_lists_in_order() {
    let mut world = world();
    world.start();
    assert_eq!(world.count("store"), 1, "{:?}", world.log);
    assert_eq!(world.available(), ["1.3.0", "1.0.1"], "U11");
    let versions: Vec<&str> = world.object["status"]["conditionalUpdates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|update| update["release"]["version"].as_str().unwrap())
        .collect();
    assert_eq!(versions, ["1.3.0", "1.2.0", "1.1.0"]);
    let (status, reason, message) = world.recommended("1.1.0");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "MultipleReasons"), "U14");
    assert_eq!(message, "Alpha is bad. https://example.com/Alpha\n\nZeta is bad. https://example.com/Zeta");
    let (status, reason, message) = world.recommended("1.2.0");
    assert_eq!((status.as_str(), reason.as_str()), ("Unknown", "PromQLError"), "U10");
    assert!(message.starts_with(
        "Unable to evaluate PromQL to determine if the cluster is impacted by Beta. https://example.com/Beta"
    ));
    assert_eq!(world.recommended("1.3.0").0, "True");
    assert_eq!(world.condition("RetrievedUpdates").0, "True");
    assert_eq!(world.condition("Ready").0, "True");
    assert_eq!(
        world.condition("Progressing"),
        ("False".into(), "AsExpected".into(), "Cluster version is 1.0.0".into())
    );
    let desired = &world.object["status"]["desired"];
    assert_eq!(
        (&desired["url"], &desired["channels"]),
        (&json!("https://example.com/1.0.0"), &json!(["fast-1", "stable-1"]))
    );
}

#[test]
fn a_metrics_store_that_is_slow_delays_the_status_by_seconds_and_says_what_is_pending() {
    let mut world = world();
    world.answering = false;
    world.start();
    assert_eq!(world.count("store"), 0);
    world.pass(Duration::from_secs(3));
    assert_eq!(world.count("store"), 1);
    assert_eq!(
        (world.recommended("1.3.0").1.as_str(), world.available()),
        ("EvaluationPending", vec!["1.0.1".to_owned()]),
        "U16"
    );
}

#[test]
fn an_outage_of_the_metrics_store_turns_advice_to_unknown_and_it_comes_back() {
    let mut world = world();
    world.start();
    let since = |world: &World| world.object["status"]["conditionalUpdates"][0]["conditions"].clone();
    let first = since(&world);
    for value in world.metrics.values_mut() {
        *value = None;
    }
    world.pass(Duration::from_mins(62));
    assert_eq!(world.recommended("1.3.0").1, "PromQLError");
    assert_eq!(world.available(), ["1.0.1"], "a failed evaluation replaces the old answer at once");
    world.metrics.insert("c", Some(0.0));
    world.pass(Duration::from_mins(11));
    assert_eq!(world.available(), ["1.3.0", "1.0.1"], "in the next round, not in an hour");
    assert_ne!(since(&world), first, "the time of the change is new");
}

#[test]
fn an_outage_of_the_service_keeps_what_it_said_and_another_channel_does_not() {
    let mut world = world();
    world.start();
    let at = world.now;
    world.service = Service::Away;
    world.pass(Duration::from_mins(10));
    assert_eq!(world.available(), ["1.3.0", "1.0.1"]);
    let (status, reason, message) = world.condition("RetrievedUpdates");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "RemoteFailed"));
    assert!(message.ends_with(&format!("The updates in this status are from {at}.")), "{message}");
    assert!(world.count("fetch") < 12, "it backs off: {:?}", world.log);
    world.edit(|object| object["spec"]["channel"] = json!("other"));
    world.pass(Duration::from_secs(5));
    assert_eq!(world.available(), Vec::<String>::new(), "what one channel says is not about another");
}

#[test]
fn a_version_the_service_does_not_know_clears_the_lists() {
    let mut world = world();
    world.start();
    world.service = Service::Forgets;
    world.pass(Duration::from_mins(5));
    assert_eq!((world.available(), world.condition("RetrievedUpdates").1), (vec![], "VersionNotFound".to_owned()));
    assert_eq!(world.object["status"].get("conditionalUpdates"), None);
    assert_eq!(world.object["status"]["availableUpdates"], Value::Null, "required and nullable");
}

#[test]
fn a_restart_during_an_outage_costs_nothing_but_age() {
    let mut world = world();
    world.start();
    let at = world.now;
    world.service = Service::Away;
    for value in world.metrics.values_mut() {
        *value = None;
    }
    world.answering = false;
    world.pass(Duration::from_mins(30));
    world.restart();
    world.pass(Duration::from_secs(30));
    assert_eq!(world.available(), ["1.3.0", "1.0.1"]);
    assert!(world.condition("RetrievedUpdates").2.ends_with(&format!("The updates in this status are from {at}.")));
    world.pass(Duration::from_hours(2));
    assert_eq!(world.available(), ["1.0.1"], "evidence that is too old recommends nothing");
    world.pass(Duration::from_hours(24));
    assert_eq!(world.available(), Vec::<String>::new(), "and so does a graph");
}

#[test]
fn without_anything_kept_a_restart_during_an_outage_recommends_nothing() {
    let mut world = world();
    world.start();
    world.service = Service::Away;
    world.kept = None;
    world.restart();
    world.pass(Duration::from_secs(30));
    assert_eq!(world.available(), Vec::<String>::new(), "nobody can tell how old that was (U16)");
}

#[test]
fn a_service_that_hangs_holds_nothing_up() {
    let mut world = world();
    world.service = Service::Hangs;
    world.start();
    world.pass(Duration::from_secs(3));
    assert_eq!(world.condition("RetrievedUpdates").1, "NotRetrievedYet");
}

#[test]
fn who_asks_for_it_gets_everything_looked_at_again() {
    let mut world = world();
    world.start();
    world.metrics.insert("c", Some(1.0));
    world.pass(Duration::from_mins(1));
    assert_eq!(world.available(), ["1.3.0", "1.0.1"]);
    world.edit(|object| object["metadata"]["annotations"] = json!({RE_EVALUATE: "now"}));
    assert_eq!(world.available(), ["1.0.1"]);
    let asked = world.count("evaluate");
    world.start();
    assert_eq!(world.count("evaluate"), asked, "once for each change");
}

#[test]
fn an_accepted_risk_counts_until_its_time_is_over() {
    let mut world = world();
    world.start();
    let risks = json!([{"name": "Alpha", "reason": "tested"}, {"name": "Zeta", "reason": "tested", "until": "2026-05-04T10:30:00Z"}]);
    world.edit(|object| object["spec"]["acceptedRisks"] = risks);
    assert_eq!(world.available(), ["1.3.0", "1.1.0", "1.0.1"]);
    assert_eq!(world.recommended("1.1.0").1, "AllExposedRisksAccepted");
    world.pass(Duration::from_hours(2));
    let (status, reason, _) = world.recommended("1.1.0");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Zeta"));
}

/// OpenShift's clients accept risks in spec.desiredUpdate.acceptRisks; both lists count.
#[test]
fn a_risk_that_openshifts_clients_accept_counts_too() {
    let mut world = world();
    world.start();
    world.edit(|object| {
        object["spec"]["desiredUpdate"] = json!({"acceptRisks": [{"name": "Alpha"}, {"name": "Beta"}]});
        object["spec"]["acceptedRisks"] = json!([{"name": "Zeta", "reason": "tested"}]);
    });
    assert_eq!(world.recommended("1.1.0").1, "AllExposedRisksAccepted");
    assert_eq!(world.available(), ["1.3.0", "1.1.0", "1.0.1"], "and what is not known stays so (U16)");
    assert_eq!(world.count("prepare"), 0, "it asks for no update");
    world.applies = false;
    world.edit(|object| object["spec"]["desiredUpdate"]["version"] = json!("1.1.0"));
    let recorded = world.object["status"]["history"][0]["acceptedRisks"].as_str().unwrap_or_default().to_owned();
    assert!(recorded.contains("The risk Alpha was accepted in spec.desiredUpdate.acceptRisks."), "{recorded}");
    assert!(recorded.contains("The risk Zeta was accepted: tested"), "{recorded}");
}

/// U16: a risk that could not be evaluated stays unknown, accepted or not.
#[test]
fn a_risk_that_cannot_be_evaluated_is_not_covered_by_accepting_it() {
    let mut world = world();
    world.start();
    world.edit(|object| object["spec"]["acceptedRisks"] = json!([{"name": "Beta", "reason": "tested"}]));
    assert_eq!(world.recommended("1.2.0").0, "Unknown");
    assert!(!world.available().contains(&"1.2.0".to_owned()));
    // Once it is known to apply, accepting it counts.
    world.metrics.insert("b", Some(1.0));
    world.pass(Duration::from_mins(90));
    assert_eq!(world.recommended("1.2.0").1, "AllExposedRisksAccepted");
}

#[test]
fn a_target_in_both_lists_is_conditional() {
    let mut world = world();
    world.graph["edges"] = json!([[0, 1], [0, 2]]);
    world.start();
    assert_eq!(world.available(), ["1.3.0", "1.0.1"], "U8");
}

#[test]
fn a_bad_spec_is_named_and_the_rest_goes_on() {
    let mut world = world();
    world.edit(|object| object["spec"]["desiredUpdate"] = json!({"version": "9.9.9"}));
    assert_eq!(world.available(), ["1.3.0", "1.0.1"]);
    let (status, reason, message) = world.condition("Invalid");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "InvalidClusterVersion"));
    assert!(message.contains("\"9.9.9\""), "{message}");
    world.ask_for(Value::Null);
    let conditions = world.object["status"]["conditions"].as_array().unwrap();
    assert!(!conditions.iter().any(|condition| condition["type"] == "Invalid"), "only while there is something to say");
}

#[test]
fn a_clock_that_jumps_wedges_nothing() {
    let mut world = world();
    world.start();
    world.now = world.now.minus(Duration::from_hours(5));
    world.input(Input::Tick);
    world.metrics.insert("c", Some(1.0));
    world.pass(Duration::from_mins(90));
    assert_eq!(world.available(), ["1.0.1"], "it was asked again within its time");
}

/// A graph is cached for the next start only after it was assessed, with everything that could be found out.
#[test]
fn only_what_was_assessed_is_kept() {
    let mut world = world();
    world.answering = false;
    world.start();
    world.pass(Duration::from_secs(30));
    assert_eq!((world.count("assessed"), world.count("keep")), (0, 0), "{:?}", world.log);
    let round = ["z", "a", "b", "c"];
    for query in round {
        world
            .input(Input::Evidence { query: query.to_owned(), result: Err(Failure::new(FailureClass::Timeout, "no")) });
    }
    world.pass(Duration::from_secs(30));
    assert_eq!((world.count("assessed"), world.count("keep")), (1, 1), "{:?}", world.log);
}

/// U8: where an edge went is said, in the condition and once in an event, also after a restart.
#[test]
fn what_of_a_graph_cannot_be_used_is_said() {
    let mut graph = graph(&[("1.1.0", vec![risk("Alpha", "a")])]);
    let edges = graph["edges"].as_array_mut().unwrap();
    edges.push(json!([0, 2]));
    let mut world = World::new(graph);
    world.metrics.insert("a", Some(0.0));
    world.start();
    let said = |world: &World| world.condition("RetrievedUpdates");
    let (status, reason, message) = said(&world);
    assert_eq!((status.as_str(), reason.as_str()), ("True", "AsExpected"));
    assert!(
        message.starts_with("One part of the graph could not be used as published (1): ") && message.contains("1.1.0"),
        "{message}"
    );
    let told = |world: &World| world.log.iter().filter(|line| line.starts_with("tell GraphFindings")).count();
    assert_eq!(told(&world), 1, "{:?}", world.log);
    world.pass(Duration::from_mins(20));
    assert_eq!(told(&world), 1);
    // Another revision is another event, and not one more of the same.
    world.graph["edges"].as_array_mut().unwrap().push(json!([0, 2]));
    world.pass(Duration::from_mins(20));
    let about: Vec<_> = world.events.iter().filter(|event| event.reason == "GraphFindings").collect();
    let digests: std::collections::BTreeSet<_> = about.iter().map(|event| event.release.clone().unwrap()).collect();
    assert!(
        about.len() == 2 && digests.len() == 2 && digests.iter().all(|digest| digest.starts_with("sha256:")),
        "{about:?}"
    );
    let message = said(&world).2;
    world.restart();
    assert_eq!(said(&world).2, message);
}

#[test]
fn a_metrics_store_that_goes_away_and_comes_back_is_told_once_each_time() {
    let mut world = world();
    world.metrics.insert("b", Some(0.0));
    world.start();
    let told = |world: &World| {
        let words = world.log.iter().filter_map(|line| line.strip_prefix("tell Metrics"));
        words.map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told(&world), [""; 0]);
    for _ in 0..2 {
        let values = std::mem::take(&mut world.metrics);
        world.pass(Duration::from_mins(90));
        world.metrics = values;
        world.pass(Duration::from_mins(90));
    }
    assert_eq!(told(&world), ["Unreachable", "Reachable", "Unreachable", "Reachable"]);
}
