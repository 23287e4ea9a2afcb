//! Whether a condition is about the object as it is now.
//!
//! A `Ready=True` that another generation earned is the commonest wrong answer there is. So a condition is not had from
//! an object without this: current, stale, unproven or absent, and the caller says what each means. Start at
//! [`ObjectStatus::observe`].

use std::fmt;

use serde_json::Value;

use super::list::whole_number;
use super::{Condition, Conditions, Remark, Status};

/// The generation of an object that is being reported on: 1 or more, as the API server counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(i64);

/// A number that is no generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{number} is not a generation: the API server counts them from 1")]
pub struct GenerationError {
    /// What was given.
    pub number: i64,
}

impl Generation {
    /// That of an object whose spec never changed.
    pub const FIRST: Generation = Generation(1);

    /// The generation with this number, which `metadata.generation` of the object holds.
    pub fn new(number: i64) -> Result<Self, GenerationError> {
        if number >= 1 { Ok(Generation(number)) } else { Err(GenerationError { number }) }
    }

    /// The number.
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What is known of a condition, and whether it is about the present generation of its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Observed<T> {
    /// It is about the present generation, or its object does not count generations.
    Current(T),
    /// It is about another generation. (A later one than the object has belongs to another incarnation of it.)
    Stale {
        /// What it said then.
        value: T,
        /// The generation it is about.
        seen: i64,
        /// The generation the object has.
        want: i64,
    },
    /// Neither it nor its status says which generation it is about, though the object counts them.
    Unproven(T),
    /// There is no such condition.
    Absent,
}

impl<T> Observed<T> {
    /// Places a value: `want` is the generation of the object, `seen` the one the value is about.
    pub fn place(value: T, seen: Option<i64>, want: Option<i64>) -> Self {
        match (seen, want) {
            (_, None) => Observed::Current(value),
            (None, Some(_)) => Observed::Unproven(value),
            (Some(seen), Some(want)) if seen == want => Observed::Current(value),
            (Some(seen), Some(want)) => Observed::Stale { value, seen, want },
        }
    }

    /// The value, if it is current.
    pub fn current(self) -> Option<T> {
        match self {
            Observed::Current(value) => Some(value),
            _ => None,
        }
    }

    /// The same knowledge of something made of the value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Observed<U> {
        match self {
            Observed::Current(value) => Observed::Current(f(value)),
            Observed::Stale { value, seen, want } => Observed::Stale { value: f(value), seen, want },
            Observed::Unproven(value) => Observed::Unproven(f(value)),
            Observed::Absent => Observed::Absent,
        }
    }
}

impl Observed<Condition<'_>> {
    /// The status, where everything but a current condition is Unknown: the strictest reading.
    pub fn current_status(self) -> Status {
        self.current().map_or(Status::Unknown, |condition| condition.status)
    }
}

/// What a reader needs of an object to judge its conditions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectStatus {
    /// `metadata.generation`, if the object counts them.
    pub generation: Option<i64>,
    /// `status.observedGeneration`, which speaks for conditions that do not say it themselves.
    pub observed_generation: Option<i64>,
    /// `status.conditions`.
    pub conditions: Conditions,
    /// What was odd about the conditions.
    pub remarks: Vec<Remark>,
}

impl ObjectStatus {
    /// Reads an object of any kind; what is missing or odd is passed over.
    pub fn read(object: &Value) -> Self {
        let number = |pointer| object.pointer(pointer).and_then(whole_number).filter(|number| *number != 0);
        let (conditions, remarks) = Conditions::read(object.pointer("/status/conditions").unwrap_or(&Value::Null));
        ObjectStatus {
            generation: number("/metadata/generation"),
            observed_generation: number("/status/observedGeneration"),
            conditions,
            remarks,
        }
    }

    /// The condition of this type, with whether it is about the present generation.
    pub fn observe(&self, type_: &str) -> Observed<Condition<'_>> {
        self.conditions.observe(type_, self.generation, self.observed_generation)
    }
}

impl Conditions {
    /// The condition of this type, with whether it is about generation `want` of its object. `status_seen` is the
    /// generation the status as a whole is about; it counts where the condition itself does not say.
    pub fn observe(&self, type_: &str, want: Option<i64>, status_seen: Option<i64>) -> Observed<Condition<'_>> {
        match self.get(type_) {
            Some(condition) => Observed::place(condition, condition.observed_generation.or(status_seen), want),
            None => Observed::Absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object([generation, status_seen, condition_seen]: [Value; 3]) -> ObjectStatus {
        ObjectStatus::read(&json!({
            "metadata": { "generation": generation },
            "status": {
                "observedGeneration": status_seen,
                "conditions": [{ "type": "Ready", "status": "True", "observedGeneration": condition_seen }],
            },
        }))
    }

    fn verdict(status: &ObjectStatus) -> Observed<Status> {
        status.observe("Ready").map(|condition| condition.status)
    }

    #[test]
    fn current_stale_unproven_and_absent_are_told_apart() {
        let stale = |seen, want| Observed::Stale { value: Status::True, seen, want };
        for (numbers, want) in [
            ([json!(4), json!(null), json!(4)], Observed::Current(Status::True)),
            ([json!(4), json!(4), json!(3)], stale(3, 4)),
            ([json!(4), json!(3), json!(null)], stale(3, 4)),
            ([json!(4), json!("4"), json!(0)], Observed::Current(Status::True)),
            ([json!(4), json!(-1), json!(null)], stale(-1, 4)),
            ([json!(1), json!(null), json!(7)], stale(7, 1)),
            ([json!(4), json!(null), json!(null)], Observed::Unproven(Status::True)),
            ([json!(null), json!(null), json!(null)], Observed::Current(Status::True)),
        ] {
            let status = object(numbers);
            assert_eq!(verdict(&status), want, "{status:?}");
            assert_eq!(status.observe("Succeeded"), Observed::Absent);
        }
    }

    #[test]
    fn only_a_current_true_is_true_in_the_strictest_reading() {
        assert_eq!(object([json!(4), json!(null), json!(4)]).observe("Ready").current_status(), Status::True);
        assert_eq!(object([json!(4), json!(null), json!(3)]).observe("Ready").current_status(), Status::Unknown);
        assert_eq!(object([json!(4), json!(null), json!(null)]).observe("Ready").current_status(), Status::Unknown);
        assert_eq!(object([json!(4), json!(4), json!(4)]).observe("Other").current_status(), Status::Unknown);
    }

    #[test]
    fn an_object_of_any_shape_can_be_read() {
        for odd in [json!(null), json!([]), json!({ "status": 3 }), json!({ "status": { "conditions": "none" } })] {
            let status = ObjectStatus::read(&odd);
            assert_eq!(status.observe("Ready"), Observed::Absent);
        }
        assert_eq!(ObjectStatus::read(&json!({ "status": { "conditions": "none" } })).remarks.len(), 1);
    }

    #[test]
    fn generations_count_from_one() {
        assert_eq!(Generation::new(0), Err(GenerationError { number: 0 }));
        assert_eq!(Generation::new(-1).map(Generation::get), Err(GenerationError { number: -1 }));
        assert_eq!(Generation::new(3).map(Generation::get), Ok(3));
    }
}
