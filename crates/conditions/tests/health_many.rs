//! Many objects: the roll-up does not depend on their order, the trees lose none, and no object makes the judge panic.

use clearway_conditions::Object;
use clearway_conditions::health::{Context, OwnedObject, State, Tally, aggregate, forest, health, progress_token};
use clearway_core::{ObjectId, Timestamp};
use clearway_yaml::{Source, Tape};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn the_worst_state_is_the_state_of_all() {
    use State::{Current, Failed, InProgress, NotFound, Suspended, Terminating, Unknown};
    for (states, want) in [
        (&[][..], Current),
        (&[Current, Current], Current),
        (&[Current, Suspended], Suspended),
        (&[Suspended, InProgress], InProgress),
        (&[Current, Terminating], InProgress),
        (&[Current, NotFound], InProgress),
        (&[InProgress, Unknown, NotFound], Unknown),
        (&[Unknown, Failed, Current], Failed),
    ] {
        assert_eq!(aggregate(states.iter().copied()), want, "{states:?}");
    }
}

#[test]
fn a_tally_says_how_many_and_that_there_were_none() {
    let tally: Tally = [State::Current, State::Failed, State::Current].into_iter().collect();
    assert_eq!(tally.to_string(), "3 objects: 2 Current, 1 Failed");
    assert_eq!(tally.state(), State::Failed);
    assert_eq!((Tally::default().to_string(), Tally::default().state()), ("0 objects".to_owned(), State::Current));
}

fn object(name: &str, owners: &[&str]) -> OwnedObject<()> {
    let id = ObjectId { kind: "Thing".to_owned(), name: name.to_owned(), ..ObjectId::default() };
    let owners = owners.iter().map(|owner| format!("uid-{owner}")).collect();
    OwnedObject { id, uid: format!("uid-{name}"), owners, value: () }
}

/// The trees as lines, `b` below `a` as `a/b`.
fn shape(items: Vec<OwnedObject<()>>) -> Vec<String> {
    let mut lines = Vec::new();
    for tree in &forest(items) {
        let mut path: Vec<&str> = Vec::new();
        tree.walk(&mut |depth, tree| {
            path.truncate(depth);
            path.push(&tree.id.name);
            lines.push(path.join("/"));
        });
    }
    lines
}

#[test]
fn what_is_owned_stands_below_its_owner_in_order() {
    let items = vec![object("pod", &["rs"]), object("rs", &["web"]), object("web", &[]), object("api", &[])];
    assert_eq!(shape(items), ["api", "web", "web/rs", "web/rs/pod"]);
    let items = vec![object("c", &["a"]), object("b", &["a"]), object("a", &[])];
    assert_eq!(shape(items), ["a", "a/b", "a/c"]);
}

#[test]
fn missing_owners_circles_and_doubles_lose_nothing() {
    assert_eq!(shape(vec![object("orphan", &["gone"])]), ["orphan"]);
    assert_eq!(shape(vec![object("child", &["gone", "there"]), object("there", &[])]), ["there", "there/child"]);
    assert_eq!(shape(vec![object("self", &["self"])]), ["self"]);
    let circle = vec![object("c", &["b"]), object("b", &["a"]), object("a", &["c"]), object("d", &["b"])];
    assert_eq!(shape(circle), ["a", "a/b", "a/b/c", "a/b/d"]);
    assert_eq!(shape(vec![object("a", &[]), object("a", &[]), object("b", &["a"])]), ["a", "a/b", "a"]);
}

#[test]
fn a_chain_deeper_than_the_stack_is_cut_and_not_lost() {
    let names: Vec<_> = (0..100_000).map(|number| format!("n{number:06}")).collect();
    let mut items = vec![object(&names[0], &[])];
    items.extend(names.windows(2).map(|pair| object(&pair[1], &[&pair[0]])));
    let trees = forest(items);
    let (mut count, mut deepest) = (0, 0);
    for tree in &trees {
        tree.walk(&mut |depth, _| {
            count += 1;
            deepest = deepest.max(depth);
        });
    }
    assert_eq!((count, deepest), (100_000, 32));
}

const KINDS: [(&str, &str); 22] = [
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Namespace"),
    ("v1", "Node"),
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("policy/v1", "PodDisruptionBudget"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("networking.k8s.io/v1", "Ingress"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apiregistration.k8s.io/v1", "APIService"),
    ("gateway.networking.k8s.io/v1", "Gateway"),
    ("gateway.networking.k8s.io/v1", "HTTPRoute"),
    ("example.com/v1", "Widget"),
    ("tekton.dev/v1", "PipelineRun"),
];

/// The words the rules look for, so that arbitrary objects reach them.
const WORDS: &str = "conditions|type|status|reason|message|severity|observedGeneration|lastTransitionTime|phase|\
    replicas|readyReplicas|updatedReplicas|availableReplicas|currentReplicas|fullyLabeledReplicas|\
    desiredNumberScheduled|containerStatuses|name|state|waiting|terminated|exitCode|startTime|suspend|paused|\
    updateStrategy|rollingUpdate|partition|minReadySeconds|completions|loadBalancer|ingress|clusterIP|\
    parents|parentRefs|progressDeadlineSeconds|ttlSecondsAfterFinished";
const TEXTS: &str = "Ready|Available|Progressing|Stalled|Reconciling|Succeeded|Degraded|Established|NamesAccepted|\
    Complete|Failed|PodScheduled|Unschedulable|Accepted|Programmed|AbleToScale|True|False|Unknown|Running|Pending|Bound|LoadBalancer|\
    CrashLoopBackOff|OnDelete|2024-05-01T11:00:00Z|9223372036854775808|Info";

fn any_value() -> impl Strategy<Value = Value> {
    let word =
        |words: &str| prop::sample::select(words.split('|').map(|word| word.trim().to_owned()).collect::<Vec<_>>());
    let leaf = prop_oneof![
        1 => Just(json!(null)),
        1 => any::<bool>().prop_map(|truth| json!(truth)),
        2 => prop_oneof![any::<i64>(), -2..5_i64].prop_map(|number| json!(number)),
        1 => any::<f64>().prop_map(|number| json!(number)),
        4 => word(TEXTS).prop_map(|text| json!(text)),
        1 => "\\PC{0,8}".prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(word(WORDS), inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_condition() -> impl Strategy<Value = Value> {
    let word = || prop::sample::select(TEXTS.split('|').map(str::trim).collect::<Vec<_>>());
    (word(), word(), any_value(), any_value()).prop_map(|(name, status, reason, observed)| {
        json!({"type": name, "status": status, "reason": reason, "observedGeneration": observed})
    })
}

proptest! {
    #[test]
    fn the_roll_up_does_not_depend_on_the_order(
        states in prop::collection::vec(prop::sample::select(State::ALL.to_vec()), 0..12),
        cut in 0..12_usize,
    ) {
        let all = aggregate(states.iter().copied());
        prop_assert_eq!(aggregate(states.iter().rev().copied()), all);
        prop_assert_eq!(states.iter().copied().collect::<Tally>().state(), all);
        // Any part may be rolled up first.
        let (left, right) = states.split_at(cut.min(states.len()));
        prop_assert_eq!(aggregate([aggregate(left.iter().copied()), aggregate(right.iter().copied())]), all);
    }

    #[test]
    fn no_object_makes_the_judge_panic(
        kind in prop::sample::select(KINDS.to_vec()),
        spec in any_value(),
        mut status in any_value(),
        conditions in prop::option::of(prop::collection::vec(any_condition(), 0..5)),
        metadata in any_value(),
        false_is_failure in any::<bool>(),
        now in -62_135_596_800_i64..253_402_207_200,
    ) {
        if let (Some(conditions), Some(status)) = (conditions, status.as_object_mut()) {
            status.insert("conditions".to_owned(), Value::Array(conditions));
        }
        let metadata = json!({"name": "x", "generation": metadata, "creationTimestamp": "2024-05-01T11:00:00Z"});
        let value =
            json!({"apiVersion": kind.0, "kind": kind.1, "metadata": metadata, "spec": spec, "status": status});
        let tape = Tape::from_json(&value);
        let object = Object::new(tape.root().unwrap(), Source::default(), None).unwrap();
        let context = Context { sibling_ready: true, false_is_failure, ..Context::at(Timestamp::from_seconds(now).unwrap()) };
        let verdict = health(&object, &context);
        prop_assert!(!verdict.reason.is_empty());
        prop_assert_eq!(health(&object, &context), verdict);
        prop_assert_eq!(progress_token(&object), progress_token(&object));
    }

    #[test]
    fn trees_hold_each_object_once_whatever_the_references_say(
        owners in prop::collection::vec(prop::collection::vec(0..14_usize, 0..3), 0..12),
        seed in any::<u64>(),
    ) {
        let items: Vec<_> = owners.iter().enumerate().map(|(index, owners)| {
            let owners: Vec<_> = owners.iter().map(|owner| format!("n{owner:02}")).collect();
            object(&format!("n{index:02}"), &owners.iter().map(String::as_str).collect::<Vec<_>>())
        }).collect();
        let lines = shape(items.clone());
        let mut names: Vec<_> = lines.iter().filter_map(|line| line.rsplit('/').next()).collect();
        names.sort_unstable();
        prop_assert_eq!(names, items.iter().map(|item| item.id.name.as_str()).collect::<Vec<_>>());
        let mut shuffled = items;
        let length = shuffled.len().max(1);
        shuffled.rotate_left(usize::try_from(seed % length as u64).unwrap());
        shuffled.reverse();
        prop_assert_eq!(shape(shuffled), lines);
    }
}
