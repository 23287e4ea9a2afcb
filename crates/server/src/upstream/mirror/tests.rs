//! Large answers of channels that hang, beside those that come.

use std::future::{pending, ready};

use clearway_core::Address;
use clearway_sources::http::HttpOptions;
use clearway_testbed::IN_TIME;

use super::*;

fn mirror(patience: Duration) -> Mirror {
    let options = MirrorOptions {
        upstream: service::Service::new(&Address::from("http://localhost:1"), &HttpOptions::default()).unwrap(),
        configured: Vec::new(),
        fresh: Duration::ZERO,
        kept: None,
        limits: GraphLimits::default(),
        patience,
    };
    Mirror::new(options, Metrics::new(), || Timestamp::EPOCH, Handle::current())
}

/// Asks for a large answer that never comes.
fn hang(mirror: &Mirror, pace: Pace) {
    let shared = Arc::clone(&mirror.shared);
    tokio::spawn(async move { shared.ask_for_large(pending::<()>, pace, None).await.map(drop) });
}

#[tokio::test]
async fn a_large_answer_that_hangs_does_not_delay_those_of_channels_that_answer() {
    for pace in [Pace::Untried, Pace::Slow, Pace::Answered] {
        // One that answered before is given up at once, and asked again among the slow ones.
        let mirror = mirror(Duration::ZERO);
        for _ in 0..40 {
            hang(&mirror, pace);
        }
        tokio::task::yield_now().await;
        let answer = timeout(IN_TIME, mirror.shared.ask_for_large(|| ready("here"), Pace::Answered, None)).await;
        assert!(answer.is_ok_and(|answer| answer.is_ok()), "{pace:?}");
    }
    // A slow one waits for its turn, and not without end.
    let mirror = mirror(Duration::from_hours(1));
    hang(&mirror, Pace::Slow);
    tokio::task::yield_now().await;
    let refused = mirror.shared.ask_for_large(|| ready(()), Pace::Slow, Some(Duration::ZERO)).await;
    assert_eq!(refused.err(), Some(NoTurn));
}

#[tokio::test]
async fn only_so_many_channels_without_an_answer_are_waited_for() {
    let mirror = mirror(Duration::from_hours(1));
    let _all = mirror.shared.waited_for.acquire_many(u32::try_from(WAITED_FOR).unwrap()).await.unwrap();
    assert_eq!(mirror.answer("one-more", "amd64").await.err(), Some(NoTurn.to_string()));
}
