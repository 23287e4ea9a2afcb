//! Which files are the reason for what changed between two revisions.
//!
//! Every update of a line is explained in both revisions; a file whose say differs is a reason. Where a release came or
//! went, that is the file of the channel that lists it, or the file that has the release itself.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use clearway_core::{Arch, Digest, Version};

use super::{Diff, FileChange, FileChangeKind, with_updates};
use crate::files::block::{Block, Effect};
use crate::model::revision::Revision;
use crate::query::explain::Statement;

impl Revision {
    /// What changed in a channel from this revision to another one, with the files that are the reason.
    pub fn diff(&self, after: &Revision, channel: &str, arch: &Arch) -> Diff {
        let (old, new) = (self.graph(channel, arch), after.graph(channel, arch));
        let (mut found, updates) = with_updates(&old, &new);
        let (mut before, mut after) = (Side::new(self, channel, arch), Side::new(after, channel, arch));
        let mut paths: HashMap<&str, Arc<str>> = HashMap::new();
        for (line, updates) in found.updates.iter_mut().zip(updates) {
            let mut files = Files::default();
            for (from, to) in updates {
                if line.release.is_some() {
                    for version in [from, to] {
                        files.compare(&before.listed(version), &after.listed(version));
                    }
                }
                files.compare(&before.said(from, to), &after.said(from, to));
            }
            line.files = files.list(&mut paths);
        }
        found
    }
}

/// Something that a file says, without the place it stands at.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Word {
    Key(&'static str),
    /// A block: the digest of what it does to which updates.
    Block(Digest),
    Release,
    Member,
}

/// What files say about something.
type Words<'r> = HashSet<(&'r str, Word)>;

/// One of the two revisions.
struct Side<'r> {
    revision: &'r Revision,
    arch: &'r Arch,
    /// The files of the channel, and the versions that it lists, without build metadata.
    files: &'r [String],
    versions: HashSet<Version>,
    /// The digests of blocks that were asked for, by where the blocks stand.
    digests: HashMap<*const Block, Digest>,
}

impl<'r> Side<'r> {
    fn new(revision: &'r Revision, channel: &str, arch: &'r Arch) -> Self {
        let channel = revision.channels.get(channel);
        Side {
            revision,
            arch,
            files: channel.map_or(&[], |channel| &channel.files),
            versions: channel.into_iter().flat_map(|channel| &channel.versions).map(Version::without_build).collect(),
            digests: HashMap::new(),
        }
    }

    /// What files say about an update.
    fn said(&mut self, from: &Version, to: &Version) -> Words<'r> {
        let place = |version: &Version| self.revision.place(version, self.arch);
        let (Some(from), Some(to)) = (place(from), place(to)) else { return Words::new() };
        let words = self.revision.statements(from, to).into_iter().map(|said| match said {
            Statement::Listed { key, file } | Statement::Metadata { key, file } => (file, Word::Key(key)),
            Statement::Blocked(block) => {
                let digest = self.digests.entry(std::ptr::from_ref(block)).or_insert_with(|| digest(block));
                (block.file.as_str(), Word::Block(digest.clone()))
            }
        });
        words.collect()
    }

    /// Who brings a release into the channel.
    fn listed(&self, version: &Version) -> Words<'r> {
        let release = self.revision.release(version, self.arch);
        let lists = self.versions.contains(&version.without_build());
        let files = self.files.iter().filter(|_| lists).map(|file| (file.as_str(), Word::Member));
        release.map(|release| (release.file.as_ref(), Word::Release)).into_iter().chain(files).collect()
    }
}

/// What a block does, to which updates.
fn digest(block: &Block) -> Digest {
    let effect = match &block.effect {
        Effect::Remove => "",
        Effect::Condition(risk) => risk.json(),
    };
    Digest::sha256(format!("{}\n{}\n{effect}", block.to, block.from).as_bytes())
}

/// Files by path: whether one said something before that it does not say now, and the other way round.
#[derive(Default)]
struct Files<'r>(BTreeMap<&'r str, (bool, bool)>);

impl<'r> Files<'r> {
    fn compare(&mut self, before: &Words<'r>, after: &Words<'r>) {
        for (file, _) in before.difference(after) {
            self.0.entry(file).or_default().0 = true;
        }
        for (file, _) in after.difference(before) {
            self.0.entry(file).or_default().1 = true;
        }
    }

    fn list(self, paths: &mut HashMap<&'r str, Arc<str>>) -> Vec<FileChange> {
        let now = |flags| match flags {
            (true, true) => FileChangeKind::Changed,
            (true, false) => FileChangeKind::Lost,
            _ => FileChangeKind::Gained,
        };
        let mut shared = |file: &'r str| Arc::clone(paths.entry(file).or_insert_with(|| file.into()));
        self.0.into_iter().map(|(file, flags)| FileChange { file: shared(file), now: now(flags) }).collect()
    }
}
