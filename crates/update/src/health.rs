//! The health of an object that is held as JSON.

use clearway_conditions::Object;
use clearway_conditions::health::{Context, Expected, Verdict, health};
use clearway_core::Timestamp;
use clearway_yaml::{Source, Tape};
use serde_json::Value;

/// The health of an object. `promises` says whether the schema of its kind has conditions, if that is known.
pub fn judge(object: &Value, expected: Option<Expected>, promises: Option<bool>, now: Timestamp) -> Verdict {
    let tape = Tape::from_json(object);
    let read = tape.root().and_then(|root| Object::new(root, Source::default(), None).ok());
    let context = Context { expected, has_conditions_schema: promises, ..Context::at(now) };
    read.map_or_else(|| Verdict::unknown("NotAnObject", "it is not an object"), |object| health(&object, &context))
}
