//! Every health rule against a whole object as an API server returns it (`health_objects/*.yaml`).

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use clearway_conditions::Object;
use clearway_conditions::health::{
    Basis, Context, ExpectedObject, OwnedObject, State, Verdict, forest, health, progress_token, with_pods,
};
use clearway_core::{Limits, ObjectId, Timestamp};
use clearway_yaml::{ReadEvent, Source, Tape, read};
use serde_json::{Value, json};

const NOW: &str = "2024-05-01T12:10:00Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Hands each object of the case files to `visit`.
fn each_object(mut visit: impl FnMut(&Object<'_>)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/health_objects");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let input = BufReader::new(File::open(&file).unwrap());
        read(input, &file.display().to_string(), &Limits::default(), |found| match found {
            ReadEvent::Object { root, source, list } => visit(&Object::new(root, source, list).unwrap()),
            ReadEvent::Problem(problem) => panic!("{problem:?}"),
        });
    }
}

/// One object of the case files, by kind and name.
fn case(kind: &str, name: &str) -> Value {
    static CASES: LazyLock<Vec<Value>> = LazyLock::new(|| {
        let mut cases = Vec::new();
        each_object(|object| cases.push(object.root.to_json()));
        cases
    });
    let found = CASES.iter().find(|case| case["kind"] == kind && case["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("no {kind} {name}")).clone()
}

fn judge(value: &Value, context: &Context) -> Verdict {
    let tape = Tape::from_json(value);
    health(&Object::new(tape.root().unwrap(), Source::default(), None).unwrap(), context)
}

fn id(name: &str) -> ObjectId {
    ObjectId { kind: "Pod".to_owned(), namespace: "shop".to_owned(), name: name.to_owned(), ..ObjectId::default() }
}

#[test]
fn each_object_gets_the_verdict_its_case_states() {
    let (mut count, mut wrong) = (0, Vec::new());
    each_object(|object| {
        let says = |key: &str| object.root.at(&["metadata", "annotations", key]).map(|node| node.raw().to_owned());
        let verdict = health(object, &Context::at(at(NOW)));
        let got = format!("{} {} {}", verdict.state, verdict.reason, verdict.basis);
        let mut check = |what: &str, holds: bool| {
            if !holds {
                wrong.push(format!("{}: {what}\n  {verdict:?}", object.id()));
            }
        };
        check("the verdict", says("health.test/want") == Some(got));
        check("the message", says("health.test/says").is_none_or(|part| verdict.message.contains(&part)));
        check("the time", says("health.test/since").is_none_or(|time| verdict.since == Some(at(&time))));
        check("the proof", says("health.test/proven").is_none_or(|word| verdict.proven == (word == "yes")));
        check("the silence", !verdict.reason.is_empty() && !verdict.reason.contains(' '));
        count += 1;
    });
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 100, "{count}");
}

#[test]
fn the_cases_show_every_state_an_object_can_have_and_every_reason_of_the_rules() {
    let mut seen = BTreeSet::new();
    each_object(|object| {
        let verdict = health(object, &Context::at(at(NOW)));
        seen.insert(format!("{} {}", object.kind(), verdict.reason));
        seen.insert(verdict.state.to_string());
    });
    // `NotFound` is what is said of an object that is not there; see the recreated one below.
    let states = State::ALL.into_iter().filter(|state| *state != State::NotFound).map(|state| state.to_string());
    let rules = [
        ("Pod", "PodNotObserved PodPending PodRunningNotReady PodNotScheduled ContainerCrashLooping PodUnschedulable"),
        ("Pod", "PodReady PodSucceeded PodFailed PodPhaseUnknown"),
        ("Deployment", "LessReplicas LessUpdated ExtraPods LessAvailable LessReady ReplicaSetNotAvailable"),
        ("Deployment", "DeploymentNotAvailable ProgressDeadlineExceeded DeploymentAvailable Suspended"),
        ("ReplicaSet", "ReplicaFailure LessLabelled LessAvailable LessReady ExtraPods ReplicaSetAvailable"),
        ("StatefulSet", "LessReplicas LessReady ExtraPods PartitionRollout LessCurrent RevisionMismatch OnDelete"),
        ("StatefulSet", "PartitionRolledOut ReplicasReady"),
        ("DaemonSet", "NoGeneration NoObservedGeneration NoDesiredNumber LessCurrent LessUpdated LessAvailable"),
        ("DaemonSet", "LessReady PodsReady"),
        ("Job", "JobNotStarted JobInProgress JobComplete JobFailed JobSuspended"),
        ("CronJob", "CronJobScheduled Suspended"),
        ("Service", "NoIPAssigned ServiceReady"),
        ("PersistentVolumeClaim", "NotBound Bound"),
        ("Ingress", "AddressPublished NoAddress Unproven"),
        ("Namespace", "Active Terminating"),
        ("PodDisruptionBudget", "BudgetComputed LatestGenerationNotObserved"),
        ("HorizontalPodAutoscaler", "ReadyForNewScale FailedGetScale TargetObserved NotObserved"),
        ("CustomResourceDefinition", "Established Installing NotAccepted ListKindConflict"),
        ("APIService", "Passed MissingEndpoints NotObserved"),
        ("Gateway", "Programmed Pending AddressNotAssigned LatestGenerationNotObserved"),
        ("GatewayClass", "Accepted NotReportedYet"),
        ("HTTPRoute", "Accepted NotAllowedByListeners NotReportedYet NoParents"),
        ("ConfigMap", "AlwaysReady"),
        ("Secret", "AlwaysReady"),
    ];
    let reasons = rules
        .iter()
        .flat_map(|(kind, reasons)| reasons.split_whitespace().map(move |reason| format!("{kind} {reason}")));
    let missing: Vec<_> = states.chain(reasons).filter(|word| !seen.contains(word)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn only_the_object_our_apply_left_counts() {
    let deployment = case("Deployment", "available");
    let uid = deployment["metadata"]["uid"].as_str().unwrap();
    let with = |uid: &str, generation| {
        let expected = Some(ExpectedObject { uid: uid.to_owned(), generation });
        judge(&deployment, &Context { expected, ..Context::at(at(NOW)) })
    };
    assert_eq!(with(uid, Some(3)).state, State::Current);
    assert_eq!(with(uid, Some(2)).state, State::Current, "somebody changed it after us, and that was observed too");
    assert_eq!(with(uid, None).state, State::Current);

    let older = with(uid, Some(4));
    assert_eq!((older.state, older.reason.as_str(), older.proven), (State::InProgress, "StaleObservation", false));
    let recreated = with("0f0e0d0c-0000-4000-a000-000000000000", Some(3));
    assert_eq!((recreated.state, recreated.reason.as_str()), (State::NotFound, "Recreated"));
    assert_eq!(recreated.since, Some(at("2024-05-01T11:00:00Z")));
}

#[test]
fn an_object_that_is_expected_to_report_is_given_ten_seconds_and_then_marked() {
    let widget = case("Widget", "silent");
    let created = at(widget["metadata"]["creationTimestamp"].as_str().unwrap());
    let after = |seconds| Context::at(created.plus(Duration::from_secs(seconds)));
    let schema = Context { has_conditions_schema: Some(true), ..after(9) };
    let sibling = Context { sibling_ready: true, ..after(9) };
    for context in [schema, sibling] {
        let verdict = judge(&widget, &context);
        assert_eq!((verdict.state, verdict.reason.as_str()), (State::InProgress, "NotReportedYet"));
        assert_eq!(verdict.basis, Basis::Default);
        assert_eq!(verdict.recheck, Some(created.plus(Duration::from_secs(10))), "time alone will change it");
    }
    let late = judge(&widget, &Context { has_conditions_schema: Some(true), ..after(10) });
    assert_eq!((late.state, late.basis, late.recheck), (State::Current, Basis::Default, None));
    assert!(late.message.contains("unproven"), "{late:?}");
    let nobody = judge(&widget, &Context { has_conditions_schema: Some(false), ..after(1) });
    assert_eq!((nobody.state, nobody.basis), (State::Current, Basis::Default));
}

#[test]
fn ready_false_fails_only_where_the_contract_of_the_kind_says_so() {
    let context = Context { false_is_failure: true, ..Context::at(at(NOW)) };
    let certificate = judge(&case("Certificate", "web-tls-issuing"), &context);
    assert_eq!((certificate.state, certificate.hold), (State::Failed, Some(Duration::from_mins(2))));
    let information = judge(&case("Revision", "ready-false-info"), &context);
    assert_eq!(information.state, State::InProgress, "a severity of Info never fails");
}

#[test]
fn the_year_1970_is_no_time_since_which_anything_is_so() {
    assert_eq!(judge(&case("Gateway", "unmet"), &Context::at(at(NOW))).since, None);
}

#[test]
fn a_stalled_object_is_judged_the_same_in_any_order_of_its_conditions() {
    for (name, want) in [("apps-stalled-and-reconciling", State::Failed), ("apps-reconciling-newer", State::InProgress)]
    {
        let mut object = case("Kustomization", name);
        object["status"]["conditions"].as_array_mut().unwrap().reverse();
        assert_eq!(judge(&object, &Context::at(at(NOW))).state, want, "{name}");
    }
}

#[test]
fn how_long_a_verdict_must_last_depends_on_how_often_it_heals() {
    let hold = |kind: &str, name: &str| judge(&case(kind, name), &Context::at(at(NOW))).hold;
    let minutes = Some(Duration::from_mins(2));
    assert_eq!(hold("Pod", "unschedulable"), minutes);
    assert_eq!(hold("Pod", "crash-loop"), minutes);
    assert_eq!(hold("ClusterOperator", "dns-degraded"), minutes);
    assert_eq!(hold("HorizontalPodAutoscaler", "no-metrics"), minutes);
    for (kind, name) in [("Deployment", "too-late"), ("Kustomization", "apps-stalled"), ("Job", "failed")] {
        assert_eq!(hold(kind, name), None, "{kind} {name} is final");
    }
    let mut careful = case("Deployment", "available");
    careful["spec"]["minReadySeconds"] = json!(30);
    assert_eq!(judge(&careful, &Context::at(at(NOW))).hold, Some(Duration::from_secs(30)));
}

#[test]
fn failed_pods_fail_the_owner_that_is_in_progress_but_not_for_what_heals() {
    let context = Context::at(at(NOW));
    let pod = |name: &str| (id(name), judge(&case("Pod", name), &context));
    let owner = |name: &str| judge(&case("Deployment", name), &context);

    let failed = with_pods(owner("less-available"), &[pod("ready"), pod("crash-loop")]);
    assert_eq!((failed.state, failed.reason.as_str()), (State::Failed, "PodsFailed"));
    assert_eq!(failed.message, "1 pod has failed: crash-loop: Containers in CrashLoop state: web");
    assert_eq!((failed.hold, failed.since), (Some(Duration::from_mins(2)), Some(at("2024-05-01T11:05:00Z"))));

    let going = (id("going"), judge(&case("Pod", "going"), &context));
    for harmless in [pod("unschedulable"), pod("evicted"), pod("not-ready"), going] {
        assert_eq!(with_pods(owner("less-available"), &[harmless]).reason, "LessAvailable");
    }
    let crash = || [pod("crash-loop")];
    assert_eq!(with_pods(owner("available"), &crash()).state, State::Current);
    assert_eq!(
        with_pods(owner("not-observed"), &crash()).state,
        State::InProgress,
        "these are pods of what was before"
    );

    let many: Vec<_> = (0..5).rev().map(|number| (id(&format!("p{number}")), pod("crash-loop").1)).collect();
    let message = with_pods(owner("less-available"), &many).message;
    assert!(message.starts_with("5 pods have failed: p0: ") && message.ends_with("; and 2 more"), "{message}");
}

#[test]
fn only_a_job_that_can_be_done_before_it_is_gone_is_done_when_it_is_gone() {
    let gone_is_done = |name: &str| judge(&case("Job", name), &Context::at(at(NOW))).gone_is_done;
    assert!(gone_is_done("complete") && gone_is_done("expires"));
    assert!(!gone_is_done("running") && !gone_is_done("not-started") && !gone_is_done("failed"));
}

#[test]
fn a_progress_token_changes_with_the_status_and_the_generation_and_not_with_heartbeats() {
    let token = |value: &Value| {
        let tape = Tape::from_json(value);
        progress_token(&Object::new(tape.root().unwrap(), Source::default(), None).unwrap())
    };
    let mut node = case("Node", "worker-1");
    let before = token(&node);
    node["status"]["conditions"][0]["lastHeartbeatTime"] = json!("2024-05-01T12:10:08Z");
    node["metadata"]["resourceVersion"] = json!("999999");
    assert_eq!(token(&node), before);
    node["status"]["conditions"][1]["status"] = json!("False");
    assert_ne!(token(&node), before);

    let mut deployment = case("Deployment", "less-updated");
    let before = token(&deployment);
    deployment["status"]["updatedReplicas"] = json!(3);
    let counted = token(&deployment);
    deployment["metadata"]["generation"] = json!(4);
    assert!(before != counted && counted != token(&deployment));
}

#[test]
fn owners_are_read_from_whole_objects() {
    let values = [case("Deployment", "available"), case("ReplicaSet", "available"), case("Pod", "ready")];
    let mut values = values.to_vec();
    values[1]["metadata"]["ownerReferences"][0]["uid"] = values[0]["metadata"]["uid"].clone();
    values[2]["metadata"]["ownerReferences"][0]["uid"] = values[1]["metadata"]["uid"].clone();
    let tapes: Vec<_> = values.iter().map(Tape::from_json).collect();
    let items = tapes.iter().rev().map(|tape| {
        let object = Object::new(tape.root().unwrap(), Source::default(), None).unwrap();
        OwnedObject::new(&object, health(&object, &Context::at(at(NOW))).state)
    });
    let trees = forest(items);
    let mut lines = Vec::new();
    for tree in &trees {
        tree.walk(&mut |depth, tree| lines.push(format!("{depth} {}", tree.id)));
    }
    assert_eq!(lines, ["0 Deployment.apps shop/available", "1 ReplicaSet.apps shop/available", "2 Pod shop/ready"]);
}
