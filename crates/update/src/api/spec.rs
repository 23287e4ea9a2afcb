//! What an administrator wants.

use clearway_core::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::read::{Fields, Read};
use super::release::Update;
use super::schema;

/// Desired state: the source of updates, and the update to apply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    /// clusterID uniquely identifies this cluster. It is an RFC 4122 UUID of version 4.
    #[serde(rename = "clusterID")]
    pub cluster_id: String,

    /// desiredUpdate is the release to update to. Setting it starts an update; while it is absent, the current release
    /// stays applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Update")]
    pub desired_update: Option<Update>,

    /// upstream is the URL of the update service. If it is absent, the operator uses the URL that it was started with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub upstream: Option<String>,

    /// channel is the name of the channel that updates are taken from, such as stable-1.4.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub channel: Option<String>,

    /// capabilities selects optional parts of the platform. OpenShift's operator and clients read it; Clearway leaves
    /// it unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CapabilitiesSpec")]
    pub capabilities: Option<CapabilitiesSpec>,

    /// signatureStores are locations of release signatures. OpenShift's operator reads them; Clearway leaves them
    /// unchanged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 32),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["url"])
    )]
    pub signature_stores: Vec<SignatureStore>,

    /// overrides are objects of the release that the operator must not change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["kind", "group", "namespace", "name"],
    ))]
    pub overrides: Vec<ComponentOverride>,

    /// acceptedRisks are risks that an administrator has accepted, by name. They do not stop an update from being
    /// recommended. They are separate from desiredUpdate because clients replace that field as a whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 500),
        extend(
            "x-kubernetes-list-type" = "map",
            "x-kubernetes-list-map-keys" = ["name"],
            "x-clearway-channel" = "experimental",
        )
    )]
    pub accepted_risks: Vec<AcceptedRisk>,
}

/// A risk that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptedRisk {
    /// name is the name of the risk, as in conditionalUpdates.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,

    /// reason says why the risk was accepted. It is recorded in the history of updates that have the risk.
    #[schemars(length(min = 1, max = 4096))]
    pub reason: String,

    /// until is when the acceptance ends. If it is absent, it does not end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub until: Option<Timestamp>,
}

/// The optional parts of the platform that are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapabilitiesSpec {
    /// baselineCapabilitySet is the set of capabilities to start from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::capability_set")]
    pub baseline_capability_set: Option<String>,

    /// additionalEnabledCapabilities are enabled in addition to that set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::capabilities")]
    pub additional_enabled_capabilities: Vec<String>,
}

/// A location of signatures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignatureStore {
    /// url is the URL of the signatures.
    #[schemars(
        extend("x-kubernetes-validations" = [
            {"rule": "isURL(self)", "message": "url must be a valid absolute URL"},
        ])
    )]
    pub url: String,

    /// ca names a config map with the CA certificates of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ConfigMapReference")]
    pub ca: Option<ConfigMapReference>,
}

/// A config map, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConfigMapReference {
    /// name is the name of the config map.
    pub name: String,
}

/// An object of the release that the operator must not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ComponentOverride {
    /// kind is the kind of the object.
    pub kind: String,
    /// group is the API group of the kind.
    pub group: String,
    /// namespace is the namespace of the object; empty if the object is cluster-scoped.
    pub namespace: String,
    /// name is the name of the object.
    pub name: String,
    /// unmanaged is true if the operator must not change the object.
    pub unmanaged: bool,
}

impl Read for Spec {
    fn read(fields: &mut Fields<'_, '_>) -> Result<Self, &'static str> {
        Ok(Spec {
            cluster_id: fields.text("clusterID"),
            desired_update: fields.object("desiredUpdate"),
            upstream: fields.set("upstream"),
            channel: fields.set("channel"),
            capabilities: fields.object("capabilities"),
            signature_stores: fields.list("signatureStores"),
            overrides: fields.list("overrides"),
            accepted_risks: fields.list("acceptedRisks"),
        })
    }
}

impl Read for AcceptedRisk {
    fn read(fields: &mut Fields<'_, '_>) -> Result<Self, &'static str> {
        let until = fields.time("until");
        if fields.value("until").is_some() && until.is_none() {
            // Read as "for ever" it would accept more than was meant (U16).
            return Err("has an unreadable end time, so it accepts no risk");
        }
        let name = fields.set("name").ok_or("has no name, so it accepts no risk")?;
        Ok(AcceptedRisk { name, reason: fields.text("reason"), until })
    }
}

impl Read for CapabilitiesSpec {
    fn read(fields: &mut Fields<'_, '_>) -> Result<Self, &'static str> {
        Ok(CapabilitiesSpec {
            baseline_capability_set: fields.set("baselineCapabilitySet"),
            additional_enabled_capabilities: fields.texts("additionalEnabledCapabilities"),
        })
    }
}

impl Read for SignatureStore {
    fn read(fields: &mut Fields<'_, '_>) -> Result<Self, &'static str> {
        let url = fields.set("url").ok_or("has no url")?;
        Ok(SignatureStore { url, ca: fields.object("ca") })
    }
}

impl Read for ConfigMapReference {
    fn read(fields: &mut Fields<'_, '_>) -> Result<Self, &'static str> {
        Ok(ConfigMapReference { name: fields.text("name") })
    }
}

impl Read for ComponentOverride {
    fn read(fields: &mut Fields<'_, '_>) -> Result<Self, &'static str> {
        Ok(ComponentOverride {
            kind: fields.text("kind"),
            group: fields.text("group"),
            namespace: fields.text("namespace"),
            name: fields.text("name"),
            unmanaged: fields.flag("unmanaged"),
        })
    }
}
