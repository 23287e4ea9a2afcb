//! What each part of an expression gives for an object, for whoever owns the object.
//!
//! This is the only type of evidence that holds values of objects. Nobody but [`Evidence::explain`](super::Evidence::explain)
//! makes one, and only of files that the user named.

use clearway_core::ObjectName;
use serde::{Serialize, Serializer};

/// The parts of an expression with their values for one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObjectExplanation {
    /// The object.
    #[serde(serialize_with = "as_text")]
    pub name: ObjectName,
    /// The parts in the order of the text, each before what it consists of, without constants.
    pub parts: Vec<PartValue>,
}

/// A part of an expression and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartValue {
    /// Its text, on one line.
    pub expression: String,
    /// How deep it is nested in other parts.
    pub level: usize,
    /// The value as CEL writes it, cut off behind 400 characters; `unknown` where it was removed from evidence.
    pub value: String,
    /// How often it was evaluated: in a macro once for each element, of which the last value is shown.
    pub times: u64,
}

fn as_text<S: Serializer>(name: &ObjectName, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(name)
}
