//! Any text as objects, from the reader to every verdict: nothing panics, and a wait comes to an end.
//!
//! The fuzz targets go the same ways with more time; these are what every test run has.

use std::time::Duration;

use clearway_conditions::Object;
use clearway_conditions::health::wait::{Clocks, Decision, Observation, Wait};
use clearway_conditions::health::{Context, OwnedObject, forest, health, progress_token};
use clearway_conditions::lint::{self, History, Policy, Profile};
use clearway_core::{Limits, Timestamp};
use clearway_yaml::{ReadEvent, read, read_fields};
use proptest::prelude::*;
use proptest::sample::select;

const KINDS: &[(&str, &str)] = &[
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "PersistentVolumeClaim"),
    ("batch/v1", "Job"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("gateway.networking.k8s.io/v1", "Gateway"),
    ("gateway.networking.k8s.io/v1", "HTTPRoute"),
    ("serving.knative.dev/v1", "Service"),
    ("config.openshift.io/v1", "ClusterOperator"),
    ("example.com/v1", "Database"),
];

const KEYS: &[&str] = &[
    "conditions",
    "type",
    "status",
    "reason",
    "message",
    "severity",
    "lastTransitionTime",
    "observedGeneration",
    "listeners",
    "parents",
    "replicas",
    "readyReplicas",
    "updatedReplicas",
    "minReadySeconds",
    "suspend",
    "phase",
    "containerStatuses",
    "restartCount",
    "state",
    "waiting",
    "versions",
    "schema",
    "properties",
];

const SCALARS: &[&str] = &[
    "\"True\"",
    "\"False\"",
    "Unknown",
    "true",
    "~",
    "Ready",
    "Failed",
    "Reconciling",
    "Stalled",
    "CrashLoopBackOff",
    "3",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "1.5",
    "2025-06-01T08:05:00Z",
    "1970-01-01T00:00:00Z",
    "9999-12-30T22:00:00Z",
    "25%",
    "''",
    "é",
];

/// A value in the flow form of YAML.
fn any_value() -> impl Strategy<Value = String> {
    select(SCALARS).prop_map(str::to_owned).prop_recursive(5, 48, 6, |inner| {
        let field = (select(KEYS), inner.clone()).prop_map(|(key, value)| format!("{key}: {value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec(field, 0..6).prop_map(|fields| format!("{{{}}}", fields.join(", "))),
        ]
    })
}

fn any_object() -> impl Strategy<Value = String> {
    (select(KINDS), any_value(), any_value(), select(SCALARS), 0..4, 0..4).prop_map(
        |((api_version, kind), spec, status, time, uid, owner)| {
            format!(
                "---\napiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a{uid}, uid: u{uid}, generation: 2, \
                 deletionTimestamp: {time}, ownerReferences: [{{uid: u{owner}, controller: true}}]}}\nspec: {spec}\n\
                 status: {status}\n"
            )
        },
    )
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}

/// Lints the objects of a text in every profile, alone and as a history; says how many there are.
fn lint_all(text: &str) -> usize {
    let mut policies = vec![Policy::new(now())];
    policies.extend(Profile::ALL.map(|profile| Policy { profile: Some(profile), ..Policy::new(now()) }));
    let mut histories: Vec<History> = policies.iter().map(|_| History::new()).collect();
    let (mut count, mut findings) = (0, Vec::new());
    read_fields(text.as_bytes(), "x", &Limits::default(), lint::needs_field, |found| {
        if let ReadEvent::Object { root, source, list } = found
            && let Ok(object) = Object::new(root, source, list)
        {
            count += 1;
            for (policy, history) in policies.iter().zip(&mut histories) {
                lint::lint(&object, policy, &mut findings);
                history.push(&object, policy, &mut findings);
            }
        }
    });
    count
}

/// Judges the objects of a text, hangs them below their owners, waits for them; says how many there are.
fn judge_all(text: &str) -> usize {
    let (mut owned, mut seen) = (Vec::new(), Vec::new());
    read(text.as_bytes(), "x", &Limits::default(), |found| {
        if let ReadEvent::Object { root, source, list } = found
            && let Ok(object) = Object::new(root, source, list)
        {
            let verdict = health(&object, &Context::at(now()));
            owned.push(OwnedObject::new(&object, verdict.state));
            let progress_token = progress_token(&object);
            seen.push((object.id(), Observation::Verdict { verdict, progress_token }));
        }
    });
    let (count, mut visited) = (owned.len(), 0);
    for tree in forest(owned) {
        tree.walk(&mut |_, _| visited += 1);
    }
    assert_eq!(visited, count, "every object stands somewhere");
    let clocks = Clocks {
        per_object: Some(Duration::from_mins(1)),
        no_progress: Some(Duration::from_secs(90)),
        ..Clocks::default()
    };
    let mut wait = Wait::new(seen.iter().map(|(id, _)| id.clone()), clocks, now());
    for (id, observation) in seen {
        wait.observe(&id, observation, now());
    }
    let mut at = now();
    for _ in 0..1_000 {
        match wait.step(at) {
            Decision::Wait { until } => {
                assert!(until > at, "a wait that does not move on");
                at = until;
            }
            Decision::Done(_) => return count,
        }
    }
    panic!("the wait does not end");
}

proptest! {
    #[test]
    fn objects_of_any_content_are_linted_and_judged(objects in prop::collection::vec(any_object(), 1..5)) {
        let text = objects.concat();
        prop_assert_eq!(lint_all(&text), objects.len());
        prop_assert_eq!(judge_all(&text), objects.len());
    }

    #[test]
    fn any_text_is_linted_and_judged(text in "(apiVersion: v1\\n|kind: [A-C]\\n|metadata: \\{\\}\\n|status: |[a-z]{1,3}: |- |[\\[\\]{}&*~é]|\\n ?|---\\n){0,40}") {
        lint_all(&text);
        judge_all(&text);
    }
}
