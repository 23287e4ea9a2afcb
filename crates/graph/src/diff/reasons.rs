//! Which files are the reason for what changed between two revisions.
//!
//! Every update of a line is explained in both revisions; a file whose say differs is a reason. Where a release came or
//! went, that is the file of the channel that lists it, or the file that has the release itself.

use std::collections::BTreeMap;

use clearway_core::{Arch, Version};

use super::{Diff, FileSays, Line, Says, Span, diff};
use crate::block::Block;
use crate::explain::Said;
use crate::graph::Graph;
use crate::revision::Revision;

impl Revision {
    /// What changed in a channel from this revision to another one, with the files that are the reason.
    pub fn diff(&self, after: &Revision, channel: &str, arch: &Arch) -> Diff {
        let (old, new) = (self.graph(channel, arch), after.graph(channel, arch));
        let mut found = diff(&old, &new);
        for line in &mut found.updates {
            let mut files = Files::default();
            for (from, to) in updates_of(line, &old, &new) {
                if line.release.is_some() {
                    for version in [from, to] {
                        files.compare(&listed(self, version, channel, arch), &listed(after, version, channel, arch));
                    }
                }
                files.compare(&said(self, from, to, arch), &said(after, from, to, arch));
            }
            line.files = files.list();
        }
        found
    }
}

/// The updates that a line stands for.
fn updates_of<'g>(line: &Line, old: &'g Graph, new: &'g Graph) -> Vec<(&'g Version, &'g Version)> {
    let within = |spans: &[Span], version: &Version| spans.iter().any(|span| span.contains(version));
    let mut found = Vec::new();
    for graph in [old, new] {
        let place = |spans: &[Span]| -> Vec<Option<&'g Version>> {
            graph.nodes().iter().map(|node| Some(node.version()).filter(|version| within(spans, version))).collect()
        };
        let (from, to) = (place(&line.from), place(&line.to));
        let at = |list: &[Option<&'g Version>], place: u32| list.get(place as usize).copied().flatten();
        found.extend(graph.updates().filter_map(|(edge, _)| Some((at(&from, edge.from)?, at(&to, edge.to)?))));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Something that a file says, without the place it stands at.
#[derive(PartialEq)]
enum Word<'r> {
    Key(&'static str),
    Block(&'r Block),
    Release,
    Member,
}

impl Word<'_> {
    fn same(&self, other: &Word<'_>) -> bool {
        match (self, other) {
            (Word::Block(one), Word::Block(other)) => {
                (&one.to, &one.from, &one.effect) == (&other.to, &other.from, &other.effect)
            }
            _ => self == other,
        }
    }
}

type Words<'r> = Vec<(&'r str, Word<'r>)>;

fn said<'r>(revision: &'r Revision, from: &Version, to: &Version, arch: &Arch) -> Words<'r> {
    let Some(explanation) = revision.explain(from, to, arch) else { return Vec::new() };
    let word = |said: Said<'r>| match said {
        Said::Listed { key, file } | Said::Metadata { key, file } => (file, Word::Key(key)),
        Said::Blocked(block) => (block.file.as_str(), Word::Block(block)),
    };
    explanation.said.into_iter().map(word).collect()
}

/// Who brings a release into a channel.
fn listed<'r>(revision: &'r Revision, version: &Version, channel: &str, arch: &Arch) -> Words<'r> {
    let release = revision.release(version, arch).map(|release| (release.file.as_ref(), Word::Release));
    let channel = revision.channels().find(|one| one.name == channel);
    let lists = |one: &&crate::channel::Channel| one.versions.iter().any(|listed| listed.precedence(version).is_eq());
    let files = channel.filter(lists).into_iter().flat_map(|one| &one.files);
    release.into_iter().chain(files.map(|file| (file.as_str(), Word::Member))).collect()
}

/// Files by path: whether one said something before that it does not say now, and the other way round.
#[derive(Default)]
struct Files<'r>(BTreeMap<&'r str, (bool, bool)>);

impl<'r> Files<'r> {
    fn compare(&mut self, before: &Words<'r>, after: &Words<'r>) {
        let has = |list: &Words<'r>, (file, word): &(&str, Word<'_>)| {
            list.iter().any(|(other, said)| other == file && said.same(word))
        };
        for entry in before.iter().filter(|entry| !has(after, entry)) {
            self.0.entry(entry.0).or_default().0 = true;
        }
        for entry in after.iter().filter(|entry| !has(before, entry)) {
            self.0.entry(entry.0).or_default().1 = true;
        }
    }

    fn list(self) -> Vec<FileSays> {
        let now = |flags| match flags {
            (true, true) => Says::Changed,
            (true, false) => Says::Lost,
            _ => Says::Gained,
        };
        self.0.into_iter().map(|(file, flags)| FileSays { file: file.to_owned(), now: now(flags) }).collect()
    }
}
