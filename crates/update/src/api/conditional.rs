//! Updates that depend on the cluster, and the risks they depend on (U6).

use clearway_conditions::Conditions;
use clearway_graph::Risk;
use schemars::JsonSchema;
use serde::Serialize;

use super::read::{Fields, Read};
use super::release::Release;
use super::rule::ClusterCondition;
use super::schema;
use super::status::is_empty;

/// The condition that says whether the risks of an update are being evaluated (U7).
pub const EVALUATING: &str = "Evaluating";
/// The condition that says whether an update is recommended.
pub const RECOMMENDED: &str = "Recommended";

/// ConditionalUpdate represents an update which is recommended to some clusters on the version the current cluster is
/// reconciling, but which may not be recommended for the current cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConditionalUpdate {
    /// release is the target of the update.
    pub release: Release,

    /// risks represents the range of issues associated with updating to the target release. The operator will evaluate all
    /// entries, and only recommend the update if there is at least one entry and all entries recommend the update.
    #[schemars(
        length(min = 1, max = 200),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub risks: Vec<ConditionalUpdateRisk>,

    /// conditions represents the observations of the conditional update's current status. Known types are: Evaluating, for
    /// whether the operator will attempt to evaluate any risks[].matchingRules; Recommended, for whether the update is
    /// recommended for the current cluster.
    #[serde(skip_serializing_if = "is_empty")]
    #[schemars(schema_with = "schema::metav1_conditions")]
    pub conditions: Conditions,
}

/// ConditionalUpdateRisk represents a reason and cluster-state for not recommending a conditional update.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConditionalUpdateRisk {
    /// url contains information about this risk.
    #[schemars(length(min = 1), extend("format" = "uri"))]
    pub url: String,

    /// name is the CamelCase reason for not recommending a conditional update, in the event that matchingRules match the
    /// cluster state.
    #[schemars(length(min = 1))]
    pub name: String,

    /// message provides additional information about the risk of updating, in the event that matchingRules match the cluster
    /// state. This is only to be consumed by humans. It may contain Line Feed characters (U+000A), which should be rendered
    /// as new lines.
    #[schemars(length(min = 1))]
    pub message: String,

    /// matchingRules is a slice of conditions for deciding which clusters match the risk and which do not. The slice is
    /// ordered by decreasing precedence. The operator will walk the slice in order, and stop after the first it can
    /// successfully evaluate. If no condition can be successfully evaluated, the update will not be recommended.
    #[schemars(length(min = 1), extend("x-kubernetes-list-type" = "atomic"))]
    pub matching_rules: Vec<ClusterCondition>,
}

impl From<&Risk> for ConditionalUpdateRisk {
    fn from(risk: &Risk) -> Self {
        ConditionalUpdateRisk {
            url: risk.url().to_owned(),
            name: risk.name().to_owned(),
            message: risk.message().to_owned(),
            matching_rules: risk.rules().iter().map(ClusterCondition::from).collect(),
        }
    }
}

impl Read for ConditionalUpdate {
    fn read(fields: &mut Fields<'_, '_>) -> Result<Self, &'static str> {
        Ok(ConditionalUpdate {
            release: fields.object("release").ok_or("has no release")?,
            risks: fields.list("risks"),
            conditions: fields.conditions("conditions"),
        })
    }
}

impl Read for ConditionalUpdateRisk {
    fn read(fields: &mut Fields<'_, '_>) -> Result<Self, &'static str> {
        Ok(ConditionalUpdateRisk {
            url: fields.text("url"),
            name: fields.text("name"),
            message: fields.text("message"),
            matching_rules: fields.list("matchingRules"),
        })
    }
}
