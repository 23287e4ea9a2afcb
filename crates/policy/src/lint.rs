//! What is wrong or unwise in templates and constraints, file by file: what loading refuses, and what it does not see.

mod pages;

use std::collections::{BTreeMap, BTreeSet};

use clearway_core::diagnostic::sarif::Rule;
use clearway_core::{Diagnostic, Place, Severity};
use serde_json::Value;

use crate::constraint::{Constraint, ConstraintError};
use crate::policy_set::{PolicySet, PolicySetError};
use crate::review::{ObjectKind, metadata};
use crate::template::{Template, TemplateError};

/// The codes of findings.
pub mod codes {
    /// A template is refused.
    pub const TEMPLATE: &str = "PO001";
    /// A constraint is refused.
    pub const CONSTRAINT: &str = "PO002";
    /// A constraint has no template.
    pub const NO_TEMPLATE: &str = "PO003";
    /// A template has no constraint.
    pub const NO_CONSTRAINT: &str = "PO004";
    /// An enforcement action or point is not known.
    pub const UNKNOWN_ACTION: &str = "PO005";
    /// A parameter of the schema is not used by the template.
    pub const UNUSED_PARAMETER: &str = "PO006";

    pub use super::pages::pages;
}

/// What each code means.
pub fn rules() -> Vec<Rule> {
    let rule = |(code, title)| Rule { code, title, why: title, text: title };
    [
        (codes::TEMPLATE, "A template is refused"),
        (codes::CONSTRAINT, "A constraint is refused"),
        (codes::NO_TEMPLATE, "A constraint has no template"),
        (codes::NO_CONSTRAINT, "A template has no constraint"),
        (codes::UNKNOWN_ACTION, "An enforcement action or point is not known"),
        (codes::UNUSED_PARAMETER, "A parameter of the schema is not used"),
    ]
    .map(rule)
    .to_vec()
}

/// An object of a file.
#[derive(Debug, Clone, Copy)]
pub struct LintedObject<'o> {
    /// The file.
    pub file: &'o str,
    /// The object.
    pub object: &'o Value,
}

/// Reports findings in the order of files; objects that are neither templates nor constraints are passed over.
pub fn lint(objects: &[LintedObject<'_>]) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let mut policies = PolicySet::new();
    let mut kinds: BTreeMap<String, LintedObject<'_>> = BTreeMap::new();
    let mut used = BTreeSet::new();
    for linted in objects.iter().filter(|linted| Template::is_template(linted.object)) {
        match policies.add_template(linted.object) {
            Ok(_) => {
                let kind =
                    linted.object.pointer("/spec/crd/spec/names/kind").and_then(Value::as_str).unwrap_or_default();
                kinds.insert(kind.to_owned(), *linted);
                findings.extend(unused_parameters(linted));
            }
            Err(error) => findings.push(template_finding(linted, &error)),
        }
    }
    for linted in objects.iter().filter(|linted| Constraint::is_constraint(linted.object)) {
        let ObjectKind { kind, .. } = ObjectKind::of(linted.object);
        let name = metadata(linted.object, "name");
        match policies.add_constraint(linted.object) {
            Ok(None) => {}
            Ok(Some(warning)) => findings.push(
                finding(codes::UNKNOWN_ACTION, Severity::Warning, linted, format!("{kind} {name}: {warning}"))
                    .with_help("the constraint is not enforced; use deny, warn, dryrun or scoped"),
            ),
            Err(PolicySetError::Constraint(ConstraintError::NoTemplate(template))) => findings.push(
                finding(
                    codes::NO_TEMPLATE,
                    Severity::Error,
                    linted,
                    format!("{kind} {name} has no template {template}"),
                )
                .with_help("add the template, or correct the kind"),
            ),
            Err(error) => {
                findings.push(finding(codes::CONSTRAINT, Severity::Error, linted, format!("{kind} {name}: {error}")));
            }
        }
        used.insert(kind);
    }
    for (kind, linted) in kinds.iter().filter(|(kind, _)| !used.contains(*kind)) {
        findings.push(
            finding(codes::NO_CONSTRAINT, Severity::Info, linted, format!("template {kind} has no constraint here"))
                .with_help("a template does nothing without a constraint"),
        );
    }
    findings
}

fn finding(code: &'static str, severity: Severity, linted: &LintedObject<'_>, message: String) -> Diagnostic {
    Diagnostic::new(code, severity, message).at(Place { file: Some(linted.file.to_owned()), ..Place::default() })
}

fn template_finding(linted: &LintedObject<'_>, error: &PolicySetError) -> Diagnostic {
    let name = metadata(linted.object, "name");
    let diagnostic = finding(codes::TEMPLATE, Severity::Error, linted, format!("template {name}: {error}"));
    match error {
        PolicySetError::Template(TemplateError::Rego(error)) if error.line > 0 => diagnostic.with_note(format!(
            "line {} and column {} of {} in the Rego of the template",
            error.line, error.column, error.module
        )),
        _ => diagnostic,
    }
}

/// Parameters of the schema whose names do not occur in the code.
fn unused_parameters(linted: &LintedObject<'_>) -> Vec<Diagnostic> {
    let properties = linted.object.pointer("/spec/crd/spec/validation/openAPIV3Schema/properties");
    let Some(properties) = properties.and_then(Value::as_object) else { return Vec::new() };
    let code = linted.object.pointer("/spec/targets").map(Value::to_string).unwrap_or_default();
    // Code that takes all parameters, or names computed, may use any of them.
    if code.contains("input.parameters[") || code.contains("parameters)") || code.contains("parameters,") {
        return Vec::new();
    }
    let unused = properties.keys().filter(|name| !code.contains(name.as_str()));
    unused
        .map(|name| {
            let template = metadata(linted.object, "name");
            finding(
                codes::UNUSED_PARAMETER,
                Severity::Warning,
                linted,
                format!("template {template} does not use parameter {name}"),
            )
            .with_help("remove the parameter from the schema, or use it")
        })
        .collect()
}
