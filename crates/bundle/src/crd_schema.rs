//! What an installed CRD does to an object, told without asking the API server (U15): its structural schema, and its
//! validation rules in CEL.
//!
//! [`CrdSchema::pruned`] gives the object that would be stored, and [`CrdSchema::validate`] says why one would be refused.
//! What is not checked is listed, and never taken for accepted or refused.

mod rules;

use clearway_schema::{Schema, SchemaError, UncheckedConstraint, Violation};
use serde_json::Value;

use rules::Rules;

/// The schema of one version of a CRD with its rules.
#[derive(Debug)]
pub struct CrdSchema {
    schema: Schema,
    rules: Rules,
    unchecked: Vec<UncheckedConstraint>,
}

/// What came of a validation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Why the object would be refused; empty if nothing was found.
    pub violations: Vec<Violation>,
    /// What was not checked.
    pub unchecked: Vec<UncheckedConstraint>,
}

impl CrdSchema {
    /// Reads the schema of a version of a CRD, as the API server returns it.
    pub fn of_crd(crd: &Value, version: &str) -> Result<Self, SchemaError> {
        Schema::of_crd(crd, version).map(CrdSchema::new)
    }

    /// Reads a schema.
    pub fn read(schema: &Value) -> Result<Self, SchemaError> {
        Schema::read(schema).map(CrdSchema::new)
    }

    fn new(schema: Schema) -> Self {
        let mut unchecked = schema.unchecked().to_vec();
        let rules = Rules::read(schema.root(), &mut unchecked);
        unchecked.sort();
        CrdSchema { schema, rules, unchecked }
    }

    /// The object that would be stored: without fields the schema does not describe, without nulls where none may be, and
    /// with defaults where something is missing.
    #[must_use]
    pub fn pruned(&self, object: &Value) -> Value {
        self.schema.pruned(object)
    }

    /// Why an object would be refused on being created; a pruned one, as from [`CrdSchema::pruned`]. Rules that compare
    /// with an older object are not evaluated.
    pub fn validate(&self, object: &Value) -> Report {
        self.report(object, None)
    }

    /// Why an object would be refused in place of an older one, which is in the cluster. Rules that compare both are
    /// evaluated, and rules are not held against values that have not changed. What the schema without its rules refuses
    /// is reported even if it has not changed.
    pub fn validate_update(&self, object: &Value, old: &Value) -> Report {
        self.report(object, Some(old))
    }

    fn report(&self, object: &Value, old: Option<&Value>) -> Report {
        let mut report = Report { violations: self.schema.validate(object), unchecked: self.unchecked.clone() };
        // The API server does not evaluate rules on objects that the schema refuses either.
        if report.violations.is_empty() {
            self.rules.check(self.schema.root(), object, old, &mut report);
            report.violations.sort();
        }
        report
    }

    /// What is never checked.
    pub fn unchecked(&self) -> &[UncheckedConstraint] {
        &self.unchecked
    }
}

#[cfg(test)]
mod tests;
