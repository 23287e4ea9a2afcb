//! One document with a CRD becomes a [`Crd`].

use std::collections::{BTreeMap, BTreeSet};

use clearway_core::{Diagnostic, Severity};
use clearway_schema::excerpt;
use clearway_yaml::{Node, Source};

use super::schema::{self, SchemaProblem};
use super::{BundleLimits, codes, place};
use crate::model::{ApiVersion, Crd};

pub(super) struct CrdReader<'r, 's> {
    pub(super) source: Source<'s>,
    pub(super) domain: &'r str,
    pub(super) limits: &'r BundleLimits,
}

/// Annotations that tools and the API server add, which are no part of a bundle.
const OF_THE_CLUSTER: [&str; 2] =
    ["kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision"];

/// Bytes of the largest object that etcd stores with its default settings.
const STORED_BYTES: usize = 3 << 19;

impl CrdReader<'_, '_> {
    /// The CRD; nothing if it cannot be judged at all, which is then among the problems.
    pub(super) fn read(&self, root: Node<'_>, api_version: &str, problems: &mut Vec<Diagnostic>) -> Option<Crd> {
        let text = |path: &[&str]| root.at(path).and_then(Node::as_text).unwrap_or_default().to_owned();
        let texts = |path: &[&str]| -> BTreeSet<String> {
            let items = root.at(path).map(|node| node.items().filter_map(Node::as_text).map(str::to_owned).collect());
            items.unwrap_or_default()
        };
        let name = text(&["metadata", "name"]);
        let object = format!("CustomResourceDefinition.apiextensions.k8s.io {name}");
        let problem = |code, node, path: &str, message: String| {
            Diagnostic::new(code, Severity::Error, message).at(place(self.source, node, &object, path))
        };
        if api_version != "apiextensions.k8s.io/v1" {
            let message = format!("{}: CRDs of `{}` are not supported", excerpt(&name), excerpt(api_version));
            let node = root.get("apiVersion").unwrap_or(root);
            let help = "convert it to apiextensions.k8s.io/v1, which Kubernetes has since 1.16";
            problems.push(problem(codes::OLD_CRD, node, "apiVersion", message).with_help(help));
            return None;
        }
        let needed = [
            &["metadata", "name"][..],
            &["spec", "group"],
            &["spec", "names", "kind"],
            &["spec", "names", "plural"],
            &["spec", "scope"],
        ];
        if let Some(missing) = needed.into_iter().find(|path| text(path).is_empty()) {
            let path = missing.join(".");
            let message = format!("the CRD {} has no `{path}`", excerpt(&name));
            problems.push(problem(codes::INCOMPLETE_CRD, root, &path, message));
            return None;
        }
        let conversion = Some(text(&["spec", "conversion", "strategy"])).filter(|text| !text.is_empty());
        let annotations = string_map(root, "annotations");
        let mut crd = Crd {
            group: text(&["spec", "group"]),
            scope: text(&["spec", "scope"]),
            kind: text(&["spec", "names", "kind"]),
            plural: text(&["spec", "names", "plural"]),
            singular: text(&["spec", "names", "singular"]),
            list_kind: text(&["spec", "names", "listKind"]),
            short_names: texts(&["spec", "names", "shortNames"]),
            categories: texts(&["spec", "names", "categories"]),
            conversion: conversion.unwrap_or_else(|| "None".to_owned()),
            bundle_version: annotations.get(&format!("{}/bundle-version", self.domain)).cloned(),
            channel: annotations.get(&format!("{}/channel", self.domain)).cloned(),
            annotations,
            labels: string_map(root, "labels"),
            stored_versions: root
                .at(&["status", "storedVersions"])
                .filter(|stored| stored.is_sequence())
                .map(|_| texts(&["status", "storedVersions"])),
            place: place(self.source, root, &object, ""),
            versions: BTreeMap::new(),
            name,
        };
        let versions = root.at(&["spec", "versions"]);
        for (number, node) in versions.into_iter().flat_map(Node::items).enumerate() {
            if number == self.limits.api_versions {
                let message = format!("the CRD {} has more than {number} versions", excerpt(&crd.name));
                let problem = problem(codes::INCOMPLETE_CRD, node, "spec.versions", message);
                problems.push(problem.with_help("the other versions are not judged"));
                break;
            }
            let version = self.version(node, &object, &crd.name, problems);
            if version.name.is_empty() {
                let message = format!("the CRD {} has a version without a name", excerpt(&crd.name));
                problems.push(problem(codes::INCOMPLETE_CRD, node, "spec.versions[].name", message));
            } else if crd.versions.contains_key(&version.name) {
                let message =
                    format!("the CRD {} has the version {} twice", excerpt(&crd.name), excerpt(&version.name));
                problems.push(problem(codes::DUPLICATE, node, "spec.versions[].name", message));
            } else {
                crd.versions.insert(version.name.clone(), version);
            }
        }
        if crd.versions.is_empty() {
            let message = format!("the CRD {} has no versions", excerpt(&crd.name));
            problems.push(problem(codes::INCOMPLETE_CRD, root, "spec.versions", message));
            return None;
        }
        let bytes = json_bytes(root);
        if bytes > STORED_BYTES {
            let message = format!("the CRD {} has {bytes} bytes as JSON", excerpt(&crd.name));
            let at = place(self.source, root, &object, "spec.versions");
            let help =
                "the API server stores at most 1.5 MiB (1572864 bytes); shorten descriptions, or remove API versions";
            problems.push(Diagnostic::new(codes::CRD_TOO_LARGE, Severity::Warning, message).at(at).with_help(help));
        }
        Some(crd)
    }

    fn version(&self, node: Node<'_>, object: &str, crd: &str, problems: &mut Vec<Diagnostic>) -> ApiVersion {
        let flag = |key: &str| node.get(key).and_then(Node::as_bool) == Some(true);
        let text = |key: &str| node.get(key).and_then(Node::as_text).map(str::to_owned);
        let name = text("name").unwrap_or_default();
        let json = |path: &[&str]| node.at(path).filter(|node| !node.is_null()).map(Node::to_json);
        let path = format!("spec.versions[name={}].schema.openAPIV3Schema", excerpt(&name));
        let schema = match node.at(&["schema", "openAPIV3Schema"]).filter(|node| !node.is_null()) {
            None => {
                let message = format!("{} {}: the version has no schema", excerpt(crd), excerpt(&name));
                let at = place(self.source, node, object, &path);
                problems.push(Diagnostic::new(codes::NO_SCHEMA, Severity::Error, message).at(at));
                None
            }
            Some(root) => match schema::read(root, self.limits) {
                Ok(schema) => Some(schema),
                Err((problem, node, field)) => {
                    let code = match problem {
                        SchemaProblem::NotAnObject | SchemaProblem::Keyword(_) => codes::INVALID_KEYWORD,
                        SchemaProblem::Reference => codes::REFERENCE,
                        SchemaProblem::TooDeep(_) | SchemaProblem::TooLarge(_) => codes::SCHEMA_TOO_LARGE,
                    };
                    let at = place(self.source, node, object, if field.is_empty() { &path } else { &field });
                    let message = problem.message(crd, &excerpt(&name));
                    let excerpt = self.source.excerpt(node);
                    let problem = Diagnostic::new(code, Severity::Error, message).at(at).with_excerpt(excerpt);
                    problems.push(problem.with_help("this API version is not judged; the others are"));
                    None
                }
            },
        };
        let selectable = node.get("selectableFields").into_iter().flat_map(Node::items);
        ApiVersion {
            served: flag("served"),
            storage: flag("storage"),
            deprecated: flag("deprecated"),
            deprecation_warning: text("deprecationWarning"),
            schema,
            status_subresource: node.at(&["subresources", "status"]).is_some(),
            scale: json(&["subresources", "scale"]),
            printer_columns: json(&["additionalPrinterColumns"]),
            selectable_fields: selectable
                .filter_map(|field| field.get("jsonPath").and_then(Node::as_text).map(str::to_owned))
                .collect(),
            place: place(self.source, node, object, &format!("spec.versions[name={}]", excerpt(&name))),
            name,
        }
    }
}

/// About how many bytes a document has as JSON without white space, which is what is stored.
fn json_bytes(node: Node<'_>) -> usize {
    let fields =
        node.fields().map(|(name, value)| name.raw().len().saturating_add(4).saturating_add(json_bytes(value)));
    let items = node.items().map(|item| json_bytes(item).saturating_add(1));
    let below = fields.chain(items).fold(0_usize, usize::saturating_add);
    below.saturating_add(node.raw().len()).saturating_add(2)
}

fn string_map(root: Node<'_>, key: &str) -> BTreeMap<String, String> {
    let entries = root.at(&["metadata", key]).into_iter().flat_map(Node::fields);
    entries
        .filter(|(name, _)| !OF_THE_CLUSTER.contains(&name.raw()))
        .map(|(name, value)| (name.raw().to_owned(), value.raw().to_owned()))
        .collect()
}
