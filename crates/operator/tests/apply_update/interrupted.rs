//! An update that is stopped at a hundred points, and goes on each time.

use std::collections::BTreeMap;
use std::sync::Arc;

use clearway_operator::apply_update::{apply, prepare};
use clearway_operator::driver::{AnswerMemory, CrashGuard, MemoryPermit, ObjectReport, Tools, drive};
use clearway_operator::heartbeat::Heartbeat;
use clearway_sources::http::HttpOptions;
use clearway_sources::store::{Apply, Store};
use clearway_update::api::Kind;
use clearway_update::reconciler::{Settings, UpdateMode};
use clearway_update::rollout::{Rollout, UpdateRequest};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::world::{
    World, config, custom, definition, deployment, key, namespace, release, request, settings, task, update,
};

/// Two releases; the second has fifty objects, half of them changed, some of them new, and leaves out ten of the first.
pub(crate) fn releases(prefix: &str) -> [Vec<(String, Value)>; 2] {
    let space = format!("{prefix}-shop");
    let group = format!("{prefix}.example.com");
    let base = || {
        vec![
            ("0000_10_base_00-namespace".to_owned(), namespace(&space)),
            ("0000_10_base_01-definition".to_owned(), definition(&group, "Thing", &["v1"])),
        ]
    };
    let (mut one, mut two) = (base(), base());
    let named = |level: u32, number: u32| format!("0000_{level}_part{}_{number:02}", number % 5);
    for number in 0..30 {
        one.push((named(30, number), config(&space, &format!("c{number}"), "1")));
    }
    one.push(("0000_40_gone_00".to_owned(), namespace(&format!("{prefix}-gone"))));
    one.push(("0000_40_gone_01".to_owned(), config(&format!("{prefix}-gone"), "inside", "1")));
    one.push(("0000_50_web_00".to_owned(), deployment(&space, "w0", "example.com/web:1")));
    for number in 10..40 {
        let value = if number % 2 == 0 { "2" } else { "1" };
        two.push((named(30, number), config(&space, &format!("c{number}"), value)));
    }
    for number in 0..8 {
        two.push((format!("0000_50_web{number}_00"), deployment(&space, &format!("w{number}"), "example.com/web:2")));
    }
    for number in 0..10 {
        let name = format!("t{number}");
        two.push((format!("0000_60_things_{number:02}"), custom(&group, "Thing", &space, &name, number)));
    }
    [one, two]
}

pub(crate) fn named(manifests: &[(String, Value)]) -> Vec<(&str, Value)> {
    manifests.iter().map(|(name, object)| (name.as_str(), object.clone())).collect()
}

/// The same numbers in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

#[tokio::test(start_paused = true)]
async fn an_update_interrupted_a_hundred_times_comes_to_the_same() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    let [one, two] = releases("kill");
    let foreign = config("kill-shop", "foreign", "theirs");
    let others = Apply { manager: "somebody", force: true, dry_run: false };
    world.state.apply(&foreign, &others).await.unwrap();
    update(&world, &settings(), &task(request(&release(root.path(), "1.0.0", &named(&one)), "1.0.0"))).await;

    let mut task = task(request(&release(root.path(), "2.0.0", &named(&two)), "2.0.0"));
    task.begun = true;
    let (mut dice, mut interrupted, mut ended) = (Dice(7), 0, 0);
    while interrupted < 100 {
        // About as many requests as the whole update takes: some of the runs get to its end, and begin again.
        world.stop_after(i64::try_from(dice.below(170)).unwrap());
        let settings = settings();
        let (report, _heard) = watch::channel(Rollout::Idle);
        let carried = async {
            let (prepared, payload) = prepare(&world, &settings, &task, &report).await;
            apply(&world, &settings, &task, &prepared, &payload, &report).await;
        };
        tokio::select! {
            biased;
            () = world.blown.notified() => interrupted += 1,
            () = carried => ended += 1,
        }
    }
    assert!(ended < 50, "most runs are interrupted: {ended} were not");
    world.stop_after(-1);
    let said = update(&world, &settings(), &task).await;
    assert!(matches!(said.last(), Some(Rollout::Done { .. })));

    let mut want: BTreeMap<String, Value> = two
        .iter()
        .map(|(_, object)| {
            let value = object.get("data").map_or_else(|| object["spec"].clone(), |data| data["value"].clone());
            (key(object).to_string(), value)
        })
        .collect();
    assert_eq!(want.len(), 50);
    want.insert(key(&foreign).to_string(), "theirs".into());
    assert_eq!(world.everything().await, want);
}

/// What an administrator asks for, and what came of the release before.
fn asking(one: &UpdateRequest, two: &UpdateRequest) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"clusterID": "8d3c9d26-95cf-4b4e-8d0d-0a1f4e6b7c11", "desiredUpdate": {"image": two.release.image}},
        "status": {
            "desired": {"version": "1.0.0", "image": one.release.image}, "observedGeneration": 1, "versionHash": "", "availableUpdates": null,
            "history": [{"state": "Completed", "startedTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T01:00:00Z", "version": "1.0.0", "image": one.release.image, "verified": false}],
        },
    })
}

fn tools(world: &World) -> Tools<World> {
    Tools {
        store: world.clone(),
        evidence: world.clone(),
        updates: world.clone(),
        metrics: None,
        http: HttpOptions::default(),
        apply_update: settings(),
        namespace: "clearway".to_owned(),
        clock: clearway_sources::clock::now,
        heartbeat: Heartbeat::default(),
        memory: MemoryPermit::default(),
        answers: AnswerMemory::default(),
        guard: CrashGuard::new("test"),
    }
}

#[tokio::test(start_paused = true)]
async fn no_effect_outlives_the_driver() {
    let root = tempfile::tempdir().unwrap();
    let [one, two] = releases("work");
    let one = request(&release(root.path(), "1.0.0", &named(&one)), "1.0.0");
    let two = request(&release(root.path(), "2.0.0", &named(&two)), "2.0.0");
    for requests in 1..12 {
        let world = World::new();
        world.state.create(&asking(&one, &two)).await.unwrap();
        world.stop_after(requests);
        let (told, _seen) = watch::channel(None);
        let settings = Settings { update_mode: UpdateMode::OnRequest, ..Settings::new("amd64".parse().unwrap()) };
        let driver = tokio::spawn(drive_version(tools(&world), settings, told));
        // A request that is never answered is under way.
        world.blown.notified().await;
        driver.abort();
        assert!(driver.await.unwrap_err().is_cancelled());
        // Whatever is under way holds the store; tasks that were aborted let it go as soon as they are scheduled.
        for _ in 0..10_000 {
            if Arc::strong_count(&world.inner) == 1 {
                break;
            }
            tokio::task::yield_now().await;
        }
        assert_eq!(Arc::strong_count(&world.inner), 1, "a task is left after {requests} requests");
    }
}

async fn drive_version(tools: Tools<World>, settings: Settings, told: watch::Sender<Option<ObjectReport>>) {
    drive(tools, Kind::ClusterVersion, "version", settings, told).await;
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_is_stopped_half_way_goes_on_where_it_was() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    let [one, two] = releases("work");
    let one = request(&release(root.path(), "1.0.0", &named(&one)), "1.0.0");
    let two = request(&release(root.path(), "2.0.0", &named(&two)), "2.0.0");
    update(&world, &settings(), &task(one.clone())).await;
    world.change(|inner| inner.sick.extend(["Deployment work-shop/w3".to_owned()]));
    let object = world.state.create(&asking(&one, &two)).await.unwrap();
    let history = async || world.state.get(&key(&object)).await.unwrap().unwrap()["status"]["history"].clone();

    // Nobody tells the second one anything but what is in the store.
    for heals in [false, true] {
        let tools = tools(&world);
        let (told, mut seen) = watch::channel(None);
        let settings = Settings { update_mode: UpdateMode::OnRequest, ..Settings::new("amd64".parse().unwrap()) };
        let driver = tokio::spawn(drive_version(tools, settings, told));
        let waits = |shown: &Option<ObjectReport>| {
            let rollout = shown.as_ref().map(|shown| &shown.rollout);
            matches!(rollout, Some(Rollout::Applying { progress, .. }) if progress.waiting_on == ["Deployment.apps work-shop/w3"])
        };
        if heals {
            world.change(|inner| inner.sick.clear());
            seen.wait_for(|shown| {
                shown.as_ref().is_some_and(|shown| shown.object["status"]["history"][0]["state"] == "Completed")
            })
            .await
            .unwrap();
        } else {
            seen.wait_for(waits).await.unwrap();
            assert_eq!(history().await[0]["state"], "Partial");
        }
        driver.abort();
    }
    let history = history().await;
    let shown: Vec<(&str, &str)> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["version"].as_str().unwrap(), entry["state"].as_str().unwrap()))
        .collect();
    assert_eq!(shown, [("2.0.0", "Completed"), ("1.0.0", "Completed")]);
    let left = world.state.list(&key(&config("a", "b", "")).kind, "clearway.dev/owner").await.unwrap();
    assert_eq!(left.len(), 30);
}
