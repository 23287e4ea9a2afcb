//! Findings somebody has decided to live with, each for a reason and until a day.
//!
//! A suppression without an end becomes a rule nobody remembers, so one without `until` or `reason` is refused, and one
//! whose day has passed no longer counts and is itself a finding ([`Suppressions::expired`]).

use clearway_core::{Diagnostic, Limits, Place, Severity, Timestamp};
use clearway_yaml::{Node, ReadEvent, Source, read};

use super::docs;
use crate::Object;

/// The code of findings about the check itself.
pub const ABOUT_THE_CHECK: &str = "SC000";

/// What is not reported.
///
/// A file of them is a YAML list:
///
/// ```yaml
/// - rule: SC010            # which rule; required
///   kind: Certificate      # only objects of this kind, or Certificate.cert-manager.io
///   type: Ready            # only conditions of this type
///   namespace: shop        # only objects in this namespace
///   name: web              # only the object of this name
///   until: 2026-09-30      # through this day (UTC), or an RFC 3339 time; required
///   reason: ticket 4711    # required
/// ```
#[derive(Debug, Clone, Default)]
pub struct Suppressions {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    rule: &'static str,
    kind: Option<String>,
    type_: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    until: Timestamp,
    reason: String,
    place: Place,
}

impl Suppressions {
    /// Reads a file of suppressions; every mistake in it is reported.
    pub fn parse(text: &str, file: &str) -> Result<Self, Vec<Diagnostic>> {
        let (mut entries, mut problems) = (Vec::new(), Vec::new());
        read(text.as_bytes(), file, &Limits::default(), |found| match found {
            ReadEvent::Object { root, source, .. } => match entry(root, source) {
                Ok(entry) => entries.push(entry),
                Err(problem) => problems.push(*problem),
            },
            ReadEvent::Problem(problem) => problems.push(problem),
        });
        if problems.is_empty() { Ok(Suppressions { entries }) } else { Err(problems) }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// One finding for each suppression whose day has passed.
    pub fn expired(&self, now: Timestamp) -> Vec<Diagnostic> {
        self.entries
            .iter()
            .filter(|entry| entry.until < now)
            .map(|entry| {
                let (rule, until, reason) = (entry.rule, entry.until, &entry.reason);
                Diagnostic::new(
                    ABOUT_THE_CHECK,
                    Severity::Warning,
                    format!("the suppression of {rule} expired at {until} and has no effect"),
                )
                .at(entry.place.clone())
                .with_help(format!("fix what it suppressed and remove it, or extend it; its reason was: {reason}"))
                .with_note("suppressions end")
            })
            .collect()
    }

    /// Whether a finding is suppressed.
    pub(crate) fn covers(&self, object: &Object<'_>, rule: &str, type_: &str, now: Timestamp) -> bool {
        let fits = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
        self.entries.iter().any(|entry| {
            entry.rule == rule
                && entry.until >= now
                && entry.kind.as_deref().is_none_or(|kind| is_kind(kind, object))
                && fits(&entry.type_, type_)
                && fits(&entry.namespace, object.namespace())
                && fits(&entry.name, object.name())
        })
    }
}

/// A kind may be named alone or with its group, as findings show it.
fn is_kind(wanted: &str, object: &Object<'_>) -> bool {
    match wanted.strip_prefix(object.kind()) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('.') == Some(object.group()),
        None => false,
    }
}

/// The fields of a suppression.
const KEYS: [&str; 7] = ["rule", "kind", "type", "namespace", "name", "until", "reason"];

fn entry(root: Node<'_>, source: Source<'_>) -> Result<Entry, Box<Diagnostic>> {
    let refuse = |node: Node<'_>, message: String| {
        Box::new(
            Diagnostic::new(ABOUT_THE_CHECK, Severity::Error, message)
                .at(source.place(node))
                .with_excerpt(source.excerpt(node))
                .with_help("a suppression has rule, until and reason, and may have kind, type, namespace and name"),
        )
    };
    if !root.is_mapping() {
        return Err(refuse(root, format!("a suppression is an object, not {}", root.describe())));
    }
    if let Some((key, _)) = root.fields().find(|(key, _)| !KEYS.contains(&key.raw())) {
        return Err(refuse(key, format!("a suppression has no field `{}`", key.raw())));
    }
    // An unquoted `until: 2026` or `name: 123` is text here, whatever YAML takes it for.
    let text = |key: &str| {
        root.get(key).filter(|node| !node.is_null() && !node.raw().is_empty()).map(|node| (node, node.raw()))
    };
    let (rule_node, rule) = text("rule").ok_or_else(|| refuse(root, "a suppression without a rule".to_owned()))?;
    let rule = docs::rule(rule).ok_or_else(|| refuse(rule_node, format!("`{rule}` is not a rule")))?.code;
    let (until_node, until) = text("until")
        .ok_or_else(|| refuse(root, format!("the suppression of {rule} has no end date: `until` is missing")))?;
    let until = end(until).ok_or_else(|| {
        refuse(until_node, format!("`{until}` is neither a day such as 2026-09-30 nor an RFC 3339 time"))
    })?;
    let (_, reason) = text("reason")
        .filter(|(_, reason)| !reason.trim().is_empty())
        .ok_or_else(|| refuse(root, format!("the suppression of {rule} has no reason")))?;
    let own = |key| text(key).map(|(_, text)| text.to_owned());
    Ok(Entry {
        rule,
        kind: own("kind"),
        type_: own("type"),
        namespace: own("namespace"),
        name: own("name"),
        until,
        reason: reason.to_owned(),
        place: source.place(root),
    })
}

/// A day counts to its last second.
fn end(text: &str) -> Option<Timestamp> {
    text.parse().ok().or_else(|| if text.len() == 10 { format!("{text}T23:59:59Z").parse().ok() } else { None })
}
