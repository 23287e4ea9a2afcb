//! Carries rounds out (U9): what [`Rounds`] says is due is asked of a Prometheus, a few queries at a time, and what came of
//! each is handed back at once.
//!
//! A query that fails takes nothing from the others. But a store that has gone away is not asked for the rest of a round:
//! after as many failures in a row as queries were under way, and one more, it is not the queries. What was not asked then
//! has failed like what was, and all of it is due in the next round.
//!
//! Whoever assesses meanwhile locks the same [`Rounds`]: it is never held while somebody is waited for.

use std::sync::{Mutex, MutexGuard, PoisonError};

use clearway_advice::evidence::{Failure, FailureClass};
use clearway_advice::rounds::Rounds;
use clearway_core::Timestamp;
use futures::StreamExt as _;

use crate::prometheus::Prometheus;

/// What a round came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// How many queries were due.
    pub due: usize,
    /// How many of them gave an answer.
    pub answered: usize,
    /// The last failure of a store that went away, if it did: the rest was not asked.
    pub outage: Option<Failure>,
}

/// Asks what is due; nothing if nothing is, or while a round is open. `progress` is told how many queries of how many are
/// done. If the future is dropped before its end, what was not answered has failed.
pub async fn run(
    rounds: &Mutex<Rounds>,
    prometheus: &Prometheus,
    clock: &(impl Fn() -> Timestamp + Sync),
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Option<Ran> {
    let round = lock(rounds).due(clock())?;
    let mut open = Open { rounds, clock, done: false };
    let due = round.queries.len();
    let (mut answered, mut failures, mut outage) = (0, 0, None);
    let ask = |query: String| async move {
        let result = prometheus.observe(&query, None, clock).await;
        (query, result)
    };
    let asked = futures::stream::iter(round.queries.clone().into_iter().map(ask));
    let mut asked = asked.buffer_unordered(round.parallel).enumerate();
    while let Some((at, (query, result))) = asked.next().await {
        let failure = result.as_ref().err().filter(|failure| of_the_store(failure.class)).cloned();
        answered += usize::from(result.is_ok());
        failures = if failure.is_some() { failures + 1 } else { 0 };
        lock(rounds).answered(&query, result, clock());
        progress(at + 1, due);
        if failures > round.parallel {
            outage = failure;
            break;
        }
    }
    drop(asked);
    if let Some(failure) = &outage {
        let message = format!("The metrics store went away, so it was not asked any more: {}", failure.message);
        let left = Failure { message, reproduce: None, ..failure.clone() };
        // Those that were answered are not open any more, and stay as they are.
        for query in &round.queries {
            lock(rounds).answered(query, Err(left.clone()), clock());
        }
    }
    open.done = true;
    Some(Ran { due, answered, outage })
}

/// Whether a failure says more about the store than about the query.
fn of_the_store(class: FailureClass) -> bool {
    matches!(class, FailureClass::Unreachable | FailureClass::Unauthorized | FailureClass::Timeout)
}

fn lock(rounds: &Mutex<Rounds>) -> MutexGuard<'_, Rounds> {
    // Every step leaves the value whole, so a panic elsewhere does not make it wrong.
    rounds.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A round that ends with this value: one that was left open would be the last.
struct Open<'r, C: Fn() -> Timestamp> {
    rounds: &'r Mutex<Rounds>,
    clock: &'r C,
    done: bool,
}

impl<C: Fn() -> Timestamp> Drop for Open<'_, C> {
    fn drop(&mut self) {
        if !self.done {
            lock(self.rounds).abandon("The round was given up before the metrics store answered.", (self.clock)());
        }
    }
}
