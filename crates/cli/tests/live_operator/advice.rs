//! Advice in a cluster: the story, outages, risks that are published meanwhile, replicas.

use std::fs;
use std::path::Path;
use std::time::Instant;

use clearway_testbed::{ClusterOptions, prometheus, wait_until};
use serde_json::json;

use crate::lab::{Lab, Program, SOON, available, condition, recommended, serve};

const STORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/story/graph-data");

/// A vSphere cluster with hardware version 14 behind a proxy; nobody collects the metric of 4.6.99-example's risk.
const METRICS: &str = "vsphere_node_hw_version_total{hw_version=\"vmx-14\"} 3
cluster_infrastructure_provider{type=\"VSphere\"} 1
cluster_proxy_enabled{type=\"https\"} 1
cluster_version{type=\"current\",version=\"4.6.23\"} 1
";

/// U6, U7, U10, U11, U14: the story that conditional updates were invented for, in a cluster.
#[tokio::test]
async fn the_story_is_told_in_the_status_with_few_writes() {
    let Some(lab) = Lab::open(&ClusterOptions::api_only(), "standard", "4.6.23", "stable-4.6").await else { return };
    let Some(metrics) = prometheus(METRICS).await else { return };
    let (_service, url) = serve(Path::new(STORY), lab.path("serve.log")).await;
    let long = ["--between-rounds", "10m", "--between-answers", "1h", "--fetch-every", "3m"];
    let mut options = vec!["--upstream", url.as_str()];
    let base = metrics.base_url();
    options.extend(["--prometheus", &base]);
    options.extend(long);
    let started = Instant::now();
    let operator = lab.operator("operator.log", &options);
    let object =
        lab.until("all risks are evaluated", |object| recommended(object, "4.7.4").1 == "MultipleReasons").await;
    let (status, _, message) = recommended(&object, "4.7.4");
    assert_eq!(status, "False");
    let paragraphs: Vec<&str> = message.split("\n\n").collect();
    assert_eq!(paragraphs.len(), 3, "{message}");
    assert_eq!(recommended(&object, "4.6.99-example").1, "PromQLError");
    assert!(available(&object).contains(&"4.6.43".to_owned()), "{:?}", available(&object));
    let conditions = &object["status"]["conditions"];
    for (type_, want) in [
        ("Ready", "True"),
        ("Available", "True"),
        ("RetrievedUpdates", "True"),
        ("Progressing", "False"),
        ("Failing", "False"),
    ] {
        assert_eq!(condition(conditions, type_).0, want, "{type_}: {conditions}");
    }
    let shown = u32::try_from(available(&object).len()).map(f64::from).unwrap();
    wait_until(SOON, "the metrics say the same", async || {
        operator.metric("cluster_version_available_updates").await == Some(shown)
    })
    .await
    .unwrap();
    // One when the update service has answered, one when all queries have, and one for each second that they took: what
    // changes within a second is written together. There are many more queries.
    let writes = operator.metric("clearway_operator_status_writes_total").await.unwrap();
    let most = 2.0 + started.elapsed().as_secs_f64();
    assert!(writes <= most, "{writes} writes, at most {most}");
}

/// U9, U10, U16.
#[tokio::test]
async fn a_metrics_store_that_goes_away_turns_advice_to_unknown_and_it_comes_back() {
    let Some(lab) = Lab::open(&ClusterOptions::api_only(), "standard", "4.6.23", "stable-4.6").await else { return };
    let Some(metrics) = prometheus(METRICS).await else { return };
    let (_service, url) = serve(Path::new(STORY), lab.path("serve.log")).await;
    let _operator = lab.operator("operator.log", &["--upstream", &url, "--prometheus", &metrics.base_url()]);
    lab.until("a risk applies", |object| recommended(object, "4.7.4").0 == "False").await;
    metrics.process().kill();
    let object = lab.until("nothing is known", |object| recommended(object, "4.7.4").1 == "PromQLError").await;
    assert_eq!(recommended(&object, "4.6.40").0, "Unknown", "what was recommended is not any more");
    assert!(!available(&object).contains(&"4.6.40".to_owned()));
    metrics.process().start().await.unwrap();
    lab.until("it is known again", |object| {
        recommended(object, "4.7.4").1 == "MultipleReasons" && recommended(object, "4.6.40").0 == "True"
    })
    .await;
}

/// A risk that is published while the operator runs; graph-data that is broken meanwhile changes nothing.
#[tokio::test]
async fn a_risk_that_is_published_reaches_the_status() {
    let Some(lab) = Lab::open(&ClusterOptions::api_only(), "experimental", "1.0.0", "stable-1").await else { return };
    let data = lab.path("graph-data");
    for (path, text) in [
        ("version", "1.1.0\n".to_owned()),
        ("channels/stable-1.yaml", "name: stable-1\nversions: [1.0.0, 1.0.1]\n".to_owned()),
        (
            "releases/all.json",
            json!([
                {"version": "1.0.0", "arch": "amd64", "payload": "example.com/r@0"},
                {"version": "1.0.1", "arch": "amd64", "payload": "example.com/r@1", "previous": ["1.0.0"]},
            ])
            .to_string(),
        ),
    ] {
        let file = data.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let (_service, url) = serve(&data, lab.path("serve.log")).await;
    let _operator = lab.operator("operator.log", &["--upstream", &url]);
    lab.until("the update is recommended", |object| available(object) == ["1.0.1"]).await;
    fs::create_dir_all(data.join("blocked-edges")).unwrap();
    // Without a metrics store the first rule fails, and the second looks at the cluster itself (U2, U19).
    let risk = "to: 1.0.1\nfrom: .*\nurl: https://example.com/risk\nname: NoNodes\nmessage: There is nowhere to run.\nmatchingRules:\n- {type: PromQL, promql: {promql: max(nodes)}}\n- {type: Resource, resource: {apiVersion: v1, kind: Namespace, name: clearway, expression: 'object.metadata.name == \"clearway\"'}}\n";
    fs::write(data.join("blocked-edges/risk.yaml"), risk).unwrap();
    let object = lab.until("the risk applies", |object| recommended(object, "1.0.1").1 == "NoNodes").await;
    assert_eq!(available(&object), Vec::<String>::new());
    let rules = &object["status"]["conditionalUpdates"][0]["risks"][0]["matchingRules"];
    assert_eq!(rules.as_array().map(Vec::len), Some(2), "the experimental channel keeps both: {rules}");

    // The standard channel cannot store the second rule; the first remains, and so does the verdict (U7).
    lab.install("standard").await;
    let object = lab
        .until("the status is what the CRD keeps", |object| {
            let rules = &object["status"]["conditionalUpdates"][0]["risks"][0]["matchingRules"];
            rules.as_array().map(Vec::len) == Some(1)
        })
        .await;
    assert_eq!(recommended(&object, "1.0.1").1, "NoNodes");
}

/// Two replicas: one leads, and when it is killed the other goes on.
#[tokio::test]
async fn another_replica_goes_on_when_the_one_that_leads_is_killed() {
    let Some(lab) = Lab::open(&ClusterOptions::api_only(), "standard", "4.6.23", "stable-4.6").await else { return };
    let (_service, url) = serve(Path::new(STORY), lab.path("serve.log")).await;
    let options = ["--upstream", url.as_str(), "--lease-duration", "5s"];
    let first = lab.operator("first.log", &options);
    lab.until("there is advice", |object| !available(object).is_empty()).await;
    let second = lab.operator("second.log", &options);
    let leads = async |program: &Program| program.metric("clearway_operator_leads").await;
    let mut states = (None, None);
    wait_until(SOON, "one leads and the other waits", async || {
        states = (leads(&first).await, leads(&second).await);
        matches!(states, (Some(1.0), Some(0.0)) | (Some(0.0), Some(1.0)))
    })
    .await
    .unwrap();
    // On a busy machine the first one may have lost a lease of some seconds.
    let (mut leader, other) = if states.0 == Some(1.0) { (first, second) } else { (second, first) };
    leader.kill();
    lab.patch(json!({"spec": {"channel": "no-such-channel"}})).await;
    lab.until("the other one says what the channel has", |object| {
        condition(&object["status"]["conditions"], "RetrievedUpdates").1 == "VersionNotFound"
    })
    .await;
    wait_until(SOON, "the other one leads", async || leads(&other).await == Some(1.0)).await.unwrap();
}
