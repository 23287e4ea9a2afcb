//! The kinds of Gatekeeper: those that are handled, and those that are only recognised.

use clearway_core::GroupVersionKind;
use clearway_sources::kubernetes::Resource;
use serde_json::Value;

/// The group of templates.
pub(super) const TEMPLATES: &str = "templates.gatekeeper.sh";
/// The group of constraints.
pub(super) const CONSTRAINTS: &str = "constraints.gatekeeper.sh";
/// The group of the Config.
pub(super) const CONFIG: &str = "config.gatekeeper.sh";
/// The group of `SyncSet`s.
pub(super) const SYNC_SETS: &str = "syncset.gatekeeper.sh";
/// The group of expansion templates.
pub(super) const EXPANSIONS: &str = "expansion.gatekeeper.sh";
/// The group of CRDs.
pub(super) const CRDS: &str = "apiextensions.k8s.io";

/// The only name that a Config may have.
pub(super) const CONFIG_NAME: &str = "config";

/// Kinds that are not handled, and what that means for who has objects of them.
pub(super) const NOT_HANDLED: [(&str, &str, &str); 6] = [
    ("mutations.gatekeeper.sh", "Assign", "objects are not mutated"),
    ("mutations.gatekeeper.sh", "AssignImage", "objects are not mutated"),
    ("mutations.gatekeeper.sh", "AssignMetadata", "objects are not mutated"),
    ("mutations.gatekeeper.sh", "ModifySet", "objects are not mutated"),
    ("externaldata.gatekeeper.sh", "Provider", "templates that call external_data are refused"),
    ("connection.gatekeeper.sh", "Connection", "violations are not exported"),
];

/// Templates, in the version of an object.
pub(super) fn templates_like(object: &Value) -> Resource {
    let api_version = object["apiVersion"].as_str().unwrap_or("templates.gatekeeper.sh/v1");
    Resource::new(GroupVersionKind::new(api_version, "ConstraintTemplate"), "constrainttemplates", false)
}

/// Constraints of a kind, in the version that is stored.
pub(super) fn constraints_of(kind: &str) -> Resource {
    let version = format!("{CONSTRAINTS}/v1beta1");
    Resource::new(GroupVersionKind::new(&version, kind), &kind.to_lowercase(), false)
}

/// The Config, in the version of an object.
pub(super) fn configs_like(object: &Value) -> Resource {
    like(object, "Config", "configs", true)
}

/// `SyncSet`s, in the version of an object.
pub(super) fn sync_sets_like(object: &Value) -> Resource {
    like(object, "SyncSet", "syncsets", false)
}

/// Expansion templates, in the version of an object.
pub(super) fn expansions_like(object: &Value) -> Resource {
    like(object, "ExpansionTemplate", "expansiontemplate", false)
}

fn like(object: &Value, kind: &str, plural: &str, is_namespaced: bool) -> Resource {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    Resource::new(GroupVersionKind::new(api_version, kind), plural, is_namespaced)
}

/// CRDs.
pub(super) fn crds() -> Resource {
    let kind = GroupVersionKind::new("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    Resource::new(kind, "customresourcedefinitions", false)
}

/// Pods.
pub(super) fn pods() -> Resource {
    Resource::new(GroupVersionKind::new("v1", "Pod"), "pods", true)
}

/// Namespaces.
pub(super) fn namespaces() -> Resource {
    Resource::new(GroupVersionKind::new("v1", "Namespace"), "namespaces", false)
}
