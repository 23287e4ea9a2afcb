//! The value and cost of every part of an expression, for objects that belong to whoever asks.

use std::collections::BTreeMap;

use crate::cost::limits::Budget;
use crate::error::CelError;
use crate::eval::Machine;
use crate::eval::evaluation::Evaluation;
use crate::eval::session::Session;
use crate::program::Program;
use crate::syntax::span::Span;
use crate::tree::TreeId;
use crate::value::{Reader, Value};

/// An evaluation with everything on the way.
#[derive(Debug, Clone)]
pub struct Explanation<'a> {
    /// What the whole expression gave.
    pub evaluation: Evaluation<'a>,
    /// Its parts in the order of the text, each before what it consists of.
    pub parts: Vec<ExplainedPart>,
}

/// A part of the expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedPart {
    /// Where it is written.
    pub span: Span,
    /// How deep it is nested in other parts.
    pub depth: usize,
    /// What it gave the last time, as CEL would write it.
    pub value: String,
    /// What it cost, all times together, with everything it consists of.
    pub cost: u64,
    /// How often it was evaluated: in a loop, once for each element.
    pub times: u64,
}

/// How much of a value is shown.
const SHOWN: usize = 400;

/// How many parts are kept.
const PARTS: usize = 10_000;

/// Collects the values of parts.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    marks: Vec<u64>,
    parts: BTreeMap<TreeId, Record>,
}

#[derive(Debug)]
struct Record {
    value: String,
    cost: u64,
    times: u64,
}

impl Recorder {
    /// A part begins.
    pub(crate) fn mark(&mut self, cost: u64) {
        self.marks.push(cost);
    }

    /// A part is complete.
    pub(crate) fn note(&mut self, part: TreeId, marked: bool, cost: u64, value: &Value<'_>, reader: Reader<'_>) {
        let before = if marked { self.marks.pop() } else { self.marks.last().copied() };
        let cost = cost.saturating_sub(before.unwrap_or(cost));
        if self.parts.len() >= PARTS && !self.parts.contains_key(&part) {
            return;
        }
        let shown = value.show(reader, SHOWN);
        let record = self.parts.entry(part).or_insert(Record { value: String::new(), cost: 0, times: 0 });
        record.value = shown;
        record.cost = record.cost.saturating_add(cost);
        record.times = record.times.saturating_add(1);
    }
}

impl Program {
    /// Evaluates and keeps the value and cost of every part. Values are in the result: not for data of others.
    pub fn explain<'a>(&'a self, session: &Session<'a>, budget: &Budget) -> Result<Explanation<'a>, CelError> {
        let code = self.explaining_code()?;
        let machine = Machine::new(session, budget).recording(Recorder::default());
        let mut finished = machine.run(self, code);
        let records = finished.recorder.take().map(|recorder| recorder.parts).unwrap_or_default();
        // Macros are made of parts that nobody wrote; what they are together is the last of them.
        let mut by_place: BTreeMap<(u32, std::cmp::Reverse<u32>), (TreeId, Record)> = BTreeMap::new();
        for (part, record) in records {
            let span = self.checked.tree.span(part);
            by_place.insert((span.start, std::cmp::Reverse(span.end)), (part, record));
        }
        let mut open: Vec<u32> = Vec::new();
        let parts = by_place.into_iter().map(|((start, end), (_, record))| {
            while open.last().is_some_and(|last| *last <= start) {
                open.pop();
            }
            let depth = open.len();
            open.push(end.0);
            ExplainedPart {
                span: Span::new(start, end.0),
                depth,
                value: record.value,
                cost: record.cost,
                times: record.times,
            }
        });
        let parts = parts.collect();
        Ok(Explanation { evaluation: Evaluation::of(finished), parts })
    }
}
