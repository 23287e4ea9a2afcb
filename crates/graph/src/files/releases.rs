//! The files of `releases/`: what exists, where it is, and what it says it can follow.
//!
//! Such a file may be megabytes of JSON, so it is read in one pass, one element at a time and without copying. Where an
//! element has the wrong shape, it and those behind it are read again, with places. Start at [`Releases::read`].

mod element;
mod lines;

use std::collections::{BTreeMap, HashMap};

use clearway_core::{Arch, CapExceeded, Diagnostic, GraphLimits, Place, Position};
use clearway_yaml::ReadEvent;

use crate::codes;
use crate::files::findings::{Findings, over};
use crate::files::inputs::extension;
use crate::files::record::{Record, named, shortened, whole};
use crate::model::metadata::{Keys, Metadata};
use crate::model::versions::{NotInterned, Versions, id};
use element::{Entry, Text};
use lines::{Lines, offset};

/// The key under which a manifest's digest is served.
pub(crate) const MANIFEST_REF: &str = "io.openshift.upgrades.graph.release.manifestref";

/// One release as its file lists it. Versions and architectures are ids in [`Releases`].
pub(crate) struct ListedRelease {
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

impl ListedRelease {
    /// What its payload and metadata take, as the caps count it.
    pub(crate) fn bytes(&self) -> usize {
        self.payload.len() + self.metadata.bytes()
    }
}

/// Every release of every file.
#[derive(Default)]
pub(crate) struct Releases {
    pub(crate) listed: Vec<ListedRelease>,
    pub(crate) versions: Versions,
    pub(crate) arches: BTreeMap<Arch, u32>,
    pub(crate) files: Vec<String>,
    /// The keys of their metadata.
    pub(crate) keys: Keys,
    /// Bytes of the payloads and metadata of all.
    pub(crate) bytes: usize,
    /// Entries of `previous` and `next` of all.
    pub(crate) neighbours: usize,
}

impl Releases {
    /// Reads one file; a text that is no list of releases refuses the revision.
    pub(crate) fn read(&mut self, path: &str, bytes: &[u8], findings: &mut Findings<'_>) {
        let file = id(self.files.len());
        self.files.push(path.to_owned());
        // Elements that were read in the fast way are passed over in the slow one.
        let mut read = 0_usize;
        if extension(path) == "json"
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            let mut lines = Lines::new(text);
            let caps = findings.caps();
            let outcome = element::each(text, caps, &mut |entry| {
                read += 1;
                let mut within = lines.fork();
                let at = offset(text, entry.version.as_str()).map(|byte| lines.position(byte));
                let mut place = |part: &str| {
                    let position = offset(text, part).map(|byte| within.position(byte));
                    Place { position: position.or(at), ..whole(path) }
                };
                self.admit(&entry, file, at, &mut place, findings);
            });
            if outcome.is_ok() {
                return;
            }
        }
        let mut number = 0_usize;
        let limits = findings.yaml();
        clearway_yaml::read(bytes, path, &limits, |found| match found {
            ReadEvent::Object { root, source, .. } => {
                number += 1;
                if number <= read {
                    return;
                }
                let record = Record::new(root, source);
                match element::located(record, findings) {
                    Ok(entry) => {
                        let at = record.root.get("version").and_then(|node| record.position(node));
                        let mut place = |_: &str| Place { position: at, ..whole(path) };
                        self.admit(&entry, file, at, &mut place, findings);
                    }
                    Err(bad) => findings.report(&codes::RELEASE_UNREADABLE, || bad.finding(record)),
                }
            }
            ReadEvent::Problem(problem) if problem.severity < clearway_core::Severity::Error => findings.push(problem),
            ReadEvent::Problem(problem) => {
                findings.push(named(problem));
                findings
                    .refuse(codes::RELEASES_UNREADABLE.finding("the end of the file cannot be read").at(whole(path)));
            }
        });
    }

    fn admit(
        &mut self,
        entry: &Entry<'_>,
        file: u32,
        position: Option<Position>,
        place: &mut dyn FnMut(&str) -> Place,
        findings: &mut Findings<'_>,
    ) {
        let version = entry.version.as_str();
        let name = shortened(version);
        let caps = findings.caps();
        if findings.exceeds("releases", self.listed.len() + 1, caps.releases, "releases", || place(version)) {
            return;
        }
        let bad = |why: String, place: Place| -> Diagnostic {
            codes::RELEASE_UNREADABLE.finding(why).at(place).with_help("the release is not served; the others are")
        };
        let versions = CapExceeded { cap: "versions", limit: caps.versions as u64, what: "different versions" };
        let version_id = match self.versions.intern(version, caps.versions) {
            Ok(found) => found,
            Err(NotInterned::TooMany) => return findings.exceed(versions, place(version)),
            Err(NotInterned::NoVersion(error)) => {
                return findings.report(&codes::RELEASE_UNREADABLE, || bad(error.to_string(), place(version)));
            }
        };
        let payload = entry.payload.as_str();
        if payload.is_empty() {
            let why = || format!("release {name} has an empty `payload`");
            return findings.report(&codes::RELEASE_UNREADABLE, || bad(why(), place(version)));
        }
        let arch = match entry.arch.as_ref().map(|arch| arch.as_str().parse::<Arch>()) {
            None => version.split_once('+').and_then(|(_, build)| build.parse().ok()).unwrap_or_default(),
            Some(Ok(arch)) => arch,
            Some(Err(error)) => {
                let why = || format!("release {name}: {error}");
                return findings.report(&codes::RELEASE_UNREADABLE, || bad(why(), place(version)));
            }
        };
        if let Some(above) = too_large(entry, caps) {
            return findings.report(&codes::TOO_LARGE, || {
                let finding = over(&codes::TOO_LARGE, &above).at(place(version));
                finding.with_note(format!("release {name} is not served; the others are"))
            });
        }
        if let Some(key) = contradicted_key(&entry.metadata) {
            let why = || format!("`{}` of release {name} is set twice", shortened(key));
            return findings.report(&codes::RELEASE_UNREADABLE, || bad(why(), place(version)));
        }
        let arches = id(self.arches.len());
        let arch = *self.arches.entry(arch).or_insert(arches);
        let mut metadata = Metadata::default();
        for (key, value) in &entry.metadata {
            metadata.insert(&self.keys.share(key.as_str()), value.as_str());
        }
        if let Some(digest) = payload.rsplit_once('@').map(|(_, digest)| digest)
            && !metadata.contains_key(MANIFEST_REF)
        {
            metadata.insert(&self.keys.share(MANIFEST_REF), digest);
        }
        self.neighbours += entry.previous.len() + entry.next.len();
        let previous = self.neighbours(version, "previous", &entry.previous, place, findings);
        let next = self.neighbours(version, "next", &entry.next, place, findings);
        let payload = payload.to_owned();
        let release = ListedRelease { version: version_id, arch, payload, previous, next, metadata, file, position };
        self.bytes += release.bytes();
        let texts = "bytes in the payloads and metadata of all releases";
        let place = place(version);
        if findings.exceeds("arches", self.arches.len(), caps.arches, "architectures", || place.clone())
            || findings.exceeds("release_texts", self.bytes, caps.release_texts, texts, || place.clone())
            || findings.exceeds("edges", self.neighbours, caps.edges, "updates listed by releases", || place)
        {
            return;
        }
        self.listed.push(release);
    }

    fn neighbours(
        &mut self,
        version: &str,
        key: &str,
        texts: &[Text<'_>],
        place: &mut dyn FnMut(&str) -> Place,
        findings: &mut Findings<'_>,
    ) -> Vec<u32> {
        let mut ids = Vec::with_capacity(texts.len());
        let most = findings.caps().versions;
        for text in texts {
            match self.versions.intern(text.as_str(), most) {
                Ok(found) => ids.push(found),
                Err(NotInterned::TooMany) => {
                    let above = CapExceeded { cap: "versions", limit: most as u64, what: "different versions" };
                    findings.exceed(above, place(text.as_str()));
                    break;
                }
                Err(NotInterned::NoVersion(error)) => findings.report(&codes::RELEASE_NEIGHBOUR, || {
                    codes::RELEASE_NEIGHBOUR
                        .finding(format!("`{key}` of release {}: {error}", shortened(version)))
                        .at(place(text.as_str()))
                        .with_help("the entry is ignored: it adds no edge")
                }),
            }
        }
        ids
    }
}

/// The first key with two values. One of them may remove an edge that the other one does not.
fn contradicted_key<'e>(metadata: &'e [(Text<'_>, Text<'_>)]) -> Option<&'e str> {
    let mut known: HashMap<&str, &str> = HashMap::with_capacity(metadata.len());
    let mut pairs = metadata.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    pairs.find(|(key, value)| known.insert(key, value).is_some_and(|other| other != *value)).map(|(key, _)| key)
}

/// The cap on one release that it is above.
fn too_large(entry: &Entry<'_>, caps: &GraphLimits) -> Option<CapExceeded> {
    let pairs = entry.metadata.iter().map(|(key, value)| Metadata::cost(key.as_str(), value.as_str()));
    let bytes = entry.payload.as_str().len() + pairs.sum::<usize>();
    // Those that were not kept are at least one more.
    let neighbours = entry.previous.len() + entry.next.len() + usize::from(entry.too_many_neighbours);
    let keys = entry.metadata.len() + usize::from(entry.too_many_keys);
    CapExceeded::first([
        ("neighbours", neighbours, caps.neighbours, "entries in `previous` and `next` of a release"),
        ("metadata_keys", keys, caps.metadata_keys, "metadata keys of a release"),
        ("release_bytes", bytes, caps.release_bytes, "bytes in the payload and metadata of a release"),
    ])
}
