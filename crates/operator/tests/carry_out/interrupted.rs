//! An update that is stopped at a hundred points, and goes on each time.

use std::collections::BTreeMap;

use clearway_operator::carry_out::{Worker, apply, prepare};
use clearway_operator::work::Work;
use clearway_sources::store::{Apply, Store};
use serde_json::Value;
use tokio::sync::watch;

use crate::world::{
    OURS, World, config, custom, definition, deployment, key, namespace, order, release, settings, task, update,
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
    update(&world, &settings(), &task(order(&release(root.path(), "1.0.0", &named(&one)), "1.0.0"))).await;

    let mut task = task(order(&release(root.path(), "2.0.0", &named(&two)), "2.0.0"));
    task.begun = true;
    let (mut dice, mut interrupted, mut ended) = (Dice(7), 0, 0);
    while interrupted < 100 {
        // About as many requests as the whole update takes: some of the runs get to its end, and begin again.
        world.stop_after(i64::try_from(dice.below(170)).unwrap());
        let settings = settings();
        let (report, _heard) = watch::channel(Work::Idle);
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
    assert!(matches!(said.last(), Some(Work::Done { .. })));

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

#[tokio::test(start_paused = true)]
async fn a_worker_is_stopped_and_goes_on() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    let [one, two] = releases("work");
    update(&world, &settings(), &task(order(&release(root.path(), "1.0.0", &named(&one)), "1.0.0"))).await;
    world.change(|inner| inner.sick.extend(["Deployment work-shop/w3".to_owned()]));
    let task = task(order(&release(root.path(), "2.0.0", &named(&two)), "2.0.0"));
    let (mut worker, mut heard) = Worker::new(world.clone(), settings());
    worker.prepare(task.clone());
    let accepted = heard.wait_for(|work| matches!(work, Work::Accepted { .. })).await.unwrap().clone();
    let Work::Accepted { prepared, .. } = accepted else { unreachable!() };
    worker.apply(task.clone(), prepared.clone());
    heard
        .wait_for(|work| matches!(work, Work::Applying { progress, .. } if progress.waiting_on == ["Deployment.apps work-shop/w3"]))
        .await
        .unwrap();
    worker.stop();
    world.change(|inner| (inner.sick, inner.log) = (std::collections::BTreeSet::new(), Vec::new()));
    tokio::time::sleep(std::time::Duration::from_hours(1)).await;
    assert_eq!(world.log(), Vec::<String>::new(), "what is stopped does nothing");
    worker.apply(task, prepared);
    heard.wait_for(|work| matches!(work, Work::Done { .. })).await.unwrap();
    let left = world.state.list(&key(&config("a", "b", "")).kind, &format!("clearway.dev/owner={OURS}")).await.unwrap();
    assert_eq!(left.len(), 30);
}
