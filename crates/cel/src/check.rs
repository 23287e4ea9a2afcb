//! Finds the type of every part, and which overloads of its function a call may mean.
//!
//! One pass over the expanded tree, in the order of cel-go's checker. An expression that does not type-check is refused
//! with the place of the first part that does not fit.

mod calls;
mod validate;

use crate::cost::limits::{Limits, RegexWork};
use crate::decl::Decl;
use crate::environment::{Environment, ResultType};
use crate::error::{CelError, ErrorClass};
use crate::program::list_memory;
use crate::syntax::ast::{Ast, Range};
use crate::syntax::span::Span;
use crate::tree::resolve::resolve;
use crate::tree::{Constant, SelectMode, Tree, TreeId, TreeKind};
use crate::types::{Type, TypeKind, TypeTable, Unifier};
use crate::value::pattern::ConstantPatterns;

/// An expression with a type for every part.
#[derive(Debug)]
pub struct CheckedExpression {
    pub(crate) ast: Ast,
    pub(crate) tree: Tree,
    pub(crate) types: Vec<Type>,
    pub(crate) table: TypeTable,
    /// The overloads that each call may mean, as numbers within its function.
    pub(crate) overloads: Vec<u16>,
    /// Which of them belong to which part.
    pub(crate) overload_ranges: Vec<Range>,
}

/// Checks an expression in an environment.
pub fn check(ast: Ast, environment: &Environment, limits: &Limits) -> Result<CheckedExpression, CelError> {
    let mut work = RegexWork::new(limits.regex_work);
    check_mode(ast, environment, limits, true, &mut ConstantPatterns::new(&mut work))
}

/// The same, or nothing but the resolution of names: types that do not fit fail on evaluation.
pub(crate) fn check_mode(
    ast: Ast,
    environment: &Environment,
    limits: &Limits,
    checked: bool,
    patterns: &mut ConstantPatterns<'_>,
) -> Result<CheckedExpression, CelError> {
    let tree = resolve(&ast, environment, limits, checked)?;
    let table = TypeTable::extending(&environment.types);
    let mut typing = Checker {
        environment,
        ast: &ast,
        tree: &tree,
        types: Vec::with_capacity(tree.nodes.len()),
        slots: vec![Type::DYN; tree.slots as usize],
        unifier: Unifier::new(table, limits.type_steps),
        overloads: Vec::new(),
        ranges: Vec::with_capacity(tree.nodes.len()),
        strict: checked,
    };
    for id in 0..tree.nodes.len() {
        typing.node(u32::try_from(id).unwrap_or(u32::MAX))?;
        if typing.unifier.is_exhausted() || typing.unifier.table.is_too_deep() {
            let detail = "the types of the expression are too large to check";
            return Err(CelError::with(ErrorClass::TooLarge, tree.span(tree.root()), detail));
        }
    }
    let Checker { mut types, mut unifier, overloads, ranges, .. } = typing;
    for of in &mut types {
        *of = unifier.close(*of);
    }
    let checked_expression =
        CheckedExpression { ast, tree, types, table: unifier.table, overloads, overload_ranges: ranges };
    if checked {
        checked_expression.check_result(environment)?;
        if environment.base.rules.homogeneous {
            validate::validate(&checked_expression, environment, limits, patterns)?;
        }
    }
    Ok(checked_expression)
}

impl CheckedExpression {
    /// Bytes of memory that it takes, at most.
    pub(crate) fn memory(&self) -> usize {
        let Ast { pool, blobs, nodes, children, .. } = &self.ast;
        [
            pool.capacity(),
            blobs.capacity(),
            list_memory(nodes),
            list_memory(children),
            list_memory(&self.tree.nodes),
            list_memory(&self.tree.children),
            list_memory(&self.tree.loops),
            list_memory(&self.types),
            self.table.own_memory(),
            list_memory(&self.overloads),
            list_memory(&self.overload_ranges),
        ]
        .into_iter()
        .fold(0, usize::saturating_add)
    }

    pub(crate) fn type_of(&self, id: TreeId) -> Type {
        self.types.get(id as usize).copied().unwrap_or(Type::DYN)
    }

    pub(crate) fn kind_of(&self, id: TreeId) -> TypeKind {
        self.table.kind(self.type_of(id))
    }

    pub(crate) fn overloads_of(&self, id: TreeId) -> &[u16] {
        let range = self.overload_ranges.get(id as usize).copied().unwrap_or_default();
        let start = range.start as usize;
        self.overloads.get(start..start.saturating_add(range.len as usize)).unwrap_or_default()
    }

    /// The text that was checked.
    pub fn source(&self) -> &str {
        self.ast.source()
    }

    /// The type of the result, as it is written in messages.
    pub fn result_type(&self) -> String {
        self.table.show(self.type_of(self.tree.root()))
    }

    fn check_result(&self, environment: &Environment) -> Result<(), CelError> {
        let result = self.kind_of(self.tree.root());
        let (fits, wanted) = match environment.result {
            ResultType::Any => (true, ""),
            ResultType::Bool => (result == TypeKind::Bool, "bool"),
            ResultType::BoolOrDyn => (matches!(result, TypeKind::Bool | TypeKind::Dyn), "bool"),
            ResultType::String => (result == TypeKind::String, "string"),
        };
        if fits {
            return Ok(());
        }
        let detail = format!("the expression must return a {wanted}, not {}", self.result_type());
        Err(CelError::with(ErrorClass::Type, self.tree.span(self.tree.root()), detail))
    }
}

struct Checker<'a> {
    environment: &'a Environment,
    ast: &'a Ast,
    tree: &'a Tree,
    types: Vec<Type>,
    /// The types of the variables of loops.
    slots: Vec<Type>,
    unifier: Unifier,
    overloads: Vec<u16>,
    ranges: Vec<Range>,
    /// Whether what does not fit is refused.
    strict: bool,
}

impl Checker<'_> {
    fn node(&mut self, id: TreeId) -> Result<(), CelError> {
        let node = self.tree.node(id);
        let start = u32::try_from(self.overloads.len()).unwrap_or(u32::MAX);
        let found = match node.kind {
            TreeKind::Constant(constant) => type_of_constant(constant),
            TreeKind::TypeName(named) => self.unifier.table.intern(TypeKind::Type(named)),
            TreeKind::Global(number) => {
                let variable = self.environment.variables.get(number as usize);
                variable.map_or(Type::DYN, |variable| variable.value_type)
            }
            TreeKind::Local(slot) => self.slots.get(slot as usize).copied().unwrap_or(Type::DYN),
            TreeKind::Select { operand, field, mode } => {
                let name = self.ast.text(field);
                let selected = self.select(operand, name, mode == SelectMode::Optional, node.span)?;
                if mode == SelectMode::Test { Type::BOOL } else { self.unifier.resolve(selected) }
            }
            TreeKind::Call { function, member, arguments } => self.call(function, member, arguments, node.span)?,
            TreeKind::And(terms) | TreeKind::Or(terms) => self.logic(terms)?,
            TreeKind::List(elements) => self.list(elements)?,
            TreeKind::Map(entries) => self.map(entries)?,
            TreeKind::EnterLoop(id) => self.enter_loop(id)?,
            TreeKind::CheckCondition(id) => {
                let condition = self.tree.get_loop(id).map_or(0, |entry| entry.condition);
                self.assert(condition, Type::BOOL)?
            }
            TreeKind::CheckStep(id) => {
                let (step, init) = self.tree.get_loop(id).map_or((0, 0), |entry| (entry.step, entry.init));
                let wanted = self.of(init);
                self.assert(step, wanted)?
            }
            TreeKind::Loop(id) => {
                let result = self.tree.get_loop(id).map_or(0, |entry| entry.result);
                let result = self.of(result);
                self.unifier.resolve(result)
            }
            TreeKind::Failure(_) => Type::DYN,
        };
        self.types.push(found);
        let end = u32::try_from(self.overloads.len()).unwrap_or(u32::MAX);
        self.ranges.push(Range { start, len: end.saturating_sub(start) });
        Ok(())
    }

    /// The type of a part that was checked before.
    fn of(&self, id: TreeId) -> Type {
        self.types.get(id as usize).copied().unwrap_or(Type::DYN)
    }

    /// Refuses an expression, unless it is not checked.
    fn refuse(&self, span: Span, detail: impl FnOnce(&Self) -> String) -> Result<(), CelError> {
        if self.strict {
            return Err(CelError::with(ErrorClass::Type, span, detail(self)));
        }
        Ok(())
    }

    /// A part must have a type.
    fn assert(&mut self, id: TreeId, wanted: Type) -> Result<Type, CelError> {
        let found = self.of(id);
        if !self.unifier.assign(wanted, found) {
            let (wanted, found) = (self.unifier.close(wanted), self.unifier.close(found));
            self.refuse(self.tree.span(id), |checker| {
                let table = &checker.unifier.table;
                format!("this must be {}, not {}", table.show(wanted), table.show(found))
            })?;
        }
        Ok(Type::DYN)
    }

    fn select(&mut self, operand: TreeId, field: &str, optional: bool, span: Span) -> Result<Type, CelError> {
        let operand = self.of(operand);
        let operand = self.unifier.resolve(operand);
        let (target, was_optional) = match self.unifier.table.kind(operand) {
            TypeKind::Optional(value) => (value, true),
            _ => (operand, false),
        };
        let found = match self.unifier.table.kind(target) {
            TypeKind::Map(_, value) => value,
            TypeKind::Object(id) => {
                let decl = self.environment.decl.as_ref().and_then(|root| root.find(id));
                let keywords = self.environment.base.rules.keywords_as_fields;
                match decl.and_then(|decl: &Decl| decl.field(field, keywords)) {
                    Some(found) => found.type_of(&mut self.unifier.table),
                    None => return self.undefined(field, span),
                }
            }
            TypeKind::Variables => {
                let variables = &self.environment.policy_variables;
                match variables.iter().rev().find(|(name, _)| **name == *field) {
                    Some((_, found)) => *found,
                    None => return self.undefined(field, span),
                }
            }
            TypeKind::Variable(_) => {
                self.unifier.assign(Type::DYN, target);
                Type::DYN
            }
            TypeKind::Dyn | TypeKind::Error => Type::DYN,
            _ => {
                self.refuse(span, |checker| {
                    format!("a value of type {} has no fields", checker.unifier.table.show(target))
                })?;
                Type::DYN
            }
        };
        Ok(if optional || was_optional { self.unifier.table.optional(found) } else { found })
    }

    fn undefined(&self, field: &str, span: Span) -> Result<Type, CelError> {
        self.refuse(span, |_| format!("the object has no field `{field}` that expressions can use"))?;
        Ok(Type::DYN)
    }

    fn logic(&mut self, terms: Range) -> Result<Type, CelError> {
        for term in self.tree.children(terms) {
            let found = self.of(term.node);
            if !self.unifier.assign(found, Type::BOOL) {
                let found = self.unifier.close(found);
                self.refuse(self.tree.span(term.node), |checker| {
                    format!("this must be bool, not {}", checker.unifier.table.show(found))
                })?;
            }
        }
        Ok(Type::BOOL)
    }

    fn list(&mut self, elements: Range) -> Result<Type, CelError> {
        let mut joined = None;
        for element in self.tree.children(elements) {
            let found = self.element(element.node, element.optional)?;
            joined = Some(self.join(joined, found));
        }
        let element = joined.unwrap_or_else(|| self.unifier.fresh());
        Ok(self.unifier.table.list(element))
    }

    /// The type of an element; that of its value if it is optional.
    fn element(&mut self, id: TreeId, optional: bool) -> Result<Type, CelError> {
        let found = self.of(id);
        if !optional {
            return Ok(found);
        }
        match self.unifier.table.kind(found) {
            TypeKind::Optional(value) => Ok(value),
            TypeKind::Dyn => Ok(found),
            _ => {
                self.refuse(self.tree.span(id), |checker| {
                    format!("this must be an optional, not {}", checker.unifier.table.show(found))
                })?;
                Ok(found)
            }
        }
    }

    /// The type of elements together.
    fn join(&mut self, before: Option<Type>, found: Type) -> Type {
        let Some(before) = before else { return found };
        if self.unifier.assign(before, found) {
            // By the specification `null` takes the type of what it stands for; cel-go takes the last one.
            return match (before, found) {
                (Type::NULL, of) | (of, Type::NULL) if self.environment.base.rules.by_specification => of,
                _ => self.unifier.most_general(before, found),
            };
        }
        Type::DYN
    }

    fn map(&mut self, entries: Range) -> Result<Type, CelError> {
        let (mut keys, mut values) = (None, None);
        for entry in self.tree.children(entries).chunks(2) {
            if let [key, value] = entry {
                let found = self.of(key.node);
                keys = Some(self.join(keys, found));
                let found = self.element(value.node, key.optional)?;
                values = Some(self.join(values, found));
            }
        }
        let key = keys.unwrap_or_else(|| self.unifier.fresh());
        let value = values.unwrap_or_else(|| self.unifier.fresh());
        Ok(self.unifier.table.map(key, value))
    }

    fn enter_loop(&mut self, id: u32) -> Result<Type, CelError> {
        let Some(entry) = self.tree.get_loop(id).copied() else { return Ok(Type::DYN) };
        let range = self.of(entry.range);
        let range = self.unifier.resolve(range);
        let (first, second) = match self.unifier.table.kind(range) {
            TypeKind::List(element) if entry.second.is_some() => (Type::INT, element),
            TypeKind::List(element) => (element, Type::DYN),
            TypeKind::Map(key, value) => (key, value),
            TypeKind::Dyn | TypeKind::Error | TypeKind::Variable(_) => {
                self.unifier.assign(Type::DYN, range);
                (Type::DYN, Type::DYN)
            }
            _ => {
                self.refuse(self.tree.span(entry.range), |checker| {
                    let table = &checker.unifier.table;
                    format!("a macro needs a list or map, not {}", table.show(range))
                })?;
                (Type::DYN, Type::DYN)
            }
        };
        let accumulator = self.of(entry.init);
        for (slot, of) in
            [(Some(entry.variable), first), (entry.second, second), (Some(entry.accumulator), accumulator)]
        {
            if let Some(known) = slot.and_then(|slot| self.slots.get_mut(slot as usize)) {
                *known = of;
            }
        }
        Ok(Type::DYN)
    }
}

fn type_of_constant(constant: Constant) -> Type {
    match constant {
        Constant::Null => Type::NULL,
        Constant::Bool(_) => Type::BOOL,
        Constant::Int(_) => Type::INT,
        Constant::Uint(_) => Type::UINT,
        Constant::Double(_) => Type::DOUBLE,
        Constant::String(_) => Type::STRING,
        Constant::Bytes(_) => Type::BYTES,
    }
}
