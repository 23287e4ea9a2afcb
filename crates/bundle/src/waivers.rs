//! Waivers: findings that somebody allowed, with a reason and for a limited time.
//!
//! ```yaml
//! waivers:
//! - rule: R20
//!   path: httproutes v1 spec.rules[].filters
//!   reason: corrects validation; two CORS filters never worked
//!   expires: 2027-06-30
//!   from: v1.5.0 # optional, like `to`: only between these versions
//!   to: v1.5.1
//! ```
//!
//! A path may end with `*`, and then is a prefix.

use clearway_core::{Diagnostic, Limits, Place, Severity, Timestamp};
use clearway_schema::excerpt;
use clearway_yaml::{Node, ReadEvent, Source};

use crate::finding::{AppliedWaiver, Finding, RuleId, Verdict};
use crate::model::Bundle;
use crate::read::codes;
use crate::rules::Rule;

/// Waivers of one file.
const WAIVERS: usize = 10_000;

/// The waivers of a file, and which of them were used.
#[derive(Debug, Default)]
pub struct Waivers {
    waivers: Vec<Waiver>,
    problems: Vec<Diagnostic>,
}

#[derive(Debug)]
struct Waiver {
    rule: RuleId,
    path: String,
    reason: String,
    expires: Timestamp,
    versions: [Option<String>; 2],
    place: Place,
    used: bool,
    expired: bool,
}

impl Waivers {
    /// Reads a file of waivers. What cannot be read is a problem, and is not applied.
    pub fn read(file: &str, text: &str) -> Self {
        let mut waivers = Waivers::default();
        let limits = Limits { nodes: 200_000, ..Limits::default() };
        clearway_yaml::read(text.as_bytes(), file, &limits, |event| match event {
            ReadEvent::Problem(problem) => waivers.problems.push(problem),
            ReadEvent::Object { root, source, .. } => {
                if let Some(list) = root.get("waivers").filter(|list| list.is_sequence()) {
                    for node in list.items().take(WAIVERS) {
                        waivers.add(node, source);
                    }
                } else {
                    let message = "the file has no list `waivers`".to_owned();
                    waivers.problems.push(invalid(message, source.place(root)));
                }
            }
        });
        waivers
    }

    fn add(&mut self, node: Node<'_>, source: Source<'_>) {
        let text = |key: &str| node.get(key).map(Node::raw).filter(|text| !text.trim().is_empty()).map(str::to_owned);
        let place = source.place(node);
        let read = || -> Result<Waiver, String> {
            let missing = |key: &str| format!("the waiver has no `{key}`");
            let rule = text("rule").ok_or_else(|| missing("rule"))?;
            let known = Rule::find(&rule).ok_or_else(|| format!("there is no rule `{}`", excerpt(&rule)))?;
            Ok(Waiver {
                rule: known.id,
                path: text("path").ok_or_else(|| missing("path"))?,
                reason: text("reason").ok_or_else(|| missing("reason"))?,
                expires: read_date(&text("expires").ok_or_else(|| missing("expires"))?)?,
                versions: [text("from"), text("to")],
                place: place.clone(),
                used: false,
                expired: false,
            })
        };
        match read() {
            Ok(waiver) => self.waivers.push(waiver),
            Err(message) => self.problems.push(invalid(message, place)),
        }
    }

    /// Leaves out the waivers that are for other versions than those of two bundles.
    #[must_use]
    pub fn between(mut self, old: &Bundle, new: &Bundle) -> Self {
        let versions = [old.version_text(), new.version_text()];
        self.waivers.retain(|waiver| {
            waiver
                .versions
                .iter()
                .zip(&versions)
                .all(|(wanted, version)| wanted.as_ref().is_none_or(|one| one == version))
        });
        self
    }

    /// Marks a finding as waived, if a waiver for it holds at this time.
    pub(crate) fn apply(&mut self, finding: &mut Finding, now: Timestamp) {
        if !matches!(finding.verdict, Verdict::Violation | Verdict::NeedsReview) {
            return;
        }
        let covers = |waiver: &&mut Waiver| {
            waiver.rule == finding.rule
                && match waiver.path.strip_suffix('*') {
                    Some(prefix) => finding.path.starts_with(prefix),
                    None => finding.path == waiver.path,
                }
        };
        for waiver in self.waivers.iter_mut().filter(covers) {
            if waiver.expires < now {
                waiver.expired = true;
            } else {
                waiver.used = true;
                let reason = waiver.reason.clone();
                finding.verdict = Verdict::Waived;
                finding.waiver = Some(AppliedWaiver { reason, expires: waiver.expires });
                return;
            }
        }
    }

    /// What is wrong with the file, which waivers have expired, and which were not used.
    pub fn problems(&self) -> Vec<Diagnostic> {
        let mut problems = self.problems.clone();
        for waiver in self.waivers.iter().filter(|waiver| !waiver.used) {
            let about = format!("the waiver of {} for `{}`", waiver.rule, excerpt(&waiver.path));
            let problem = if waiver.expired {
                let message = format!("{about} expired at {}", waiver.expires);
                let help = "correct the change, or renew the waiver with a reason";
                Diagnostic::new(codes::EXPIRED_WAIVER, Severity::Warning, message).with_help(help)
            } else {
                let message = format!("{about} applies to no finding");
                Diagnostic::new(codes::UNUSED_WAIVER, Severity::Info, message).with_help("remove it")
            };
            problems.push(problem.at(waiver.place.clone()));
        }
        problems
    }
}

fn invalid(message: String, place: Place) -> Diagnostic {
    let help = "a waiver has `rule`, `path`, `reason` and `expires`; it was not applied";
    Diagnostic::new(codes::INVALID_WAIVER, Severity::Error, message).at(place).with_help(help)
}

/// A time, or a date, which means the end of that day in UTC.
fn read_date(text: &str) -> Result<Timestamp, String> {
    let whole = if text.len() == 10 { format!("{text}T23:59:59Z") } else { text.to_owned() };
    whole.parse().map_err(|_| format!("`expires` is `{}`, which is not a date such as 2027-06-30", excerpt(text)))
}
