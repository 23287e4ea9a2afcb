//! What is left of checks whose callers have gone, and who gets a child before them.

use std::path::PathBuf;

use futures::FutureExt as _;
use serde_json::json;

use super::*;

/// Children that start, read whatever they are sent, and never answer.
async fn silent_children(processes: usize) -> Evaluators {
    let ready = r#"printf '\000\000\000\007"ready"'; exec /bin/cat > /dev/null"#;
    let settings = EvaluatorSettings {
        program: PathBuf::from("/bin/sh"),
        arguments: vec!["-c".to_owned(), ready.to_owned()],
        processes,
        memory: 1 << 20,
        // A silent child is not ended while a test runs.
        time_limit: Duration::from_hours(1),
        steps: 1,
        reject_unknown_actions: false,
    };
    Evaluators::start(settings).await.unwrap()
}

fn template() -> Change {
    Change::PutTemplate(Arc::new(json!({"metadata": {"name": "large"}, "spec": "x".repeat(1 << 20)})))
}

fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

#[tokio::test]
async fn checks_whose_callers_have_gone_leave_nothing_behind() {
    let evaluators = silent_children(2).await;
    let before = tasks();
    for number in 0..300 {
        let error = evaluators.check(template(), Instant::now()).await.unwrap_err();
        let why =
            if number == 0 { "loading it took too long" } else { "other templates and constraints were being checked" };
        assert_eq!(error, EvaluatorError::Deadline(why));
    }
    // The one that a child has begun.
    assert_eq!(tasks() - before, 1);
    assert!(evaluators.lease().now_or_never().is_some(), "a review has a child at once");
}

#[tokio::test]
async fn a_check_that_waits_for_a_child_ends_at_its_deadline() {
    let evaluators = silent_children(1).await;
    let before = tasks();
    let review = evaluators.lease().await;
    for _ in 0..10 {
        let error = evaluators.check(template(), Instant::now()).await.unwrap_err();
        assert_eq!(error, EvaluatorError::Deadline("all evaluators were busy"));
    }
    assert_eq!(tasks(), before);
    drop(review);
    assert!(evaluators.lease().now_or_never().is_some());
}

#[tokio::test]
async fn reviews_have_a_child_before_checks() {
    let evaluators = silent_children(1).await;
    let first = evaluators.lease().await;
    let mut check = Box::pin(evaluators.lease_after_reviews());
    assert!((&mut check).now_or_never().is_none());
    let mut review = Box::pin(evaluators.lease());
    assert!((&mut review).now_or_never().is_none());
    drop(first);
    assert!((&mut check).now_or_never().is_none(), "the review came later, and is first");
    let second = review.now_or_never().unwrap();
    drop(second);
    assert!(check.now_or_never().is_some());
}
