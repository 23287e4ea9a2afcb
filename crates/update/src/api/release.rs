//! A release, and a request for one.

use schemars::JsonSchema;
use serde::Serialize;

use super::read::{Fields, Read};
use super::schema;

/// The architecture of a release that is for several.
pub const MULTI: &str = "Multi";

/// A release: its version, and the location of its content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// architecture is Multi for a multi-architecture release, and absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::architecture")]
    pub architecture: Option<String>,

    /// version is the semantic version of the release. It is empty if the update was requested by image and the version
    /// is not known yet.
    pub version: String,

    /// image is the location of the release: a container image with its digest, or a directory.
    pub image: String,

    /// url contains information about this release. It comes from the update service.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub url: Option<String>,

    /// channels is the set of channels that contain this release, according to the update service.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub channels: Vec<String>,
}

/// What an administrator asks for. Either a version, which is looked up among the available and conditional updates and
/// in
/// the history, or an image, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {
        "rule": "has(self.architecture) && has(self.image) ? (self.architecture == \"\" || self.image == \"\") : true",
        "message": "cannot set both Architecture and Image",
    },
    {
        "rule": "has(self.architecture) && self.architecture != \"\" ? (has(self.version) && self.version != \"\") : true",
        "message": "Version must be set if Architecture is set",
    },
]))]
pub struct Update {
    /// architecture is Multi to request the multi-architecture release. It requires a version, and cannot be set with
    /// an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::architecture")]
    pub architecture: Option<String>,

    /// version is the semantic version to update to. With an image it says which version the image is expected to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub version: Option<String>,

    /// image is the container image with its digest, or the directory, to update to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub image: Option<String>,

    /// force skips checks that would block the update, including the signature check. Skipped checks are recorded in
    /// the history.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,

    /// acceptRisks are the names of risks that an administrator has accepted. They do not stop an update from being
    /// recommended. OpenShift's clients write this field; spec.acceptedRisks also has a reason and an end time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 1000),
        extend(
            "x-kubernetes-list-type" = "map",
            "x-kubernetes-list-map-keys" = ["name"],
            "x-clearway-channel" = "experimental",
        )
    )]
    pub accept_risks: Vec<AcceptRisk>,
}

/// A risk that is accepted by its name alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AcceptRisk {
    /// name is the name of the risk, as in conditionalUpdates.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
}

/// Two names of one release: the same text, or the same digest at another registry.
pub fn same_image(one: &str, other: &str) -> bool {
    let digest = |image: &str| image.rsplit_once('@').map(|(_, digest)| digest.to_owned());
    one == other || digest(one).is_some_and(|one| Some(one) == digest(other))
}

impl Read for Release {
    fn read(fields: &mut Fields<'_, '_>) -> Result<Self, &'static str> {
        Ok(Release {
            architecture: fields.set("architecture"),
            version: fields.text("version"),
            image: fields.text("image"),
            url: fields.set("url"),
            channels: fields.texts("channels"),
        })
    }
}

impl Read for Update {
    fn read(fields: &mut Fields<'_, '_>) -> Result<Self, &'static str> {
        Ok(Update {
            architecture: fields.set("architecture"),
            version: fields.set("version"),
            image: fields.set("image"),
            force: fields.flag("force"),
            accept_risks: fields.list("acceptRisks"),
        })
    }
}

impl Read for AcceptRisk {
    fn read(fields: &mut Fields<'_, '_>) -> Result<Self, &'static str> {
        let name = fields.set("name").ok_or("has no name, so it accepts no risk")?;
        Ok(AcceptRisk { name })
    }
}
