//! Parts of the schema that no derive gives: what OpenShift's CRD says of them, and Clearway's additions.

use clearway_conditions::model::{MAX_CONDITIONS, conditions_schema};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::release::MULTI;

/// The sets of capabilities that OpenShift has.
const CAPABILITY_SETS: &[&str] =
    &["None", "v4.11", "v4.12", "v4.13", "v4.14", "v4.15", "v4.16", "v4.17", "v4.18", "vCurrent"];

/// The capabilities that OpenShift has.
const CAPABILITIES: &[&str] = &[
    "openshift-samples",
    "baremetal",
    "marketplace",
    "Console",
    "Insights",
    "Storage",
    "CSISnapshot",
    "NodeTuning",
    "MachineAPI",
    "Build",
    "DeploymentConfig",
    "ImageRegistry",
    "OperatorLifecycleManager",
    "CloudCredential",
    "Ingress",
    "CloudControllerManager",
    "OperatorLifecycleManagerV1",
];

pub(super) fn architecture(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": [MULTI, ""]})
}

pub(super) fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "date-time"})
}

pub(super) fn nullable_time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "date-time", "nullable": true})
}

pub(super) fn capability_set(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": CAPABILITY_SETS})
}

pub(super) fn capabilities(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {"type": "string", "enum": CAPABILITIES},
        "x-kubernetes-list-type": "atomic",
    })
}

/// The parameters of a rule. Their reader says what is wrong with them (and with what it does not know); a schema would
/// keep the rule out of status instead.
pub(super) fn parameters(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// The conditions of an update.
pub(super) fn metav1_conditions(generator: &mut SchemaGenerator) -> Schema {
    conditions_schema::<MAX_CONDITIONS>(generator)
}

/// The conditions of the whole: as [`metav1_conditions`], but a reason and a message may be missing, as in the conditions that
/// OpenShift's operators write.
pub(super) fn conditions(generator: &mut SchemaGenerator) -> Schema {
    let mut list = conditions_schema::<MAX_CONDITIONS>(generator).to_value();
    if let Some(items) = list.pointer_mut("/items").and_then(Value::as_object_mut) {
        items.insert("required".to_owned(), json!(["lastTransitionTime", "status", "type"]));
    }
    // The field has a description of its own.
    list.as_object_mut().map(|list| list.remove("description"));
    Schema::try_from(list).unwrap_or_default()
}
