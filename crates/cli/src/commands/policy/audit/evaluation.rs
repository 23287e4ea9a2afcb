//! The evaluation of many objects: results by constraint, and what could not be evaluated.
//!
//! Objects are evaluated in batches, on several threads ([`EvaluationThreads`]) or on the calling one. The results of
//! batches are merged in the order of the objects, so the outcome does not depend on the number of threads.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use clearway_core::Timestamp;
use clearway_policy::audit::{Audit, review_object};
use clearway_policy::rego::Budget;
use clearway_policy::{EnforcementPoint, Evaluator, Inventory, ObjectKind, Reviewer};
use serde_json::Value;

use super::evaluation_threads::EvaluationThreads;
use crate::arguments::PolicyLimits;
use crate::commands::policy::policies::{Concerned, LoadedPolicies, Problem, kind_text};
use crate::commands::policy::{test, worker};

/// Objects of one batch: enough that handing it over costs nothing beside the evaluation.
const BATCH: usize = 64;

/// What objects are evaluated by.
pub(in crate::commands::policy) struct Setting<'p> {
    pub(in crate::commands::policy) policies: &'p LoadedPolicies,
    pub(in crate::commands::policy) point: EnforcementPoint,
    pub(in crate::commands::policy) inventory: &'p Inventory,
    pub(in crate::commands::policy) limits: &'p PolicyLimits,
    pub(in crate::commands::policy) started: Timestamp,
    /// Violations that are listed per constraint.
    pub(in crate::commands::policy) violations_limit: usize,
}

/// An object that is evaluated, or that could not be.
pub(super) enum BatchItem<'p> {
    Object { object: Cow<'p, Value>, namespace: Option<Arc<Value>> },
    Failed { kind: ObjectKind, why: String },
}

/// Evaluates objects.
pub(in crate::commands::policy) struct Evaluation<'p> {
    setting: &'p Setting<'p>,
    evaluator: BatchEvaluator<'p>,
    batch: Vec<BatchItem<'p>>,
    /// The results of kinds that are complete.
    audit: Audit,
    /// The results of the kind that is read now, so that they can be dropped when it is read once more.
    current: Results,
    problems: Vec<Problem>,
    prints: Vec<String>,
    /// Objects that were evaluated.
    objects: u64,
}

/// Who evaluates batches.
enum BatchEvaluator<'p> {
    ThisThread(Box<ThreadEvaluator<'p>>),
    Threads(EvaluationThreads<'p>),
}

/// What came of some objects.
pub(super) struct Results {
    audit: Audit,
    objects: u64,
    /// By kind, the first reason and the number of objects.
    failed: BTreeMap<ObjectKind, (String, u64)>,
    prints: Vec<String>,
}

/// What came of an evaluation.
pub(in crate::commands::policy) struct Outcome {
    pub(in crate::commands::policy) audit: Audit,
    pub(in crate::commands::policy) problems: Vec<Problem>,
    pub(in crate::commands::policy) objects: u64,
    /// What templates printed.
    pub(in crate::commands::policy) prints: Vec<String>,
}

/// Evaluates the objects that `add_objects` gives, on so many threads.
pub(in crate::commands::policy) fn evaluate<'p>(
    setting: &'p Setting<'p>,
    threads: usize,
    add_objects: impl FnOnce(&mut Evaluation<'p>),
) -> Outcome {
    let now = worker::unix_time();
    thread::scope(|scope| {
        // A thread that cannot be started is done without; at the end this one evaluates alone.
        let threads = if threads > 1 { EvaluationThreads::start(scope, setting, now, threads) } else { None };
        let evaluator = match threads {
            Some(threads) => BatchEvaluator::Threads(threads),
            None => BatchEvaluator::ThisThread(Box::new(ThreadEvaluator::new(setting, now))),
        };
        let audit = Audit::new(&setting.policies.set, setting.started, setting.violations_limit);
        let mut evaluation = Evaluation {
            setting,
            evaluator,
            batch: Vec::new(),
            audit,
            current: Results::new(setting),
            problems: setting.policies.problems.clone(),
            prints: Vec::new(),
            objects: 0,
        };
        add_objects(&mut evaluation);
        evaluation.finish()
    })
}

impl<'p> Evaluation<'p> {
    /// How many objects were evaluated so far.
    pub(in crate::commands::policy) fn objects(&self) -> u64 {
        self.objects.saturating_add(self.current.objects)
    }

    /// Evaluates an object in its namespace, if that is known.
    pub(in crate::commands::policy) fn add(&mut self, object: Cow<'p, Value>, namespace: Option<Arc<Value>>) {
        self.push(BatchItem::Object { object, namespace });
    }

    /// Notes that an object was not evaluated.
    pub(in crate::commands::policy) fn fail_object(&mut self, object: &Value, why: String) {
        self.push(BatchItem::Failed { kind: ObjectKind::of(object), why });
    }

    /// Forgets the objects since the last kind ended.
    pub(in crate::commands::policy) fn restart_kind(&mut self) {
        self.complete();
        self.current = Results::new(self.setting);
    }

    /// Keeps the results of the objects since the last kind ended.
    pub(in crate::commands::policy) fn end_kind(&mut self) {
        self.complete();
        let Results { audit, objects, failed, prints } =
            std::mem::replace(&mut self.current, Results::new(self.setting));
        self.audit.merge(audit);
        self.objects = self.objects.saturating_add(objects);
        self.prints.extend(prints);
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

    fn push(&mut self, item: BatchItem<'p>) {
        self.batch.push(item);
        if self.batch.len() >= BATCH {
            self.send_batch();
        }
    }

    fn send_batch(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        match &mut self.evaluator {
            BatchEvaluator::ThisThread(evaluator) => self.current.merge(evaluator.evaluate(batch)),
            BatchEvaluator::Threads(threads) => threads.send(batch, |results| self.current.merge(results)),
        }
    }

    /// Waits until all objects so far are evaluated.
    fn complete(&mut self) {
        self.send_batch();
        if let BatchEvaluator::Threads(threads) = &mut self.evaluator {
            threads.wait_for_all(|results| self.current.merge(results));
        }
    }

    fn finish(mut self) -> Outcome {
        self.end_kind();
        Outcome { audit: self.audit, problems: self.problems, objects: self.objects, prints: self.prints }
    }
}

impl Results {
    fn new(setting: &Setting<'_>) -> Self {
        let audit = Audit::new(&setting.policies.set, setting.started, setting.violations_limit);
        Results { audit, objects: 0, failed: BTreeMap::new(), prints: Vec::new() }
    }

    fn fail(&mut self, kind: ObjectKind, why: String, objects: u64) {
        let failed = self.failed.entry(kind).or_insert((why, 0));
        failed.1 = failed.1.saturating_add(objects);
    }

    /// Adds what came of later objects.
    fn merge(&mut self, later: Results) {
        self.audit.merge(later.audit);
        self.objects = self.objects.saturating_add(later.objects);
        for (kind, (why, objects)) in later.failed {
            self.fail(kind, why, objects);
        }
        self.prints.extend(later.prints);
    }
}

/// Evaluates objects on one thread.
pub(super) struct ThreadEvaluator<'p> {
    setting: &'p Setting<'p>,
    budget: Budget,
    evaluator: Evaluator,
}

impl<'p> ThreadEvaluator<'p> {
    /// An evaluator of this thread; `now` is the time that templates see.
    pub(super) fn new(setting: &'p Setting<'p>, now: i64) -> Self {
        ThreadEvaluator { setting, budget: worker::budget_at(setting.limits, now), evaluator: Evaluator::new() }
    }

    pub(super) fn evaluate(&mut self, batch: Vec<BatchItem<'p>>) -> Results {
        let Setting { policies, point, inventory, .. } = self.setting;
        let reviewer = Reviewer { point: *point, inventory, budget: &self.budget };
        let mut results = Results::new(self.setting);
        for item in batch {
            let (object, namespace) = match item {
                BatchItem::Object { object, namespace } => (object, namespace),
                BatchItem::Failed { kind, why } => {
                    results.fail(kind, why, 1);
                    continue;
                }
            };
            let name = test::name(&object);
            let found = worker::watched(&name, || {
                let (set, expander) = (&policies.set, &policies.expander);
                review_object(&object, namespace.as_deref(), set, expander, &reviewer, &mut self.evaluator)
            });
            results.audit.record(&object, &found.results);
            match found.error {
                None => results.objects = results.objects.saturating_add(1),
                Some(error) => results.fail(ObjectKind::of(&object), format!("{name}: {error}"), 1),
            }
        }
        results.prints = self.evaluator.take_prints();
        results
    }
}

#[cfg(test)]
mod tests {
    use clearway_policy::audit::ConstraintAudit;
    use serde_json::json;

    use super::*;

    /// Prints every object, refuses those with a number that can be divided by 3, and fails for those that can be by 100.
    const REGO: &str = r#"package numbers
violation[{"msg": msg}] {
  number := input.review.object.spec.number
  print(number)
  number % 3 == 0
  msg := message(number)
}
message(number) = sprintf("%v", [number]) { number % 100 != 0 }
message(number) = number { number % 100 == 0 }"#;

    fn policies() -> LoadedPolicies {
        let template = json!({
            "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "numbers"},
            "spec": {
                "crd": {"spec": {"names": {"kind": "Numbers"}}},
                "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": REGO}],
            },
        });
        let constraint = json!({
            "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Numbers", "metadata": {"name": "all"},
        });
        LoadedPolicies::of(&[("test".to_owned(), template), ("test".to_owned(), constraint)])
    }

    #[test]
    fn the_outcome_does_not_depend_on_the_number_of_threads() {
        let objects: Vec<Value> = (0..1_000)
            .map(|number| {
                json!({
                    "apiVersion": "example.com/v1", "kind": format!("Kind{}", number % 2),
                    "metadata": {"name": format!("object-{number}")}, "spec": {"number": number},
                })
            })
            .collect();
        let (policies, inventory) = (policies(), Inventory::default());
        assert_eq!(policies.problems, []);
        let limits = PolicyLimits { memory_limit: 4096, evaluation_timeout: 30, max_steps: 10_000_000 };
        let setting = Setting {
            policies: &policies,
            point: EnforcementPoint::Audit,
            inventory: &inventory,
            limits: &limits,
            started: Timestamp::EPOCH,
            violations_limit: 20,
        };
        let outcome = |threads: usize| {
            let outcome = evaluate(&setting, threads, |evaluation| {
                for (number, object) in objects.iter().enumerate() {
                    match number {
                        // What came before is read once more.
                        400 => evaluation.restart_kind(),
                        600 => evaluation.fail_object(object, "not readable".to_owned()),
                        700 => evaluation.end_kind(),
                        _ => evaluation.add(Cow::Borrowed(object), None),
                    }
                }
            });
            let constraints = outcome.audit.constraints();
            let constraints: Vec<_> =
                constraints.map(|one: &ConstraintAudit| (one.total(), one.status(None).to_string())).collect();
            (constraints, outcome.problems, outcome.objects, outcome.prints)
        };
        let alone = outcome(1);
        assert_eq!((alone.0[0].0, alone.2, alone.3.len()), (198, 596, 597));
        let [unreadable, failed] = alone.1.as_slice() else { panic!("{:?}", alone.1) };
        assert_eq!(unreadable.why, "not readable");
        assert!(failed.why.starts_with("example.com/v1/Kind0 object-900: "), "{failed}");
        for threads in [2, 5] {
            assert!(outcome(threads) == alone, "{threads} threads");
        }
    }
}
