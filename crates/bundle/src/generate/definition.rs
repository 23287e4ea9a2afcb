//! A kind, and the CRD it becomes.

use clearway_core::Version;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::structural::{BuildError, structural};
use crate::channel::{BUNDLE_VERSION, CHANNEL, Channel};

/// A cluster-scoped kind with a spec, a status, and one version that is served and stored.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The API group.
    pub group: &'static str,
    /// The version of the API.
    pub version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The name in paths of the API.
    pub plural: &'static str,
    /// The name of one.
    pub singular: &'static str,
    /// What the kind is, in sentences.
    pub description: &'static str,
    /// The first channel that has the kind.
    pub channel: Channel,
    /// What `kubectl get` shows.
    pub columns: Vec<Column>,
    /// The schema of the spec; see [`described`].
    pub spec: Value,
    /// The schema of the status.
    pub status: Value,
}

/// A column of `kubectl get`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The head.
    pub name: &'static str,
    /// The type: `string`, `date` and so on.
    pub r#type: &'static str,
    /// Where the value is.
    pub path: &'static str,
}

/// The schema of a type as it is written: what is always written is required. Types within it stand where they are used.
pub fn described<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().for_serialize().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

impl Definition {
    /// The name of the CRD.
    pub fn name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// The CRD of a channel; nothing if the kind is not in it.
    pub fn crd(&self, channel: Channel, bundle: &Version) -> Result<Option<Value>, BuildError> {
        if channel < self.channel {
            return Ok(None);
        }
        let mut properties = Map::new();
        for (name, description) in [
            ("apiVersion", "APIVersion defines the versioned schema of this representation of an object."),
            ("kind", "Kind is the REST resource this object represents."),
        ] {
            properties.insert(name.to_owned(), json!({"description": description, "type": "string"}));
        }
        properties.insert("metadata".to_owned(), json!({"type": "object"}));
        properties.insert("spec".to_owned(), structural(&self.spec, channel, "spec")?);
        properties.insert("status".to_owned(), structural(&self.status, channel, "status")?);
        let columns: Vec<Value> = self
            .columns
            .iter()
            .map(|column| json!({"name": column.name, "type": column.r#type, "jsonPath": column.path}))
            .collect();
        Ok(Some(json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": self.name(),
                "annotations": {BUNDLE_VERSION: bundle.to_string(), CHANNEL: channel.as_str()},
            },
            "spec": {
                "group": self.group,
                "names": {
                    "kind": self.kind,
                    "listKind": format!("{}List", self.kind),
                    "plural": self.plural,
                    "singular": self.singular,
                },
                "scope": "Cluster",
                "conversion": {"strategy": "None"},
                "versions": [{
                    "name": self.version,
                    "served": true,
                    "storage": true,
                    "additionalPrinterColumns": columns,
                    "schema": {"openAPIV3Schema": {
                        "description": self.description,
                        "type": "object",
                        "required": ["spec"],
                        "properties": properties,
                    }},
                    "subresources": {"status": {}},
                }],
            },
        })))
    }
}
