//! The alerts, judged by Prometheus' own `promtool test rules`.

use std::fs;
use std::process::Command;

use clearway_bundle::to_yaml;
use clearway_operator::install::alerts;
use clearway_testbed::{Component, have};
use serde_json::{Value, json};

/// A case: the series as `promtool` writes them, when it is looked, and the alerts with their labels that fire then.
fn case(series: &[(&str, &str)], at: &str, alert: &str, fires: &[Value]) -> Value {
    let series: Vec<Value> =
        series.iter().map(|(series, values)| json!({"series": series, "values": values})).collect();
    let firing: Vec<Value> = fires.iter().map(|labels| json!({"exp_labels": labels})).collect();
    json!({
        "interval": "1m",
        "input_series": series,
        "alert_rule_test": [{"eval_time": at, "alertname": alert, "exp_alerts": firing}],
    })
}

#[test]
fn u10_alerts_fire_when_they_should_and_not_before() {
    if !have(&[Component::Promtool]) {
        return;
    }
    let unknown = "cluster_version_conditional_update_condition_seconds{version=\"1.5.0\",condition=\"Recommended\",\
                   status=\"Unknown\",reason=\"PromQLError\"}";
    let known = "cluster_version_conditional_update_condition_seconds{version=\"1.5.0\",condition=\"Recommended\",\
                 status=\"False\",reason=\"MultipleReasons\"}";
    let unknown_labels = json!({
        "severity": "warning", "version": "1.5.0", "condition": "Recommended", "status": "Unknown", "reason": "PromQLError",
    });
    let retrieved = "cluster_version_operator_update_retrieval_timestamp_seconds{job=\"clearway-operator\",name=\"version\",namespace=\"ns\"}";
    let condition = |condition: &str, reason: &str| {
        format!(
            "cluster_operator_conditions{{job=\"clearway-operator\",name=\"version\",condition=\"{condition}\",reason=\"{reason}\",namespace=\"ns\"}}"
        )
    };
    let severity = |severity: &str, reason: &str| json!({"severity": severity, "namespace": "ns", "name": "version", "reason": reason});
    let up = "up{job=\"clearway-operator\"}";
    let tests = vec![
        case(&[(unknown, "0x120")], "59m", "CannotEvaluateConditionalUpdates", &[]),
        case(&[(unknown, "0x120")], "61m", "CannotEvaluateConditionalUpdates", &[unknown_labels]),
        case(&[(known, "0x120")], "119m", "CannotEvaluateConditionalUpdates", &[]),
        case(
            &[(retrieved, "0x120"), (&condition("RetrievedUpdates", "RemoteFailed"), "0x120")],
            "61m",
            "CannotRetrieveUpdates",
            &[json!({"severity": "warning", "namespace": "ns", "name": "version"})],
        ),
        case(
            &[(retrieved, "0x120"), (&condition("RetrievedUpdates", "NoChannel"), "0x120")],
            "61m",
            "CannotRetrieveUpdates",
            &[],
        ),
        case(
            &[(retrieved, "0+60x120"), (&condition("RetrievedUpdates", "RemoteFailed"), "0x120")],
            "61m",
            "CannotRetrieveUpdates",
            &[],
        ),
        case(
            &[("cluster_version_available_updates{channel=\"c\",upstream=\"u\",namespace=\"ns\"}", "2x10")],
            "5m",
            "UpdateAvailable",
            &[json!({"severity": "info", "channel": "c", "upstream": "u", "namespace": "ns"})],
        ),
        case(
            &[("cluster_version_available_updates{channel=\"c\",upstream=\"u\",namespace=\"ns\"}", "0x10")],
            "5m",
            "UpdateAvailable",
            &[],
        ),
        case(&[(&condition("ReleaseAccepted", "R"), "0x120")], "59m", "ClusterReleaseNotAccepted", &[]),
        case(
            &[(&condition("ReleaseAccepted", "R"), "0x120")],
            "61m",
            "ClusterReleaseNotAccepted",
            &[severity("warning", "R")],
        ),
        case(&[(&condition("Failing", "F"), "1x120")], "31m", "ClusterVersionFailing", &[severity("warning", "F")]),
        case(&[(&condition("Failing", "F"), "0x120")], "31m", "ClusterVersionFailing", &[]),
        // Another component's age says nothing about this one's.
        case(
            &[(&retrieved.replace("\"version\"", "\"mesh\""), "0x120"), (&condition("RetrievedUpdates", "R"), "0x120")],
            "61m",
            "CannotRetrieveUpdates",
            &[],
        ),
        case(&[(&condition("Upgradeable", "U"), "0x120")], "61m", "ClusterNotUpgradeable", &[severity("info", "U")]),
        case(&[(up, "1x5 0x120")], "10m", "ClearwayOperatorDown", &[]),
        case(&[(up, "1x5 0x120")], "20m", "ClearwayOperatorDown", &[json!({"severity": "critical"})]),
    ];
    let names: Vec<&str> = tests.iter().map(|test| test["alert_rule_test"][0]["alertname"].as_str().unwrap()).collect();
    let rules = alerts::rules();
    for rule in rules["groups"][0]["rules"].as_array().unwrap() {
        assert!(names.contains(&rule["alert"].as_str().unwrap()), "{rule} is tried");
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("alerts.yaml"), to_yaml(&bare(rules)).unwrap()).unwrap();
    let test = json!({"rule_files": ["alerts.yaml"], "evaluation_interval": "1m", "tests": tests});
    fs::write(dir.path().join("test.yaml"), to_yaml(&test).unwrap()).unwrap();
    let promtool = Component::Promtool.find().unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new(&promtool).current_dir(dir.path()).args(arguments).output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}");
    };
    run(&["test", "rules", "test.yaml"]);
    fs::write(dir.path().join("whole.yaml"), to_yaml(&alerts::rules()).unwrap()).unwrap();
    run(&["check", "rules", "whole.yaml"]);
}

/// What an alert says is for people; what is tried is when it says it.
fn bare(mut rules: Value) -> Value {
    for rule in rules["groups"][0]["rules"].as_array_mut().unwrap() {
        rule.as_object_mut().unwrap().remove("annotations");
    }
    rules
}
