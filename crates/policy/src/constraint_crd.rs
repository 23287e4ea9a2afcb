//! The CRD of the constraints of a template, as Gatekeeper generates it.

use serde_json::{Map, Value, json};

use crate::constraint_definition::ConstraintDefinition;

/// The group of constraints.
pub(crate) const GROUP: &str = "constraints.gatekeeper.sh";

impl ConstraintDefinition {
    /// The CRD of the constraints.
    pub fn crd(&self) -> Value {
        let lower = self.kind.to_lowercase();
        let mut labels = self.labels.clone();
        labels.insert("gatekeeper.sh/constraint".to_owned(), json!("yes"));
        let mut names = json!({
            "kind": self.kind,
            "listKind": format!("{}List", self.kind),
            "plural": lower,
            "singular": lower,
            "categories": ["constraint", "constraints"],
        });
        if !self.short_names.is_empty()
            && let Some(names) = names.as_object_mut()
        {
            names.insert("shortNames".to_owned(), json!(self.short_names));
        }
        let columns = json!([
            {
                "name": "enforcement-action",
                "description": "Type of enforcement action",
                "jsonPath": ".spec.enforcementAction",
                "type": "string",
            },
            {
                "name": "total-violations",
                "description": "Total number of violations",
                "jsonPath": ".status.totalViolations",
                "type": "integer",
            },
        ]);
        let version = |name: &str, storage: bool| {
            json!({
                "name": name,
                "served": true,
                "storage": storage,
                "schema": {"openAPIV3Schema": self.constraint_schema()},
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns,
            })
        };
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{lower}.{GROUP}"), "labels": labels},
            "spec": {
                "group": GROUP,
                "names": names,
                "scope": "Cluster",
                "preserveUnknownFields": false,
                "conversion": {"strategy": "None"},
                "versions": [version("v1beta1", true), version("v1alpha1", false)],
            },
        })
    }

    /// The schema of the constraints.
    pub(crate) fn constraint_schema(&self) -> Value {
        let mut spec = Map::new();
        spec.insert("match".to_owned(), match_schema());
        spec.insert("enforcementAction".to_owned(), json!({"type": "string", "default": "deny"}));
        spec.insert(
            "scopedEnforcementActions".to_owned(),
            json!({"type": "array", "items": {"type": "object", "properties": {
                "action": {"type": "string"},
                "enforcementPoints": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            }}}),
        );
        if let Some(schema) = &self.schema {
            spec.insert("parameters".to_owned(), schema.clone());
        }
        json!({
            "type": "object",
            "properties": {
                "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 63}}},
                "spec": {"type": "object", "properties": spec},
                "status": {"x-kubernetes-preserve-unknown-fields": true},
            },
        })
    }
}

fn match_schema() -> Value {
    const GLOB: &str = r"^\*?[-:a-z0-9]*\*?$";
    let glob = json!({"type": "string", "pattern": GLOB, "description":
        "A name, with an asterisk in front, behind or on both sides for any text, such as kube-* or *-system."});
    let selector = |description: &str| {
        json!({
            "description": description,
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {
                "matchExpressions": {
                    "type": "array",
                    "x-kubernetes-list-type": "atomic",
                    "items": {
                        "type": "object",
                        "required": ["key", "operator"],
                        "properties": {
                            "key": {"type": "string"},
                            "operator": {"type": "string"},
                            "values": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
                        },
                    },
                },
                "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        })
    };
    let globs = |description: &str| json!({"type": "array", "items": glob, "description": description});
    json!({
        "description": "Which objects the constraint is about. Fields that are missing match everything.",
        "type": "object",
        "properties": {
            "excludedNamespaces": globs("Namespaces whose objects do not match."),
            "kinds": {
                "type": "array",
                "items": {
                    "description": "Groups and kinds of objects; * means all.",
                    "type": "object",
                    "properties": {
                        "apiGroups": {"type": "array", "items": {"type": "string"}},
                        "kinds": {"type": "array", "items": {"type": "string"}},
                    },
                },
            },
            "labelSelector": selector("Labels of objects that match."),
            "name": {"type": "string", "pattern": GLOB, "description": "Names of objects that match."},
            "namespaceSelector": selector("Labels of namespaces whose objects match."),
            "namespaces": globs("Namespaces whose objects match."),
            "scope": {"type": "string", "description": "Cluster or Namespaced; anything else means both."},
            "source": {
                "type": "string",
                "enum": ["All", "Generated", "Original"],
                "description": "Whether objects match that are implied by others (Generated), those that exist (Original), or both.",
            },
        },
    })
}
