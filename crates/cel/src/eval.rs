//! The machine that carries out programs: a loop over steps, with a stack of values.
//!
//! Nothing recurses: calls of policy variables and values with names have frames of their own. Every step is counted, so
//! that no program runs longer than its budget allows.

mod arithmetic;
mod calls;
mod chain;
mod conversions;
pub(crate) mod evaluation;
pub(crate) mod explain;
mod lists;
mod math;
mod objects;
pub(crate) mod session;
mod strings;
mod times;

use std::sync::Arc;

use crate::cost::limits::{Budget, Limits};
use crate::cost::meter::Meter;
use crate::error::{CelError, ErrorClass};
use crate::eval::explain::Recorder;
use crate::eval::session::Session;
use crate::program::{Code, Instr, Program};
use crate::syntax::span::Span;
use crate::value::pattern::Pattern;
use crate::value::{Equality, Key, List, Map, OwnedMap, Reader, Value};

use chain::ChainState;

/// What functions need besides their arguments.
pub(crate) struct Context<'m, 'a> {
    pub(crate) meter: &'m mut Meter,
    pub(crate) reader: Reader<'a>,
    pub(crate) limits: &'m Limits,
    pub(crate) by_specification: bool,
    pub(crate) patterns: &'m [Pattern],
}

/// A loop that is running.
struct LoopState<'a> {
    range: LoopRange<'a>,
    next: usize,
}

enum LoopRange<'a> {
    List(List<'a>),
    Keys(Vec<Value<'a>>),
    Entries(Vec<(Value<'a>, Value<'a>)>),
    /// A list with the indexes of its elements.
    Indexed(List<'a>),
}

/// A program that is running.
struct Frame<'a> {
    program: &'a Program,
    code: &'a Code,
    at: usize,
    /// Where its part of each stack begins.
    stack: usize,
    slots: usize,
    globals: usize,
    /// Which variable of the policy it evaluates.
    variable: Option<usize>,
    /// The meter of the program that waits for it.
    waiting: Option<Meter>,
}

/// The machine.
pub(crate) struct Machine<'s, 'a> {
    session: &'s Session<'a>,
    meter: Meter,
    budget: Budget,
    stack: Vec<Value<'a>>,
    slots: Vec<Option<Value<'a>>>,
    globals: Vec<Value<'a>>,
    chains: Vec<ChainState>,
    loops: Vec<LoopState<'a>>,
    returns: Vec<usize>,
    frames: Vec<Frame<'a>>,
    recorder: Option<Recorder>,
    /// Whether the specification decides where it differs from cel-go.
    by_specification: bool,
    /// What variables of the policy have cost.
    variables_cost: u64,
}

/// What a program gave.
pub(crate) struct Finished<'a> {
    pub(crate) value: Result<Value<'a>, CelError>,
    pub(crate) cost: u64,
    pub(crate) variables_cost: u64,
    pub(crate) work: u64,
    pub(crate) recorder: Option<Recorder>,
}

/// Why the machine stops early: the budget is used up.
struct Stop {
    class: ErrorClass,
    span: Span,
}

impl<'s, 'a> Machine<'s, 'a> {
    pub(crate) fn new(session: &'s Session<'a>, budget: &Budget) -> Self {
        Machine {
            session,
            meter: Meter::new(budget),
            budget: *budget,
            stack: Vec::with_capacity(16),
            slots: Vec::new(),
            globals: Vec::new(),
            chains: Vec::new(),
            loops: Vec::new(),
            returns: Vec::new(),
            frames: Vec::new(),
            recorder: None,
            by_specification: false,
            variables_cost: 0,
        }
    }

    /// Keeps the value of every part.
    pub(crate) fn recording(mut self, recorder: Recorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Runs a program to its end.
    pub(crate) fn run(mut self, program: &'a Program, code: &'a Code) -> Finished<'a> {
        let mut frame = self.enter(program, code, None);
        let value = loop {
            match self.steps(&mut frame) {
                Ok(Some(variable)) => {
                    let Some((_, program)) = self.session.variable(variable) else { continue };
                    let mut called = self.enter(program, &program.code, Some(variable));
                    called.waiting = Some(std::mem::replace(&mut self.meter, Meter::new(&self.budget)));
                    self.frames.push(std::mem::replace(&mut frame, called));
                }
                Ok(None) => {
                    let value = self.stack.pop().unwrap_or(Value::Null);
                    let Some(variable) = frame.variable else { break Ok(value) };
                    self.leave(&mut frame, variable, value);
                }
                Err(stop) => {
                    let error = CelError::new(stop.class, stop.span);
                    let Some(variable) = frame.variable else { break Err(error) };
                    // A variable that is too expensive is an error like any other.
                    self.leave(&mut frame, variable, Value::Error(stop.class, stop.span));
                }
            }
        };
        let work = self.budget.work.saturating_sub(self.meter.work_left);
        Finished { value, cost: self.meter.cost, variables_cost: self.variables_cost, work, recorder: self.recorder }
    }

    fn enter(&mut self, program: &'a Program, code: &'a Code, variable: Option<usize>) -> Frame<'a> {
        let frame = Frame {
            program,
            code,
            at: 0,
            stack: self.stack.len(),
            slots: self.slots.len(),
            globals: self.globals.len(),
            variable,
            waiting: None,
        };
        self.by_specification = program.environment.base.rules.by_specification;
        self.slots.resize_with(self.slots.len().saturating_add(code.slots), || None);
        for number in &code.globals {
            let declared = program.environment.variables.get(*number as usize);
            let value = match declared {
                Some(variable) => self.session.resolve(variable, program.environment.decl.as_deref()),
                None => Value::Error(ErrorClass::NotBound, Span::default()),
            };
            self.globals.push(value);
        }
        frame
    }

    fn leave(&mut self, frame: &mut Frame<'a>, variable: usize, value: Value<'a>) {
        self.session.store(variable, value);
        self.stack.truncate(frame.stack);
        self.slots.truncate(frame.slots);
        self.globals.truncate(frame.globals);
        self.variables_cost = self.variables_cost.saturating_add(self.meter.cost);
        if let Some(waiting) = frame.waiting.take() {
            self.meter = waiting;
        }
        if let Some(outer) = self.frames.pop() {
            *frame = outer;
        }
    }

    fn context<'m>(meter: &'m mut Meter, session: &'m Session<'a>, frame: &Frame<'a>) -> Context<'m, 'a> {
        Context {
            meter,
            reader: session.reader(),
            limits: &frame.program.limits,
            by_specification: frame.program.environment.base.rules.by_specification,
            patterns: session.patterns(frame.program, frame.code),
        }
    }

    fn pop(&mut self) -> Value<'a> {
        self.stack.pop().unwrap_or(Value::Null)
    }

    /// Carries out steps up to the end, or up to a variable of the policy that is not known yet.
    #[expect(clippy::too_many_lines, reason = "one arm for each step")]
    fn steps(&mut self, frame: &mut Frame<'a>) -> Result<Option<usize>, Stop> {
        let code = frame.code;
        loop {
            let Some(instr) = code.steps.get(frame.at).copied() else { return Ok(None) };
            let here = frame.at;
            let span = || code.spans.get(here).copied().unwrap_or_default();
            let stop = |class| Stop { class, span: span() };
            self.meter.work(1).map_err(stop)?;
            frame.at = frame.at.saturating_add(1);
            match instr {
                Instr::Const(constant) => self.stack.push(constant_of(code, constant)),
                Instr::Global { slot, charge } => {
                    let value = self.globals.get(frame.globals.saturating_add(slot as usize));
                    let value = value.map_or(Value::Null, |value| seen(value));
                    self.meter.charge(charge.into()).map_err(stop)?;
                    self.stack.push(located(value, span()));
                }
                Instr::Local { slot, charge } => {
                    let value = self.slots.get(frame.slots.saturating_add(slot as usize)).and_then(Option::as_ref);
                    let value = value.map_or(Value::Null, |value| seen(value));
                    self.meter.charge(charge.into()).map_err(stop)?;
                    self.stack.push(located(value, span()));
                }
                Instr::Take(slot) => {
                    let value = self.slots.get_mut(frame.slots.saturating_add(slot as usize)).and_then(Option::take);
                    self.meter.charge(1).map_err(stop)?;
                    self.stack.push(value.unwrap_or(Value::Null));
                }
                Instr::Lazy { slot, init, charge } => {
                    let value = self.slots.get(frame.slots.saturating_add(slot as usize)).and_then(Option::as_ref);
                    if let Some(value) = value.map(|value| seen(value)) {
                        self.meter.charge(charge.into()).map_err(stop)?;
                        self.stack.push(value);
                    } else {
                        self.returns.push(here);
                        frame.at = init as usize;
                    }
                }
                Instr::LazyDone(slot) => {
                    let value = self.pop();
                    self.store(frame, slot, value);
                    frame.at = self.returns.pop().unwrap_or(usize::MAX);
                }
                Instr::ChainStart => {
                    let state = self.start_chain();
                    self.chains.push(state);
                }
                Instr::Field { name, mode } => {
                    if let Some(variable) = self.wanted_variable(code, name, mode) {
                        frame.at = here;
                        return Ok(Some(variable));
                    }
                    self.field(code, name, mode, span()).map_err(stop)?;
                }
                Instr::ConstIndex { constant, optional } => {
                    let index = constant_of(code, constant);
                    self.index(&index, optional, span()).map_err(stop)?;
                }
                Instr::Index { optional } => {
                    let index = self.pop();
                    self.index(&index, optional, span()).map_err(stop)?;
                }
                Instr::JumpIfDone(to) => {
                    if self.chains.last() == Some(&ChainState::Done) {
                        frame.at = to as usize;
                    }
                }
                Instr::ChainEnd { charge } => {
                    let state = self.chains.pop();
                    if state == Some(ChainState::Optional) {
                        let value = self.pop();
                        self.stack.push(if value.is_missing() { value } else { Value::some(value) });
                    }
                    match charge {
                        1 => self.meter.charge(1).map_err(stop)?,
                        -1 => self.meter.cost = self.meter.cost.saturating_sub(1),
                        _ => {}
                    }
                }
                Instr::And { first, end } => {
                    if self.logic(false, first, span()) {
                        frame.at = end as usize;
                    }
                }
                Instr::Or { first, end } => {
                    if self.logic(true, first, span()) {
                        frame.at = end as usize;
                    }
                }
                Instr::Branch { otherwise, end } => match self.pop() {
                    Value::Bool(true) => {}
                    Value::Bool(false) => frame.at = otherwise as usize,
                    other => {
                        let missing =
                            if other.is_missing() { other } else { Value::Error(ErrorClass::NoSuchOverload, span()) };
                        self.stack.push(missing);
                        frame.at = end as usize;
                    }
                },
                Instr::Jump(to) => frame.at = to as usize,
                Instr::Bail { below, to } => {
                    if self.stack.last().is_some_and(Value::is_missing) {
                        let missing = self.pop();
                        let left = self.stack.len().saturating_sub(usize::from(below));
                        self.stack.truncate(left);
                        self.stack.push(missing);
                        frame.at = to as usize;
                    }
                }
                Instr::List { count, flags } => {
                    self.list(code, count as usize, flags as usize, span()).map_err(stop)?;
                }
                Instr::Map { count, flags } => {
                    let unique = frame.program.environment.base.rules.by_specification;
                    self.map(code, count as usize, flags as usize, unique, span()).map_err(stop)?;
                }
                Instr::Charge(cost) => self.meter.charge(cost.into()).map_err(stop)?,
                Instr::Call(call) => self.call(frame, call, span()).map_err(stop)?,
                Instr::Member(constant) => {
                    let value = self.pop();
                    let set = constant_of(code, constant);
                    let found = self.member(&value, &set).map_err(stop)?;
                    self.stack.push(if value.is_missing() { value } else { found });
                }
                Instr::OptionalOr { end, value } => match self.pop() {
                    Value::Optional(None) => {}
                    Value::Optional(Some(inner)) => {
                        let inner = if value { (*inner).clone() } else { Value::Optional(Some(inner)) };
                        self.stack.push(inner);
                        frame.at = end as usize;
                    }
                    other => {
                        let missing =
                            if other.is_missing() { other } else { Value::Error(ErrorClass::NoSuchOverload, span()) };
                        self.stack.push(missing);
                        frame.at = end as usize;
                    }
                },
                Instr::LoopEnter { end, two } => {
                    let range = self.pop();
                    match self.range(range, two, span()).map_err(stop)? {
                        Ok(range) => self.loops.push(LoopState { range, next: 0 }),
                        Err(missing) => {
                            self.stack.push(missing);
                            frame.at = end as usize;
                        }
                    }
                }
                Instr::LoopNext { slot, second, exit } => match self.next_element() {
                    Some((one, two)) => {
                        self.store(frame, slot, located(one, span()));
                        if let (Some(slot), Some(two)) = (second, two) {
                            self.store(frame, slot, located(two, span()));
                        }
                    }
                    None => frame.at = exit as usize,
                },
                Instr::LoopTest(exit) => {
                    if matches!(self.pop(), Value::Bool(false)) {
                        frame.at = exit as usize;
                    }
                }
                Instr::LoopLeave => {
                    self.loops.pop();
                }
                Instr::Store(slot) => {
                    let value = self.pop();
                    self.store(frame, slot, value);
                }
                Instr::Forget(slot) => {
                    if let Some(place) = self.slots.get_mut(frame.slots.saturating_add(slot as usize)) {
                        *place = None;
                    }
                }
                Instr::Fail(class) => self.stack.push(Value::Error(class, span())),
                Instr::Mark => {
                    let cost = self.meter.cost;
                    if let Some(recorder) = &mut self.recorder {
                        recorder.mark(cost);
                    }
                }
                Instr::Note { part, marked } => {
                    let cost = self.meter.cost;
                    if let (Some(recorder), Some(value)) = (&mut self.recorder, self.stack.last()) {
                        recorder.note(part, marked, cost, value, self.session.reader());
                    }
                }
                Instr::Return => return Ok(None),
            }
        }
    }

    fn store(&mut self, frame: &Frame<'a>, slot: u32, value: Value<'a>) {
        if let Some(place) = self.slots.get_mut(frame.slots.saturating_add(slot as usize)) {
            *place = Some(value);
        }
    }

    /// Joins a term of `&&` or `||` with those before it; true if the result is decided.
    fn logic(&mut self, decider: bool, first: bool, span: Span) -> bool {
        let term = self.pop();
        if let Value::Bool(value) = term
            && value == decider
        {
            if !first {
                self.stack.pop();
            }
            self.stack.push(Value::Bool(decider));
            return true;
        }
        let term = match term {
            Value::Bool(_) | Value::Unknown | Value::Error(..) => term,
            _ => Value::Error(ErrorClass::NoSuchOverload, span),
        };
        if first {
            self.stack.push(term);
            return false;
        }
        let before = self.pop();
        self.stack.push(match (before, term) {
            (Value::Unknown, _) | (_, Value::Unknown) => Value::Unknown,
            (before @ Value::Error(..), _) => before,
            (_, term) => term,
        });
        false
    }

    fn list(&mut self, code: &Code, count: usize, flags: usize, span: Span) -> Result<(), ErrorClass> {
        self.meter.elements(count)?;
        let elements: Vec<Value<'a>> = self.stack.split_off(self.stack.len().saturating_sub(count));
        let flags = code.flags.get(flags..flags.saturating_add(count)).unwrap_or_default();
        if !flags.contains(&true) {
            self.stack.push(Value::list(elements));
            return Ok(());
        }
        let mut kept = Vec::with_capacity(count);
        for (element, optional) in elements.into_iter().zip(flags) {
            match (optional, element) {
                (false, element) => kept.push(element),
                (true, Value::Optional(None)) => {}
                (true, Value::Optional(Some(inner))) => kept.push((*inner).clone()),
                (true, _) => {
                    self.stack.push(Value::Error(ErrorClass::NoSuchOverload, span));
                    return Ok(());
                }
            }
        }
        self.stack.push(Value::list(kept));
        Ok(())
    }

    fn map(&mut self, code: &Code, count: usize, flags: usize, unique: bool, span: Span) -> Result<(), ErrorClass> {
        self.meter.elements(count.saturating_mul(2))?;
        let parts = self.stack.split_off(self.stack.len().saturating_sub(count.saturating_mul(2)));
        let flags = code.flags.get(flags..flags.saturating_add(count)).unwrap_or_default();
        let mut map = OwnedMap::default();
        let mut parts = parts.into_iter();
        let mut failed = None;
        for optional in flags {
            let (Some(written), Some(value)) = (parts.next(), parts.next()) else { break };
            let scalar = matches!(written, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::String(_));
            let key = Key::of(&written).filter(|_| scalar || !unique);
            let Some(key) = key else {
                failed = Some(ErrorClass::InvalidKey);
                break;
            };
            let value = match (optional, value) {
                (false, value) => value,
                (true, Value::Optional(Some(inner))) => (*inner).clone(),
                (true, Value::Optional(None)) => {
                    if !unique {
                        map.remove(&key);
                    }
                    continue;
                }
                (true, _) => {
                    failed = Some(ErrorClass::NoSuchOverload);
                    break;
                }
            };
            if !map.insert(key, written, value) && unique {
                failed = Some(ErrorClass::InvalidKey);
                break;
            }
        }
        self.stack.push(match failed {
            Some(class) => Value::Error(class, span),
            None => Value::Map(Map::Owned(Arc::new(map))),
        });
        Ok(())
    }

    /// `in` a constant list.
    fn member(&mut self, value: &Value<'a>, set: &Value<'a>) -> Result<Value<'a>, ErrorClass> {
        let Value::List(List::Owned(elements)) = set else { return Ok(Value::Bool(false)) };
        let reader = self.session.reader();
        let mut found = Value::Bool(false);
        for element in elements.iter() {
            let mut comparison = crate::value::Comparison { meter: &mut self.meter, reader };
            match comparison.equal(value, element)? {
                Equality::Equal => return Ok(Value::Bool(true)),
                Equality::Unknown => found = Value::Unknown,
                _ => {}
            }
        }
        Ok(found)
    }

    fn range(
        &mut self,
        range: Value<'a>,
        two: bool,
        span: Span,
    ) -> Result<Result<LoopRange<'a>, Value<'a>>, ErrorClass> {
        Ok(Ok(match range {
            Value::List(list) if two => LoopRange::Indexed(list),
            Value::List(list) => LoopRange::List(list),
            Value::Map(map) => {
                self.meter.elements(map.len())?;
                if two { LoopRange::Entries(map.entries(self.session.reader())) } else { LoopRange::Keys(map.keys()) }
            }
            missing if missing.is_missing() => return Ok(Err(missing)),
            _ => return Ok(Err(Value::Error(ErrorClass::NoSuchOverload, span))),
        }))
    }

    fn next_element(&mut self) -> Option<(Value<'a>, Option<Value<'a>>)> {
        let reader = self.session.reader();
        let state = self.loops.last_mut()?;
        let at = state.next;
        state.next = at.saturating_add(1);
        Some(match &mut state.range {
            LoopRange::List(list) => (list.get(at, reader)?, None),
            LoopRange::Keys(keys) => (std::mem::replace(keys.get_mut(at)?, Value::Null), None),
            LoopRange::Entries(entries) => {
                let (key, value) = std::mem::replace(entries.get_mut(at)?, (Value::Null, Value::Null));
                (key, Some(value))
            }
            LoopRange::Indexed(list) => {
                (Value::Int(i64::try_from(at).unwrap_or(i64::MAX)), Some(list.get(at, reader)?))
            }
        })
    }

    fn call(&mut self, frame: &Frame<'a>, call: u32, span: Span) -> Result<(), ErrorClass> {
        let Some(call) = frame.code.calls.get(call as usize) else { return Ok(()) };
        let base = self.stack.len().saturating_sub(call.arguments as usize);
        let mut context = Machine::context(&mut self.meter, self.session, frame);
        let arguments = self.stack.get_mut(base..).unwrap_or_default();
        let result = if call.op == crate::functions::Op::NotStrictlyFalse {
            Value::Bool(!matches!(arguments, [Value::Bool(false)]))
        } else if let Some(missing) = arguments.iter().find(|argument| argument.is_missing()) {
            missing.clone()
        } else if arguments.first().is_some_and(|first| !call.guard.admits(first)) {
            Value::Error(ErrorClass::NoSuchOverload, span)
        } else {
            match context.apply(call, arguments) {
                Ok(value) => located(value, span),
                Err(class) if class.is_budget() => return Err(class),
                Err(class) => Value::Error(class, span),
            }
        };
        // The API server's own cost functions fail here, which nothing absorbs.
        if let Some(Value::Error(class, _)) = call.cost.list_argument().and_then(|at| arguments.get(at))
            && !context.by_specification
        {
            return Err(*class);
        }
        let cost = call.cost.charge(&mut context, arguments, &result)?;
        self.meter.charge(cost)?;
        self.stack.truncate(base);
        self.stack.push(result);
        Ok(())
    }
}

/// A variable as an expression sees it: what an optional holds has no schema any more.
fn seen<'a>(value: &Value<'a>) -> Value<'a> {
    match value {
        Value::Optional(Some(inner)) if has_schema(inner) => Value::some(inner.without_schema()),
        value => value.clone(),
    }
}

fn has_schema(value: &Value<'_>) -> bool {
    matches!(value, Value::Map(Map::Typed(..)) | Value::List(List::Typed(..) | List::TypedOwned(..)))
}

/// Errors of data get the place of the part that looked at it.
pub(crate) fn located(value: Value<'_>, span: Span) -> Value<'_> {
    match value {
        Value::Error(class, place) if place == Span::default() => Value::Error(class, span),
        value => value,
    }
}

/// A constant; its text is borrowed from the program.
fn constant_of(code: &Code, constant: u32) -> Value<'_> {
    match code.constants.get(constant as usize) {
        Some(Value::String(text)) => Value::String(crate::value::Text::Borrowed(text)),
        Some(value) => value.clone(),
        None => Value::Null,
    }
}
