//! Constraints: instances of a template, validated and with defaults.

use serde_json::Value;

use clearway_core::ValuePath;
use clearway_schema::{Schema, SchemaError, Violation};

use crate::constraint_crd::GROUP;
use crate::constraint_definition::ConstraintDefinition;
use crate::enforcement::{self, EnforcementAction, EnforcementPoint, ScopedAction};
use crate::matching::{Match, MatchError};
use crate::review::{ObjectKind, metadata};

/// A constraint.
#[derive(Debug)]
pub struct Constraint {
    /// The kind, which is that of its template.
    pub kind: String,
    /// The name.
    pub name: String,
    /// What it is about; nothing if it is about everything.
    pub matches: Option<Match>,
    /// What happens to violations.
    pub action: EnforcementAction,
    /// What happens to them at each enforcement point, for the action `scoped`.
    pub scoped: Vec<ScopedAction>,
    object: Value,
    parameters: regorus::Value,
}

/// Why a constraint is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConstraintError {
    /// The object is not a constraint.
    #[error("not a Constraint")]
    NotAConstraint,
    /// There is no template of its kind.
    #[error("missing ConstraintTemplate: {0:?}; add the template of this kind first")]
    NoTemplate(String),
    /// The name, kind, group or version is wrong, or a field is not known.
    #[error("invalid Constraint: {0}")]
    Invalid(String),
    /// The schema of the template refuses it.
    #[error("schema validation failed: {0}")]
    Schema(String),
    /// The criteria have the wrong form.
    #[error("invalid Constraint: {0}")]
    Match(#[from] MatchError),
    /// The schema of the template cannot be used.
    #[error("the schema of template {template:?} cannot be used: {error}")]
    TemplateSchema {
        /// The template.
        template: String,
        /// Why.
        error: SchemaError,
    },
}

fn invalid<T>(message: impl Into<String>) -> Result<T, ConstraintError> {
    Err(ConstraintError::Invalid(message.into()))
}

impl Constraint {
    /// Whether an object says that it is a constraint.
    pub fn is_constraint(object: &Value) -> bool {
        ObjectKind::of(object).group == GROUP
    }

    /// Validates a constraint by what its template says about it, adds defaults and reads it.
    pub fn read(object: &Value, template: &ConstraintDefinition) -> Result<Constraint, ConstraintError> {
        let kind = ObjectKind::of(object);
        if kind.group != GROUP {
            return Err(ConstraintError::NotAConstraint);
        }
        let name = metadata(object, "name");
        check_name(name)?;
        if kind.kind != template.kind {
            return Err(ConstraintError::NoTemplate(kind.kind.to_lowercase()));
        }
        if !matches!(kind.version.as_str(), "v1beta1" | "v1alpha1") {
            return invalid(format!(
                "wrong version for constraint {name:?}: {:?} is not one of [v1beta1 v1alpha1]",
                kind.version
            ));
        }
        let schema = Schema::read(&template.constraint_schema())
            .map_err(|error| ConstraintError::TemplateSchema { template: template.name.clone(), error })?;
        let violations = schema.validate(object);
        if !violations.is_empty() {
            let all: Vec<String> = violations.iter().map(Violation::to_string).collect();
            return Err(ConstraintError::Schema(all.join("; ")));
        }
        let unknown = unknown_fields(object, &schema);
        if !unknown.is_empty() {
            return invalid(format!("unknown fields: [{}]", unknown.join(" ")));
        }
        let stored = schema.pruned(object);
        let mut object = object.clone();
        if let (Some(spec), Some(fields)) = (stored.get("spec"), object.as_object_mut()) {
            fields.insert("spec".to_owned(), spec.clone());
            fields.remove("status");
        }
        let spec = object.get("spec");
        let matches = spec.and_then(|spec| spec.get("match")).filter(|value| !value.is_null());
        let matches = matches.map(Match::read).transpose()?;
        let action = spec.and_then(|spec| spec.get("enforcementAction")).and_then(Value::as_str);
        let action = EnforcementAction::of(action.filter(|action| !action.is_empty()).unwrap_or("deny"));
        let scoped = spec.and_then(|spec| spec.get("scopedEnforcementActions")).filter(|value| !value.is_null());
        if action == EnforcementAction::Scoped && scoped.is_none() {
            return invalid("missing required field: spec.scopedEnforcementActions must be defined");
        }
        let parameters = spec.and_then(|spec| spec.get("parameters")).filter(|value| !value.is_null());
        let parameters = parameters.map_or_else(regorus::Value::new_object, crate::rego::values::from_json);
        Ok(Constraint {
            kind: kind.kind,
            name: name.to_owned(),
            matches,
            action,
            scoped: scoped.map(ScopedAction::read_list).unwrap_or_default(),
            parameters,
            object,
        })
    }

    /// The constraint with its defaults.
    pub fn object(&self) -> &Value {
        &self.object
    }

    pub(crate) fn parameters(&self) -> &regorus::Value {
        &self.parameters
    }

    /// The actions at a point, sorted; nothing if it is not enforced there.
    pub fn scoped_actions(&self, point: EnforcementPoint) -> Option<Vec<String>> {
        if self.action != EnforcementAction::Scoped {
            return Some(Vec::new());
        }
        let applied = self.scoped.iter().filter(|entry| entry.applies_at(point));
        let mut actions: Vec<String> = applied.map(|entry| entry.action.clone()).collect();
        actions.sort();
        actions.dedup();
        (!actions.is_empty()).then_some(actions)
    }

    /// Whether it may be about objects of a kind; the version does not count.
    pub fn concerns(&self, kind: &ObjectKind) -> bool {
        self.matches.as_ref().is_none_or(|matches| matches.may_match_kind(kind))
    }

    /// Whether it may be about objects of some kind of a group.
    pub fn concerns_group(&self, group: &str) -> bool {
        self.matches.as_ref().is_none_or(|matches| matches.may_match_group(group))
    }

    /// Whether it is evaluated at a point. Commands evaluate whatever the action is called, as gator does; elsewhere
    /// an action that is not known is not enforced.
    pub fn is_enforced_at(&self, point: EnforcementPoint) -> bool {
        (point == EnforcementPoint::Gator || self.action.is_known()) && self.scoped_actions(point).is_some()
    }

    /// Why Gatekeeper refuses its actions; the constraint is not enforced then, wherever it is (P3, P4).
    pub fn unknown_action(&self) -> Option<String> {
        enforcement::refusal(&self.action, &self.scoped)
    }
}

/// A name of a DNS subdomain.
fn check_name(name: &str) -> Result<(), ConstraintError> {
    let label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    if name.is_empty() || name.len() > 253 || !name.split('.').all(label) {
        return invalid(format!(
            "invalid name: {name:?} must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"
        ));
    }
    Ok(())
}

/// Unknown fields that are named.
const MOST_UNKNOWN: usize = 1_000;

/// Fields of the specification that the schema does not describe.
fn unknown_fields(object: &Value, schema: &Schema) -> Vec<String> {
    let pruned = schema.pruned(object);
    let mut unknown = Vec::new();
    for (name, _) in object.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "spec" | "status") {
            unknown.push(ValuePath::Field(&ValuePath::Root, name).to_string());
            if unknown.len() >= MOST_UNKNOWN {
                break;
            }
        }
    }
    if let (Some(before), Some(after)) = (object.get("spec"), pruned.get("spec")) {
        pruned_fields(before, after, &ValuePath::Field(&ValuePath::Root, "spec"), &mut unknown);
    }
    unknown.sort();
    unknown
}

/// Fields of a value that are not in what is left of it.
fn pruned_fields(before: &Value, after: &Value, path: &ValuePath<'_>, unknown: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in before {
                let path = ValuePath::Field(path, name);
                match after.get(name) {
                    Some(after) => pruned_fields(value, after, &path, unknown),
                    None if value.is_null() || unknown.len() >= MOST_UNKNOWN => {}
                    None => unknown.push(path.to_string()),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for (number, (before, after)) in before.iter().zip(after).enumerate() {
                pruned_fields(before, after, &ValuePath::Item(path, number), unknown);
            }
        }
        _ => {}
    }
}
