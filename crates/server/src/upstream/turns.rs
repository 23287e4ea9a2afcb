//! Whose turn it is to ask upstream: channels that answer never wait for those that do not.
//!
//! A request begins with a turn of the channels that answered before, or of those that were never asked for. When it
//! takes longer than `patience` it gives that turn back, and goes on only with one of the few for slow channels; the next
//! request for the channel begins there. So slow channels wait for each other, however many there are, and the requests
//! under way, each of which holds at most one small answer, are bounded.

use std::pin::pin;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// Requests at one time for channels that answered before, for those never asked for, and for slow ones.
const ANSWERED: usize = 8;
const UNTRIED: usize = 16;
const SLOW: usize = 8;

/// How a channel answered last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Pace {
    /// It has not answered yet.
    #[default]
    Untried,
    /// In time.
    Answered,
    /// Late, or not at all.
    Slow,
}

/// Why a request is not made, or given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many requests for channels that upstream answers slowly are under way; try again later")]
pub(crate) struct NoTurn;

impl From<NoTurn> for String {
    fn from(why: NoTurn) -> Self {
        why.to_string()
    }
}

/// The turns of one kind of requests.
#[derive(Debug)]
pub(crate) struct Turns {
    answered: Semaphore,
    untried: Semaphore,
    slow: Semaphore,
    patience: Duration,
    /// How long a turn is waited for; for ever without.
    wait: Option<Duration>,
}

impl Turns {
    pub(crate) fn new(patience: Duration, wait: Option<Duration>) -> Self {
        let [answered, untried, slow] = [ANSWERED, UNTRIED, SLOW].map(Semaphore::new);
        Turns { answered, untried, slow, patience, wait }
    }

    /// How long a turn is waited for; for ever without.
    pub(crate) fn wait(&self) -> Option<Duration> {
        self.wait
    }

    /// Makes a request when it is its turn, and notes how the channel answered. The turn lasts until the answer is read.
    pub(crate) async fn take<T, E: From<NoTurn>>(
        &self,
        pace: &mut Pace,
        request: impl Future<Output = Result<T, E>>,
    ) -> Result<(T, SemaphorePermit<'_>), E> {
        let mut request = pin!(request);
        let turn = wait_for(self.semaphore(*pace), self.wait).await?;
        if let Ok(outcome) = timeout(self.patience, &mut request).await {
            // A failure says nothing about the next answer.
            if outcome.is_ok() {
                *pace = Pace::Answered;
            }
            return outcome.map(|answer| (answer, turn));
        }
        let was_slow = std::mem::replace(pace, Pace::Slow) == Pace::Slow;
        let turn = if was_slow {
            turn
        } else {
            drop(turn);
            self.slow.try_acquire().map_err(|_| NoTurn)?
        };
        Ok((request.await?, turn))
    }

    fn semaphore(&self, pace: Pace) -> &Semaphore {
        match pace {
            Pace::Answered => &self.answered,
            Pace::Untried => &self.untried,
            Pace::Slow => &self.slow,
        }
    }
}

/// Waits for a permit, for so long.
pub(crate) async fn wait_for(permits: &Semaphore, wait: Option<Duration>) -> Result<SemaphorePermit<'_>, NoTurn> {
    let acquired = match wait {
        Some(wait) => timeout(wait, permits.acquire()).await.map_err(|_| NoTurn)?,
        None => permits.acquire().await,
    };
    // They are never closed.
    acquired.map_err(|_| NoTurn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};
    use std::sync::Arc;

    use clearway_testbed::IN_TIME;
    use tokio::task::JoinSet;

    const HOUR: Duration = Duration::from_hours(1);

    /// Requests for channels that are never answered, each in a task.
    fn hang(turns: &Arc<Turns>, pace: Pace, count: usize) -> JoinSet<(Result<(), String>, Pace)> {
        let mut tasks = JoinSet::new();
        for _ in 0..count {
            let (turns, mut pace) = (Arc::clone(turns), pace);
            tasks.spawn(async move { (turns.take(&mut pace, pending()).await.map(|((), _)| ()), pace) });
        }
        tasks
    }

    async fn answered(turns: &Turns, mut pace: Pace) -> (Result<(), String>, Pace) {
        let taken = timeout(IN_TIME, turns.take(&mut pace, ready(Ok(())))).await;
        let outcome = taken.unwrap_or_else(|_| Err("no turn in time".to_owned())).map(|((), _)| ());
        (outcome, pace)
    }

    #[tokio::test]
    async fn forty_channels_that_hang_keep_only_the_slow_ones_waiting() {
        for pace in [Pace::Untried, Pace::Answered] {
            let turns = Arc::new(Turns::new(Duration::ZERO, None));
            let mut tasks = hang(&turns, pace, 40);
            tokio::task::yield_now().await;
            // Behind all of them.
            assert_eq!(answered(&turns, pace).await, (Ok(()), Pace::Answered));
            for _ in SLOW..40 {
                let given_up = tasks.join_next().await.unwrap().unwrap();
                assert_eq!(given_up, (Err(NoTurn.to_string()), Pace::Slow));
            }
            assert_eq!(turns.slow.available_permits(), 0, "the others go on");
            assert_eq!((turns.answered.available_permits(), turns.untried.available_permits()), (ANSWERED, UNTRIED));
            for pace in [Pace::Untried, Pace::Answered] {
                assert_eq!(answered(&turns, pace).await, (Ok(()), Pace::Answered));
            }
            // A slow one has its turn when another has ended, and counts as slow no longer when it answers in time.
            tasks.abort_all();
            assert_eq!(answered(&turns, Pace::Slow).await, (Ok(()), Pace::Answered));
        }
    }

    #[tokio::test]
    async fn a_turn_is_not_waited_for_without_end() {
        let turns = Arc::new(Turns::new(HOUR, Some(Duration::ZERO)));
        let _untried = hang(&turns, Pace::Untried, UNTRIED);
        let _slow = hang(&turns, Pace::Slow, SLOW);
        tokio::task::yield_now().await;
        for pace in [Pace::Untried, Pace::Slow] {
            assert_eq!(answered(&turns, pace).await, (Err(NoTurn.to_string()), pace));
        }
        assert_eq!(answered(&turns, Pace::Answered).await, (Ok(()), Pace::Answered));
    }

    #[tokio::test]
    async fn a_failure_in_time_does_not_make_a_channel_slow() {
        let turns = Turns::new(HOUR, None);
        for pace in [Pace::Untried, Pace::Answered, Pace::Slow] {
            let mut after = pace;
            let failed: Result<((), _), String> = turns.take(&mut after, ready(Err("refused".to_owned()))).await;
            assert_eq!((failed.unwrap_err(), after), ("refused".to_owned(), pace));
        }
    }
}
