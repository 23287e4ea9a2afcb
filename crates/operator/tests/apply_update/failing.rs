//! Failures that last: reported once, over crashes, outages and restarts, and until the object has recovered.

use std::path::Path;
use std::time::Duration;

use clearway_operator::apply_update::{Settings, Worker};
use clearway_sources::store::{Apply, Store as _};
use clearway_update::owner::OWNER;
use clearway_update::rollout::{Failure, Progress, Rollout};
use serde_json::Value;

use crate::world::{OURS, World, config, deployment, namespace, release, request, settings, start, task, update};

const WEB: &str = "Deployment shop/web";

fn shop() -> Vec<(&'static str, Value)> {
    vec![
        ("0000_10_base_00-namespace", namespace("shop")),
        ("0000_30_shop_02-web", deployment("shop", "web", "example.com/web:1")),
        ("0000_60_last_01-config", config("shop", "last", "1")),
    ]
}

fn failures(rollout: &Rollout) -> Option<&Progress> {
    if let Rollout::Applying { progress, .. } = rollout { Some(progress) } else { None }
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_crashes_for_half_an_hour_is_one_report() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    world.change(|inner| inner.crashing.extend([WEB.to_owned()]));
    let task = task(request(&release(root.path(), "1.0.0", &shop()), "1.0.0"));
    let mut update = start(&world, &settings(), &task);
    let progress = update.progress("a failure", |progress| !progress.failures.is_empty()).await;
    assert_eq!((progress.failures[0].reason.as_str(), progress.failed), ("ProgressDeadlineExceeded", 1));
    assert_eq!(update.reports_within(Duration::from_mins(10)).await, 0);
    // An API server that is away for a moment is no news about the workload.
    for _ in 0..5 {
        world.change(|inner| inner.away = true);
        assert_eq!(update.reports_within(Duration::from_secs(20)).await, 0);
        world.change(|inner| inner.away = false);
        assert_eq!(update.reports_within(Duration::from_mins(4)).await, 0);
    }
    assert!(!world.log().iter().any(|entry| entry.ends_with("shop/last")), "ready for a moment is not healthy");
    world.change(|inner| inner.crashing.clear());
    let healed = tokio::time::Instant::now();
    update.done().await;
    assert!((Duration::from_secs(90)..Duration::from_mins(4)).contains(&healed.elapsed()), "{:?}", healed.elapsed());
}

/// What fails in passing between two refusals does not end the failure.
#[tokio::test(start_paused = true)]
async fn a_refusal_stands_while_the_server_is_away() {
    use clearway_sources::store::StoreError;
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    let refuse = |number: u32| StoreError::Refused { why: format!("denied, attempt {number}") };
    world.change(|inner| drop(inner.refusals.insert(WEB.to_owned(), refuse(0))));
    let task = task(request(&release(root.path(), "1.0.0", &shop()), "1.0.0"));
    let mut update = start(&world, &settings(), &task);
    let progress = update.progress("a failure", |progress| !progress.failures.is_empty()).await;
    assert_eq!(progress.failures[0].reason, "Refused");
    for number in 1..20 {
        world.change(|inner| {
            inner.away = number % 2 == 1;
            inner.refusals.insert(WEB.to_owned(), refuse(number));
        });
        assert_eq!(update.reports_within(Duration::from_mins(3)).await, 0);
    }
    world.change(|inner| (inner.away, inner.refusals) = (false, std::collections::BTreeMap::new()));
    update.done().await;
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_process_reported_is_reported_until_it_is_over() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    let mut task = task(request(&release(root.path(), "1.0.0", &shop()), "1.0.0"));
    let carried = Failure { reason: "PodsFailed".into(), message: "Deployment.apps shop/web: 1 pod has failed".into() };
    let gone = Failure { reason: "PodsFailed".into(), message: "Deployment.apps shop/gone: 1 pod has failed".into() };
    (task.begun, task.carried) = (true, vec![carried.clone(), gone]);
    let begun = tokio::time::Instant::now();
    let said = update(&world, &settings(), &task).await;
    assert!(begun.elapsed() >= Duration::from_mins(2), "it is given time to fail again");
    let progress: Vec<&Progress> = said.iter().filter_map(failures).collect();
    for one in &progress {
        let want = if one.done < 2 { vec![carried.clone()] } else { Vec::new() };
        assert_eq!(one.failures, want, "from the first report, also of an earlier stage: {progress:?}");
    }
}

/// Prepares and hands over a release, and gives the last report after some time.
async fn handed_over(world: &World, settings: Settings, path: &Path, time: Duration) -> (Rollout, usize) {
    let (mut worker, mut heard) = Worker::new(world.clone(), settings);
    let task = task(request(path, "1.0.0"));
    worker.prepare(task.clone());
    let accepted = heard.wait_for(|rollout| matches!(rollout, Rollout::Accepted { .. })).await.unwrap().clone();
    let Rollout::Accepted { prepared, .. } = accepted else { unreachable!() };
    worker.apply(task, prepared);
    let end = tokio::time::Instant::now() + time;
    let (mut last, mut changes) = (Vec::new(), 0);
    let away = world.clone();
    // The API server is away for a moment, again and again; that is no failure of the release.
    let outages = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_mins(1)).await;
            away.change(|inner| inner.away = true);
            tokio::time::sleep(Duration::from_secs(5)).await;
            away.change(|inner| inner.away = false);
        }
    });
    while tokio::time::timeout_at(end, heard.changed()).await.is_ok() {
        let now = failures(&heard.borrow_and_update()).map(|progress| progress.failures.clone()).unwrap_or_default();
        changes += usize::from(now != last);
        last = now;
    }
    outages.abort();
    world.change(|inner| inner.away = false);
    let rollout = heard.borrow().clone();
    (rollout, changes)
}

#[tokio::test(start_paused = true)]
async fn a_release_that_something_else_applies_fails_and_is_late_as_any() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    let path = release(root.path(), "1.0.0", &shop());
    let settings = Settings { render: Some(root.path().join("out")), ..settings() };
    let others = Apply { manager: "gitops", force: true, dry_run: false };
    let apply = async |object: &Value| {
        let mut object = object.clone();
        object["metadata"]["labels"][OWNER] = OURS.into();
        world.state.apply(&object, &others).await.unwrap();
    };
    // The last object is applied by nobody.
    for (_, object) in &shop()[..2] {
        apply(object).await;
    }
    world.change(|inner| inner.crashing.extend([WEB.to_owned()]));
    let (rollout, changes) = handed_over(&world, settings.clone(), &path, Duration::from_mins(30)).await;
    let progress = failures(&rollout).unwrap();
    let reasons: Vec<&str> = progress.failures.iter().map(|failure| failure.reason.as_str()).collect();
    assert_eq!(reasons, ["ProgressDeadlineExceeded", "TakesTooLong"]);
    assert_eq!(changes, 2, "each is reported once");
    world.change(|inner| inner.crashing.clear());
    apply(&shop()[2].1).await;
    let (rollout, _) = handed_over(&world, settings, &path, Duration::from_mins(5)).await;
    assert!(matches!(rollout, Rollout::Done { .. }), "{rollout:?}");
}
