//! One rule of a risk, as status carries it: whatever the graph has, with its keys in the one spelling that is stored.

use std::borrow::Cow;

use clearway_graph::Rule;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::read::{Fields, Read};
use super::schema;

/// The keyword that keeps what a schema does not describe.
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

/// A rule: its type, and parameters that only that type understands.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterCondition(Rule);

impl ClusterCondition {
    /// The rule, ready to be evaluated.
    pub fn rule(&self) -> &Rule {
        &self.0
    }

    /// The type, such as `Always` or `PromQL`.
    pub fn kind(&self) -> &str {
        &self.0.kind
    }
}

impl From<&Rule> for ClusterCondition {
    /// Graphs may spell the keys of parameters in any case; a CRD keeps one spelling only, and drops the others.
    fn from(rule: &Rule) -> Self {
        let mut parameters = Map::new();
        for (key, value) in &rule.parameters {
            if key.eq_ignore_ascii_case("promql") {
                parameters.insert("promql".to_owned(), query(value));
            } else if let Some(known) = Rule::KNOWN.iter().find(|kind| key.eq_ignore_ascii_case(kind)) {
                parameters.insert(known.to_ascii_lowercase(), value.clone());
            } else {
                parameters.insert(key.clone(), value.clone());
            }
        }
        ClusterCondition(Rule { kind: rule.kind.clone(), parameters })
    }
}

/// The parameters of a `PromQL` rule, with the key of the query in the spelling that is stored.
fn query(value: &Value) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let spelled = |key: &String| if key.eq_ignore_ascii_case("promql") { "promql".to_owned() } else { key.clone() };
    Value::Object(fields.iter().map(|(key, value)| (spelled(key), value.clone())).collect())
}

impl Serialize for ClusterCondition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &self.0.kind)?;
        for (key, value) in &self.0.parameters {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl Read for ClusterCondition {
    fn read(fields: &mut Fields<'_, '_>) -> Result<Self, &'static str> {
        let rule = Rule::from_json(&Value::Object(fields.map().clone()));
        rule.as_ref().map(ClusterCondition::from).ok_or("has a type that is not a string")
    }
}

/// Makes the schema of `matchingRules` take whatever a graph has: types that are not known here, parameters in any
/// form, and
/// no rule at all. So the status shows every update and why it is not recommended (U7).
pub(super) fn store_any_rule(rules: &mut Value) {
    if let Some(rules) = rules.as_object_mut() {
        rules.remove("minItems");
    }
    let Some(Value::Object(rule)) = rules.get_mut("items") else { return };
    rule.insert(PRESERVE.to_owned(), true.into());
    for (name, property) in rule.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        let Some(property) = property.as_object_mut() else { continue };
        if name == "type" {
            property.remove("enum");
        } else {
            property.retain(|keyword, _| keyword == "description");
            property.insert(PRESERVE.to_owned(), true.into());
        }
    }
}

impl JsonSchema for ClusterCondition {
    fn schema_name() -> Cow<'static, str> {
        "ClusterCondition".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Described::json_schema(generator)
    }
}

/// ClusterCondition is a union of typed cluster conditions. The 'type' property determines which of the type-specific
/// properties are relevant. When evaluated on a cluster, the condition may match, not match, or fail to evaluate.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is of interest; the values are those of the graph")]
struct Described {
    /// type represents the cluster-condition type. This defines the members and semantics of any additional properties.
    r#type: RuleType,

    /// promql represents a cluster condition based on PromQL.
    #[schemars(skip_serializing_if = "never", with = "PromQl")]
    promql: Option<PromQl>,

    /// resource represents a cluster condition based on an expression about objects: apiVersion, kind, namespace, name,
    /// labelSelector, expression, quantifier, whenAbsent.
    #[schemars(skip_serializing_if = "Value::is_null", schema_with = "schema::parameters", extend("x-clearway-channel" = "experimental"))]
    resource: Value,

    /// condition represents a cluster condition based on a status condition of objects: apiVersion, kind, namespace,
    /// name,
    /// labelSelector, type, status, quantifier, whenAbsent.
    #[schemars(skip_serializing_if = "Value::is_null", schema_with = "schema::parameters", extend("x-clearway-channel" = "experimental"))]
    condition: Value,

    /// bundle represents a cluster condition based on the CRDs that are installed: group, version, channel, servedVersion,
    /// storedVersion, usedField, whenAbsent.
    #[schemars(skip_serializing_if = "Value::is_null", schema_with = "schema::parameters", extend("x-clearway-channel" = "experimental"))]
    bundle: Value,

    /// policy represents a cluster condition based on the results of a policy audit.
    #[schemars(skip_serializing_if = "Value::is_null", schema_with = "schema::parameters", extend("x-clearway-channel" = "experimental"))]
    policy: Value,

    /// rollout represents a cluster condition that stops matching one cluster after another: start, and duration or
    /// percentage.
    #[schemars(skip_serializing_if = "Value::is_null", schema_with = "schema::parameters", extend("x-clearway-channel" = "experimental"))]
    rollout: Value,
}

/// The types of rules that the standard channel stores. The experimental one stores any (see [`store_any_rule`]).
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
enum RuleType {
    Always,
    #[schemars(rename = "PromQL")]
    PromQl,
}

/// PromQLClusterCondition represents a cluster condition based on PromQL.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct PromQl {
    /// promql is a PromQL query classifying clusters. This query should return a 1 in the match case and a 0 in the
    /// does-not-match case. Queries which return no time series, or which return values besides 0 or 1, are evaluation
    /// failures.
    promql: String,
}
