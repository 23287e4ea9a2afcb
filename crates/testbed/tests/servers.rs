//! Prometheus answers from real series; the registry answers.

use std::time::Duration;

use clearway_testbed::{Prometheus, http, prometheus, registry, seconds_ago, wait_until};
use serde_json::{Value, json};
use tokio::time::timeout;

const SOON: Duration = clearway_testbed::IN_TIME;

/// The labels and the value of each result.
fn results(data: &Value) -> Vec<(Value, String)> {
    let results = data["result"].as_array().unwrap();
    results.iter().map(|one| (one["metric"].clone(), one["value"][1].as_str().unwrap().to_owned())).collect()
}

async fn ask(prometheus: &Prometheus, expression: &str) -> Vec<(Value, String)> {
    results(&prometheus.query(expression).await.unwrap())
}

#[tokio::test]
async fn prometheus_answers_for_live_series() {
    let series = "# TYPE upgrade_blocked gauge\nupgrade_blocked{reason=\"disk full\",job=\"mine\"} 1\nother 2\n";
    let Some(prometheus) = prometheus(series).await else { return };
    let answer = ask(&prometheus, "upgrade_blocked > 0").await;
    let labels = json!({"__name__": "upgrade_blocked", "job": "mine", "reason": "disk full"});
    assert_eq!(answer, [(labels, "1".to_owned())]);
    assert_eq!(ask(&prometheus, "other").await, [(json!({"__name__": "other"}), "2".to_owned())]);

    // New values replace the old ones, and a series that is not there any more ends.
    prometheus.replace("other 3\n").await.unwrap();
    assert_eq!(ask(&prometheus, "other").await, [(json!({"__name__": "other"}), "3".to_owned())]);
    assert_eq!(ask(&prometheus, "upgrade_blocked").await, []);
    prometheus.query("other{").await.unwrap_err();
}

#[tokio::test]
async fn prometheus_answers_for_the_past_and_survives() {
    let times = [seconds_ago(180), seconds_ago(120), seconds_ago(60)];
    let [first, second, third] = times;
    let series = format!(
        "requests_total{{code=\"500\"}} 70 {second}\nrequests_total{{code=\"500\"}} 10 {first}\n\
         requests_total{{code=\"500\"}} 130 {third}\nold 5 1000000000\nlive 1\n"
    );
    let Some(prometheus) = prometheus(&series).await else { return };
    assert_eq!(ask(&prometheus, "live").await.len(), 1);
    let increase = ask(&prometheus, "max_over_time(requests_total[5m]) - min_over_time(requests_total[5m])").await;
    assert_eq!(increase, [(json!({"code": "500"}), "120".to_owned())]);
    let old = prometheus.query_at("old", 1_000_000_060.0).await.unwrap();
    assert_eq!(results(&old), [(json!({"__name__": "old"}), "5".to_owned())]);

    prometheus.process().pause().await.unwrap();
    timeout(Duration::from_millis(300), prometheus.query("live")).await.expect_err("a paused server answers nothing");
    prometheus.process().resume().unwrap();
    timeout(SOON, prometheus.query("live")).await.expect("an answer after the pause").unwrap();
    prometheus.process().restart().await.unwrap();
    assert_eq!(ask(&prometheus, "count_over_time(requests_total[10m])").await[0].1, "3");
}

#[tokio::test]
async fn prometheus_takes_more_flags() {
    let expression = "sort_by_label(flagged, \"a\")";
    let Some(plain) = prometheus("flagged{a=\"1\"} 1").await else { return };
    plain.query(expression).await.unwrap_err();
    drop(plain);
    let flags = ["--enable-feature=promql-experimental-functions"];
    let flagged = Prometheus::start_with("flagged{a=\"1\"} 1", &flags).await.unwrap();
    assert_eq!(ask(&flagged, expression).await.len(), 1);
    assert!(flagged.promtool().exists());
}

#[tokio::test]
async fn the_registry_answers() {
    let Some(registry) = registry().await else { return };
    let answer = http::get(registry.port(), "/v2/").await.unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (200, "{}"));
    let answer = http::get(registry.port(), "/v2/_catalog").await.unwrap();
    assert_eq!(answer.body.trim(), r#"{"repositories":[]}"#);
    assert_eq!(registry.host(), format!("127.0.0.1:{}", registry.port()));

    registry.process().kill();
    http::get(registry.port(), "/v2/").await.unwrap_err();
    registry.process().start().await.unwrap();
    wait_until(SOON, "it answers again", async || http::get(registry.port(), "/v2/").await.is_ok()).await.unwrap();
}
