//! Tests of the linter as a whole.

mod examples;
mod real;
mod robust;
mod rules;
mod sequences;

use clearway_core::{Diagnostic, Limits, Timestamp};
use clearway_yaml::{Found, read};

use super::{History, Policy, lint};
use crate::Object;

fn policy() -> Policy {
    Policy::new("2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap())
}

fn each(yaml: &str, mut visit: impl FnMut(&Object<'_>)) {
    read(yaml.as_bytes(), "x.yaml", &Limits::default(), |found| match found {
        Found::Object { root, source, list } => visit(&Object::new(root, source, list).unwrap()),
        Found::Problem(problem) => panic!("{problem:?}"),
    });
}

/// What the snapshot rules find.
fn found(yaml: &str, policy: &Policy) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    each(yaml, |object| lint(object, policy, &mut findings));
    findings
}

/// What the sequence rules find.
fn sequence(yaml: &str, policy: &Policy) -> Vec<Diagnostic> {
    let (mut history, mut findings) = (History::new(), Vec::new());
    each(yaml, |object| history.push(object, policy, &mut findings));
    findings
}

fn codes(findings: &[Diagnostic]) -> Vec<&str> {
    findings.iter().map(|finding| finding.code.as_ref()).collect()
}

/// Code and place, as a reader sees them.
fn places(findings: &[Diagnostic]) -> Vec<String> {
    findings.iter().map(|finding| format!("{} {}", finding.code, finding.place.path.as_deref().unwrap_or(""))).collect()
}
