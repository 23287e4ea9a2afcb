//! Waiting for something to become true, with a deadline.

use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::error::{Error, Result};

/// How long a test waits for what has to happen. Nothing takes so long on any machine, however busy: what does not come
/// within it does not come at all.
pub const IN_TIME: Duration = Duration::from_mins(5);

/// How often a condition is looked at.
const INTERVAL: Duration = Duration::from_millis(25);

/// Waits until `condition` is true, and looks at it every few milliseconds. A condition that itself takes too long, a
/// request that hangs for example, is given up at the deadline as well.
///
/// `what` completes the sentence "waited in vain until ...".
pub async fn wait_until<F>(deadline: Duration, what: &str, mut condition: F) -> Result<()>
where
    F: AsyncFnMut() -> bool,
{
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let come_true = async {
        loop {
            ticks.tick().await;
            if condition().await {
                return;
            }
        }
    };
    tokio::time::timeout(deadline, come_true)
        .await
        .map_err(|_| Error::Deadline { what: what.to_owned(), after: deadline })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_condition_is_looked_at_until_it_is_true() {
        let mut looked = 0;
        wait_until(IN_TIME, "it was looked at three times", async || {
            looked += 1;
            looked == 3
        })
        .await
        .unwrap();
        assert_eq!(looked, 3);
    }

    #[tokio::test]
    async fn a_hanging_condition_ends_at_the_deadline() {
        let error =
            wait_until(Duration::from_millis(50), "pigs fly", async || std::future::pending().await).await.unwrap_err();
        assert_eq!(error.to_string(), "waited 50ms in vain until pigs fly");
    }
}
