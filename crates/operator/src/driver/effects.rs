//! Effects, each as one function: the update service, the metrics store, objects, the status, events.

use std::time::Instant;

use clearway_advice::evidence::ObjectQuestion;
use clearway_advice::rounds::Round;
use clearway_conditions::reason;
use clearway_core::{Digest, EntityTag, Event, EventType, ObjectReference, redacted};
use clearway_sources::collector::{ObjectLimits, object_answers};
use clearway_sources::rounds;
use clearway_sources::service::{Answer, Service, ServiceError};
use clearway_sources::store::{Apply, Store, StoreError};
use serde_json::Value;
use tokio::sync::mpsc;

use super::Tools;
use super::attempts::Decision;
use clearway_update::reconciler::{Effect, Input, ObjectRecords, Settings, UpstreamAnswer};
use clearway_update::upstream::CachedState;
use clearway_update::upstream::Knowledge;
use clearway_update::upstream::{RetrievalError, UpstreamRequest};

/// What the cluster goes by in proofs.
const CLUSTER: &str = "the cluster";
/// In whose name what is kept is written.
const MANAGER: &str = "clearway-operator";

pub(super) async fn run_effect<S: Store>(
    effect: Effect,
    tools: &Tools<S>,
    settings: &Settings,
    key: &ObjectReference,
    cached_state_key: &ObjectReference,
    report: &mpsc::Sender<Input>,
) -> Vec<Input> {
    match effect {
        Effect::Fetch { ask, known, digest, again } => {
            let guard = Guard { key: cached_state_key, digest: digest.as_ref(), again };
            let outcome = fetch(&ask, known.as_ref(), &guard, tools, settings).await;
            vec![Input::Fetched { ask, outcome }]
        }
        Effect::Assessed(digest) => {
            tools.guard.assessed(&tools.store, cached_state_key, &digest).await;
            Vec::new()
        }
        Effect::Evaluate(round) => {
            evaluate(&round, tools, settings, report).await;
            Vec::new()
        }
        Effect::Look(questions) => vec![Input::Looked(read_objects(questions, tools, key).await)],
        Effect::Store(object) => vec![store(*object, tools, key).await],
        Effect::Record(event) => {
            let Event { type_, reason, message, .. } = &event;
            match type_ {
                EventType::Normal => tracing::info!(%reason, name = key.name, "{message}"),
                EventType::Warning => tracing::warn!(%reason, name = key.name, "{message}"),
            }
            if let Ok(Some(object)) = tools.store.get(key).await
                && let Err(error) = tools.store.record_event(&object, &event).await
            {
                tracing::warn!(%error, "failed to record an event");
            }
            Vec::new()
        }
        Effect::Cache(kept) => {
            save_cached_state(&kept, tools, cached_state_key).await;
            Vec::new()
        }
        // These are the driver's own: they must be stoppable.
        Effect::Prepare(_) | Effect::Apply(..) | Effect::Stop => Vec::new(),
    }
}

/// What is known of answers that were assessed, or ended a process.
struct Guard<'a> {
    /// Where it is recorded which answer is being assessed.
    key: &'a ObjectReference,
    /// The answer that this process works with already.
    digest: Option<&'a Digest>,
    /// Whether one that was set aside is to be tried again.
    again: bool,
}

async fn fetch<S: Store>(
    ask: &UpstreamRequest,
    known: Option<&EntityTag>,
    guard: &Guard<'_>,
    tools: &Tools<S>,
    settings: &Settings,
) -> Result<UpstreamAnswer, RetrievalError> {
    let service = Service::as_written(&ask.upstream, &tools.http).map_err(|error| retrieval_error(&error))?;
    let version = ask.version.to_string();
    let about = [("id", ask.id.as_str()), ("version", version.as_str())];
    let answer = service.answer_to(&ask.channel, &ask.arch, &about, known).await;
    match answer.map_err(|error| retrieval_error(&error))? {
        Answer::NotModified { .. } => Ok(UpstreamAnswer::NotModified),
        Answer::Body { bytes, validator, .. } => {
            let digest = Digest::sha256(&bytes);
            if guard.again {
                tools.guard.forget(&tools.store, guard.key).await;
            }
            if guard.digest != Some(&digest) {
                match tools.guard.begin(&tools.store, guard.key, &digest, (tools.clock)()).await {
                    Decision::Assess => {}
                    Decision::SetAside => return Err(RetrievalError::of_set_aside(&digest)),
                    Decision::Wait { until, ended } => return Err(RetrievalError::of_wait(&digest, until, ended)),
                }
            }
            let (version, at, settings) = (ask.version.clone(), (tools.clock)(), settings.advice.clone());
            // A large answer takes a while to read, and others may be waiting for this thread. Waiting for a thread is not a
            // hang, so the computation begins where it runs.
            let heartbeat = tools.heartbeat.clone();
            let permit = tools.memory.acquire().await;
            let read = tokio::task::spawn_blocking(move || {
                // Parsing goes on when the caller is gone, and so does its need for memory.
                let _permit = permit;
                let _beat = heartbeat.begin("reading an answer of the update service", Instant::now());
                Knowledge::read(&bytes, &version, at, &settings)
            })
            .await;
            if !matches!(read, Ok(Ok(_))) {
                // It cannot be used, but it did not end the process.
                tools.guard.assessed(&tools.store, guard.key, &digest).await;
            }
            match read {
                Ok(Ok(knowledge)) => {
                    if guard.digest != Some(&digest) {
                        log_findings(&knowledge);
                    }
                    Ok(UpstreamAnswer::Knowledge(Box::new(knowledge), validator))
                }
                Ok(Err(error)) => Err(RetrievalError::of_answer(&error, ask)),
                Err(error) => Err(RetrievalError::of_reading(&error.to_string())),
            }
        }
    }
}

/// Logs what was wrong with a revision of the graph: where an edge went must not have to be guessed (U8). How many findings
/// a revision has is bounded when it is read (`findings` in `docs/limits.md`); the last of each kind says how many more.
fn log_findings(knowledge: &Knowledge) {
    for finding in &knowledge.diagnostics {
        tracing::warn!(code = %finding.code, revision = %knowledge.digest, "{}", finding.message);
    }
}

/// Asks the queries of a round, and hands on each answer as it comes.
async fn evaluate<S>(round: &Round, tools: &Tools<S>, settings: &Settings, report: &mpsc::Sender<Input>) {
    // Each query is answered once.
    let (answers, mut answered) = mpsc::channel(round.queries.len().max(1));
    let observe = |query: String| async move {
        match &tools.metrics {
            Some(metrics) => metrics.observe(&query, &settings.advice, tools.clock, &tools.heartbeat).await,
            None => Err(clearway_advice::evidence::Failure::new(
                clearway_advice::evidence::FailureClass::NotConfigured,
                "no metrics store is configured",
            )),
        }
    };
    // The sender goes with the round, and with it ends what hands on.
    let ask = rounds::run_round(round, observe, move |query, result| {
        let _ = answers.try_send(Input::Evidence { query, result });
    });
    let hand_on = async {
        while let Some(input) = answered.recv().await {
            let _ = report.send(input).await;
        }
    };
    let asked = async {
        let ran = ask.await;
        tracing::debug!(due = ran.due, answered = ran.answered, "a round is complete");
    };
    tokio::join!(asked, hand_on);
}

/// What the objects of the cluster say to the questions of rules.
async fn read_objects<S: Store>(
    questions: Vec<(ObjectQuestion, u64)>,
    tools: &Tools<S>,
    key: &ObjectReference,
) -> ObjectRecords {
    let permit = tools.memory.acquire().await;
    let at = (tools.clock)();
    let heartbeat = tools.heartbeat.clone();
    let busy = move || heartbeat.begin("the evaluation of rules about objects", Instant::now());
    let limits = ObjectLimits::default();
    let is_about_release = |(question, _): &(ObjectQuestion, u64)| question.release_constraint().is_some();
    let (about_releases, questions): (Vec<_>, Vec<_>) = questions.into_iter().partition(is_about_release);
    let mut records = object_answers(&tools.evidence, questions, &limits, tools.clock, CLUSTER, busy).await;
    // A registry may take its time, and everything else that needs memory would wait for it.
    drop(permit);
    if !about_releases.is_empty() {
        let object = tools.store.get(key).await.ok().flatten();
        let running = object.as_ref().and_then(|object| object.pointer("/status/desired/image")?.as_str());
        let evaluator = tools.apply_update.release_evaluator(running.unwrap_or_default(), tools.memory.clone());
        records.extend(evaluator.answers(&tools.evidence, &about_releases, at, CLUSTER).await);
    }
    ObjectRecords { at, records }
}

/// Stores a status. After a conflict the object is read again, so that the next attempt is about what is there.
async fn store<S: Store>(object: Value, tools: &Tools<S>, key: &ObjectReference) -> Input {
    match tools.store.replace_status(&object).await {
        Ok(stored) => Input::Stored(Ok(Box::new(stored))),
        Err(error @ StoreError::Conflict { .. }) => match tools.store.get(key).await {
            Ok(Some(now)) => Input::Overtaken(Box::new(now)),
            _ => Input::Stored(Err(error.to_string())),
        },
        Err(error) => Input::Stored(Err(error.to_string())),
    }
}

async fn save_cached_state<S: Store>(kept: &CachedState, tools: &Tools<S>, key: &ObjectReference) {
    let object = match kept.to_object(key) {
        Ok(object) => object,
        Err(why) => return tracing::warn!(why, "cannot save the cached state; it is lost at a restart"),
    };
    let how = Apply { manager: MANAGER, force: true, dry_run: false };
    if let Err(error) = tools.store.apply(&object, &how).await {
        tracing::warn!(%error, "cannot save the cached state; it is lost at a restart");
    }
}

/// Why the service did not answer, in the words of `RetrievedUpdates`.
fn retrieval_error(error: &ServiceError) -> RetrievalError {
    let (reason, passing) = match error {
        ServiceError::Address { .. } => (reason!("InvalidURI"), false),
        ServiceError::Http(_) => (reason!("InvalidRequest"), false),
        ServiceError::Unreachable { .. } => (reason!("RemoteFailed"), true),
        ServiceError::Refused { .. } => (reason!("ResponseFailed"), true),
        ServiceError::TooLarge { .. } | ServiceError::NotAGraph { .. } | ServiceError::NotGraphData { .. } => {
            (reason!("ResponseInvalid"), true)
        }
    };
    // Whatever failed may have quoted the address.
    let error = error.to_string();
    let message = format!("Unable to retrieve available updates: {}", redacted(&error));
    RetrievalError { reason, message, passing, answered: false }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use clearway_advice::evidence::{ReleaseConstraint, TargetRelease};
    use clearway_core::Timestamp;
    use clearway_sources::http::HttpOptions;
    use clearway_sources::oci::{Cache, Registry, RegistryOptions};
    use clearway_sources::store::StateDirectory;
    use serde_json::json;
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event as Line, Metadata, Subscriber};

    use super::*;
    use crate::apply_update;
    use crate::driver::{CrashGuard, MemoryPermit};
    use crate::heartbeat::Heartbeat;
    use crate::release_violations::ReleaseEvaluator;

    /// Counts the lines of a log.
    struct Lines(Arc<AtomicUsize>);

    impl Subscriber for Lines {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, _: &Line<'_>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    fn tools(directory: &std::path::Path) -> Tools<StateDirectory> {
        let state = StateDirectory::open(directory).unwrap();
        Tools {
            store: state.clone(),
            evidence: state.clone(),
            updates: state,
            metrics: None,
            http: HttpOptions::default(),
            apply_update: apply_update::Settings::new(
                Registry::new(RegistryOptions::default()).unwrap(),
                Cache::none(),
            ),
            namespace: "clearway".to_owned(),
            clock: || Timestamp::EPOCH,
            heartbeat: Heartbeat::default(),
            memory: MemoryPermit::default(),
            guard: CrashGuard::new("test"),
        }
    }

    /// The limits of hostile publishers of several add-ons do not add up: their objects are read one after the other.
    #[tokio::test(start_paused = true)]
    async fn objects_for_rules_are_read_only_with_the_permit() {
        let directory = tempfile::tempdir().unwrap();
        let tools = tools(directory.path());
        let key = ObjectReference::cluster_scoped(crate::driver::definitions(), "any");
        let held = tools.memory.acquire().await;
        let mut waiting = std::pin::pin!(read_objects(Vec::new(), &tools, &key));
        let waited = tokio::time::timeout(Duration::from_hours(1), &mut waiting).await;
        assert!(waited.is_err(), "objects were read while another held the permit");
        drop(held);
        assert_eq!(waiting.await.at, Timestamp::EPOCH);
        assert!(tools.memory.acquire().await.is_some(), "the permit was returned");
    }

    /// A registry that does not answer delays only what waits for its releases.
    #[tokio::test]
    async fn the_permit_is_free_while_a_registry_is_asked() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let image = format!("{}/platform@sha256:{}", silent.local_addr().unwrap(), "0".repeat(64));
        let directory = tempfile::tempdir().unwrap();
        let mut tools = tools(directory.path());
        tools.apply_update.policies = Some(apply_update::PolicyProgram::new("/none".into()));
        let release = TargetRelease { version: "1.1.0".parse().unwrap(), payload: image };
        let constraint = ReleaseConstraint { kind: "RequiredLabels".to_owned(), name: "owner".to_owned(), release };
        let evaluator =
            ReleaseEvaluator { only_host: None, ..tools.apply_update.release_evaluator("", tools.memory.clone()) };
        let asked = [&constraint];
        let fetching = evaluator.objects(&tools.evidence, &asked);
        let others = async {
            let connection = silent.accept().await.unwrap();
            assert!(tools.memory.acquire().await.is_some());
            drop(connection);
        };
        tokio::select! {
            _ = fetching => panic!("the registry did not answer"),
            done = tokio::time::timeout(clearway_testbed::IN_TIME, others) => done.unwrap(),
        }
    }

    /// U8: the status says that the rest is in the log, so it must be.
    #[test]
    fn every_finding_about_a_graph_is_logged() {
        let node = |version: String| json!({"version": version, "payload": "example.com/r@x", "metadata": {}});
        let nodes: Vec<_> = (0..300).map(|number| node(format!("1.0.{number}"))).collect();
        let edges: Vec<_> = (1..300).map(|number| json!([0, number])).collect();
        let risks =
            json!([{"name": "A", "url": "https://example.com", "message": "m", "matchingRules": [{"type": "Always"}]}]);
        let conditional: Vec<_> =
            (1..300).map(|number| json!({"from": "1.0.0", "to": format!("1.0.{number}")})).collect();
        let graph =
            json!({"nodes": nodes, "edges": edges, "conditionalEdges": [{"edges": conditional, "risks": risks}]});
        let from = "1.0.0".parse().unwrap();
        let settings = clearway_advice::Settings::default();
        let knowledge = Knowledge::read(graph.to_string().as_bytes(), &from, Timestamp::EPOCH, &settings).unwrap();
        assert!(knowledge.findings.count >= 299, "each target is in both lists: {}", knowledge.findings.count);
        let lines = Arc::new(AtomicUsize::new(0));
        tracing::subscriber::with_default(Lines(lines.clone()), || log_findings(&knowledge));
        assert_eq!(lines.load(Ordering::SeqCst), knowledge.diagnostics.len());
    }
}
