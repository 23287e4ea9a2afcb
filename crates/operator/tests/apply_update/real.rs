//! On a real control plane, where roll-outs are made by the real controllers.

use std::collections::BTreeSet;
use std::task::Poll;
use std::time::Duration;

use clearway_core::{GroupVersionKind, ObjectReference};
use clearway_operator::apply_update::{Settings, apply, prepare};
use clearway_sources::kubernetes::{Cluster, Connection};
use clearway_sources::store::{Apply, ClusterStore, Part, Store};
use clearway_testbed::{ClusterOptions, unique_name, wait_until};
use clearway_update::owner::{OWNER, Owner};
use clearway_update::rollout::Rollout;
use clearway_update::task::Task;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::interrupted::{Dice, named, releases};
use crate::world::{
    annotated, config, custom, definition, deployment, key, namespace, real_settings, release, request, start, task,
    update,
};

const OTHERS: Apply<'_> = Apply { manager: "somebody", force: true, dry_run: false };
const SOON: Duration = clearway_testbed::IN_TIME;

async fn connect(testbed: &clearway_testbed::Cluster) -> ClusterStore {
    let connection =
        Connection { kubeconfig: Some(testbed.kubeconfig().to_owned()), context: None, ..Connection::default() };
    ClusterStore::new(Cluster::connect(&connection).await.unwrap(), "clearway-test")
}

/// An update for an owner of its own: tests share the cluster.
fn owned(task: Task, owner: &str) -> Task {
    Task { owner: Owner::new("ComponentVersion", owner), ..task }
}

async fn names(store: &ClusterStore, kind: &GroupVersionKind, owner: &str) -> BTreeSet<String> {
    let found = store.list(kind, &format!("{OWNER}=ComponentVersion.{owner}")).await.unwrap();
    found.iter().map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

fn is_done(said: &[Rollout]) -> bool {
    matches!(said.last(), Some(Rollout::Done { .. }))
}

#[tokio::test]
async fn a_release_rolls_out_and_the_next_one_takes_its_place() {
    let Some(testbed) = clearway_testbed::cluster().await else { return };
    let (store, root, name) = (connect(&testbed).await, tempfile::tempdir().unwrap(), unique_name("roll"));
    let (group, settings) = (format!("{name}.example.com"), real_settings());
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": name},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    });
    let create_only = |value: &str| annotated(config(&name, "once", value), "release.openshift.io/create-only", "true");
    let one = [
        ("0000_10_base_00-namespace", namespace(&name)),
        ("0000_10_base_01-thing", definition(&group, "Thing", &["v1"])),
        ("0000_10_base_02-box", definition(&group, "Box", &["v1"])),
        ("0000_30_shop_01-config", config(&name, "settings", "1")),
        ("0000_30_shop_02-old", config(&name, "old", "1")),
        ("0000_30_shop_03-service", service.clone()),
        ("0000_30_shop_04-web", deployment(&name, "web", "example.com/web:1")),
        ("0000_30_shop_05-once", create_only("1")),
        ("0000_50_things_01-thing", custom(&group, "Thing", &name, "one", 1)),
    ];
    let first = owned(task(request(&release(root.path(), "1.0.0", &one), "1.0.0")), &name);
    let said = update(&store, &settings, &first).await;
    assert!(is_done(&said), "{:?}", said.last());
    let web = store.get(&key(&one[6].1)).await.unwrap().unwrap();
    assert_eq!(web["status"]["availableReplicas"], 1);
    // The controller copies the label of the Service to what it makes; that is not ours to remove.
    let slices = GroupVersionKind::new("discovery.k8s.io/v1", "EndpointSlice");
    wait_until(SOON, "the slices of the service are there", async || names(&store, &slices, &name).await.len() == 1)
        .await
        .unwrap();

    // Others change what they may, and some of what they may not.
    let (hand, taken) = (json!({"data": {"value": "by hand"}}), config(&name, "settings", "by hand"));
    store.patch(&key(&create_only("")), Part::Main, &hand).await.unwrap();
    store.apply(&taken, &OTHERS).await.unwrap();
    store.patch(&key(&one[6].1), Part::Main, &json!({"metadata": {"annotations": {"team": "blue"}}})).await.unwrap();
    let mut foreign = config(&name, "foreign", "theirs");
    foreign["metadata"]["labels"][OWNER] = "ComponentVersion.other".into();
    store.apply(&foreign, &OTHERS).await.unwrap();

    let two = [
        ("0000_10_base_00-namespace", namespace(&name)),
        ("0000_10_base_01-thing", definition(&group, "Thing", &["v1"])),
        ("0000_30_shop_01-config", config(&name, "settings", "2")),
        ("0000_30_shop_03-service", service),
        ("0000_30_shop_04-web", deployment(&name, "web", "example.com/web:2")),
        ("0000_30_shop_05-once", create_only("2")),
        ("0000_50_things_01-thing", custom(&group, "Thing", &name, "one", 2)),
    ];
    let second = owned(task(request(&release(root.path(), "2.0.0", &two), "2.0.0")), &name);
    let said = update(&store, &settings, &second).await;
    assert!(is_done(&said), "{:?}", said.last());
    let web = store.get(&key(&two[4].1)).await.unwrap().unwrap();
    assert_eq!(web["spec"]["template"]["spec"]["containers"][0]["image"], "example.com/web:2");
    assert_eq!(
        (&web["status"]["updatedReplicas"], &web["metadata"]["annotations"]["team"]),
        (&json!(1), &json!("blue"))
    );
    let configs = GroupVersionKind::new("v1", "ConfigMap");
    assert_eq!(names(&store, &configs, &name).await, ["once", "settings"].map(str::to_owned).into());
    let value = async |name: &Value| store.get(&key(name)).await.unwrap().unwrap()["data"]["value"].clone();
    assert_eq!(value(&two[2].1).await, "2", "a field that others took is taken back");
    assert_eq!(value(&create_only("")).await, "by hand");
    assert_eq!(value(&foreign).await, "theirs");
    let thing = store.get(&key(&two[6].1)).await.unwrap().unwrap();
    assert_eq!(thing["spec"]["size"], 2);
    let boxes = ObjectReference::cluster_scoped(
        GroupVersionKind::new("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        format!("boxs.{group}"),
    );
    assert_eq!(store.get(&boxes).await, Ok(None));
    assert_eq!(names(&store, &slices, &name).await.len(), 1);
}

#[tokio::test]
async fn a_workload_that_finds_no_node_is_named_with_its_cause_until_somebody_changes_their_mind() {
    let Some(testbed) = clearway_testbed::cluster().await else { return };
    let (store, root, name) = (connect(&testbed).await, tempfile::tempdir().unwrap(), unique_name("stuck"));
    let mut settings = real_settings();
    settings.pace.patience = Duration::from_secs(3);
    let mut stuck = deployment(&name, "web", "example.com/web:1");
    stuck["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "gold"});
    let manifests = |web: &Value| {
        [
            ("0000_10_base_00-namespace", namespace(&name)),
            ("0000_30_shop_01-web", web.clone()),
            ("0000_50_shop_02-later", config(&name, "later", "1")),
        ]
    };
    let first = owned(task(request(&release(root.path(), "1.0.0", &manifests(&stuck)), "1.0.0")), &name);
    let mut waiting = start(&store, &settings, &first);
    let told = |progress: &clearway_update::rollout::Progress| {
        progress.failures.iter().any(|failure| failure.message.contains("affinity/selector"))
    };
    let progress = waiting.progress("the cause", told).await;
    assert_eq!(progress.waiting_on, [format!("Deployment.apps {name}/web")]);
    assert!(progress.failures[0].message.starts_with(&format!("Deployment.apps {name}/web")), "{progress:?}");
    assert_eq!(store.get(&key(&manifests(&stuck)[2].1)).await, Ok(None), "nothing of a later stage");
    drop(waiting);

    let fixed = deployment(&name, "web", "example.com/web:1");
    let second = owned(task(request(&release(root.path(), "1.0.1", &manifests(&fixed)), "1.0.1")), &name);
    assert!(is_done(&update(&store, &settings, &second).await));
    let web = store.get(&key(&fixed)).await.unwrap().unwrap();
    assert_eq!(web["spec"]["template"]["spec"]["nodeSelector"], Value::Null, "what we no longer say is gone");
}

#[tokio::test]
async fn what_the_api_server_refuses_is_found_before_and_said_while_it_lasts() {
    let Some(testbed) = clearway_testbed::cluster().await else { return };
    let (store, root, name) = (connect(&testbed).await, tempfile::tempdir().unwrap(), unique_name("refused"));
    let settings = real_settings();
    store.apply(&namespace(&name), &OTHERS).await.unwrap();
    let mut wrong = config(&name, "wrong", "1");
    wrong["metadata"]["labels"] = json!({"team": "not a label!"});
    let unknown = custom(&format!("{name}.example.com"), "Nothing", &name, "one", 1);
    let manifests = [("0000_30_a_01", wrong), ("0000_30_b_01", config(&name, "good", "1")), ("0000_50_c_01", unknown)];
    let task = owned(task(request(&release(root.path(), "1.0.0", &manifests), "1.0.0")), &name);
    let mut update = start(&store, &settings, &task);
    let progress = update.progress("the refusal", |progress| progress.done == 1 && !progress.failures.is_empty()).await;
    assert_eq!((progress.failures.len(), progress.failures[0].reason.as_str()), (1, "Refused"));
    let message = &progress.failures[0].message;
    assert!(message.contains(&format!("ConfigMap {name}/wrong (0000_30_a_01.yaml)")), "{message}");
    assert!(message.contains("not a label!"), "{message}");
    let Rollout::Applying { prepared, .. } = update.until("anything", |_| true).await else { panic!() };
    assert_eq!(prepared.overridden.len(), 2, "{prepared:?}");
    assert!(prepared.overridden[0].starts_with(&format!("Preflight DryRun: ConfigMap {name}/wrong")), "{prepared:?}");
    assert!(prepared.overridden[1].contains("the release does not define it"), "{prepared:?}");
}

#[tokio::test]
async fn an_api_server_that_restarts_half_way_is_waited_for() {
    let Some(testbed) = clearway_testbed::own_cluster(&ClusterOptions::api_only()).await else { return };
    let (store, root) = (connect(&testbed).await, tempfile::tempdir().unwrap());
    let mut manifests = vec![("0000_10_base_00-namespace".to_owned(), namespace("shop"))];
    manifests.push(("0000_10_base_01-definition".to_owned(), definition("example.com", "Thing", &["v1"])));
    for number in 0..60 {
        manifests.push((format!("0000_30_a_{number:02}"), config("shop", &format!("c{number}"), "1")));
        manifests
            .push((format!("0000_50_b_{number:02}"), custom("example.com", "Thing", "shop", &format!("t{number}"), 1)));
    }
    let settings = Settings { side_by_side: 1, ..real_settings() };
    let task = task(request(&release(root.path(), "1.0.0", &named(&manifests)), "1.0.0"));
    let mut update = start(&store, &settings, &task);
    for done in [20, 80] {
        update.progress("half of it", |progress| progress.done >= done).await;
        testbed.apiserver().restart().await.unwrap();
    }
    tokio::time::timeout(SOON, update.done()).await.expect("it ends");
    let things = store.list(&GroupVersionKind::new("example.com/v1", "Thing"), "").await.unwrap();
    let configs = store
        .list(&GroupVersionKind::new("v1", "ConfigMap"), &format!("{OWNER}=ClusterVersion.version"))
        .await
        .unwrap();
    assert_eq!((things.len(), configs.len()), (60, 60));
}

/// What a future gives; nothing if it needs more than so many steps, and then it is dropped at whatever it waits for.
fn counted<F: Future>(future: F, limit: u64, steps: &mut u64) -> impl Future<Output = Option<F::Output>> {
    let mut future = Box::pin(future);
    std::future::poll_fn(move |context| {
        *steps += 1;
        if *steps > limit { Poll::Ready(None) } else { future.as_mut().poll(context).map(Some) }
    })
}

#[tokio::test]
async fn an_update_interrupted_a_hundred_times_ends_as_the_release_has_it() {
    let Some(testbed) = clearway_testbed::cluster().await else { return };
    let (store, root, name) = (connect(&testbed).await, tempfile::tempdir().unwrap(), unique_name("kill"));
    let [one, two] = releases(&name);
    let settings = real_settings();
    let first = owned(task(request(&release(root.path(), "1.0.0", &named(&one)), "1.0.0")), &name);
    assert!(is_done(&update(&store, &settings, &first).await));
    // How far an update gets is counted in steps of its future, so that a busy machine changes nothing.
    let mut whole = 0;
    assert!(is_done(&counted(update(&store, &settings, &first), u64::MAX, &mut whole).await.unwrap()));

    let mut second = owned(task(request(&release(root.path(), "2.0.0", &named(&two)), "2.0.0")), &name);
    second.begun = true;
    let (mut dice, mut interrupted_at) = (Dice(11), Vec::new());
    while interrupted_at.len() < 100 {
        let (report, heard) = watch::channel(Rollout::Idle);
        let carried = async {
            let (prepared, payload) = prepare(&store, &settings, &second, &report).await;
            apply(&store, &settings, &second, &prepared, &payload, &report).await;
        };
        // Dropped at whatever it was waiting for.
        let limit = dice.below(whole * 3 / 2);
        if counted(carried, limit, &mut 0).await.is_none() {
            interrupted_at.push(match &*heard.borrow() {
                Rollout::Applying { progress, .. } => progress.done,
                _ => 0,
            });
        }
    }
    let at = |places: std::ops::RangeInclusive<usize>| interrupted_at.iter().filter(|at| places.contains(at)).count();
    assert!(at(0..=20) > 0 && at(21..=50) > 0, "everywhere: {interrupted_at:?}");
    assert!(is_done(&update(&store, &settings, &second).await));

    for (_, object) in &two {
        let live = store.get(&key(object)).await.unwrap().unwrap_or_else(|| panic!("{object} is not there"));
        assert_eq!(live["metadata"]["labels"][OWNER], format!("ComponentVersion.{name}"));
        assert_eq!(live.get("data"), object.get("data"));
        if object["kind"] == "Deployment" {
            assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["image"], "example.com/web:2");
            assert_eq!(live["status"]["updatedReplicas"], 1);
        }
    }
    let kinds = ["ConfigMap", "Namespace"].map(|kind| GroupVersionKind::new("v1", kind));
    let [configs, namespaces] = &kinds;
    assert_eq!(names(&store, configs, &name).await.len(), 30);
    assert_eq!(names(&store, namespaces, &name).await, [format!("{name}-shop")].into(), "the other one is pruned");
}
