//! What templates see and give is API (P1, P2): the golden files say what it looks like. Changing one is a breaking
//! change.

use std::fs;
use std::path::PathBuf;

use clearway_policy::rego::{Budget, values};
use clearway_policy::{
    EnforcementPoint, Evaluator, Inventory, PolicySet, Review, Reviewer, Source, Template, TemplateVersion,
};
use serde_json::{Value, json};

/// Compares with a golden file; with `UPDATE_GOLDEN` set, writes it.
fn assert_golden(name: &str, value: &Value) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let text = serde_json::to_string_pretty(value).unwrap() + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, &text).unwrap();
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), text, "{name}: this is API; see CONTRIBUTING.md");
}

fn pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": 3},
    })
}

#[test]
fn the_review_of_an_object() {
    assert_golden("review_object.json", &Review::of_object(&pod(), Source::Original).to_json());
}

#[test]
fn the_review_of_a_request() {
    let request = json!({
        "uid": "1", "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"}, "subResource": "",
        "name": "web", "namespace": "shop", "operation": "DELETE",
        "userInfo": {"username": "ann", "groups": ["dev"]}, "oldObject": pod(), "dryRun": false,
    });
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    let review = Review::of_admission_review(&review).unwrap().with_namespace(Some(namespace));
    assert_golden("review_request.json", &review.to_json());
}

#[test]
fn the_inventory() {
    let objects = [
        pod(),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reader"}}),
    ];
    assert_golden("inventory.json", &Inventory::of(&objects).unwrap().to_json());
}

fn template(rego: &str) -> Value {
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "golden"},
        "spec": {
            "crd": {"spec": {"names": {"kind": "Golden"}, "validation": {"openAPIV3Schema": {
                "type": "object", "properties": {"n": {"type": "integer", "default": 3}},
            }}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": rego}],
        },
    })
}

#[test]
fn violations() {
    let mut policies = PolicySet::new();
    let rego = "package golden\nviolation[{\"msg\": msg, \"details\": {\"set\": {2, 1}, \"input\": object.keys(input)}}] { msg := sprintf(\"n is %d\", [input.parameters.n]) }\nviolation[{\"msg\": \"plain\"}] { true }";
    policies.add_template(&template(rego)).unwrap();
    policies
        .add_constraint(
            &json!({"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Golden", "metadata": {"name": "g"}}),
        )
        .unwrap();
    let (inventory, budget) = (Inventory::default(), Budget::default());
    let reviewer = Reviewer { point: EnforcementPoint::Webhook, inventory: &inventory, budget: &budget };
    let review = Review::of_object(&pod(), Source::Original);
    let results = policies.review(&review, &reviewer, &mut Evaluator::new()).unwrap();
    let results: Vec<Value> = results
        .iter()
        .map(|result| {
            json!({"kind": result.kind, "name": result.name, "msg": result.message, "details": result.details,
                "enforcementAction": result.action.as_str()})
        })
        .collect();
    assert_golden("violations.json", &json!(results));
}

#[test]
fn the_crd_of_constraints() {
    let template = Template::read(&template("package golden\nviolation[{\"msg\": \"m\"}] { true }")).unwrap();
    assert_golden("constraint_crd.json", &template.constraint_crd());
}

#[test]
fn versions_of_templates_convert_without_loss() {
    let object = template("package golden\nviolation[{\"msg\": \"m\"}] { true }");
    let original = Template::read(&object).unwrap();
    for version in [TemplateVersion::V1beta1, TemplateVersion::V1alpha1] {
        let converted = Template::read(&original.convert(version)).unwrap();
        assert_eq!(converted.version, version);
        assert_eq!(converted.definition.schema, original.definition.schema);
        let back = Template::read(&converted.convert(TemplateVersion::V1)).unwrap();
        assert_eq!(back.constraint_crd(), original.constraint_crd());
    }
}

#[test]
fn unknown_actions_are_admitted_with_a_warning_and_not_enforced_or_refused_on_request() {
    let rego = "package golden\nviolation[{\"msg\": \"m\"}] { true }";
    let constraint = json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Golden", "metadata": {"name": "g"},
        "spec": {"enforcementAction": "Deny"},
    });
    let mut policies = PolicySet::new();
    policies.add_template(&template(rego)).unwrap();
    let warning = policies.add_constraint(&constraint).unwrap().unwrap();
    assert_eq!(
        warning,
        "unrecognized enforcementAction: \"Deny\" is not within the supported list [deny dryrun warn scoped]"
    );
    let (inventory, budget) = (Inventory::default(), Budget::default());
    let reviewer = Reviewer { point: EnforcementPoint::Webhook, inventory: &inventory, budget: &budget };
    let review = Review::of_object(&pod(), Source::Original);
    assert_eq!(policies.review(&review, &reviewer, &mut Evaluator::new()).unwrap(), []);
    let mut strict = PolicySet::new().refusing_unknown_actions(true);
    strict.add_template(&template(rego)).unwrap();
    assert_eq!(strict.add_constraint(&constraint).unwrap_err().to_string(), warning);
}

#[test]
fn a_template_that_does_not_load_leaves_the_last_good_one() {
    let mut policies = PolicySet::new();
    policies.add_template(&template("package golden\nviolation[{\"msg\": \"good\"}] { true }")).unwrap();
    policies
        .add_constraint(
            &json!({"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Golden", "metadata": {"name": "g"}}),
        )
        .unwrap();
    let running = policies.clone();
    assert!(policies.add_template(&template("package golden\nviolation[{\"msg\": ")).is_err());
    let (inventory, budget) = (Inventory::default(), Budget::default());
    let reviewer = Reviewer { point: EnforcementPoint::Audit, inventory: &inventory, budget: &budget };
    let review = Review::of_object(&pod(), Source::Original);
    for policies in [policies, running] {
        let results = policies.review(&review, &reviewer, &mut Evaluator::new()).unwrap();
        assert_eq!(results.iter().map(|result| result.message.as_str()).collect::<Vec<_>>(), ["good"]);
    }
}

#[test]
fn reviews_keep_the_numbers_of_go() {
    let review = values::from_review(&json!({"small": 999_999, "large": 1_000_000}));
    assert_eq!(values::to_json(&review), Some(json!({"large": 1_000_000, "small": 999_999})));
}
