//! Gatekeeper's CRDs that policies need, with the fields, versions and defaults that it documents.

use serde_json::{Value, json};

use super::super::{MANAGED_BY, MANAGER};

/// A namespace, with an asterisk in front, behind or on both sides.
const GLOB: &str = r"^\*?[-:a-z0-9]*\*?$";

/// All of them. Constraints have CRDs of their own, which the operator makes of templates.
pub(super) fn crds() -> Vec<Value> {
    vec![constraint_templates(), configs(), sync_sets(), expansion_templates()]
}

/// A version of a kind.
struct Version {
    name: &'static str,
    is_stored: bool,
    schema: Value,
}

fn crd(group: &str, kind: &str, plural: &str, scope: &str, versions: Vec<Version>) -> Value {
    let singular = kind.to_lowercase();
    let version = |version: Version| {
        json!({
            "name": version.name,
            "served": true,
            "storage": version.is_stored,
            "schema": {"openAPIV3Schema": version.schema},
            "subresources": {"status": {}},
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"),
            "labels": {"gatekeeper.sh/system": "yes", "app.kubernetes.io/part-of": "clearway", MANAGED_BY: MANAGER},
        },
        "spec": {
            "group": group,
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": singular},
            "scope": scope,
            "versions": versions.into_iter().map(version).collect::<Vec<_>>(),
        },
    })
}

/// The schema of an object with a specification and a status.
fn object(description: &str, spec: &Value, status: &Value) -> Value {
    json!({
        "description": description,
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
    })
}

/// Something of any form, as far as the API server is concerned.
fn anything() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

fn texts(description: &str) -> Value {
    json!({"description": description, "type": "array", "items": {"type": "string"}})
}

/// A status that is written by pod.
fn status_by_pod() -> Value {
    let entries = json!({"type": "array", "items": anything()});
    json!({"type": "object", "properties": {"byPod": entries}, "x-kubernetes-preserve-unknown-fields": true})
}

fn constraint_templates() -> Value {
    let version = |name: &'static str, is_stored: bool, is_legacy: bool| Version {
        name,
        is_stored,
        schema: object(
            "A template defines a kind of constraints: the schema of their parameters, and the code that finds violations.",
            &template_spec(is_legacy),
            &json!({
                "type": "object",
                "properties": {
                    "byPod": {"type": "array", "items": anything()},
                    "created": {"type": "boolean", "description": "Whether a pod has loaded the template."},
                },
                "x-kubernetes-preserve-unknown-fields": true,
            }),
        ),
    };
    let versions = vec![version("v1", true, false), version("v1beta1", false, true), version("v1alpha1", false, true)];
    crd("templates.gatekeeper.sh", "ConstraintTemplate", "constrainttemplates", "Cluster", versions)
}

fn template_spec(is_legacy: bool) -> Value {
    let validation = json!({
        "description": "The schema of spec.parameters of constraints.",
        "type": "object",
        "default": {"legacySchema": is_legacy},
        "properties": {
            "legacySchema": {
                "description": "Whether fields that the schema does not describe are kept.",
                "type": "boolean",
                "default": is_legacy,
            },
            "openAPIV3Schema": anything(),
        },
    });
    let names = json!({
        "type": "object",
        "properties": {
            "kind": {"description": "The kind of constraints; the template has its name in lower case.", "type": "string"},
            "shortNames": texts("Further names of the kind."),
        },
    });
    let crd = json!({
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"names": names, "validation": validation}}},
    });
    let code = json!({
        "description": "Code by engine. K8sNativeValidation (CEL) comes before Rego.",
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["engine"],
        "items": {
            "type": "object",
            "required": ["engine", "source"],
            "properties": {
                "engine": {"description": "Rego or K8sNativeValidation.", "type": "string"},
                "source": anything(),
            },
        },
    });
    let target = json!({
        "type": "object",
        "properties": {
            "target": {"description": "admission.k8s.gatekeeper.sh", "type": "string"},
            "rego": {"description": "Code in Rego; it comes before an entry of `code` in Rego.", "type": "string"},
            "libs": texts("Libraries in Rego."),
            "code": code,
            "operations": {
                "description": "The operations of admission requests that are evaluated; all if there are none.",
                "type": "array",
                "items": {"type": "string", "enum": ["*", "CREATE", "UPDATE", "DELETE", "CONNECT"]},
            },
        },
    });
    json!({
        "type": "object",
        "properties": {"crd": crd, "targets": {"description": "Exactly one.", "type": "array", "items": target}},
    })
}

/// A kind with its group and version.
fn group_version_kind() -> Value {
    let text = json!({"type": "string"});
    json!({"type": "object", "properties": {"group": text, "version": text, "kind": text}})
}

fn configs() -> Value {
    let trace = json!({
        "type": "object",
        "properties": {"user": {"type": "string"}, "kind": group_version_kind(), "dump": {"type": "string"}},
    });
    let excluded = json!({
        "type": "object",
        "properties": {
            "processes": texts("audit, sync, webhook, mutation-webhook, or * for all."),
            "excludedNamespaces": {"type": "array", "items": {"type": "string", "pattern": GLOB}},
        },
    });
    let spec = json!({
        "type": "object",
        "properties": {
            "sync": {"type": "object", "properties": {"syncOnly": {
                "description": "The kinds whose objects templates see as data.inventory.",
                "type": "array", "items": group_version_kind(),
            }}},
            "match": {"description": "Namespaces that processes leave out.", "type": "array", "items": excluded},
            "validation": {"type": "object", "properties": {"traces": {"type": "array", "items": trace}}},
            "readiness": {"type": "object", "properties": {"statsEnabled": {"type": "boolean"}}},
        },
    });
    let schema = object("The settings of policies. Only the one named config is read.", &spec, &status_by_pod());
    let versions = vec![Version { name: "v1alpha1", is_stored: true, schema }];
    crd("config.gatekeeper.sh", "Config", "configs", "Namespaced", versions)
}

fn sync_sets() -> Value {
    let kinds = json!({
        "description": "The kinds whose objects templates see as data.inventory.",
        "type": "array", "items": group_version_kind(),
    });
    let spec = json!({"type": "object", "properties": {"gvks": kinds}});
    let schema = object("Kinds of the inventory, besides those of the Config.", &spec, &status_by_pod());
    let versions = vec![Version { name: "v1alpha1", is_stored: true, schema }];
    crd("syncset.gatekeeper.sh", "SyncSet", "syncsets", "Cluster", versions)
}

fn expansion_templates() -> Value {
    let apply_to = json!({
        "type": "object",
        "properties": {"groups": texts("API groups."), "versions": texts("Versions."), "kinds": texts("Kinds.")},
    });
    let spec = json!({
        "type": "object",
        "properties": {
            "applyTo": {"description": "The objects that imply others.", "type": "array", "items": apply_to},
            "templateSource": {"description": "Where they hold what they imply, such as spec.template.", "type": "string"},
            "generatedGVK": group_version_kind(),
            "enforcementAction": {"description": "Replaces the action of constraints.", "type": "string"},
        },
    });
    let schema = object("Objects that others imply, such as the pods of a Deployment.", &spec, &status_by_pod());
    let versions = vec![
        Version { name: "v1alpha1", is_stored: true, schema: schema.clone() },
        Version { name: "v1beta1", is_stored: false, schema },
    ];
    crd("expansion.gatekeeper.sh", "ExpansionTemplate", "expansiontemplate", "Cluster", versions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_defaults_are_those_of_gatekeeper() {
        let shown = |crd: &Value| {
            let versions = crd["spec"]["versions"].as_array().unwrap().iter();
            let word = |version: &Value| {
                let stored = if version["storage"] == true { " (stored)" } else { "" };
                format!("{}{stored}", version["name"].as_str().unwrap())
            };
            format!(
                "{} {}",
                crd["metadata"]["name"].as_str().unwrap(),
                versions.map(word).collect::<Vec<_>>().join(", ")
            )
        };
        assert_eq!(
            crds().iter().map(shown).collect::<Vec<_>>(),
            [
                "constrainttemplates.templates.gatekeeper.sh v1 (stored), v1beta1, v1alpha1",
                "configs.config.gatekeeper.sh v1alpha1 (stored)",
                "syncsets.syncset.gatekeeper.sh v1alpha1 (stored)",
                "expansiontemplate.expansion.gatekeeper.sh v1alpha1 (stored), v1beta1",
            ]
        );
        let templates = constraint_templates();
        let path =
            "/schema/openAPIV3Schema/properties/spec/properties/crd/properties/spec/properties/validation/default";
        let legacy: Vec<&Value> =
            templates["spec"]["versions"].as_array().unwrap().iter().map(|one| one.pointer(path).unwrap()).collect();
        assert_eq!(
            legacy,
            [&json!({"legacySchema": false}), &json!({"legacySchema": true}), &json!({"legacySchema": true})]
        );
    }
}
