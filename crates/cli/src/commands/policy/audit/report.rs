//! The results of an audit or a preview as a table, JSON, YAML, SARIF, or policy reports.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::Result;
use clearway_core::diagnostic::report::{Format, Report};
use clearway_core::diagnostic::{Place, Severity};
use clearway_core::{Diagnostic, Timestamp};
use clearway_policy::EnforcementAction;
use clearway_policy::audit::{AuditedViolation, ConstraintAudit};
use serde_json::{Value, json};

use super::evaluation::Outcome;
use crate::arguments::{DataFormat, PolicyReportFormat};
use crate::exit::Exit;
use crate::output::{self, Document};

/// The code of the finding that objects could not be read or evaluated.
const NOT_SEEN: &str = "IN008";

/// What was done, in the words of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands::policy) enum Occasion {
    Audit,
    Preview,
}

impl Occasion {
    /// The name of the reports.
    fn report_name(self) -> &'static str {
        match self {
            Occasion::Audit => "clearway-audit",
            Occasion::Preview => "clearway-preview",
        }
    }
}

/// Prints the results, and says what they come to.
pub(in crate::commands::policy) fn print(
    outcome: &Outcome,
    occasion: Occasion,
    format: PolicyReportFormat,
) -> Result<Exit> {
    match format {
        PolicyReportFormat::Table => output::print_data(DataFormat::Table, &(), || table(outcome))?,
        PolicyReportFormat::Wide => output::print_data(DataFormat::Wide, &(), || table(outcome))?,
        PolicyReportFormat::Name => output::print_data(DataFormat::Name, &(), || table(outcome))?,
        PolicyReportFormat::Json => output::print_data(DataFormat::Json, &data(outcome), String::new)?,
        PolicyReportFormat::Yaml => output::print_data(DataFormat::Yaml, &data(outcome), String::new)?,
        PolicyReportFormat::Sarif => sarif(outcome)?,
        PolicyReportFormat::Policyreport => policy_reports(outcome, occasion)?,
    }
    for line in &outcome.prints {
        output::print_note!("{line}");
    }
    for problem in &outcome.problems {
        output::print_problem!("not evaluated: {problem}");
    }
    let constraints = outcome.audit.constraints().count();
    let total: u64 = outcome.audit.constraints().map(ConstraintAudit::total).sum();
    let denying: u64 = outcome.audit.constraints().map(ConstraintAudit::denying).sum();
    let listed: usize = outcome.audit.constraints().map(|constraint| constraint.violations().len()).sum();
    let count = |number: u64, word: &str| format!("{number} {word}{}", if number == 1 { "" } else { "s" });
    output::print_note!(
        "{} evaluated against {}: {}, {denying} of them denied",
        count(outcome.objects, "object"),
        count(u64::try_from(constraints).unwrap_or(u64::MAX), "constraint"),
        count(total, "violation"),
    );
    let hidden = total.saturating_sub(u64::try_from(listed).unwrap_or(u64::MAX));
    if hidden > 0 {
        output::print_note!(
            "{} not listed; raise --constraint-violations-limit to list more",
            count(hidden, "violation")
        );
    }
    if !outcome.problems.is_empty() {
        output::print_problem!("not everything could be evaluated, so the result is incomplete");
    }
    Ok(match (denying, outcome.problems.is_empty()) {
        (0, true) => Exit::Yes,
        (0, false) => Exit::Unknown,
        _ => Exit::No,
    })
}

fn constraint_name(constraint: &ConstraintAudit) -> String {
    format!("{}/{}", constraint.constraint().kind, constraint.constraint().name)
}

/// The object of a violation, as `Kind.group namespace/name`.
fn object_name(violation: &AuditedViolation) -> String {
    let AuditedViolation { group, kind, namespace, name, .. } = violation;
    let kind = if group.is_empty() { kind.clone() } else { format!("{kind}.{group}") };
    if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") }
}

fn table(outcome: &Outcome) -> Document {
    let rows = outcome.audit.constraints().map(|constraint| {
        let action = constraint.constraint().action.as_str().to_owned();
        vec![constraint_name(constraint), action, constraint.total().to_string()]
    });
    let mut text = Document::from(output::table(&["CONSTRAINT", "ACTION", "VIOLATIONS"], rows));
    for constraint in outcome.audit.constraints().filter(|constraint| constraint.total() > 0) {
        // Writing into a text cannot fail.
        let _ = writeln!(text, "\n{} ({}):", constraint_name(constraint), constraint.constraint().action.as_str());
        let mut violations = constraint.violations();
        // For people from the first to the last.
        violations.reverse();
        for violation in &violations {
            let _ = writeln!(text, "  {}: {}", object_name(violation), output::printable(&violation.message));
        }
        let listed = u64::try_from(violations.len()).unwrap_or(u64::MAX);
        if constraint.total() > listed {
            let _ = writeln!(text, "  and {} more", constraint.total().saturating_sub(listed));
        }
    }
    text
}

fn data(outcome: &Outcome) -> Value {
    let constraints: Vec<Value> = outcome
        .audit
        .constraints()
        .map(|constraint| {
            let violations: Vec<Value> = constraint.violations().into_iter().map(AuditedViolation::to_json).collect();
            json!({
                "kind": constraint.constraint().kind,
                "name": constraint.constraint().name,
                "enforcementAction": constraint.constraint().action.as_str(),
                "totalViolations": constraint.total(),
                "deniedViolations": constraint.denying(),
                "violations": violations,
            })
        })
        .collect();
    let problems: Vec<Value> =
        outcome.problems.iter().map(|problem| json!({"what": problem.what, "why": problem.why})).collect();
    json!({
        "auditTimestamp": outcome.audit.started().to_string(),
        "objects": outcome.objects,
        "constraints": constraints,
        "notEvaluated": problems,
    })
}

/// Whether a violation denies, for the weight of a finding.
fn denies(violation: &AuditedViolation) -> bool {
    match violation.action {
        EnforcementAction::Deny => true,
        EnforcementAction::Scoped => violation.scoped_actions.iter().any(|action| action == "deny"),
        _ => false,
    }
}

fn sarif(outcome: &Outcome) -> Result<()> {
    let mut report = Report::new(Format::Sarif);
    let mut out = std::io::stdout().lock();
    out.write_all(report.head(&[], env!("CARGO_PKG_VERSION")).as_bytes())?;
    for constraint in outcome.audit.constraints() {
        for violation in constraint.violations() {
            let severity = match &violation.action {
                _ if denies(violation) => Severity::Error,
                EnforcementAction::Dryrun => Severity::Info,
                _ => Severity::Warning,
            };
            let place = Place { object: Some(object_name(violation)), ..Place::default() };
            let finding = Diagnostic::new(constraint_name(constraint), severity, violation.message.clone()).at(place);
            out.write_all(report.item(&finding).as_bytes())?;
        }
    }
    for problem in &outcome.problems {
        let finding = Diagnostic::new(NOT_SEEN, Severity::Error, problem.to_string());
        out.write_all(report.item(&finding).as_bytes())?;
    }
    Ok(out.write_all(report.tail().as_bytes())?)
}

/// One `PolicyReport` per namespace, and a `ClusterPolicyReport` for objects without one.
fn policy_reports(outcome: &Outcome, occasion: Occasion) -> Result<()> {
    let mut by_namespace: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for constraint in outcome.audit.constraints() {
        for violation in constraint.violations().into_iter().rev() {
            let result = report_result(constraint, violation, outcome.audit.started());
            by_namespace.entry(&violation.namespace).or_default().push(result);
        }
    }
    let mut text = String::new();
    for (namespace, results) in by_namespace {
        let number = |result: &str| results.iter().filter(|one| one["result"] == result).count();
        let mut metadata = json!({
            "name": occasion.report_name(), "labels": {"app.kubernetes.io/managed-by": "clearway"},
        });
        let kind = if namespace.is_empty() {
            "ClusterPolicyReport"
        } else {
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.insert("namespace".to_owned(), json!(namespace));
            }
            "PolicyReport"
        };
        let report = json!({
            "apiVersion": "wgpolicyk8s.io/v1alpha2",
            "kind": kind,
            "metadata": metadata,
            "summary": {"pass": 0, "fail": number("fail"), "warn": number("warn"), "error": 0, "skip": 0},
            "results": results,
        });
        // Writing into a text cannot fail.
        let _ = write!(text, "---\n{}", output::to_yaml(&report)?);
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    Ok(output::print_document(&text)?)
}

fn report_result(constraint: &ConstraintAudit, violation: &AuditedViolation, started: Timestamp) -> Value {
    let AuditedViolation { group, version, kind, namespace, name, message, action, .. } = violation;
    let api_version = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
    let mut resource = json!({"apiVersion": api_version, "kind": kind, "name": name});
    if let (false, Some(resource)) = (namespace.is_empty(), resource.as_object_mut()) {
        resource.insert("namespace".to_owned(), json!(namespace));
    }
    json!({
        "source": "Clearway",
        "policy": constraint.constraint().kind,
        "rule": constraint.constraint().name,
        "resources": [resource],
        "message": message,
        "result": if denies(violation) { "fail" } else { "warn" },
        "properties": {"enforcementAction": action.as_str()},
        "timestamp": {"seconds": started.as_seconds(), "nanos": 0},
    })
}
