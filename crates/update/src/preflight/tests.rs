use std::collections::{BTreeMap, BTreeSet};

use clearway_core::{ObjectId, ObjectReference, Timestamp};
use clearway_release::{Files, Metadata, Payload, ReleaseLimits, Selection, digest};
use serde_json::{Value, json};

use super::*;
use crate::api::Release;
use crate::desired_update::downgrade::CurrentRelease;
use crate::owner::{OWNER, Owner};
use crate::rollout::UpdateRequest;
use crate::task::{Task, Veto};

fn payload(objects: &[Value]) -> Payload {
    let metadata =
        Metadata { version: "1.0.0".parse().unwrap(), previous: vec![], next: vec![], metadata: BTreeMap::new() };
    let mut files = Files::from([("release-metadata".to_owned(), metadata.write())]);
    for (number, object) in objects.iter().enumerate() {
        files.insert(format!("0000_30_a_{number:02}.yaml"), object.to_string().into_bytes());
    }
    Payload::read(&files, digest(&files), &Selection::default(), &ReleaseLimits::default()).unwrap()
}

fn task() -> Task {
    Task {
        request: UpdateRequest { release: Release::default(), force: false, resumes: false },
        about: Value::Null,
        owner: Owner::new("ClusterVersion", "version"),
        begun: false,
        unmanaged: BTreeSet::new(),
        veto: Veto::Never,
        carried: Vec::new(),
        current: CurrentRelease::default(),
    }
}

fn id(object: &Value) -> ObjectId {
    ObjectReference::of(object).unwrap().id()
}

/// What is found when a release meets what is there; `more` says what else there is.
fn found(release: &[Value], live: &[Value], more: impl FnOnce(&mut View<'_>)) -> Vec<(Severity, String)> {
    let (task, payload) = (task(), payload(release));
    let now: Timestamp = "2026-05-04T09:00:00Z".parse().unwrap();
    let mut view = View::empty(&task, &payload, now);
    view.objects = live.iter().map(|object| (id(object), object.clone())).collect();
    view.workloads =
        release.iter().filter(|one| node_capacity::is_workload(&id(one))).map(|one| (id(one), one.clone())).collect();
    more(&mut view);
    findings(&view).into_iter().map(|finding| (finding.severity, finding.to_string())).collect()
}

fn nothing(_: &mut View<'_>) {}

fn deployment(image: &str, spec: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "labels": {OWNER: "ClusterVersion.version"}},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {
            "containers": [{"name": "web", "image": image, "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}],
        }}},
        "status": {
            "observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
            "conditions": [{"type": "Available", "status": "True"}, {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}],
        },
    });
    for (name, value) in spec.as_object().unwrap() {
        object["spec"][name] = value.clone();
    }
    object
}

fn node(name: &str, cpu: &str, more: &Value) -> Value {
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"disk": "silver"}}, "spec": {},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"}},
    });
    node["spec"] = more.clone();
    node
}

#[test]
fn what_is_healthy_and_ours_is_no_finding() {
    let web = deployment("a", &json!({}));
    assert_eq!(found(std::slice::from_ref(&web), std::slice::from_ref(&web), nothing), []);
}

#[test]
fn what_is_unwell_is_told_and_what_has_failed_is_blocking() {
    let mut rolling = deployment("a", &json!({}));
    rolling["status"]["availableReplicas"] = json!(1);
    let mut failed = deployment("a", &json!({}));
    failed["status"]["conditions"][1] =
        json!({"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "too late"});
    let mut theirs = failed.clone();
    theirs["metadata"]["labels"] = json!({});
    for (live, want) in [
        (
            rolling,
            Some((Severity::Warning, "Preflight Health: Deployment shop/web is not healthy yet: Available: 1/2")),
        ),
        (failed, Some((Severity::Blocking, "Preflight Health: Deployment shop/web has failed: too late"))),
        (theirs, None),
    ] {
        let found = found(std::slice::from_ref(&live), std::slice::from_ref(&live), nothing);
        assert_eq!(found, want.map(|(severity, text)| (severity, text.to_owned())).into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_definition_keeps_the_versions_that_clients_use() {
    let definition = |versions: &[(&str, bool)], stored: &[&str], scope: &str| {
        let versions: Vec<Value> =
            versions.iter().map(|(name, served)| json!({"name": name, "served": served, "storage": false})).collect();
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
            "spec": {"group": "example.com", "scope": scope, "names": {"kind": "Thing", "plural": "things"}, "versions": versions},
            "status": {"storedVersions": stored},
        })
    };
    let live = definition(&[("v1alpha1", true), ("v1", true)], &["v1alpha1", "v1"], "Namespaced");
    let next = |versions: &[(&str, bool)]| definition(versions, &[], "Namespaced");
    let mut deleted = next(&[("v1", true)]);
    deleted["metadata"]["annotations"] = json!({"release.openshift.io/delete": "true"});
    for (release, want) in [
        (next(&[("v1alpha1", true), ("v1", true)]), vec![]),
        (next(&[("v1alpha1", false), ("v1", true)]), vec![(Severity::Warning, "no longer served in v1alpha1")]),
        (next(&[("v1", true)]), vec![(Severity::Warning, "no longer served in v1alpha1")]),
        (
            definition(&[("v1alpha1", true), ("v1", true)], &[], "Cluster"),
            vec![(Severity::Blocking, "scope from Namespaced to Cluster")],
        ),
        (deleted, vec![(Severity::Blocking, "This release deletes")]),
    ] {
        let found = found(std::slice::from_ref(&release), std::slice::from_ref(&live), nothing);
        assert_eq!(found.len(), want.len(), "{release}: {found:?}");
        for ((severity, text), (wanted, words)) in found.iter().zip(want) {
            assert!(*severity == wanted && text.contains(words), "{text}");
        }
    }
}

#[test]
fn findings_about_stored_objects_are_recorded_and_what_loses_data_is_blocking() {
    use clearway_bundle::{PreflightFinding, PreflightProblem, PreflightSeverity};
    let finding = |severity, problem, message: &str| PreflightFinding {
        severity,
        problem,
        crd: Some("things.example.com".to_owned()),
        bundle: None,
        message: message.to_owned(),
        count: 0,
        objects: Vec::new(),
    };
    let found = found(&[], &[], |view| {
        view.crds = vec![
            finding(PreflightSeverity::Warning, PreflightProblem::SkippedMinor, "a minor is skipped"),
            finding(PreflightSeverity::Blocking, PreflightProblem::LostFields, "fields are lost"),
        ];
    });
    let expected = [
        (Severity::Blocking, "Preflight CRDs: things.example.com: fields are lost.".to_owned()),
        (Severity::Warning, "Preflight CRDs: things.example.com: a minor is skipped.".to_owned()),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_roll_out_needs_room_where_it_may_take_no_pod_down() {
    let strategy = |unavailable: Value| json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": unavailable, "maxSurge": 1}}});
    let pod = |node: &str, cpu: &str, phase: &str| json!({"spec": {"nodeName": node, "containers": [{"resources": {"requests": {"cpu": cpu}}}]}, "status": {"phase": phase}});
    let live = deployment("a", &strategy(json!(0)));
    let full = vec![pod("one", "800m", "Running"), pod("two", "1", "Running")];
    let free = vec![pod("one", "800m", "Running"), pod("two", "1", "Succeeded")];
    let two = || vec![node("one", "1", &json!({})), node("two", "1", &json!({}))];
    let cordoned = vec![node("one", "1", &json!({})), node("two", "1", &json!({"unschedulable": true}))];
    let tainted = vec![
        node("one", "1", &json!({})),
        node("two", "1", &json!({"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]})),
    ];
    for (what, release, nodes, pods, blocked) in [
        ("full", deployment("b", &strategy(json!(0))), two(), full.clone(), true),
        ("room", deployment("b", &strategy(json!(0))), two(), free.clone(), false),
        ("cordoned", deployment("b", &strategy(json!(0))), cordoned, free.clone(), true),
        ("tainted", deployment("b", &strategy(json!(0))), tainted, free.clone(), true),
        ("one may go", deployment("b", &strategy(json!(1))), two(), full.clone(), false),
        ("25% of two is none", deployment("b", &strategy(json!("25%"))), two(), full.clone(), true),
        ("half of two is one", deployment("b", &strategy(json!("50%"))), two(), full.clone(), false),
        ("nothing changes", deployment("a", &strategy(json!(0))), two(), full.clone(), false),
        ("no nodes are known", deployment("b", &strategy(json!(0))), vec![], full, false),
    ] {
        let found = found(&[release], std::slice::from_ref(&live), |view| {
            (view.nodes, view.pods) = (Some(nodes), Some(pods));
        });
        let said =
            found.iter().any(|(severity, text)| *severity == Severity::Blocking && text.contains("room for one more"));
        assert_eq!(said, blocked, "{what}: {found:?}");
    }
}

#[test]
fn a_workload_that_no_node_takes_is_blocking() {
    let mut gold = deployment("b", &json!({}));
    gold["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "gold"});
    let found = found(&[gold], &[], |view| view.nodes = Some(vec![node("one", "1", &json!({}))]));
    assert!(
        matches!(found.as_slice(), [(Severity::Blocking, text)] if text.contains("pods that cannot be scheduled")),
        "{found:?}"
    );
}

#[test]
fn a_used_up_disruption_budget_is_told() {
    let budget = |allowed: u32, namespace: &str, app: &str| json!({"metadata": {"name": "web", "namespace": namespace}, "spec": {"selector": {"matchLabels": {"app": app}}}, "status": {"disruptionsAllowed": allowed}});
    let one = json!({"strategy": {"rollingUpdate": {"maxUnavailable": 1}}});
    let (live, release) = (deployment("a", &one), deployment("b", &one));
    for (budget, told) in [
        (budget(0, "shop", "web"), true),
        (budget(1, "shop", "web"), false),
        (budget(0, "other", "web"), false),
        (budget(0, "shop", "x"), false),
    ] {
        let found = found(std::slice::from_ref(&release), std::slice::from_ref(&live), |view| {
            view.budgets = Some(vec![budget.clone()]);
        });
        assert_eq!(found.len(), usize::from(told), "{budget}: {found:?}");
    }
}

#[test]
fn refusals_of_the_server_are_blocking_unless_they_say_nothing() {
    let release = [deployment("a", &json!({}))];
    for (error, blocking) in [
        (DryRunError::Refused("spec.x: Invalid value".to_owned()), true),
        (DryRunError::NoSuchKind, true),
        (DryRunError::Inconclusive, false),
    ] {
        let found = found(&release, &release, |view| {
            view.dry_runs = vec![DryRunFailure { id: id(&release[0]), file: "f".to_owned(), error: error.clone() }];
        });
        assert_eq!(found.iter().any(|(severity, _)| *severity == Severity::Blocking), blocking, "{error:?} {found:?}");
    }
}

#[test]
fn constraints_that_deny_objects_of_the_release_are_blocking() {
    let release = [json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})];
    let denial = |count: u64, objects: &[&str]| PolicyDenial {
        constraint: "RequiredLabels owner".to_owned(),
        count,
        objects: objects.iter().map(|object| (*object).to_owned()).collect(),
    };
    for (denial, expected) in [
        (
            denial(1, &["Namespace shop: label owner is missing"]),
            "Preflight Policies: The release has 1 violation of the constraint RequiredLabels owner, which denies: Namespace \
             shop: label owner is missing.",
        ),
        (
            denial(5, &["Pod a/b: x", "Pod a/c: x"]),
            "Preflight Policies: The release has 5 violations of the constraint RequiredLabels owner, which denies: Pod a/b: \
             x; Pod a/c: x; ….",
        ),
    ] {
        let found = found(&release, &[], |view| view.policies = vec![denial.clone()]);
        assert_eq!(found, [(Severity::Blocking, expected.to_owned())]);
    }
}
