//! The order, what is left alone, what is waited for, and what happens when something does not work.

use std::time::Duration;

use clearway_core::ObjectId;
use clearway_sources::store::{Apply, Store, StoreError};
use clearway_update::owner::OWNER;
use clearway_update::rollout::Rollout;
use serde_json::{Value, json};

use crate::world::{
    OURS, World, annotated, config, custom, definition, deployment, key, namespace, release, request, settings, start,
    task, update,
};

const OTHERS: Apply<'_> = Apply { manager: "somebody", force: true, dry_run: false };

fn shop() -> Vec<(&'static str, Value)> {
    vec![
        ("0000_10_base_00-namespace", namespace("shop")),
        ("0000_30_shop_01-config", config("shop", "settings", "1")),
        ("0000_30_shop_02-web", deployment("shop", "web", "example.com/web:1")),
        ("0000_30_cache_01-config", config("shop", "cache", "1")),
        ("0000_50_things_01-thing", custom("example.com", "Thing", "shop", "one", 1)),
        ("0000_90_things_00-definition", definition("example.com", "Thing", &["v1"])),
        ("0000_60_last_01-config", config("shop", "last", "1")),
    ]
}

fn place(log: &[String], entry: &str) -> usize {
    log.iter().position(|one| one == entry).unwrap_or_else(|| panic!("{entry} is not in {log:?}"))
}

#[tokio::test(start_paused = true)]
async fn stages_go_one_after_the_other_and_each_is_healthy_before_the_next() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    let task = task(request(&release(root.path(), "1.0.0", &shop()), "1.0.0"));
    let said = update(&world, &settings(), &task).await;
    let log = world.log();
    for (one, other) in [
        ("apply Namespace shop", "apply ConfigMap shop/settings"),
        ("apply ConfigMap shop/settings", "apply Deployment shop/web"),
        ("apply Deployment shop/web", "apply CustomResourceDefinition things.example.com"),
        ("apply CustomResourceDefinition things.example.com", "apply Thing shop/one"),
        ("apply Thing shop/one", "apply ConfigMap shop/last"),
    ] {
        assert!(place(&log, one) < place(&log, other), "{one} before {other}: {log:?}");
    }
    assert_eq!(log.len(), 7, "each object once: {log:?}");
    let done: Vec<usize> = said
        .iter()
        .filter_map(|rollout| if let Rollout::Applying { progress, .. } = rollout { Some(progress.done) } else { None })
        .collect();
    assert!(done.is_sorted() && done.last() == Some(&7), "{done:?}");
    let Some(Rollout::Done { prepared, .. }) = said.last() else { panic!("{said:?}") };
    assert_eq!((prepared.version.as_str(), prepared.objects, prepared.verified), ("1.0.0", 7, false));
    for object in shop().iter().map(|(_, object)| object) {
        let live = world.state.get(&key(object)).await.unwrap().unwrap();
        assert_eq!(live["metadata"]["labels"][OWNER], OURS, "{live}");
    }

    // The same again writes nothing: what is there is what is wanted.
    let before = world.state.get(&key(&shop()[2].1)).await.unwrap();
    update(&world, &settings(), &task).await;
    assert_eq!(world.state.get(&key(&shop()[2].1)).await.unwrap(), before);
}

#[tokio::test(start_paused = true)]
async fn what_others_said_and_what_is_not_to_be_touched_stays() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    let theirs = config("shop", "mine", "edited by hand");
    let scaled = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "annotations": {"team": "blue"}}});
    for object in [&theirs, &config("shop", "unmanaged", "as it was"), &scaled, &config("shop", "old", "1")] {
        world.state.apply(object, &OTHERS).await.unwrap();
    }
    let create_only =
        |value: &str| annotated(config("shop", "mine", value), "release.openshift.io/create-only", "true");
    let manifests = [
        ("0000_30_a_01", create_only("1")),
        ("0000_30_a_02", annotated(config("shop", "fresh", "1"), "release.openshift.io/create-only", "true")),
        ("0000_30_a_03", config("shop", "unmanaged", "1")),
        ("0000_30_a_04", deployment("shop", "web", "example.com/web:1")),
        ("0000_30_a_05", annotated(config("shop", "old", "1"), "release.openshift.io/delete", "true")),
        ("0000_30_a_06", annotated(config("shop", "never-was", "1"), "release.openshift.io/delete", "true")),
    ];
    let mut task = task(request(&release(root.path(), "1.0.0", &manifests), "1.0.0"));
    task.unmanaged.insert(ObjectId {
        kind: "ConfigMap".to_owned(),
        namespace: "shop".to_owned(),
        name: "unmanaged".to_owned(),
        ..ObjectId::default()
    });
    let said = update(&world, &settings(), &task).await;
    let Some(Rollout::Done { prepared, .. }) = said.last() else { panic!("{said:?}") };
    assert_eq!(prepared.objects, 5);
    let everything = world.everything().await;
    assert_eq!(everything["ConfigMap shop/mine"], "edited by hand");
    assert_eq!(everything["ConfigMap shop/fresh"], "1");
    assert_eq!(everything["ConfigMap shop/unmanaged"], "as it was");
    assert!(!everything.contains_key("ConfigMap shop/old"));
    let web = world.state.get(&key(&scaled)).await.unwrap().unwrap();
    assert_eq!(web["metadata"]["annotations"]["team"], "blue");
    let mine = world.state.get(&key(&theirs)).await.unwrap().unwrap();
    assert_eq!(mine["metadata"]["labels"], Value::Null, "what is left alone is not claimed either");
}

#[tokio::test(start_paused = true)]
async fn an_object_of_another_owner_is_never_taken_over() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    let mut theirs = config("shop", "settings", "theirs");
    theirs["metadata"]["labels"][OWNER] = "ComponentVersion.other".into();
    world.state.apply(&theirs, &OTHERS).await.unwrap();
    let task = task(request(&release(root.path(), "1.0.0", &shop()), "1.0.0"));
    let mut update = start(&world, &settings(), &task);
    let progress = update.progress("a failure", |progress| !progress.failures.is_empty()).await;
    assert_eq!(progress.failures[0].reason, "OwnedByAnother");
    assert!(
        progress.failures[0].message.starts_with("ConfigMap shop/settings belongs to ComponentVersion.other"),
        "{progress:?}"
    );
    let progress = update.progress("the sibling", |progress| progress.done == 2).await;
    assert_eq!(progress.total, 7);
    let log = world.log();
    assert!(log.contains(&"apply ConfigMap shop/cache".to_owned()), "a sibling goes on: {log:?}");
    assert!(
        !log.iter().any(|entry| entry.contains("web") || entry.contains("Thing")),
        "what depends on it waits: {log:?}"
    );
    assert_eq!(world.everything().await["ConfigMap shop/settings"], "theirs");

    // A change of mind: the other one lets go.
    theirs["metadata"]["labels"] = json!({});
    world.state.apply(&theirs, &OTHERS).await.unwrap();
    update.done().await;
    assert_eq!(world.everything().await["ConfigMap shop/settings"], "1");
}

#[tokio::test(start_paused = true)]
async fn what_does_not_become_healthy_is_waited_for_and_named() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    world.change(|inner| inner.sick.extend(["Deployment shop/web".to_owned()]));
    let task = task(request(&release(root.path(), "1.0.0", &shop()), "1.0.0"));
    let (settings, begun) = (settings(), tokio::time::Instant::now());
    let mut update = start(&world, &settings, &task);
    let progress = update.progress("what it waits for", |progress| progress.done == 3).await;
    assert_eq!(progress.waiting_on, ["Deployment.apps shop/web"]);
    assert_eq!(progress.failures, []);
    let progress = update.progress("a failure", |progress| !progress.failures.is_empty()).await;
    assert_eq!(progress.failures[0].reason, "TakesTooLong");
    assert!(
        progress.failures[0].message.starts_with("Deployment.apps shop/web is not healthy after more than 10m"),
        "{progress:?}"
    );
    let waited = begun.elapsed();
    assert!((Duration::from_mins(10)..Duration::from_mins(11)).contains(&waited), "{waited:?}");
    assert!(!world.log().iter().any(|entry| entry.contains("Thing")), "nothing of a later stage");
    world.change(|inner| inner.sick.clear());
    update.done().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_server_refuses_is_said_in_its_words_and_tried_again() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    let why =
        "the API server refuses configmaps shop/cache: admission webhook \"policy\" denied the request".to_owned();
    world.change(|inner| {
        inner.refusals.insert("ConfigMap shop/cache".to_owned(), StoreError::Refused { why: why.clone() });
    });
    let task = task(request(&release(root.path(), "1.0.0", &shop()), "1.0.0"));
    let mut update = start(&world, &settings(), &task);
    let progress = update.progress("a failure", |progress| progress.done == 3 && !progress.failures.is_empty()).await;
    assert_eq!(progress.failures.len(), 1);
    assert_eq!(progress.failures[0].reason, "Refused");
    assert_eq!(progress.failures[0].message, format!("ConfigMap shop/cache (0000_30_cache_01-config.yaml): {why}"));
    tokio::time::sleep(Duration::from_mins(30)).await;
    let tries = world.log().iter().filter(|entry| *entry == "apply ConfigMap shop/cache").count();
    assert!((20..40).contains(&tries), "once a minute, not more: {tries}");
    assert!(!world.log().iter().any(|entry| entry.starts_with("delete") || entry.contains("Thing")));
    world.change(|inner| inner.refusals.clear());
    update.done().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_is_a_failure_only_when_it_stays_away() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    world.change(|inner| inner.sick.extend(["Deployment shop/web".to_owned()]));
    let task = task(request(&release(root.path(), "1.0.0", &shop()), "1.0.0"));
    let mut update = start(&world, &settings(), &task);
    update.progress("the second stage", |progress| progress.done == 3).await;
    world.change(|inner| inner.away = true);
    tokio::time::sleep(Duration::from_secs(9)).await;
    let quiet = update.progress("anything", |_| true).await;
    assert_eq!(quiet.failures, []);
    let progress = update.progress("a failure", |progress| !progress.failures.is_empty()).await;
    assert_eq!(progress.failures[0].reason, "Unreachable");
    assert_eq!(progress.done, 3, "what was done is not undone");
    world.change(|inner| (inner.away, inner.sick) = (false, std::collections::BTreeSet::new()));
    update.done().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_deleted_while_it_is_waited_for_is_applied_again() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    world.change(|inner| inner.sick.extend(["Deployment shop/web".to_owned()]));
    let task = task(request(&release(root.path(), "1.0.0", &shop()), "1.0.0"));
    let mut update = start(&world, &settings(), &task);
    update.progress("the second stage", |progress| progress.done == 3).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.state.delete(&key(&shop()[2].1), "").await.unwrap();
    world.change(|inner| inner.sick.clear());
    update.done().await;
    let applied = world.log().iter().filter(|entry| *entry == "apply Deployment shop/web").count();
    assert_eq!(applied, 2);
}
