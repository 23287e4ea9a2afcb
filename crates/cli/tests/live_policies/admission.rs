//! The admission webhook on a real API server: what clients see, and what is written about it.

use std::sync::Arc;

use clearway_testbed::{IN_TIME, wait_until};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::lab::{CONSTRAINTS, Lab, REQUIRED_LABELS, TEMPLATES, by_pod, constraint, template};
use super::requests::{Answer, create, expect_denied};
use super::service::Service;

const KIND: &str = "K8sRequiredLabels";
const DENIED: &str = "admission webhook \"validation.gatekeeper.sh\" denied the request: ";

fn config_map(name: &str, namespace: &str, labels: &Value) -> Value {
    let metadata = json!({"name": name, "namespace": namespace, "labels": labels});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
}

/// A template, and constraints that every replica enforces.
async fn load(lab: &Lab, constraints: &[Value]) {
    lab.create_template(KIND, REQUIRED_LABELS).await;
    for constraint in constraints {
        lab.create_constraint(constraint.clone()).await;
        let name = constraint["metadata"]["name"].as_str().unwrap();
        let reported = |object: &Value| !by_pod(object, "pod").is_null();
        lab.wait("the constraint is loaded", (CONSTRAINTS, KIND, name), reported).await;
    }
}

#[tokio::test]
async fn clients_see_denials_and_warnings_as_gatekeeper_gives_them() {
    let Some(lab) = Lab::start().await else { return };
    let (_service, operator) = Service::with_operator(&lab, "pod", &["--log-denies", "--emit-admission-events"]).await;
    let mut scoped = constraint(KIND, "scoped", "scoped");
    scoped["spec"]["scopedEnforcementActions"] = json!([
        {"action": "warn", "enforcementPoints": [{"name": "validation.gatekeeper.sh"}]},
        {"action": "deny", "enforcementPoints": [{"name": "audit.gatekeeper.sh"}]},
    ]);
    load(&lab, &[constraint(KIND, "warn", "warn"), constraint(KIND, "dryrun", "dryrun"), scoped]).await;

    // P4: an action that is not known is admitted with a warning, and not enforced.
    let unknown = create(&lab, &constraint(KIND, "unknown", "shout")).await;
    let warning = "the constraint is not enforced: unrecognized enforcementAction: \"shout\" is not within the supported \
                   list [deny dryrun warn scoped]";
    assert_eq!((unknown.code, unknown.warnings.as_slice()), (201, &[warning.to_owned()][..]), "{unknown:?}");

    let warned = create(&lab, &config_map("a", "shop", &json!({}))).await;
    let warnings = ["[scoped] label owner is missing", "[warn] label owner is missing"];
    assert_eq!((warned.code, warned.warnings.as_slice()), (201, &warnings.map(str::to_owned)[..]));
    let clean = create(&lab, &config_map("b", "shop", &json!({"owner": "x"}))).await;
    assert_eq!((clean.code, clean.warnings.len()), (201, 0));
    // Constraints are about this namespace only.
    assert_eq!(create(&lab, &config_map("a", "default", &json!({}))).await.warnings.len(), 0);

    load_more(&lab, constraint(KIND, "deny", "deny")).await;
    let mut both = constraint(KIND, "both", "deny");
    both["spec"]["parameters"] = json!({"labels": ["team", "owner"]});
    load_more(&lab, both).await;
    let denied = create(&lab, &config_map("c", "shop", &json!({}))).await;
    let lines = "[both] label owner is missing\n[deny] label owner is missing\n[both] label team is missing";
    assert_eq!((denied.code, denied.message.clone()), (403, format!("{DENIED}{lines}")));
    assert_eq!(denied.reason, "Forbidden");
    assert_eq!(denied.warnings, warnings);
    // An update is denied as well, and what was admitted before stays.
    let maps = lab.api("v1", "ConfigMap", Some("shop"));
    let patch = Patch::Merge(json!({"metadata": {"labels": {"owner": null}}}));
    let error = maps.patch("b", &PatchParams::default(), &patch).await.unwrap_err();
    assert!(error.to_string().contains("[deny] label owner is missing"), "{error}");

    // P6: a line for each violation with an effect, whether it denies, warns or is recorded.
    let names = async || {
        let lines = operator.lines("violation");
        let own = lines.iter().filter(|line| line["resource_name"] == "c");
        own.map(|line| line["constraint_name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    wait_until(IN_TIME, "all lines are written", async || names().await.len() == 6).await.unwrap();
    assert_eq!(names().await, ["both", "deny", "both", "dryrun", "scoped", "warn"]);
    let line = operator.lines("violation").into_iter().find(|line| line["constraint_name"] == "scoped").unwrap();
    let mut fixed = line.clone();
    fixed["ts"] = json!(0.5);
    assert_eq!(
        fixed,
        json!({
            "level": "info", "ts": 0.5, "logger": "webhook", "msg": "denied admission: label owner is missing",
            "event_type": "violation", "process": "admission", "hookType": "validation", "semantic": true,
            "details": {"missing": "owner"}, "constraint_name": "scoped",
            "constraint_group": "constraints.gatekeeper.sh", "constraint_api_version": "v1beta1", "constraint_kind": KIND,
            "constraint_action": "scoped", "constraint_enforcement_actions": ["warn"], "resource_group": "",
            "resource_api_version": "v1", "resource_kind": "ConfigMap", "resource_namespace": "shop",
            "resource_name": "a", "request_username": "admin",
        })
    );
    for (reason, name, message) in [
        ("FailedAdmission", "c", "Admission webhook \"validation.gatekeeper.sh\" denied request"),
        ("WarningAdmission", "a", "Admission webhook \"validation.gatekeeper.sh\" raised a warning for this request"),
        ("DryrunViolation", "a", "Dryrun violation"),
    ] {
        let about = |event: &Value| {
            let starts =
                event["message"].as_str().unwrap().starts_with(&format!("{message}, Resource Namespace: shop, "));
            starts && event["involvedObject"]["name"] == name
        };
        wait_until(IN_TIME, reason, async || lab.violation_events(reason).await.iter().any(about)).await.unwrap();
    }
    let (_, metrics) = operator.ask("/metrics").await;
    let denied = "gatekeeper_validation_request_count_total{admission_status=\"deny\",admission_dryrun=\"false\"} 2";
    assert!(metrics.lines().any(|line| line == denied), "{metrics}");
}

/// Adds a constraint and waits until it is enforced.
async fn load_more(lab: &Lab, constraint: Value) {
    lab.create_constraint(constraint.clone()).await;
    let name = constraint["metadata"]["name"].as_str().unwrap();
    lab.wait("it is enforced", (CONSTRAINTS, KIND, name), |object| by_pod(object, "pod")["enforced"] == true).await;
}

#[tokio::test]
async fn objects_of_gatekeepers_own_kinds_are_checked_before_they_are_stored() {
    let Some(lab) = Lab::start().await else { return };
    let _webhook = Service::with_operator(&lab, "pod", &["--reject-unknown-actions"]).await;
    load(&lab, &[]).await;
    let broken = "package broken\n\nviolation[{\"msg\": msg}] {\n  msg := no_such_function(1)\n}";
    let answer = create(&lab, &template("Broken", broken)).await;
    let refused = "invalid ConstraintTemplate: template:4:10: rego_type_error: ";
    assert_eq!(answer.code, 422);
    assert!(answer.message.starts_with(&format!("{DENIED}{refused}")), "{answer:?}");
    assert_eq!(lab.get(TEMPLATES, "ConstraintTemplate", "broken").await, Value::Null);

    // A constraint may follow its template at once, before this replica has seen the template.
    lab.wait("the CRD is there", (TEMPLATES, "ConstraintTemplate", "k8srequiredlabels"), |object| {
        object["status"]["created"] == true
    })
    .await;
    let mut wrong = constraint(KIND, "wrong", "deny");
    wrong["spec"]["match"]["labelSelector"] = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
    let long = "X".repeat(64);
    for (object, code, message) in [
        (wrong, 422, "invalid Constraint: "),
        (
            constraint(KIND, "shouting", "shout"),
            500,
            "unrecognized enforcementAction: \"shout\" is not within the supported list",
        ),
        (template(&long, REQUIRED_LABELS), 500, "resource cannot have metadata.name larger than 63 char; length: 64"),
    ] {
        let answer = wait_until_served(&lab, &object).await;
        assert_eq!(answer.code, code, "{answer:?}");
        assert!(answer.message.starts_with(&format!("{DENIED}{message}")), "{answer:?}");
    }
    let config = json!({
        "apiVersion": "config.gatekeeper.sh/v1alpha1", "kind": "Config",
        "metadata": {"name": "other", "namespace": "shop"}, "spec": {},
    });
    let answer = create(&lab, &config).await;
    assert_eq!((answer.code, answer.message), (422, format!("{DENIED}config resource must have name 'config'")));
    let expansion = json!({
        "apiVersion": "expansion.gatekeeper.sh/v1alpha1", "kind": "ExpansionTemplate", "metadata": {"name": "none"},
        "spec": {"templateSource": "spec.template", "generatedGVK": {"group": "", "version": "v1", "kind": "Pod"}},
    });
    let answer = create(&lab, &expansion).await;
    assert_eq!(answer.code, 422, "{answer:?}");
    assert!(answer.message.contains("ExpansionTemplate none must specify ApplyTo"), "{answer:?}");
}

/// The answer once the kind is served.
async fn wait_until_served(lab: &Lab, object: &Value) -> Answer {
    let api = lab.api(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap(), None);
    let served = async || api.list(&kube::api::ListParams::default()).await.is_ok();
    wait_until(IN_TIME, "the kind is served", served).await.unwrap();
    create(lab, object).await
}

#[tokio::test]
async fn exempt_namespaces_are_left_out_and_only_they_may_have_the_label() {
    let Some(lab) = Lab::start().await else { return };
    let _webhook =
        Service::with_operator(&lab, "pod", &["--exempt-namespace", "infra", "--exempt-namespace-prefix", "kube-"])
            .await;
    let mut everywhere = constraint(KIND, "owner", "deny");
    everywhere["spec"]["match"] = json!({"kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}]});
    load(&lab, &[everywhere]).await;
    let namespace = |name: &str| {
        let labels = json!({"admission.gatekeeper.sh/ignore": "yes"});
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    };
    let answer = create(&lab, &namespace("sneaky")).await;
    let denied = "admission webhook \"check-ignore-label.gatekeeper.sh\" denied the request: Only exempt namespace can have \
                  the admission.gatekeeper.sh/ignore label";
    assert_eq!((answer.code, answer.message.as_str()), (403, denied));
    assert_eq!(create(&lab, &namespace("infra")).await.code, 201);
    expect_denied(&lab, &config_map("a", "shop", &json!({})), "[owner] label owner is missing").await;
    // The API server does not ask for such a namespace once it has seen the label.
    wait_until(IN_TIME, "the label counts", async || {
        create(&lab, &config_map("a", "infra", &json!({}))).await.code == 201
    })
    .await
    .unwrap();

    // Config excludes namespaces from the webhook.
    lab.create(json!({
        "apiVersion": "config.gatekeeper.sh/v1alpha1", "kind": "Config",
        "metadata": {"name": "config", "namespace": "gatekeeper-system"},
        "spec": {"match": [{"processes": ["webhook"], "excludedNamespaces": ["sh*"]}]},
    }))
    .await;
    wait_until(IN_TIME, "the Config counts", async || {
        create(&lab, &config_map("b", "shop", &json!({}))).await.code == 201
    })
    .await
    .unwrap();
    expect_denied(&lab, &config_map("b", "default", &json!({})), "[owner] label owner is missing").await;
    // Our own namespace and Gatekeeper's are never asked about.
    assert_eq!(create(&lab, &config_map("a", "gatekeeper-system", &json!({}))).await.code, 201);
}

#[tokio::test]
async fn implied_objects_are_reviewed_with_the_objects_that_imply_them() {
    let Some(lab) = Lab::start().await else { return };
    let _webhook = Service::with_operator(&lab, "pod", &[]).await;
    let mut pods = constraint(KIND, "pods", "deny");
    pods["spec"]["match"] = json!({"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]});
    load(&lab, &[pods]).await;
    lab.create(json!({
        "apiVersion": "expansion.gatekeeper.sh/v1alpha1", "kind": "ExpansionTemplate",
        "metadata": {"name": "expand-deployments"},
        "spec": {
            "applyTo": [{"groups": ["apps"], "versions": ["v1"], "kinds": ["Deployment"]}],
            "templateSource": "spec.template", "generatedGVK": {"group": "", "version": "v1", "kind": "Pod"},
        },
    }))
    .await;
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    });
    let wanted = "[pods] [Implied by expand-deployments] label owner is missing";
    expect_denied(&lab, &deployment, wanted).await;
    let mut labelled = deployment.clone();
    labelled["spec"]["template"]["metadata"]["labels"]["owner"] = json!("x");
    assert_eq!(create(&lab, &labelled).await.code, 201);
}

/// Bad input: a template that cannot be stopped takes nothing from other requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_template_fails_alone_while_other_requests_go_on() {
    let Some(lab) = Lab::start().await else { return };
    let lab = Arc::new(lab);
    let _webhook = Service::with_operator(&lab, "pod", &["--evaluation-timeout", "1"]).await;
    lab.change_webhook(json!({"timeoutSeconds": 30})).await;
    load(&lab, &[constraint(KIND, "owner", "deny")]).await;
    let grow = |name: &str| -> String {
        let step = |number: u32| format!("{name}{number} := [{name}{0}, {name}{0}]\n", number - 1);
        (1..70).map(step).collect::<Vec<String>>().concat()
    };
    let endless = format!(
        "package hostile\nviolation[{{\"msg\": \"m\"}}] {{\nx0 := [input]\ny0 := [input]\n{}{}x69 == y69\n}}",
        grow("x"),
        grow("y")
    );
    lab.create_template("Hostile", &endless).await;
    let mut hostile = constraint("Hostile", "hostile", "deny");
    hostile["spec"] = json!({"match": {"kinds": [{"apiGroups": [""], "kinds": ["Secret"]}]}});
    lab.create_constraint(hostile).await;
    let at = (CONSTRAINTS, "Hostile", "hostile");
    lab.wait("the hostile constraint is loaded", at, |object| by_pod(object, "pod")["enforced"] == true).await;

    let secret =
        |name: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "shop"}});
    let hostile = {
        let lab = Arc::clone(&lab);
        tokio::spawn(async move {
            let mut answers = Vec::new();
            for number in 0..4 {
                answers.push(create(&lab, &secret(&format!("s{number}"))).await);
            }
            answers
        })
    };
    // While these are under way, others are decided as ever.
    let mut decided = 0;
    while !hostile.is_finished() || decided < 10 {
        let denied = create(&lab, &config_map(&format!("d{decided}"), "shop", &json!({}))).await;
        assert_eq!((denied.code, denied.message), (403, format!("{DENIED}[owner] label owner is missing")));
        let fine = create(&lab, &config_map(&format!("f{decided}"), "shop", &json!({"owner": "x"}))).await;
        assert_eq!(fine.code, 201, "{fine:?}");
        decided += 1;
    }
    for answer in hostile.await.unwrap() {
        assert_eq!(answer.code, 403, "{answer:?}");
        assert!(answer.message.contains("[hostile] template hostile "), "{answer:?}");
    }
    let at = (TEMPLATES, "ConstraintTemplate", "hostile");
    let aside = lab.wait("the status says that it is set aside", at, |object| {
        by_pod(object, "pod")["errors"][0]["message"].as_str().is_some_and(|text| text.contains("is set aside"))
    });
    aside.await;
    let others = (TEMPLATES, "ConstraintTemplate", "k8srequiredlabels");
    let other = lab.get(others.0, others.1, others.2).await;
    assert_eq!(by_pod(&other, "pod").get("errors"), None);
}
