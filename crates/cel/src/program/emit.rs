//! Writes the code of an expression.
//!
//! A stack of tasks stands for recursion. Selections and indexes that follow each other are one chain, as they are one
//! attribute in cel-go: that decides what they cost, and what an optional in the middle means.

use std::collections::{HashMap, HashSet};

use super::code::{CallCost, CallInfo, Code, FieldMode, FieldName, Guard, Instr};
use crate::check::CheckedExpression;
use crate::cost::limits::Limits;
use crate::decl::unescape;
use crate::environment::Environment;
use crate::error::{CelError, ErrorClass};
use crate::functions::Op;
use crate::syntax::ast::Range;
use crate::syntax::span::Span;
use crate::tree::{Loop, SelectMode, TreeId, TreeKind};
use crate::types::TypeKind;
use crate::value::Value;
use crate::value::pattern::ConstantPatterns;

/// Writes the code; with notes of each part if it is to explain.
pub(crate) fn emit(
    checked: &CheckedExpression,
    environment: &Environment,
    limits: &Limits,
    patterns: &mut ConstantPatterns<'_>,
    explain: bool,
) -> Result<Code, CelError> {
    let known = super::fold::fold(checked, environment, limits)?;
    let mut emitter = Emitter {
        checked,
        environment,
        limits,
        patterns,
        places: HashMap::new(),
        explain,
        known,
        code: Code { slots: checked.tree.slots as usize, ..Code::default() },
        tasks: Vec::new(),
        labels: Vec::new(),
        names: HashMap::new(),
        bindings: HashMap::new(),
        taken: HashSet::new(),
        pending: Vec::new(),
    };
    emitter.tasks.push(Task::Visit(checked.tree.root(), Charge::Full));
    emitter.run()?;
    emitter.step(Instr::Return, Span::default());
    // Values with names are evaluated by code of their own, behind the rest.
    while let Some((slot, init, label)) = emitter.pending.pop() {
        emitter.place(label);
        emitter.tasks.push(Task::Visit(init, Charge::Full));
        emitter.run()?;
        emitter.step(Instr::LazyDone(slot), checked.tree.span(init));
    }
    Ok(emitter.finish())
}

/// Whether a chain charges for its root: a branch of a conditional and an index do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Charge {
    Full,
    Resolved,
}

type Label = u32;

enum Task {
    Visit(TreeId, Charge),
    Step(Instr, Span),
    Place(Label),
}

struct Emitter<'a, 'p, 'w> {
    checked: &'a CheckedExpression,
    environment: &'a Environment,
    limits: &'a Limits,
    patterns: &'p mut ConstantPatterns<'w>,
    /// Where patterns are that are kept, by their texts.
    places: HashMap<String, u32>,
    explain: bool,
    known: Vec<Option<Value<'static>>>,
    code: Code,
    tasks: Vec<Task>,
    /// Where labels are.
    labels: Vec<u32>,
    names: HashMap<&'a str, u32>,
    /// The labels of the code that evaluates values with names, by slot.
    bindings: HashMap<u32, Label>,
    /// Uses of accumulators that move them.
    taken: HashSet<TreeId>,
    pending: Vec<(u32, TreeId, Label)>,
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl<'a> Emitter<'a, '_, '_> {
    fn run(&mut self) -> Result<(), CelError> {
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::Visit(id, charge) => self.visit(id, charge)?,
                Task::Step(step, span) => self.step(step, span),
                Task::Place(label) => self.place(label),
            }
        }
        Ok(())
    }

    fn step(&mut self, step: Instr, span: Span) {
        self.code.steps.push(step);
        self.code.spans.push(span);
    }

    fn label(&mut self) -> Label {
        self.labels.push(u32::MAX);
        number(self.labels.len().saturating_sub(1))
    }

    fn place(&mut self, label: Label) {
        let here = number(self.code.steps.len());
        if let Some(place) = self.labels.get_mut(label as usize) {
            *place = here;
        }
    }

    /// Puts tasks before everything else, in their order.
    fn next(&mut self, tasks: Vec<Task>) {
        self.tasks.extend(tasks.into_iter().rev());
    }

    fn finish(mut self) -> Code {
        let labels = self.labels;
        let at = |label: u32| labels.get(label as usize).copied().unwrap_or(u32::MAX);
        for step in &mut self.code.steps {
            *step = match *step {
                Instr::JumpIfDone(to) => Instr::JumpIfDone(at(to)),
                Instr::And { first, end } => Instr::And { first, end: at(end) },
                Instr::Or { first, end } => Instr::Or { first, end: at(end) },
                Instr::Branch { otherwise, end } => Instr::Branch { otherwise: at(otherwise), end: at(end) },
                Instr::Jump(to) => Instr::Jump(at(to)),
                Instr::Bail { below, to } => Instr::Bail { below, to: at(to) },
                Instr::OptionalOr { end, value } => Instr::OptionalOr { end: at(end), value },
                Instr::LoopEnter { end, two } => Instr::LoopEnter { end: at(end), two },
                Instr::LoopNext { slot, second, exit } => Instr::LoopNext { slot, second, exit: at(exit) },
                Instr::LoopTest(to) => Instr::LoopTest(at(to)),
                Instr::Lazy { slot, init, charge } => Instr::Lazy { slot, init: at(init), charge },
                other => other,
            };
        }
        self.code
    }

    fn constant(&mut self, value: Value<'static>) -> u32 {
        self.code.constants.push(value);
        number(self.code.constants.len().saturating_sub(1))
    }

    fn known(&self, id: TreeId) -> Option<&Value<'static>> {
        self.known.get(id as usize).and_then(Option::as_ref)
    }

    fn visit(&mut self, id: TreeId, charge: Charge) -> Result<(), CelError> {
        let node = self.checked.tree.node(id);
        let span = node.span;
        if self.explain {
            self.step(Instr::Mark, span);
            self.tasks.push(Task::Step(Instr::Note { part: id, marked: true }, span));
        }
        if let Some(value) = self.known(id).cloned() {
            let constant = self.constant(value);
            self.step(Instr::Const(constant), span);
            return Ok(());
        }
        match node.kind {
            TreeKind::Global(_) | TreeKind::Local(_) => self.ident(id, u8::from(charge == Charge::Full), span),
            TreeKind::Select { .. } => self.chain(id, charge),
            TreeKind::Call { function, arguments, .. } => self.call(id, function, arguments, charge, span)?,
            TreeKind::And(terms) | TreeKind::Or(terms) => {
                let and = matches!(node.kind, TreeKind::And(_));
                self.logic(and, terms, span);
            }
            TreeKind::List(elements) => self.literal(elements, true, span),
            TreeKind::Map(entries) => self.literal(entries, false, span),
            TreeKind::Loop(number) => {
                if let Some(entry) = self.checked.tree.get_loop(number).copied() {
                    self.enter(&entry, span);
                }
            }
            TreeKind::Failure(class) => self.step(Instr::Fail(class), span),
            _ => {}
        }
        Ok(())
    }

    fn ident(&mut self, id: TreeId, charge: u8, span: Span) {
        let step = match self.checked.tree.kind(id) {
            TreeKind::Local(slot) if self.taken.contains(&id) => Instr::Take(slot),
            TreeKind::Local(slot) => match self.bindings.get(&slot) {
                Some(init) => Instr::Lazy { slot, init: *init, charge },
                None => Instr::Local { slot, charge },
            },
            TreeKind::Global(variable) => {
                let known = self.code.globals.iter().position(|known| *known == variable);
                let slot = known.unwrap_or_else(|| {
                    self.code.globals.push(variable);
                    self.code.globals.len().saturating_sub(1)
                });
                Instr::Global { slot: number(slot), charge }
            }
            _ => return,
        };
        self.step(step, span);
    }

    fn op(&self, id: TreeId) -> Option<(Op, Range)> {
        let TreeKind::Call { function, arguments, member } = self.checked.tree.kind(id) else { return None };
        let function = self.environment.base.functions.get(function as usize)?;
        let fitting =
            self.checked.overloads_of(id).first().and_then(|number| function.overloads.get(usize::from(*number)));
        // Without a check, the form of the call says what it means.
        let same_form = |overload: &&crate::functions::Overload| {
            overload.member == member && overload.parameters.len() == arguments.len as usize
        };
        let overload = fitting.or_else(|| function.overloads.iter().find(same_form));
        overload.map(|overload| (overload.op, arguments))
    }

    /// The one overload that a call means, if only one fits.
    fn overload(&self, id: TreeId) -> Option<usize> {
        match self.checked.overloads_of(id) {
            [one] => Some(usize::from(*one)),
            _ => None,
        }
    }

    fn field(&mut self, name: &'a str) -> u32 {
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        let unescaped = unescape(name).map(|name| name.into_owned().into_boxed_str());
        self.code.names.push(FieldName { name: name.into(), unescaped });
        let at = number(self.code.names.len().saturating_sub(1));
        self.names.insert(name, at);
        at
    }

    /// Selections and indexes down to what they start from.
    fn chain(&mut self, id: TreeId, charge: Charge) {
        let mut links = Vec::new();
        let mut at = id;
        loop {
            if at != id && self.known(at).is_some() {
                break;
            }
            match self.checked.tree.kind(at) {
                TreeKind::Select { operand, field, mode } => {
                    links.push((at, Link::Field(field, mode)));
                    at = operand;
                }
                TreeKind::Call { .. } => match self.op(at) {
                    Some((op @ (Op::Index | Op::OptionalIndex), arguments)) => {
                        let children = self.checked.tree.children(arguments);
                        let [operand, index] = children else { break };
                        links.push((at, Link::Index(index.node, op == Op::OptionalIndex)));
                        at = operand.node;
                    }
                    _ => break,
                },
                _ => break,
            }
        }
        let root = at;
        let root_span = self.checked.tree.span(root);
        let conditional = self.known(root).is_none() && matches!(self.op(root), Some((Op::Conditional, _)));
        let absolute = matches!(self.checked.tree.kind(root), TreeKind::Global(_) | TreeKind::Local(_));
        let mut tasks = vec![Task::Visit(root, if absolute { Charge::Resolved } else { Charge::Full })];
        tasks.push(Task::Step(Instr::ChainStart, root_span));
        let end = self.label();
        let mut tested = false;
        for (part, link) in links.into_iter().rev() {
            let span = self.checked.tree.span(part);
            match link {
                Link::Field(field, mode) => {
                    let name = self.field(self.checked.ast.text(field));
                    let mode = match mode {
                        SelectMode::Value => FieldMode::Value,
                        SelectMode::Optional => FieldMode::Optional,
                        SelectMode::Test => FieldMode::Test,
                    };
                    tested = mode == FieldMode::Test;
                    tasks.push(Task::Step(Instr::Field { name, mode }, span));
                }
                Link::Index(index, optional) => {
                    if let Some(value) = self.known(index).cloned() {
                        let constant = self.constant(value);
                        tasks.push(Task::Step(Instr::ConstIndex { constant, optional }, span));
                    } else {
                        tasks.push(Task::Step(Instr::JumpIfDone(end), span));
                        tasks.push(Task::Visit(index, Charge::Resolved));
                        tasks.push(Task::Step(Instr::Index { optional }, span));
                    }
                }
            }
            if self.explain && part != id {
                tasks.push(Task::Step(Instr::Note { part, marked: false }, span));
            }
        }
        tasks.push(Task::Place(end));
        let full = i8::from(!conditional && charge == Charge::Full);
        // A presence test gives back what its attribute is charged.
        let charge = if tested && charge == Charge::Full { full.saturating_sub(1) } else { full };
        tasks.push(Task::Step(Instr::ChainEnd { charge }, self.checked.tree.span(id)));
        self.next(tasks);
    }

    fn logic(&mut self, and: bool, terms: Range, span: Span) {
        let end = self.label();
        let mut tasks = Vec::new();
        for (index, term) in self.checked.tree.children(terms).iter().enumerate() {
            let first = index == 0;
            tasks.push(Task::Visit(term.node, Charge::Full));
            let step = if and { Instr::And { first, end } } else { Instr::Or { first, end } };
            tasks.push(Task::Step(step, span));
        }
        tasks.push(Task::Place(end));
        self.next(tasks);
    }

    fn literal(&mut self, parts: Range, list: bool, span: Span) {
        let children = self.checked.tree.children(parts);
        let end = self.label();
        let flags = number(self.code.flags.len());
        let mut tasks = Vec::new();
        for (index, child) in children.iter().enumerate() {
            tasks.push(Task::Visit(child.node, Charge::Full));
            if self.known(child.node).is_none() {
                let below = u16::try_from(index).unwrap_or(u16::MAX);
                tasks.push(Task::Step(Instr::Bail { below, to: end }, span));
            }
            if list || index % 2 == 0 {
                self.code.flags.push(child.optional);
            }
        }
        let count = number(children.len());
        let (step, cost) =
            if list { (Instr::List { count, flags }, 10) } else { (Instr::Map { count: count / 2, flags }, 30) };
        tasks.extend([Task::Step(step, span), Task::Place(end), Task::Step(Instr::Charge(cost), span)]);
        self.next(tasks);
    }

    fn call(
        &mut self,
        id: TreeId,
        function: u32,
        arguments: Range,
        charge: Charge,
        span: Span,
    ) -> Result<(), CelError> {
        let Some((op, _)) = self.op(id) else {
            self.step(Instr::Fail(ErrorClass::NoSuchOverload), span);
            return Ok(());
        };
        let children: Vec<TreeId> = self.checked.tree.children(arguments).iter().map(|child| child.node).collect();
        match (op, children.as_slice()) {
            (Op::Index | Op::OptionalIndex, [_, _]) => self.chain(id, charge),
            (Op::Conditional, [condition, then, otherwise]) => {
                let (other, end) = (self.label(), self.label());
                self.next(vec![
                    Task::Visit(*condition, Charge::Full),
                    Task::Step(Instr::Branch { otherwise: other, end }, span),
                    Task::Visit(*then, Charge::Resolved),
                    Task::Step(Instr::Jump(end), span),
                    Task::Place(other),
                    Task::Visit(*otherwise, Charge::Resolved),
                    Task::Place(end),
                ]);
            }
            (Op::OptionalOr | Op::OptionalOrValue, [optional, other]) => {
                let end = self.label();
                let value = op == Op::OptionalOrValue;
                self.next(vec![
                    Task::Visit(*optional, Charge::Full),
                    Task::Step(Instr::OptionalOr { end, value }, span),
                    Task::Visit(*other, Charge::Full),
                    Task::Place(end),
                ]);
            }
            (Op::In, [value, set]) if self.is_constant_set(id, *set) => {
                let constant = self.known(*set).cloned().map(|set| self.constant(set)).unwrap_or_default();
                self.next(vec![Task::Visit(*value, Charge::Full), Task::Step(Instr::Member(constant), span)]);
            }
            _ => self.plain_call(id, op, function, &children, span)?,
        }
        Ok(())
    }

    /// Whether `in` asks for a member of a list of constants, which costs nothing.
    fn is_constant_set(&self, id: TreeId, set: TreeId) -> bool {
        let Some(Value::List(list)) = self.known(set) else { return false };
        let single = self.overload(id).is_some();
        let primitive = |value: Value<'static>| {
            matches!(value, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_))
        };
        single && list.iter(crate::value::Reader::default()).all(primitive)
    }

    fn plain_call(
        &mut self,
        id: TreeId,
        op: Op,
        function: u32,
        arguments: &[TreeId],
        span: Span,
    ) -> Result<(), CelError> {
        let functions = &self.environment.base.functions;
        let declared = functions.get(function as usize);
        let overload = self.overload(id).and_then(|number| declared?.overloads.get(number)).map(|overload| overload.id);
        let name = declared.map_or("", |declared| &*declared.name);
        let result = self.checked.kind_of(id);
        let pattern = self.pattern(op, arguments)?;
        let call = CallInfo {
            op,
            arguments: number(arguments.len()),
            cost: CallCost::of(name, overload),
            guard: Guard::of(op, overload),
            result,
            pattern,
        };
        self.code.calls.push(call);
        let call = number(self.code.calls.len().saturating_sub(1));
        let end = self.label();
        // Calls of many arguments, and those with a compiled pattern, end with the first argument that has no value.
        let dispatched = overload.is_none() && !is_operator(op);
        let many = arguments.len() > 2 || op == Op::FormatText || pattern.is_some() || dispatched;
        let mut tasks = Vec::new();
        for (index, argument) in arguments.iter().enumerate() {
            tasks.push(Task::Visit(*argument, Charge::Full));
            // If it is the last one, the call is charged nevertheless.
            if many && index.saturating_add(1) < arguments.len() && self.known(*argument).is_none() {
                let below = u16::try_from(index).unwrap_or(u16::MAX);
                tasks.push(Task::Step(Instr::Bail { below, to: end }, span));
            }
        }
        tasks.extend([Task::Step(Instr::Call(call), span), Task::Place(end)]);
        self.next(tasks);
        Ok(())
    }

    /// Compiles the pattern of a call, if it is a constant.
    fn pattern(&mut self, op: Op, arguments: &[TreeId]) -> Result<Option<u32>, CelError> {
        let (Op::Matches | Op::Find | Op::FindAll, Some(at)) = (op, arguments.get(1)) else { return Ok(None) };
        let Some(Value::String(text)) = self.known.get(*at as usize).and_then(Option::as_ref) else { return Ok(None) };
        if let Some(place) = self.places.get(&**text) {
            return Ok(Some(*place));
        }
        match self.patterns.get(text, self.limits, self.checked.tree.span(*at)) {
            // The others are compiled on evaluation, which is part of its cost.
            Ok(pattern) if !self.code.has_room_for(pattern) => Ok(None),
            Ok(pattern) => {
                let place = number(self.code.patterns.len());
                self.code.patterns.push(pattern.clone());
                self.places.insert((**text).to_owned(), place);
                Ok(Some(place))
            }
            Err(error) if self.environment.base.rules.refuse_bad_constants || error.class == ErrorClass::TooLarge => {
                Err(error)
            }
            Err(_) => Ok(None),
        }
    }

    fn enter(&mut self, entry: &Loop, span: Span) {
        if entry.binding {
            let init = self.label();
            self.bindings.insert(entry.accumulator, init);
            self.pending.push((entry.accumulator, entry.init, init));
            self.step(Instr::Forget(entry.accumulator), span);
            self.tasks.push(Task::Visit(entry.result, Charge::Full));
            return;
        }
        self.take_accumulator(entry);
        let (next, exit, end) = (self.label(), self.label(), self.label());
        let mut tasks = vec![
            Task::Visit(entry.range, Charge::Full),
            Task::Step(Instr::LoopEnter { end, two: entry.second.is_some() }, self.checked.tree.span(entry.range)),
            Task::Visit(entry.init, Charge::Full),
            Task::Step(Instr::Store(entry.accumulator), span),
            Task::Place(next),
            Task::Step(Instr::LoopNext { slot: entry.variable, second: entry.second, exit }, span),
        ];
        if !matches!(self.known(entry.condition), Some(Value::Bool(true))) {
            tasks.push(Task::Visit(entry.condition, Charge::Full));
            tasks.push(Task::Step(Instr::LoopTest(exit), span));
        }
        tasks.extend([
            Task::Visit(entry.step, Charge::Full),
            Task::Step(Instr::Store(entry.accumulator), span),
            Task::Step(Instr::Jump(next), span),
            Task::Place(exit),
            Task::Step(Instr::LoopLeave, span),
            Task::Visit(entry.result, Charge::Full),
            Task::Place(end),
        ]);
        self.next(tasks);
    }

    /// Lists and maps that a loop collects grow in place.
    fn take_accumulator(&mut self, entry: &Loop) {
        let mut step = entry.step;
        if let Some((Op::Conditional, arguments)) = self.op(step)
            && let Some(then) = self.checked.tree.child(arguments, 1)
        {
            step = then;
        }
        if let Some((Op::Add | Op::MapInsert, arguments)) = self.op(step)
            && let Some(first) = self.checked.tree.child(arguments, 0)
            && matches!(self.checked.tree.kind(first), TreeKind::Local(slot) if slot == entry.accumulator)
            && matches!(self.checked.kind_of(entry.init), TypeKind::List(_) | TypeKind::Map(..))
        {
            self.taken.insert(first);
        }
    }
}

/// Whether one function carries out all overloads: such a call looks at both its arguments.
fn is_operator(op: Op) -> bool {
    matches!(
        op,
        Op::Add
            | Op::Subtract
            | Op::Multiply
            | Op::Divide
            | Op::Modulo
            | Op::Less
            | Op::LessEqual
            | Op::Greater
            | Op::GreaterEqual
            | Op::Equal
            | Op::NotEqual
            | Op::In
            | Op::Sort
            | Op::SortByKeys
    )
}

enum Link {
    Field(crate::syntax::ast::Text, SelectMode),
    Index(TreeId, bool),
}
