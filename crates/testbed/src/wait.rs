//! Waiting for something to become true, with a deadline.

use std::time::Duration;

use crate::error::{Error, Result};

/// How long a test waits for what has to happen. Nothing takes so long on any machine, however busy: what does not come
/// within it does not come at all.
pub const IN_TIME: Duration = Duration::from_mins(5);

/// The rest between the first two looks at a condition, and the longest one. It grows: who waits for seconds takes the
/// processor from what is waited for with every look, and many tests wait at one time.
const RESTS: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(200)];

/// Waits until `condition` is true, and looks at it several times a second. A condition that itself takes too long, a
/// request that hangs for example, is given up at the deadline as well.
///
/// `what` completes the sentence "waited in vain until ...".
pub async fn wait_until<F>(deadline: Duration, what: &str, mut condition: F) -> Result<()>
where
    F: AsyncFnMut() -> bool,
{
    let come_true = async {
        let [mut rest, longest] = RESTS;
        while !condition().await {
            tokio::time::sleep(rest).await;
            rest = longest.min(rest * 3 / 2);
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
