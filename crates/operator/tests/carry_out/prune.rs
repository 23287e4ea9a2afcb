//! What goes, what stays, and in which order.

use std::time::Duration;

use clearway_sources::store::{Apply, Part, Store, StoreError};
use clearway_update::owner::OWNER;
use clearway_update::rollout::Rollout;
use serde_json::{Value, json};

use crate::world::{
    World, config, custom, definition, deployment, key, namespace, release, request, settings, start, task, update,
};

const OTHERS: Apply<'_> = Apply { manager: "somebody", force: true, dry_run: false };

fn first() -> Vec<(&'static str, Value)> {
    vec![
        ("0000_10_base_00-shop", namespace("shop")),
        ("0000_10_base_01-gone", namespace("gone")),
        ("0000_10_base_02-thing", definition("example.com", "Thing", &["v1"])),
        ("0000_10_base_03-box", definition("example.com", "Box", &["v1"])),
        ("0000_30_a_01", config("shop", "stays", "1")),
        ("0000_30_a_02", config("shop", "goes", "1")),
        ("0000_30_a_03", config("gone", "inside", "1")),
        ("0000_30_a_04", custom("example.com", "Thing", "shop", "ours", 1)),
        ("0000_30_a_05", deployment("shop", "old", "example.com/old:1")),
    ]
}

fn second() -> Vec<(&'static str, Value)> {
    vec![("0000_10_base_00-shop", namespace("shop")), ("0000_30_a_01", config("shop", "stays", "2"))]
}

fn deleted(log: &[String]) -> Vec<&str> {
    log.iter().filter_map(|entry| entry.strip_prefix("delete ")).collect()
}

#[tokio::test(start_paused = true)]
async fn what_the_new_release_no_longer_has_goes_definitions_and_namespaces_last() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    update(&world, &settings(), &task(request(&release(root.path(), "1.0.0", &first()), "1.0.0"))).await;
    let mut other = config("shop", "other", "theirs");
    other["metadata"]["labels"][OWNER] = "ComponentVersion.other".into();
    for object in [&other, &config("shop", "unlabelled", "theirs")] {
        world.state.apply(object, &OTHERS).await.unwrap();
    }
    let said = update(&world, &settings(), &task(request(&release(root.path(), "2.0.0", &second()), "2.0.0"))).await;
    assert!(matches!(said.last(), Some(Rollout::Done { .. })));
    let log = world.log();
    let gone = deleted(&log);
    let first_of = |kind: &str| gone.iter().position(|entry| entry.starts_with(kind)).unwrap();
    assert_eq!(gone.len(), 7, "{gone:?}");
    assert!(gone[..4].iter().all(|entry| !entry.starts_with("Custom") && !entry.starts_with("Namespace")), "{gone:?}");
    assert!(first_of("CustomResourceDefinition") < first_of("Namespace"));
    let left: Vec<String> = world.everything().await.into_keys().collect();
    assert_eq!(left, ["ConfigMap shop/other", "ConfigMap shop/stays", "ConfigMap shop/unlabelled", "Namespace shop"]);
}

#[tokio::test(start_paused = true)]
async fn what_holds_somebody_elses_things_is_kept_and_told() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    update(&world, &settings(), &task(request(&release(root.path(), "1.0.0", &first()), "1.0.0"))).await;
    for object in [&custom("example.com", "Thing", "shop", "theirs", 1), &config("gone", "theirs", "1")] {
        world.state.apply(object, &OTHERS).await.unwrap();
    }
    world.change(|inner| inner.events.clear());
    let second = task(request(&release(root.path(), "2.0.0", &second()), "2.0.0"));
    update(&world, &settings(), &second).await;
    let left: Vec<String> = world.everything().await.into_keys().collect();
    assert_eq!(
        left,
        [
            "ConfigMap gone/theirs",
            "ConfigMap shop/stays",
            "CustomResourceDefinition things.example.com",
            "Namespace gone",
            "Namespace shop",
            "Thing shop/theirs",
        ]
    );
    let told: Vec<String> = {
        let inner = world.inner.lock().unwrap();
        inner.events.iter().filter(|event| event.reason == "NotPruned").map(|event| event.message.clone()).collect()
    };
    assert_eq!(
        told,
        [
            "Namespace gone is no longer in 2.0.0, but is kept: it still contains objects that are not of this release (ConfigMap gone/theirs)",
            "CustomResourceDefinition.apiextensions.k8s.io things.example.com is no longer in 2.0.0, but is kept: objects of its kind still exist (Thing.example.com shop/theirs)",
        ]
    );

    // Once they are empty, the next run takes them along.
    for object in [custom("example.com", "Thing", "shop", "theirs", 1), config("gone", "theirs", "1")] {
        world.state.delete(&key(&object), "").await.unwrap();
    }
    update(&world, &settings(), &second).await;
    let left: Vec<String> = world.everything().await.into_keys().collect();
    assert_eq!(left, ["ConfigMap shop/stays", "Namespace shop"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_pruned_before_the_release_is_there() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    update(&world, &settings(), &task(request(&release(root.path(), "1.0.0", &first()), "1.0.0"))).await;
    let why = StoreError::Refused { why: "no".to_owned() };
    world.change(|inner| drop(inner.refusals.insert("ConfigMap shop/stays".to_owned(), why)));
    let second = task(request(&release(root.path(), "2.0.0", &second()), "2.0.0"));
    let mut update = start(&world, &settings(), &second);
    update.progress("a failure", |progress| !progress.failures.is_empty()).await;
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(deleted(&world.log()), Vec::<&str>::new());
}

#[tokio::test(start_paused = true)]
async fn what_does_not_go_is_waited_for_and_named() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    update(&world, &settings(), &task(request(&release(root.path(), "1.0.0", &first()), "1.0.0"))).await;
    // Held by a finalizer: deletion began and does not end.
    let held = key(&config("shop", "goes", "1"));
    let deletion =
        json!({"metadata": {"deletionTimestamp": "2026-05-04T09:00:00Z", "finalizers": ["example.com/hold"]}});
    world.state.patch(&held, Part::Main, &deletion).await.unwrap();
    let second = task(request(&release(root.path(), "2.0.0", &second()), "2.0.0"));
    let mut update = start(&world, &settings(), &second);
    let progress = update.progress("a failure", |progress| !progress.failures.is_empty()).await;
    assert_eq!((progress.done, progress.total), (2, 2));
    assert_eq!(progress.waiting_on, ["the deletion of ConfigMap shop/goes"]);
    assert_eq!(progress.failures[0].reason, "TakesTooLong");
    world.state.delete(&held, "").await.unwrap();
    update.done().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_cannot_be_looked_through_holds_pruning_up_by_name() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    update(&world, &settings(), &task(request(&release(root.path(), "1.0.0", &first()), "1.0.0"))).await;
    let not_allowed = StoreError::Forbidden { why: "not allowed to delete configmaps".to_owned() };
    world.change(|inner| drop(inner.refusals.insert("ConfigMap shop/goes".to_owned(), not_allowed)));
    let second = task(request(&release(root.path(), "2.0.0", &second()), "2.0.0"));
    let mut update = start(&world, &settings(), &second);
    let progress = update.progress("a failure", |progress| !progress.failures.is_empty()).await;
    assert_eq!(progress.failures[0].message, "ConfigMap shop/goes: not allowed to delete configmaps");
    world.change(|inner| inner.refusals.clear());
    update.done().await;
}
