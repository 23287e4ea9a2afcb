//! What the API server checks beyond types: literals have exactly one type, constants are what they are used as, and the
//! arguments of `format` fit their clauses.

use super::CheckedExpression;
use crate::cost::limits::Limits;
use crate::environment::Environment;
use crate::error::{CelError, ErrorClass};
use crate::syntax::ast::Range;
use crate::tree::{Constant, TreeId, TreeKind};
use crate::types::{Type, TypeKind};
use crate::value::convert;
use crate::value::format_text::{Clause, Piece, pieces};
use crate::value::pattern::ConstantPatterns;

/// Checks a whole expression.
pub(super) fn validate(
    checked: &CheckedExpression,
    environment: &Environment,
    limits: &Limits,
    patterns: &mut ConstantPatterns<'_>,
) -> Result<(), CelError> {
    let validator = Validator { checked, environment, limits };
    let exempt = validator.exempt_parts();
    for id in 0..u32::try_from(checked.tree.nodes.len()).unwrap_or(u32::MAX) {
        match checked.tree.kind(id) {
            TreeKind::List(elements) if !exempt.contains(&id) => validator.list(elements)?,
            TreeKind::Map(entries) if !exempt.contains(&id) => validator.map(entries)?,
            TreeKind::Call { function, member, arguments } => {
                validator.call(id, function, member, arguments, patterns)?;
            }
            _ => {}
        }
    }
    Ok(())
}

struct Validator<'a> {
    checked: &'a CheckedExpression,
    environment: &'a Environment,
    limits: &'a Limits,
}

impl Validator<'_> {
    fn name(&self, function: u32) -> &str {
        self.environment.base.functions.get(function as usize).map_or("", |function| &*function.name)
    }

    /// Literals within `format`: its arguments have any types.
    fn exempt_parts(&self) -> std::collections::HashSet<TreeId> {
        let tree = &self.checked.tree;
        let mut exempt = std::collections::HashSet::new();
        let mut inside = vec![false; tree.nodes.len()];
        // Parts stand before what they belong to, so that going backwards sees the outer ones first.
        for id in (0..tree.nodes.len()).rev() {
            let number = u32::try_from(id).unwrap_or(u32::MAX);
            let kind = tree.kind(number);
            let formats = matches!(kind, TreeKind::Call { function, .. } if self.name(function) == "format");
            let within = inside.get(id).copied().unwrap_or(false);
            if within {
                exempt.insert(number);
            }
            if within || formats {
                for part in parts(tree, kind) {
                    if let Some(flag) = inside.get_mut(part as usize) {
                        *flag = true;
                    }
                }
            }
        }
        exempt
    }

    fn same(&self, first: Type, id: TreeId, found: Type) -> Result<(), CelError> {
        if first == found {
            return Ok(());
        }
        let table = &self.checked.table;
        let detail = format!(
            "elements must have exactly one type: this is {}, the first is {}; wrap each in dyn() to mix them",
            table.show(found),
            table.show(first)
        );
        Err(CelError::with(ErrorClass::Type, self.checked.tree.span(id), detail))
    }

    fn element(&self, id: TreeId, optional: bool) -> Type {
        let of = self.checked.type_of(id);
        match self.checked.table.kind(of) {
            TypeKind::Optional(value) if optional => value,
            _ => of,
        }
    }

    fn list(&self, elements: Range) -> Result<(), CelError> {
        let mut first = None;
        for element in self.checked.tree.children(elements) {
            let found = self.element(element.node, element.optional);
            self.same(*first.get_or_insert(found), element.node, found)?;
        }
        Ok(())
    }

    fn map(&self, entries: Range) -> Result<(), CelError> {
        let (mut keys, mut values) = (None, None);
        for entry in self.checked.tree.children(entries).chunks(2) {
            if let [key, value] = entry {
                let found = self.checked.type_of(key.node);
                self.same(*keys.get_or_insert(found), key.node, found)?;
                let found = self.element(value.node, key.optional);
                self.same(*values.get_or_insert(found), value.node, found)?;
            }
        }
        Ok(())
    }

    fn text(&self, id: TreeId) -> Option<&str> {
        match self.checked.tree.kind(id) {
            TreeKind::Constant(Constant::String(text)) => Some(self.checked.ast.text(text)),
            _ => None,
        }
    }

    fn call(
        &self,
        id: TreeId,
        function: u32,
        member: bool,
        arguments: Range,
        patterns: &mut ConstantPatterns<'_>,
    ) -> Result<(), CelError> {
        let tree = &self.checked.tree;
        // The first argument in parentheses, which is the text and not the pattern of `matches(text, pattern)`.
        let first = tree.child(arguments, usize::from(member));
        let name = self.name(function);
        let invalid = |at: TreeId, what: &str| {
            Err(CelError::with(ErrorClass::InvalidConstant, tree.span(at), format!("this is not a valid {what}")))
        };
        if !self.environment.base.rules.validate_literals && name != "format" {
            return Ok(());
        }
        match (name, first) {
            ("duration", Some(first)) => match tree.kind(first) {
                TreeKind::Constant(Constant::String(text))
                    if convert::duration(self.checked.ast.text(text)).is_none() =>
                {
                    invalid(first, "duration")
                }
                TreeKind::Constant(Constant::Int(_)) => invalid(first, "duration"),
                _ => Ok(()),
            },
            ("timestamp", Some(first)) => match tree.kind(first) {
                TreeKind::Constant(Constant::String(text))
                    if convert::timestamp(self.checked.ast.text(text)).is_err() =>
                {
                    invalid(first, "timestamp")
                }
                TreeKind::Constant(Constant::Int(seconds)) if convert::timestamp_of_seconds(seconds).is_none() => {
                    invalid(first, "timestamp")
                }
                _ => Ok(()),
            },
            ("matches", Some(first)) => match self.text(first) {
                Some(text) => patterns.get(text, self.limits, tree.span(first)).map(drop),
                None => Ok(()),
            },
            ("format", Some(first)) if member => self.format(id, tree.child(arguments, 0), first),
            _ => Ok(()),
        }
    }

    /// A constant text with its arguments in a list literal.
    fn format(&self, id: TreeId, text: Option<TreeId>, list: TreeId) -> Result<(), CelError> {
        let tree = &self.checked.tree;
        let (Some(text), TreeKind::List(elements)) = (text.and_then(|text| self.text(text)), tree.kind(list)) else {
            return Ok(());
        };
        let elements = tree.children(elements);
        let wrong =
            |at: TreeId, detail: String| Err(CelError::with(ErrorClass::InvalidConstant, tree.span(at), detail));
        let mut used = 0_usize;
        for piece in pieces(text) {
            let clause = match piece {
                Ok(Piece::Clause(clause)) => clause,
                Ok(Piece::Literal(_)) => continue,
                Err(detail) => return wrong(id, detail.to_owned()),
            };
            let Some(argument) = elements.get(used) else {
                return wrong(id, "`format` has fewer arguments than clauses".to_owned());
            };
            used = used.saturating_add(1);
            if !self.clause_takes(&clause, argument.node) {
                let of = self.checked.table.show(self.checked.type_of(argument.node));
                return wrong(argument.node, format!("`%{}` does not take {of}", clause.letter));
            }
        }
        if used < elements.len() {
            return wrong(id, "`format` has more arguments than clauses".to_owned());
        }
        Ok(())
    }

    fn clause_takes(&self, clause: &Clause, id: TreeId) -> bool {
        use TypeKind as K;
        let kind = self.checked.kind_of(id);
        if kind == K::Dyn {
            return true;
        }
        match clause.letter {
            'd' | 'o' => matches!(kind, K::Int | K::Uint),
            'f' | 'e' => matches!(kind, K::Double | K::String),
            'b' => matches!(kind, K::Int | K::Uint | K::Bool),
            'x' | 'X' => matches!(kind, K::Int | K::Uint | K::String | K::Bytes),
            _ => self.is_showable(id),
        }
    }

    /// Whether `%s` takes a part; of a literal, every element counts.
    fn is_showable(&self, id: TreeId) -> bool {
        let tree = &self.checked.tree;
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            let showable = matches!(
                self.checked.kind_of(id),
                TypeKind::Dyn
                    | TypeKind::List(_)
                    | TypeKind::Map(..)
                    | TypeKind::Int
                    | TypeKind::Uint
                    | TypeKind::Double
                    | TypeKind::Bool
                    | TypeKind::String
                    | TypeKind::Timestamp
                    | TypeKind::Bytes
                    | TypeKind::Duration
                    | TypeKind::Type(_)
                    | TypeKind::Null
            );
            if !showable {
                return false;
            }
            if let TreeKind::List(range) | TreeKind::Map(range) = tree.kind(id) {
                open.extend(tree.children(range).iter().map(|child| child.node));
            }
        }
        true
    }
}

/// What a part consists of.
fn parts(tree: &crate::tree::Tree, kind: TreeKind) -> Vec<TreeId> {
    match kind {
        TreeKind::Select { operand, .. } => vec![operand],
        TreeKind::Call { arguments: range, .. }
        | TreeKind::And(range)
        | TreeKind::Or(range)
        | TreeKind::List(range)
        | TreeKind::Map(range) => tree.children(range).iter().map(|child| child.node).collect(),
        TreeKind::Loop(id) => tree
            .get_loop(id)
            .map_or_else(Vec::new, |entry| vec![entry.range, entry.init, entry.condition, entry.step, entry.result]),
        _ => Vec::new(),
    }
}
