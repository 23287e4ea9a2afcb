//! Alerts that speak against an update while they fire, as `oc adm upgrade recommend` has them.
//!
//! They are read as the series `ALERTS` of a metrics store, which every Prometheus-compatible API has; of a state
//! directory, from its metrics feed.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use clearway_promql::eval::{self, Sample, Settings, Value};
use clearway_promql::{Labels, Limits, Millis, Query};
use clearway_sources::{clock, metrics_directory};

use super::prechecks::{Precheck, PrecheckResult};
use crate::arguments::UpgradeRecommend;

/// The series that Prometheus keeps of its alerts, and one sample more: an answer without any would not say which time it is
/// of, so that one of another time could be taken for the news that no alert fires.
const FIRING: &str = "ALERTS{alertstate=\"firing\"} or vector(0)";
/// The name of the check if no alert has to be named.
const ALERTS: &str = "Alerts";
/// The name of the issue that alerts could not be read.
const FAILED: &str = "FailedToCompletePrecheck";
/// Series of one alert that are named.
const NAMED: usize = 3;

/// Which alerts matter. The first group that an alert belongs to counts.
static GROUPS: [Group; 6] = [
    Group {
        name: "CriticalAlerts",
        effect: "significant problems of the cluster, worth investigating first",
        has: |alert| alert.get("severity") == "critical",
    },
    Group {
        name: "PodDisruptionBudgetAlerts",
        effect: "drains of nodes may be slow or blocked",
        has: |alert| alert.get("alertname") == "PodDisruptionBudgetAtLimit",
    },
    Group {
        name: "PodImagePullAlerts",
        effect: "images may not be pulled, so that rollouts are slow",
        has: |alert| alert.get("alertname") == "KubeContainerWaiting",
    },
    Group {
        name: "NodeAlerts",
        effect: "nodes are not healthy, so that their update may be slow or fail",
        has: |alert| {
            ["KubeletHealthState", "KubeNodeNotReady", "KubeNodeReadinessFlapping", "KubeNodeUnreachable"]
                .contains(&alert.get("alertname"))
        },
    },
    Group {
        name: "UpdatePrecheckAlerts",
        effect: "its owner marked it as a reason not to update",
        has: |alert| alert.get("openShiftUpdatePrecheck") == "true",
    },
    Group {
        name: "VirtAlerts",
        effect: "virtual machines cannot be moved, so that drains of nodes are blocked",
        has: |alert| ["VirtHandlerDaemonSetRolloutFailing", "VMCannotBeEvicted"].contains(&alert.get("alertname")),
    },
];

/// Alerts with the same effect on an update.
struct Group {
    name: &'static str,
    effect: &'static str,
    has: fn(&Labels) -> bool,
}

/// Looks at the alerts of the metrics store that is named, if one is.
pub(super) async fn check(options: &UpgradeRecommend, state: Option<&Path>) -> Result<Vec<Precheck>> {
    let firing = match (options.prometheus.client(options.ca.file.clone())?, state) {
        (Some(prometheus), _) => {
            prometheus.instant(FIRING, None).await.map(|answer| answer.value).map_err(|error| error.to_string())
        }
        (None, Some(state)) if has_feed(&state.join("metrics")) => of_directory(&state.join("metrics")),
        (None, _) => {
            let message = "Pass --prometheus URL to check whether alerts that speak against an update are firing.";
            return Ok(vec![Precheck::new(ALERTS, PrecheckResult::NotChecked, "", message)]);
        }
    };
    Ok(match firing {
        Ok(Value::Vector(samples)) if !samples.is_empty() => judge(&samples),
        Ok(_) => vec![Precheck::new(FAILED, PrecheckResult::Unknown, ALERTS, "The answer is not a list of alerts.")],
        Err(why) => vec![Precheck::new(FAILED, PrecheckResult::Unknown, ALERTS, &why)],
    })
}

/// Whether a directory has a file of metrics: every state directory has the directory.
fn has_feed(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.path().extension().is_some_and(|extension| extension == "prom"))
}

/// The alerts of a metrics feed, as of now.
fn of_directory(directory: &Path) -> Result<Value, String> {
    let now = clock::now();
    let series = metrics_directory::series(directory, now)?;
    let query = Query::parse(FIRING, &Limits::default()).map_err(|errors| errors.to_string())?;
    let time = Millis(now.as_seconds().saturating_mul(1_000));
    let answer = eval::instant(&query, &series, time, &Settings::default()).map_err(|error| error.to_string())?;
    Ok(answer.value)
}

/// One precheck for each alert that matters, by name; one that is passed if none does.
fn judge(samples: &[Sample]) -> Vec<Precheck> {
    let mut found: BTreeMap<(&str, &str), (&Group, Vec<String>)> = BTreeMap::new();
    for sample in samples {
        let labels = &sample.labels;
        if let Some(group) = GROUPS.iter().find(|group| (group.has)(labels)) {
            let key = (labels.get("alertname"), labels.get("severity"));
            found.entry(key).or_insert_with(|| (group, Vec::new())).1.push(subject(labels));
        }
    }
    if found.is_empty() {
        let message = "No alert that is a reason not to update is firing.";
        return vec![Precheck::new(ALERTS, PrecheckResult::Passed, "", message)];
    }
    let precheck = |((name, severity), (group, mut subjects)): ((&str, &str), (&Group, Vec<String>))| {
        subjects.retain(|subject| !subject.is_empty());
        let more = match subjects.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        subjects.truncate(NAMED);
        let about = if subjects.is_empty() { String::new() } else { format!(" for {}{more}", subjects.join("; ")) };
        let severity = if severity.is_empty() { String::new() } else { format!("{severity} ") };
        let message = format!("The {severity}alert {name} is firing{about}: {}.", group.effect);
        Precheck::new(name, PrecheckResult::Concern, group.name, &message)
    };
    found.into_iter().map(precheck).collect()
}

/// What an alert is about, by the labels that name objects.
fn subject(labels: &Labels) -> String {
    let objects = ["namespace", "poddisruptionbudget", "pod", "node", "name"];
    let named = objects.iter().map(|label| (label, labels.get(label))).filter(|(_, value)| !value.is_empty());
    named.map(|(label, value)| format!("{label} {value}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(labels: &[(&str, &str)]) -> Sample {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Sample { labels: Labels::new(labels), value: 1.0 }
    }

    #[test]
    fn alerts_that_matter_are_named_with_their_objects() {
        let samples = [
            sample(&[("alertname", "Watchdog"), ("severity", "none")]),
            sample(&[("alertname", "EtcdDown"), ("severity", "critical")]),
            sample(&[
                ("alertname", "PodDisruptionBudgetAtLimit"),
                ("severity", "warning"),
                ("namespace", "a"),
                ("poddisruptionbudget", "p"),
            ]),
        ];
        let found = judge(&samples);
        let names: Vec<(&str, &str)> = found.iter().map(|one| (one.name.as_str(), one.reason.as_str())).collect();
        assert_eq!(
            names,
            [("EtcdDown", "CriticalAlerts"), ("PodDisruptionBudgetAtLimit", "PodDisruptionBudgetAlerts")]
        );
        assert!(found[1].message.contains("for namespace a, poddisruptionbudget p: drains"), "{}", found[1].message);
    }

    #[test]
    fn other_alerts_do_not_matter() {
        let found = judge(&[sample(&[("alertname", "Watchdog"), ("severity", "none")])]);
        assert_eq!(found[0].result, PrecheckResult::Passed);
    }
}
