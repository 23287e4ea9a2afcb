//! Effects, each as one function: the update service, the metrics store, objects, the status, events.

use std::sync::Arc;
use std::time::Instant;

use clearway_advice::evidence::ObjectQuestion;
use clearway_advice::rounds::Round;
use clearway_conditions::reason;
use clearway_core::{Digest, EntityTag, Event, EventType, GraphLimits, ObjectReference, redacted};
use clearway_sources::collector::{ObjectLimits, object_answers};
use clearway_sources::rounds;
use clearway_sources::service::{Answer, Service, ServiceError};
use clearway_sources::store::{Apply, Store, StoreError};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::attempts::Decision;
use super::{About, Tools};
use crate::release_violations::constraints_of;
use clearway_update::api::Kind;
use clearway_update::reconciler::{Effect, Input, ObjectRecords, Settings, UpstreamAnswer};
use clearway_update::upstream::CachedState;
use clearway_update::upstream::Knowledge;
use clearway_update::upstream::{RetrievalError, UpstreamRequest};

/// What the cluster goes by in proofs.
const CLUSTER: &str = "the cluster";
/// Bytes of one answer for a ComponentVersion.
pub const COMPONENT_ANSWER_BYTES: u64 = 6 << 20;
/// In whose name what is kept is written.
const MANAGER: &str = "clearway-operator";

pub(super) async fn run_effect<S: Store>(
    effect: Effect,
    tools: &Tools<S>,
    settings: &Settings,
    about: &About,
    report: &mpsc::Sender<Input>,
) -> Vec<Input> {
    let About { key, cached: cached_state_key, .. } = about;
    match effect {
        Effect::Fetch { ask, known, digest, again } => {
            let guard = Guard { about, digest: digest.as_ref(), again };
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
        Effect::Look { number, questions } => {
            vec![Input::Looked { number, objects: read_objects(questions, tools, about).await }]
        }
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
    /// The object, and where it is recorded which answer is being assessed.
    about: &'a About,
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
    let asker = [("id", ask.id.as_str()), ("version", version.as_str())];
    let about = guard.about;
    let is_component = about.kind == Kind::ComponentVersion;
    // Held until the answer is parsed: more of them would wait in memory.
    let turn = if is_component { tools.memory.acquire_component_answer().await } else { None };
    let most = if is_component { COMPONENT_ANSWER_BYTES } else { GraphLimits::default().answer_bytes as u64 };
    let answer = service.answer_to(&ask.channel, &ask.arch, &asker, known, most).await;
    match answer.map_err(|error| retrieval_error(&error))? {
        Answer::NotModified { .. } => Ok(UpstreamAnswer::NotModified),
        Answer::Body { bytes, validator, .. } => {
            let knowledge = read_answer(ask, bytes, turn, guard, tools, settings).await?;
            Ok(UpstreamAnswer::Knowledge(Box::new(knowledge), validator))
        }
    }
}

/// Parses an answer when it is its turn, and accepts it if there is room for it. `turn` is held until it is parsed.
async fn read_answer<S: Store>(
    ask: &UpstreamRequest,
    bytes: impl AsRef<[u8]> + Send + 'static,
    turn: Option<OwnedSemaphorePermit>,
    guard: &Guard<'_>,
    tools: &Tools<S>,
    settings: &Settings,
) -> Result<Knowledge, RetrievalError> {
    let about = guard.about;
    let digest = Digest::sha256(bytes.as_ref());
    if guard.again {
        tools.guard.forget(&tools.store, &about.cached).await;
    }
    if guard.digest != Some(&digest) {
        match tools.guard.begin(&tools.store, &about.cached, &digest, (tools.clock)()).await {
            Decision::Assess => {}
            Decision::SetAside => return Err(RetrievalError::of_set_aside(&digest)),
            Decision::Wait { until, ended } => return Err(RetrievalError::of_wait(&digest, until, ended)),
        }
    }
    let (version, at, settings) = (ask.version.clone(), (tools.clock)(), settings.advice.clone());
    // A large answer takes a while to read, and others may be waiting for this thread. Waiting for a thread is not a
    // hang, so the computation begins where it runs.
    let heartbeat = tools.heartbeat.clone();
    let permit = tools.memory.acquire_parsing().await;
    let read = tokio::task::spawn_blocking(move || {
        let _beat = heartbeat.begin("reading an answer of the update service", Instant::now());
        let read = Knowledge::read(bytes.as_ref(), &version, at, &settings);
        // Parsing goes on when the caller is gone, and so does its need for memory.
        (read, permit, turn)
    })
    .await;
    let read = match read {
        // Nobody else is given room before this one is counted.
        Ok((Ok(knowledge), _permit, _turn)) => match about.share.accept(knowledge.memory()) {
            Ok(()) => Ok(knowledge),
            Err(room) => {
                let object = format!("{} {}", about.key.kind.kind, about.key.name);
                Err(RetrievalError::of_memory(&object, knowledge.memory(), room))
            }
        },
        Ok((Err(error), ..)) => Err(RetrievalError::of_answer(&error, ask)),
        Err(error) => Err(RetrievalError::of_reading(&error.to_string())),
    };
    match &read {
        Ok(knowledge) if guard.digest != Some(&digest) => log_findings(knowledge),
        Ok(_) => {}
        // It cannot be used, but it did not end the process.
        Err(_) => tools.guard.assessed(&tools.store, &about.cached, &digest).await,
    }
    read
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

/// What the objects of the cluster, and of releases, say to the questions of rules.
///
/// Releases are fetched before anything else is done or waited for: how long objects are read and evaluated depends on what
/// they contain, and a registry must not learn that from the time of a request.
async fn read_objects<S: Store>(
    questions: Vec<(ObjectQuestion, u64)>,
    tools: &Tools<S>,
    about: &About,
) -> ObjectRecords {
    let is_about_release = |(question, _): &(ObjectQuestion, u64)| question.release_constraint().is_some();
    let (about_releases, questions): (Vec<_>, Vec<_>) = questions.into_iter().partition(is_about_release);
    let (memory, heartbeat) = (tools.memory.clone(), tools.heartbeat.clone());
    let evaluator = tools.apply_update.release_evaluator(about.kind, &about.running, memory, heartbeat);
    let fetched = evaluator.fetch(constraints_of(&about_releases)).await;

    let permit = Arc::new(tools.memory.acquire().await);
    let at = (tools.clock)();
    let (heartbeat, permit_of_thread) = (tools.heartbeat.clone(), permit.clone());
    let busy = move || {
        // A thread goes on when the caller is gone, and so does its need for memory.
        let _ = &permit_of_thread;
        heartbeat.begin("the evaluation of rules about objects", Instant::now())
    };
    let limits = ObjectLimits::default();
    let mut records = object_answers(&tools.evidence, questions, &limits, tools.clock, CLUSTER, busy).await;
    // Evaluating a release needs it for a part of the time.
    drop(permit);
    if !about_releases.is_empty() {
        records.extend(evaluator.answers(&tools.evidence, &about_releases, fetched, at, CLUSTER).await);
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
mod tests;
