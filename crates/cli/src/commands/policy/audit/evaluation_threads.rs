//! Threads that evaluate batches of objects. A bounded number of batches is under way at a time, and their results come
//! back in the order in which the batches were sent.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope};

use clearway_policy::rego::STACK_BYTES;

use super::evaluation::{BatchItem, Results, Setting, ThreadEvaluator};

/// Batches that are under way, for each thread: one is evaluated, the other one waits for it.
const BATCHES: usize = 2;

/// A batch and its number.
type Job<'p> = (u64, Vec<BatchItem<'p>>);
/// The results of a batch, or the panic of its evaluation.
type JobResult = (u64, thread::Result<Results>);

/// Threads that evaluate.
pub(super) struct EvaluationThreads<'p> {
    jobs: SyncSender<Job<'p>>,
    results: Receiver<JobResult>,
    /// Results whose turn has not come.
    early: BTreeMap<u64, Results>,
    /// How many batches were sent, and the results of how many were handed on.
    sent: u64,
    handed_on: u64,
    /// How many batches may be under way.
    limit: u64,
}

impl<'p> EvaluationThreads<'p> {
    /// Starts threads; none if not a single one can be started. They end when this value is dropped.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, 'p>,
        setting: &'p Setting<'p>,
        now: i64,
        threads: usize,
    ) -> Option<Self> {
        let capacity = threads.saturating_mul(BATCHES);
        let (jobs, queue) = mpsc::sync_channel(capacity);
        let (sender, results) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        let mut started = 0;
        for _ in 0..threads {
            let (queue, sender) = (Arc::clone(&queue), sender.clone());
            let thread = thread::Builder::new().name("evaluate".to_owned()).stack_size(STACK_BYTES);
            let work = move || work(&queue, &sender, ThreadEvaluator::new(setting, now));
            started += usize::from(thread.spawn_scoped(scope, work).is_ok());
        }
        let limit = u64::try_from(started.saturating_mul(BATCHES)).unwrap_or(u64::MAX);
        let threads = EvaluationThreads { jobs, results, early: BTreeMap::new(), sent: 0, handed_on: 0, limit };
        (started > 0).then_some(threads)
    }

    /// Sends a batch, and hands on results that are complete. Waits while too many batches are under way.
    pub(super) fn send(&mut self, batch: Vec<BatchItem<'p>>, mut hand_on: impl FnMut(Results)) {
        while self.sent.saturating_sub(self.handed_on) >= self.limit {
            self.receive(&mut hand_on);
        }
        // Threads end only after the sender.
        let _ = self.jobs.send((self.sent, batch));
        self.sent = self.sent.saturating_add(1);
    }

    /// Hands on the results of all batches that were sent.
    pub(super) fn wait_for_all(&mut self, mut hand_on: impl FnMut(Results)) {
        while self.handed_on < self.sent {
            self.receive(&mut hand_on);
        }
    }

    fn receive(&mut self, hand_on: &mut impl FnMut(Results)) {
        let Ok((number, results)) = self.results.recv() else {
            // All threads are gone, which they are not before the sender is: nothing is under way.
            self.handed_on = self.sent;
            return;
        };
        self.early.insert(number, results.unwrap_or_else(|panic| resume_unwind(panic)));
        while let Some(results) = self.early.remove(&self.handed_on) {
            self.handed_on = self.handed_on.saturating_add(1);
            hand_on(results);
        }
    }
}

fn work<'p>(queue: &Mutex<Receiver<Job<'p>>>, results: &Sender<JobResult>, mut evaluator: ThreadEvaluator<'p>) {
    loop {
        // The lock is held while a batch is waited for, and not while it is evaluated.
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, batch)) = job else { return };
        let found = catch_unwind(AssertUnwindSafe(|| evaluator.evaluate(batch)));
        if results.send((number, found)).is_err() {
            return;
        }
    }
}
