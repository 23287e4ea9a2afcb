//! Variables that nothing can give a value are refused, as OPA does; the engine notices some of them on evaluation only, and
//! then says so in the message of a violation.
//!
//! A variable gets a value where it is assigned or unified, in the brackets of a reference, as the output of a call, or
//! behind `some … in`; not below `not`. This finds what has no such place at all, and is content with any: whether
//! values arrive in time is left to the engine.

use std::collections::BTreeSet;

use regorus::unstable::{AssignOp, Expr, Literal, Module, Query, Rule, RuleHead};

use super::builtins::{self, Support};
use super::error::{RegoError, RegoErrorKind};
use super::syntax::{self, Part};

type Names<'m> = BTreeSet<&'m str>;

/// Checks every rule of a module.
pub(crate) fn check(name: &str, module: &Module) -> Result<(), RegoError> {
    let mut known: Names<'_> = ["input", "data", "_"].into();
    known.extend(module.policy.iter().filter_map(|rule| Some(syntax::reference(syntax::rule_name(rule).0)?.0)));
    for import in &module.imports {
        known.extend(import.r#as.as_ref().map(regorus::unstable::Span::text));
        known.extend(last_name(import.refr.as_ref()));
    }
    module.policy.iter().try_for_each(|rule| check_rule(rule, &known)).map_err(|(variable, place)| {
        RegoError::at(RegoErrorKind::UnsafeVariable, name, place, format!("var {variable} is unsafe"))
    })
}

/// A variable without a value, and its place.
type Unsafe = (String, (u32, u32));

fn last_name(refr: &Expr) -> Option<&str> {
    match refr {
        Expr::RefDot { field, .. } => Some(field.0.text()),
        Expr::RefBrack { index, .. } => Some(index.span().text()),
        Expr::Var { span, .. } => Some(span.text()),
        _ => None,
    }
}

fn check_rule(rule: &Rule, known: &Names<'_>) -> Result<(), Unsafe> {
    let Rule::Spec { head, bodies, .. } = rule else { return Ok(()) };
    let mut outer = known.clone();
    // What the head makes of the values of a body.
    let mut terms: Vec<&Expr> = Vec::new();
    let assign = match head {
        RuleHead::Compr { refr, assign, .. } => {
            terms.extend(syntax::indexes(refr.as_ref()));
            assign.as_ref()
        }
        RuleHead::Set { refr, key, .. } => {
            terms.extend(syntax::indexes(refr.as_ref()));
            terms.extend(key.iter().map(AsRef::as_ref));
            None
        }
        RuleHead::Func { args, assign, .. } => {
            for argument in args {
                add_pattern(argument.as_ref(), &mut outer);
            }
            assign.as_ref()
        }
    };
    let value = assign.map(|assign| assign.value.as_ref());
    if bodies.is_empty() {
        terms.extend(value);
        return terms.into_iter().try_for_each(|term| check_uses(Part::Expr(term), &outer));
    }
    for (number, body) in bodies.iter().enumerate() {
        let own = body.assign.as_ref().map(|assign| assign.value.as_ref());
        let value = own.or(value.filter(|_| number == 0));
        let terms: Vec<&Expr> = terms.iter().copied().chain(value).collect();
        check_query(body.query.as_ref(), &terms, &outer)?;
    }
    Ok(())
}

/// Checks a query, and terms that are made of its values.
fn check_query(query: &Query, terms: &[&Expr], outer: &Names<'_>) -> Result<(), Unsafe> {
    let mut known = outer.clone();
    for statement in &query.stmts {
        match &statement.literal {
            Literal::SomeVars { .. } | Literal::NotExpr { .. } => {}
            Literal::SomeIn { key, value, collection, .. } => {
                key.iter().chain([value]).for_each(|pattern| add_pattern(pattern.as_ref(), &mut known));
                add_values(collection.as_ref(), &mut known);
            }
            Literal::Expr { expr, .. } => add_values(expr.as_ref(), &mut known),
            Literal::Every { domain, .. } => add_values(domain.as_ref(), &mut known),
        }
    }
    for statement in &query.stmts {
        match &statement.literal {
            Literal::SomeVars { .. } => {}
            Literal::SomeIn { collection, .. } => check_uses(Part::Expr(collection.as_ref()), &known)?,
            Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => {
                check_uses(Part::Expr(expr.as_ref()), &known)?;
            }
            Literal::Every { key, value, domain, query, .. } => {
                check_uses(Part::Expr(domain.as_ref()), &known)?;
                let mut inner = known.clone();
                inner.extend(key.iter().map(regorus::unstable::Span::text));
                inner.insert(value.text());
                check_query(query.as_ref(), &[], &inner)?;
            }
        }
        for modifier in &statement.with_mods {
            check_uses(Part::Expr(modifier.r#as.as_ref()), &known)?;
        }
    }
    terms.iter().try_for_each(|term| check_uses(Part::Expr(term), &known))
}

/// The variables of a pattern: those of arrays and objects, and not those below references or calls.
fn add_pattern<'m>(pattern: &'m Expr, known: &mut Names<'m>) {
    syntax::walk(Part::Expr(pattern), &mut |part| match part {
        Part::Expr(Expr::Var { span, .. }) => known.insert(span.text()),
        Part::Expr(Expr::Array { .. } | Expr::Object { .. } | Expr::Set { .. }) => true,
        _ => false,
    });
}

/// Whether the last argument of a call may be its output: the functions of the language are known.
fn may_have_output(function: &Expr, arguments: usize) -> bool {
    let name = syntax::constant_path(function).unwrap_or_default().join(".");
    match builtins::support(&name) {
        Some(Support::Arity(arity)) => arguments > arity,
        Some(_) | None => true,
    }
}

/// The variables that an expression can give a value.
fn add_values<'m>(expr: &'m Expr, known: &mut Names<'m>) {
    syntax::walk(Part::Expr(expr), &mut |part| {
        let Part::Expr(expr) = part else { return false };
        match expr {
            // They have values of their own.
            Expr::ArrayCompr { .. } | Expr::SetCompr { .. } | Expr::ObjectCompr { .. } => return false,
            Expr::AssignExpr { op, lhs, rhs, .. } => {
                add_pattern(lhs.as_ref(), known);
                if matches!(op, AssignOp::Eq) {
                    add_pattern(rhs.as_ref(), known);
                }
            }
            Expr::Call { fcn, params, .. } if may_have_output(fcn.as_ref(), params.len()) => {
                params.last().into_iter().for_each(|last| add_pattern(last.as_ref(), known));
            }
            Expr::RefDot { .. } | Expr::RefBrack { .. } => {
                for index in syntax::indexes(expr) {
                    add_pattern(index, known);
                }
            }
            _ => {}
        }
        true
    });
}

/// Every variable must be known, those of comprehensions in their own queries.
fn check_uses(part: Part<'_>, known: &Names<'_>) -> Result<(), Unsafe> {
    let mut found = Ok(());
    syntax::walk(part, &mut |part| {
        let Part::Expr(expr) = part else { return false };
        let variable = |expr: &Expr| match expr {
            Expr::Var { span, .. } if !known.contains(span.text()) => {
                Err((span.text().to_owned(), (span.line, span.col)))
            }
            _ => Ok(()),
        };
        let checked = match expr {
            Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
                check_query(query.as_ref(), &[term.as_ref()], known)
            }
            Expr::ObjectCompr { key, value, query, .. } => {
                check_query(query.as_ref(), &[key.as_ref(), value.as_ref()], known)
            }
            // The name of a function is no variable.
            Expr::Call { params, .. } => {
                params.iter().try_for_each(|argument| check_uses(Part::Expr(argument.as_ref()), known))
            }
            expr => variable(syntax::first_part(expr)),
        };
        let own_scope = matches!(
            expr,
            Expr::ArrayCompr { .. } | Expr::SetCompr { .. } | Expr::ObjectCompr { .. } | Expr::Call { .. }
        );
        if found.is_ok() {
            found = checked;
        }
        found.is_ok() && !own_scope
    });
    found
}
