//! An admission policy that protects installed CRDs: no rollback of a bundle, no experimental CRD over a standard one
//! (V7, V8).
//!
//! It goes by the annotations alone, so it needs no change when a new bundle is released. Everything it uses is in
//! Kubernetes 1.30: `ValidatingAdmissionPolicy` v1 with variables, and optional values and `split` of CEL.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::model::Bundle;

/// A version of three numbers, with or without `v` and a pre-release.
const RELEASE: &str = r"^v?[0-9]{1,9}\\.[0-9]{1,9}\\.[0-9]{1,9}(-[0-9A-Za-z.-]+)?$";

/// The policy and its binding, for the API groups of a bundle and the domain of its annotations.
pub fn guard_policy(bundle: &Bundle) -> [Value; 2] {
    let groups: BTreeSet<&str> = bundle.crds.values().map(|crd| crd.group.as_str()).collect();
    let groups: Vec<String> = groups.iter().map(|group| format!("{group:?}")).collect();
    let domain = &bundle.domain;
    let name = format!("{domain}-bundle-guard");
    let annotation = |object: &str, key: &str| {
        let key = format!("{domain}/{key}");
        format!("{object}.metadata.?annotations[?{key:?}].orValue(\"\")")
    };
    let old = |key: &str| format!("oldObject == null ? \"\" : {}", annotation("oldObject", key));
    let numbers = |version: &str| {
        format!(
            "variables.{version}.matches(\"{RELEASE}\") ? \
             variables.{version}.find(\"[0-9]+\\\\.[0-9]+\\\\.[0-9]+\").split(\".\").map(number, int(number)) : []"
        )
    };
    let not_older = "variables.newNumbers[0] > variables.oldNumbers[0] || \
        variables.newNumbers[0] == variables.oldNumbers[0] && (\
        variables.newNumbers[1] > variables.oldNumbers[1] || \
        variables.newNumbers[1] == variables.oldNumbers[1] && (\
        variables.newNumbers[2] > variables.oldNumbers[2] || \
        variables.newNumbers[2] == variables.oldNumbers[2] && \
        (variables.oldVersion.contains(\"-\") || !variables.newVersion.contains(\"-\"))))";
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["apiextensions.k8s.io"], "apiVersions": ["*"], "operations": ["UPDATE"],
                "resources": ["customresourcedefinitions"],
            }]},
            "matchConditions": [{
                "name": "crds-of-the-bundle", "expression": format!("object.spec.group in [{}]", groups.join(", ")),
            }],
            "variables": [
                {"name": "oldVersion", "expression": old("bundle-version")},
                {"name": "newVersion", "expression": annotation("object", "bundle-version")},
                {"name": "oldChannel", "expression": old("channel")},
                {"name": "newChannel", "expression": annotation("object", "channel")},
                {"name": "oldNumbers", "expression": numbers("oldVersion")},
                {"name": "newNumbers", "expression": numbers("newVersion")},
            ],
            "validations": [
                {
                    "expression": "!(variables.oldChannel == \"standard\" && variables.newChannel == \"experimental\")",
                    "message": "an experimental CRD must not replace a standard one: fields of the experimental channel may be removed in any release",
                    "reason": "Invalid",
                },
                {
                    "expression": format!(
                        "size(variables.oldNumbers) != 3 || size(variables.newNumbers) == 3 && ({not_older})"
                    ),
                    "messageExpression":
                        "\"bundle \" + (variables.newVersion == \"\" ? \"without a version\" : variables.newVersion) + \" must not replace \" + variables.oldVersion + \": a rollback drops fields of stored objects\"",
                    "message": "an older bundle must not replace a newer one: a rollback drops fields of stored objects",
                    "reason": "Invalid",
                },
            ],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    });
    [policy, binding]
}
