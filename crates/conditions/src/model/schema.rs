//! The JSON schema of a list of conditions, for any CRD written in Rust.
//!
//! The type of the Kubernetes libraries yields a schema without keys, patterns or lengths; a list without keys is
//! atomic, and then two controllers overwrite each other's conditions. This one is what `controller-gen` makes of
//! metav1's conditions, with Knative's `severity` added (K1). Use [`Conditions`](super::Conditions) as the type of the
//! field, or name [`conditions_schema`] in `#[schemars(schema_with = "…")]` for a list of another type or bound.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{
    ConditionSeverity, MAX_MESSAGE_BYTES, MAX_REASON_BYTES, MAX_TYPE_BYTES, REASON_PATTERN, Status, TYPE_PATTERN,
};

/// How many conditions a list holds unless said otherwise. Cluster API has the same bound; Gateway API has 8.
pub const MAX_CONDITIONS: usize = 32;

/// The schema of a list of at most `MAX` conditions.
///
/// ```
/// use clearway_conditions::model::conditions_schema;
///
/// #[derive(schemars::JsonSchema)]
/// struct ListenerStatus {
///     #[schemars(schema_with = "conditions_schema::<8>")]
///     conditions: Vec<serde_json::Value>,
/// }
/// let schema = schemars::schema_for!(ListenerStatus);
/// assert_eq!(schema.pointer("/properties/conditions/maxItems"), Some(&8.into()));
/// ```
pub fn conditions_schema<const MAX: usize>(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "The latest observations of the object's state, at most one of each type.",
        "type": "array",
        "maxItems": MAX,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "description": "One aspect of the state of this object.",
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "type": {
                    "description": "The kind of condition, in CamelCase or in domain/CamelCase. The key of the list.",
                    "type": "string",
                    "maxLength": MAX_TYPE_BYTES,
                    "pattern": TYPE_PATTERN,
                },
                "status": {
                    "description": "Whether the condition holds: True, False, or Unknown.",
                    "type": "string",
                    "enum": Status::ALL.map(Status::as_str),
                },
                "reason": {
                    "description": "Why the condition has its status, as one machine-readable CamelCase word.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": MAX_REASON_BYTES,
                    "pattern": REASON_PATTERN,
                },
                "message": {
                    "description": "Why the condition has its status, in human-readable sentences. May be empty.",
                    "type": "string",
                    "maxLength": MAX_MESSAGE_BYTES,
                },
                "severity": {
                    "description": "How much the condition matters. Empty or absent: an error unless True, and counted \
                                    in the summary (Ready or Succeeded). Warning and Info are not counted.",
                    "type": "string",
                    "enum": ConditionSeverity::ALL.map(ConditionSeverity::as_str),
                },
                "lastTransitionTime": {
                    "description": "When the status last changed from one value to another.",
                    "type": "string",
                    "format": "date-time",
                },
                "observedGeneration": {
                    "description": "The metadata.generation the condition is about. If it differs from the object's current \
                                    generation, the condition is out of date.",
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::Conditions;
    use schemars::JsonSchema;
    use serde_json::{Value, json};

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct DatabaseStatus {
        conditions: Conditions,
    }

    fn without_descriptions(value: &mut Value, missing: &mut Vec<String>, path: &str) {
        if let Value::Object(map) = value {
            if map.contains_key("type") && map.remove("description").is_none() {
                missing.push(path.to_owned());
            }
            for (key, child) in map.iter_mut() {
                if key == "properties" {
                    for (name, property) in child.as_object_mut().unwrap() {
                        without_descriptions(property, missing, &format!("{path}.{name}"));
                    }
                } else {
                    without_descriptions(child, missing, &format!("{path}.{key}"));
                }
            }
        }
    }

    #[test]
    fn k1_the_schema_is_exactly_this_and_every_field_is_described() {
        let mut schema = schemars::schema_for!(DatabaseStatus).to_value();
        let list = schema.pointer_mut("/properties/conditions").unwrap();
        let mut missing = Vec::new();
        without_descriptions(list, &mut missing, "conditions");
        assert_eq!(missing, [] as [String; 0], "fields without a description");
        assert_eq!(
            *list,
            json!({
                "type": "array",
                "maxItems": 32,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object",
                    "required": ["lastTransitionTime", "message", "reason", "status", "type"],
                    "properties": {
                        "type": {
                            "type": "string",
                            "maxLength": 316,
                            "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                        },
                        "status": { "type": "string", "enum": ["True", "False", "Unknown"] },
                        "reason": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 1024,
                            "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                        },
                        "message": { "type": "string", "maxLength": 32768 },
                        "severity": { "type": "string", "enum": ["", "Warning", "Info"] },
                        "lastTransitionTime": { "type": "string", "format": "date-time" },
                        "observedGeneration": { "type": "integer", "format": "int64", "minimum": 0 },
                    },
                },
            })
        );
    }
}
