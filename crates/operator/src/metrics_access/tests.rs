//! What is asked of the API server, and how often, with a clock that is set.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

thread_local! {
    static NOW: Cell<i64> = const { Cell::new(1_800_000_000) };
}

fn clock() -> Timestamp {
    Timestamp::from_seconds(NOW.get()).unwrap()
}

fn pass(seconds: i64) {
    NOW.set(NOW.get() + seconds);
}

/// Tokens that begin with `good` are allowed, those with `known` are of a user without the right.
#[derive(Default)]
struct Reviewer {
    asked: AtomicUsize,
    away: std::sync::atomic::AtomicBool,
}

impl TokenReviewer for &'static Reviewer {
    async fn review(&self, token: &str) -> Access {
        self.asked.fetch_add(1, Ordering::Relaxed);
        match token {
            _ if self.away.load(Ordering::Relaxed) => Access::Unknown("away".to_owned()),
            token if token.starts_with("good") => Access::Allowed,
            token if token.starts_with("known") => Access::Forbidden,
            _ => Access::Unauthenticated,
        }
    }
}

fn access() -> (&'static Reviewer, MetricsAccess<&'static Reviewer>) {
    let reviewer: &'static Reviewer = Box::leak(Box::default());
    (reviewer, MetricsAccess::new(reviewer, clock))
}

impl Reviewer {
    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn an_answer_is_used_for_a_minute_and_then_asked_for_again() {
    let (reviewer, access) = access();
    for (token, expected) in
        [("good", Access::Allowed), ("known", Access::Forbidden), ("other", Access::Unauthenticated)]
    {
        let before = reviewer.asked();
        assert_eq!(access.check(Some(token)).await, expected);
        pass(59);
        assert_eq!(access.check(Some(token)).await, expected);
        assert_eq!(reviewer.asked(), before + 1, "{token}");
        pass(1);
        assert_eq!(access.check(Some(token)).await, expected);
        assert_eq!(reviewer.asked(), before + 2, "{token}");
    }
}

#[tokio::test]
async fn what_is_no_token_is_not_asked_about() {
    let (reviewer, access) = access();
    let long = "good".repeat(TOKEN_BYTES);
    for token in [None, Some(""), Some(long.as_str())] {
        assert_eq!(access.check(token).await, Access::Unauthenticated);
    }
    assert_eq!(reviewer.asked(), 0);
}

#[tokio::test]
async fn strangers_are_bounded_and_do_not_lock_out_who_was_allowed() {
    let (reviewer, access) = access();
    assert_eq!(access.check(Some("good")).await, Access::Allowed);
    pass(60);
    for number in 0..1000 {
        let expected = if number < MOST_STRANGERS { Access::Unauthenticated } else { Access::TooMany };
        assert_eq!(access.check(Some(&format!("stranger-{number}"))).await, expected);
    }
    assert_eq!(reviewer.asked(), 1 + MOST_STRANGERS);
    assert_eq!(access.check(Some("good")).await, Access::Allowed, "its answer has run out, and it is asked about");
    assert_eq!(access.check(Some("good-too")).await, Access::TooMany, "it was never seen");
    pass(60);
    assert_eq!(access.check(Some("good-too")).await, Access::Allowed);
    assert!(access.memory().answers.len() <= MOST_ANSWERS);
}

#[tokio::test]
async fn an_api_server_that_is_away_gives_no_access_and_is_asked_again() {
    let (reviewer, access) = access();
    reviewer.away.store(true, Ordering::Relaxed);
    assert_eq!(access.check(Some("good")).await, Access::Unknown("away".to_owned()));
    reviewer.away.store(false, Ordering::Relaxed);
    assert_eq!(access.check(Some("good")).await, Access::Allowed);
}

#[tokio::test]
async fn a_clock_that_goes_back_does_not_make_an_answer_last() {
    let (reviewer, access) = access();
    assert_eq!(access.check(Some("good")).await, Access::Allowed);
    pass(-3600);
    assert_eq!(access.check(Some("good")).await, Access::Allowed);
    assert_eq!(reviewer.asked(), 2);
}
