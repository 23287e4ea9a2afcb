//! Evaluates constraints of the cluster over the objects of releases, for rules that ask what an update would violate.
//!
//! Each release is fetched as for an update, and its objects are evaluated as `clearway policy preview` does it, by the
//! process with limits of its own that also runs before updates. What comes out are the objects that rules and snapshots
//! read ([`ReleaseConstraint::to_object`]): counts and names of objects.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clearway_advice::evidence::{
    ObjectAnswer, ObjectQuestion, Observation, Record, ReleaseConstraint, ReleaseEvaluation, UnevaluatedReason,
};
use clearway_advice::reproduce;
use clearway_core::{Digest, ObjectName, Timestamp};
use clearway_policy::{EnforcementPoint, ObjectKind, enforced_at};
use clearway_release::{Payload, ReleaseLimits, Selection};
use clearway_sources::release::{self, Reference, Registries};
use clearway_sources::store::{Store, StoreError};
use serde_json::Value;

use crate::apply_update::PolicyProgram;
use crate::apply_update::policies::{ConstraintAnswer, PolicyAnswer, PolicyRequest, evaluate, read_inventory};
use crate::gatekeeper_objects::{self, CONSTRAINTS};

/// Releases that are fetched for one look at the cluster; which ones a graph names is a stranger's choice.
pub const MAX_RELEASES: usize = 10;
/// The time to fetch one release and what its objects are evaluated with, and the CPU time to evaluate them. Answers about
/// objects of the cluster wait for it.
pub const TIME_LIMIT: Duration = Duration::from_mins(1);
/// When the process that evaluates is taken for stuck, on a clock.
const PATIENCE: Duration = Duration::from_mins(10);

/// The kind and the name of a constraint.
type ConstraintKey<'c> = (&'c str, &'c str);

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
    /// The only host that releases are fetched from, with its port; `None` for any. A graph names hosts as its author
    /// likes, so the operator contacts only the one that the cluster already uses.
    pub only_host: Option<String>,
    /// What the cluster is, as far as manifests ask.
    pub selection: &'e Selection,
    /// How much of a release is read.
    pub limits: &'e ReleaseLimits,
    /// A release that the user named: it stands for the one of the same version in the graph.
    pub named: Option<&'e Payload>,
    /// What evaluates policies; without it nothing is known.
    pub program: Option<&'e PolicyProgram>,
}

impl ReleaseEvaluator<'_> {
    /// The objects that answer questions about releases, in the order of the questions. Constraints are read with the rights
    /// of the store.
    pub async fn objects<S: Store>(&self, store: &S, asked: &[&ReleaseConstraint]) -> Vec<Value> {
        let mut by_release: BTreeMap<&str, Vec<&ReleaseConstraint>> = BTreeMap::new();
        for constraint in asked {
            by_release.entry(&constraint.release.payload).or_default().push(constraint);
        }
        let mut found = BTreeMap::new();
        for (number, (_, constraints)) in by_release.into_iter().enumerate() {
            let evaluated = if number < MAX_RELEASES {
                self.evaluate_release(store, &constraints).await
            } else {
                Err(UnevaluatedReason::TooManyReleases)
            };
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

    /// What the objects of releases say to questions, by the text of the question.
    pub async fn answers<S: Store>(
        &self,
        store: &S,
        questions: &[(ObjectQuestion, u64)],
        observed_at: Timestamp,
        source: &str,
    ) -> BTreeMap<String, Record<ObjectAnswer>> {
        let asked: Vec<&ReleaseConstraint> =
            questions.iter().filter_map(|(question, _)| question.release_constraint()).collect();
        let objects = self.objects(store, &asked).await;
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

    /// What came of each constraint, by kind and name; all of them are asked about the same release.
    async fn evaluate_release<'c, S: Store>(
        &self,
        store: &S,
        asked: &[&'c ReleaseConstraint],
    ) -> Result<BTreeMap<ConstraintKey<'c>, ReleaseEvaluation>, UnevaluatedReason> {
        let prepared = tokio::time::timeout(TIME_LIMIT, self.prepare(store, asked)).await;
        let Prepared { mut evaluations, wanted, request } = prepared.unwrap_or(Err(UnevaluatedReason::TimedOut))?;
        let (Some(request), Some(program)) = (request, self.program) else { return Ok(evaluations) };
        let program = PolicyProgram { cpu_time: TIME_LIMIT, timeout: PATIENCE, ..program.clone() };
        let answer = evaluate(&program, &request).await.map_err(|why| {
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
    ) -> Result<Prepared<'c>, UnevaluatedReason> {
        let Some(first) = asked.first() else { return Ok(Prepared::default()) };
        if self.program.is_none() {
            return Err(UnevaluatedReason::NotConfigured);
        }
        // First, and whatever constraints the cluster has: which releases are fetched must not tell a registry about them.
        let objects = self.release_objects(first).await;
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
        let objects = objects?;
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
    async fn release_objects(&self, constraint: &ReleaseConstraint) -> Result<Vec<Value>, UnevaluatedReason> {
        let release = &constraint.release;
        let is_named = |payload: &&Payload| payload.version().without_build() == release.version.without_build();
        let objects = |payload: &Payload| {
            let applied = payload.manifests.iter().filter(|manifest| !manifest.deletes());
            applied.map(|manifest| manifest.object.clone()).collect()
        };
        if let Some(payload) = self.named.filter(is_named) {
            return Ok(objects(payload));
        }
        let Some(registries) = self.registries else { return Err(UnevaluatedReason::NotConfigured) };
        // A directory of this machine is not the graph's to name, and a tag may mean another release tomorrow.
        let digest = release.payload.rsplit_once('@').and_then(|(_, digest)| digest.parse::<Digest>().ok());
        let (Some(digest), Ok(Reference::Image(image))) = (digest, release.payload.parse()) else {
            return Err(UnevaluatedReason::ReleaseWithoutDigest);
        };
        if self.only_host.as_deref().is_some_and(|host| host != image.repository().host()) {
            return Err(UnevaluatedReason::OtherRegistry);
        }
        let reference = Reference::Image(image);
        let unreadable = |error: &dyn std::fmt::Display| {
            tracing::debug!(%error, payload = release.payload, "cannot read a release for rules");
            UnevaluatedReason::ReleaseUnreadable
        };
        let fetched = release::fetch(&reference, registries, self.limits, Some(&digest)).await;
        let payload = fetched.and_then(|fetched| fetched.payload(self.selection, self.limits));
        Ok(objects(&payload.map_err(|error| unreadable(&error))?))
    }
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

/// The host of the registry of an image, with its port; empty if it is not one, so that it equals none.
pub(crate) fn registry_host(image: &str) -> String {
    match image.parse() {
        Ok(Reference::Image(image)) => image.repository().host().to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use clearway_advice::evidence::TargetRelease;
    use clearway_sources::oci::{Cache, Registry, RegistryOptions};

    use super::*;

    /// The graph chooses the host, so nothing is sent to one that the cluster does not use.
    #[tokio::test]
    async fn a_release_is_fetched_only_from_the_registry_that_the_cluster_runs() {
        let (registry, cache) = (Registry::new(RegistryOptions::default()).unwrap(), Cache::none());
        let (selection, limits) = (Selection::default(), ReleaseLimits::default());
        let evaluator = |only_host: &str| ReleaseEvaluator {
            registries: Some(Registries { registry: &registry, cache: &cache, arch: None }),
            only_host: Some(only_host.to_owned()),
            selection: &selection,
            limits: &limits,
            named: None,
            program: None,
        };
        // A registry that has nothing.
        let empty = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let host = empty.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for stream in empty.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            }
        });
        let digest = format!("sha256:{}", "0".repeat(64));
        let constraint = ReleaseConstraint {
            kind: "RequiredLabels".to_owned(),
            name: "owner".to_owned(),
            release: TargetRelease { version: "1.1.0".parse().unwrap(), payload: format!("{host}/platform@{digest}") },
        };
        for (running, want) in [
            (format!("{host}/platform@{digest}"), UnevaluatedReason::ReleaseUnreadable),
            (format!("registry.example.com/platform@{digest}"), UnevaluatedReason::OtherRegistry),
            ("/a/directory".to_owned(), UnevaluatedReason::OtherRegistry),
            (String::new(), UnevaluatedReason::OtherRegistry),
        ] {
            let found = evaluator(&registry_host(&running)).release_objects(&constraint).await;
            assert_eq!(found.unwrap_err(), want, "{running}");
        }
    }
}
