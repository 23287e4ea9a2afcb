//! A Deployment on its way: done, hanging, crashing, late, and rolled back.

use serde_json::{Value, json};

use crate::lab::{Lab, deployment};

/// A change of the template: pods with or without trouble.
fn simulate(what: Option<&str>) -> Value {
    json!({"spec": {"template": {"metadata": {"labels": {"clearway.dev/simulate": what}}}}})
}

#[tokio::test]
async fn a_deployment_rolls_out_hangs_and_is_rolled_back() {
    let Some(lab) = Lab::open().await else { return };
    lab.create(deployment("web", 3, None)).await;
    let name = format!("Deployment.apps {}/web", lab.ns());

    let run = lab.run("status wait deploy/web --timeout 5m --settle 1s").await;
    run.exits(0).prints(&["HEALTH", "Current", &name, "Replicas: 3"]).says(&["1 object: 1 Current"]);
    let run = lab.run("status show deploy web").await;
    run.exits(0).prints(&["Current", &name]).says(&["1 object: 1 Current"]);

    // The new pods never become ready, and the old ones stay.
    lab.patch("apps/v1", "Deployment", "web", simulate(Some("never-ready"))).await;
    lab.until("apps/v1", "Deployment", "web", "the rollout has begun", |web| {
        web["status"]["observedGeneration"] == web["metadata"]["generation"] && web["status"]["updatedReplicas"] == 1
    })
    .await;
    let run = lab.run("status show deploy web").await;
    run.exits(2).prints(&["InProgress", "1/3"]).says(&["1 object: 1 InProgress"]);
    let run = lab.run("status wait deploy/web --timeout 6s").await;
    run.exits(2).prints(&["InProgress", "1/3"]).says(&["timed out", "--timeout"]);
    let run = lab.run("status wait deploy/web --timeout 5m --no-progress 3s").await;
    run.exits(2).prints(&["InProgress", "1/3"]).says(&["timed out", "--no-progress"]);

    let run = lab.run("status wait deploy/web --timeout 5m --per-object 2s").await;
    run.exits(2).prints(&["InProgress", "1/3"]).says(&["timed out", "--per-object"]);

    // Who waited all along sees the roll-back end well.
    let mut waiting = lab.start("status wait deploy/web --timeout 5m --settle 1s");
    waiting.until_says("1/3").await;
    lab.patch("apps/v1", "Deployment", "web", simulate(None)).await;
    waiting.end().await.exits(0).prints(&["Current", &name]).says(&["0/1 current, 1 waiting"]);
}

#[tokio::test]
async fn a_crash_loop_is_a_failure_when_it_lasts() {
    let Some(lab) = Lab::open().await else { return };
    lab.create(deployment("web", 2, Some("crash"))).await;
    lab.until("apps/v1", "Deployment", "web", "its pods are there", |web| web["status"]["unavailableReplicas"] == 2)
        .await;

    let run = lab.run("status wait deploy/web --timeout 5m --patience 2s").await;
    run.exits(1).prints(&["Failed", "PodsFailed", "2 pods have failed", "CrashLoop"]).says(&["1 object: 1 Failed"]);
    // A deployment that did not crash for long may still find its database.
    let run = lab.run("status wait deploy/web --timeout 6s").await;
    run.exits(2).prints(&["Failed", "PodsFailed"]).says(&["timed out", "failing"]);

    let run = lab.run("status show deploy web --tree").await;
    run.exits(1).says(&["Failed"]);
    assert!(run.line("Deployment.apps").contains("PodsFailed"), "{run}");
    let pods: Vec<&str> = run.out.lines().filter(|line| line.contains("└ Pod ")).collect();
    assert_eq!(pods.len(), 2, "{run}");
    assert!(pods.iter().all(|pod| pod.starts_with("Failed") && pod.contains("ContainerCrashLooping")), "{run}");
}

#[tokio::test]
async fn a_missed_progress_deadline_is_a_failure() {
    let Some(lab) = Lab::open().await else { return };
    let mut web = deployment("web", 1, Some("never-ready"));
    web["spec"]["progressDeadlineSeconds"] = 5.into();
    lab.create(web).await;
    let run = lab.run("status wait deploy/web --timeout 5m").await;
    run.exits(1)
        .prints(&["Failed", "ProgressDeadlineExceeded", "has timed out progressing"])
        .says(&["1 object: 1 Failed"]);
    lab.run("status show deploy/web").await.exits(1).prints(&["ProgressDeadlineExceeded"]);
}

#[tokio::test]
async fn the_objects_of_a_file_are_waited_for_together() {
    let Some(lab) = Lab::open().await else { return };
    let template = json!({
        "metadata": {"labels": {"app": "all"}},
        "spec": {"containers": [{"name": "main", "image": "example.dev/app:1"}]},
    });
    let selector = json!({"matchLabels": {"app": "all"}});
    let set = json!({"serviceName": "all", "replicas": 2, "selector": selector, "template": template});
    let everywhere = json!({"selector": selector, "template": template});
    let mut job = json!({"template": template});
    job["template"]["spec"]["restartPolicy"] = "Never".into();
    let objects = [
        ("apps/v1", "StatefulSet", set),
        ("apps/v1", "DaemonSet", everywhere),
        ("batch/v1", "CronJob", json!({"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job}})),
        ("policy/v1", "PodDisruptionBudget", json!({"minAvailable": 1, "selector": selector})),
        ("v1", "Service", json!({"selector": {"app": "all"}, "ports": [{"port": 80}]})),
    ];
    let objects: Vec<Value> = objects
        .into_iter()
        .map(|(api_version, kind, spec)| {
            let metadata = json!({"name": "all", "namespace": lab.ns()});
            json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})
        })
        .collect();
    let path = lab.cluster.dir().join(format!("{}.json", lab.ns()));
    std::fs::write(&path, json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()).unwrap();

    let mut waiting = lab.start_anywhere(&format!("status wait -f {} --timeout 5m --settle 1s", path.display()));
    waiting.until_says("0/5 current, 5 waiting").await;
    for object in objects {
        lab.create(object).await;
    }
    let run = waiting.end().await;
    run.exits(0).says(&["5 objects: 5 Current"]);
    run.prints(&["StatefulSet.apps", "DaemonSet.apps", "CronJob.batch", "PodDisruptionBudget.policy", "Service "]);
    assert!(run.line("StatefulSet").contains("ReplicasReady"), "{run}");

    // The newest pods of a StatefulSet decide as those of a Deployment do.
    lab.patch("apps/v1", "StatefulSet", "all", simulate(Some("crash"))).await;
    let run = lab.run("status wait sts/all --timeout 5m --patience 1s").await;
    run.exits(1).prints(&["Failed", "PodsFailed", "1 pod has failed: all-1"]);
    lab.run_anywhere("status show nodes").await.exits(0).prints(&["Node node-0", "Current"]);
}

#[tokio::test]
async fn a_stream_of_events_tells_how_a_wait_goes() {
    let Some(lab) = Lab::open().await else { return };
    lab.create(deployment("web", 1, None)).await;
    let run = lab.run("status wait deploy/web --timeout 5m --settle 1s -o json").await;
    run.exits(0);
    let events: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (end, progress) = events.split_last().unwrap();
    assert!(!progress.is_empty(), "{run}");
    assert!(progress.iter().all(|event| event["event"] == "progress" && event["progress"]["objects"] == 1), "{run}");
    assert_eq!((&end["event"], &end["result"]["outcome"]), (&json!("end"), &json!("Current")), "{run}");
    assert_eq!(end["result"]["report"][0]["verdict"]["state"], "Current", "{run}");
}
