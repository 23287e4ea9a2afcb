//! Constraints of the cluster on a real API server (U23, P2): an update whose objects one of them denies is refused before
//! the first write, also where no webhook enforces it.

use clearway_policy::Template;
use clearway_testbed::wait_until;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::lab::{Lab, SOON, condition};
use crate::update::{is_completed, namespace, release};

const TEMPLATES: &str = "templates.gatekeeper.sh";

fn template() -> Value {
    let rego = r#"package requiredlabel
violation[{"msg": msg}] {
    not input.review.object.metadata.labels[input.parameters.label]
    msg := sprintf("label %v is missing", [input.parameters.label])
}"#;
    json!({
        "apiVersion": format!("{TEMPLATES}/v1"), "kind": "ConstraintTemplate", "metadata": {"name": "requiredlabel"},
        "spec": {
            "crd": {"spec": {"names": {"kind": "RequiredLabel"}, "validation": {"openAPIV3Schema": {
                "type": "object", "properties": {"label": {"type": "string"}},
            }}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": rego}],
        },
    })
}

fn constraint(name: &str, action: &str) -> Value {
    json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "RequiredLabel", "metadata": {"name": name},
        "spec": {
            "enforcementAction": action, "parameters": {"label": "owner"},
            "match": {"kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}]},
        },
    })
}

/// The objects of a kind, whose plural is not the one that is usual.
fn api(lab: &Lab, api_version: &str, kind: &str) -> Api<DynamicObject> {
    let mut resource = Lab::resource(api_version, kind);
    if kind == "RequiredLabel" {
        "requiredlabel".clone_into(&mut resource.plural);
    }
    Api::all_with(lab.client.clone(), &resource)
}

async fn apply(lab: &Lab, object: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let api = api(lab, &text(&object["apiVersion"]), &text(&object["kind"]));
    let (name, parameters) = (text(&object["metadata"]["name"]), PatchParams::apply("test").force());
    wait_until(SOON, "the kind is served", async || api.patch(&name, &parameters, &Patch::Apply(object)).await.is_ok())
        .await
        .unwrap();
}

#[tokio::test]
async fn an_update_that_a_constraint_denies_is_refused_before_the_first_write() {
    let Some(lab) = Lab::installed_without_controllers("1.0.0", "stable-1").await else { return };
    let names = json!({"kind": "ConstraintTemplate", "plural": "constrainttemplates"});
    apply(
        &lab,
        &json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("constrainttemplates.{TEMPLATES}")},
            "spec": {"group": TEMPLATES, "scope": "Cluster", "names": names, "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }]},
        }),
    )
    .await;
    apply(&lab, &template()).await;
    apply(&lab, &Template::read(&template()).unwrap().constraint_crd()).await;
    apply(&lab, &constraint("warns", "warn")).await;
    apply(&lab, &constraint("owner", "deny")).await;

    lab.patch(json!({"metadata": {"annotations": {"clearway.dev/preflight": "veto"}}})).await;
    let directory = lab.path("1.0.1");
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}, "data": {"a": "b"},
    });
    release(&directory, "1.0.1", &[namespace(), settings]);
    let _operator = lab.operator("operator.log", &[]);
    let ask = json!({"spec": {"desiredUpdate": {"image": directory.display().to_string(), "version": "1.0.1"}}});
    lab.patch(ask).await;
    let accepted = |object: &Value| condition(&object["status"]["conditions"], "ReleaseAccepted");
    let object = lab.until("it is refused", |object| accepted(object).0 == "False").await;
    let (_, reason, message) = accepted(&object);
    assert_eq!(reason, "PreconditionChecks", "{message}");
    let expected = "Preflight Policies: The release has 1 violation of the constraint RequiredLabel owner, which denies: \
                    ConfigMap shop/settings: label owner is missing.";
    assert!(message.contains(expected), "{message}");
    assert!(!message.contains("warns"), "{message}");
    assert!(lab.api("v1", "Namespace").get_opt("shop").await.unwrap().is_none(), "nothing was written");

    // Without the constraint the same request is carried out.
    let constraints = api(&lab, "constraints.gatekeeper.sh/v1beta1", "RequiredLabel");
    constraints.delete("owner", &DeleteParams::default()).await.unwrap();
    lab.until("the same request is carried out", |object| is_completed(object, "1.0.1")).await;
}
