//! What all rules share while one object is linted: its facts, and the way a finding becomes a diagnostic.
//!
//! Names, paths and sentences are made here and only for findings; an object without any costs no allocation.

use std::borrow::Cow;
use std::fmt::Write as _;

use clearway_core::{Diagnostic, Severity};
use clearway_yaml::Node;

use super::{Policy, Profile};
use crate::lint::view::condition::Condition;
use crate::lint::view::instant;
use crate::lint::view::path::{self, Path};
use crate::lint::view::walk::Site;
use crate::{Object, Status};

/// One list of conditions.
#[derive(Debug)]
pub(crate) struct List<'a, 'p> {
    pub(crate) site: Site,
    pub(crate) node: Node<'a>,
    pub(crate) path: &'p Path<'p>,
    pub(crate) conditions: Vec<Condition<'a>>,
}

impl<'a> List<'a, '_> {
    /// The first condition of a type, which is the one every reader takes.
    pub(crate) fn find(&self, name: &str) -> Option<&Condition<'a>> {
        self.conditions.iter().find(|condition| condition.name == name)
    }

    /// Whether a condition says this.
    pub(crate) fn has(&self, name: &str, status: Status) -> bool {
        self.find(name).is_some_and(|condition| condition.status == Some(status))
    }
}

/// Something a rule found, before it has a place.
pub(crate) struct Finding<'a> {
    pub(crate) code: &'static str,
    pub(crate) severity: Severity,
    /// The field of the condition; empty for the condition or list as a whole.
    pub(crate) field: &'static str,
    /// What is shown; without one, the condition or the list.
    pub(crate) node: Option<Node<'a>>,
    pub(crate) message: String,
    pub(crate) help: Cow<'static, str>,
    /// The requirements it rests on.
    pub(crate) refs: &'static str,
}

/// The object at hand and what has been found.
pub(crate) struct Out<'o, 'f> {
    pub(crate) object: &'o Object<'o>,
    pub(crate) policy: &'o Policy,
    pub(crate) profile: Profile,
    /// Whether somebody committed the object to the profile: the user, or its API group. A fallback is no commitment.
    pub(crate) declared: bool,
    pub(crate) generation: Option<i64>,
    pub(crate) status: Option<Node<'o>>,
    /// `status.observedGeneration`.
    pub(crate) observed: Option<i64>,
    findings: &'f mut Vec<Diagnostic>,
    start: usize,
}

impl<'o, 'f> Out<'o, 'f> {
    pub(crate) fn new(object: &'o Object<'o>, policy: &'o Policy, findings: &'f mut Vec<Diagnostic>) -> Self {
        let declared = policy.profile.or_else(|| Profile::declared_by(object));
        let status = object.root.get("status");
        Out {
            object,
            policy,
            profile: declared.unwrap_or(Profile::Metav1),
            declared: declared.is_some(),
            generation: object.generation(),
            status,
            observed: status.and_then(|status| status.get("observedGeneration")).and_then(Node::as_int),
            start: findings.len(),
            findings,
        }
    }

    /// Reports a finding about a condition, or about the list as a whole.
    pub(crate) fn report(&mut self, list: &List<'_, '_>, condition: Option<&Condition<'_>>, finding: Finding<'_>) {
        let mut path = list.path.render();
        let name = condition.map_or("", |condition| condition.name);
        if let Some(condition) = condition {
            // Of two conditions of one type only the number tells which.
            _ = if path::is_label(name) && finding.code != "SC001" {
                write!(path, "[type={name}]")
            } else {
                write!(path, "[{}]", condition.index)
            };
        }
        if !finding.field.is_empty() {
            path.push('.');
            path.push_str(finding.field);
        }
        let node = finding.node.or(condition.map(|condition| condition.node)).unwrap_or(list.node);
        self.push(finding, node, path);
    }

    /// Reports a finding about any other place of the object.
    pub(crate) fn report_at(&mut self, node: Node<'_>, path: String, finding: Finding<'_>) {
        self.push(finding, node, path);
    }

    fn push(&mut self, finding: Finding<'_>, node: Node<'_>, path: String) {
        self.findings.push(
            Diagnostic::new(finding.code, finding.severity, finding.message)
                .at(self.object.place(node, path))
                .with_help(finding.help)
                .with_note(format!("profile {}; {}", self.profile, finding.refs))
                .with_excerpt(self.object.source.excerpt(node)),
        );
    }

    /// Whether the object is old enough for a missing condition to be a finding.
    ///
    /// A manifest that was never applied has neither a time of creation nor a status, and owes nothing.
    pub(crate) fn past_grace(&self) -> bool {
        match self.object.meta("creationTimestamp").and_then(instant::seconds) {
            Some(created) => {
                let grace = i64::try_from(self.policy.grace.as_secs()).unwrap_or(i64::MAX);
                self.policy.now.as_seconds().saturating_sub(created) > grace
            }
            None => self.status.is_some_and(Node::is_mapping),
        }
    }

    /// Brings what was found in this object into the order of the document, then of the codes.
    pub(crate) fn finish(self) {
        if let Some(own) = self.findings.get_mut(self.start..) {
            own.sort_by(|a, b| {
                (a.place.position, &a.code, &a.place.path).cmp(&(b.place.position, &b.code, &b.place.path))
            });
        }
    }
}
