//! Runs the queries of a round (U9), a few at a time, and hands back what came of each at once. When a round is due is
//! decided by [`Rounds`](clearway_advice::rounds::Rounds).
//!
//! A query that fails takes nothing from the others. But a store that has gone away is not asked for the rest of a round:
//! after as many failures in a row as queries were under way, and one more, a query that costs nothing is asked, and if
//! that fails too it is not the queries. What was not asked then has failed like what was, and all of it is due in the
//! next round.

use std::collections::BTreeSet;

use clearway_advice::evidence::{Failure, Observation};
use clearway_advice::rounds::Round;
use clearway_promql::eval::Value;
use futures::StreamExt as _;

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
        let failure = result.as_ref().err().filter(|failure| failure.class.is_of_source()).cloned();
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
        let message =
            format!("This query was not sent because the metrics store does not respond: {}", failure.message);
        let given_up = Failure { message, reproduce: None, ..failure.clone() };
        for query in left {
            tell(query.clone(), Err(given_up.clone()));
        }
    }
    Ran { due, answered, outage }
}
