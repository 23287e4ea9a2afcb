//! `clearway policy audit` of snapshots and `clearway policy preview` of releases, without a cluster.

use serde_json::{Value, json};

use crate::{Answer, Place};

const TEMPLATE: &str = "\
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: requiredlabel}
spec:
  crd:
    spec:
      names: {kind: RequiredLabel}
      validation:
        openAPIV3Schema: {type: object, properties: {label: {type: string}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package requiredlabel

      violation[{\"msg\": msg}] {
        label := input.parameters.label
        not input.review.object.metadata.labels[label]
        msg := sprintf(\"label %v is missing\", [label])
      }
";

/// A constraint about pods and namespaces.
fn constraint(name: &str, action: &str) -> String {
    format!(
        "\
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: RequiredLabel
metadata: {{name: {name}}}
spec:
  enforcementAction: {action}
  match: {{kinds: [{{apiGroups: [\"\"], kinds: [Pod, Namespace]}}]}}
  parameters: {{label: owner}}
"
    )
}

fn object(kind: &str, namespace: Option<&str>, name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace, "labels": labels},
    })
}

/// A snapshot of pods and namespaces, and policies in `policies`.
fn place(constraints: &[(&str, &str)]) -> Place {
    let place = Place::new();
    place.write("policies/template.yaml", TEMPLATE);
    for (name, action) in constraints {
        place.write(&format!("policies/{name}.yaml"), constraint(name, action));
    }
    snapshot(&place, &["Pod", "Namespace"]);
    place
}

fn snapshot(place: &Place, kinds: &[&str]) {
    let listed: Vec<Value> = kinds.iter().map(|kind| json!({"kind": kind})).collect();
    let manifest = json!({"schema": "1.0", "takenAt": "2026-05-04T09:00:00Z", "objects": listed});
    place.write("snapshot/snapshot.json", manifest.to_string());
    let pods = json!({"items": [
        object("Pod", Some("shop"), "web", &json!({})),
        object("Pod", Some("shop"), "api", &json!({"owner": "ann"})),
    ]});
    let namespaces = json!({"items": [object("Namespace", None, "shop", &json!({}))]});
    place.write("snapshot/objects/Pod.json", pods.to_string());
    place.write("snapshot/objects/Namespace.json", namespaces.to_string());
}

fn audit(place: &Place, more: &[&str]) -> Answer {
    place.run(&[&["policy", "audit", "--snapshot", "snapshot", "-f", "policies"], more].concat())
}

#[test]
fn a_snapshot_is_audited_by_policies_in_files() {
    let place = place(&[("denies", "deny"), ("warns", "warn")]);
    let answer = audit(&place, &[]);
    assert_eq!(answer.code, 1, "{answer:?}");
    assert_eq!(
        answer.out,
        "\
CONSTRAINT            ACTION  VIOLATIONS
RequiredLabel/denies  deny    2
RequiredLabel/warns   warn    2

RequiredLabel/denies (deny):
  Namespace shop: label owner is missing
  Pod shop/web: label owner is missing

RequiredLabel/warns (warn):
  Namespace shop: label owner is missing
  Pod shop/web: label owner is missing
"
    );
    assert!(
        answer.err.contains("3 objects evaluated against 2 constraints: 4 violations, 2 of them denied"),
        "{answer:?}"
    );

    let data = audit(&place, &["-o", "json", "--constraint-violations-limit", "1"]);
    assert!(data.err.contains("2 violations not listed"), "{data:?}");
    let data = data.json();
    assert_eq!(data["auditTimestamp"], "2026-05-04T09:00:00Z", "{data}");
    assert_eq!(data["constraints"][0]["totalViolations"], 2);
    assert_eq!(
        data["constraints"][0]["violations"],
        json!([{
            "group": "", "version": "v1", "kind": "Namespace", "name": "shop", "message": "label owner is missing",
            "enforcementAction": "deny",
        }])
    );

    let log = audit(&place, &["-o", "sarif"]).json();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 4, "{log}");
    assert_eq!((&results[0]["ruleId"], &results[0]["level"]), (&json!("RequiredLabel/denies"), &json!("error")));
    let location = &results[0]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"];
    assert_eq!(location, "Pod shop/web");
}

#[test]
fn policy_reports_have_a_report_per_namespace() {
    let place = place(&[("denies", "deny"), ("records", "dryrun")]);
    let answer = audit(&place, &["-o", "policyreport"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    let reports: Vec<&str> = answer.out.split("---\n").filter(|text| !text.is_empty()).collect();
    let reports: Vec<Value> = reports.iter().map(|text| serde_saphyr::from_str(text).unwrap()).collect();
    let resource = |namespace: Option<&str>, kind: &str, name: &str| match namespace {
        Some(namespace) => json!({"apiVersion": "v1", "kind": kind, "name": name, "namespace": namespace}),
        None => json!({"apiVersion": "v1", "kind": kind, "name": name}),
    };
    let result = |rule: &str, action: &str, result: &str, resource: &Value| {
        json!({
            "source": "Clearway", "policy": "RequiredLabel", "rule": rule, "resources": [resource],
            "message": "label owner is missing", "result": result, "properties": {"enforcementAction": action},
            "timestamp": {"seconds": 1_777_885_200, "nanos": 0},
        })
    };
    let report = |kind: &str, metadata: Value, resource: &Value| {
        json!({
            "apiVersion": "wgpolicyk8s.io/v1alpha2", "kind": kind, "metadata": metadata,
            "summary": {"pass": 0, "fail": 1, "warn": 1, "error": 0, "skip": 0},
            "results": [result("denies", "deny", "fail", resource), result("records", "dryrun", "warn", resource)],
        })
    };
    let labels = json!({"app.kubernetes.io/managed-by": "clearway"});
    assert_eq!(
        reports,
        [
            report(
                "ClusterPolicyReport",
                json!({"name": "clearway-audit", "labels": labels}),
                &resource(None, "Namespace", "shop")
            ),
            report(
                "PolicyReport",
                json!({"name": "clearway-audit", "namespace": "shop", "labels": labels}),
                &resource(Some("shop"), "Pod", "web")
            ),
        ],
        "{answer:?}"
    );
}

#[test]
fn only_constraints_that_deny_fail_and_what_is_missing_is_not_known() {
    let place = place(&[("warns", "warn"), ("records", "dryrun"), ("shouts", "shout")]);
    let answer = audit(&place, &[]);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.err.contains("RequiredLabel/shouts") && answer.err.contains("not enforced"), "{answer:?}");
    assert!(answer.out.contains("RequiredLabel/shouts   shout   0"), "{answer:?}");

    // A kind that the constraints name is not in the snapshot.
    snapshot(&place, &["Namespace"]);
    let answer = audit(&place, &[]);
    assert_eq!(answer.code, 2, "{answer:?}");
    assert!(answer.err.contains("not evaluated: Pod: not in the snapshot"), "{answer:?}");
    assert_eq!(audit(&place, &["-o", "json"]).json()["notEvaluated"][0]["what"], "Pod");
    snapshot(&place, &["Pod", "Namespace"]);

    // A template that cannot be loaded costs its own constraints, and no others.
    let broken = TEMPLATE.replace("requiredlabel", "broken").replace("RequiredLabel", "Broken");
    place.write("policies/broken.yaml", broken.replace("violation[", "no_violation["));
    let answer = audit(&place, &[]);
    assert_eq!(answer.code, 2, "{answer:?}");
    assert!(answer.err.contains("policies/broken.yaml: ConstraintTemplate broken"), "{answer:?}");
    assert!(answer.out.contains("RequiredLabel/warns    warn    2"), "{answer:?}");
}

#[test]
fn namespaces_are_excluded_by_the_config() {
    let place = place(&[("denies", "deny")]);
    place.write(
        "policies/config.yaml",
        "apiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nmetadata: {name: config, namespace: gatekeeper-system}\n\
         spec: {match: [{processes: [audit], excludedNamespaces: [sho*]}]}\n",
    );
    let answer = audit(&place, &[]);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.err.contains("0 objects evaluated"), "{answer:?}");
}

#[test]
fn a_snapshot_without_policies_says_so_and_options_that_contradict_are_refused() {
    let place = place(&[]);
    let answer = place.run(&["policy", "audit", "--snapshot", "snapshot"]);
    assert_eq!(answer.code, 3, "{answer:?}");
    assert!(answer.err.contains("the snapshot has no ConstraintTemplates"), "{answer:?}");
    for more in [["--write-status", "--snapshot"], ["--write-status", "-f"]] {
        let answer = place.run(&["policy", "audit", more[0], more[1], "snapshot"]);
        assert_eq!(answer.code, 3, "{answer:?}");
        assert!(answer.err.contains("cannot be used with"), "{answer:?}");
    }
    assert_eq!(place.run(&["policy", "audit"]).code, 3, "there is no cluster");
}

#[test]
fn a_template_that_does_not_end_makes_the_result_unknown() {
    let place = place(&[("warns", "warn")]);
    let doubling: Vec<String> =
        (1..20).map(|number| format!("s{number} := concat(\"\", [s{}, s{}]); ", number - 1, number - 1)).collect();
    let doubling = doubling.concat();
    let many = "many := [text | numbers.range(1, 400)[_]; text := concat(\"\", [s19, \"x\"])]; count(many) > 0";
    let front = TEMPLATE.split_once("      violation").unwrap().0;
    let rule = format!("      violation[{{\"msg\": \"m\"}}] {{ s0 := \"0123456789\"; {doubling} {many} }}\n");
    place.write("policies/template.yaml", format!("{front}{rule}"));
    let answer = audit(&place, &["--memory-limit", "512"]);
    assert_eq!(answer.code, 2, "{answer:?}");
    assert!(answer.err.contains("evaluating policies needs more than 512 MiB of memory"), "{answer:?}");
}

#[test]
fn a_release_is_previewed_by_policies_in_files() {
    let place = place(&[("denies", "deny")]);
    let manifests = "release/release-manifests";
    place.write(&format!("{manifests}/release-metadata"), r#"{"kind": "cincinnati-metadata-v0", "version": "1.5.0"}"#);
    place.write(
        &format!("{manifests}/0000_10_core_00.yaml"),
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n",
    );
    place.write(
        &format!("{manifests}/0000_50_app_00.yaml"),
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop, labels: {owner: ann}}\n",
    );
    let preview = || place.run(&["policy", "preview", "--release", "release", "-f", "policies"]);
    let answer = preview();
    assert_eq!(answer.code, 1, "{answer:?}");
    assert!(
        answer.out.ends_with("RequiredLabel/denies (deny):\n  Namespace shop: label owner is missing\n"),
        "{answer:?}"
    );
    // What the release deletes is not applied.
    place.write(
        &format!("{manifests}/0000_10_core_00.yaml"),
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n  annotations: {release.openshift.io/delete: \"true\"}\n",
    );
    assert_eq!(preview().code, 0, "{:?}", preview());
    let answer = place.run(&["policy", "preview", "--release", "no-such-release", "-f", "policies"]);
    assert_eq!(answer.code, 3, "{answer:?}");
}

#[test]
fn what_the_operator_sends_is_evaluated_and_answered_as_json() {
    let place = place(&[("denies", "deny")]);
    let read = |name: &str| {
        let text = std::fs::read_to_string(place.path().join(name)).unwrap();
        serde_saphyr::from_str::<Value>(&text).unwrap()
    };
    let request = json!({
        "policies": [read("policies/template.yaml"), read("policies/denies.yaml")],
        "objects": [object("Pod", Some("shop"), "web", &json!({}))],
        "namespaces": [object("Namespace", None, "shop", &json!({}))],
        "inventory": [],
    });
    let answer = place.run_with(request.to_string(), &["policy", "evaluate"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    let data = answer.json();
    assert_eq!(data["constraints"][0]["deniedViolations"], 1, "{data}");
    assert_eq!(data["constraints"][0]["violations"][0]["name"], "web", "{data}");
    let answer = place.run_with("{}", &["policy", "evaluate"]);
    assert_eq!(answer.code, 3, "{answer:?}");
}
