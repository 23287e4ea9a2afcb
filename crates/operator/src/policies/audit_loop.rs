//! Audits what exists, from time to time, and writes what was found into the statuses of constraints (P6).
//!
//! Only kinds that a constraint may be about are listed, page by page; the evaluators review the objects while the next
//! page is read, so memory depends on the size of a page and not on the number of objects. A namespace that is deleted
//! meanwhile takes its objects out of the audit, and an API server that restarts is waited for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clearway_core::{GroupVersionKind, Timestamp};
use clearway_policy::audit::{Audit, ConstraintAudit, VIOLATIONS_LIMIT};
use clearway_policy::{EnforcementPoint, ObjectKind, ReviewResult};
use clearway_sources::object_stream::{ObjectNamespace, ObjectStream, PAGE_SIZE, StreamEvent, StreamedObject};
use clearway_sources::store::Store;
use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{self, StreamExt as _};
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::controller::LoadedPolicies;
use super::evaluation::{AuditObject, Evaluators};
use super::events::{EventRecorder, Occasion};
use super::log_lines::{self, CONTROLLER, LineLevel, now};
use super::metrics::Metrics;
use crate::constraint_status;

/// Objects that an evaluator reviews at a time.
const BATCH: usize = 50;
/// Statuses that are written at a time.
const WRITES: usize = 8;
/// How often a status is written again while the API server does not answer, with a wait that begins with a second and
/// doubles.
const ATTEMPTS: u32 = 5;

/// How audits are made.
#[derive(Debug, Clone)]
pub struct AuditSettings {
    /// The time between two audits, and before the first one; zero for no audits.
    pub interval: Duration,
    /// The most violations that the status of a constraint lists.
    pub violations_limit: usize,
    /// Objects of one page of a list.
    pub chunk_size: u32,
    /// Evaluators that an audit uses at a time; the others are left to the webhook.
    pub evaluators: usize,
}

impl Default for AuditSettings {
    fn default() -> Self {
        AuditSettings {
            interval: Duration::from_mins(1),
            violations_limit: VIOLATIONS_LIMIT,
            chunk_size: PAGE_SIZE,
            evaluators: 1,
        }
    }
}

/// What an audit did not see.
struct Incomplete {
    /// Groups whose kinds are not known.
    groups: BTreeSet<String>,
    /// Kinds of which objects are missing.
    kinds: BTreeSet<ObjectKind>,
}

/// Audits the objects of a cluster.
pub(super) struct Auditor<S> {
    pub(super) store: S,
    pub(super) evaluators: Evaluators,
    pub(super) policies: watch::Receiver<Arc<LoadedPolicies>>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) settings: AuditSettings,
    pub(super) clock: fn() -> Timestamp,
    /// Writes violations as Events; nothing if that is not wanted.
    pub(super) events: Option<EventRecorder>,
}

impl<S: Store> Auditor<S> {
    /// Audits until the future is dropped.
    pub(super) async fn run(&self) {
        if self.settings.interval.is_zero() {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(self.settings.interval).await;
            let policies = self.policies.borrow().clone();
            if policies.constraints.is_empty() {
                tracing::debug!("there are no constraints, so nothing is audited");
                continue;
            }
            match self.store.kinds().await {
                Ok(kinds) => self.audit(&policies, kinds).await,
                Err(error) => tracing::warn!(%error, "cannot find out which kinds there are; nothing is audited"),
            }
        }
    }

    async fn audit(&self, policies: &LoadedPolicies, kinds: Vec<GroupVersionKind>) {
        let started = Instant::now();
        self.metrics.start_audit(now());
        let new_audit =
            |time| Audit::of_constraints(policies.constraints.iter().cloned(), time, self.settings.violations_limit);
        let mut audit = new_audit((self.clock)());
        log_lines::write(LineLevel::Info, CONTROLLER, &audit.started_line());
        let kinds = kinds.into_iter().filter(|kind| is_audited(policies, kind)).collect();
        let (sender, mut events) = mpsc::channel(1);
        let list = ObjectStream::new(&self.store).with_page_size(self.settings.chunk_size).send_to(kinds, sender);
        let mut incomplete = Incomplete { groups: self.stale_groups(policies), kinds: BTreeSet::new() };
        let review = async {
            let mut part = new_audit(audit.started());
            while let Some(event) = events.recv().await {
                match event {
                    StreamEvent::Objects { kind, objects } => {
                        if !self.review(policies, objects, &mut part).await {
                            incomplete.kinds.insert(object_kind(&kind));
                        }
                    }
                    StreamEvent::Restarted { .. } => part = new_audit(audit.started()),
                    StreamEvent::Listed { .. } => {
                        let started = audit.started();
                        audit.merge(std::mem::replace(&mut part, new_audit(started)));
                    }
                    StreamEvent::Failed { kind, error } => {
                        tracing::warn!(%error, "cannot list objects of {kind}; constraints about them keep their status");
                        incomplete.kinds.insert(object_kind(&kind));
                        part = new_audit(audit.started());
                    }
                }
            }
        };
        tokio::join!(list, review);
        self.write_statuses(&audit, policies, &incomplete).await;
        for line in audit.constraint_lines() {
            log_lines::write(LineLevel::Info, CONTROLLER, &line);
        }
        log_lines::write(LineLevel::Info, CONTROLLER, &audit.finished_line(started.elapsed()));
        self.metrics.end_audit(now(), started.elapsed(), audit.violations_by_action());
    }

    /// Groups whose kinds are not known, because their server does not answer: constraints about them keep their status.
    fn stale_groups(&self, policies: &LoadedPolicies) -> BTreeSet<String> {
        let is_audited = |group: &String| {
            let mut audited = policies.constraints.iter().filter(|one| one.is_enforced_at(EnforcementPoint::Audit));
            audited.any(|constraint| constraint.concerns_group(group))
        };
        let stale: BTreeSet<String> = self.store.stale_groups().into_iter().filter(is_audited).collect();
        for group in &stale {
            tracing::warn!(
                "the server of the group {group} does not answer, so it is not known which kinds it has; constraints about \
                 them keep their status"
            );
        }
        stale
    }

    /// Reviews the objects of one page; whether all could be reviewed.
    async fn review(&self, policies: &LoadedPolicies, objects: Vec<StreamedObject>, audit: &mut Audit) -> bool {
        let mut is_complete = true;
        let mut known = Vec::new();
        for object in objects.into_iter().filter(|one| !policies.excluded.excludes(&one.object)) {
            match with_namespace(object) {
                Ok(object) => known.extend(object),
                Err(error) => {
                    tracing::warn!("{error}");
                    is_complete = false;
                }
            }
        }
        let batches: Vec<Vec<AuditObject>> = known.chunks(BATCH).map(<[AuditObject]>::to_vec).collect();
        let review = |batch: Vec<AuditObject>| async move { (self.review_batch(&batch).await, batch) };
        let reviews: Vec<BoxFuture<'_, _>> = batches.into_iter().map(|batch| review(batch).boxed()).collect();
        // In the order of the list, so that log lines of two audits of the same objects are the same.
        let mut reviews = stream::iter(reviews).buffered(self.settings.evaluators.max(1));
        while let Some((results, batch)) = reviews.next().await {
            for (object, results) in batch.iter().zip(results) {
                let Some(results) = results else {
                    is_complete = false;
                    continue;
                };
                audit.record(&object.object, &results);
                for result in &results {
                    if let Some(line) = audit.violation_line(&object.object, result) {
                        log_lines::write(LineLevel::Info, CONTROLLER, &line);
                        if let Some(events) = &self.events {
                            events.record(Occasion::Audit, &line.message, &line);
                        }
                    }
                }
            }
        }
        is_complete
    }

    /// The violations of each object; nothing for one that cannot be reviewed.
    async fn review_batch(&self, batch: &[AuditObject]) -> Vec<Option<Vec<ReviewResult>>> {
        let reviewed = match self.evaluators.review_objects(batch.to_vec()).await {
            Ok(reviewed) => reviewed,
            Err(error) => {
                tracing::error!(%error, "cannot review {} objects", batch.len());
                return vec![None; batch.len()];
            }
        };
        let results = reviewed.into_iter().zip(batch).map(|(reviewed, object)| {
            reviewed.map_err(|error| tracing::error!("cannot review {}: {error}", shown(&object.object))).ok()
        });
        results.collect()
    }

    /// Writes the statuses of constraints whose results are complete: a smaller number than there is would be wrong.
    async fn write_statuses(&self, audit: &Audit, policies: &LoadedPolicies, incomplete: &Incomplete) {
        let is_complete = |audited: &&ConstraintAudit| {
            let constraint = audited.constraint();
            !incomplete.kinds.iter().any(|kind| constraint.is_about(kind, &policies.expander))
                && !incomplete.groups.iter().any(|group| constraint.concerns_group(group))
        };
        let complete = audit.constraints().filter(is_complete);
        let writes: Vec<BoxFuture<'_, ()>> = complete.map(|audited| self.write_status(audited).boxed()).collect();
        stream::iter(writes).buffer_unordered(WRITES).collect::<()>().await;
    }

    async fn write_status(&self, audited: &ConstraintAudit) {
        let mut delay = Duration::from_secs(1);
        for attempt in 1..=ATTEMPTS {
            match constraint_status::write(&self.store, audited).await {
                Ok(_) => return,
                Err(error) if error.is_passing() && attempt < ATTEMPTS => {
                    tokio::time::sleep(delay).await;
                    delay = delay.saturating_mul(2);
                }
                Err(error) => {
                    let constraint = audited.constraint();
                    return tracing::error!(%error, "cannot write the status of {} {}", constraint.kind, constraint.name);
                }
            }
        }
    }
}

/// Whether a constraint may be about objects of a kind, or about what they imply.
fn is_audited(policies: &LoadedPolicies, kind: &GroupVersionKind) -> bool {
    let kind = object_kind(kind);
    policies.constraints.iter().any(|constraint| {
        constraint.is_enforced_at(EnforcementPoint::Audit) && constraint.is_about(&kind, &policies.expander)
    })
}

fn object_kind(kind: &GroupVersionKind) -> ObjectKind {
    ObjectKind { group: kind.group.clone(), version: kind.version.clone(), kind: kind.kind.clone() }
}

/// An object with its namespace; nothing if the namespace is gone, and the object with it.
fn with_namespace(streamed: StreamedObject) -> Result<Option<AuditObject>, String> {
    let namespace = match streamed.namespace {
        ObjectNamespace::None => None,
        ObjectNamespace::Known(namespace) => Some(namespace),
        ObjectNamespace::Gone => return Ok(None),
        ObjectNamespace::Unknown(error) => {
            return Err(format!("{} is not audited: its namespace cannot be read: {error}", shown(&streamed.object)));
        }
    };
    Ok(Some(AuditObject { object: Arc::new(streamed.object), namespace }))
}

fn shown(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    let name = [text(&metadata["namespace"]), text(&metadata["name"])];
    format!("{} {}", text(&object["kind"]), name.join("/").trim_start_matches('/'))
}
