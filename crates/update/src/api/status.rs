//! What the operator says.

use clearway_conditions::Conditions;
use clearway_core::Timestamp;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::conditional::ConditionalUpdate;
use super::read::{Fields, Read};
use super::release::{Release, same_image};
use super::schema;

/// Observed state: the current or desired release, the history of updates, and the available updates.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// desired is the release that the operator applies. The conditions report its progress.
    pub desired: Release,

    /// history contains the most recent releases, newest first. An entry is added when an update starts, and closed
    /// when it completes or another update starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub history: Vec<UpdateHistory>,

    /// observedGeneration is the metadata.generation of the spec that the operator acts on. It equals
    /// metadata.generation when the operator has observed the latest spec.
    pub observed_generation: i64,

    /// versionHash is a digest of the content of the release. It is empty while the content is not known.
    pub version_hash: String,

    /// capabilities are the optional parts of the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CapabilitiesStatus")]
    pub capabilities: Option<CapabilitiesStatus>,

    /// conditions are the latest observations, at most one of each type. Ready summarizes them; Available,
    /// ReleaseAccepted,
    /// clearway.dev/ReleaseApplied, RetrievedUpdates, Progressing and Failing are always present.
    #[serde(skip_serializing_if = "is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Conditions,

    /// availableUpdates contains updates recommended for this cluster. Updates which appear in conditionalUpdates but
    /// not
    /// in availableUpdates may expose this cluster to known issues. This list may be empty if no updates are
    /// recommended,
    /// if the update service is unavailable, or if an invalid channel has been specified.
    #[serde(serialize_with = "null_if_empty")]
    #[schemars(extend("nullable" = true, "x-kubernetes-list-type" = "atomic"))]
    pub available_updates: Vec<Release>,

    /// conditionalUpdates contains the list of updates that may be recommended for this cluster if it meets specific
    /// required conditions. Consumers interested in the set of updates that are actually recommended for this cluster
    /// should use availableUpdates. This list may be empty if no updates are recommended, if the update service is
    /// unavailable, or if an empty or invalid channel has been specified.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 500), extend("x-kubernetes-list-type" = "atomic"))]
    pub conditional_updates: Vec<ConditionalUpdate>,
}

/// How far an update came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateState {
    /// The release was brought about whole.
    Completed,
    /// It was not, or not yet.
    Partial,
}

/// One release that was applied, or is being applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateHistory {
    /// state is Completed if the release was applied completely, and Partial otherwise.
    #[schemars(with = "String")]
    pub state: UpdateState,

    /// startedTime is when the update started.
    #[schemars(schema_with = "schema::time")]
    pub started_time: Timestamp,

    /// completionTime is when the update completed, or when another update replaced it. It is null while the update is
    /// in progress.
    #[schemars(schema_with = "schema::nullable_time")]
    pub completion_time: Option<Timestamp>,

    /// version is the semantic version of the release, if it is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,

    /// image is the location that the release was read from.
    pub image: String,

    /// verified says whether the signature of the release was checked before the update started.
    pub verified: bool,

    /// acceptedRisks records risks which were accepted to initiate the update. For example, it may mention a check that
    /// was
    /// overridden via desiredUpdate.force, or an update that was initiated despite not being in the availableUpdates
    /// set
    /// of recommended update targets.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub accepted_risks: String,
}

/// The optional parts of the platform that there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapabilitiesStatus {
    /// enabledCapabilities are the capabilities that are enabled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::capabilities")]
    pub enabled_capabilities: Vec<String>,

    /// knownCapabilities are the capabilities that can be enabled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::capabilities")]
    pub known_capabilities: Vec<String>,
}

/// Whether a list of conditions has no entries.
pub(super) fn is_empty(conditions: &Conditions) -> bool {
    conditions.entries().is_empty()
}

/// OpenShift's clients expect the field, and `null` where there is nothing.
fn null_if_empty<S: Serializer>(list: &[Release], serializer: S) -> Result<S::Ok, S::Error> {
    if list.is_empty() { serializer.serialize_none() } else { list.serialize(serializer) }
}

impl Status {
    /// The update that was begun and is neither complete nor given up: the newest entry of the history, if it is open.
    pub fn open_entry(&self) -> Option<&UpdateHistory> {
        self.history.first().filter(|entry| entry.is_open())
    }

    /// The same, if it is about the release with this image.
    pub fn open_entry_for(&self, image: &str) -> Option<&UpdateHistory> {
        self.open_entry().filter(|entry| same_image(&entry.image, image))
    }
}

impl UpdateHistory {
    /// Whether the update was begun and has not ended.
    pub fn is_open(&self) -> bool {
        self.state == UpdateState::Partial && self.completion_time.is_none()
    }
}

impl UpdateState {
    /// The word in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            UpdateState::Completed => "Completed",
            UpdateState::Partial => "Partial",
        }
    }
}

impl Serialize for UpdateState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Read for Status {
    fn read(fields: &mut Fields<'_, '_>) -> Result<Self, &'static str> {
        Ok(Status {
            desired: fields.object("desired").unwrap_or_default(),
            history: fields.list("history"),
            observed_generation: fields.number("observedGeneration"),
            version_hash: fields.text("versionHash"),
            capabilities: fields.object("capabilities"),
            conditions: fields.conditions("conditions"),
            available_updates: fields.list("availableUpdates"),
            conditional_updates: fields.list("conditionalUpdates"),
        })
    }
}

impl Read for UpdateHistory {
    fn read(fields: &mut Fields<'_, '_>) -> Result<Self, &'static str> {
        // Any other word does not say that the release was brought about (U16).
        let completed = fields.text("state") == UpdateState::Completed.as_str();
        Ok(UpdateHistory {
            state: if completed { UpdateState::Completed } else { UpdateState::Partial },
            started_time: fields.time("startedTime").ok_or("has no valid startedTime")?,
            completion_time: fields.time("completionTime"),
            version: fields.text("version"),
            image: fields.text("image"),
            verified: fields.flag("verified"),
            accepted_risks: fields.text("acceptedRisks"),
        })
    }
}

impl Read for CapabilitiesStatus {
    fn read(fields: &mut Fields<'_, '_>) -> Result<Self, &'static str> {
        Ok(CapabilitiesStatus {
            enabled_capabilities: fields.texts("enabledCapabilities"),
            known_capabilities: fields.texts("knownCapabilities"),
        })
    }
}
