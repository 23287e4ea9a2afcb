//! One of several replicas leads: by a Lease in the cluster (`coordination.k8s.io/v1`), as all controllers do it.
//!
//! Clocks of machines differ, so a lease of somebody else is not judged by the times written in it: it has run out when it
//! was seen unchanged for as long as it lasts. Who leads renews it in time, and stops leading before it runs out if that
//! fails. Who stops in good order gives it back, and the next need not wait.

use std::time::{Duration, Instant};

use clearway_core::{GroupVersionKind, ObjectReference, Timestamp};
use clearway_sources::store::{Part, Store, StoreError};
use serde_json::{Value, json};

/// The annotation of a lease with the version of the program that holds it, or held it last.
pub const VERSION: &str = "clearway.dev/version";

/// How long a lease lasts, and how often it is renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTerms {
    /// How long others wait after the last sign of life.
    pub duration: Duration,
    /// How often it is renewed.
    pub renew: Duration,
}

impl LeaseTerms {
    /// How often somebody who waits looks at it, and how soon a renewal that failed is tried again.
    fn retry(&self) -> Duration {
        self.renew / 4
    }
}

impl Default for LeaseTerms {
    fn default() -> Self {
        LeaseTerms { duration: Duration::from_mins(1), renew: Duration::from_secs(20) }
    }
}

/// What somebody else's lease looked like, and since when.
#[derive(Debug, Clone, PartialEq)]
struct Sighting {
    spec: Value,
    since: Instant,
}

/// A candidate for leading.
#[derive(Debug)]
pub struct Candidate<S> {
    store: S,
    key: ObjectReference,
    identity: String,
    terms: LeaseTerms,
    clock: fn() -> Timestamp,
    seen: Option<Sighting>,
    /// The version of the lease while this one holds it: as long as nobody else touches it, it need not be read.
    held: Option<Value>,
}

/// What to do about a lease.
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    Create,
    Take,
    Renew,
    Wait,
}

impl<S: Store> Candidate<S> {
    /// Somebody who would lead; `identity` is nobody else's.
    pub fn new(
        store: S,
        namespace: &str,
        name: &str,
        identity: String,
        terms: LeaseTerms,
        clock: fn() -> Timestamp,
    ) -> Self {
        let kind = GroupVersionKind::new("coordination.k8s.io/v1", "Lease");
        let key = ObjectReference { kind, namespace: namespace.to_owned(), name: name.to_owned() };
        Candidate { store, key, identity, terms, clock, seen: None, held: None }
    }

    /// Waits until this one leads.
    pub async fn acquire(&mut self) {
        loop {
            match self.attempt().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "cannot acquire the lease"),
            }
            tokio::time::sleep(self.terms.retry()).await;
        }
    }

    /// Renews the lease until that fails for so long that another may lead.
    pub async fn keep_renewing(&mut self) {
        let (mut renewed, mut pause) = (Instant::now(), self.terms.renew);
        loop {
            tokio::time::sleep(pause).await;
            pause = self.terms.retry();
            // An answer that takes too long is none.
            match tokio::time::timeout(self.terms.retry(), self.attempt()).await {
                Ok(Ok(true)) => (renewed, pause) = (Instant::now(), self.terms.renew),
                Ok(Ok(false)) => return tracing::warn!("another leads"),
                Ok(Err(error)) => tracing::warn!(%error, "failed to renew the lease"),
                Err(_) => tracing::warn!("failed to renew the lease in time"),
            }
            if renewed.elapsed() + pause + self.terms.retry() >= self.terms.duration {
                return tracing::warn!("the lease expired, so another replica may lead");
            }
        }
    }

    /// Gives the lease back, if it is held.
    pub async fn release(&mut self) {
        self.held = None;
        let Ok(Some(lease)) = self.store.get(&self.key).await else { return };
        if lease["spec"]["holderIdentity"] == self.identity.as_str() {
            // With the version that was read: what changed meanwhile is somebody else's.
            let patch = json!({
                "metadata": {"resourceVersion": lease["metadata"]["resourceVersion"]},
                "spec": {"holderIdentity": "", "leaseDurationSeconds": 1},
            });
            let _ = self.store.patch(&self.key, Part::Main, &patch).await;
        }
    }

    /// Tries to lead, or to go on leading; whether this one does.
    async fn attempt(&mut self) -> Result<bool, StoreError> {
        let now = format!("{}.000000Z", (self.clock)().to_string().trim_end_matches('Z'));
        if let Some(version) = self.held.take() {
            let patch = json!({"metadata": {"resourceVersion": version}, "spec": {"renewTime": now}});
            match self.store.patch(&self.key, Part::Main, &patch).await {
                Ok(lease) => {
                    self.held = Some(lease["metadata"]["resourceVersion"].clone());
                    return Ok(true);
                }
                // Somebody touched it, or took it away: it has to be looked at.
                Err(StoreError::Conflict { .. } | StoreError::Missing { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let lease = self.store.get(&self.key).await?;
        let decision = self.decide(lease.as_ref(), Instant::now());
        let held = json!({
            "holderIdentity": self.identity, "renewTime": now,
            "leaseDurationSeconds": self.terms.duration.as_secs().max(1),
        });
        let version = lease.as_ref().map(|lease| lease["metadata"]["resourceVersion"].clone()).unwrap_or_default();
        let annotations = json!({VERSION: env!("CARGO_PKG_VERSION")});
        let patch = |spec: Value| {
            let metadata = json!({"resourceVersion": version, "annotations": annotations});
            json!({"metadata": metadata, "spec": spec})
        };
        let written = match decision {
            Decision::Wait => return Ok(false),
            Decision::Renew => self.store.patch(&self.key, Part::Main, &patch(held)).await,
            Decision::Take => {
                let before = lease.as_ref().and_then(|lease| lease["spec"]["leaseTransitions"].as_i64()).unwrap_or(0);
                let mut spec = held;
                (spec["acquireTime"], spec["leaseTransitions"]) = (json!(now), json!(before + 1));
                self.store.patch(&self.key, Part::Main, &patch(spec)).await
            }
            Decision::Create => {
                let mut spec = held;
                (spec["acquireTime"], spec["leaseTransitions"]) = (json!(now), json!(0));
                let metadata =
                    json!({"name": self.key.name, "namespace": self.key.namespace, "annotations": annotations});
                let object = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec});
                self.store.create(&object).await
            }
        };
        match written {
            Ok(lease) => {
                self.held = Some(lease["metadata"]["resourceVersion"].clone());
                Ok(true)
            }
            // Another was faster.
            Err(StoreError::Conflict { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn decide(&mut self, lease: Option<&Value>, now: Instant) -> Decision {
        let Some(lease) = lease else { return Decision::Create };
        let spec = &lease["spec"];
        let holder = spec["holderIdentity"].as_str().unwrap_or_default();
        if holder == self.identity {
            return Decision::Renew;
        }
        if holder.is_empty() {
            return Decision::Take;
        }
        let lasts = spec["leaseDurationSeconds"].as_u64().map_or(self.terms.duration, Duration::from_secs);
        match &self.seen {
            Some(seen) if seen.spec == *spec => {
                if now.duration_since(seen.since) > lasts {
                    Decision::Take
                } else {
                    Decision::Wait
                }
            }
            _ => {
                self.seen = Some(Sighting { spec: spec.clone(), since: now });
                Decision::Wait
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_sources::store::StateDirectory;

    fn candidate(store: &StateDirectory, identity: &str) -> Candidate<StateDirectory> {
        let clock = || "2026-05-04T09:00:00Z".parse().unwrap_or(Timestamp::EPOCH);
        Candidate::new(store.clone(), "clearway", "operator", identity.to_owned(), LeaseTerms::default(), clock)
    }

    #[tokio::test]
    async fn one_leads_until_it_gives_the_lease_back() {
        let directory = tempfile::tempdir().unwrap();
        let store = StateDirectory::open(directory.path()).unwrap();
        let (mut one, mut other) = (candidate(&store, "one"), candidate(&store, "other"));
        assert_eq!(one.attempt().await, Ok(true));
        assert_eq!((other.attempt().await, one.attempt().await), (Ok(false), Ok(true)));
        one.release().await;
        assert_eq!((other.attempt().await, one.attempt().await), (Ok(true), Ok(false)));
        let lease = store.get(&one.key).await.unwrap().unwrap();
        assert_eq!(
            (&lease["spec"]["holderIdentity"], &lease["spec"]["leaseTransitions"]),
            (&json!("other"), &json!(1))
        );
        assert_eq!(lease["metadata"]["annotations"][VERSION], env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn a_lease_has_run_out_when_it_was_seen_unchanged_for_as_long_as_it_lasts() {
        let directory = tempfile::tempdir().unwrap();
        let mut me = candidate(&StateDirectory::open(directory.path()).unwrap(), "me");
        let start = Instant::now();
        // Its clock is years ahead; that says nothing.
        let lease = |renewed: &str| json!({"spec": {"holderIdentity": "you", "leaseDurationSeconds": 10, "renewTime": renewed}});
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        for (renewed, seconds, want) in [
            ("2030-01-01T00:00:00Z", 0, Decision::Wait),
            ("2030-01-01T00:00:00Z", 9, Decision::Wait),
            ("2030-01-01T00:00:03Z", 9, Decision::Wait),
            ("2030-01-01T00:00:03Z", 19, Decision::Wait),
            ("2030-01-01T00:00:03Z", 20, Decision::Take),
        ] {
            assert_eq!(me.decide(Some(&lease(renewed)), at(seconds)), want, "{renewed} at {seconds}");
        }
    }
}
