//! The children: which of them are free, what they have loaded, and what happens when one of them ends.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clearway_policy::ReviewResult;
use serde_json::Value;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, timeout_at};

use super::loaded_state::{Key, LoadedState, describe, replay};
use super::process::{EvaluatorProcess, ProcessEnd};
use super::protocol::{ChangeMessage, LoadedMessage, Point, Request, Response, ReviewItem, ReviewOutcome, encode};
use super::{AuditObject, Change, EvaluatorError, EvaluatorSettings, LoadError, LoadResult, MAX_MESSAGE_BYTES};

/// How often children may end during one review before it fails.
const MAX_ENDS_OF_REVIEW: u32 = 8;
/// The shortest and the longest wait until the start of a child is tried again.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));
/// Processes have CPU time as their limit; one that has not answered after this many times as long on a clock is stuck.
const PATIENCE: u32 = 30;

/// Children that evaluate policies; cheap to clone.
#[derive(Clone)]
pub struct Evaluators {
    shared: Arc<Shared>,
}

struct Shared {
    settings: EvaluatorSettings,
    state: Mutex<LoadedState>,
    idle: Mutex<Vec<EvaluatorProcess>>,
    /// A permit for each idle child.
    free: Arc<Semaphore>,
    /// Told whenever a child becomes idle.
    became_idle: Notify,
    /// A permit for the check that is being made: there is one at a time, so that the other children are left for reviews.
    checks: Arc<Semaphore>,
    /// Held while a change is made.
    changes: tokio::sync::Mutex<()>,
    set_aside: watch::Sender<BTreeMap<String, String>>,
    started: AtomicU64,
    ended: AtomicU64,
}

impl fmt::Debug for Evaluators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evaluators").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}

/// What is reviewed, before it is sent.
#[derive(Debug, Clone)]
struct Item {
    subject: Arc<Value>,
    namespace: Option<Arc<Value>>,
    failed: BTreeMap<String, String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Evaluators {
    /// Starts all children.
    pub async fn start(settings: EvaluatorSettings) -> Result<Self, EvaluatorError> {
        let shared = Shared {
            state: Mutex::default(),
            idle: Mutex::default(),
            free: Arc::new(Semaphore::new(0)),
            became_idle: Notify::new(),
            checks: Arc::new(Semaphore::new(1)),
            changes: tokio::sync::Mutex::new(()),
            set_aside: watch::Sender::new(BTreeMap::new()),
            started: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            settings,
        };
        let evaluators = Evaluators { shared: Arc::new(shared) };
        for _ in 0..evaluators.shared.settings.processes.max(1) {
            let process = evaluators.start_process().await?;
            lock(&evaluators.shared.idle).push(process);
            evaluators.shared.free.add_permits(1);
        }
        Ok(evaluators)
    }

    /// Makes a change. It is part of every review that begins after this returns. Changes are made in the order of calls;
    /// one that is refused leaves what was loaded before.
    pub async fn apply(&self, change: Change) -> LoadResult {
        let evaluators = self.clone();
        // A change that was begun is finished, also if the caller does not wait for it.
        let done = tokio::spawn(async move { evaluators.apply_in_turn(&change).await }).await;
        done.unwrap_or_else(|error| failed(LoadError::other(error.to_string())))
    }

    /// What would become of a change; nothing is loaded. A constraint with an unknown action has a warning, whatever the
    /// settings say.
    pub async fn check(&self, change: Change, deadline: Instant) -> Result<LoadResult, EvaluatorError> {
        Ok(self.check_message(|| describe(&change).1, deadline).await?.into())
    }

    /// What would become of a constraint whose template may not be loaded yet. `template` is waited for then.
    pub async fn check_constraint(
        &self,
        constraint: Arc<Value>,
        template: impl Future<Output = Option<Value>>,
        deadline: Instant,
    ) -> Result<LoadResult, EvaluatorError> {
        let put = Change::PutConstraint(constraint.clone());
        let loaded = self.check_message(|| describe(&put).1, deadline).await?;
        if !loaded.missing_template {
            return Ok(loaded.into());
        }
        let template = timeout_at(deadline, template).await;
        match template.map_err(|_| EvaluatorError::Deadline("the template of the constraint was not read in time"))? {
            Some(template) => {
                let message =
                    || ChangeMessage::PutConstraint { constraint: Value::clone(&constraint), template: Some(template) };
                Ok(self.check_message(message, deadline).await?.into())
            }
            None => Ok(loaded.into()),
        }
    }

    /// Asks a child what would become of a change. Anyone can ask for more checks than are made: what waits for its turn takes
    /// no memory for a message, and nothing outlives its deadline but the check that a child has begun.
    async fn check_message(
        &self,
        change: impl FnOnce() -> ChangeMessage,
        deadline: Instant,
    ) -> Result<LoadedMessage, EvaluatorError> {
        let turn = timeout_at(deadline, Arc::clone(&self.shared.checks).acquire_owned()).await;
        let turn = turn.map_err(|_| EvaluatorError::Deadline("other templates and constraints were being checked"))?;
        let lease = timeout_at(deadline, self.lease_after_reviews()).await;
        let mut lease = lease.map_err(|_| EvaluatorError::Deadline("all evaluators were busy"))?;
        let request: Request<_, ReviewItem> = Request::Change { change: change(), check: true };
        let message = match encode(&request) {
            Ok(message) => message,
            Err(bytes) => return Ok(refusal(too_large(bytes))),
        };
        // A child that has begun is not given up: its answer is read, and it is free again then.
        let check = tokio::spawn(async move {
            let _turn = turn;
            match lease.ask(&message, 1).await {
                Ok(Response::Changed(loaded)) => loaded,
                Ok(_) => refusal(LoadError::other("the process that loads policies gave another answer")),
                Err(end) => refusal(ended_while_loading(&end)),
            }
        });
        let checked = timeout_at(deadline, check).await;
        let checked = checked.map_err(|_| EvaluatorError::Deadline("loading it took too long"))?;
        Ok(checked.unwrap_or_else(|error| refusal(LoadError::other(error.to_string()))))
    }

    /// Reviews a request: an `AdmissionRequest` as JSON, and its namespace if that is known.
    pub async fn review_request(
        &self,
        request: Arc<Value>,
        namespace: Option<Arc<Value>>,
        deadline: Instant,
    ) -> Result<Vec<ReviewResult>, EvaluatorError> {
        let item = Item { subject: request, namespace, failed: BTreeMap::new() };
        let evaluators = self.clone();
        let lease = timeout_at(deadline, self.lease());
        let lease = lease.await.map_err(|_| EvaluatorError::Deadline("all evaluators were busy"))?;
        // A child that has begun is not given up: its answer is read, and it is free again then.
        let review = tokio::spawn(async move { evaluators.review(lease, Point::Webhook, vec![item]).await });
        let outcomes = timeout_at(deadline, review).await;
        let outcomes = outcomes.map_err(|_| EvaluatorError::Deadline("the evaluation took too long"))?;
        let outcomes = outcomes.map_err(|error| EvaluatorError::Review(error.to_string()))??;
        outcomes.into_iter().next().unwrap_or_else(|| Ok(Vec::new())).map_err(EvaluatorError::Review)
    }

    /// Reviews objects that exist: for each what it violates, or why it cannot be reviewed.
    pub async fn review_objects(
        &self,
        objects: Vec<AuditObject>,
    ) -> Result<Vec<Result<Vec<ReviewResult>, String>>, EvaluatorError> {
        let item =
            |object: AuditObject| Item { subject: object.object, namespace: object.namespace, failed: BTreeMap::new() };
        let items = objects.into_iter().map(item).collect();
        let (evaluators, lease) = (self.clone(), self.lease().await);
        let review = tokio::spawn(async move { evaluators.review(lease, Point::Audit, items).await });
        review.await.map_err(|error| EvaluatorError::Review(error.to_string()))?
    }

    /// The templates that are set aside, with the reason.
    pub fn set_aside(&self) -> watch::Receiver<BTreeMap<String, String>> {
        self.shared.set_aside.subscribe()
    }

    /// How many children have ended and were replaced.
    pub fn ended(&self) -> u64 {
        self.shared.ended.load(Ordering::Relaxed)
    }

    async fn start_process(&self) -> Result<EvaluatorProcess, EvaluatorError> {
        let id = self.shared.started.fetch_add(1, Ordering::Relaxed);
        let process = EvaluatorProcess::start(id, &self.shared.settings).await?;
        lock(&self.shared.state).acknowledge(process.id, 0);
        Ok(process)
    }

    /// Waits for a free child.
    async fn lease(&self) -> Lease {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.shared.free).acquire_owned().await.ok();
        self.lease_with(permit)
    }

    /// Waits for a child that no review waits for.
    async fn lease_after_reviews(&self) -> Lease {
        loop {
            // A permit that somebody waits for is given away when it becomes free, so it cannot be had here.
            if let Ok(permit) = Arc::clone(&self.shared.free).try_acquire_owned() {
                return self.lease_with(Some(permit));
            }
            self.shared.became_idle.notified().await;
        }
    }

    fn lease_with(&self, permit: Option<OwnedSemaphorePermit>) -> Lease {
        let process = lock(&self.shared.idle).pop();
        Lease { evaluators: self.clone(), process, permit }
    }

    async fn apply_in_turn(&self, change: &Change) -> LoadResult {
        let (key, message) = match replay(change) {
            Ok(replayed) => replayed,
            Err(bytes) => return failed(too_large(bytes)),
        };
        let _turn = self.shared.changes.lock().await;
        if let Some(known) = lock(&self.shared.state).known(&key, &message) {
            return known;
        }
        let loaded = match change {
            Change::RemoveTemplate { .. }
            | Change::RemoveConstraint { .. }
            | Change::RemoveExpansion { .. }
            | Change::RemoveInventory { .. } => {
                lock(&self.shared.state).remove(&key);
                LoadResult::default()
            }
            Change::PutInventory(_) => self.put_inventory(&key, message),
            Change::PutTemplate(_) | Change::PutConstraint(_) | Change::PutExpansion(_) => {
                self.put_policy(change, &key, message).await
            }
        };
        self.publish_set_aside();
        self.bring_up_to_date();
        loaded
    }

    fn put_inventory(&self, key: &Key, message: Vec<u8>) -> LoadResult {
        if let Key::Inventory { kind, name, .. } = key
            && (kind.kind.is_empty() || kind.version.is_empty())
        {
            return failed(LoadError::other(format!("object {name:?} has no kind or no version")));
        }
        lock(&self.shared.state).put(key, message, LoadResult::default());
        LoadResult::default()
    }

    /// Loads something in one child; the others get it when it is known to be good.
    async fn put_policy(&self, change: &Change, key: &Key, message: Vec<u8>) -> LoadResult {
        let request: Request<_, ReviewItem> = Request::Change { change: describe(change).1, check: false };
        let asked = match encode(&request) {
            Ok(asked) => asked,
            Err(bytes) => return failed(too_large(bytes)),
        };
        let mut lease = self.lease().await;
        let loaded: LoadResult = match lease.ask(&asked, 1).await {
            Ok(Response::Changed(loaded)) => loaded.into(),
            Ok(_) => failed(LoadError::other("the process that loads policies gave another answer")),
            Err(end) => failed(ended_while_loading(&end)),
        };
        if loaded.error.is_none() {
            let mut state = lock(&self.shared.state);
            // A template may have been set aside meanwhile, which this child does not know: then it is sent everything again.
            let is_current = lease.process.as_ref().is_some_and(|process| process.loaded == state.number());
            let number = state.put(key, message, loaded.clone());
            if let Some(process) = lease.process.as_mut().filter(|_| is_current) {
                process.loaded = number;
                state.acknowledge(process.id, number);
            }
        }
        loaded
    }

    /// Sends changes to children that are free, so that no review has to wait for them.
    fn bring_up_to_date(&self) {
        let evaluators = self.clone();
        tokio::spawn(async move {
            loop {
                let Ok(permit) = Arc::clone(&evaluators.shared.free).try_acquire_owned() else { return };
                let number = lock(&evaluators.shared.state).number();
                let process = {
                    let mut idle = lock(&evaluators.shared.idle);
                    let stale = idle.iter().position(|process| process.loaded < number);
                    stale.map(|stale| idle.swap_remove(stale))
                };
                let Some(process) = process else { return };
                let mut lease = Lease { evaluators: evaluators.clone(), process: Some(process), permit: Some(permit) };
                if lease.catch_up().await.is_err() {
                    return;
                }
            }
        });
    }

    async fn review(
        &self,
        mut lease: Lease,
        point: Point,
        mut items: Vec<Item>,
    ) -> Result<Vec<Result<Vec<ReviewResult>, String>>, EvaluatorError> {
        let mut announce = lock(&self.shared.state).has_suspects();
        let mut ends = 0_u32;
        loop {
            let message = encode_review(point, &items, announce)?;
            let patience = u32::try_from(items.len()).unwrap_or(u32::MAX).max(1);
            let end = match lease.ask(&message, patience).await {
                Ok(Response::Reviewed { outcomes, stopped }) => {
                    for template in stopped {
                        self.record_end(&template, "it took too long");
                    }
                    return Ok(outcomes.into_iter().map(results).collect());
                }
                Ok(_) => return Err(EvaluatorError::Review("the evaluator gave another answer".to_owned())),
                Err(end) => end,
            };
            ends = ends.saturating_add(1);
            if ends >= MAX_ENDS_OF_REVIEW {
                return Err(EvaluatorError::Ends(ends));
            }
            match end.evaluating {
                Some((number, template)) => {
                    self.record_end(&template, &end.reason);
                    let message = format!("template {template} could not be evaluated: {}", end.reason);
                    if let Some(item) = items.get_mut(number) {
                        item.failed.insert(template, message);
                    }
                }
                // Once more, and the child says what it evaluates.
                None if !announce => announce = true,
                None => return Err(EvaluatorError::Review(end.reason)),
            }
        }
    }

    fn record_end(&self, template: &str, reason: &str) {
        let aside = lock(&self.shared.state).record_end(template, reason);
        tracing::warn!(template, "the evaluation of a template failed: {reason}");
        if aside {
            tracing::error!(
                template,
                "the template is set aside until it is changed; what its constraints match violates them"
            );
            self.publish_set_aside();
        }
    }

    fn publish_set_aside(&self) {
        let aside = lock(&self.shared.state).set_aside().clone();
        self.shared.set_aside.send_if_modified(|known| {
            let changed = *known != aside;
            *known = aside;
            changed
        });
    }
}

fn failed(error: LoadError) -> LoadResult {
    LoadResult { error: Some(error), ..LoadResult::default() }
}

fn refusal(error: LoadError) -> LoadedMessage {
    LoadedMessage { error: Some(error), ..LoadedMessage::default() }
}

fn too_large(bytes: usize) -> LoadError {
    LoadError::other(format!("the object has {bytes} bytes; at most {MAX_MESSAGE_BYTES} are loaded"))
}

fn ended_while_loading(end: &ProcessEnd) -> LoadError {
    LoadError::of_code(format!("loading it failed: {}", end.reason))
}

fn results(outcome: ReviewOutcome) -> Result<Vec<ReviewResult>, String> {
    match outcome {
        ReviewOutcome::Results(results) => Ok(results.into_iter().map(ReviewResult::from).collect()),
        ReviewOutcome::Error(error) => Err(error),
    }
}

fn encode_review(point: Point, items: &[Item], announce: bool) -> Result<Vec<u8>, EvaluatorError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let items = items.iter().map(|item| ReviewItem {
        subject: &*item.subject,
        namespace: item.namespace.as_deref(),
        failed: item.failed.clone(),
    });
    let request: Request<ChangeMessage, ReviewItem<&Value>> =
        Request::Review { point, items: items.collect(), announce, now: i64::try_from(now).unwrap_or(i64::MAX) };
    let limit = usize::try_from(MAX_MESSAGE_BYTES).unwrap_or(usize::MAX);
    encode(&request).map_err(|bytes| EvaluatorError::TooLarge { bytes, limit })
}

/// A child that is in use; it is free again when this is dropped.
struct Lease {
    evaluators: Evaluators,
    /// Nothing after a child ended and no other could be started.
    process: Option<EvaluatorProcess>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Lease {
    /// Sends a message and waits for the answer. A child that ends is replaced.
    async fn ask(&mut self, message: &[u8], items: u32) -> Result<Response, ProcessEnd> {
        self.catch_up().await?;
        let patience = self.patience().saturating_mul(items);
        let Some(process) = &mut self.process else { return Err(not_started()) };
        let answer = process.ask(message, patience).await;
        if answer.is_err() {
            self.replace().await;
        }
        answer
    }

    /// Loads what the child lacks.
    async fn catch_up(&mut self) -> Result<(), ProcessEnd> {
        if self.process.is_none() {
            self.replace().await;
        }
        let patience = self.patience();
        let Some(process) = &mut self.process else { return Err(not_started()) };
        let (messages, number) = lock(&self.evaluators.shared.state).since(process.loaded);
        if process.loaded == number {
            return Ok(());
        }
        if let Err(end) = load(process, &messages, patience).await {
            self.replace().await;
            let reason = format!("loading templates, constraints and the inventory failed: {}", end.reason);
            return Err(ProcessEnd { reason, evaluating: None });
        }
        process.loaded = number;
        lock(&self.evaluators.shared.state).acknowledge(process.id, number);
        Ok(())
    }

    fn patience(&self) -> Duration {
        self.evaluators.shared.settings.time_limit.saturating_mul(PATIENCE)
    }

    /// Ends the child, if there is one, and starts another.
    async fn replace(&mut self) {
        let shared = &self.evaluators.shared;
        if let Some(process) = self.process.take() {
            shared.ended.fetch_add(1, Ordering::Relaxed);
            lock(&shared.state).forget(process.id);
        }
        match self.evaluators.start_process().await {
            Ok(process) => self.process = Some(process),
            Err(error) => tracing::error!("{error}"),
        }
    }
}

/// Sends changes, and waits until the child has all of them.
async fn load(process: &mut EvaluatorProcess, messages: &[Arc<[u8]>], patience: Duration) -> Result<(), ProcessEnd> {
    for message in messages {
        process.tell(message, patience).await?;
    }
    let request: Request<ChangeMessage, ReviewItem> = Request::Finish;
    if let Ok(message) = encode(&request) {
        process.ask(&message, patience).await?;
    }
    Ok(())
}

fn not_started() -> ProcessEnd {
    ProcessEnd { reason: "a process that evaluates policies cannot be started".to_owned(), evaluating: None }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let permit = self.permit.take();
        if let Some(process) = self.process.take() {
            lock(&self.evaluators.shared.idle).push(process);
            drop(permit);
            self.evaluators.shared.became_idle.notify_one();
            return;
        }
        // Without a child the permit is kept until there is one.
        let evaluators = self.evaluators.clone();
        let restart = async move {
            let mut wait = RETRY.0;
            loop {
                tokio::time::sleep(wait).await;
                match evaluators.start_process().await {
                    Ok(process) => break lock(&evaluators.shared.idle).push(process),
                    Err(error) => tracing::error!("{error}"),
                }
                wait = wait.saturating_mul(2).min(RETRY.1);
            }
            drop(permit);
            evaluators.shared.became_idle.notify_one();
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(restart);
        }
    }
}

#[cfg(test)]
mod tests;
