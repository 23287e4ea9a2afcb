//! What names mean: variables of loops, variables of the environment, types, fields.

use super::{Resolver, Task};
use crate::environment::VariableSource;
use crate::error::{CelError, ErrorClass};
use crate::syntax::ast::{NodeId, NodeKind, Text};
use crate::syntax::span::Span;
use crate::tree::{SelectMode, TreeKind};

impl Resolver<'_> {
    /// A name by itself.
    pub(super) fn ident(&mut self, name: &str, root: bool, span: Span) -> Result<(), CelError> {
        if !root && let Some(slot) = self.local(name) {
            return self.push(TreeKind::Local(slot), span);
        }
        if let Some(kind) = self.global(name, root, span)? {
            return self.push(kind, span);
        }
        if self.checked {
            let detail = format!("`{name}` is not declared in this environment");
            return Err(CelError::with(ErrorClass::Undeclared, span, detail));
        }
        self.push(TreeKind::Failure(ErrorClass::NotBound), span)
    }

    pub(super) fn local(&self, name: &str) -> Option<u32> {
        self.scope.iter().rev().find(|(known, _)| known == name).map(|(_, slot)| *slot)
    }

    /// A variable or type of the environment, looked up from the innermost namespace outwards.
    fn global(&self, name: &str, root: bool, span: Span) -> Result<Option<TreeKind>, CelError> {
        let found = self.candidates(name, root, |candidate| {
            let variables = &self.environment.variables;
            if let Some(at) = variables.iter().position(|variable| *variable.name == *candidate) {
                return Some((u32::try_from(at).unwrap_or(u32::MAX), None));
            }
            self.environment.base.type_names.get(candidate).map(|named| (0, Some(*named)))
        });
        let Some((number, named)) = found else { return Ok(None) };
        if let Some(named) = named {
            return Ok(Some(TreeKind::TypeName(named)));
        }
        let source = self.environment.variables.get(number as usize).map(|variable| variable.source);
        if source == Some(VariableSource::Unsupported) {
            let detail = format!("`{name}` is not supported: it needs the API server");
            return Err(CelError::with(ErrorClass::Unsupported, span, detail));
        }
        Ok(Some(TreeKind::Global(number)))
    }

    pub(super) fn find_function(&self, name: &str, root: bool) -> Option<u32> {
        self.candidates(name, root, |candidate| self.environment.base.function(candidate))
    }

    /// Tries a name in each namespace: `a.b.x`, `a.x`, `x`.
    fn candidates<T>(&self, name: &str, root: bool, mut find: impl FnMut(&str) -> Option<T>) -> Option<T> {
        let mut container = if root { "" } else { self.environment.container.as_str() };
        while !container.is_empty() {
            if let Some(found) = find(&format!("{container}.{name}")) {
                return Some(found);
            }
            container = container.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
        find(name)
    }

    /// The dotted name that a part is, if it consists of nothing but names; and whether a dot stands before it.
    pub(super) fn qualified_name(&self, id: NodeId) -> Option<(String, bool)> {
        let mut names: Vec<&str> = Vec::new();
        let mut at = id;
        loop {
            match self.ast.node(at).kind {
                NodeKind::Ident { name, root } => {
                    names.push(self.ast.text(name));
                    names.reverse();
                    return Some((names.join("."), root));
                }
                NodeKind::Select { operand, field, optional: false } => {
                    names.push(self.ast.text(field));
                    at = operand;
                }
                _ => return None,
            }
        }
    }

    /// A selection: the dotted name of a variable or type, or a field.
    pub(super) fn select(
        &mut self,
        id: NodeId,
        operand: NodeId,
        field: Text,
        optional: bool,
        span: Span,
    ) -> Result<(), CelError> {
        self.check_optional(optional, span)?;
        self.check_quoted(field, span)?;
        if !optional && let Some((name, root)) = self.qualified_name(id) {
            let first = name.split('.').next().unwrap_or_default();
            let shadowed = !root && self.local(first).is_some();
            if !shadowed && let Some(kind) = self.global(&name, root, span)? {
                return self.push(kind, span);
            }
        }
        let mode = if optional { SelectMode::Optional } else { SelectMode::Value };
        self.tasks.push(Task::Select { field, mode, span });
        self.tasks.push(Task::Visit(operand));
        Ok(())
    }

    /// `has(a.b)`.
    pub(super) fn has(&mut self, argument: NodeId, span: Span) -> Result<(), CelError> {
        let NodeKind::Select { operand, field, optional: false } = self.ast.node(argument).kind else {
            let detail = "`has` takes the selection of a field, such as `has(a.b)`";
            return Err(CelError::with(ErrorClass::Syntax, self.ast.node(argument).span, detail));
        };
        self.check_quoted(field, span)?;
        self.tasks.push(Task::Select { field, mode: SelectMode::Test, span });
        self.tasks.push(Task::Visit(operand));
        Ok(())
    }

    /// Names between backticks are there only where the environment has them.
    fn check_quoted(&self, field: Text, span: Span) -> Result<(), CelError> {
        let before = field.start.checked_sub(1).and_then(|at| self.ast.pool.as_bytes().get(at as usize));
        if before == Some(&b'`') && !self.environment.base.rules.quoted_names {
            return Err(CelError::with(
                ErrorClass::Syntax,
                span,
                "this environment does not support names in backticks",
            ));
        }
        Ok(())
    }
}
