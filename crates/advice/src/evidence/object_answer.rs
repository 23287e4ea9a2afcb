//! What objects say to a question, reduced to what a proof may carry: names, counts, conditions and fixed words.
//!
//! A rule comes from a stranger, and what it reads must not become visible through its errors. No value of a field has
//! a place in these types, so nothing that is made from them (a status, metric, event or log) can carry one. Neither has
//! the place in an expression where an evaluation ends: a rule could be written so that the place says what a value is.

use std::collections::BTreeMap;
use std::fmt;

use clearway_conditions::Status;
use clearway_core::ObjectName;
use serde_json::Value;

use super::{BundleAnswer, FailureClass, ViolationAnswer};

/// Results that are kept of each answer for people to see; counts are of all objects.
const SHOWN: usize = 3;
/// Characters of a name or reason; the API server accepts no longer names.
const NAME: usize = 253;

/// What a text takes beside its bytes, with its place in a map.
pub(super) const TEXT: usize = 64;

/// What one object says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectOutcome {
    /// The question is true of it.
    Match,
    /// The question is false of it.
    NoMatch,
    /// It does not have the condition that is asked about.
    WithoutCondition,
    /// It could not be told.
    Failed(ObjectError),
}

/// Why a question cannot be answered for an object. The class only: never what was in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectError {
    /// The expression reads a field or key that the object does not have.
    NoSuchField,
    /// The expression combines values whose types do not go together.
    WrongType,
    /// An index or number is out of range, or a division by zero.
    OutOfRange,
    /// A function does not accept a value: a text that is no timestamp, an optional without a value.
    InvalidValue,
    /// The expression gives neither true nor false.
    NotBoolean,
    /// The result depends on a field whose value is removed from evidence.
    Removed,
    /// The evaluation takes more than one object is allowed.
    TooLarge,
    /// The evaluation failed otherwise.
    Other,
    /// The object was read in another version of its API than the question is about.
    OtherVersion,
    /// The condition has the status Unknown.
    ConditionUnknown,
    /// The condition is about an older generation of the object.
    ConditionOutdated,
    /// The condition does not say which generation it is about, and the object was changed since it was made.
    ConditionUndated,
}

/// One object with what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectResult {
    /// The object.
    pub name: ObjectName,
    /// What it says.
    pub outcome: ObjectOutcome,
    /// The status and reason of the condition, where the question is about one.
    pub condition: Option<(Status, String)>,
}

/// What all selected objects say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectAnswer {
    /// The objects for which the question is true.
    pub matches: usize,
    /// The objects for which it is false.
    pub no_matches: usize,
    /// The objects that do not have the condition, and the first of them by name.
    pub without_condition: Option<(usize, ObjectName)>,
    /// The objects for which it could not be told, and the first of each class by name.
    pub errors: BTreeMap<ObjectError, (usize, ObjectName)>,
    /// The first results by name.
    pub first: Vec<ObjectResult>,
    /// Whether the cluster does not serve the kind, which is why there are no objects.
    pub kind_not_served: bool,
    /// The bundle, where the question is about one and the cluster has it.
    pub bundle: Option<BundleAnswer>,
    /// The violations, where the question is about a constraint and the cluster has it.
    pub violations: Option<ViolationAnswer>,
}

impl ObjectAnswer {
    /// The answer of a cluster that does not serve the kind.
    pub fn not_served() -> Self {
        ObjectAnswer { kind_not_served: true, ..ObjectAnswer::default() }
    }

    /// Bytes of memory that it takes, at most.
    pub fn memory(&self) -> usize {
        let name = |name: &ObjectName| name.namespace.len().saturating_add(name.name.len()).saturating_add(TEXT);
        let shown = |result: &ObjectResult| {
            let reason = result.condition.as_ref().map_or(0, |(_, reason)| reason.len());
            name(&result.name).saturating_add(reason).saturating_add(size_of::<ObjectResult>())
        };
        let counted = self.errors.values().chain(&self.without_condition).map(|(_, first)| name(first));
        let objects = self.violations.iter().flat_map(|violations| &violations.objects);
        let bundle = self.bundle.as_ref().map_or(0, BundleAnswer::memory);
        let parts =
            counted.chain(self.first.iter().map(shown)).chain(objects.map(|text| text.len().saturating_add(TEXT)));
        parts.fold(bundle.saturating_add(size_of::<ObjectAnswer>()), usize::saturating_add)
    }

    /// How many objects were selected.
    pub fn selected(&self) -> usize {
        let failed = self.errors.values().chain(&self.without_condition).map(|(count, _)| *count);
        failed.fold(self.matches, usize::saturating_add).saturating_add(self.no_matches)
    }

    /// The error of the first object by name that has one.
    pub fn first_error(&self) -> Option<(ObjectError, &ObjectName)> {
        let errors = self.errors.iter().map(|(error, (_, name))| (name, *error));
        errors.min().map(|(name, error)| (error, name))
    }

    /// Counts an object for which the question is false, and that is not worth showing.
    pub(crate) fn add_unshown(&mut self) {
        self.no_matches = self.no_matches.saturating_add(1);
    }

    /// Counts an object; the order of objects makes no difference.
    pub fn add(&mut self, result: ObjectResult) {
        let next = |known: &mut (usize, ObjectName)| {
            known.0 = known.0.saturating_add(1);
            if result.name < known.1 {
                known.1.clone_from(&result.name);
            }
        };
        match &result.outcome {
            ObjectOutcome::Match => self.matches = self.matches.saturating_add(1),
            ObjectOutcome::NoMatch => self.no_matches = self.no_matches.saturating_add(1),
            ObjectOutcome::WithoutCondition => {
                next(self.without_condition.get_or_insert_with(|| (0, result.name.clone())));
            }
            ObjectOutcome::Failed(error) => {
                next(self.errors.entry(*error).or_insert_with(|| (0, result.name.clone())));
            }
        }
        let place = self.first.partition_point(|known| known.name <= result.name);
        if place < SHOWN {
            self.first.insert(place, result);
            self.first.truncate(SHOWN);
        }
    }
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ObjectError {
    /// The class of failure that a rule has because of it.
    pub const fn class(self) -> FailureClass {
        match self {
            ObjectError::NoSuchField
            | ObjectError::WrongType
            | ObjectError::OutOfRange
            | ObjectError::InvalidValue
            | ObjectError::Other => FailureClass::Evaluation,
            ObjectError::NotBoolean | ObjectError::ConditionUnknown => FailureClass::Ambiguous,
            ObjectError::Removed => FailureClass::Unsupported,
            ObjectError::OtherVersion => FailureClass::Absent,
            ObjectError::TooLarge => FailureClass::Budget,
            ObjectError::ConditionOutdated | ObjectError::ConditionUndated => FailureClass::Stale,
        }
    }

    /// What happened, in fixed words.
    pub const fn as_str(self) -> &'static str {
        match self {
            ObjectError::NoSuchField => "no such field",
            ObjectError::WrongType => "values of different types",
            ObjectError::OutOfRange => "number or index out of range",
            ObjectError::InvalidValue => "a value that a function does not accept",
            ObjectError::NotBoolean => "the result is neither true nor false",
            ObjectError::Removed => "reads a field whose value is removed from evidence",
            ObjectError::TooLarge => "the evaluation costs more than one object is allowed",
            ObjectError::Other => "evaluation error",
            ObjectError::OtherVersion => "read in another version of its API",
            ObjectError::ConditionUnknown => "Unknown",
            ObjectError::ConditionOutdated => "about an older generation of the object",
            ObjectError::ConditionUndated => "without observedGeneration",
        }
    }
}

/// The namespace and name of an object as a proof may carry them: cut off where no real one is longer.
pub(crate) fn short_name(object: &Value) -> ObjectName {
    let ObjectName { mut namespace, mut name } = ObjectName::of(object);
    for text in [&mut namespace, &mut name] {
        if let Some((end, _)) = text.char_indices().nth(NAME) {
            text.truncate(end);
        }
    }
    ObjectName { namespace, name }
}

/// A name, or the reason of a condition, as a proof may carry it.
pub(crate) fn short_text(text: &str) -> String {
    text.chars().take(NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_longer_than_the_api_server_accepts() {
        let name = |length: usize| {
            let object = serde_json::json!({"metadata": {"name": "é".repeat(length)}});
            short_name(&object).name.chars().count()
        };
        assert_eq!([name(3), name(NAME), name(NAME + 1)], [3, NAME, NAME]);
    }

    #[test]
    fn the_order_of_objects_makes_no_difference() {
        let result = |name: &str, outcome: ObjectOutcome| ObjectResult {
            name: ObjectName { namespace: String::new(), name: name.to_owned() },
            outcome,
            condition: None,
        };
        let mut results = vec![
            result("e", ObjectOutcome::Match),
            result("d", ObjectOutcome::Failed(ObjectError::NoSuchField)),
            result("a", ObjectOutcome::Failed(ObjectError::WrongType)),
            result("c", ObjectOutcome::NoMatch),
            result("b", ObjectOutcome::Failed(ObjectError::NoSuchField)),
        ];
        let sum = |results: &[ObjectResult]| {
            let mut answer = ObjectAnswer::default();
            for result in results {
                answer.add(result.clone());
            }
            answer
        };
        let forward = sum(&results);
        results.reverse();
        assert_eq!(sum(&results), forward);
        assert_eq!(forward.selected(), 5);
        assert_eq!(forward.first.iter().map(|result| result.name.name.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        let (error, name) = forward.first_error().unwrap();
        assert_eq!((error, name.name.as_str()), (ObjectError::WrongType, "a"));
    }
}
