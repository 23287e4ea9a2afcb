//! What revisions changed, as text of a bounded size: a service keeps this of its last revisions, and not the revisions.

use std::collections::VecDeque;

use clearway_core::{Arch, Timestamp};
use clearway_graph::diff::{FileChangeKind, Line, Totals, UpdateChangeKind};
use clearway_graph::{Diff, Revision};

use crate::foreign_text;

/// Revisions that are kept.
pub const MOST_REVISIONS: usize = 20;
/// Different changes of channels that are compared in one revision.
const MOST_CHANGES: usize = 40;
/// Lines that are kept of one change.
const MOST_LINES: usize = 100;
/// Channels that are named for one change.
const MOST_CHANNELS: usize = 100;
/// Bytes of the lines that are kept of one revision: strangers write their texts, and twenty revisions are kept.
const RECORD_BYTES: usize = 1 << 20;

/// A channel and an architecture.
pub type AnswerName = (String, Arch);

/// One revision, and what it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionRecord {
    pub(crate) id: String,
    pub(crate) published: Timestamp,
    pub(crate) releases: usize,
    pub(crate) channels: usize,
    /// Nothing for the first revision since the start.
    pub(crate) changes: Option<Changes>,
}

/// What a revision changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) list: Vec<ChannelChange>,
    /// Answers that changed and were not compared.
    pub(crate) more: usize,
}

/// A change that is the same for some channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChannelChange {
    /// Channels with their architecture.
    pub(crate) channels: Vec<String>,
    pub(crate) more_channels: usize,
    pub(crate) totals: Vec<String>,
    pub(crate) lines: Vec<ChangeLine>,
    pub(crate) more_lines: usize,
}

impl ChannelChange {
    /// The first of the channels.
    pub(crate) fn title(&self) -> &str {
        self.channels.first().map_or("", String::as_str)
    }
}

/// Something that happened to releases, updates or risks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangeLine {
    /// `good`, `warning`, `bad` or `unknown`.
    pub(crate) state: &'static str,
    pub(crate) what: &'static str,
    pub(crate) subject: String,
    pub(crate) risks: String,
    pub(crate) files: String,
}

impl RevisionRecord {
    /// The first revision since the start.
    pub fn first(revision: &Revision, published: Timestamp) -> Self {
        RevisionRecord {
            id: revision.id().to_string(),
            published,
            releases: revision.releases().len(),
            channels: revision.channels().count(),
            changes: None,
        }
    }

    /// A revision that took the place of another one. `changed` has the answers that differ; those of one list changed in
    /// the same way.
    pub fn next(before: &Revision, after: &Revision, changed: &[Vec<AnswerName>], published: Timestamp) -> Self {
        let mut left = RECORD_BYTES;
        let compare = |answers: &Vec<AnswerName>| {
            let (channel, arch) = answers.first()?;
            let diff = before.diff(after, channel, arch);
            let mut names: Vec<String> =
                answers.iter().map(|(channel, arch)| format!("{} ({arch})", foreign_text::line(channel))).collect();
            names.sort_unstable();
            let more_channels = names.len().saturating_sub(MOST_CHANNELS);
            names.truncate(MOST_CHANNELS);
            let (lines, more_lines) = lines(&diff, &mut left);
            Some(ChannelChange { channels: names, more_channels, totals: totals(&diff.totals), lines, more_lines })
        };
        let mut list: Vec<ChannelChange> = changed.iter().take(MOST_CHANGES).filter_map(compare).collect();
        list.sort_by(|one, other| one.channels.cmp(&other.channels));
        let more = changed.iter().skip(MOST_CHANGES).map(Vec::len).sum();
        RevisionRecord { changes: Some(Changes { list, more }), ..RevisionRecord::first(after, published) }
    }

    /// The name of the revision.
    pub fn id(&self) -> &str {
        &self.id
    }
}

fn totals(totals: &Totals) -> Vec<String> {
    let count = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
    [
        count(totals.releases_gained, "releases added"),
        count(totals.releases_lost, "releases removed"),
        count(totals.updates_gained, "updates added"),
        count(totals.updates_lost, "updates removed"),
        count(totals.became_conditional, "updates became conditional"),
        count(totals.became_unconditional, "updates became unconditional"),
        count(totals.risks_changed, "updates with other risks"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What is kept of a difference, and how much is not. `left` is how many bytes may still be kept.
fn lines(diff: &Diff, left: &mut usize) -> (Vec<ChangeLine>, usize) {
    let plain =
        |state, what, subject: String| ChangeLine { state, what, subject, risks: String::new(), files: String::new() };
    let added = diff.releases.gained.iter().map(|version| plain("good", "Release added", version.to_string()));
    let removed = diff.releases.lost.iter().map(|version| plain("bad", "Release removed", version.to_string()));
    let changed = diff.releases.changed.iter().map(|change| {
        let keys = change.metadata.keys().map(String::as_str).chain(change.payload.as_ref().map(|_| "payload"));
        let keys = foreign_text::list_excerpt(keys);
        plain("unknown", "Release changed", format!("{}: {keys}", change.version))
    });
    let risks = diff.risks.changed.iter().map(|change| {
        let (name, fields) = (foreign_text::excerpt(change.after.name()), change.fields.join(", "));
        plain("unknown", "Risk changed", format!("{name}: {fields}, on {} updates", change.updates))
    });
    let all = added.chain(removed).chain(diff.updates.iter().map(update_line)).chain(changed).chain(risks);
    let mut kept: Vec<ChangeLine> = Vec::new();
    for line in all.take(MOST_LINES) {
        let bytes = line.subject.len() + line.risks.len() + line.files.len() + LINE_BYTES;
        let Some(rest) = left.checked_sub(bytes) else { break };
        *left = rest;
        kept.push(line);
    }
    let Diff { releases, updates, risks, .. } = diff;
    let count =
        releases.gained.len() + releases.lost.len() + updates.len() + releases.changed.len() + risks.changed.len();
    let more = count - kept.len();
    (kept, more)
}

/// Files that are named for one line.
const MOST_FILES: usize = 5;
/// What a line takes besides its texts.
const LINE_BYTES: usize = 100;

fn update_line(line: &Line) -> ChangeLine {
    let (state, what) = match line.what {
        UpdateChangeKind::Lost => ("bad", "Updates removed"),
        UpdateChangeKind::BecameConditional => ("warning", "Became conditional"),
        UpdateChangeKind::RisksGained => ("warning", "Risks added"),
        UpdateChangeKind::RisksLost => ("good", "Risks removed"),
        UpdateChangeKind::BecameUnconditional => ("good", "Became unconditional"),
        UpdateChangeKind::Gained => ("good", "Updates added"),
    };
    let files = line.files.iter().take(MOST_FILES).map(|file| {
        let how = match file.now {
            FileChangeKind::Gained => "added",
            FileChangeKind::Lost => "removed",
            FileChangeKind::Changed => "changed",
        };
        format!("{} ({how})", foreign_text::excerpt(&file.file))
    });
    let mut files: Vec<String> = files.collect();
    let more = line.files.len().saturating_sub(files.len());
    files.extend((more > 0).then(|| format!("{more} more")));
    let places = foreign_text::excerpt(&line.to_string());
    ChangeLine {
        state,
        what,
        subject: format!("{places} ({} updates)", line.updates),
        risks: foreign_text::list_excerpt(line.risks.iter().map(String::as_str)),
        files: files.join(", "),
    }
}

/// The last revisions, from the newest on.
#[derive(Debug, Clone, Default)]
pub struct RevisionHistory(VecDeque<RevisionRecord>);

impl RevisionHistory {
    /// Adds the newest revision; the oldest one is dropped if there are too many.
    pub fn add(&mut self, record: RevisionRecord) {
        self.0.push_front(record);
        self.0.truncate(MOST_REVISIONS);
    }

    /// The records, from the newest on.
    pub fn iter(&self) -> impl Iterator<Item = &RevisionRecord> {
        self.0.iter()
    }

    /// The newest record of a revision, and the place of it.
    pub(crate) fn find(&self, id: &str) -> Option<(usize, &RevisionRecord)> {
        self.0.iter().enumerate().find(|(_, record)| record.id == id)
    }

    /// The record at a place.
    pub(crate) fn get(&self, place: usize) -> Option<&RevisionRecord> {
        self.0.get(place)
    }
}

#[cfg(test)]
mod tests {
    use clearway_core::Limits;
    use clearway_graph::{Inputs, load};

    use super::*;

    /// A chain of releases, each of a minor of its own, with so many risks of long names on every update.
    fn revision(risks: usize) -> Revision {
        let versions: Vec<String> = (0..300).map(|number| format!("1.{number}.0")).collect();
        let release = |number: usize, version: &String| {
            let previous = number.checked_sub(1).and_then(|number| versions.get(number)).map_or("", String::as_str);
            format!("- {{version: {version}, arch: amd64, payload: p, previous: [{previous}]}}\n")
        };
        let releases: String = versions.iter().enumerate().map(|(number, version)| release(number, version)).collect();
        let risk = |number: usize| {
            let name = format!("R{number}{}", "x".repeat(1_000));
            let text = format!(
                "name: {name}\nurl: https://example.com\nmessage: M\nto: '*'\nfrom: '*'\nmatchingRules: [{{type: Always}}]\n"
            );
            (format!("risks/{number}{}.yaml", "f".repeat(200)), text)
        };
        let files = [
            ("version".to_owned(), "1.2.0\n".to_owned()),
            ("channels/c.yaml".to_owned(), format!("name: c\nversions: [{}]\n", versions.join(", "))),
            ("releases/r.yaml".to_owned(), releases),
        ];
        let inputs: Inputs = files.into_iter().chain((0..risks).map(risk)).collect();
        let outcome = load(&inputs, &Limits::default());
        outcome.revision.unwrap_or_else(|| panic!("{:?}", outcome.diagnostics))
    }

    #[test]
    fn what_is_kept_of_a_revision_is_bounded() {
        let (before, after) = (revision(0), revision(50));
        let changed = vec![vec![("c".to_owned(), Arch::default())]; 2 * MOST_CHANGES];
        let record = RevisionRecord::next(&before, &after, &changed, Timestamp::EPOCH);
        let kept = record.changes.unwrap();
        let lines = || kept.list.iter().flat_map(|change| &change.lines);
        let bytes: usize = lines().map(|line| line.subject.len() + line.risks.len() + line.files.len()).sum();
        assert!(bytes <= RECORD_BYTES && lines().count() > MOST_LINES, "{bytes} bytes in {} lines", lines().count());
        assert!(lines().all(|line| line.risks.len() < 1_000), "{:?}", lines().next());
        let whole = |change: &ChannelChange| change.lines.len() + change.more_lines == 299;
        assert!(kept.list.iter().all(whole), "{:?}", kept.list.first());
    }
}
