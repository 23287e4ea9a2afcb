//! Carries rounds out (U9): what [`Rounds`] says is due is asked of a Prometheus, a few queries at a time, and what came
//! of each is handed back at once.
//!
//! A query that fails takes nothing from the others. But a store that has gone away is not asked for the rest of a round:
//! after as many failures in a row as queries were under way, and one more, a query that costs nothing is asked, and if
//! that fails too it is not the queries. What was not asked then has failed like what was, and all of it is due in the
//! next round.
//!
//! Whoever assesses meanwhile locks the same [`Rounds`]: it is never held while somebody is waited for.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use clearway_advice::evidence::{Failure, FailureClass, Observation};
use clearway_advice::rounds::{Round, Rounds};
use clearway_core::Timestamp;
use clearway_promql::eval::Value;
use futures::StreamExt as _;

use crate::prometheus::Prometheus;

/// A query that any store answers at once, if it answers at all.
const PROBE: &str = "vector(1)";

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
    let (due, mut told) = (round.queries.len(), 0);
    let observe = |query: String| async move { prometheus.observe(&query, None, clock).await };
    let ran = ask(&round, observe, |query, result| {
        lock(rounds).answered(&query, result, clock());
        told += 1;
        progress(told, due);
    })
    .await;
    open.done = true;
    Some(ran)
}

/// Asks the queries of a round, as many at a time as it says, and tells what came of each of them.
pub async fn ask<A>(
    round: &Round,
    observe: impl Fn(String) -> A,
    mut tell: impl FnMut(String, Result<Observation<Value>, Failure>),
) -> Ran
where
    A: Future<Output = Result<Observation<Value>, Failure>>,
{
    let due = round.queries.len();
    let (mut answered, mut failures, mut outage) = (0, 0, None);
    let mut left: BTreeSet<&String> = round.queries.iter().collect();
    let ask = |query: &String| {
        let (query, answer) = (query.clone(), observe(query.clone()));
        async move { (query, answer.await) }
    };
    let mut asked = futures::stream::iter(round.queries.iter().map(ask)).buffer_unordered(round.parallel);
    while let Some((query, result)) = asked.next().await {
        let failure = result.as_ref().err().filter(|failure| of_the_store(failure.class)).cloned();
        answered += usize::from(result.is_ok());
        failures = if failure.is_some() { failures + 1 } else { 0 };
        left.remove(&query);
        tell(query, result);
        if failures > round.parallel {
            // Slow queries of one risk must not cost the others their answers.
            if observe(PROBE.to_owned()).await.is_ok() {
                failures = 0;
            } else {
                outage = failure;
                break;
            }
        }
    }
    if let Some(failure) = &outage {
        let message = format!("The metrics store went away, so it was not asked any more: {}", failure.message);
        let given_up = Failure { message, reproduce: None, ..failure.clone() };
        for query in left {
            tell(query.clone(), Err(given_up.clone()));
        }
    }
    Ran { due, answered, outage }
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
