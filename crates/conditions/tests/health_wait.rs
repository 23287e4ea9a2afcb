//! The wait machine: settling, persisting failures, three clocks, what ends it and with which exit code.

use std::time::Duration;

use clearway_conditions::health::wait::{Clock, Clocks, Concern, Decision, Observation, Outcome, Wait};
use clearway_conditions::health::{Basis, State, Verdict};
use clearway_core::{ObjectId, Timestamp};
use proptest::prelude::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_714_560_000 + seconds).unwrap()
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn id(kind: &str, name: &str) -> ObjectId {
    let group = match kind {
        "Deployment" => "apps",
        "Job" => "batch",
        _ => "",
    };
    ObjectId { group: group.into(), kind: kind.into(), namespace: "shop".into(), name: name.into() }
}

fn verdict(state: State) -> Verdict {
    Verdict { proven: true, ..Verdict::new(state, state.as_str(), "as seen", Basis::KindRule) }
}

fn seen(verdict: Verdict, progress_token: u64) -> Observation {
    Observation::Verdict { verdict, progress_token }
}

fn state(state: State) -> Observation {
    seen(verdict(state), 1)
}

fn unreachable() -> Observation {
    Observation::Unreachable { why: "deployments.apps \"web\" is forbidden".to_owned() }
}

/// A wait for Deployments of these names from second 0 on.
fn wait(names: &[&str], clocks: Clocks) -> Wait {
    Wait::new(names.iter().map(|name| id("Deployment", name)), clocks, at(0))
}

fn see(wait: &mut Wait, name: &str, observation: Observation, now: i64) -> Decision {
    wait.observe(&id("Deployment", name), observation, at(now));
    wait.step(at(now))
}

fn until(seconds: i64) -> Decision {
    Decision::Wait { until: at(seconds) }
}

#[track_caller]
fn done(decision: Decision) -> Outcome {
    match decision {
        Decision::Done(outcome) => outcome,
        Decision::Wait { until } => panic!("waits until {until}"),
    }
}

#[test]
fn current_has_to_last_for_the_settle_window_without_a_break() {
    let mut wait = wait(&["web"], Clocks::default());
    assert_eq!(see(&mut wait, "web", state(State::Current), 10), until(15));
    assert_eq!(see(&mut wait, "web", state(State::InProgress), 12), until(600));
    assert_eq!(see(&mut wait, "web", state(State::Current), 14), until(19));
    assert_eq!(see(&mut wait, "web", state(State::Current), 18), until(19));
    let outcome = done(wait.step(at(19)));
    assert!(matches!(outcome, Outcome::Current { .. }));
    assert_eq!((outcome.exit_code(), outcome.report()[0].age_seconds), (0, Some(1)));
}

#[test]
fn min_ready_seconds_take_the_place_of_the_settle_window() {
    let mut wait = wait(&["web"], Clocks::default());
    let careful = Verdict { hold: Some(secs(30)), ..verdict(State::Current) };
    assert_eq!(see(&mut wait, "web", seen(careful, 1), 0), until(30));
    assert_eq!(done(wait.step(at(30))).exit_code(), 0);
}

#[test]
fn a_final_failure_counts_at_once_and_ends_the_wait_when_nothing_is_left_to_wait_for() {
    let mut wait = wait(&["bad", "good"], Clocks::default());
    assert_eq!(see(&mut wait, "good", state(State::Current), 0), until(5));
    let outcome = done(see(&mut wait, "bad", state(State::Failed), 2));
    assert!(matches!(outcome, Outcome::Failed { .. }));
    assert_eq!(outcome.exit_code(), 1);
    assert_eq!(outcome.report().len(), 2);
}

#[test]
fn a_failure_that_often_heals_has_to_last() {
    let mut wait = wait(&["web"], Clocks::default());
    let crash = || seen(Verdict { hold: Some(secs(120)), ..verdict(State::Failed) }, 1);
    assert_eq!(see(&mut wait, "web", crash(), 10), until(130));
    assert_eq!(see(&mut wait, "web", state(State::InProgress), 100), until(600));
    assert_eq!(see(&mut wait, "web", crash(), 110), until(230));
    assert_eq!(see(&mut wait, "web", crash(), 229), until(230));
    assert_eq!(done(see(&mut wait, "web", crash(), 230)).exit_code(), 1);
}

#[test]
fn who_asks_for_it_hears_of_a_failure_sooner() {
    let mut hasty = wait(&["web"], Clocks { patience: Some(secs(3)), ..Clocks::default() });
    let crash = || seen(Verdict { hold: Some(secs(120)), ..verdict(State::Failed) }, 1);
    assert_eq!(see(&mut hasty, "web", crash(), 10), until(13));
    assert_eq!(done(see(&mut hasty, "web", crash(), 13)).exit_code(), 1);

    let mut patient = wait(&["web"], Clocks { patience: Some(secs(300)), ..Clocks::default() });
    assert_eq!(see(&mut patient, "web", crash(), 10), until(310));
    // What cannot heal needs no patience.
    assert_eq!(done(see(&mut patient, "web", state(State::Failed), 20)).exit_code(), 1);
}

#[test]
fn after_a_failure_the_others_are_heard_for_the_drain_unless_the_first_is_to_end_it() {
    let mut patient = wait(&["bad", "slow"], Clocks::default());
    see(&mut patient, "slow", state(State::InProgress), 0);
    assert_eq!(see(&mut patient, "bad", state(State::Failed), 10), until(40));
    assert_eq!(done(patient.step(at(40))).exit_code(), 1);

    let mut recovers = wait(&["bad", "slow"], Clocks::default());
    see(&mut recovers, "slow", state(State::InProgress), 0);
    see(&mut recovers, "bad", state(State::Failed), 10);
    assert_eq!(see(&mut recovers, "bad", state(State::InProgress), 20), until(600));

    let mut hasty = wait(&["bad", "slow"], Clocks { fail_fast: true, ..Clocks::default() });
    see(&mut hasty, "slow", state(State::InProgress), 0);
    assert_eq!(done(see(&mut hasty, "bad", state(State::Failed), 10)).exit_code(), 1);
}

#[test]
fn the_total_clock_is_not_a_failure_and_reports_each_verdict_with_its_age() {
    let mut wait = wait(&["web"], Clocks { total: secs(60), ..Clocks::default() });
    assert_eq!(see(&mut wait, "web", state(State::InProgress), 20), until(60));
    let outcome = done(wait.step(at(60)));
    assert!(matches!(outcome, Outcome::TimedOut { clock: Clock::Total, .. }));
    assert_eq!(outcome.exit_code(), 2);
    let [web] = outcome.report() else { panic!("{outcome:?}") };
    assert_eq!((web.verdict.state, web.age_seconds, web.late), (State::InProgress, Some(40), false));
    let json = serde_json::to_value(&outcome).unwrap();
    assert_eq!((&json["outcome"], &json["clock"]), (&"TimedOut".into(), &"total".into()));
    assert_eq!(json["report"][0]["verdict"]["state"], "InProgress");
}

#[test]
fn the_clock_of_an_object_starts_when_it_exists() {
    let clocks = Clocks { per_object: Some(secs(60)), ..Clocks::default() };
    let mut wait = wait(&["new", "slow"], clocks);
    see(&mut wait, "slow", state(State::InProgress), 0);
    assert_eq!(see(&mut wait, "new", Observation::NotFound, 0), until(60));
    assert_eq!(see(&mut wait, "new", state(State::InProgress), 50), until(60));
    assert_eq!(
        see(&mut wait, "slow", state(State::InProgress), 55),
        until(60),
        "to be seen again starts no clock anew"
    );
    assert_eq!(wait.step(at(60)), until(90), "the drain and the clock of the second end then");
    let outcome = done(see(&mut wait, "new", state(State::Current), 80));
    assert!(matches!(outcome, Outcome::TimedOut { clock: Clock::PerObject, .. }), "only the late one is left");
    assert_eq!(outcome.report().iter().map(|object| object.late).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn no_progress_is_counted_from_the_last_change_of_any_token() {
    let clocks = Clocks { no_progress: Some(secs(60)), ..Clocks::default() };
    let mut wait = wait(&["one", "two"], clocks);
    see(&mut wait, "one", seen(verdict(State::InProgress), 1), 0);
    assert_eq!(see(&mut wait, "two", seen(verdict(State::InProgress), 1), 10), until(70));
    assert_eq!(see(&mut wait, "one", seen(verdict(State::InProgress), 1), 30), until(70), "nothing moved");
    assert_eq!(see(&mut wait, "one", seen(verdict(State::InProgress), 2), 40), until(100));
    assert_eq!(see(&mut wait, "two", Observation::NotFound, 50), until(110), "to vanish is to move");
    let outcome = done(wait.step(at(110)));
    assert!(matches!(outcome, Outcome::TimedOut { clock: Clock::NoProgress, .. }));
}

#[test]
fn what_merely_settles_is_not_supposed_to_move() {
    let mut wait = wait(&["web"], Clocks { no_progress: Some(secs(2)), ..Clocks::default() });
    assert_eq!(see(&mut wait, "web", state(State::Current), 0), until(5));
    assert_eq!(wait.step(at(3)), until(5));
    assert_eq!(done(wait.step(at(5))).exit_code(), 0);
}

#[test]
fn what_could_never_be_seen_is_another_end_than_what_was_too_slow() {
    let clocks = || Clocks { total: secs(60), no_progress: Some(secs(20)), ..Clocks::default() };
    let mut never = wait(&["web"], clocks());
    assert_eq!(see(&mut never, "web", unreachable(), 1), until(60), "what is not seen cannot be said not to move");
    let outcome = done(never.step(at(60)));
    assert!(matches!(outcome, Outcome::CouldNotObserve { .. }));
    assert_eq!((outcome.exit_code(), outcome.report()[0].verdict.state), (3, State::Unknown));
    assert!(outcome.report()[0].unreachable.as_deref().unwrap().contains("forbidden"));

    let mut once = wait(&["web"], Clocks { total: secs(60), ..Clocks::default() });
    see(&mut once, "web", state(State::InProgress), 1);
    see(&mut once, "web", unreachable(), 2);
    let outcome = done(once.step(at(60)));
    assert_eq!((outcome.exit_code(), outcome.report()[0].age_seconds), (2, Some(59)));
}

#[test]
fn what_is_out_of_sight_is_not_current_and_settles_anew_but_a_believed_failure_stays() {
    let mut wait_one = wait(&["web"], Clocks::default());
    see(&mut wait_one, "web", state(State::Current), 0);
    assert_eq!(see(&mut wait_one, "web", unreachable(), 3), until(600));
    assert_eq!(see(&mut wait_one, "web", state(State::Current), 10), until(15));

    let mut two = wait(&["bad", "slow"], Clocks::default());
    see(&mut two, "slow", state(State::InProgress), 0);
    see(&mut two, "bad", state(State::Failed), 10);
    assert_eq!(see(&mut two, "bad", unreachable(), 20), until(40));
    assert_eq!(done(two.step(at(40))).exit_code(), 1);
}

#[test]
fn suspended_objects_are_waited_for_only_if_asked() {
    let mut wait_none = wait(&["web"], Clocks::default());
    assert_eq!(done(see(&mut wait_none, "web", state(State::Suspended), 0)).exit_code(), 0);
    let mut asked = wait(&["web"], Clocks { wait_for_suspended: true, ..Clocks::default() });
    assert_eq!(see(&mut asked, "web", state(State::Suspended), 0), until(600));
}

#[test]
fn a_job_that_ran_and_was_removed_is_done_and_one_that_failed_or_was_deleted_is_not() {
    let job = id("Job", "migrate");
    let run = |last: Verdict| {
        let mut wait = Wait::new([job.clone()], Clocks { total: secs(60), ..Clocks::default() }, at(0));
        wait.observe(&job, seen(last, 1), at(1));
        wait.observe(&job, seen(verdict(State::Terminating), 2), at(2));
        wait.observe(&job, Observation::NotFound, at(3));
        wait.step(at(3))
    };
    let expires = Verdict { gone_is_done: true, ..verdict(State::InProgress) };
    let outcome = done(run(expires));
    assert_eq!((outcome.exit_code(), outcome.report()[0].verdict.reason.as_str()), (0, "FinishedAndRemoved"));
    assert_eq!(run(verdict(State::InProgress)), until(60), "without a time to live, somebody deleted it");
    assert_eq!(run(Verdict { gone_is_done: true, ..verdict(State::Failed) }), until(60));
}

#[test]
fn a_verdict_that_time_alone_changes_wakes_the_shell() {
    let mut wait = wait(&["web"], Clocks::default());
    let young = Verdict { recheck: Some(at(10)), ..verdict(State::InProgress) };
    assert_eq!(see(&mut wait, "web", seen(young, 1), 2), until(10));
    assert_eq!(wait.step(at(11)), until(600));
}

#[test]
fn nothing_to_wait_for_is_current_and_said_to_be_nothing() {
    let mut wait = wait(&[], Clocks::default());
    assert_eq!(wait.progress(at(0)).headline(), "0 objects, 0s of 10m");
    assert_eq!(done(wait.step(at(0))).report(), []);
}

#[test]
fn progress_is_one_line_and_at_most_three_groups_of_three_names() {
    let names: Vec<_> = (0..10).map(|number| format!("d{number}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let mut wait = wait(&names, Clocks::default());
    let says = |state, reason: &str, message: &str| seen(Verdict::new(state, reason, message, Basis::KindRule), 1);
    for name in &names[..4] {
        see(&mut wait, name, says(State::InProgress, "LessReplicas", "Replicas: 1/3"), 0);
    }
    see(&mut wait, "d4", says(State::InProgress, "ExtraPods", "Pending termination: 1"), 0);
    see(&mut wait, "d5", says(State::Failed, "ProgressDeadlineExceeded", "timed\u{1b}[31m out\nfor good"), 0);
    see(&mut wait, "d6", unreachable(), 0);
    see(&mut wait, "d7", state(State::Suspended), 0);
    see(&mut wait, "d8", state(State::Current), 0);
    see(&mut wait, "d9", state(State::Current), 70);
    let progress = wait.progress(at(72));
    assert_eq!(
        progress.to_string(),
        "1/10 current, 1 settling, 5 waiting, 1 failed, 1 unknown, 1 suspended, 1m12s of 10m\n\
         * Deployment.apps shop/d5: ProgressDeadlineExceeded: timed [31m out for good\n\
         * Deployment.apps shop/d6: Unreachable: deployments.apps \"web\" is forbidden\n\
         * Deployment.apps shop/d0, shop/d1, shop/d2, ... (1 more): LessReplicas: Replicas: 1/3\n\
         And 1 waiting"
    );
    assert_eq!(progress.groups[0].concern, Concern::Issue);
    assert!(!wait.progress(at(73)).is_news_after(&progress), "time is no news");
    assert!(wait.progress(at(75)).is_news_after(&progress), "one has settled");
    let json = serde_json::to_value(&progress).unwrap();
    assert_eq!((&json["elapsedSeconds"], &json["groups"][2]["more"]), (&72.into(), &1.into()));
}

fn any_observation() -> impl Strategy<Value = Observation> {
    let verdicts = (0..State::ALL.len(), 0..4_u64, prop::option::of(0..20_u64))
        .prop_map(|(index, token, hold)| seen(Verdict { hold: hold.map(secs), ..verdict(State::ALL[index]) }, token));
    prop_oneof![8 => verdicts, 1 => Just(Observation::NotFound), 1 => Just(unreachable())]
}

fn any_clocks() -> impl Strategy<Value = Clocks> {
    let limit = || prop::option::of(1..60_u64);
    (1..90_u64, limit(), limit(), 0..10_u64, limit(), any::<bool>(), any::<bool>()).prop_map(
        |(total, per_object, no_progress, settle, patience, fail_fast, wait_for_suspended)| Clocks {
            total: secs(total),
            per_object: per_object.map(secs),
            no_progress: no_progress.map(secs),
            settle: secs(settle),
            patience: patience.map(secs),
            drain: secs(10),
            fail_fast,
            wait_for_suspended,
        },
    )
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

proptest! {
    #[test]
    fn success_is_never_told_while_a_last_verdict_is_anything_else(
        clocks in any_clocks(),
        rounds in prop::collection::vec((0..8_i64, prop::collection::vec((0..4_usize, any_observation()), 0..5)), 1..30),
    ) {
        let mut wait = wait(&NAMES, clocks);
        let mut last = [None; 4];
        let mut now = 0;
        for (pause, observations) in rounds {
            now += pause;
            for (index, observation) in observations {
                last[index] = match &observation {
                    Observation::Verdict { verdict, .. } => Some(verdict.state),
                    _ => None,
                };
                wait.observe(&id("Deployment", NAMES[index]), observation, at(now));
            }
            match wait.step(at(now)) {
                Decision::Done(Outcome::Current { .. }) => {
                    let well = |state: &Option<State>| matches!(state, Some(State::Current | State::Suspended));
                    prop_assert!(last.iter().all(well), "{:?}", last);
                }
                Decision::Wait { until } => prop_assert!(until > at(now), "a wait that would not pass"),
                Decision::Done(_) => {}
            }
        }
    }

    #[test]
    fn the_order_of_simultaneous_observations_does_not_matter(
        clocks in any_clocks(),
        rounds in prop::collection::vec((0..8_i64, prop::collection::vec(prop::option::of(any_observation()), 4)), 1..20),
        orders in prop::collection::vec(Just([0_usize, 1, 2, 3]).prop_shuffle(), 20),
    ) {
        let (mut one, mut other) = (wait(&NAMES, clocks.clone()), wait(&NAMES, clocks));
        let mut now = 0;
        for ((pause, observations), order) in rounds.into_iter().zip(orders) {
            now += pause;
            for (name, observation) in NAMES.iter().zip(&observations) {
                if let Some(seen) = observation {
                    one.observe(&id("Deployment", name), seen.clone(), at(now));
                }
            }
            for index in order {
                if let Some(seen) = &observations[index] {
                    other.observe(&id("Deployment", NAMES[index]), seen.clone(), at(now));
                }
            }
            prop_assert_eq!(one.step(at(now)), other.step(at(now)));
            prop_assert_eq!(one.progress(at(now)), other.progress(at(now)));
        }
    }

    #[test]
    fn every_wait_ends_with_its_total_clock(
        clocks in any_clocks(),
        observations in prop::collection::vec((0..4_usize, any_observation()), 0..20),
    ) {
        let end = at(0).plus(clocks.total);
        let mut wait = wait(&NAMES, clocks);
        for (index, observation) in observations {
            wait.observe(&id("Deployment", NAMES[index]), observation, at(0));
        }
        prop_assert!(matches!(wait.step(end), Decision::Done(_)));
    }
}
