//! One object in another API version of its CRD, as the API server converts it without a webhook: `apiVersion` is rewritten,
//! and the schema of the new version decides what is dropped and what is refused.

use std::collections::{BTreeMap, BTreeSet};

use clearway_schema::{SchemaError, Unchecked};
use serde::Serialize;
use serde_json::Value;

use super::compare;
use crate::crd_schema::CrdSchema;
use crate::model::{Crd, render_path};

/// Converts objects of one CRD to one of its API versions.
#[derive(Debug)]
pub struct ObjectConverter<'c> {
    crd: &'c Crd,
    to: &'c str,
    target: CrdSchema,
    /// The schemas of the other versions, where they can be read.
    sources: BTreeMap<&'c str, CrdSchema>,
}

/// An object in its new version.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvertedObject {
    /// The object, without what the new version does not have and with its defaults.
    pub object: Value,
    /// What does not survive; empty if nothing is lost.
    pub losses: Vec<ConversionLoss>,
    /// What the API server would check and was not checked.
    pub unchecked: Vec<Unchecked>,
}

/// A value that does not survive a conversion.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversionLoss {
    /// The field; `[]` stands for any element.
    pub path: String,
    /// Whether it is dropped or refused.
    pub kind: ConversionLossKind,
    /// Why, in one sentence.
    pub message: String,
}

/// How a value is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConversionLossKind {
    /// The new version does not have the field.
    Dropped,
    /// The new version does not accept the value.
    Refused,
}

/// Why objects of a CRD cannot be converted here.
#[derive(Debug, thiserror::Error)]
pub enum ConversionError {
    /// A webhook converts them, and only it knows how.
    #[error("objects of {crd} are converted by a webhook; ask the API server for them in {to}")]
    Webhook {
        /// The CRD.
        crd: String,
        /// The new version.
        to: String,
    },
    /// The CRD does not have the version.
    #[error("{crd} has no version {to}; it has {known}")]
    NoVersion {
        /// The CRD.
        crd: String,
        /// The new version.
        to: String,
        /// The versions that it has.
        known: String,
    },
    /// The schema of the version is missing or cannot be read.
    #[error("the schema of {crd} {to} cannot be read")]
    NoSchema {
        /// The CRD.
        crd: String,
        /// The new version.
        to: String,
        /// Why, if there is one.
        #[source]
        why: Option<SchemaError>,
    },
}

impl<'c> ObjectConverter<'c> {
    /// Reads the schemas.
    pub fn new(crd: &'c Crd, to: &str) -> Result<Self, ConversionError> {
        let (name, version) = (|| crd.name.clone(), || to.to_owned());
        if !crd.converts_without_webhook() {
            return Err(ConversionError::Webhook { crd: name(), to: version() });
        }
        let Some(target) = crd.versions.get(to) else {
            let known = crd.versions.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(ConversionError::NoVersion { crd: name(), to: version(), known });
        };
        let unreadable = |why| ConversionError::NoSchema { crd: name(), to: version(), why };
        let schema = target.schema.as_ref().ok_or_else(|| unreadable(None))?;
        let schema = CrdSchema::read(&schema.to_json()).map_err(|why| unreadable(Some(why)))?;
        let sources = crd.versions.values().filter_map(|version| {
            Some((version.name.as_str(), CrdSchema::read(&version.schema.as_ref()?.to_json()).ok()?))
        });
        Ok(ObjectConverter { crd, to: &target.name, target: schema, sources: sources.collect() })
    }

    /// Whether clients can use the new version.
    pub fn is_served(&self) -> bool {
        self.crd.versions.get(self.to).is_some_and(|version| version.served)
    }

    /// Converts one object of the CRD.
    pub fn convert(&self, object: &Value) -> ConvertedObject {
        let from = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let from = from.rsplit_once('/').map_or(from, |(_, version)| version);
        let mut renamed = object.clone();
        if let Some(fields) = renamed.as_object_mut() {
            fields.insert("apiVersion".to_owned(), format!("{}/{}", self.crd.group, self.to).into());
        }
        let converted = self.target.pruned(&renamed);
        // What the version it is written in does not have is dropped without any conversion.
        let known = self.sources.get(from).map(|schema| schema.pruned(object));
        let unknown: BTreeSet<String> = known.map(|known| lost_paths(object, &known)).unwrap_or_default();
        let mut losses = Vec::new();
        for path in lost_paths(&renamed, &converted) {
            let message = if unknown.contains(&path) {
                format!("{from} does not have this field either; the API server drops it")
            } else {
                format!("{} does not have this field", self.to)
            };
            losses.push(ConversionLoss { path, kind: ConversionLossKind::Dropped, message });
        }
        let report = self.target.validate(&converted);
        losses.extend(report.violations.into_iter().map(|violation| ConversionLoss {
            path: violation.path,
            kind: ConversionLossKind::Refused,
            message: violation.message,
        }));
        losses.sort();
        losses.dedup();
        ConvertedObject { object: converted, losses, unchecked: report.unchecked }
    }
}

fn lost_paths(before: &Value, after: &Value) -> BTreeSet<String> {
    let mut lost = Vec::new();
    compare(before, after, &mut Vec::new(), &mut lost);
    lost.iter().map(|path| render_path(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{BundleLimits, BundleReader};
    use serde_json::json;

    fn crd(conversion: &str) -> Crd {
        let version = |name: &str, storage: bool, spec: Value| {
            json!({"name": name, "served": storage, "storage": storage, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": spec}},
            }}})
        };
        let text = json!({"type": "string"});
        let items = json!({"type": "array", "items": {"type": "object", "properties": {"name": text, "port": {"type": "integer"}}}});
        let names = json!({"type": "array", "items": {"type": "object", "properties": {"name": text}}});
        let mut reader = BundleReader::new("b", "a.io", BundleLimits::default());
        reader.add_object(&json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.a.io"},
            "spec": {
                "group": "a.io", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
                "conversion": {"strategy": conversion},
                "versions": [
                    version("v1", true, json!({"a": {"type": "string", "maxLength": 3}, "items": names, "size": {"type": "integer", "default": 1}})),
                    version("v1beta1", false, json!({"a": text, "b": text, "items": items})),
                ],
            },
        }));
        reader.finish().crds.remove("things.a.io").unwrap()
    }

    fn thing(spec: &Value) -> Value {
        json!({"apiVersion": "a.io/v1beta1", "kind": "Thing", "metadata": {"name": "t", "labels": {"x": "y"}}, "spec": spec})
    }

    /// V5: the table of what survives.
    #[test]
    fn what_the_new_version_does_not_have_or_accept_is_named_by_path() {
        let crd = crd("None");
        let converter = ObjectConverter::new(&crd, "v1").unwrap();
        for (spec, expected) in [
            (json!({"a": "abc", "items": [{"name": "n"}]}), vec![]),
            (json!({"a": "abc", "b": null}), vec![]),
            (json!({"b": "x"}), vec![("spec.b", "v1 does not have this field")]),
            (json!({"c": "x"}), vec![("spec.c", "v1beta1 does not have this field either; the API server drops it")]),
            (
                json!({"items": [{"name": "n", "port": 1}, {"port": 2}]}),
                vec![("spec.items[].port", "v1 does not have this field")],
            ),
        ] {
            let outcome = converter.convert(&thing(&spec));
            let losses: Vec<_> = outcome.losses.iter().map(|one| (one.path.as_str(), one.message.as_str())).collect();
            assert_eq!(losses, expected, "{spec}");
            assert_eq!(outcome.object["apiVersion"], "a.io/v1");
            assert_eq!(outcome.object["metadata"], thing(&spec)["metadata"]);
            assert_eq!(outcome.object["spec"]["size"], 1, "defaults of the new version: {spec}");
        }
        let refused = converter.convert(&thing(&json!({"a": "long text"}))).losses;
        assert_eq!((refused[0].path.as_str(), refused[0].kind), ("spec.a", ConversionLossKind::Refused));
        assert!(converter.is_served() && !ObjectConverter::new(&crd, "v1beta1").unwrap().is_served());
    }

    #[test]
    fn what_only_a_webhook_or_another_crd_could_convert_is_an_error() {
        let error = ObjectConverter::new(&crd("None"), "v2").unwrap_err().to_string();
        assert_eq!(error, "things.a.io has no version v2; it has v1, v1beta1");
        let error = ObjectConverter::new(&crd("Webhook"), "v1").unwrap_err();
        assert!(matches!(error, ConversionError::Webhook { .. }), "{error}");
    }
}
