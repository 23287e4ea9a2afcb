//! How much an evaluation may do.
//!
//! The engine asks for the time now and then, and stops when a duration has passed. Here there is no clock: the "time"
//! it is given is the number of times it asked, so that the limit is a number of steps, the same on every machine. What
//! runs the evaluation may set an interrupt as well, which is asked at the same moments and knows a real clock.

use std::cell::{Cell, RefCell};
use std::num::NonZeroU32;
use std::rc::Rc;
use std::time::Duration;

use regorus::utils::limits::{ExecutionTimerConfig, TimeSource, set_time_source};

/// Steps between two moments at which the engine asks.
const INTERVAL: NonZeroU32 = NonZeroU32::new(32).unwrap();

/// Whether an evaluation has to stop now.
pub type Interrupt = Rc<dyn Fn() -> bool>;

thread_local! {
    static MOMENTS: Cell<u64> = const { Cell::new(0) };
    static INTERRUPT: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
    static INTERRUPTED: Cell<bool> = const { Cell::new(false) };
    /// How often the engine asked since the evaluation began.
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

struct StepCounter;

impl TimeSource for StepCounter {
    fn now(&self) -> Option<Duration> {
        let moment = MOMENTS.get().saturating_add(1);
        MOMENTS.set(moment);
        // The first answers are the time at which the evaluation begins.
        let asked = ASKED.get().saturating_add(1);
        ASKED.set(asked);
        let stop =
            asked > 4 && INTERRUPT.with(|interrupt| interrupt.borrow().as_ref().is_some_and(|interrupt| interrupt()));
        if stop {
            INTERRUPTED.set(true);
            return Some(Duration::MAX);
        }
        Some(Duration::from_nanos(moment))
    }
}

static STEP_COUNTER: StepCounter = StepCounter;

/// The configuration that stops an evaluation after a number of steps.
pub(crate) fn timer(steps: u64) -> ExecutionTimerConfig {
    // The first program of the process sets the counter; it stays.
    let _ = set_time_source(&STEP_COUNTER);
    let moments = steps.checked_div(u64::from(INTERVAL.get())).unwrap_or(0);
    ExecutionTimerConfig { limit: Duration::from_nanos(moments), check_interval: INTERVAL }
}

/// Runs an evaluation of this thread with an interrupt.
pub(crate) fn with_interrupt<T>(interrupt: Option<Interrupt>, run: impl FnOnce() -> T) -> (T, bool) {
    INTERRUPTED.set(false);
    ASKED.set(0);
    let before = INTERRUPT.with(|slot| slot.replace(interrupt));
    let result = run();
    INTERRUPT.with(|slot| slot.replace(before));
    (result, INTERRUPTED.get())
}
