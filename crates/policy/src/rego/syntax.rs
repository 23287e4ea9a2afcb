//! The syntax tree of a module, walked without recursion: references may be as long as a text.

use regorus::Source;
use regorus::unstable::{Expr, Literal, Module, Parser, Query, Ref, Rule, RuleBody, RuleHead};

use super::error::{RegoError, RegoErrorKind};
use super::{MAX_COLUMN, MAX_LINES, MAX_MODULE_BYTES, RegoVersion};

/// Parses a module.
pub(crate) fn parse(name: &str, text: &str, version: RegoVersion) -> Result<Module, RegoError> {
    let wrong = |error: &dyn std::fmt::Display| RegoError::of_engine(RegoErrorKind::Syntax, name, &error.to_string());
    let source = source(name, text)?;
    let mut parser = Parser::new(&source).map_err(|error| wrong(&error))?;
    parser.set_max_col(MAX_COLUMN);
    if version == RegoVersion::V1 {
        parser.enable_rego_v1().map_err(|error| wrong(&error))?;
    }
    parser.parse().map_err(|error| wrong(&error))
}

/// A text as the engine keeps it; refused if it is over a limit.
pub(crate) fn source(name: &str, text: &str) -> Result<Source, RegoError> {
    let limit = |what: String| Err(RegoError::of_module(RegoErrorKind::Limit, name, what));
    if text.len() > MAX_MODULE_BYTES.get() {
        return limit(format!("the module has {} bytes; at most {MAX_MODULE_BYTES} are read", text.len()));
    }
    if text.lines().count() > MAX_LINES.get() {
        return limit(format!("the module has more than {MAX_LINES} lines"));
    }
    Source::from_contents_with_limits(name.to_owned(), text.to_owned(), MAX_MODULE_BYTES, MAX_LINES)
        .map_err(|error| RegoError::of_engine(RegoErrorKind::Limit, name, &error.to_string()))
}

/// A part of a tree that has parts itself.
#[derive(Clone, Copy)]
pub(crate) enum Part<'m> {
    Expr(&'m Expr),
    Query(&'m Query),
}

/// Calls `visit` for a part and everything below it, outer parts first. What `visit` returns says whether to go on
/// below a part.
pub(crate) fn walk<'m>(start: Part<'m>, visit: &mut dyn FnMut(Part<'m>) -> bool) {
    let mut stack = vec![start];
    let mut below = Vec::new();
    while let Some(part) = stack.pop() {
        if !visit(part) {
            continue;
        }
        match part {
            Part::Expr(expr) => children(expr, &mut below),
            Part::Query(query) => query_parts(query, &mut below),
        }
        // The first child is on top of the stack.
        stack.extend(below.drain(..).rev());
    }
}

/// The parts directly below an expression, in the order of the text.
pub(crate) fn children<'m>(expr: &'m Expr, out: &mut Vec<Part<'m>>) {
    let mut push = |expr: &'m Ref<Expr>| out.push(Part::Expr(expr.as_ref()));
    match expr {
        Expr::String { .. }
        | Expr::RawString { .. }
        | Expr::Number { .. }
        | Expr::Bool { .. }
        | Expr::Null { .. }
        | Expr::Var { .. } => {}
        Expr::Array { items, .. } | Expr::Set { items, .. } => items.iter().for_each(push),
        Expr::Object { fields, .. } => fields.iter().for_each(|(_, key, value)| {
            push(key);
            push(value);
        }),
        Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
            push(term);
            out.push(Part::Query(query.as_ref()));
        }
        Expr::ObjectCompr { key, value, query, .. } => {
            push(key);
            push(value);
            out.push(Part::Query(query.as_ref()));
        }
        Expr::Call { fcn, params, .. } => {
            push(fcn);
            params.iter().for_each(push);
        }
        Expr::UnaryExpr { expr, .. } => push(expr),
        // A reference is one thing: its parts are what stands in brackets, and what it begins with unless that is a name.
        Expr::RefDot { .. } | Expr::RefBrack { .. } => {
            let first = first_part(expr);
            if !matches!(first, Expr::Var { .. }) {
                out.push(Part::Expr(first));
            }
            out.extend(index_parts(expr));
        }
        Expr::BinExpr { lhs, rhs, .. }
        | Expr::BoolExpr { lhs, rhs, .. }
        | Expr::ArithExpr { lhs, rhs, .. }
        | Expr::AssignExpr { lhs, rhs, .. } => {
            push(lhs);
            push(rhs);
        }
        Expr::Membership { key, value, collection, .. } => {
            if let Some(key) = key {
                push(key);
            }
            push(value);
            push(collection);
        }
    }
}

/// The parts directly below a query.
fn query_parts<'m>(query: &'m Query, out: &mut Vec<Part<'m>>) {
    for stmt in &query.stmts {
        match &stmt.literal {
            Literal::SomeVars { .. } => {}
            Literal::SomeIn { key, value, collection, .. } => {
                out.extend(key.iter().map(|key| Part::Expr(key.as_ref())));
                out.push(Part::Expr(value.as_ref()));
                out.push(Part::Expr(collection.as_ref()));
            }
            Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => out.push(Part::Expr(expr.as_ref())),
            Literal::Every { domain, query, .. } => {
                out.push(Part::Expr(domain.as_ref()));
                out.push(Part::Query(query.as_ref()));
            }
        }
        for modifier in &stmt.with_mods {
            out.push(Part::Expr(modifier.refr.as_ref()));
            out.push(Part::Expr(modifier.r#as.as_ref()));
        }
    }
}

/// The parts of a rule: what its head refers to, and its bodies.
pub(crate) fn rule_parts(rule: &Rule) -> Vec<Part<'_>> {
    match rule {
        Rule::Default { value, .. } => vec![Part::Expr(value.as_ref())],
        Rule::Spec { head, bodies, .. } => {
            let mut parts = Vec::new();
            match head {
                RuleHead::Compr { refr, assign, .. } => {
                    parts.extend(index_parts(refr.as_ref()));
                    parts.extend(assign.iter().map(|assign| Part::Expr(assign.value.as_ref())));
                }
                RuleHead::Set { refr, key, .. } => {
                    parts.extend(index_parts(refr.as_ref()));
                    parts.extend(key.iter().map(|key| Part::Expr(key.as_ref())));
                }
                RuleHead::Func { args, assign, .. } => {
                    parts.extend(args.iter().map(|arg| Part::Expr(arg.as_ref())));
                    parts.extend(assign.iter().map(|assign| Part::Expr(assign.value.as_ref())));
                }
            }
            for RuleBody { assign, query, .. } in bodies {
                parts.extend(assign.iter().map(|assign| Part::Expr(assign.value.as_ref())));
                parts.push(Part::Query(query.as_ref()));
            }
            parts
        }
    }
}

/// What a reference begins with; the expression itself if it is none.
pub(crate) fn first_part(expr: &Expr) -> &Expr {
    let mut first = expr;
    while let Expr::RefDot { refr, .. } | Expr::RefBrack { refr, .. } = first {
        first = refr.as_ref();
    }
    first
}

/// Where an expression begins.
pub(crate) fn place(expr: &Expr) -> (u32, u32) {
    let span = first_part(expr).span();
    (span.line, span.col)
}

/// What stands in the brackets of a rule's name, such as `x` of `p[x]`; the name itself refers to nothing.
fn index_parts(refr: &Expr) -> impl Iterator<Item = Part<'_>> {
    indexes(refr).into_iter().map(Part::Expr)
}

/// What stands in the brackets of a reference.
pub(crate) fn indexes(refr: &Expr) -> Vec<&Expr> {
    let mut parts = Vec::new();
    let mut next = Some(refr);
    while let Some(expr) = next {
        next = match expr {
            Expr::RefDot { refr, .. } => Some(refr.as_ref()),
            Expr::RefBrack { refr, index, .. } => {
                parts.push(index.as_ref());
                Some(refr.as_ref())
            }
            _ => None,
        };
    }
    parts.reverse();
    parts
}

/// The name of a rule, and what of its head makes it a function, a set or another rule.
pub(crate) fn rule_name(rule: &Rule) -> (&Expr, Option<usize>, bool) {
    match rule {
        Rule::Default { refr, args, .. } => (refr.as_ref(), (!args.is_empty()).then_some(args.len()), false),
        Rule::Spec { head, .. } => match head {
            RuleHead::Compr { refr, .. } => (refr.as_ref(), None, false),
            RuleHead::Set { refr, .. } => (refr.as_ref(), None, true),
            RuleHead::Func { refr, args, .. } => (refr.as_ref(), Some(args.len()), false),
        },
    }
}

/// A component of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Component {
    /// A constant text.
    Name(String),
    /// Something that is known on evaluation only.
    Dynamic,
}

/// A reference such as `data.lib.x[i].y`: the variable in front and the components behind it. Nothing if it does not
/// begin with a variable.
pub(crate) fn reference(expr: &Expr) -> Option<(&str, Vec<Component>)> {
    let mut components = Vec::new();
    let mut next = expr;
    loop {
        match next {
            Expr::Var { span, .. } => {
                components.reverse();
                return Some((span.text(), components));
            }
            Expr::RefDot { refr, field, .. } => {
                components.push(Component::Name(field.0.text().to_owned()));
                next = refr.as_ref();
            }
            Expr::RefBrack { refr, index, .. } => {
                components.push(match index.as_ref() {
                    Expr::String { value, .. } | Expr::RawString { value, .. } => {
                        value.as_string().map_or(Component::Dynamic, |text| Component::Name(text.to_string()))
                    }
                    _ => Component::Dynamic,
                });
                next = refr.as_ref();
            }
            _ => return None,
        }
    }
}

/// A path of constant names, such as a package or the name of a function.
pub(crate) fn constant_path(expr: &Expr) -> Option<Vec<String>> {
    let (first, components) = reference(expr)?;
    let mut path = vec![first.to_owned()];
    for component in components {
        match component {
            Component::Name(name) => path.push(name),
            Component::Dynamic => return None,
        }
    }
    Some(path)
}
