//! Rounds against the real Prometheus, which is killed and stopped in the middle of one, and against a server that plays
//! what the real one cannot (U3, U9, U10, U16).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use clearway_advice::evidence::{FailureClass, Record};
use clearway_advice::rounds::{RoundSettings, Rounds};
use clearway_advice::{Plan, Settings, Status};
use clearway_core::{Limits, Timestamp, Version};
use clearway_graph::{Graph, wire};
use clearway_sources::prometheus::{Prometheus, PrometheusOptions};
use clearway_sources::rounds::{RoundResult, run_round};
use clearway_testbed::prometheus;
use serde_json::json;

use crate::server::{Answer, Asked, Server, one, one_at, say};
use crate::{patient, quick};

/// Queries of a round.
const MANY: usize = 40;
/// Queries that are asked side by side.
const PARALLEL: usize = 3;

/// A time that passes when it is told to.
struct Clock(AtomicI64);

impl Clock {
    fn new() -> Self {
        Clock(AtomicI64::new(1_777_885_200))
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_seconds(self.0.load(SeqCst)).unwrap()
    }

    fn pass(&self, time: Duration) {
        self.0.fetch_add(i64::try_from(time.as_secs()).unwrap(), SeqCst);
    }

    fn set(&self, time: Timestamp) {
        self.0.store(time.as_seconds(), SeqCst);
    }
}

/// An endpoint whose answers are of the present, while the time of the test is not.
fn at(url: &str) -> Prometheus {
    with(url, PrometheusOptions::default())
}

fn with(url: &str, options: PrometheusOptions) -> Prometheus {
    Prometheus::new(url, &PrometheusOptions { time_difference: Duration::MAX, ..options }).unwrap()
}

fn rounds(queries: &[String], clock: &Clock) -> Mutex<Rounds> {
    let mut rounds = Rounds::new(RoundSettings { parallel: PARALLEL, ..RoundSettings::default() });
    rounds.set_queries(queries.iter().map(String::as_str), clock.now());
    Mutex::new(rounds)
}

async fn round(rounds: &Mutex<Rounds>, prometheus: &Prometheus, clock: &Clock) -> Option<RoundResult> {
    round_watched(rounds, prometheus, clock, &|_| {}).await
}

/// Asks what is due, if anything is, as the operator does; `done` is called with how many queries are done.
async fn round_watched(
    rounds: &Mutex<Rounds>,
    prometheus: &Prometheus,
    clock: &Clock,
    done: &(dyn Fn(usize) + Sync),
) -> Option<RoundResult> {
    let round = rounds.lock().unwrap().due(clock.now())?;
    let observe = |query: String| async move { prometheus.observe(&query, None, || clock.now()).await };
    let mut count = 0;
    let tell = |query: String, result| {
        rounds.lock().unwrap().answered(&query, result, clock.now());
        count += 1;
        done(count);
    };
    Some(run_round(&round, observe, tell).await)
}

/// What is known of every query: an answer, or why there is none.
fn known(rounds: &Mutex<Rounds>) -> BTreeMap<String, Result<(), String>> {
    let known = |(query, record)| match record {
        Record::Answered(_) => (query, Ok(())),
        Record::Failed(failure) => (query, Err(failure.message)),
        Record::Pending { due } => (query, Err(format!("pending until {due:?}"))),
    };
    rounds.lock().unwrap().recorded().queries.into_iter().map(known).collect()
}

fn failures(rounds: &Mutex<Rounds>) -> Vec<String> {
    known(rounds).into_values().filter_map(Result::err).collect()
}

/// A graph in which every one of many updates carries a risk with a query of its own.
fn graph() -> Graph {
    let version = |number: usize| format!("1.0.{number}");
    let nodes: Vec<_> = (0..=MANY).map(|number| json!({"version": version(number), "payload": "p"})).collect();
    let update = |number: usize| {
        let rule = json!({"type": "PromQL", "promql": {"promql": format!("max(m{number})")}});
        let risk = json!({"name": "Broken", "url": "https://example.com", "message": "m", "matchingRules": [rule]});
        json!({"edges": [{"from": "1.0.0", "to": version(number)}], "risks": [risk]})
    };
    let answer = json!({"nodes": nodes, "edges": [], "conditionalEdges": (1..=MANY).map(update).collect::<Vec<_>>()});
    wire::read(answer.to_string().as_bytes(), &Limits::default()).graph.unwrap()
}

/// How many updates have which status and reason.
fn told(plan: &Plan, rounds: &Mutex<Rounds>, now: Timestamp) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for update in plan.assess(&rounds.lock().unwrap().recorded(), now).updates {
        *counts.entry(format!("{} {}", update.recommended.status, update.recommended.reason)).or_default() += 1;
    }
    counts
}

fn must_be_send<T: Send>(future: T) -> T {
    future
}

#[tokio::test]
async fn a_prometheus_killed_in_a_round_is_unknown_and_the_next_round_recovers() {
    let mut series = String::new();
    for number in 1..=MANY {
        let _ = writeln!(series, "m{number} {}", number % 2);
    }
    let Some(real) = prometheus(&series).await else { return };
    let (client, clock) = (at(&real.base_url()), Clock::new());
    let plan = Plan::new(&graph(), &Version::new(1, 0, 0), &Settings::default()).unwrap();
    let queries: Vec<String> = plan.questions().iter().map(|question| question.text().to_owned()).collect();
    assert_eq!(queries.len(), MANY);
    let rounds = rounds(&queries, &clock);
    let pending = |now| BTreeMap::from([("Unknown EvaluationPending".to_owned(), now)]);
    assert_eq!(told(&plan, &rounds, clock.now()), pending(MANY));

    // It dies when the first answers have come; those under way may have been answered before.
    let kill = |done: usize| {
        if done == 5 {
            real.process().kill();
        }
    };
    let ran = must_be_send(round_watched(&rounds, &client, &clock, &kill)).await.unwrap();
    let outage = ran.outage.as_ref().unwrap();
    assert!((5..5 + PARALLEL).contains(&ran.answered) && ran.due == MANY, "{ran:?}");
    assert!(outage.message.contains("Connection refused"), "{outage:?}");
    let why = failures(&rounds);
    assert_eq!(why.len(), MANY - ran.answered);
    assert!(why.iter().all(|why| why.contains("cannot be reached")), "{why:?}");
    let refused = why.iter().filter(|why| why.contains("Connection refused")).count();
    assert!(refused >= why.len() - PARALLEL, "{why:?}");
    let unknown = told(&plan, &rounds, clock.now());
    assert_eq!(unknown.get("Unknown EvidenceUnreachable"), Some(&(MANY - ran.answered)), "{unknown:?}");
    let assessed = plan.assess(&rounds.lock().unwrap().recorded(), clock.now());
    for update in assessed.with_status(Status::Unknown) {
        let start = "Unable to evaluate PromQL to determine if the cluster is impacted by Broken. https://example.com ";
        assert!(update.recommended.message.starts_with(start), "{:?}", update.recommended);
    }

    // Ten minutes are ten minutes, and then everything that failed is asked again, and nothing else.
    real.process().start().await.unwrap();
    clock.pass(Duration::from_secs(599));
    assert_eq!(round(&rounds, &client, &clock).await, None);
    let next = rounds.lock().unwrap().next().unwrap();
    assert_eq!(next, clock.now().plus(Duration::from_secs(1)));
    clock.set(next);
    let missing = MANY - ran.answered;
    assert_eq!(
        round(&rounds, &client, &clock).await,
        Some(RoundResult { due: missing, answered: missing, outage: None }),
        "{:?}",
        failures(&rounds)
    );
    let half = |status: &str| (status.to_owned(), MANY / 2);
    let all = BTreeMap::from([half("False Broken"), half("True NotExposedToRisks")]);
    assert_eq!(told(&plan, &rounds, clock.now()), all);
}

#[tokio::test]
async fn a_prometheus_that_stands_still_is_given_up_in_time_and_asked_again() {
    let Some(real) = prometheus("a 1\n").await else { return };
    let (client, clock) = (with(&real.base_url(), quick()), Clock::new());
    let queries: Vec<String> = (0..MANY).map(|number| format!("max(a) + 0 * {number}")).collect();
    let rounds = rounds(&queries, &clock);
    real.process().pause().await.unwrap();
    let ran = round(&rounds, &client, &clock).await.unwrap();
    assert_eq!(ran.answered, 0);
    let why = failures(&rounds);
    assert_eq!(why.len(), MANY);
    assert!(why.iter().all(|why| why.contains("no complete answer within 300ms")), "{why:?}");
    real.process().resume().unwrap();
    clock.pass(Duration::from_mins(10));
    let patient = at(&real.base_url());
    assert_eq!(round(&rounds, &patient, &clock).await, Some(RoundResult { due: MANY, answered: MANY, outage: None }));
    // All rest for an hour.
    clock.pass(Duration::from_mins(59));
    assert_eq!(round(&rounds, &patient, &clock).await, None);
    clock.pass(Duration::from_mins(1));
    assert_eq!(round(&rounds, &patient, &clock).await.unwrap().answered, MANY);
}

#[tokio::test]
async fn what_is_wrong_with_one_query_takes_nothing_from_the_others() {
    let refusal = "{\"status\":\"error\",\"errorType\":\"execution\",\"error\":\"many-to-many\"}";
    let partial = "{\"status\":\"success\",\"warnings\":[\"a store is gone\"],\"data\":{\"resultType\":\"vector\",\"result\":[]}}";
    let server = Server::start(move |asked: &Asked| match asked.body.as_str() {
        body if body.contains("query=slow") => Answer::Stall,
        body if body.contains("query=refused") => say(422, refusal),
        body if body.contains("query=partial") => say(200, partial),
        _ => one(),
    })
    .await;
    let (client, clock) = (with(&server.url(), patient()), Clock::new());
    // The good ones last, so that all of the bad ones come in a row; half of those are slow.
    let bad = ["slow", "refused", "slow", "partial"];
    let bad = bad.iter().cycle().take(12).enumerate().map(|(at, kind)| format!("{kind}{at}"));
    let queries: Vec<String> = bad.chain((0..8).map(|at| format!("good{at}"))).collect();
    let rounds = rounds(&queries, &clock);
    assert_eq!(round(&rounds, &client, &clock).await, Some(RoundResult { due: 20, answered: 8, outage: None }));
    for (query, result) in known(&rounds) {
        let words = match query.trim_end_matches(|letter: char| letter.is_ascii_digit()) {
            "slow" => "no complete answer within 20s",
            "refused" => "The evaluation of the query failed.",
            "partial" => "the answer has 1 warning(s) and may be partial.",
            _ => "",
        };
        assert_eq!(result.is_ok(), words.is_empty(), "{query}: {result:?}");
        // What the store says may quote labels, so it is not repeated.
        let said = result.err().unwrap_or_default();
        assert!(said.contains(words) && !said.contains("many-to-many") && !said.contains("is gone"), "{query}: {said}");
    }
    // Each was asked once, whatever came of it.
    assert_eq!(server.take().len(), queries.len());
}

#[tokio::test]
async fn a_store_that_lets_everybody_wait_is_not_waited_for_by_every_query() {
    let server = Server::start(|_| Answer::Stall).await;
    let (client, clock) = (with(&server.url(), quick()), Clock::new());
    let queries: Vec<String> = (0..MANY).map(|number| format!("q{number}")).collect();
    let rounds = rounds(&queries, &clock);
    let first = AtomicUsize::new(0);
    let progress = |done: usize| {
        if done == 1 {
            first.store(server.take().len(), SeqCst);
        }
    };
    let ran = round_watched(&rounds, &client, &clock, &progress).await.unwrap();
    assert!(ran.answered == 0 && ran.outage.is_some(), "{ran:?}");
    // At most so many were under way at one time, and so many more were tried.
    assert!(first.load(SeqCst) <= PARALLEL, "{first:?}");
    assert!(server.take().len() <= PARALLEL + 1, "the rest is not asked");
    assert_eq!(failures(&rounds).len(), MANY);
}

#[tokio::test]
async fn queries_do_not_wait_for_each_other() {
    let server = Server::start(|_| Answer::Stall).await;
    let unhurried = PrometheusOptions { timeout: 2 * clearway_testbed::IN_TIME, ..PrometheusOptions::default() };
    let (client, clock) = (with(&server.url(), unhurried), Clock::new());
    let queries: Vec<String> = (0..MANY).map(|number| format!("q{number}")).collect();
    let rounds = rounds(&queries, &clock);
    let under_way = async {
        let mut asked = 0;
        while asked < PARALLEL {
            asked += server.take().len();
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        ran = round(&rounds, &client, &clock) => panic!("nothing was answered: {ran:?}"),
        waited = tokio::time::timeout(clearway_testbed::IN_TIME, under_way) => waited.unwrap(),
    }
}

/// An answer about another time than was asked for is no evidence, whoever sent it (U16).
#[tokio::test]
async fn an_answer_about_another_time_is_not_evidence() {
    let asked = Clock::new().now();
    for (offset, accepted) in [(0, true), (-60, true), (60, true), (-61, false), (61, false), (-86_400, false)] {
        let server = Server::start(move |_: &Asked| one_at(1_777_885_200 + offset)).await;
        let client = Prometheus::new(&server.url(), &PrometheusOptions::default()).unwrap();
        // Whoever asks.
        let instant = client.instant("max(a)", Some(asked)).await;
        assert_eq!(instant.map_err(|error| error.kind()).err(), (!accepted).then_some("other_time"), "{offset}");
        let observed = client.observe("max(a)", Some(asked), || asked).await;
        match observed {
            Ok(observation) => {
                assert!(accepted, "{offset}");
                // A number, without the labels it came with.
                assert_eq!(observation.value.to_string(), "{} 1");
            }
            Err(failure) => assert!(!accepted && failure.class == FailureClass::Stale, "{offset}: {failure:?}"),
        }
    }
}

/// Slow queries of one risk are no outage of the store: those of the others are answered in the same round.
#[tokio::test]
async fn slow_queries_do_not_cost_the_others_their_answers() {
    let server = Server::start(|asked: &Asked| match asked.body.as_str() {
        body if body.contains("query=slow") => Answer::Stall,
        _ => one(),
    })
    .await;
    let (client, clock) = (with(&server.url(), patient()), Clock::new());
    let slow = (0..2 * PARALLEL).map(|at| format!("slow{at}"));
    let queries: Vec<String> = slow.chain((0..5).map(|at| format!("tgood{at}"))).collect();
    let rounds = rounds(&queries, &clock);
    let ran = round(&rounds, &client, &clock).await.unwrap();
    assert_eq!(ran, RoundResult { due: queries.len(), answered: 5, outage: None });
}
