//! The child: loads what it is told, and evaluates.
//!
//! It reads messages from standard input and answers on standard output until the input ends. Its memory is limited by
//! `RLIMIT_AS`. The evaluation of a template is stopped by steps and CPU time; where the engine cannot be stopped, a
//! watchdog writes what was being evaluated and ends the process. CPU time is measured rather than time on a clock: a
//! machine that is busy with something else makes no template fail.

mod load;
mod results;
mod watchdog;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{self, BufReader, Write as _};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clearway_policy::rego::{Budget, Interrupt, STACK_BYTES};
use clearway_policy::{EnforcementPoint, Evaluator, Review, ReviewResult, Reviewer, Source};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;

use self::load::Policies;
use self::results::ResponseBudget;
use self::watchdog::Watchdog;
use super::protocol::{self, Limits, Point, Request, Response, ReviewItem, ReviewOutcome};

/// Environment that keeps the C library from setting 64 MiB of address space aside for each thread. Whether a thread does that
/// before or after the limit is set depends on how busy the machine is, and after it nothing would be left.
pub const ALLOCATOR_ENVIRONMENT: (&str, &str) = ("MALLOC_ARENA_MAX", "1");
/// Stacks of the allocator's own threads, which it starts when it likes: four of the usual size.
const ALLOCATOR_STACKS: u64 = 32 << 20;
/// What a process that has just started may need besides its limit, where the system does not say what it uses.
const UNKNOWN_USE: u64 = 512 << 20;
/// How often the engine asks whether to stop until the clock is read, which takes longer than the question.
const QUESTIONS_PER_LOOK: u32 = 64;

/// Runs until standard input ends. The error says what a person can do.
pub fn run() -> Result<(), String> {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let first = protocol::read(&mut input).map_err(|error| format!("cannot read standard input: {error}"))?;
    let Some(first) = first else { return Ok(()) };
    let Ok(Request::<_, ReviewItem>::Start(limits)) = serde_json::from_slice::<Request>(&first) else {
        return Err("this command is for `clearway operator --policies`, which starts it".to_owned());
    };
    drop(input);
    // If the machine runs out of memory, this process is the one to end. It is fine if the system does not know this.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let watchdog = Watchdog::start(Duration::from_millis(limits.milliseconds))
        .map_err(|error| format!("cannot start the watchdog: {error}"))?;
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK_BYTES);
        let work = thread.spawn_scoped(scope, || {
            // Stacks are mapped by now, and do not count.
            limit_memory(limits.memory).map_err(|error| format!("cannot limit the memory of the process: {error}"))?;
            serve(&limits, &watchdog)
        });
        let work = work.map_err(|error| format!("cannot start the thread that evaluates: {error}"))?;
        work.join().map_err(|_| "the evaluation failed unexpectedly".to_owned())?
    })
}

/// Limits what this process maps from now on, in bytes: its program, and the stacks of threads that run, do not count. A
/// limit on all of its address space would depend on the size of the program and on what the allocator has set aside.
pub fn limit_memory(memory: u64) -> io::Result<()> {
    let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
    let used = std::fs::read_to_string("/proc/self/statm").ok();
    let used = used.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    let used = used.map_or(UNKNOWN_USE, |pages| pages.saturating_mul(page));
    let bytes = memory.saturating_add(used).saturating_add(ALLOCATOR_STACKS);
    let maximum = getrlimit(Resource::As).maximum;
    let current = maximum.map_or(bytes, |most| most.min(bytes));
    Ok(setrlimit(Resource::As, Rlimit { current: Some(current), maximum })?)
}

/// Limits the CPU time of this process, in seconds. Above it the process ends by `SIGXCPU`, which nothing else sends.
pub fn limit_cpu_time(seconds: u64) -> io::Result<()> {
    let maximum = getrlimit(Resource::Cpu).maximum;
    let current = maximum.map_or(seconds, |most| most.min(seconds));
    Ok(setrlimit(Resource::Cpu, Rlimit { current: Some(current), maximum })?)
}

fn serve(limits: &Limits, watchdog: &Watchdog) -> Result<(), String> {
    let broken = |error: io::Error| format!("the connection to the operator broke: {error}");
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut policies = Policies::new(limits.reject_unknown_actions);
    let mut reviews = Reviews::new(limits, watchdog);
    write(&Response::Ready).map_err(broken)?;
    while let Some(bytes) = protocol::read(&mut input).map_err(broken)? {
        let request: Request =
            serde_json::from_slice(&bytes).map_err(|error| format!("not a request of the operator: {error}"))?;
        drop(bytes);
        match request {
            Request::Start(_) => return Err("started twice".to_owned()),
            Request::Replay(change) => {
                drop(watchdog.watched(0, || policies.apply(&change)));
                reviews.evaluator.retain(&policies.set);
            }
            Request::Finish => write(&Response::Ready).map_err(broken)?,
            Request::Change { change, check } => {
                let loaded =
                    watchdog.watched(0, || if check { policies.check(&change) } else { policies.apply(&change) });
                reviews.evaluator.retain(&policies.set);
                write(&Response::Changed(loaded)).map_err(broken)?;
            }
            Request::Review { point, items, announce, now } => {
                watchdog.announce(announce);
                let response = reviews.review(&policies, point, items, now);
                write(&response).map_err(broken)?;
            }
        }
    }
    Ok(())
}

/// What evaluates reviews.
struct Reviews<'w> {
    watchdog: &'w Watchdog,
    evaluator: Evaluator,
    budget: Budget,
    /// Templates that were stopped during this message.
    stopped: Rc<RefCell<BTreeSet<String>>>,
}

impl<'w> Reviews<'w> {
    fn new(limits: &Limits, watchdog: &'w Watchdog) -> Self {
        let stopped = Rc::new(RefCell::new(BTreeSet::new()));
        let current = watchdog.current();
        let observed = Arc::clone(&current);
        let evaluator = Evaluator::new().with_observer(Box::new(move |template| observed.begin(template)));
        let (limit, noted) = (Duration::from_millis(limits.milliseconds), Rc::clone(&stopped));
        let questions = std::cell::Cell::new(0_u32);
        let interrupt: Interrupt = Rc::new(move || {
            questions.set(questions.get().wrapping_add(1));
            if !questions.get().is_multiple_of(QUESTIONS_PER_LOOK) {
                return false;
            }
            let Some(template) = current.exceeds(limit) else { return false };
            noted.borrow_mut().insert(template);
            true
        });
        let budget = Budget { steps: limits.steps, interrupt: Some(interrupt), now: 0 };
        Reviews { watchdog, evaluator, budget, stopped }
    }

    fn review(&mut self, policies: &Policies, point: Point, items: Vec<ReviewItem>, now: i64) -> Response {
        self.budget.now = now;
        let mut room = ResponseBudget::new();
        let outcomes = items.into_iter().enumerate().map(|(number, item)| {
            let watchdog = self.watchdog;
            match watchdog.watched(number, || self.review_item(policies, point, &item)) {
                Ok(results) => room.bounded(results),
                Err(error) => ReviewOutcome::Error(error),
            }
        });
        let outcomes = outcomes.collect();
        // The server has no place for what templates print.
        drop(self.evaluator.take_prints());
        let stopped = std::mem::take(&mut *self.stopped.borrow_mut()).into_iter().collect();
        Response::Reviewed { outcomes, stopped }
    }

    fn review_item(
        &mut self,
        policies: &Policies,
        point: Point,
        item: &ReviewItem,
    ) -> Result<Vec<ReviewResult>, String> {
        let changed = (!item.failed.is_empty()).then(|| policies.failing(&item.failed));
        let set = changed.as_ref().unwrap_or(&policies.set);
        let reviewer =
            Reviewer { point: EnforcementPoint::from(point), inventory: &policies.inventory, budget: &self.budget };
        let (review, object, operation) = match point {
            Point::Audit => (Review::of_object(&item.subject, Source::Original), item.subject.clone(), String::new()),
            Point::Webhook => {
                let review = Review::of_request(&item.subject).map_err(|error| error.to_string())?;
                let operation = review.operation().to_owned();
                (review.with_source(Source::Original), requested_object(&item.subject), operation)
            }
        };
        let review = review.with_namespace(item.namespace.clone());
        let implied = policies.expander.expand(&object, item.namespace.as_ref());
        let implied = implied.map_err(|error| format!("unable to expand object: {error}"))?;
        let mut results = set
            .review(&review, &reviewer, &mut self.evaluator)
            .map_err(|error| format!("error reviewing resource: {error}"))?;
        for expanded in implied {
            let review = Review::of_object(&expanded.object, Source::Generated)
                .with_operation(&operation)
                .with_namespace(item.namespace.clone());
            let found = set
                .review(&review, &reviewer, &mut self.evaluator)
                .map_err(|error| format!("error reviewing resultant resource: {error}"))?;
            results.extend(found.into_iter().map(|result| expanded.imply(result)));
        }
        Ok(results)
    }
}

/// The object of a request with the kind and namespace that the request names, which decide what the object implies.
fn requested_object(request: &Value) -> Value {
    let field = |name: &str| request.get(name).filter(|value| !value.is_null());
    let text = |path: &str| request.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let mut object = field("object").or_else(|| field("oldObject")).cloned().unwrap_or_default();
    let Some(fields) = object.as_object_mut() else { return object };
    let api_version = match text("/kind/group") {
        "" => text("/kind/version").to_owned(),
        group => format!("{group}/{}", text("/kind/version")),
    };
    fields.insert("apiVersion".to_owned(), Value::String(api_version));
    fields.insert("kind".to_owned(), Value::String(text("/kind/kind").to_owned()));
    let namespace = text("/namespace");
    if let (false, Some(metadata)) = (namespace.is_empty(), fields.get_mut("metadata").and_then(Value::as_object_mut)) {
        metadata.insert("namespace".to_owned(), Value::String(namespace.to_owned()));
    }
    object
}

/// Writes a message to the operator.
fn write(message: &Response) -> io::Result<()> {
    let mut output = io::stdout().lock();
    protocol::write(&mut output, message)?;
    output.flush()
}
