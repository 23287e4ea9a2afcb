//! The process in which policies are evaluated.
//!
//! A template can be written so that a single step of it takes all memory or all time, and the engine cannot be stopped
//! within a step. So the command runs once more as a child, with a limit on its memory (`RLIMIT_AS`), a stack that is
//! large enough for every template that loads, and a watchdog that ends it when the evaluation of one object takes too
//! long. Whatever happens to the child, this process says so and ends with an exit code of its own.

use std::env;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, anyhow};
use clearway_operator::apply_update::POLICY_WORKER;
use clearway_policy::rego::{Budget, STACK_BYTES};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::arguments::PolicyLimits;
use crate::exit::Exit;
use crate::output;

/// What is evaluated now, and since when, in milliseconds of the process; 0 is nothing.
static SINCE: AtomicU64 = AtomicU64::new(0);
static SUBJECT: Mutex<String> = Mutex::new(String::new());

/// Runs a command in a child, or, in the child, on a thread with a large stack. `ended` is what it means that the child
/// was ended.
pub(super) fn run(limits: &PolicyLimits, ended: Exit, command: impl FnOnce() -> Result<Exit> + Send) -> Result<Exit> {
    if env::var_os(POLICY_WORKER).is_none() {
        return supervise(limits, ended);
    }
    let bytes = limits.memory_limit.saturating_mul(1 << 20);
    let maximum = getrlimit(Resource::As).maximum;
    setrlimit(Resource::As, Rlimit { current: Some(maximum.map_or(bytes, |most| most.min(bytes))), maximum })
        .context("cannot limit the memory of the process")?;
    watch(Duration::from_secs(limits.evaluation_timeout), ended);
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, command);
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
            let since = SINCE.load(Ordering::Acquire);
            if since != 0 && now().saturating_sub(since) > limit {
                let subject = SUBJECT.lock().map(|subject| subject.clone()).unwrap_or_default();
                output::print_problem!(
                    "error: the evaluation of {subject} takes longer than {} s; it was ended",
                    timeout.as_secs()
                );
                std::process::exit(if ended == Exit::No { 1 } else { 2 });
            }
        }
    });
}

/// Says what is evaluated, so that a message can name it.
pub(super) fn watched<T>(subject: &str, evaluate: impl FnOnce() -> T) -> T {
    if let Ok(mut current) = SUBJECT.lock() {
        subject.clone_into(&mut current);
    }
    SINCE.store(now(), Ordering::Release);
    let result = evaluate();
    SINCE.store(0, Ordering::Release);
    result
}

/// How much each evaluation may do.
pub(super) fn budget(limits: &PolicyLimits) -> Budget {
    let limit = limits.evaluation_timeout.saturating_mul(1_000);
    let interrupt = move || {
        let since = SINCE.load(Ordering::Acquire);
        since != 0 && now().saturating_sub(since) > limit
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    Budget { steps: limits.max_steps, interrupt: Some(Rc::new(interrupt)), now: i64::try_from(now).unwrap_or(i64::MAX) }
}
