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

/// An object that the operator reports on.
#[derive(Clone, Copy)]
struct Object {
    kind: &'static str,
    name: &'static str,
}

const CLUSTER: Object = Object { kind: "ClusterVersion", name: "version" };
/// Of the same name as the cluster's object.
const ADD_ON: Object = Object { kind: "ComponentVersion", name: "version" };
/// Of the same kind as the add-on.
const OTHER: Object = Object { kind: "ComponentVersion", name: "mesh" };

impl Object {
    /// A series about it, as a scrape of the operator stores it.
    fn series(self, metric: &str, more: &str) -> String {
        let Object { kind, name } = self;
        format!("{metric}{{job=\"clearway-operator\",namespace=\"ns\",kind=\"{kind}\",name=\"{name}\"{more}}}")
    }

    fn condition(self, condition: &str, reason: &str) -> String {
        self.series("cluster_operator_conditions", &format!(",condition=\"{condition}\",reason=\"{reason}\""))
    }

    fn unknown(self) -> String {
        self.update(",status=\"Unknown\",reason=\"PromQLError\"")
    }

    fn not_recommended(self) -> String {
        self.update(",status=\"False\",reason=\"MultipleReasons\"")
    }

    fn update(self, more: &str) -> String {
        let labels = format!(",version=\"1.5.0\",condition=\"Recommended\"{more}");
        self.series("cluster_version_conditional_update_condition_seconds", &labels)
    }

    fn retrieved(self) -> String {
        self.series("cluster_version_operator_update_retrieval_timestamp_seconds", "")
    }

    fn available(self) -> String {
        self.series("cluster_version_available_updates", ",channel=\"c\",upstream=\"u\"")
    }

    /// The labels of an alert about it.
    fn labels(self, severity: &str, more: Value) -> Value {
        let mut labels = json!({"severity": severity, "namespace": "ns", "kind": self.kind, "name": self.name});
        if let (Some(labels), Value::Object(more)) = (labels.as_object_mut(), more) {
            labels.extend(more);
        }
        labels
    }
}

#[test]
fn u10_alerts_fire_when_they_should_and_not_before() {
    if !have(&[Component::Promtool]) {
        return;
    }
    let up = "up{job=\"clearway-operator\"}";
    let failing = |object: Object| object.condition("Failing", "F");
    let not_accepted = |object: Object| object.condition("ReleaseAccepted", "R");
    let not_retrieved = |object: Object| object.condition("RetrievedUpdates", "RemoteFailed");
    let warning = |object: Object| object.labels("warning", json!({}));
    let for_reason = |object: Object, severity: &str, reason: &str| object.labels(severity, json!({"reason": reason}));
    let unknown_labels = |object: Object| {
        let more =
            json!({"version": "1.5.0", "condition": "Recommended", "status": "Unknown", "reason": "PromQLError"});
        object.labels("warning", more)
    };
    let update_labels = |object: Object| object.labels("info", json!({"channel": "c", "upstream": "u"}));
    let tests = vec![
        case(&[(&CLUSTER.unknown(), "0x120")], "59m", "CannotEvaluateConditionalUpdates", &[]),
        case(&[(&CLUSTER.unknown(), "0x120")], "61m", "CannotEvaluateConditionalUpdates", &[unknown_labels(CLUSTER)]),
        case(&[(&CLUSTER.not_recommended(), "0x120")], "119m", "CannotEvaluateConditionalUpdates", &[]),
        case(
            &[(&CLUSTER.unknown(), "0x120"), (&ADD_ON.unknown(), "0x120"), (&OTHER.not_recommended(), "0x120")],
            "61m",
            "CannotEvaluateConditionalUpdates",
            &[unknown_labels(CLUSTER), unknown_labels(ADD_ON)],
        ),
        case(
            &[(&CLUSTER.retrieved(), "0x120"), (&not_retrieved(CLUSTER), "0x120")],
            "61m",
            "CannotRetrieveUpdates",
            &[warning(CLUSTER)],
        ),
        case(
            &[(&CLUSTER.retrieved(), "0x120"), (&CLUSTER.condition("RetrievedUpdates", "NoChannel"), "0x120")],
            "61m",
            "CannotRetrieveUpdates",
            &[],
        ),
        case(
            &[(&CLUSTER.retrieved(), "0+60x120"), (&not_retrieved(CLUSTER), "0x120")],
            "61m",
            "CannotRetrieveUpdates",
            &[],
        ),
        // Another object's age says nothing about this one's, not even where both have one name.
        case(
            &[(&ADD_ON.retrieved(), "0x120"), (&not_retrieved(CLUSTER), "0x120")],
            "61m",
            "CannotRetrieveUpdates",
            &[],
        ),
        case(
            &[
                (&CLUSTER.retrieved(), "0x120"),
                (&not_retrieved(CLUSTER), "0x120"),
                (&ADD_ON.retrieved(), "0x120"),
                (&not_retrieved(ADD_ON), "0x120"),
                (&OTHER.retrieved(), "0+60x120"),
                (&not_retrieved(OTHER), "0x120"),
            ],
            "61m",
            "CannotRetrieveUpdates",
            &[warning(CLUSTER), warning(ADD_ON)],
        ),
        case(&[(&CLUSTER.available(), "2x10")], "5m", "UpdateAvailable", &[update_labels(CLUSTER)]),
        case(&[(&CLUSTER.available(), "0x10")], "5m", "UpdateAvailable", &[]),
        case(
            &[(&CLUSTER.available(), "2x10"), (&ADD_ON.available(), "1x10"), (&OTHER.available(), "0x10")],
            "5m",
            "UpdateAvailable",
            &[update_labels(CLUSTER), update_labels(ADD_ON)],
        ),
        case(&[(&not_accepted(CLUSTER), "0x120")], "59m", "ClusterReleaseNotAccepted", &[]),
        case(
            &[(&not_accepted(CLUSTER), "0x120"), (&not_accepted(ADD_ON), "0x120"), (&not_accepted(OTHER), "1x120")],
            "61m",
            "ClusterReleaseNotAccepted",
            &[for_reason(CLUSTER, "warning", "R"), for_reason(ADD_ON, "warning", "R")],
        ),
        case(
            &[(&failing(CLUSTER), "1x120"), (&failing(ADD_ON), "1x120"), (&failing(OTHER), "0x120")],
            "31m",
            "ClusterVersionFailing",
            &[for_reason(CLUSTER, "warning", "F"), for_reason(ADD_ON, "warning", "F")],
        ),
        case(&[(&failing(CLUSTER), "0x120")], "31m", "ClusterVersionFailing", &[]),
        case(
            &[(&CLUSTER.condition("Upgradeable", "U"), "0x120"), (&ADD_ON.condition("Upgradeable", "U"), "0x120")],
            "61m",
            "ClusterNotUpgradeable",
            &[for_reason(CLUSTER, "info", "U"), for_reason(ADD_ON, "info", "U")],
        ),
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
