//! Metrics of what is kept current, under the names that dashboards and alerts of cluster versions know.
//!
//! Nothing is counted on the side: a scrape is a view of the objects as they are, so it cannot fall behind them, and
//! series of what is gone are gone. Every family has the `kind` and `name` of the object, so that add-ons do not collide with
//! the cluster or with each other.

use std::fmt;

use clearway_conditions::Status as Word;
use clearway_core::{Address, Timestamp};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::driver::ObjectReport;
use clearway_update::api::{UpdateState, VersionObject};
use clearway_update::reconciler::Counts;
use clearway_update::rollout::Rollout;

/// Labels of a series.
type Labels = Vec<(&'static str, String)>;

/// A family of series with one name.
struct Family {
    name: &'static str,
    help: &'static str,
    series: Vec<(Labels, i64)>,
}

/// The metrics of some objects, and whether this replica leads.
pub fn text(shown: &[ObjectReport], leads: bool) -> String {
    let objects: Vec<(VersionObject, &ObjectReport)> = shown
        .iter()
        .filter_map(|shown| VersionObject::read(&shown.object).ok().map(|(object, _)| (object, shown)))
        .collect();
    let mut families = vec![Family {
        name: "clearway_operator_leads",
        help: "Whether this replica is the leader",
        series: vec![(Vec::new(), i64::from(leads))],
    }];
    families.extend(gauges(&objects));
    let counters = objects.iter().map(|(object, shown)| (of_object(object), shown.counts)).collect();
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Families(families)));
    registry.register_collector(Box::new(Counters(counters)));
    let mut text = String::new();
    // Writing to a text fails only if there is no memory.
    let _ = encode(&mut text, &registry);
    text
}

fn gauges(objects: &[(VersionObject, &ObjectReport)]) -> Vec<Family> {
    let mut version =
        Family::new("cluster_version", "When a version reached the state of its type, in seconds since 1970");
    let mut available = Family::new("cluster_version_available_updates", "Updates that are recommended");
    let mut conditional = Family::new(
        "cluster_version_conditional_update_condition_seconds",
        "When a condition of a conditional update last changed its status, in seconds since 1970",
    );
    let mut retrieved = Family::new(
        "cluster_version_operator_update_retrieval_timestamp_seconds",
        "When updates were last retrieved from the update service, in seconds since 1970",
    );
    let mut up = Family::new("cluster_operator_up", "Whether a version is available");
    let mut conditions = Family::new("cluster_operator_conditions", "The conditions of a version: 1 True, 0 False");
    let mut transitions = Family::new(
        "cluster_operator_condition_transitions",
        "Status changes of a condition since this replica became leader",
    );
    let mut payload = Family::new("cluster_version_payload", "Objects of the release, pending and applied");
    let mut errors = Family::new("cluster_operator_payload_errors", "Objects of the release that cannot be applied");
    for (object, shown) in objects {
        let status = object.status.clone().unwrap_or_default();
        let of_object = of_object(object);
        let own = |labels: Labels| [&of_object[..], &labels].concat();
        versions(&mut version, object, &of_object);
        let upstream = object.spec.upstream.as_deref().map(Address::from);
        let upstream = upstream.map_or_else(|| "<default>".to_owned(), |address| address.to_string());
        let channel = object.spec.channel.clone().unwrap_or_default();
        let labels = own(vec![("upstream", upstream), ("channel", channel)]);
        available.add(labels, count(status.available_updates.len()));
        for update in &status.conditional_updates {
            for condition in update.conditions.iter() {
                let labels = vec![
                    ("version", update.release.version.clone()),
                    ("condition", condition.type_.to_owned()),
                    ("status", condition.status.as_str().to_owned()),
                    ("reason", condition.reason.to_owned()),
                ];
                conditional.add(own(labels), condition.last_transition_time.map_or(0, Timestamp::as_seconds));
            }
        }
        if let Some(at) = shown.retrieved_at {
            retrieved.add(own(Vec::new()), at.as_seconds());
        }
        let is_available = status.conditions.get("Available");
        let reason = is_available.as_ref().map_or("NoAvailableCondition", |condition| condition.reason).to_owned();
        let labels = own(vec![("version", status.desired.version.clone()), ("reason", reason)]);
        up.add(labels, i64::from(is_available.is_some_and(|condition| condition.status == Word::True)));
        for condition in status.conditions.iter().filter(|condition| condition.status != Word::Unknown) {
            let labels = own(vec![("condition", condition.type_.to_owned()), ("reason", condition.reason.to_owned())]);
            conditions.add(labels, i64::from(condition.status == Word::True));
        }
        for (condition, changes) in shown.transitions.iter() {
            let changes = i64::try_from(*changes).unwrap_or(i64::MAX);
            transitions.add(own(vec![("condition", condition.clone())]), changes);
        }
        if let Rollout::Applying { prepared, progress, .. } = &shown.rollout {
            let version = || ("version", prepared.version.clone());
            let label = |kind: &str| own(vec![version(), ("type", kind.to_owned())]);
            errors.add(own(vec![version()]), count(progress.failed));
            payload.add(label("applied"), count(progress.done));
            payload.add(label("pending"), count(progress.total.saturating_sub(progress.done)));
        }
    }
    vec![version, available, conditional, retrieved, up, conditions, transitions, payload, errors]
}

/// Which object a series is about.
fn of_object(object: &VersionObject) -> Labels {
    vec![("kind", object.kind.to_string()), ("name", object.name().to_owned())]
}

/// The versions of an object by what they are to it.
fn versions(family: &mut Family, object: &VersionObject, of_object: &[(&'static str, String)]) {
    let status = object.status.clone().unwrap_or_default();
    let mut add = |kind: &str, version: &str, image: &str, from: &str, at: Option<Timestamp>| {
        let labels = vec![
            ("type", kind.to_owned()),
            ("version", version.to_owned()),
            ("image", image.to_owned()),
            ("from_version", from.to_owned()),
        ];
        family.add([of_object, &labels].concat(), at.map_or(0, Timestamp::as_seconds));
    };
    let history = &status.history;
    let completed = history.iter().find(|entry| entry.state == UpdateState::Completed);
    if let Some(first) = history.last() {
        let (version, image) = (&first.version, &first.image);
        add("initial", version, image, "", Some(first.started_time));
        add("cluster", &status.desired.version, &status.desired.image, version, Some(first.started_time));
    }
    if let Some(entry) = completed {
        add("current", &entry.version, &entry.image, "", entry.completion_time);
        add("completed", &entry.version, &entry.image, "", entry.completion_time);
    }
    if let Some(newest) = status.open_entry() {
        let from = completed.map(|entry| entry.version.as_str()).unwrap_or_default();
        add("desired", &newest.version, &newest.image, from, Some(newest.started_time));
        add("updating", &newest.version, &newest.image, from, Some(newest.started_time));
        if let Some(failing) = status.conditions.get("Failing").filter(|condition| condition.status == Word::True) {
            add("failure", &newest.version, &newest.image, from, failing.last_transition_time);
        }
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Family {
    fn new(name: &'static str, help: &'static str) -> Self {
        Family { name, help, series: Vec::new() }
    }

    fn add(&mut self, labels: Labels, value: i64) {
        self.series.push((labels, value));
    }
}

/// Gauges, in the order they were made.
struct Families(Vec<Family>);

impl fmt::Debug for Families {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|family| family.name)).finish()
    }
}

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for family in &self.0 {
            let kind = ConstGauge::new(0_i64).metric_type();
            let mut metric = encoder.encode_descriptor(family.name, family.help, None, kind)?;
            for (labels, value) in &family.series {
                ConstGauge::new(*value).encode(metric.encode_family(labels)?)?;
            }
        }
        Ok(())
    }
}

/// What was done for each object since the start.
#[derive(Debug)]
struct Counters(Vec<(Labels, Counts)>);

impl Collector for Counters {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        type Value = fn(&Counts) -> u64;
        let families: [(&str, &str, Value); 3] = [
            ("clearway_operator_queries_answered", "Queries that were answered", |counts| counts.answered),
            ("clearway_operator_queries_failed", "Queries that failed", |counts| counts.failed),
            ("clearway_operator_status_writes", "Statuses that were stored", |counts| counts.stored),
        ];
        for (name, help, value) in families {
            let kind = ConstCounter::new(0_u64).metric_type();
            let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
            for (labels, counts) in &self.0 {
                ConstCounter::new(value(counts)).encode(metric.encode_family(labels)?)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_update::api::Release;
    use clearway_update::rollout::{Failure, PreparedRelease, Progress, UpdateRequest};
    use serde_json::json;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    #[test]
    fn a_scrape_is_a_view_of_the_objects() {
        let object = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
            "spec": {"clusterID": "x", "channel": "stable-1"},
            "status": {
                "desired": {"version": "1.0.1", "image": "i1"}, "observedGeneration": 1, "versionHash": "", "availableUpdates": null,
                "history": [
                    {"state": "Partial", "startedTime": "2026-01-02T00:00:00Z", "completionTime": null, "version": "1.0.1", "image": "i1", "verified": false},
                    {"state": "Completed", "startedTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T01:00:00Z", "version": "1.0.0", "image": "i0", "verified": true},
                ],
                "conditions": [
                    {"type": "Available", "status": "True", "reason": "AsExpected", "lastTransitionTime": "2026-01-01T00:00:00Z"},
                    {"type": "Failing", "status": "True", "reason": "Stuck", "lastTransitionTime": "2026-01-02T00:30:00Z"},
                    {"type": "Ready", "status": "Unknown", "reason": "X", "lastTransitionTime": "2026-01-02T00:30:00Z"},
                ],
                "conditionalUpdates": [{"release": {"version": "1.1.0", "image": "i2"}, "risks": [], "conditions": [
                    {"type": "Recommended", "status": "Unknown", "reason": "PromQLError", "message": "", "lastTransitionTime": "2026-01-02T00:00:00Z"},
                ]}],
            },
        });
        let counts = Counts { answered: 3, failed: 1, stored: 2 };
        let transitions = Arc::new(BTreeMap::from([("Failing".to_owned(), 3)]));
        let shown = ObjectReport {
            object: Arc::new(object),
            retrieved_at: Timestamp::from_seconds(7).ok(),
            counts,
            transitions,
            rollout: Rollout::Idle,
            assessment: None,
        };

        let text = text(&[shown], true);
        for line in [
            "clearway_operator_leads{} 1",
            "cluster_version{kind=\"ClusterVersion\",name=\"version\",type=\"initial\",version=\"1.0.0\",image=\"i0\",from_version=\"\"} 1767225600",
            "cluster_version{kind=\"ClusterVersion\",name=\"version\",type=\"updating\",version=\"1.0.1\",image=\"i1\",from_version=\"1.0.0\"} 1767312000",
            "cluster_version{kind=\"ClusterVersion\",name=\"version\",type=\"failure\",version=\"1.0.1\",image=\"i1\",from_version=\"1.0.0\"} 1767313800",
            "cluster_version_available_updates{kind=\"ClusterVersion\",name=\"version\",upstream=\"<default>\",channel=\"stable-1\"} 0",
            "cluster_version_conditional_update_condition_seconds{kind=\"ClusterVersion\",name=\"version\",version=\"1.1.0\",condition=\"Recommended\",status=\"Unknown\",reason=\"PromQLError\"} 1767312000",
            "cluster_operator_up{kind=\"ClusterVersion\",name=\"version\",version=\"1.0.1\",reason=\"AsExpected\"} 1",
            "cluster_operator_conditions{kind=\"ClusterVersion\",name=\"version\",condition=\"Failing\",reason=\"Stuck\"} 1",
            "cluster_operator_condition_transitions{kind=\"ClusterVersion\",name=\"version\",condition=\"Failing\"} 3",
            "cluster_version_operator_update_retrieval_timestamp_seconds{kind=\"ClusterVersion\",name=\"version\"} 7",
            "clearway_operator_queries_failed_total{kind=\"ClusterVersion\",name=\"version\"} 1",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        assert!(!text.contains("condition=\"Ready\""), "what is not known is not said");
    }

    /// Everybody who may scrape the operator sees the labels.
    #[test]
    fn a_scrape_has_no_credentials_of_the_update_service() {
        let of_upstream = |upstream: &str| {
            let object = json!({
                "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
                "spec": {"clusterID": "x", "channel": "c", "upstream": upstream},
            });
            let shown = ObjectReport {
                object: Arc::new(object),
                retrieved_at: None,
                counts: Counts::default(),
                transitions: Arc::default(),
                rollout: Rollout::Idle,
                assessment: None,
            };
            text(&[shown], true)
        };
        for upstream in [
            "https://someone:pass-word@updates.example.com/api?token=to-ken",
            "someone:pass-word@updates.example.com/api?token=to-ken",
            "https://updates.example.com/api?someone=pass-word&token=to-ken",
        ] {
            let text = of_upstream(upstream);
            assert!(text.contains("updates.example.com"), "{text}");
            for secret in ["someone:", "pass-word", "to-ken"] {
                assert!(!text.contains(secret), "{upstream}: {text}");
            }
        }
        assert!(!of_upstream("https://someone@updates.example.com").contains("someone"));
    }

    /// However many there are: a status names only some of them.
    #[test]
    fn every_object_that_cannot_be_applied_is_counted() {
        let object = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
            "spec": {"clusterID": "x"},
        });
        let failure =
            |number: usize| Failure { reason: "Refused".into(), message: format!("ConfigMap shop/c{number}: no") };
        let progress = Progress { done: 1, total: 40, ..Progress::default() };
        let progress = progress.with_failures((0..25).map(failure).collect());
        assert_eq!(progress.failures.len(), 11);
        let request = UpdateRequest {
            release: Release { image: "i".into(), ..Release::default() },
            force: false,
            resumes: false,
        };
        let prepared = PreparedRelease { version: "1.0.1".into(), ..PreparedRelease::default() };
        let shown = ObjectReport {
            object: Arc::new(object),
            retrieved_at: None,
            counts: Counts::default(),
            transitions: Arc::default(),
            rollout: Rollout::Applying { request, prepared, progress },
            assessment: None,
        };
        let text = text(&[shown], true);
        for line in [
            "cluster_operator_payload_errors{kind=\"ClusterVersion\",name=\"version\",version=\"1.0.1\"} 25",
            "cluster_version_payload{kind=\"ClusterVersion\",name=\"version\",version=\"1.0.1\",type=\"applied\"} 1",
            "cluster_version_payload{kind=\"ClusterVersion\",name=\"version\",version=\"1.0.1\",type=\"pending\"} 39",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
    }
}
