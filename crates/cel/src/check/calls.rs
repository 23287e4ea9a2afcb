//! Which overloads of a function fit the types of its arguments.

use super::Checker;
use crate::error::{CelError, ErrorClass};
use crate::syntax::ast::Range;
use crate::syntax::span::Span;
use crate::types::Type;

impl Checker<'_> {
    /// The type of a call: that of the overload that fits, or dynamic if several with different results do.
    pub(super) fn call(&mut self, function: u32, member: bool, arguments: Range, span: Span) -> Result<Type, CelError> {
        let environment = self.environment;
        let Some(function) = environment.base.functions.get(function as usize) else {
            return Err(CelError::new(ErrorClass::Undeclared, span));
        };
        let arguments: Vec<Type> = self.tree.children(arguments).iter().map(|child| self.of(child.node)).collect();
        let mut result = None;
        for (number, overload) in function.overloads.iter().enumerate() {
            if overload.member != member || overload.parameters.len() != arguments.len() {
                continue;
            }
            let variables: Vec<Type> = (0..overload.type_parameters).map(|_| self.unifier.fresh()).collect();
            let wanted: Vec<Type> =
                overload.parameters.iter().map(|of| self.unifier.instantiate(*of, &variables)).collect();
            if !self.unifier.assign_all(arguments.iter().copied().zip(wanted)) {
                continue;
            }
            self.overloads.push(u16::try_from(number).unwrap_or(u16::MAX));
            let given = self.unifier.instantiate(overload.result, &variables);
            let given = self.unifier.resolve(given);
            result = Some(match result {
                None => given,
                Some(before) if before == given || before == Type::DYN => before,
                Some(_) => Type::DYN,
            });
        }
        if let Some(result) = result {
            return Ok(result);
        }
        let closed: Vec<Type> = arguments.iter().map(|of| self.unifier.close(*of)).collect();
        self.refuse(span, |checker| {
            let shown: Vec<String> = closed.iter().map(|of| checker.unifier.table.show(*of)).collect();
            mismatch(&function.name, member, &shown)
        })?;
        Ok(Type::DYN)
    }
}

/// What is said of a call that no overload fits.
fn mismatch(name: &str, member: bool, types: &[String]) -> String {
    let operator = name.replace(['_', '@'], "");
    match (types, member) {
        ([first, rest @ ..], true) => format!("`{name}` of {first} does not take ({})", rest.join(", ")),
        ([left, right], _) if !operator.starts_with(|char: char| char.is_ascii_alphanumeric()) => {
            format!("`{operator}` is not defined between {left} and {right}")
        }
        _ => format!(
            "`{}` does not take ({})",
            if name.starts_with(['_', '!', '-']) { &operator } else { name },
            types.join(", ")
        ),
    }
}
