//! The contract between templates and Gatekeeper, checked when a template is loaded: which packages, imports and
//! references a module may have, and that it has a rule `violation` of the right form.

use regorus::unstable::{Expr, Module, Rule, RuleHead};

use super::error::{RegoError, RegoErrorKind};
use super::syntax::{self, Component, Part};

/// Checks the module of a template.
pub(crate) fn check_entry(name: &str, module: &Module) -> Result<(), RegoError> {
    let package = syntax::constant_path(module.package.refr.as_ref()).unwrap_or_default();
    if package.first().is_some_and(|first| first == "inventory") {
        return Err(contract(
            name,
            module.package.refr.as_ref(),
            "the package `inventory` is reserved for the inventory",
        ));
    }
    check_imports(name, module)?;
    check_references(name, module)?;
    check_violation(name, module)
}

/// Checks the module of a library.
pub(crate) fn check_library(name: &str, module: &Module) -> Result<(), RegoError> {
    let package = syntax::constant_path(module.package.refr.as_ref()).unwrap_or_default();
    if package.len() < 2 || package.first().is_none_or(|first| first != "lib") {
        let path = package.join(".");
        let message = format!("invalid libs: path data.{path} not found in lib prefixes; name the package lib.NAME");
        return Err(contract(name, module.package.refr.as_ref(), message));
    }
    check_imports(name, module)?;
    check_references(name, module)
}

fn contract(name: &str, expr: &Expr, message: impl Into<String>) -> RegoError {
    RegoError::at(RegoErrorKind::Contract, name, syntax::place(expr), message)
}

fn check_imports(name: &str, module: &Module) -> Result<(), RegoError> {
    for import in &module.imports {
        let path = syntax::constant_path(import.refr.as_ref()).unwrap_or_default();
        let written = path.join(".");
        let wrong = |what: &str| {
            let message = format!("invalid import: {what}: {written:?}");
            Err(RegoError::at(RegoErrorKind::Contract, name, (import.span.line, import.span.col), message))
        };
        match path.first().map(String::as_str) {
            Some("input") => return wrong("cannot import input"),
            Some("future") => {}
            Some("data") if path.get(1).is_some_and(|second| second == "lib") => {}
            _ => return wrong("bad import"),
        }
    }
    Ok(())
}

fn check_references(name: &str, module: &Module) -> Result<(), RegoError> {
    let mut first = None;
    for rule in &module.policy {
        for part in syntax::rule_parts(rule) {
            syntax::walk(part, &mut |part| {
                let Part::Expr(expr) = part else { return true };
                let Some(("data", components)) = syntax::reference(expr) else { return true };
                let allowed =
                    matches!(components.first(), Some(Component::Name(name)) if name == "inventory" || name == "lib");
                if !allowed && first.is_none() {
                    let written = one_line(expr.span().text());
                    let message = format!(
                        "check refs failed: disallowed ref {written}; only data.inventory and data.lib are allowed"
                    );
                    first = Some(contract(name, expr, message));
                }
                first.is_none()
            });
        }
    }
    first.map_or(Ok(()), Err)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `violation` must exist, be a set, and be able to have a `msg`.
fn check_violation(name: &str, module: &Module) -> Result<(), RegoError> {
    let mut found = false;
    let mut message_possible = false;
    for rule in &module.policy {
        let (refr, _, set) = syntax::rule_name(rule);
        if syntax::reference(refr).is_none_or(|(first, _)| first != "violation") {
            continue;
        }
        found = true;
        if !set {
            return Err(contract(
                name,
                refr,
                "`violation` must be a set of objects: write violation[{\"msg\": msg}] { … }",
            ));
        }
        message_possible |= violation_key(rule).is_none_or(may_have_message);
    }
    if !found {
        return Err(RegoError::of_module(
            RegoErrorKind::Contract,
            name,
            "invalid module: missing required rules: [violation]",
        ));
    }
    if !message_possible {
        return Err(RegoError::of_module(
            RegoErrorKind::Contract,
            name,
            "undefined ref: data.template.violation[r].msg; no `violation` has a field `msg`",
        ));
    }
    Ok(())
}

/// What a rule adds to `violation`.
fn violation_key(rule: &Rule) -> Option<&Expr> {
    let Rule::Spec { head: RuleHead::Set { refr, key, .. }, .. } = rule else { return None };
    match (key, refr.as_ref()) {
        (Some(key), _) => Some(key.as_ref()),
        (None, Expr::RefBrack { index, .. }) => Some(index.as_ref()),
        _ => None,
    }
}

fn may_have_message(key: &Expr) -> bool {
    match key {
        Expr::Object { fields, .. } => fields.iter().any(|(_, key, _)| match key.as_ref() {
            Expr::String { value, .. } | Expr::RawString { value, .. } => {
                value.as_string().is_ok_and(|text| text.as_ref() == "msg")
            }
            _ => true,
        }),
        Expr::String { .. }
        | Expr::RawString { .. }
        | Expr::Number { .. }
        | Expr::Bool { .. }
        | Expr::Null { .. }
        | Expr::Array { .. }
        | Expr::Set { .. } => false,
        _ => true,
    }
}
