//! Structural schemas of CRDs: what they describe, what they default and drop, and what they refuse, as the API server
//! does it. Validation rules in CEL are read here and evaluated elsewhere.
//!
//! [`Schema::of_crd`] reads the schema of one version of any CRD; [`Schema::pruned`] gives the object that would be stored,
//! and [`Schema::validate`] says why one would be refused. Both follow the API server to the letter where they follow it
//! at all, oddities included; what they do not follow (a pattern in a dialect that is not understood here, a format that is
//! not known) is listed as unchecked, and never taken for accepted or refused.
//!
//! Schemas of strangers are read within limits, and evaluating them is bounded by the size of the object.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

mod check;
mod formats;
mod node;
mod pattern;
mod prune;
mod uri;

use std::fmt;

use serde_json::Value;

pub use formats::Format;
pub use node::{AdditionalProperties, ListType, Node, ValidationRule, ValueType, excerpt};
pub use pattern::{GoPattern, PatternError};
pub use uri::is_request_uri;

/// The schema of one version of a CRD.
#[derive(Debug)]
pub struct Schema {
    root: Node,
    unchecked: Vec<UncheckedConstraint>,
}

/// Why an object would be refused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// Where, such as `status.history[2].image`.
    pub path: String,
    /// The keyword of the schema that is violated, such as `required` or `maxLength`.
    pub rule: &'static str,
    /// What is wrong, for people.
    pub message: String,
}

/// Something the API server would check that is not checked here.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UncheckedConstraint {
    /// The field; `[]` stands for any element and `{}` for any key.
    pub path: String,
    /// What is not checked, and why.
    pub what: String,
}

/// Why a CRD has no usable schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The CRD has no such version.
    #[error("the CRD has no version `{0}`")]
    NoVersion(String),
    /// The version has no schema.
    #[error("version `{0}` of the CRD has no schema")]
    NoSchema(String),
    /// The schema is nested deeper, or has more parts, than is read.
    #[error("the schema is too large: {0}")]
    TooLarge(&'static str),
}

impl Schema {
    /// Reads the schema of a version of a CRD, as the API server returns it.
    pub fn of_crd(crd: &Value, version: &str) -> Result<Self, SchemaError> {
        let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
        let named = |one: &&Value| one.get("name").and_then(Value::as_str) == Some(version);
        let found = versions.into_iter().flatten().find(named);
        let found = found.ok_or_else(|| SchemaError::NoVersion(version.to_owned()))?;
        let schema = found.pointer("/schema/openAPIV3Schema").filter(|schema| schema.is_object());
        Schema::read(schema.ok_or_else(|| SchemaError::NoSchema(version.to_owned()))?)
    }

    /// Reads a schema.
    pub fn read(schema: &Value) -> Result<Self, SchemaError> {
        let mut unchecked = Vec::new();
        let root = node::read(schema, &mut unchecked)?;
        unchecked.sort();
        Ok(Schema { root, unchecked })
    }

    /// The schema of the whole object.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The object that would be stored: without fields the schema does not describe, without nulls where none may be, and
    /// with defaults where something is missing.
    #[must_use]
    pub fn pruned(&self, object: &Value) -> Value {
        let mut object = object.clone();
        prune::prune(&mut object, &self.root);
        object
    }

    /// Why the structure of an object would be refused on being created; a pruned one, as from [`Schema::pruned`].
    pub fn validate(&self, object: &Value) -> Vec<Violation> {
        let mut violations = Vec::new();
        check::check(&self.root, object, &mut violations);
        violations.sort();
        violations
    }

    /// What is never checked.
    pub fn unchecked(&self) -> &[UncheckedConstraint] {
        &self.unchecked
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl fmt::Display for UncheckedConstraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

/// The path of a field within an object: `spec` and `a` are `spec.a`.
pub fn field_path(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests;
