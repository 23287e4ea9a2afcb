//! The process in which policies are evaluated.
//!
//! A template can be written so that a single step of it takes all memory or all time, and the engine cannot be stopped
//! within a step. So the command runs once more as a child, with a limit on its memory (`RLIMIT_AS`), a stack that is
//! large enough for every template that loads, and a watchdog that ends it when the evaluation of one object takes too much
//! time of a processor on any of its threads. Time on a clock is not measured: a machine that is busy with something else must
//! not change the result. Whatever happens to the child, this process says so and ends with an exit code of its own.

use std::cell::Cell;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, anyhow};
use clearway_operator::apply_update::POLICY_WORKER;
use clearway_operator::policies::evaluation::{ALLOCATOR_ENVIRONMENT, limit_memory};
use clearway_policy::rego::{Budget, STACK_BYTES};
use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};

use crate::arguments::PolicyLimits;
use crate::exit::Exit;
use crate::output;
use crate::program_name::own_program;

/// How often the engine asks whether to stop until the clock is read, which takes longer than the question.
const QUESTIONS_PER_LOOK: u32 = 64;

/// What a thread evaluates now.
struct Current {
    /// Whether it evaluates something.
    is_busy: AtomicBool,
    /// The CPU time of the thread when that began.
    since: AtomicU64,
    /// The CPU time of the process when that began, for systems that do not tell that of other threads.
    process_since: AtomicU64,
    /// The file that tells other threads the CPU time of this one.
    stat: Option<PathBuf>,
    subject: Mutex<String>,
}

/// One for each thread that has evaluated something.
static THREADS: Mutex<Vec<Arc<Current>>> = Mutex::new(Vec::new());

thread_local! {
    static CURRENT: Arc<Current> = {
        // A link to `<process>/task/<thread>`.
        let thread = std::fs::read_link("/proc/thread-self").ok();
        let current = Arc::new(Current {
            is_busy: AtomicBool::new(false),
            since: AtomicU64::new(0),
            process_since: AtomicU64::new(0),
            stat: thread.map(|thread| Path::new("/proc").join(thread).join("stat")),
            subject: Mutex::default(),
        });
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
    let mut child = Command::new(own_program()?);
    child.args(env::args_os().skip(1)).envs([ALLOCATOR_ENVIRONMENT, (POLICY_WORKER, "1")]).stdin(Stdio::inherit());
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

/// Milliseconds of CPU time.
fn cpu_time(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let parts = (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
    parts.0.saturating_mul(1_000).saturating_add(parts.1 / 1_000_000)
}

/// Milliseconds of CPU time of a thread, by what the system says about it: two of the numbers behind its name, in ticks.
fn cpu_time_of_thread(stat: &str) -> Option<u64> {
    let mut numbers = stat.rsplit_once(')')?.1.split_whitespace().skip(11).map(str::parse::<u64>);
    let ticks = numbers.next()?.ok()?.saturating_add(numbers.next()?.ok()?);
    ticks.saturating_mul(1_000).checked_div(clock_ticks_per_second())
}

/// Ends the process when one evaluation takes more than twice its time: within a step nothing else can.
fn watch(timeout: Duration, ended: Exit) {
    let limit = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX).saturating_mul(2);
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_millis(200));
            let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(current) = threads.iter().find(|current| current.used() > limit) {
                let subject = current.subject.lock().map(|subject| subject.clone()).unwrap_or_default();
                output::print_problem!(
                    "error: the evaluation of {subject} takes more than {} s of CPU time; it was ended",
                    timeout.as_secs()
                );
                std::process::exit(if ended == Exit::No { 1 } else { 2 });
            }
        }
    });
}

impl Current {
    /// Milliseconds of CPU time that the evaluation has taken, as another thread sees it.
    fn used(&self) -> u64 {
        // The time before the moment from which on it counts: if the next evaluation begins meanwhile, it has used nothing.
        let stat = self.stat.as_ref().and_then(|path| std::fs::read_to_string(path).ok());
        let (now, since) = match stat.as_deref().and_then(cpu_time_of_thread) {
            Some(now) => (now, &self.since),
            None => (cpu_time(ClockId::ProcessCPUTime), &self.process_since),
        };
        if self.is_busy.load(Ordering::Acquire) { now.saturating_sub(since.load(Ordering::Acquire)) } else { 0 }
    }

    /// The same as its own thread sees it.
    fn used_by_this_thread(&self) -> u64 {
        cpu_time(ClockId::ThreadCPUTime).saturating_sub(self.since.load(Ordering::Relaxed))
    }
}

/// Says what this thread evaluates, so that a message can name it.
pub(super) fn watched<T>(subject: &str, evaluate: impl FnOnce() -> T) -> T {
    CURRENT.with(|current| {
        if let Ok(mut shown) = current.subject.lock() {
            subject.clone_into(&mut shown);
        }
        current.since.store(cpu_time(ClockId::ThreadCPUTime), Ordering::Release);
        current.process_since.store(cpu_time(ClockId::ProcessCPUTime), Ordering::Release);
        current.is_busy.store(true, Ordering::Release);
        let result = evaluate();
        current.is_busy.store(false, Ordering::Release);
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
    let (current, questions) = (CURRENT.with(Arc::clone), Cell::new(0_u32));
    let interrupt = move || {
        questions.set(questions.get().wrapping_add(1));
        questions.get().is_multiple_of(QUESTIONS_PER_LOOK) && current.used_by_this_thread() > limit
    };
    Budget { steps: limits.max_steps, interrupt: Some(Rc::new(interrupt)), now }
}

/// Nanoseconds since 1970.
pub(super) fn unix_time() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    i64::try_from(now).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_a_thread_is_read_whatever_its_name_is() {
        let ticks = clock_ticks_per_second();
        let stat = format!("7 (a) b) R 1 1 1 0 -1 4194304 1 0 0 0 {} {ticks} 0 0 20 0 1 0", 2 * ticks);
        assert_eq!(cpu_time_of_thread(&stat), Some(3_000));
        assert_eq!(cpu_time_of_thread("7 (a) R 1"), None);
    }

    /// A thread that waits, as on a busy machine, uses nothing of its time; one that computes does.
    #[test]
    fn only_cpu_time_counts() {
        watched("something", || {
            let current = CURRENT.with(Arc::clone);
            let before = current.used_by_this_thread();
            while current.used_by_this_thread() < before + 30 {
                std::hint::spin_loop();
            }
            let seen = thread::scope(|scope| scope.spawn(|| current.used()).join().unwrap());
            // The system counts in ticks.
            let used = current.used_by_this_thread();
            assert!(seen <= used && used < seen + 30, "{seen} {used}");
        });
        assert_eq!(CURRENT.with(|current| current.used()), 0);
    }
}
