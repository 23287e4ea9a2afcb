//! Observations in turn, and what is reported after each.

use clearway_conditions::health::Basis;

use super::*;

fn at(seconds: u64) -> Timestamp {
    let start: Timestamp = "2026-05-04T09:00:00Z".parse().unwrap();
    start.plus(Duration::from_secs(seconds))
}

fn verdict(state: State, reason: &str, hold: u64) -> Verdict {
    Verdict {
        state,
        reason: reason.to_owned(),
        message: format!("{reason} it says"),
        since: None,
        basis: Basis::KindRule,
        proven: true,
        hold: Some(Duration::from_secs(hold)).filter(|hold| !hold.is_zero()),
        recheck: None,
        gone_is_done: false,
    }
}

fn id() -> ObjectId {
    ObjectId { kind: "Deployment".into(), group: "apps".into(), namespace: "shop".into(), name: "web".into() }
}

/// What is reported over time; each change once.
fn reported(looks: impl IntoIterator<Item = (u64, Verdict)>, carried: Option<Failure>) -> Vec<String> {
    let (pace, id, mut said) = (Pace::default(), id(), Vec::new());
    let mut health = ObservedHealth::new(verdict(State::InProgress, "LessAvailable", 0), carried, &pace, at(0));
    for (seconds, verdict) in looks {
        health.observe(verdict, &id, &pace, at(seconds));
        let failure = health.failure(&id, false, &pace, at(seconds));
        let healthy = if health.is_healthy() { " healthy" } else { "" };
        said.push(failure.map_or_else(|| format!("-{healthy}"), |failure| format!("{}{healthy}", failure.reason)));
    }
    said.dedup();
    said
}

/// Half a minute of each, as a container that crashes and is started again; with a moment of readiness in between.
fn crashing(seconds: u64) -> Verdict {
    match seconds % 60 {
        0..30 => verdict(State::Failed, "PodsFailed", 0),
        30..50 => verdict(State::InProgress, "LessAvailable", 0),
        _ => verdict(State::Current, "DeploymentAvailable", 0),
    }
}

#[test]
fn a_workload_that_crashes_again_and_again_fails_once_for_as_long_as_it_does() {
    // Beyond the time after which everything is late, too.
    let half_an_hour = (0..360).map(|look| (look * 5, crashing(look * 5)));
    assert_eq!(reported(half_an_hour, None), ["PodsFailed"]);
    let two_ways = (0..360).map(|look| {
        let reason = if look % 2 == 0 { "PodsFailed" } else { "ProgressDeadlineExceeded" };
        (look * 5, verdict(State::Failed, reason, 0))
    });
    assert_eq!(reported(two_ways, None), ["PodsFailed"]);
}

#[test]
fn a_failure_is_over_when_the_object_did_not_fail_for_a_while() {
    let failed = (0..10).map(|look| (look * 5, verdict(State::Failed, "PodsFailed", 0)));
    let healed = (10..60).map(|look| (look * 5, verdict(State::Current, "DeploymentAvailable", 0)));
    assert_eq!(reported(failed.clone().chain(healed), None), ["PodsFailed", "- healthy"]);
    let slow = (10..60).map(|look| (look * 5, verdict(State::InProgress, "LessAvailable", 0)));
    assert_eq!(reported(failed.clone().chain(slow), None), ["PodsFailed", "-"]);
    let other = (10..60).map(|look| (look * 5, verdict(State::Failed, "ImageNotFound", 0)));
    assert_eq!(reported(failed.chain(other), None), ["PodsFailed", "ImageNotFound"], "what it is now, after a while");
}

#[test]
fn what_takes_too_long_is_reported_and_what_fails_then_says_more() {
    let slow = (0..130).map(|look| (look * 5, verdict(State::InProgress, "LessAvailable", 0)));
    let crashing = (132..500).map(|look| (look * 5, crashing(look * 5)));
    assert_eq!(reported(slow.chain(crashing), None), ["-", "TakesTooLong", "PodsFailed"]);
    let healed = (0..130).map(|look| (look * 5, verdict(State::InProgress, "LessAvailable", 0)));
    let healed = healed.chain([(700, verdict(State::Current, "DeploymentAvailable", 0))]);
    assert_eq!(reported(healed, None), ["-", "TakesTooLong", "- healthy"], "that it was slow is no failure that lasts");
}

#[test]
fn a_failure_with_a_time_of_its_own_is_believed_after_it() {
    let crash = (0..30).map(|look| (look * 5, verdict(State::Failed, "ContainerCrashLooping", 120)));
    assert_eq!(reported(crash, None), ["-", "ContainerCrashLooping"]);
}

#[test]
fn what_an_earlier_process_reported_counts_until_the_object_did_not_fail_for_a_while() {
    let carried = || Some(Failure { reason: "PodsFailed".into(), message: "Deployment.apps shop/web: before".into() });
    let slow = (1..60).map(|look| (look * 5, verdict(State::InProgress, "LessAvailable", 0)));
    assert_eq!(reported(slow, carried()), ["PodsFailed", "-"]);
    let healed = (1..60).map(|look| (look * 5, verdict(State::Current, "DeploymentAvailable", 0)));
    assert_eq!(reported(healed, carried()), ["PodsFailed", "- healthy"]);
}
