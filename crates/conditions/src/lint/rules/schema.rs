//! SC025 on definitions of custom resources, and on lists longer than the schema of their API admits.

use clearway_core::Severity;
use clearway_yaml::Node;

use crate::lint::Profile;
use crate::lint::out::{Finding, List, Out};
use crate::lint::view::path::Path;

/// Gateway API's CRDs admit so many conditions in one list (GW21).
const GATEWAY_LONGEST: usize = 8;

/// SC025 for a list of Gateway API.
pub(crate) fn too_long(list: &List<'_, '_>, out: &mut Out<'_, '_>) {
    let count = list.conditions.len();
    if out.profile == Profile::Gateway && count > GATEWAY_LONGEST {
        let message = format!("the list has {count} conditions; the schema of Gateway API admits {GATEWAY_LONGEST}");
        let help = "remove your own types first: the API server refuses a status with more";
        out.report(list, None, finding(Severity::Error, message, help, "GW21"));
    }
}

/// The kind whose spec the rules look at.
pub(crate) const DEFINITION: &str = "CustomResourceDefinition";

/// SC025 for a `CustomResourceDefinition`.
pub(crate) fn definition(out: &mut Out<'_, '_>) {
    if out.object.kind() != DEFINITION || out.object.group() != "apiextensions.k8s.io" {
        return;
    }
    let Some(spec) = out.object.root.get("spec") else { return };
    let group = spec.get("group").and_then(Node::as_text).unwrap_or("");
    let six = Profile::declared(group) == Some(Profile::Knative);
    let Some(versions) = spec.get("versions") else { return };
    let root = Path::root("spec");
    let versions_path = root.key("versions");
    for (index, version) in versions.items().enumerate() {
        let path = versions_path.item(index, version);
        let Some(status) = version.at(&["schema", "openAPIV3Schema", "properties", "status"]) else { continue };
        let mut any = false;
        let (a, b) = (path.key("schema"), "openAPIV3Schema");
        let c = a.key(b);
        let d = c.key("properties");
        properties(status, &d.key("status"), 0, &mut |schema, path| {
            any = true;
            list_schema(schema, path, six, out);
        });
        if any && version.at(&["subresources", "status"]).is_none() && spec.at(&["subresources", "status"]).is_none() {
            let name = version.get("name").map_or("", Node::raw);
            let message = format!("version {name} has status.conditions but no status subresource");
            let help = "add `subresources: {status: {}}`: without it every write of the spec can overwrite the status";
            out.report_at(version, path.key("subresources").render(), finding(Severity::Error, message, help, "A24"));
        }
    }
}

/// Nothing that an API server accepts nests as deep.
const DEEPEST: usize = 64;

/// Finds the schemas of lists of conditions below a schema.
fn properties<'a>(schema: Node<'a>, path: &Path<'_>, depth: usize, visit: &mut dyn FnMut(Node<'a>, &Path<'_>)) {
    if depth > DEEPEST {
        return;
    }
    if let Some(fields) = schema.get("properties") {
        let path = path.key("properties");
        for (key, value) in fields.fields() {
            let path = path.key(key.raw());
            if key.raw() == "conditions" && is_condition_list(value, depth) {
                visit(value, &path);
            } else if value.is_mapping() {
                properties(value, &path, depth + 1, visit);
            }
        }
    }
    for below in ["items", "additionalProperties"] {
        if let Some(value) = schema.get(below).filter(|value| value.is_mapping()) {
            properties(value, &path.key(below), depth + 1, visit);
        }
    }
}

/// Whether a schema under `conditions` is about status conditions: `status.conditions` is, others must look like it.
fn is_condition_list(schema: Node<'_>, depth: usize) -> bool {
    let item = |key: &str| schema.at(&["items", "properties", key]).is_some();
    depth == 0 || (item("type") && item("status"))
}

fn list_schema(schema: Node<'_>, path: &Path<'_>, six: bool, out: &mut Out<'_, '_>) {
    let at = path.render();
    if schema.get("type").and_then(Node::as_text) != Some("array") {
        let message = "`conditions` is not described as a list".to_owned();
        let help = "describe the conditions as a list of objects, so that every tool can read them";
        out.report_at(schema, at, finding(Severity::Error, message, help, "KN1, A11, K1"));
        return;
    }
    let is_map = schema.get("x-kubernetes-list-type").and_then(Node::as_text) == Some("map");
    let by_type = schema
        .get("x-kubernetes-list-map-keys")
        .is_some_and(|keys| keys.items().next().and_then(Node::as_text) == Some("type") && keys.items().count() == 1);
    if !is_map || !by_type {
        let message = "the list of conditions is not a map by type, so each writer replaces the whole list".to_owned();
        let help = "add `x-kubernetes-list-type: map` and `x-kubernetes-list-map-keys: [type]`";
        out.report_at(schema, at.clone(), finding(Severity::Error, message, help, "A11, GW1, K1"));
    }
    let Some(fields) = schema.at(&["items", "properties"]) else { return };
    let wanted: &[&str] = if six {
        &["type", "status", "reason", "message", "severity", "lastTransitionTime"]
    } else {
        &["type", "status", "reason", "message", "lastTransitionTime"]
    };
    let undescribed: Vec<&str> = wanted.iter().copied().filter(|field| fields.get(field).is_none()).collect();
    if !undescribed.is_empty() {
        let message = format!("the schema of a condition does not describe {}", undescribed.join(", "));
        let help = "describe every field of a condition, also those the controller never sets";
        out.report_at(fields, format!("{at}.items.properties"), finding(Severity::Warning, message, help, "KN2, K1"));
    }
    // Knative's own schemas have no patterns, and its conventions ask for none.
    if !six {
        let has = |field: &str, key: &str| fields.get(field).is_none_or(|field| field.get(key).is_some());
        let checks = [
            ("status", "enum"),
            ("type", "pattern"),
            ("type", "maxLength"),
            ("reason", "pattern"),
            ("reason", "maxLength"),
            ("reason", "minLength"),
            ("message", "maxLength"),
        ];
        let unchecked: Vec<String> = checks
            .iter()
            .filter(|(field, key)| !has(field, key))
            .map(|(field, key)| format!("{field}.{key}"))
            .collect();
        if !unchecked.is_empty() {
            let message = format!("the schema of a condition accepts any value: it lacks {}", unchecked.join(", "));
            let help = "take the constraints of metav1.Condition";
            let finding = finding(Severity::Warning, message, help, "A11");
            out.report_at(fields, format!("{at}.items.properties"), finding);
        }
    }
    if schema.get("maxItems").is_none() {
        let message = "the list of conditions has no maxItems".to_owned();
        let help = "bound it (Gateway API has 8, Cluster API 32): lists that only grow have filled etcd";
        out.report_at(schema, at, finding(Severity::Warning, message, help, "GW21, A22"));
    }
}

fn finding(severity: Severity, message: String, help: &'static str, refs: &'static str) -> Finding<'static> {
    Finding { code: "SC025", severity, field: "", node: None, message, help: help.into(), refs }
}
