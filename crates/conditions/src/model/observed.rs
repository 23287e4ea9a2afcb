//! Whether a condition is about the object as it is now.
//!
//! A `Ready=True` that another generation earned is the commonest wrong answer there is. So a condition is not had from
//! an object without this: current, stale, unproven or absent, and the caller says what each means. Start at
//! [`ObjectStatus::observe`].

use clearway_core::Observed;
use serde_json::Value;

use super::list::whole_number;
use super::{Condition, Conditions, ListProblem, Status};

/// The status of a condition, where everything but a current condition is Unknown: the strictest reading.
pub fn current_status(observed: Observed<Condition<'_>>) -> Status {
    observed.current().map_or(Status::Unknown, |condition| condition.status)
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
    pub remarks: Vec<ListProblem>,
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
        assert_eq!(current_status(object([json!(4), json!(null), json!(4)]).observe("Ready")), Status::True);
        assert_eq!(current_status(object([json!(4), json!(null), json!(3)]).observe("Ready")), Status::Unknown);
        assert_eq!(current_status(object([json!(4), json!(null), json!(null)]).observe("Ready")), Status::Unknown);
        assert_eq!(current_status(object([json!(4), json!(4), json!(4)]).observe("Other")), Status::Unknown);
    }

    #[test]
    fn an_object_of_any_shape_can_be_read() {
        for odd in [json!(null), json!([]), json!({ "status": 3 }), json!({ "status": { "conditions": "none" } })] {
            let status = ObjectStatus::read(&odd);
            assert_eq!(status.observe("Ready"), Observed::Absent);
        }
        assert_eq!(ObjectStatus::read(&json!({ "status": { "conditions": "none" } })).remarks.len(), 1);
    }
}
