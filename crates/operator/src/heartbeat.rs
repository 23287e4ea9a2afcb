//! Whether a step of a controller, or the evaluation of rules, hangs.
//!
//! Steps and evaluations only compute; whatever waits for the network, a lock or another process waits between them. So one
//! that is not over after [`HANGS_AFTER`] never will be, and the process is better started again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Context;
use std::time::{Duration, Instant};

/// After how much time without an end a computation counts as hanging. The budgets of rules add up to two minutes.
pub const HANGS_AFTER: Duration = Duration::from_mins(3);

/// What is being computed, and since when. Cheap to clone; all clones speak of the same process.
#[derive(Debug, Clone, Default)]
pub struct Heartbeat(Arc<Mutex<Running>>);

#[derive(Debug, Default)]
struct Running {
    next: u64,
    since: BTreeMap<u64, (Instant, &'static str)>,
    /// Everything that was begun, in order.
    #[cfg(test)]
    begun: Vec<&'static str>,
}

/// A computation; it is over when this value is dropped.
#[derive(Debug)]
pub struct ComputationGuard {
    heartbeat: Heartbeat,
    id: u64,
}

impl Heartbeat {
    /// Begins a computation.
    pub fn begin(&self, what: &'static str, now: Instant) -> ComputationGuard {
        let mut running = self.lock();
        let id = running.next;
        running.next = id.wrapping_add(1);
        running.since.insert(id, (now, what));
        #[cfg(test)]
        running.begun.push(what);
        ComputationGuard { heartbeat: self.clone(), id }
    }

    /// Runs a future, of which each step from one wait to the next is a computation.
    pub async fn steps_of<F: Future>(&self, what: &'static str, future: F) -> F::Output {
        let mut future = std::pin::pin!(future);
        let step = |context: &mut Context<'_>| {
            let _beat = self.begin(what, Instant::now());
            future.as_mut().poll(context)
        };
        std::future::poll_fn(step).await
    }

    /// What hangs, and for how long.
    pub fn hanging(&self, now: Instant) -> Option<(&'static str, Duration)> {
        let oldest = self.lock().since.values().min().copied();
        let (since, what) = oldest?;
        let running = now.saturating_duration_since(since);
        (running > HANGS_AFTER).then_some((what, running))
    }

    /// Everything that was begun so far, in order.
    #[cfg(test)]
    pub(crate) fn begun(&self) -> Vec<&'static str> {
        self.lock().begun.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        // Every change is one statement, so a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ComputationGuard {
    fn drop(&mut self) {
        self.heartbeat.lock().since.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn only_what_computes_for_too_long_hangs() {
        let (heartbeat, start) = (Heartbeat::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!(heartbeat.hanging(at(10_000)), None, "at rest nothing hangs");
        let first = heartbeat.begin("a step", at(0));
        let second = heartbeat.begin("an evaluation", at(100));
        assert_eq!(heartbeat.hanging(at(180)), None);
        assert_eq!(heartbeat.hanging(at(181)), Some(("a step", Duration::from_secs(181))));
        drop(first);
        assert_eq!(heartbeat.hanging(at(181)), None);
        assert_eq!(heartbeat.hanging(at(300)).map(|(what, _)| what), Some("an evaluation"));
        drop(second);
        assert_eq!(heartbeat.hanging(at(10_000)), None);
    }
    #[tokio::test]
    async fn a_step_is_what_is_between_two_waits() {
        let heartbeat = Heartbeat::default();
        let later = || Instant::now() + HANGS_AFTER + Duration::from_secs(1);
        let hanging = || heartbeat.hanging(later()).map(|(what, _)| what);
        let (go_on, waits) = tokio::sync::oneshot::channel();
        let mut work = Box::pin(heartbeat.steps_of("the work", async {
            let before = hanging();
            waits.await.unwrap();
            [before, hanging()]
        }));
        assert!((&mut work).now_or_never().is_none());
        assert_eq!(hanging(), None, "a wait is no step");
        go_on.send(()).unwrap();
        assert_eq!(work.await, [Some("the work"); 2]);
        assert_eq!(hanging(), None);
    }
}
