//! The evaluation of many objects: results by constraint, and what could not be evaluated.

use std::collections::BTreeMap;

use clearway_core::Timestamp;
use clearway_policy::audit::{Audit, review_object};
use clearway_policy::rego::Budget;
use clearway_policy::{EnforcementPoint, Evaluator, Inventory, ObjectKind, Reviewer};
use serde_json::Value;

use crate::commands::policy::policies::{Concerned, LoadedPolicies, Problem, kind_text};
use crate::commands::policy::{test, worker};

/// Evaluates objects one after the other.
pub(in crate::commands::policy) struct Evaluation<'p> {
    policies: &'p LoadedPolicies,
    reviewer: Reviewer<'p>,
    evaluator: Evaluator,
    started: Timestamp,
    limit: usize,
    /// The results of kinds that are complete.
    audit: Audit,
    /// The results of the kind that is read now, so that they can be dropped when it is read once more.
    current: Results,
    problems: Vec<Problem>,
    /// Objects that were evaluated.
    objects: u64,
}

struct Results {
    audit: Audit,
    objects: u64,
    /// By kind, the first reason and the number of objects.
    failed: BTreeMap<ObjectKind, (String, u64)>,
}

/// What came of an evaluation.
pub(in crate::commands::policy) struct Outcome {
    pub(in crate::commands::policy) audit: Audit,
    pub(in crate::commands::policy) problems: Vec<Problem>,
    pub(in crate::commands::policy) objects: u64,
    /// What templates printed.
    pub(in crate::commands::policy) prints: Vec<String>,
}

impl<'p> Evaluation<'p> {
    pub(in crate::commands::policy) fn new(
        policies: &'p LoadedPolicies,
        point: EnforcementPoint,
        inventory: &'p Inventory,
        budget: &'p Budget,
        started: Timestamp,
        limit: usize,
    ) -> Self {
        let audit = Audit::new(&policies.set, started, limit);
        let current = Results { audit: audit.clone(), objects: 0, failed: BTreeMap::new() };
        Evaluation {
            policies,
            reviewer: Reviewer { point, inventory, budget },
            evaluator: Evaluator::new(),
            started,
            limit,
            audit,
            current,
            problems: policies.problems.clone(),
            objects: 0,
        }
    }

    /// How many objects were evaluated so far.
    pub(in crate::commands::policy) fn objects(&self) -> u64 {
        self.objects.saturating_add(self.current.objects)
    }

    /// Evaluates an object in its namespace, if that is known.
    pub(in crate::commands::policy) fn add(&mut self, object: &Value, namespace: Option<&Value>) {
        let LoadedPolicies { set, expander, .. } = self.policies;
        let name = test::name(object);
        let found = worker::watched(&name, || {
            review_object(object, namespace, set, expander, &self.reviewer, &mut self.evaluator)
        });
        self.current.audit.record(object, &found.results);
        match found.error {
            None => self.current.objects = self.current.objects.saturating_add(1),
            Some(error) => self.fail_object(object, format!("{name}: {error}")),
        }
    }

    /// Notes that an object was not evaluated.
    pub(in crate::commands::policy) fn fail_object(&mut self, object: &Value, why: String) {
        let failed = self.current.failed.entry(ObjectKind::of(object)).or_insert((why, 0));
        failed.1 = failed.1.saturating_add(1);
    }

    /// Forgets the objects since the last kind ended.
    pub(in crate::commands::policy) fn restart_kind(&mut self) {
        self.current = Results {
            audit: Audit::new(&self.policies.set, self.started, self.limit),
            objects: 0,
            failed: BTreeMap::new(),
        };
    }

    /// Keeps the results of the objects since the last kind ended.
    pub(in crate::commands::policy) fn end_kind(&mut self) {
        let empty = Results {
            audit: Audit::new(&self.policies.set, self.started, self.limit),
            objects: 0,
            failed: BTreeMap::new(),
        };
        let Results { audit, objects, failed } = std::mem::replace(&mut self.current, empty);
        self.audit.merge(audit);
        self.objects = self.objects.saturating_add(objects);
        for (kind, (first, count)) in failed {
            let more =
                if count > 1 { format!(" (and {} more objects)", count.saturating_sub(1)) } else { String::new() };
            self.problems.push(Problem {
                what: kind_text(&kind),
                why: format!("{first}{more}"),
                concerns: Concerned::Kind(kind),
            });
        }
    }

    /// Ends the kind, of which objects are missing.
    pub(in crate::commands::policy) fn fail_kind(&mut self, kind: ObjectKind, why: String) {
        self.end_kind();
        self.problems.push(Problem { what: kind_text(&kind), why, concerns: Concerned::Kind(kind) });
    }

    /// The results.
    pub(in crate::commands::policy) fn finish(mut self) -> Outcome {
        self.end_kind();
        Outcome {
            audit: self.audit,
            problems: self.problems,
            objects: self.objects,
            prints: self.evaluator.take_prints(),
        }
    }
}
