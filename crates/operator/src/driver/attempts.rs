//! Which answers of the update service were begun to be assessed and never done: each of them may have ended a process.
//!
//! A publisher can make every answer differ from the last one, or send a good one in between. So besides the attempts on each
//! answer, those on all new answers of a day count: after two of them the next new answer waits, each time twice as
//! long. What is known already is used meanwhile.
//!
//! A note may lie in the future, because the clock was wrong and was set right. It counts from when it was seen first, so
//! that nothing waits for as long as the clock was wrong.

use std::time::Duration;

use clearway_core::{Digest, Timestamp};
use serde::{Deserialize, Serialize};

/// How often an answer may end a process before it is set aside.
const ATTEMPTS: usize = 2;
/// Attempts that are remembered.
const REMEMBERED: usize = 16;
/// How long an attempt counts against other answers.
const DAY: Duration = Duration::from_hours(24);
/// How long an attempt counts against a cached answer, which was assessed before: what ends every process does so sooner, and
/// a process may also end for other reasons.
const HOUR: Duration = Duration::from_hours(1);
/// How long the next new answer waits after the second attempt.
const FIRST_WAIT: Duration = Duration::from_mins(10);
/// How long it waits at most.
const LONGEST_WAIT: Duration = Duration::from_hours(6);

/// Attempts that were not done, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Attempts(Vec<Attempt>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Attempt {
    digest: Digest,
    at: Timestamp,
    /// Whether the answer was assessed by an earlier process.
    #[serde(default)]
    cached: bool,
    /// The process that began it. Notes of earlier releases have none.
    #[serde(default)]
    process: String,
}

/// Whether an answer is assessed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    Assess,
    /// It ended two processes.
    SetAside,
    /// So many processes ended while they assessed new answers, whichever those were.
    Wait {
        until: Timestamp,
        ended: usize,
    },
}

impl Attempts {
    /// Decides about a new answer. What the process began that asks has not ended it.
    pub(super) fn decide(&mut self, digest: &Digest, process: &str, now: Timestamp) -> Decision {
        self.turn_back(now);
        if self.count(digest, process, |one| !one.cached || now.since(one.at) < HOUR) >= ATTEMPTS {
            return Decision::SetAside;
        }
        let recent: Vec<&Attempt> =
            self.of_others(process).filter(|one| !one.cached && now.since(one.at) < DAY).collect();
        let Some(last) = recent.iter().map(|one| one.at).max().filter(|_| recent.len() >= ATTEMPTS) else {
            return Decision::Assess;
        };
        let doubled = u32::try_from(recent.len().saturating_sub(ATTEMPTS)).unwrap_or(u32::MAX);
        let wait = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(doubled)).min(LONGEST_WAIT);
        let until = last.plus(wait);
        if until <= now { Decision::Assess } else { Decision::Wait { until, ended: recent.len() } }
    }

    /// Whether a cached answer may be used.
    pub(super) fn may_use_cached(&mut self, digest: &Digest, process: &str, now: Timestamp) -> bool {
        self.turn_back(now);
        self.count(digest, process, |one| now.since(one.at) < HOUR) < ATTEMPTS
    }

    /// Lets notes of the future count from now on. The order stays: it is that of the attempts.
    fn turn_back(&mut self, now: Timestamp) {
        for one in &mut self.0 {
            one.at = one.at.min(now);
        }
    }

    fn of_others(&self, process: &str) -> impl Iterator<Item = &Attempt> {
        self.0.iter().filter(move |one| one.process != process)
    }

    fn count(&self, digest: &Digest, process: &str, counts: impl Fn(&Attempt) -> bool) -> usize {
        self.of_others(process).filter(|one| one.digest == *digest && counts(one)).count()
    }

    /// Notes that an answer is about to be assessed by a process. A process has one attempt on an answer.
    pub(super) fn begin(&mut self, digest: &Digest, process: &str, now: Timestamp, cached: bool) {
        self.0.retain(|one| one.digest != *digest || one.process != process);
        self.0.push(Attempt { digest: digest.clone(), at: now, cached, process: process.to_owned() });
        let many = self.0.len().saturating_sub(REMEMBERED);
        self.0.drain(..many);
    }

    /// Notes that an answer was assessed, and did no harm.
    pub(super) fn done(&mut self, digest: &Digest) {
        self.0.retain(|one| one.digest != *digest);
    }

    /// Removes what a process began: it ends for another reason.
    pub(super) fn withdraw(&mut self, process: &str) {
        self.0.retain(|one| one.process != process);
    }

    /// Whether a process has begun something that is not done.
    #[cfg(test)]
    pub(super) fn has_open(&self, process: &str) -> bool {
        self.0.iter().any(|one| one.process == process)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(name: &str) -> Digest {
        Digest::sha256(name.as_bytes())
    }

    fn at(minutes: u64) -> Timestamp {
        Timestamp::from_seconds(1_700_000_000).unwrap().plus(Duration::from_mins(minutes))
    }

    /// The process that decides.
    const PRESENT: &str = "present";

    /// Begins to assess an answer in a process of its time, which it ends.
    fn begin(attempts: &mut Attempts, name: &str, minutes: u64, cached: bool) {
        attempts.begin(&answer(name), &format!("process {minutes}"), at(minutes), cached);
    }

    fn decide(attempts: &mut Attempts, name: &str, minutes: u64) -> Decision {
        attempts.decide(&answer(name), PRESENT, at(minutes))
    }

    fn die(attempts: &mut Attempts, name: &str, minutes: u64) {
        assert_eq!(decide(attempts, name, minutes), Decision::Assess, "{name}");
        begin(attempts, name, minutes, false);
    }

    #[test]
    fn what_the_present_process_began_has_not_ended_it() {
        let mut attempts = Attempts::default();
        for minutes in 0..5 {
            assert_eq!(decide(&mut attempts, "good", minutes), Decision::Assess);
            attempts.begin(&answer("good"), PRESENT, at(minutes), false);
            assert!(attempts.may_use_cached(&answer("good"), PRESENT, at(minutes)));
        }
        assert_eq!(attempts.0.len(), 1);
        assert_eq!(decide(&mut attempts, "other", 5), Decision::Assess);
        begin(&mut attempts, "good", 6, false);
        attempts.withdraw(PRESENT);
        assert!(!attempts.has_open(PRESENT) && attempts.has_open("process 6"), "those of others stay");
    }

    #[test]
    fn an_answer_that_ended_two_processes_is_set_aside() {
        let mut attempts = Attempts::default();
        die(&mut attempts, "bad", 0);
        die(&mut attempts, "bad", 1);
        assert_eq!(decide(&mut attempts, "bad", 2), Decision::SetAside);
        assert_eq!(decide(&mut attempts, "bad", 100_000), Decision::SetAside, "for good");
        attempts.done(&answer("bad"));
        assert_eq!(decide(&mut attempts, "bad", 2), Decision::Assess);
    }

    #[test]
    fn alternating_answers_are_each_set_aside() {
        let mut attempts = Attempts::default();
        die(&mut attempts, "one", 0);
        die(&mut attempts, "other", 1);
        die(&mut attempts, "one", 20);
        die(&mut attempts, "other", 60);
        for name in ["one", "other"] {
            assert_eq!(decide(&mut attempts, name, 3_000), Decision::SetAside);
        }
    }

    #[test]
    fn answers_that_always_differ_wait_longer_and_longer() {
        let mut attempts = Attempts::default();
        let (mut now, mut deaths) = (0, Vec::new());
        while now < 24 * 60 {
            let name = format!("answer {now}");
            match decide(&mut attempts, &name, now) {
                Decision::Assess => {
                    deaths.push(now);
                    begin(&mut attempts, &name, now, false);
                }
                Decision::Wait { until, ended } => assert!(until > at(now) && ended == deaths.len()),
                Decision::SetAside => panic!("it is another one"),
            }
            // A good answer in between changes nothing.
            begin(&mut attempts, "good", now, false);
            attempts.done(&answer("good"));
            now += 1;
        }
        assert_eq!(deaths, [0, 1, 11, 31, 71, 151, 311, 631, 991, 1351]);
        assert_eq!(decide(&mut attempts, "new", 5_000), Decision::Assess, "a day later");
    }

    #[test]
    fn a_cached_answer_that_ends_processes_is_not_recalled_for_a_while() {
        let mut attempts = Attempts::default();
        for minutes in [0, 5] {
            assert!(attempts.may_use_cached(&answer("cached"), PRESENT, at(minutes)));
            begin(&mut attempts, "cached", minutes, true);
        }
        assert!(!attempts.may_use_cached(&answer("cached"), PRESENT, at(6)));
        assert_eq!(decide(&mut attempts, "cached", 6), Decision::SetAside, "nor when it is fetched");
        assert_eq!(decide(&mut attempts, "new", 6), Decision::Assess, "another one is not to blame");
        assert!(
            attempts.may_use_cached(&answer("cached"), PRESENT, at(70)),
            "two restarts on another day are no reason"
        );
    }

    /// A clock that was wrong and is set right blocks nothing for longer than the documented wait, and the guard still holds.
    #[test]
    fn attempts_in_the_future_count_from_when_they_are_seen() {
        const YEAR: u64 = 365 * 24 * 60;
        for (ended, wait) in [(1, 0), (2, 10), (3, 20), (5, 80), (16, 360)] {
            let mut attempts = Attempts::default();
            for number in 0..ended {
                begin(&mut attempts, &number.to_string(), YEAR + number, false);
            }
            let until = at(wait);
            // Looking at it again does not move the end.
            for minutes in [0, wait / 2, wait.saturating_sub(1)].into_iter().filter(|minutes| *minutes < wait) {
                let waits = Decision::Wait { until, ended: usize::try_from(ended).unwrap() };
                assert_eq!(decide(&mut attempts, "new", minutes), waits, "{ended} at {minutes}");
            }
            assert_eq!(decide(&mut attempts, "new", wait), Decision::Assess, "{ended}");
        }
        let mut attempts = Attempts::default();
        for minutes in [YEAR, YEAR + 1] {
            begin(&mut attempts, "bad", minutes, false);
            begin(&mut attempts, "cached", minutes, true);
        }
        assert!(!attempts.may_use_cached(&answer("cached"), PRESENT, at(0)));
        assert!(!attempts.may_use_cached(&answer("cached"), PRESENT, at(59)));
        assert!(attempts.may_use_cached(&answer("cached"), PRESENT, at(60)));
        assert_eq!(decide(&mut attempts, "bad", 100_000), Decision::SetAside, "for good");
    }

    #[test]
    fn only_the_last_attempts_are_remembered() {
        let mut attempts = Attempts::default();
        for number in 0..100 {
            begin(&mut attempts, &number.to_string(), number, false);
        }
        assert_eq!(attempts.0.len(), REMEMBERED);
        assert!(attempts.has_open("process 99") && !attempts.has_open("process 0"));
    }
}
