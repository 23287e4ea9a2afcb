//! The files of `releases/`: what exists, where it is, and what it says it can follow.
//!
//! Such a file may be megabytes of JSON, so it is read in one pass without copying. Only a file in which something has
//! the wrong shape is read a second time, element by element and with places. Start at [`Releases::read`].

mod element;

use std::collections::BTreeMap;

use clearway_core::{Arch, Diagnostic, Place, Position};
use clearway_yaml::Found;

use crate::codes;
use crate::inputs::extension;
use crate::metadata::{Keys, Metadata};
use crate::record::{Findings, Record, whole};
use crate::versions::{Versions, id};
use element::{Entry, Text};

/// The key under which a manifest's digest is served.
pub(crate) const MANIFEST_REF: &str = "io.openshift.upgrades.graph.release.manifestref";

/// One release as its file lists it. Versions and architectures are ids in [`Releases`].
pub(crate) struct Listed {
    pub(crate) version: u32,
    pub(crate) arch: u32,
    pub(crate) payload: String,
    pub(crate) previous: Vec<u32>,
    pub(crate) next: Vec<u32>,
    pub(crate) metadata: Metadata,
    /// Which file it stands in.
    pub(crate) file: u32,
    /// Where its version stands in that file.
    pub(crate) position: Option<Position>,
}

/// Every release of every file.
#[derive(Default)]
pub(crate) struct Releases {
    pub(crate) listed: Vec<Listed>,
    pub(crate) versions: Versions,
    pub(crate) arches: BTreeMap<Arch, u32>,
    pub(crate) files: Vec<String>,
    /// The keys of their metadata.
    pub(crate) keys: Keys,
}

impl Releases {
    /// Reads one file; a text that is no list of releases refuses the revision.
    pub(crate) fn read(&mut self, path: &str, bytes: &[u8], findings: &mut Findings<'_>) {
        let file = id(self.files.len());
        self.files.push(path.to_owned());
        let json = if extension(path) == "json" && bytes.len() as u64 <= findings.limits.file_bytes {
            std::str::from_utf8(bytes).ok()
        } else {
            None
        };
        if let Some(text) = json
            && let Ok(entries) = serde_json::from_str::<Vec<Entry<'_>>>(text)
        {
            let mut lines = Lines::new(text);
            for entry in entries {
                let at = offset(text, entry.version.as_str()).map(|byte| lines.position(byte));
                let place = |part: &str| {
                    let position = offset(text, part).map(|byte| Lines::new(text).position(byte));
                    Place { position: position.or(at), ..whole(path) }
                };
                self.admit(&entry, file, at, &place, findings);
            }
            return;
        }
        let limits = findings.limits;
        clearway_yaml::read(bytes, path, limits, |found| match found {
            Found::Object { root, source, .. } => {
                let record = Record::new(root, source);
                match element::located(record, findings) {
                    Ok(entry) => {
                        let at = record.root.get("version").and_then(|node| record.position(node));
                        let place = |_: &str| Place { position: at, ..whole(path) };
                        self.admit(&entry, file, at, &place, findings);
                    }
                    Err(diagnostic) => findings.push(*diagnostic),
                }
            }
            Found::Problem(problem) if problem.severity < clearway_core::Severity::Error => findings.push(problem),
            Found::Problem(problem) => {
                findings.push(problem);
                findings
                    .refuse(codes::RELEASES_UNREADABLE.finding("the file cannot be read to its end").at(whole(path)));
            }
        });
    }

    fn admit(
        &mut self,
        entry: &Entry<'_>,
        file: u32,
        position: Option<Position>,
        place: &dyn Fn(&str) -> Place,
        findings: &mut Findings<'_>,
    ) {
        let version = entry.version.as_str();
        let bad = |part: &str, why: String| -> Diagnostic {
            codes::RELEASE_UNREADABLE
                .finding(why)
                .at(place(part))
                .with_help("the release is not served; the others are")
        };
        let version_id = match self.versions.intern(version) {
            Ok(found) => found,
            Err(error) => return findings.push(bad(version, error.to_string())),
        };
        let payload = entry.payload.as_str();
        if payload.is_empty() {
            return findings.push(bad(version, format!("release {version} has an empty `payload`")));
        }
        let arch = match entry.arch.as_ref().map(|arch| arch.as_str().parse::<Arch>()) {
            None => version.split_once('+').and_then(|(_, build)| build.parse().ok()).unwrap_or_default(),
            Some(Ok(arch)) => arch,
            Some(Err(error)) => {
                return findings.push(bad(version, format!("release {version}: {error}")));
            }
        };
        let arches = id(self.arches.len());
        let arch = *self.arches.entry(arch).or_insert(arches);
        let mut metadata = Metadata::default();
        for (key, value) in &entry.metadata.0 {
            metadata.insert(&self.keys.share(key.as_str()), value.as_str());
        }
        if let Some(digest) = payload.rsplit_once('@').map(|(_, digest)| digest)
            && !metadata.contains_key(MANIFEST_REF)
        {
            metadata.insert(&self.keys.share(MANIFEST_REF), digest);
        }
        let previous = self.neighbours(version, "previous", &entry.previous, place, findings);
        let next = self.neighbours(version, "next", &entry.next, place, findings);
        let payload = payload.to_owned();
        self.listed.push(Listed { version: version_id, arch, payload, previous, next, metadata, file, position });
    }

    fn neighbours(
        &mut self,
        version: &str,
        key: &str,
        texts: &[Text<'_>],
        place: &dyn Fn(&str) -> Place,
        findings: &mut Findings<'_>,
    ) -> Vec<u32> {
        let mut ids = Vec::with_capacity(texts.len());
        for text in texts {
            match self.versions.intern(text.as_str()) {
                Ok(found) => ids.push(found),
                Err(error) => findings.push(
                    codes::RELEASE_NEIGHBOUR
                        .finding(format!("`{key}` of release {version}: {error}"))
                        .at(place(text.as_str()))
                        .with_help("the entry is passed over: no edge comes of it"),
                ),
            }
        }
        ids
    }
}

/// The byte at which `part` stands in `text`, if it is a piece of it and no copy.
fn offset(text: &str, part: &str) -> Option<usize> {
    let at = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    (at < text.len()).then_some(at)
}

/// Counts lines from one byte to the next, so that going through a file costs one pass.
struct Lines<'t> {
    text: &'t str,
    line: usize,
    start: usize,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Self {
        Lines { text, line: 1, start: 0 }
    }

    /// The line and column of a byte at or behind the last one that was asked for.
    fn position(&mut self, byte: usize) -> Position {
        let between = self.text.get(self.start..byte).unwrap_or("");
        if let Some(newline) = between.rfind('\n') {
            self.line += between.bytes().filter(|byte| *byte == b'\n').count();
            self.start += newline + 1;
        }
        let column = self.text.get(self.start..byte).map_or(0, |line| line.chars().count()) + 1;
        Position { line: self.line, column }
    }
}
