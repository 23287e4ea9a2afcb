//! Any bytes as objects through the health rules, the tree of owners and a wait: nothing panics, the wait ends.
#![no_main]

use std::time::Duration;

use clearway_conditions::Object;
use clearway_conditions::health::wait::{Clocks, Decision, Observation, Wait};
use clearway_conditions::health::{Context, OwnedObject, forest, health, progress_token};
use clearway_core::{Limits, Timestamp};
use clearway_yaml::{ReadEvent, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { file_bytes: 1 << 16, document_bytes: 1 << 13, depth: 64, nodes: 4_000, ..Limits::default() };
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
    let context = Context::at(now);
    let (mut owned, mut seen) = (Vec::new(), Vec::new());
    read(bytes, "fuzz", &limits, |found| {
        if let ReadEvent::Object { root, source, list } = found
            && let Ok(object) = Object::new(root, source, list)
        {
            let verdict = health(&object, &context);
            owned.push(OwnedObject::new(&object, verdict.state));
            let progress_token = progress_token(&object);
            seen.push((object.id(), Observation::Verdict { verdict, progress_token }));
        }
    });
    let count = owned.len();
    let mut visited = 0;
    for tree in forest(owned) {
        tree.walk(&mut |_, _| visited += 1);
    }
    assert_eq!(visited, count, "every object stands somewhere");

    let clocks = Clocks {
        per_object: Some(Duration::from_secs(60)),
        no_progress: Some(Duration::from_secs(90)),
        ..Clocks::default()
    };
    let mut wait = Wait::new(seen.iter().map(|(id, _)| id.clone()), clocks, now);
    seen.into_iter().for_each(|(id, observation)| wait.observe(&id, observation, now));
    let mut at = now;
    for _ in 0..1_000 {
        _ = wait.progress(at).headline();
        match wait.step(at) {
            Decision::Wait { until } => {
                assert!(until > at, "a wait that does not move on");
                at = until;
            }
            Decision::Done(outcome) => {
                _ = (outcome.exit_code(), outcome.report());
                return;
            }
        }
    }
    panic!("the wait does not end");
});
