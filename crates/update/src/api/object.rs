//! A whole object of either kind.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::kind::Kind;
use super::read::{Fields, Read, ReadProblem};
use super::spec::Spec;
use super::status::Status;

/// A ClusterVersion or a ComponentVersion.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionObject {
    /// Which of the two.
    pub kind: Kind,
    /// The object's metadata.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: Spec,
    /// What there is; nothing if nobody has said anything yet.
    pub status: Option<Status>,
}

/// Why a value is none of the two kinds. What is wrong inside of one is a [`ReadProblem`].
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is of another kind, or not an object at all.
    #[error(
        "this is `{api_version}` `{kind}`, neither a ClusterVersion (config.openshift.io/v1) nor a ComponentVersion (clearway.dev/v1alpha1)"
    )]
    Kind {
        /// Its `apiVersion`, if it has one.
        api_version: String,
        /// Its `kind`, if it has one.
        kind: String,
    },
    /// Without its metadata nobody knows which object it is.
    #[error("the metadata of this {kind} cannot be read: {source}")]
    Metadata {
        /// Which kind it is.
        kind: Kind,
        /// What is wrong.
        source: serde_json::Error,
    },
}

impl VersionObject {
    /// Reads an object, and says what of it could not be read.
    pub fn read(value: &Value) -> Result<(Self, Vec<ReadProblem>), ReadError> {
        let text = |key| value.get(key).and_then(Value::as_str).unwrap_or_default();
        let (api_version, name) = (text("apiVersion"), text("kind"));
        let kind = Kind::of(api_version, name);
        let (Some(kind), Value::Object(map)) = (kind, value) else {
            let short = |text: &str| text.chars().take(100).collect();
            return Err(ReadError::Kind { api_version: short(api_version), kind: short(name) });
        };
        let metadata = value.get("metadata").unwrap_or(&Value::Null);
        let metadata = if metadata.is_null() { &Value::Object(Map::new()) } else { metadata };
        let metadata = ObjectMeta::deserialize(metadata).map_err(|source| ReadError::Metadata { kind, source })?;
        let mut remarks = Vec::new();
        let mut fields = Fields::new(map, "", &mut remarks);
        let spec = fields.object::<Spec>("spec").unwrap_or_default();
        let status = fields.object::<Status>("status");
        Ok((VersionObject { kind, metadata, spec, status }, remarks))
    }

    /// The object's name.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }
}

impl Status {
    /// Reads a status, and says what of it could not be read. What is not an object is no status.
    pub fn read(value: &Value) -> (Option<Self>, Vec<ReadProblem>) {
        let mut remarks = Vec::new();
        let status = value.as_object().and_then(|map| Read::read(&mut Fields::new(map, "status", &mut remarks)).ok());
        (status, remarks)
    }
}

impl Serialize for VersionObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("VersionObject", 5)?;
        fields.serialize_field("apiVersion", self.kind.api_version())?;
        fields.serialize_field("kind", self.kind.as_str())?;
        fields.serialize_field("metadata", &self.metadata)?;
        fields.serialize_field("spec", &self.spec)?;
        match &self.status {
            Some(status) => fields.serialize_field("status", status)?,
            None => fields.skip_field("status")?,
        }
        fields.end()
    }
}
