//! Generated expressions as rules of CRDs and as policies in a real API server: it accepts, refuses, admits and denies what
//! it should by what is said here.

use std::collections::BTreeSet;

use clearway_cel::{Bindings, Budget, Environment, KubernetesVersion, Limits, Outcome, Program};
use clearway_schema::Schema;
use clearway_testbed::{ClusterOptions, IN_TIME, own_cluster, wait_until};
use kube::api::{DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::generate::{self, Expressions, Random};

const GROUP: &str = "cel.example.com";
const RULES: usize = 100;
const POLICIES: usize = 100;

fn dry() -> PostParams {
    PostParams { dry_run: true, field_manager: None }
}

fn api(client: &Client, group: &str, version: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk(group, version, kind);
    Api::all_with(client.clone(), &ApiResource::from_gvk_with_plural(&gvk, plural))
}

/// Creates an object; the text of the refusal if it is refused.
async fn create(api: &Api<DynamicObject>, object: &Value, options: &PostParams) -> Result<(), kube::Error> {
    let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    api.create(options, &object).await.map(drop)
}

fn crd(kind: &str, plural: &str, schema: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}},
            ],
        },
    })
}

fn as_kind(object: &Value, kind: &str, name: &str) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = json!(format!("{GROUP}/v1"));
    object["kind"] = json!(kind);
    object["metadata"]["name"] = json!(name);
    object
}

fn holds(program: &Program, variable: &str, object: &Value) -> bool {
    let evaluation = program.evaluate(Bindings::new().with(variable, object), &Budget::default());
    matches!(evaluation.outcome, Outcome::Value(value) if value.as_bool() == Some(true))
}

/// The numbers behind `rule ` in what the API server says.
fn failed_rules(error: &kube::Error) -> BTreeSet<usize> {
    let text = format!("{error:?}");
    let numbers = text.split("rule number ").skip(1);
    numbers.filter_map(|rest| rest.split(|char: char| !char.is_ascii_digit()).next()?.parse().ok()).collect()
}

#[tokio::test]
async fn the_api_server_agrees() {
    let Some(cluster) = own_cluster(&ClusterOptions::api_only()).await else { return };
    let client = cluster.client().await.unwrap();
    rules(&client).await;
    policies(&client).await;
}

/// Expressions as rules at the root of a CRD.
async fn rules(client: &Client) {
    let schema = generate::schema();
    let read = Schema::read(&schema).unwrap();
    let environment = Environment::kubernetes_crd(KubernetesVersion::new(35), read.root(), true, false);
    let mut random = Random::new(42);
    let (mut accepted, mut refused) = (Vec::new(), Vec::new());
    while accepted.len() < RULES {
        let text = Expressions::new(&mut random, generate::Environment::Rule).expression(true);
        match Program::compile(&text, &environment, &Limits::default()) {
            Ok(program) if program.check_estimate(Some(1)).is_ok() => {
                // All rules of a CRD have a limit together.
                if program.estimate().max < Budget::ESTIMATE_PER_CRD / 200 {
                    accepted.push((text, program));
                }
            }
            _ => refused.push(text),
        }
    }
    let crds = api(client, "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");
    for text in refused.iter().take(20) {
        let mut schema = schema.clone();
        schema["x-kubernetes-validations"] = json!([{"rule": text}]);
        let answer = create(&crds, &crd("Refused", "refuseds", &schema), &dry()).await;
        assert!(answer.is_err(), "the API server accepts {text}");
    }
    let mut with_rules = schema.clone();
    let rules = accepted.iter().enumerate();
    with_rules["x-kubernetes-validations"] =
        rules.map(|(number, (text, _))| json!({"rule": text, "message": format!("rule number {number}.")})).collect();
    create(&crds, &crd("Ruled", "ruleds", &with_rules), &PostParams::default()).await.unwrap();
    let objects = api(client, GROUP, "v1", "Ruled", "ruleds");
    let (mut compared, mut failing) = (0, 0);
    for number in 0..5 {
        // Rules of an object that its schema refuses are not evaluated.
        let valid = std::iter::repeat_with(|| generate::object(&mut random)).find(|object| object["raw"] != "");
        let object = as_kind(&valid.unwrap(), "Ruled", &format!("object-{number}"));
        let mut answer = Ok(());
        wait_until(IN_TIME, "the CRD is served", async || {
            answer = create(&objects, &object, &dry()).await;
            !matches!(&answer, Err(kube::Error::Api(status)) if status.code == 404)
        })
        .await
        .unwrap();
        let said = answer.err();
        let theirs = said.as_ref().map(failed_rules).unwrap_or_default();
        for (number, (text, program)) in accepted.iter().enumerate() {
            let ours = holds(program, "self", &object);
            assert_eq!(ours, !theirs.contains(&number), "{text} over {object}: {said:?}");
            compared += 1;
            failing += usize::from(!ours);
        }
    }
    println!("{compared} verdicts of rules are the same, {failing} of them against the object");
    assert!(failing > compared / 20 && failing < compared);
}

/// Expressions as policies, each for an object of its own.
async fn policies(client: &Client) {
    let environment = Environment::kubernetes_admission(KubernetesVersion::new(35), false)
        .with_result(clearway_cel::ResultType::Bool);
    let mut random = Random::new(43);
    let mut cases = Vec::new();
    while cases.len() < POLICIES {
        let object = generate::object(&mut random);
        let text = Expressions::new(&mut random, generate::Environment::Admission).expression(true);
        let program = Program::compile(&text, &environment, &Limits::default());
        // The request is not what the generator thinks it is.
        if let (Ok(program), false) = (program, text.contains("request")) {
            cases.push((text, program, object));
        }
    }
    let crds = api(client, "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");
    let plain = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    create(&crds, &crd("Plain", "plains", &plain), &PostParams::default()).await.unwrap();
    let group = "admissionregistration.k8s.io";
    let policies = api(client, group, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies");
    let bindings = api(client, group, "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings");
    let texts = cases.iter().map(|(text, ..)| text.as_str()).chain(std::iter::once("false"));
    for (number, text) in texts.enumerate() {
        let name = format!("case-{number}");
        let policy = json!({
            "apiVersion": format!("{group}/v1"),
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [
                    {"apiGroups": [GROUP], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["plains"]},
                ]},
                "matchConditions": [{"name": "own", "expression": format!("object.metadata.name == '{name}'")}],
                "validations": [{"expression": text, "message": "no"}],
            },
        });
        create(&policies, &policy, &PostParams::default()).await.unwrap();
        let binding = json!({
            "apiVersion": format!("{group}/v1"),
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        });
        create(&bindings, &binding, &PostParams::default()).await.unwrap();
    }
    let plains = api(client, GROUP, "v1", "Plain", "plains");
    // The last policy denies its object as soon as all are in force.
    let probe = as_kind(&json!({"metadata": {}}), "Plain", &format!("case-{POLICIES}"));
    wait_until(IN_TIME, "the policies are in force", async || {
        let answer = create(&plains, &probe, &dry()).await;
        matches!(&answer, Err(kube::Error::Api(status)) if status.code != 404)
    })
    .await
    .unwrap();
    let mut denied = 0;
    for (number, (text, program, object)) in cases.iter().enumerate() {
        let object = as_kind(object, "Plain", &format!("case-{number}"));
        let answer = create(&plains, &object, &dry()).await;
        let ours = holds(program, "object", &object);
        assert_eq!(ours, answer.is_ok(), "{text} over {object}: {answer:?}");
        denied += usize::from(!ours);
    }
    println!("{POLICIES} verdicts of policies are the same, {denied} of them denials");
    assert!(denied > POLICIES / 20 && denied < POLICIES);
}
