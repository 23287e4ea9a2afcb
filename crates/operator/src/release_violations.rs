//! Evaluates constraints of the cluster over the objects of releases, for rules that ask what an update would violate.
//!
//! Each release is fetched as for an update, and its objects are evaluated as `clearway policy preview` does it, by the
//! process with limits of its own that also runs before updates. The result is the objects that rules and snapshots read
//! ([`ReleaseConstraint::to_object`]): counts and names of objects.
//!
//! A registry sees the same requests at the same times whatever the cluster contains: [`ReleaseEvaluator::fetch`] has no
//! access to the cluster, all releases of a look are fetched by it before anything is read or evaluated, and it waits for
//! nobody who reads or evaluates. So files of releases wait until it is their turn to be evaluated. Those for the
//! ClusterVersion are bounded for each look, and there is one look at a time. Those for ComponentVersions, which may be many,
//! have one budget besides. A release that finds no room in it is fetched all the same, and dropped: which ones are
//! evaluated is not visible in the requests.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clearway_advice::evidence::{
    ObjectAnswer, ObjectQuestion, Observation, Record, ReleaseConstraint, ReleaseEvaluation, UnevaluatedReason,
};
use clearway_advice::reproduce;
use clearway_core::{Digest, ObjectName, Timestamp};
use clearway_policy::{EnforcementPoint, ObjectKind, enforced_at};
use clearway_release::{Payload, ReleaseLimits, Selection};
use clearway_sources::release::{self, FetchedRelease, Reference, Registries};
use clearway_sources::store::{Store, StoreError};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::apply_update::PolicyProgram;
use crate::apply_update::policies::{ConstraintAnswer, PolicyAnswer, PolicyRequest, evaluate, read_inventory};
use crate::driver::MemoryPermit;
use crate::gatekeeper_objects::{self, CONSTRAINTS};
use crate::heartbeat::Heartbeat;

/// Releases that are fetched for one look at the cluster; which ones a graph names is a stranger's choice.
pub const MAX_RELEASES: usize = 10;
/// The time to fetch all releases of one look. What is not fetched by then is unknown.
pub const FETCH_TIME: Duration = Duration::from_mins(1);
/// The CPU time to evaluate the objects of one release.
pub const CPU_TIME: Duration = Duration::from_mins(1);
/// The time to evaluate all releases of one look, from its turn. Answers about objects of the cluster wait for it; what is
/// not evaluated by then is unknown.
pub const EVALUATION_TIME: Duration = Duration::from_mins(2);
/// Bytes of the files of all releases of one look, which are kept until they are evaluated.
pub const ROUND_BYTES: u64 = 24 << 20;
/// The same for a ComponentVersion.
pub const COMPONENT_ROUND_BYTES: u64 = 8 << 20;
/// The same for commands, which run alone.
pub const COMMAND_ROUND_BYTES: u64 = 96 << 20;

/// The kind and the name of a constraint.
type ConstraintKey<'c> = (&'c str, &'c str);

/// A release before its objects are made.
enum Fetched<'e> {
    /// The one that the user named.
    Named(&'e Payload),
    /// With their part of the budget for files that wait.
    Files(FetchedRelease, Option<OwnedSemaphorePermit>),
}

/// A release, or why it is not known.
type FetchResult<'e> = Result<Fetched<'e>, UnevaluatedReason>;

/// The releases of one look, each with the constraints that are asked about it.
pub struct FetchedReleases<'e, 'c>(Vec<(Vec<&'c ReleaseConstraint>, FetchResult<'e>)>);

/// What was read to evaluate constraints over one release.
#[derive(Default)]
struct Prepared<'c> {
    /// What is known without evaluating anything.
    evaluations: BTreeMap<ConstraintKey<'c>, ReleaseEvaluation>,
    /// The constraints that have to be evaluated.
    wanted: Vec<ConstraintKey<'c>>,
    /// What the program reads; nothing if no constraint has to be evaluated.
    request: Option<PolicyRequest>,
}

/// What releases are fetched and evaluated with.
pub struct ReleaseEvaluator<'e> {
    /// The way to releases; without it only `named` is read.
    pub registries: Option<Registries<'e>>,
    /// The only hosts that releases are fetched from, with their ports ([`registry_host`]). A graph names hosts as its author
    /// likes, so only those are contacted that the cluster already uses or a user named.
    pub hosts: BTreeSet<String>,
    /// What the cluster is, as far as manifests ask.
    pub selection: &'e Selection,
    /// How much of a release is read.
    pub limits: ReleaseLimits,
    /// Bytes of the files of all releases of one look.
    pub round_bytes: u64,
    /// Who else needs much memory.
    pub memory: MemoryPermit,
    /// Whether this is for one of many objects, which fetch in turn and share a budget for files that wait.
    pub is_one_of_many: bool,
    /// Notices a release that cannot be parsed in any reasonable time.
    pub heartbeat: Heartbeat,
    /// A release that the user named: it stands for the one of the same version in the graph.
    pub named: Option<&'e Payload>,
    /// What evaluates policies; without it nothing is known.
    pub program: Option<&'e PolicyProgram>,
}

impl<'e> ReleaseEvaluator<'e> {
    /// The objects that answer questions about releases, in the order of the questions. Constraints are read with the rights
    /// of the store.
    pub async fn objects<S: Store>(&self, store: &S, asked: &[&ReleaseConstraint]) -> Vec<Value> {
        let fetched = self.fetch(asked.iter().copied()).await;
        self.evaluate(store, asked, fetched).await
    }

    /// Fetches the releases that constraints are asked about. Nothing here depends on what the cluster contains: it has no
    /// store, and waits only for others who fetch.
    pub async fn fetch<'c>(&self, asked: impl Iterator<Item = &'c ReleaseConstraint>) -> FetchedReleases<'e, 'c> {
        let mut by_release: BTreeMap<&str, Vec<&ReleaseConstraint>> = BTreeMap::new();
        for constraint in asked {
            by_release.entry(&constraint.release.payload).or_default().push(constraint);
        }
        // Who has nothing to fetch does not wait for the registries of others.
        let takes_turns = self.is_one_of_many && !by_release.is_empty();
        let _turn = if takes_turns { self.memory.acquire_release_fetch().await } else { None };
        FetchedReleases(self.fetch_all(by_release.into_values()).await)
    }

    /// The objects that answer questions about releases that were fetched, in the order of the questions.
    async fn evaluate<S: Store>(
        &self,
        store: &S,
        asked: &[&ReleaseConstraint],
        FetchedReleases(fetched): FetchedReleases<'e, '_>,
    ) -> Vec<Value> {
        let _turn = self.memory.acquire_release_evaluation().await;
        let end = Instant::now() + EVALUATION_TIME;
        let mut found = BTreeMap::new();
        for (constraints, release) in fetched {
            let evaluated = self.evaluate_release(store, &constraints, release, end).await;
            for constraint in constraints {
                let evaluation = match &evaluated {
                    Ok(evaluations) => evaluations.get(&(constraint.kind.as_str(), constraint.name.as_str())).cloned(),
                    Err(reason) => Some(ReleaseEvaluation::Unknown(*reason)),
                };
                let unknown = ReleaseEvaluation::Unknown(UnevaluatedReason::NotEvaluated);
                found.insert(constraint.object_name(), constraint.to_object(&evaluation.unwrap_or(unknown)));
            }
        }
        asked.iter().filter_map(|constraint| found.get(&constraint.object_name()).cloned()).collect()
    }

    /// What the objects of releases that were fetched say to questions, by the text of the question.
    pub async fn answers<S: Store>(
        &self,
        store: &S,
        questions: &[(ObjectQuestion, u64)],
        fetched: FetchedReleases<'e, '_>,
        observed_at: Timestamp,
        source: &str,
    ) -> BTreeMap<String, Record<ObjectAnswer>> {
        let asked: Vec<&ReleaseConstraint> = constraints_of(questions).collect();
        let objects = self.evaluate(store, &asked, fetched).await;
        let answer = |(question, steps): &(ObjectQuestion, u64)| {
            let mut tally = question.tally(*steps);
            for object in &objects {
                tally.add(object);
            }
            let reproduce = question.release_constraint().map(|one| reproduce::policy_preview(&one.release.payload));
            let record = match tally.finish() {
                Ok(value) => {
                    let (source, warnings) = (source.to_owned(), Vec::new());
                    Record::Answered(Observation { value, observed_at, source, reproduce, warnings })
                }
                Err(failure) => Record::Failed(failure),
            };
            (question.text().to_owned(), record)
        };
        questions.iter().map(answer).collect()
    }

    /// Fetches releases one after the other, each list of constraints about one of them.
    async fn fetch_all<'c>(
        &self,
        asked: impl Iterator<Item = Vec<&'c ReleaseConstraint>>,
    ) -> Vec<(Vec<&'c ReleaseConstraint>, FetchResult<'e>)> {
        let end = Instant::now() + FETCH_TIME;
        let mut bytes_left = self.round_bytes;
        let mut all = Vec::new();
        for (number, constraints) in asked.enumerate() {
            let release = match constraints.first() {
                _ if self.program.is_none() => Err(UnevaluatedReason::NotConfigured),
                Some(first) if number < MAX_RELEASES => {
                    let fetched = tokio::time::timeout_at(end, self.fetch_release(first, bytes_left)).await;
                    fetched.unwrap_or(Err(UnevaluatedReason::TimedOut))
                }
                _ => Err(UnevaluatedReason::TooManyReleases),
            };
            if let Ok(Fetched::Files(fetched, _)) = &release {
                // Also where there is no room for it: what else is fetched must not depend on that.
                bytes_left = bytes_left.saturating_sub(u64::try_from(bytes_of(fetched)).unwrap_or(u64::MAX));
            }
            all.push((constraints, release.and_then(|release| self.keep(release))));
        }
        all
    }

    /// Keeps a release until it is evaluated, if there is room for it.
    fn keep(&self, release: Fetched<'e>) -> FetchResult<'e> {
        match release {
            Fetched::Files(fetched, _) if self.is_one_of_many => {
                match self.memory.keep_release_files(bytes_of(&fetched)) {
                    Some(room) => Ok(Fetched::Files(fetched, Some(room))),
                    None => Err(UnevaluatedReason::TooManyReleases),
                }
            }
            release => Ok(release),
        }
    }

    /// What came of each constraint, by kind and name; all of them are asked about the same release.
    async fn evaluate_release<'c, S: Store>(
        &self,
        store: &S,
        asked: &[&'c ReleaseConstraint],
        release: FetchResult<'e>,
        end: Instant,
    ) -> Result<BTreeMap<ConstraintKey<'c>, ReleaseEvaluation>, UnevaluatedReason> {
        if let Err(reason @ (UnevaluatedReason::NotConfigured | UnevaluatedReason::TooManyReleases)) = release {
            return Err(reason);
        }
        let prepared = tokio::time::timeout_at(end, self.prepare(store, asked, release)).await;
        let Prepared { mut evaluations, wanted, request } = prepared.unwrap_or(Err(UnevaluatedReason::TimedOut))?;
        let (Some(request), Some(program)) = (request, self.program) else { return Ok(evaluations) };
        let timeout = end.saturating_duration_since(Instant::now());
        let program = PolicyProgram { cpu_time: CPU_TIME, timeout, ..program.clone() };
        let answer = evaluate(&program, request).await.map_err(|why| {
            if Instant::now() >= end {
                return UnevaluatedReason::TimedOut;
            }
            tracing::debug!(why, "cannot evaluate policies over the objects of a release");
            UnevaluatedReason::NotEvaluated
        })?;
        let PolicyAnswer { constraints, not_evaluated } = answer;
        if let Some(first) = not_evaluated.first() {
            tracing::debug!(what = first.what, why = first.why, "not everything of a release could be evaluated");
            return Err(UnevaluatedReason::NotEvaluated);
        }
        for ConstraintAnswer { kind, name, total_violations, violations, .. } in constraints {
            let Some(key) = wanted.iter().find(|key| **key == (kind.as_str(), name.as_str())) else { continue };
            let objects = violations
                .into_iter()
                .map(|violation| (violation.kind, ObjectName { namespace: violation.namespace, name: violation.name }));
            let evaluated = ReleaseEvaluation::Evaluated { total: total_violations, objects: objects.collect() };
            evaluations.insert(*key, evaluated);
        }
        Ok(evaluations)
    }

    /// Reads everything that is needed to evaluate constraints over a release.
    async fn prepare<'c, S: Store>(
        &self,
        store: &S,
        asked: &[&'c ReleaseConstraint],
        release: FetchResult<'e>,
    ) -> Result<Prepared<'c>, UnevaluatedReason> {
        let policies = gatekeeper_objects::read(store).await.map_err(|error| reason(&error))?.unwrap_or_default();
        let mut evaluations = BTreeMap::new();
        let mut wanted = Vec::new();
        for constraint in asked {
            let key = (constraint.kind.as_str(), constraint.name.as_str());
            match policies.iter().find(|object| is_constraint(object, key)) {
                None => drop(evaluations.insert(key, ReleaseEvaluation::Absent)),
                Some(object) if !enforced_at(object, EnforcementPoint::Webhook) => {
                    evaluations.insert(key, ReleaseEvaluation::NotEnforced);
                }
                Some(_) => wanted.push(key),
            }
        }
        if wanted.is_empty() {
            return Ok(Prepared { evaluations, wanted, request: None });
        }
        let objects = self.make_objects(release?).await?;
        let kinds: BTreeSet<String> = wanted.iter().map(|(kind, _)| kind.to_lowercase()).collect();
        let policies: Vec<Value> = policies.into_iter().filter(|object| is_needed(object, &wanted, &kinds)).collect();
        let mut namespaces = Vec::new();
        for found in gatekeeper_objects::namespaces_of(store, &objects).await.into_values() {
            namespaces.extend(found.map_err(|error| reason(&error))?);
        }
        let inventory = read_inventory(store, &policies).await.map_err(|error| reason(&error))?;
        let Ok(inventory) = inventory else { return Err(UnevaluatedReason::NotEvaluated) };
        let request = Some(PolicyRequest { policies, objects, namespaces, inventory });
        Ok(Prepared { evaluations, wanted, request })
    }

    /// The objects that an update to the release would apply.
    async fn make_objects(&self, release: Fetched<'e>) -> Result<Vec<Value>, UnevaluatedReason> {
        let (fetched, room) = match release {
            Fetched::Named(payload) => {
                let applied = payload.manifests.iter().filter(|manifest| !manifest.deletes());
                return Ok(applied.map(|manifest| manifest.object.clone()).collect());
            }
            Fetched::Files(fetched, room) => (fetched, room),
        };
        let (selection, limits, heartbeat) = (self.selection.clone(), self.limits.clone(), self.heartbeat.clone());
        let permit = self.memory.acquire().await;
        // Others may be waiting for this thread. Waiting for a thread is not a hang, so the computation begins where it runs.
        let made = tokio::task::spawn_blocking(move || {
            let _beat = heartbeat.begin("parsing a release for rules", std::time::Instant::now());
            // Parsing goes on when the caller is gone, and so does its need for memory.
            let (_permit, _room) = (permit, room);
            let payload = fetched.payload(&selection, &limits).inspect_err(|error| {
                tracing::debug!(%error, release = %fetched.reference, "cannot read a release for rules");
            });
            let applied = payload.ok()?.manifests.into_iter().filter(|manifest| !manifest.deletes());
            Some(applied.map(|manifest| manifest.object).collect())
        });
        made.await.ok().flatten().ok_or(UnevaluatedReason::ReleaseUnreadable)
    }

    /// Fetches a release within so many bytes.
    async fn fetch_release(&self, constraint: &ReleaseConstraint, bytes_left: u64) -> FetchResult<'e> {
        let release = &constraint.release;
        let is_named = |payload: &&Payload| payload.version().without_build() == release.version.without_build();
        if let Some(payload) = self.named.filter(is_named) {
            return Ok(Fetched::Named(payload));
        }
        let Some(registries) = self.registries else { return Err(UnevaluatedReason::NotConfigured) };
        // A directory of this machine is not the graph's to name, and a tag may mean another release tomorrow.
        let digest = release.payload.rsplit_once('@').and_then(|(_, digest)| digest.parse::<Digest>().ok());
        let (Some(digest), Ok(Reference::Image(image))) = (digest, release.payload.parse()) else {
            return Err(UnevaluatedReason::ReleaseWithoutDigest);
        };
        if !self.hosts.contains(image.repository().host()) {
            return Err(UnevaluatedReason::OtherRegistry);
        }
        let reference = Reference::Image(image);
        if bytes_left == 0 {
            return Err(UnevaluatedReason::TooManyReleases);
        }
        let limits = ReleaseLimits { bytes: self.limits.bytes.min(bytes_left), ..self.limits.clone() };
        let fetched = release::fetch(&reference, registries, &limits, Some(&digest)).await;
        fetched.map(|fetched| Fetched::Files(fetched, None)).map_err(|error| {
            tracing::debug!(%error, payload = release.payload, "cannot read a release for rules");
            // It may fit when it is asked about alone.
            if error.kind() == "too_large" && limits.bytes < self.limits.bytes {
                UnevaluatedReason::TooManyReleases
            } else {
                UnevaluatedReason::ReleaseUnreadable
            }
        })
    }
}

/// The constraints of releases that questions are about.
pub fn constraints_of(questions: &[(ObjectQuestion, u64)]) -> impl Iterator<Item = &ReleaseConstraint> {
    questions.iter().filter_map(|(question, _)| question.release_constraint())
}

/// Bytes of the files of a release.
fn bytes_of(fetched: &FetchedRelease) -> usize {
    fetched.files.values().map(Vec::len).fold(0, usize::saturating_add)
}

/// Why policies or what they look at cannot be read.
fn reason(error: &StoreError) -> UnevaluatedReason {
    tracing::debug!(%error, "cannot read the policies of the cluster for rules");
    match error {
        StoreError::Forbidden { .. } => UnevaluatedReason::Forbidden,
        _ => UnevaluatedReason::Unreachable,
    }
}

fn is_constraint(object: &Value, (kind, name): (&str, &str)) -> bool {
    let ObjectKind { group, kind: found, .. } = ObjectKind::of(object);
    group == CONSTRAINTS && found == kind && object["metadata"]["name"] == name
}

/// Whether an object is one of the wanted constraints, one of their templates, or a setting.
fn is_needed(object: &Value, wanted: &[(&str, &str)], templates: &BTreeSet<String>) -> bool {
    let ObjectKind { group, kind, .. } = ObjectKind::of(object);
    if group == CONSTRAINTS {
        return wanted.iter().any(|key| is_constraint(object, *key));
    }
    kind != "ConstraintTemplate" || object["metadata"]["name"].as_str().is_some_and(|name| templates.contains(name))
}

/// The host of the registry of an image, with its port; nothing if it is not the name of an image.
pub fn registry_host(image: &str) -> Option<String> {
    match image.parse() {
        Ok(Reference::Image(image)) => Some(image.repository().host().to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
