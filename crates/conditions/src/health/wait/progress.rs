//! How far a wait is, in one line and at most three messages, for a terminal and for a stream of events.
//!
//! Objects of a kind that say the same are one group, as in Cluster API: a thousand pods without an image are one line.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::time::Duration;

use clearway_core::{ObjectId, Timestamp, humanize};
use serde::Serialize;

use super::Wait;
use super::target::TargetState;
use crate::health::verdict::{State, Verdict};

/// How many groups are told of.
const GROUPS: usize = 3;
/// How many objects of a group are named.
const NAMES: usize = 3;
/// How many characters of a message go on a line.
const WIDTH: usize = 200;

/// How far a wait is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// All objects.
    pub objects: usize,
    /// Those that are current and have settled.
    pub current: usize,
    /// Those that are current, but not for long enough yet.
    pub settling: usize,
    /// Those on the way, those whose failure is not believed yet among them.
    pub waiting: usize,
    /// Those that failed.
    pub failed: usize,
    /// Those whose own clock ran out.
    pub late: usize,
    /// Those of which nothing can be told.
    pub unknown: usize,
    /// Those that are suspended and not waited for.
    pub suspended: usize,
    /// How long it has been.
    pub elapsed_seconds: u64,
    /// How long it may be.
    pub total_seconds: u64,
    /// What keeps it: at most three groups, the gravest first.
    pub groups: Vec<Group>,
    /// How many objects have other issues.
    pub other_issues: usize,
    /// How many others are unknown.
    pub other_unknown: usize,
    /// How many others are on the way.
    pub other_waiting: usize,
}

/// What a group is told for, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Concern {
    /// It failed, or is about to.
    Issue,
    /// Nothing can be told of it.
    Unknown,
    /// It is on the way.
    Waiting,
}

/// Objects of one kind that say the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// What it is told for.
    pub concern: Concern,
    /// The kind, with its API group: `Deployment.apps`.
    pub kind: String,
    /// At most three of the objects: `shop/web`.
    pub names: Vec<String>,
    /// How many more there are.
    pub more: usize,
    /// Their state.
    pub state: State,
    /// The reason they give.
    pub reason: String,
    /// The message they give.
    pub message: String,
}

/// What makes objects a group.
type Key = (Concern, String, String, State, String, String);

impl Progress {
    pub(super) fn of(wait: &Wait, now: Timestamp) -> Self {
        let mut progress = Progress {
            objects: wait.targets.len(),
            current: 0,
            settling: 0,
            waiting: 0,
            failed: 0,
            late: 0,
            unknown: 0,
            suspended: 0,
            elapsed_seconds: now.since(wait.started).as_secs(),
            total_seconds: wait.clocks.total.as_secs(),
            groups: Vec::new(),
            other_issues: 0,
            other_unknown: 0,
            other_waiting: 0,
        };
        let mut groups: BTreeMap<Key, Vec<&ObjectId>> = BTreeMap::new();
        for (id, target) in &wait.targets {
            let (count, concern) = match target.state(&wait.clocks, now) {
                TargetState::Current => (&mut progress.current, None),
                TargetState::Settling { .. } => (&mut progress.settling, None),
                TargetState::Suspended => (&mut progress.suspended, None),
                TargetState::Failed { .. } => (&mut progress.failed, Some(Concern::Issue)),
                TargetState::Late { .. } => (&mut progress.late, Some(Concern::Issue)),
                TargetState::Failing { .. } => (&mut progress.waiting, Some(Concern::Issue)),
                TargetState::Waiting => (&mut progress.waiting, Some(Concern::Waiting)),
                TargetState::Unknown => (&mut progress.unknown, Some(Concern::Unknown)),
            };
            *count += 1;
            if let Some(concern) = concern {
                let Verdict { state, reason, message, .. } = target.verdict();
                let key = (concern, id.kind.clone(), id.group.clone(), state, reason, message);
                groups.entry(key).or_default().push(id);
            }
        }
        // The gravest, then the largest, then by name.
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by(|((one, ..), ones), ((other, ..), others)| {
            one.cmp(other).then(others.len().cmp(&ones.len())).then_with(|| ones.cmp(others))
        });
        for ((concern, kind, group, state, reason, message), ids) in groups {
            if progress.groups.len() < GROUPS {
                let kind = if group.is_empty() { kind } else { format!("{kind}.{group}") };
                let names = ids.iter().take(NAMES).map(|id| name(id)).collect();
                let more = ids.len().saturating_sub(NAMES);
                progress.groups.push(Group { concern, kind, names, more, state, reason, message });
            } else {
                *match concern {
                    Concern::Issue => &mut progress.other_issues,
                    Concern::Unknown => &mut progress.other_unknown,
                    Concern::Waiting => &mut progress.other_waiting,
                } += ids.len();
            }
        }
        progress
    }

    /// Whether it tells something that an earlier one did not; the passing of time is no news.
    pub fn is_news_after(&self, earlier: &Progress) -> bool {
        let elapsed_seconds = earlier.elapsed_seconds;
        Progress { elapsed_seconds, ..self.clone() } != *earlier
    }

    /// The first line: `7/10 current, 2 waiting, 1 failed, 1m12s of 10m`.
    pub fn headline(&self) -> String {
        let mut line = if self.objects == 0 {
            "0 objects".to_owned()
        } else {
            format!("{}/{} current", self.current, self.objects)
        };
        let counts = [
            (self.settling, "settling"),
            (self.waiting, "waiting"),
            (self.failed, "failed"),
            (self.late, "late"),
            (self.unknown, "unknown"),
            (self.suspended, "suspended"),
        ];
        for (count, word) in counts.into_iter().filter(|(count, _)| *count > 0) {
            let _ = write!(line, ", {count} {word}");
        }
        let (elapsed, total) = (Duration::from_secs(self.elapsed_seconds), Duration::from_secs(self.total_seconds));
        let _ = write!(line, ", {} of {}", humanize(elapsed), humanize(total));
        line
    }
}

fn name(id: &ObjectId) -> String {
    if id.namespace.is_empty() { id.name.clone() } else { format!("{}/{}", id.namespace, id.name) }
}

impl fmt::Display for Progress {
    /// The headline and the groups, a line each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())?;
        for group in &self.groups {
            write!(f, "\n* {group}")?;
        }
        let others = [
            (self.other_issues, "with other issues"),
            (self.other_unknown, "unknown"),
            (self.other_waiting, "waiting"),
        ];
        let mut between = "\nAnd ";
        for (count, word) in others.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "{between}{count} {word}")?;
            between = ", ";
        }
        Ok(())
    }
}

impl fmt::Display for Group {
    /// `Pod shop/a, shop/b, shop/c, ... (2 more): PodPending: Pod is in the Pending phase`, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = format!("{} {}", self.kind, self.names.join(", "));
        if self.more > 0 {
            let _ = write!(line, ", ... ({} more)", self.more);
        }
        line.push_str(": ");
        line.push_str(&self.reason);
        if !self.message.is_empty() {
            line.push_str(": ");
            line.extend(self.message.chars().take(WIDTH));
            if self.message.chars().nth(WIDTH).is_some() {
                line.push('…');
            }
        }
        // Others wrote the words: a line break or a colour code in them must not reach the terminal.
        for character in line.chars() {
            f.write_char(if character.is_control() { ' ' } else { character })?;
        }
        Ok(())
    }
}
