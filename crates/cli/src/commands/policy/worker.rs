//! The process in which policies are evaluated.
//!
//! A template can be written so that a single step of it takes all memory or all time, and the engine cannot be stopped
//! within a step. So the command runs once more as a child, with a limit on its memory (`RLIMIT_AS`), a stack that is
//! large enough for every template that loads, and a watchdog that ends it when the evaluation of one object takes too
//! long on any of its threads. Whatever happens to the child, this process says so and ends with an exit code of its own.

use std::env;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, anyhow};
use clearway_operator::apply_update::POLICY_WORKER;
use clearway_operator::policies::evaluation::limit_memory;
use clearway_policy::rego::{Budget, STACK_BYTES};

use crate::arguments::PolicyLimits;
use crate::exit::Exit;
use crate::output;

/// What a thread evaluates now.
#[derive(Default)]
struct Current {
    /// Since when, in milliseconds of the process; 0 if it evaluates nothing.
    since: AtomicU64,
    subject: Mutex<String>,
}

/// One for each thread that has evaluated something.
static THREADS: Mutex<Vec<Arc<Current>>> = Mutex::new(Vec::new());

thread_local! {
    static CURRENT: Arc<Current> = {
        let current = Arc::new(Current::default());
        THREADS.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&current));
        current
    };
}

/// Runs a command in a child, or, in the child, on a thread with a large stack. `threads` is how many such threads it
/// may have; their stacks come on top of the limit of memory. `ended` is what it means that the child was ended.
pub(super) fn run(
    limits: &PolicyLimits,
    threads: usize,
    ended: Exit,
    command: impl FnOnce() -> Result<Exit> + Send,
) -> Result<Exit> {
    if env::var_os(POLICY_WORKER).is_none() {
        return supervise(limits, ended);
    }
    // If the machine runs out of memory, this process is the one to end. It is fine if the system does not know this.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    watch(Duration::from_secs(limits.evaluation_timeout), ended);
    let stacks = threads.saturating_sub(1).saturating_mul(STACK_BYTES);
    let bytes = limits.memory_limit.saturating_mul(1 << 20).saturating_add(stacks as u64);
    thread::scope(|scope| {
        let work = || {
            // The stack of this thread is mapped by now, and does not count.
            limit_memory(bytes).context("cannot limit the memory of the process")?;
            command()
        };
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        let thread = thread.context("cannot start a thread; raise --memory-limit")?;
        thread.join().map_err(|_| anyhow!("the evaluation of policies failed unexpectedly"))?
    })
}

fn supervise(limits: &PolicyLimits, ended: Exit) -> Result<Exit> {
    let program = env::current_exe().context("cannot find the program itself")?;
    let mut child = Command::new(program);
    child.args(env::args_os().skip(1)).env(POLICY_WORKER, "1").stdin(Stdio::inherit());
    let status = child.status().context("cannot start the process that evaluates policies")?;
    Ok(match status.code() {
        Some(0) => Exit::Yes,
        Some(1) => Exit::No,
        Some(2) => Exit::Unknown,
        Some(_) => Exit::CouldNotRun,
        None => {
            output::print_problem!(
                "error: evaluating policies needs more than {} MiB of memory, or crashed ({status}); \
                 raise --memory-limit, or find the template with `clearway policy lint` and `--run`",
                limits.memory_limit
            );
            ended
        }
    })
}

fn now() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed().as_millis();
    u64::try_from(elapsed).unwrap_or(u64::MAX).saturating_add(1)
}

/// Ends the process when one evaluation takes longer than twice its time: within a step nothing else can.
fn watch(timeout: Duration, ended: Exit) {
    let limit = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX).saturating_mul(2);
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_millis(200));
            let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(current) = threads.iter().find(|current| current.exceeds(limit)) {
                let subject = current.subject.lock().map(|subject| subject.clone()).unwrap_or_default();
                output::print_problem!(
                    "error: the evaluation of {subject} takes longer than {} s; it was ended",
                    timeout.as_secs()
                );
                std::process::exit(if ended == Exit::No { 1 } else { 2 });
            }
        }
    });
}

impl Current {
    /// Whether the evaluation takes longer than so many milliseconds.
    fn exceeds(&self, limit: u64) -> bool {
        let since = self.since.load(Ordering::Acquire);
        since != 0 && now().saturating_sub(since) > limit
    }
}

/// Says what this thread evaluates, so that a message can name it.
pub(super) fn watched<T>(subject: &str, evaluate: impl FnOnce() -> T) -> T {
    CURRENT.with(|current| {
        if let Ok(mut shown) = current.subject.lock() {
            subject.clone_into(&mut shown);
        }
        current.since.store(now(), Ordering::Release);
        let result = evaluate();
        current.since.store(0, Ordering::Release);
        result
    })
}

/// How much each evaluation of this thread may do; the time that templates see is now.
pub(super) fn budget(limits: &PolicyLimits) -> Budget {
    budget_at(limits, unix_time())
}

/// The same with another time, so that templates see one time on all threads.
pub(super) fn budget_at(limits: &PolicyLimits, now: i64) -> Budget {
    let limit = limits.evaluation_timeout.saturating_mul(1_000);
    let current = CURRENT.with(Arc::clone);
    Budget { steps: limits.max_steps, interrupt: Some(Rc::new(move || current.exceeds(limit))), now }
}

/// Nanoseconds since 1970.
pub(super) fn unix_time() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    i64::try_from(now).unwrap_or(i64::MAX)
}
