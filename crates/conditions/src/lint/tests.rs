//! Tests of the linter as a whole.

mod examples;
mod kinds;
mod robust;
mod rules;
mod sequences;

use clearway_core::{Diagnostic, Limits, Timestamp};
use clearway_yaml::{ReadEvent, read};

use super::{History, Policy, lint};
use crate::Object;

fn policy() -> Policy {
    Policy::new("2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap())
}

fn each(yaml: &str, mut visit: impl FnMut(&Object<'_>)) {
    read(yaml.as_bytes(), "x.yaml", &Limits::default(), |found| match found {
        ReadEvent::Object { root, source, list } => visit(&Object::new(root, source, list).unwrap()),
        ReadEvent::Problem(problem) => panic!("{problem:?}"),
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

/// An object of an unknown group with these conditions, written as YAML flow mappings.
fn database(conditions: &[&str]) -> String {
    object("example.com/v1", "Database", conditions)
}

fn object(api_version: &str, kind: &str, conditions: &[&str]) -> String {
    let head = format!(
        "apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a, namespace: b, uid: u, generation: 3, \
         creationTimestamp: 2025-06-01T08:00:00Z}}\nstatus:\n  observedGeneration: 3\n  conditions:\n"
    );
    conditions.iter().fold(head, |text, condition| text + "  - {" + condition + "}\n")
}

/// A sound condition, with some fields replaced or added.
fn condition(type_: &str, status: &str, more: &str) -> String {
    let mut fields = vec![
        ("type", type_),
        ("status", status),
        ("reason", "Because"),
        ("message", "it is so"),
        ("lastTransitionTime", "2025-06-01T08:05:00Z"),
        ("observedGeneration", "3"),
    ];
    let more: Vec<(&str, &str)> = more.split(" ; ").filter_map(|field| field.split_once(": ")).collect();
    fields.retain(|(key, _)| !more.iter().any(|(other, _)| other == key));
    fields.extend(more.into_iter().filter(|(_, value)| *value != "-"));
    fields.iter().map(|(key, value)| format!("{key}: {value}")).collect::<Vec<_>>().join(", ")
}

/// Code and place, as a reader sees them.
fn places(findings: &[Diagnostic]) -> Vec<String> {
    findings.iter().map(|finding| format!("{} {}", finding.code, finding.place.path.as_deref().unwrap_or(""))).collect()
}
