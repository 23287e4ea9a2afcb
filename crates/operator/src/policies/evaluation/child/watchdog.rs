//! Ends the process when a template computes for too long and cannot be stopped otherwise.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::super::protocol::Response;

/// The CPU time of all threads of the process. One of them works; the others wait.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// What is evaluated now.
#[derive(Debug, Default)]
struct Work {
    /// The number of the item, while something is evaluated or loaded.
    item: Option<usize>,
    /// The template, once one was begun.
    template: Option<String>,
    /// The CPU time at which the template, or the item, began.
    since: Duration,
    /// Whether templates are named before they are evaluated.
    announce: bool,
}

/// What is evaluated now, shared with the watchdog.
#[derive(Debug, Default)]
pub(super) struct CurrentWork {
    work: Mutex<Work>,
    begun: Condvar,
}

impl CurrentWork {
    fn lock(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A template is evaluated from now on. Its constraints are evaluated one after the other, and share its time.
    pub(super) fn begin(&self, template: &str) {
        let mut work = self.lock();
        if work.template.as_deref() == Some(template) {
            return;
        }
        work.template = Some(template.to_owned());
        work.since = cpu_time();
        if let (true, Some(item)) = (work.announce, work.item) {
            // If the operator is gone, the next message will not be read either.
            let _ = super::write(&Response::Evaluating { item, template: template.to_owned() });
        }
    }

    /// The template that has used up its time.
    pub(super) fn exceeds(&self, limit: Duration) -> Option<String> {
        let work = self.lock();
        (cpu_time().saturating_sub(work.since) > limit).then(|| work.template.clone()).flatten()
    }
}

/// The thread that ends the process, and what it looks at.
#[derive(Debug)]
pub(super) struct Watchdog {
    current: Arc<CurrentWork>,
}

impl Watchdog {
    /// Watches from now on. What can be stopped at `limit` is stopped then; the process ends half of it later.
    pub(super) fn start(limit: Duration) -> io::Result<Self> {
        let current = Arc::new(CurrentWork::default());
        let watched = Arc::clone(&current);
        thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || watch(&watched, limit.saturating_add(limit / 2)))?;
        Ok(Watchdog { current })
    }

    pub(super) fn current(&self) -> Arc<CurrentWork> {
        Arc::clone(&self.current)
    }

    /// Names templates before they are evaluated, or not any more.
    pub(super) fn announce(&self, announce: bool) {
        self.current.lock().announce = announce;
    }

    /// Watches some work on an item.
    pub(super) fn watched<T>(&self, item: usize, work: impl FnOnce() -> T) -> T {
        {
            let mut current = self.current.lock();
            *current = Work { item: Some(item), template: None, since: cpu_time(), announce: current.announce };
        }
        self.current.begun.notify_one();
        let result = work();
        self.current.lock().item = None;
        result
    }
}

fn watch(current: &CurrentWork, limit: Duration) {
    let mut work = current.lock();
    loop {
        let Some(item) = work.item else {
            work = current.begun.wait(work).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        let used = cpu_time().saturating_sub(work.since);
        if used > limit {
            let _ = super::write(&Response::TimedOut { item, template: work.template.clone() });
            std::process::exit(1);
        }
        // CPU time passes at most as fast as time, so there is nothing to see before.
        let rest = limit.saturating_sub(used).max(Duration::from_millis(1));
        work = current.begun.wait_timeout(work, rest).unwrap_or_else(PoisonError::into_inner).0;
    }
}
