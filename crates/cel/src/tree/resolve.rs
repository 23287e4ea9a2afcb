//! Finds out what names mean, and expands macros.
//!
//! One loop over a stack of tasks visits the parsed tree and writes the expanded one, so that nesting costs no stack and
//! the size of the result is limited while it grows.

mod macros;
mod names;

use std::borrow::Cow;

use crate::cost::limits::Limits;
use crate::environment::Environment;
use crate::error::{CelError, ErrorClass};
use crate::syntax::ast::{Ast, Child, NodeId, NodeKind, Range, Text};
use crate::syntax::span::Span;
use crate::tree::{Constant, Loop, SelectMode, Tree, TreeChild, TreeId, TreeKind, TreeNode};

/// Expands an expression. An unchecked one may have names that nobody knows: using them fails on evaluation.
pub(crate) fn resolve(ast: &Ast, environment: &Environment, limits: &Limits, checked: bool) -> Result<Tree, CelError> {
    let mut resolver = Resolver {
        ast,
        environment,
        limits,
        checked,
        tree: Tree::default(),
        tasks: vec![Task::Visit(ast.root())],
        results: Vec::new(),
        scope: Vec::new(),
    };
    while let Some(task) = resolver.tasks.pop() {
        resolver.carry_out(task)?;
    }
    Ok(resolver.tree)
}

struct Resolver<'a> {
    ast: &'a Ast,
    environment: &'a Environment,
    limits: &'a Limits,
    checked: bool,
    tree: Tree,
    /// What is to be done, the next one last.
    tasks: Vec<Task<'a>>,
    /// Parts that are complete and wait for what they belong to.
    results: Vec<TreeId>,
    /// The variables of loops that are visible, the innermost last.
    scope: Vec<(Cow<'a, str>, u32)>,
}

enum Task<'a> {
    Visit(NodeId),
    Constant(Constant, Span),
    Local(u32, Span),
    Select {
        field: Text,
        mode: SelectMode,
        span: Span,
    },
    /// A call with so many arguments; that of a method is complete last.
    Call {
        function: u32,
        count: usize,
        member: bool,
        span: Span,
    },
    /// `&&` or `||`.
    Logic {
        and: bool,
        count: usize,
        span: Span,
    },
    List {
        count: usize,
        flags: Range,
        span: Span,
    },
    Map {
        entries: Range,
        span: Span,
    },
    EnterLoop {
        id: u32,
        span: Span,
    },
    CheckCondition {
        id: u32,
        span: Span,
    },
    CheckStep {
        id: u32,
        span: Span,
    },
    /// Takes the five parts of a loop.
    EndLoop {
        id: u32,
        span: Span,
    },
    /// A name becomes visible.
    Open(Cow<'a, str>, u32),
    /// So many names are no longer visible.
    Close(usize),
}

impl<'a> Resolver<'a> {
    fn carry_out(&mut self, task: Task<'a>) -> Result<(), CelError> {
        match task {
            Task::Visit(id) => self.visit(id),
            Task::Constant(constant, span) => self.push(TreeKind::Constant(constant), span),
            Task::Local(slot, span) => self.push(TreeKind::Local(slot), span),
            Task::Select { field, mode, span } => {
                let operand = self.take();
                self.push(TreeKind::Select { operand, field, mode }, span)
            }
            Task::Call { function, count, member, span } => {
                let mut taken = self.take_many(count);
                if member {
                    // Arguments are checked before what a method is called on.
                    taken.rotate_right(1);
                }
                let arguments = self.children(taken.into_iter().map(|node| TreeChild { node, optional: false }));
                self.push(TreeKind::Call { function, member, arguments }, span)
            }
            Task::Logic { and, count, span } => {
                let taken = self.take_many(count);
                let terms = self.children(taken.into_iter().map(|node| TreeChild { node, optional: false }));
                self.push(if and { TreeKind::And(terms) } else { TreeKind::Or(terms) }, span)
            }
            Task::List { count, flags, span } => {
                let taken = self.take_many(count);
                let flags = self.ast.children(flags);
                let optional = |index: usize| flags.get(index).is_some_and(|child| child.optional);
                let elements = taken.into_iter().enumerate();
                let elements: Vec<TreeChild> =
                    elements.map(|(index, node)| TreeChild { node, optional: optional(index) }).collect();
                let elements = self.children(elements);
                self.push(TreeKind::List(elements), span)
            }
            Task::Map { entries, span } => {
                let flags = self.ast.children(entries);
                let taken = self.take_many(flags.len());
                let parts = taken.into_iter().zip(flags);
                let parts: Vec<TreeChild> =
                    parts.map(|(node, child)| TreeChild { node, optional: child.optional }).collect();
                let entries = self.children(parts);
                self.push(TreeKind::Map(entries), span)
            }
            Task::EnterLoop { id, span } => self.enter_loop(id, span),
            Task::CheckCondition { id, span } => {
                let condition = self.results.last().copied().unwrap_or_default();
                if let Some(entry) = self.tree.loops.get_mut(id as usize) {
                    entry.condition = condition;
                }
                self.push_point(TreeKind::CheckCondition(id), span)
            }
            Task::CheckStep { id, span } => {
                let step = self.results.last().copied().unwrap_or_default();
                if let Some(entry) = self.tree.loops.get_mut(id as usize) {
                    entry.step = step;
                }
                self.push_point(TreeKind::CheckStep(id), span)
            }
            Task::EndLoop { id, span } => {
                let parts = self.take_many(5);
                if let (Some(entry), Some(result)) = (self.tree.loops.get_mut(id as usize), parts.last()) {
                    entry.result = *result;
                }
                self.push(TreeKind::Loop(id), span)
            }
            Task::Open(name, slot) => {
                self.scope.push((name, slot));
                Ok(())
            }
            Task::Close(count) => {
                let left = self.scope.len().saturating_sub(count);
                self.scope.truncate(left);
                Ok(())
            }
        }
    }

    /// The range and the start value of a loop are complete.
    fn enter_loop(&mut self, id: u32, span: Span) -> Result<(), CelError> {
        let init = self.results.last().copied().unwrap_or_default();
        let range = self.results.iter().rev().nth(1).copied().unwrap_or_default();
        if let Some(entry) = self.tree.loops.get_mut(id as usize) {
            entry.range = range;
            entry.init = init;
        }
        self.push_point(TreeKind::EnterLoop(id), span)
    }

    fn take(&mut self) -> TreeId {
        self.results.pop().unwrap_or_default()
    }

    fn take_many(&mut self, count: usize) -> Vec<TreeId> {
        self.results.split_off(self.results.len().saturating_sub(count))
    }

    fn children(&mut self, children: impl IntoIterator<Item = TreeChild>) -> Range {
        let start = self.tree.children.len();
        self.tree.children.extend(children);
        let len = self.tree.children.len().saturating_sub(start);
        Range { start: u32::try_from(start).unwrap_or(u32::MAX), len: u32::try_from(len).unwrap_or(u32::MAX) }
    }

    /// Adds a part that something else is made of.
    fn push(&mut self, kind: TreeKind, span: Span) -> Result<(), CelError> {
        let id = u32::try_from(self.tree.nodes.len()).unwrap_or(u32::MAX);
        self.push_point(kind, span)?;
        self.results.push(id);
        Ok(())
    }

    fn push_point(&mut self, kind: TreeKind, span: Span) -> Result<(), CelError> {
        if self.tree.nodes.len() >= self.limits.nodes {
            let detail = format!("after macro expansion, the expression has more than {} parts", self.limits.nodes);
            return Err(CelError::with(ErrorClass::TooLarge, span, detail));
        }
        self.tree.nodes.push(TreeNode { kind, span });
        Ok(())
    }

    /// Puts tasks before everything else, in their order.
    fn next(&mut self, tasks: Vec<Task<'a>>) {
        self.tasks.extend(tasks.into_iter().rev());
    }

    /// A new loop with variables of its own.
    fn new_loop(&mut self, two: bool, binding: bool) -> (u32, Loop) {
        let id = u32::try_from(self.tree.loops.len()).unwrap_or(u32::MAX);
        let first = self.tree.slots;
        let entry = Loop {
            accumulator: first,
            variable: first.saturating_add(1),
            second: two.then_some(first.saturating_add(2)),
            range: 0,
            init: 0,
            condition: 0,
            step: 0,
            result: 0,
            binding,
        };
        self.tree.slots = first.saturating_add(3);
        self.tree.loops.push(entry);
        (id, entry)
    }

    fn visit(&mut self, id: NodeId) -> Result<(), CelError> {
        let node = self.ast.node(id);
        let span = node.span;
        let constant = |constant| TreeKind::Constant(constant);
        match node.kind {
            NodeKind::Null => self.push(constant(Constant::Null), span),
            NodeKind::Bool(value) => self.push(constant(Constant::Bool(value)), span),
            NodeKind::Int(value) => self.push(constant(Constant::Int(value)), span),
            NodeKind::Uint(value) => self.push(constant(Constant::Uint(value)), span),
            NodeKind::Double(value) => self.push(constant(Constant::Double(value)), span),
            NodeKind::String(text) => self.push(constant(Constant::String(text)), span),
            NodeKind::Bytes(text) => self.push(constant(Constant::Bytes(text)), span),
            NodeKind::Ident { name, root } => self.ident(self.ast.text(name), root, span),
            NodeKind::Select { operand, field, optional } => self.select(id, operand, field, optional, span),
            NodeKind::Index { operand, index, optional } => {
                self.check_optional(optional, span)?;
                let function = if optional { "_[?_]" } else { "_[_]" };
                self.operator(function, &[operand, index], span)
            }
            NodeKind::Not(operand) => self.operator("!_", &[operand], span),
            NodeKind::Negate(operand) => self.operator("-_", &[operand], span),
            NodeKind::Binary { op, left, right } => self.operator(op.function(), &[left, right], span),
            NodeKind::Conditional { condition, then, otherwise } => {
                self.operator("_?_:_", &[condition, then, otherwise], span)
            }
            NodeKind::And(terms) | NodeKind::Or(terms) => {
                let terms = self.ast.children(terms);
                let and = matches!(node.kind, NodeKind::And(_));
                self.tasks.push(Task::Logic { and, count: terms.len(), span });
                self.visit_all(terms);
                Ok(())
            }
            NodeKind::List(elements) => {
                let children = self.ast.children(elements);
                self.check_optional(children.iter().any(|child| child.optional), span)?;
                self.tasks.push(Task::List { count: children.len(), flags: elements, span });
                self.visit_all(children);
                Ok(())
            }
            NodeKind::Map(entries) => {
                let children = self.ast.children(entries);
                self.check_optional(children.iter().any(|child| child.optional), span)?;
                self.tasks.push(Task::Map { entries, span });
                self.visit_all(children);
                Ok(())
            }
            NodeKind::Message { .. } => {
                Err(CelError::with(ErrorClass::Unsupported, span, "messages of Protocol Buffers are not supported"))
            }
            NodeKind::Call { name, root, arguments } => self.call(name, root, arguments, span),
            NodeKind::MemberCall { target, name, arguments } => self.member_call(target, name, arguments, span),
        }
    }

    fn visit_all(&mut self, children: &[Child]) {
        self.tasks.extend(children.iter().rev().map(|child| Task::Visit(child.node)));
    }

    /// The syntax of optionals is there only with their library.
    fn check_optional(&self, used: bool, span: Span) -> Result<(), CelError> {
        if used && !self.environment.base.macros.optional {
            return Err(CelError::with(ErrorClass::Syntax, span, "this environment does not support optionals"));
        }
        Ok(())
    }

    fn operator(&mut self, function: &'static str, operands: &[NodeId], span: Span) -> Result<(), CelError> {
        let Some(function) = self.environment.base.function(function) else {
            return self.unknown_function(function, span);
        };
        self.tasks.push(Task::Call { function, count: operands.len(), member: false, span });
        self.tasks.extend(operands.iter().rev().map(|operand| Task::Visit(*operand)));
        Ok(())
    }

    fn unknown_function(&mut self, name: &str, span: Span) -> Result<(), CelError> {
        if self.checked {
            let detail = format!("the function `{name}` is not declared in this environment");
            return Err(CelError::with(ErrorClass::Undeclared, span, detail));
        }
        self.push(TreeKind::Failure(ErrorClass::NoSuchOverload), span)
    }

    fn call(&mut self, name: Text, root: bool, arguments: Range, span: Span) -> Result<(), CelError> {
        let text = self.ast.text(name);
        let arguments = self.ast.children(arguments);
        if text == "has"
            && !root
            && let [argument] = arguments
        {
            return self.has(argument.node, span);
        }
        let Some(function) = self.find_function(text, root) else {
            return self.unknown_function(text, span);
        };
        self.tasks.push(Task::Call { function, count: arguments.len(), member: false, span });
        self.visit_all(arguments);
        Ok(())
    }

    fn member_call(&mut self, target: NodeId, name: Text, arguments: Range, span: Span) -> Result<(), CelError> {
        let text = self.ast.text(name);
        let arguments = self.ast.children(arguments);
        if self.expand(target, text, arguments, span)? {
            return Ok(());
        }
        // Either `a.b.c` is a function, or `c` is a method of `a.b`.
        if let Some((qualified, root)) = self.qualified_name(target)
            && let Some(function) = self.find_function(&format!("{qualified}.{text}"), root)
        {
            self.tasks.push(Task::Call { function, count: arguments.len(), member: false, span });
            self.visit_all(arguments);
            return Ok(());
        }
        let Some(function) = self.find_function(text, false) else {
            return self.unknown_function(text, span);
        };
        let count = arguments.len().saturating_add(1);
        self.tasks.push(Task::Call { function, count, member: true, span });
        self.tasks.push(Task::Visit(target));
        self.visit_all(arguments);
        Ok(())
    }
}
