//! Macros become loops and calls, as cel-go expands them: their parts decide what they cost.

use std::borrow::Cow;

use super::{Resolver, Task};
use crate::error::{CelError, ErrorClass};
use crate::syntax::ast::{Child, NodeId, NodeKind, Range};
use crate::syntax::span::Span;
use crate::tree::Constant;

/// What a loop does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    All,
    Exists,
    ExistsOne,
    List,
    Map,
    MapEntry,
}

/// What gives a name to a value: what comes before the part that uses it, and what comes behind.
struct Binding<'a> {
    slot: u32,
    tasks: Vec<Task<'a>>,
    end: [Task<'a>; 2],
}

impl<'a> Resolver<'a> {
    /// Expands a macro that is called on something; false if there is none of this name.
    pub(super) fn expand(
        &mut self,
        target: NodeId,
        name: &str,
        arguments: &'a [Child],
        span: Span,
    ) -> Result<bool, CelError> {
        let macros = self.environment.base.macros;
        let two = macros.two_variables;
        match (name, arguments) {
            ("all", [x, p]) => self.quantifier(Form::All, target, &[*x], *p, span)?,
            ("exists", [x, p]) => self.quantifier(Form::Exists, target, &[*x], *p, span)?,
            ("exists_one", [x, p]) => self.quantifier(Form::ExistsOne, target, &[*x], *p, span)?,
            ("existsOne", [x, p]) if macros.exists_one => self.quantifier(Form::ExistsOne, target, &[*x], *p, span)?,
            ("map", [x, t]) => self.collect(Form::List, target, &[*x], None, *t, span)?,
            ("map", [x, p, t]) => self.collect(Form::List, target, &[*x], Some(*p), *t, span)?,
            ("filter", [x, p]) => self.collect(Form::List, target, &[*x], Some(*p), *x, span)?,
            ("all", [k, v, p]) if two => self.quantifier(Form::All, target, &[*k, *v], *p, span)?,
            ("exists", [k, v, p]) if two => self.quantifier(Form::Exists, target, &[*k, *v], *p, span)?,
            ("exists_one" | "existsOne", [k, v, p]) if two => {
                self.quantifier(Form::ExistsOne, target, &[*k, *v], *p, span)?;
            }
            ("transformList", [k, v, t]) if two => self.collect(Form::List, target, &[*k, *v], None, *t, span)?,
            ("transformList", [k, v, p, t]) if two => {
                self.collect(Form::List, target, &[*k, *v], Some(*p), *t, span)?;
            }
            ("transformMap", [k, v, t]) if two => self.collect(Form::Map, target, &[*k, *v], None, *t, span)?,
            ("transformMap", [k, v, p, t]) if two => self.collect(Form::Map, target, &[*k, *v], Some(*p), *t, span)?,
            ("transformMapEntry", [k, v, t]) if two => {
                self.collect(Form::MapEntry, target, &[*k, *v], None, *t, span)?;
            }
            ("transformMapEntry", [k, v, p, t]) if two => {
                self.collect(Form::MapEntry, target, &[*k, *v], Some(*p), *t, span)?;
            }
            ("optMap", [x, t]) if macros.optional => self.optional(target, *x, *t, true, span)?,
            ("optFlatMap", [x, t]) if macros.optional => self.optional(target, *x, *t, false, span)?,
            ("sortBy", [x, key]) if macros.sort_by => self.sort_by(target, *x, *key, span)?,
            ("bind", [x, init, body]) if macros.bind && self.is_name(target, "cel") => {
                self.bind(*x, *init, *body, span)?;
            }
            ("block", [list, body]) if macros.bind && self.is_name(target, "cel") => self.block(*list, *body, span)?,
            ("index" | "iterVar" | "accuVar", _) if macros.bind && self.is_name(target, "cel") => {
                let Some(name) = self.block_name(name, arguments) else { return Ok(false) };
                self.ident(&name, false, span)?;
            }
            ("greatest" | "least", _) if macros.math && self.is_name(target, "math") => {
                self.extreme(name == "greatest", arguments, span)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn is_name(&self, id: NodeId, wanted: &str) -> bool {
        matches!(self.ast.node(id).kind, NodeKind::Ident { name, root: false } if self.ast.text(name) == wanted)
    }

    /// The name of a variable that a macro declares.
    fn variable(&self, argument: Child) -> Result<Cow<'a, str>, CelError> {
        let node = self.ast.node(argument.node);
        let name = match node.kind {
            NodeKind::Ident { name, root: false } => Some(Cow::Borrowed(self.ast.text(name))),
            NodeKind::MemberCall { target, name, arguments } if self.is_name(target, "cel") => {
                let arguments = self.ast.children(arguments);
                let allowed = self.environment.base.macros.bind;
                self.block_name(self.ast.text(name), arguments).filter(|_| allowed).map(Cow::Owned)
            }
            _ => None,
        };
        let wrong = |detail: &str| CelError::with(ErrorClass::Syntax, node.span, detail);
        let name = name.ok_or_else(|| wrong("the variable of a macro must be a simple name"))?;
        if name == "__result__" {
            return Err(wrong("this name is used by the macro itself"));
        }
        Ok(name)
    }

    /// The loop of a macro: `step` is put together between the start and the end.
    fn open_loop(
        &mut self,
        target: NodeId,
        variables: &[Child],
        init: Vec<Task<'a>>,
        span: Span,
    ) -> Result<(u32, u32, Vec<Task<'a>>), CelError> {
        let names: Vec<Cow<'a, str>> =
            variables.iter().map(|variable| self.variable(*variable)).collect::<Result<_, _>>()?;
        if let [first, second] = names.as_slice()
            && first == second
        {
            return Err(CelError::with(
                ErrorClass::Syntax,
                span,
                "the two variables of a macro must have different names",
            ));
        }
        let (id, entry) = self.new_loop(variables.len() == 2, false);
        let mut tasks = vec![Task::Visit(target)];
        tasks.extend(init);
        tasks.push(Task::EnterLoop { id, span });
        let slots = [Some(entry.variable), entry.second];
        tasks.extend(names.into_iter().zip(slots.into_iter().flatten()).map(|(name, slot)| Task::Open(name, slot)));
        Ok((id, entry.accumulator, tasks))
    }

    fn function(&self, name: &str) -> u32 {
        self.environment.base.function(name).unwrap_or(u32::MAX)
    }

    fn call_task(&self, name: &str, count: usize, span: Span) -> Task<'a> {
        Task::Call { function: self.function(name), count, member: false, span }
    }

    fn quantifier(
        &mut self,
        form: Form,
        target: NodeId,
        variables: &[Child],
        predicate: Child,
        span: Span,
    ) -> Result<(), CelError> {
        let constant = |constant| Task::Constant(constant, span);
        let init = match form {
            Form::All => Constant::Bool(true),
            Form::Exists => Constant::Bool(false),
            _ => Constant::Int(0),
        };
        let (id, accumulator, mut tasks) = self.open_loop(target, variables, vec![constant(init)], span)?;
        let accumulated = || Task::Local(accumulator, span);
        let not_false = self.call_task("@not_strictly_false", 1, span);
        match form {
            Form::All => tasks.extend([accumulated(), not_false]),
            Form::Exists => tasks.extend([accumulated(), self.call_task("!_", 1, span), not_false]),
            _ => tasks.push(constant(Constant::Bool(true))),
        }
        tasks.push(Task::CheckCondition { id, span });
        match form {
            Form::All | Form::Exists => tasks.extend([
                accumulated(),
                Task::Visit(predicate.node),
                Task::Logic { and: form == Form::All, count: 2, span },
            ]),
            _ => tasks.extend([
                Task::Visit(predicate.node),
                accumulated(),
                constant(Constant::Int(1)),
                self.call_task("_+_", 2, span),
                accumulated(),
                self.call_task("_?_:_", 3, span),
            ]),
        }
        tasks.extend([Task::CheckStep { id, span }, Task::Close(variables.len()), accumulated()]);
        if form == Form::ExistsOne {
            tasks.extend([constant(Constant::Int(1)), self.call_task("_==_", 2, span)]);
        }
        tasks.push(Task::EndLoop { id, span });
        self.next(tasks);
        Ok(())
    }

    /// Lists and maps that are collected element by element.
    fn collect(
        &mut self,
        form: Form,
        target: NodeId,
        variables: &[Child],
        filter: Option<Child>,
        transform: Child,
        span: Span,
    ) -> Result<(), CelError> {
        let empty = if form == Form::List {
            Task::List { count: 0, flags: Range::default(), span }
        } else {
            Task::Map { entries: Range::default(), span }
        };
        let (id, accumulator, mut tasks) = self.open_loop(target, variables, vec![empty], span)?;
        let accumulated = || Task::Local(accumulator, span);
        tasks.extend([Task::Constant(Constant::Bool(true), span), Task::CheckCondition { id, span }]);
        tasks.extend(filter.map(|filter| Task::Visit(filter.node)));
        tasks.push(accumulated());
        match form {
            Form::Map => {
                let key = self.tree.loops.last().map_or(0, |entry| entry.variable);
                tasks.extend([
                    Task::Local(key, span),
                    Task::Visit(transform.node),
                    self.call_task("cel.@mapInsert", 3, span),
                ]);
            }
            Form::MapEntry => {
                tasks.extend([Task::Visit(transform.node), self.call_task("cel.@mapInsert", 2, span)]);
            }
            _ => tasks.extend([
                Task::Visit(transform.node),
                Task::List { count: 1, flags: Range::default(), span },
                self.call_task("_+_", 2, span),
            ]),
        }
        if filter.is_some() {
            tasks.extend([accumulated(), self.call_task("_?_:_", 3, span)]);
        }
        tasks.extend([Task::CheckStep { id, span }, Task::Close(variables.len())]);
        tasks.extend([accumulated(), Task::EndLoop { id, span }]);
        self.next(tasks);
        Ok(())
    }

    /// A name for a value: a loop over nothing, whose start value is taken when it is first used.
    fn open_binding(
        &mut self,
        name: Cow<'a, str>,
        init: impl IntoIterator<Item = Task<'a>>,
        span: Span,
    ) -> Binding<'a> {
        let (id, entry) = self.new_loop(false, true);
        let mut tasks = vec![Task::List { count: 0, flags: Range::default(), span }];
        tasks.extend(init);
        tasks.extend([
            Task::EnterLoop { id, span },
            Task::Constant(Constant::Bool(false), span),
            Task::CheckCondition { id, span },
            Task::Local(entry.accumulator, span),
            Task::CheckStep { id, span },
            Task::Open(name, entry.accumulator),
        ]);
        Binding { slot: entry.accumulator, tasks, end: [Task::Close(1), Task::EndLoop { id, span }] }
    }

    fn bind(&mut self, variable: Child, init: Child, body: Child, span: Span) -> Result<(), CelError> {
        let name = self.variable(variable)?;
        let Binding { mut tasks, end, .. } = self.open_binding(name, [Task::Visit(init.node)], span);
        tasks.push(Task::Visit(body.node));
        tasks.extend(end);
        self.next(tasks);
        Ok(())
    }

    /// `cel.block([a, b], c)`: names `@index0`, `@index1` for what is used more than once.
    fn block(&mut self, list: Child, body: Child, span: Span) -> Result<(), CelError> {
        let node = self.ast.node(list.node);
        let NodeKind::List(elements) = node.kind else {
            return Err(CelError::with(ErrorClass::Syntax, node.span, "`cel.block` takes a list of expressions"));
        };
        let (mut tasks, mut ends) = (Vec::new(), Vec::new());
        for (index, element) in self.ast.children(elements).iter().enumerate() {
            let name = Cow::Owned(format!("@index{index}"));
            let binding = self.open_binding(name, [Task::Visit(element.node)], span);
            tasks.extend(binding.tasks);
            ends.extend(binding.end.into_iter().rev());
        }
        tasks.push(Task::Visit(body.node));
        tasks.extend(ends.into_iter().rev());
        self.next(tasks);
        Ok(())
    }

    /// The names that `cel.index`, `cel.iterVar` and `cel.accuVar` stand for.
    fn block_name(&self, function: &str, arguments: &[Child]) -> Option<String> {
        let number = |child: &Child| match self.ast.node(child.node).kind {
            NodeKind::Int(number) => Some(number),
            _ => None,
        };
        let numbers: Vec<i64> = arguments.iter().map(number).collect::<Option<_>>()?;
        match (function, numbers.as_slice()) {
            ("index", [number]) => Some(format!("@index{number}")),
            ("iterVar", [one, two]) => Some(format!("@it:{one}:{two}")),
            ("accuVar", [one, two]) => Some(format!("@ac:{one}:{two}")),
            _ => None,
        }
    }

    /// `optMap` and `optFlatMap`: what they are called on is evaluated once to ask for its value, and once more for it.
    fn optional(
        &mut self,
        target: NodeId,
        variable: Child,
        body: Child,
        wrap: bool,
        span: Span,
    ) -> Result<(), CelError> {
        let name = self.variable(variable)?;
        let method =
            |resolver: &Self, name| Task::Call { function: resolver.function(name), count: 1, member: true, span };
        let mut tasks = vec![Task::Visit(target), method(self, "hasValue")];
        let value = method(self, "value");
        let binding = self.open_binding(name, [Task::Visit(target), value], span);
        tasks.extend(binding.tasks);
        tasks.push(Task::Visit(body.node));
        tasks.extend(binding.end);
        if wrap {
            tasks.push(self.call_task("optional.of", 1, span));
        }
        tasks.extend([self.call_task("optional.none", 0, span), self.call_task("_?_:_", 3, span)]);
        self.next(tasks);
        Ok(())
    }

    fn sort_by(&mut self, target: NodeId, variable: Child, key: Child, span: Span) -> Result<(), CelError> {
        let node = self.ast.node(target);
        let constant = matches!(
            node.kind,
            NodeKind::Null
                | NodeKind::Bool(_)
                | NodeKind::Int(_)
                | NodeKind::Uint(_)
                | NodeKind::Double(_)
                | NodeKind::String(_)
                | NodeKind::Bytes(_)
                | NodeKind::Map(_)
        );
        if constant {
            return Err(CelError::with(ErrorClass::Syntax, node.span, "`sortBy` is called on a list"));
        }
        let name = self.variable(variable)?;
        let function = self.function("@sortByAssociatedKeys");
        let input = Cow::Borrowed("@__sortBy_input__");
        let Binding { slot: input, mut tasks, end } = self.open_binding(input, [Task::Visit(target)], span);
        let (id, entry) = self.new_loop(false, false);
        let accumulated = || Task::Local(entry.accumulator, span);
        tasks.extend([
            Task::Local(input, span),
            Task::List { count: 0, flags: Range::default(), span },
            Task::EnterLoop { id, span },
            Task::Open(name, entry.variable),
            Task::Constant(Constant::Bool(true), span),
            Task::CheckCondition { id, span },
            accumulated(),
            Task::Visit(key.node),
            Task::List { count: 1, flags: Range::default(), span },
            self.call_task("_+_", 2, span),
            Task::CheckStep { id, span },
            Task::Close(1),
            accumulated(),
            Task::EndLoop { id, span },
            Task::Local(input, span),
            Task::Call { function, count: 2, member: true, span },
        ]);
        tasks.extend(end);
        self.next(tasks);
        Ok(())
    }

    /// `math.greatest` and `math.least`: of one, two or more numbers, or of a list of them.
    fn extreme(&mut self, greatest: bool, arguments: &[Child], span: Span) -> Result<(), CelError> {
        let wrong = |detail: &str| Err(CelError::with(ErrorClass::Syntax, span, detail));
        let function = if greatest { "math.@max" } else { "math.@min" };
        let all_numeric = |children: &[Child]| children.iter().all(|child| self.may_be_number(child.node));
        match arguments {
            [] => return wrong("at least one number is needed"),
            [one] => {
                let list = match self.ast.node(one.node).kind {
                    NodeKind::List(elements) => {
                        let elements = self.ast.children(elements);
                        !elements.is_empty() && all_numeric(elements)
                    }
                    _ => self.may_be_number(one.node),
                };
                if !list {
                    return wrong("this is neither a number nor a list of numbers");
                }
            }
            more if !all_numeric(more) => return wrong("the arguments are numbers"),
            _ => {}
        }
        let mut tasks: Vec<Task<'a>> = arguments.iter().map(|argument| Task::Visit(argument.node)).collect();
        let mut count = arguments.len();
        if count > 2 {
            tasks.push(Task::List { count, flags: Range::default(), span });
            count = 1;
        }
        tasks.push(self.call_task(function, count, span));
        self.next(tasks);
        Ok(())
    }

    /// Whether a part is a number, or not known to be none.
    fn may_be_number(&self, id: NodeId) -> bool {
        !matches!(
            self.ast.node(id).kind,
            NodeKind::Null
                | NodeKind::Bool(_)
                | NodeKind::String(_)
                | NodeKind::Bytes(_)
                | NodeKind::List(_)
                | NodeKind::Map(_)
                | NodeKind::Message { .. }
        )
    }
}
