//! Everything that is served of one revision, made before the first request for it.
//!
//! First every different answer is made and packed, which is what has to be kept of it; above a cap the revision is
//! refused. Then, as far as there is room, answers are kept plain and in other codings as well, so that most requests cost
//! nothing. Channels with the same releases have the same answer, which is made once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use bytes::Bytes;
use clearway_core::{Arch, CapExceeded, Digest, GraphLimits};
use clearway_graph::{Graph, Inputs, Revision, wire};
use http::HeaderValue;

use crate::data::archive;
use crate::data::body::Body;

/// Threads that make answers at one time, whatever the machine has: each takes the memory of one answer.
const MOST_THREADS: usize = 8;
/// Bytes of an answer from which on only one of them is made at a time.
const LARGE: usize = 1 << 20;

/// The digests of an answer before and after a change; nothing where there is no answer.
type BodyChange = (Option<String>, Option<String>);

/// All answers of one revision. It never changes.
#[derive(Debug)]
pub struct Publication {
    revision: Digest,
    header: HeaderValue,
    /// The places of architectures among the answers of a channel.
    arches: HashMap<String, usize>,
    /// By channel, then by architecture: the numbers of bodies.
    answers: HashMap<String, Box<[u32]>>,
    /// The answer for a channel or an architecture nobody has heard of.
    empty: Arc<Body>,
    bodies: Bodies,
    graph_data: Body,
    /// By path below `signatures/`.
    signatures: BTreeMap<String, Bytes>,
    releases: usize,
    channels: usize,
}

/// The different bodies by their numbers, and by the digest of what is in them.
#[derive(Debug, Default)]
struct Bodies {
    list: Vec<Arc<Body>>,
    numbers: HashMap<Digest, u32>,
}

impl Bodies {
    fn find(&self, digest: &Digest) -> Option<&Arc<Body>> {
        self.list.get(*self.numbers.get(digest)? as usize)
    }

    fn add(&mut self, digest: Digest, body: Arc<Body>) -> u32 {
        let number = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.numbers.insert(digest, number);
        self.list.push(body);
        number
    }
}

/// Why a revision is not served, although it could be loaded.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// It is above a cap.
    #[error(transparent)]
    Exceeded(#[from] CapExceeded),
    /// Its files cannot be packed for mirrors.
    #[error("cannot compress the files for mirrors: {0}")]
    Archive(#[from] io::Error),
}

/// What is served of the files themselves.
#[derive(Debug)]
pub(crate) struct ServedFiles {
    graph_data: Body,
    signatures: BTreeMap<String, Bytes>,
    size: usize,
}

impl ServedFiles {
    /// Packs the files, and takes the signatures out of them.
    pub(crate) fn new(inputs: &Inputs, revision: &Revision) -> Result<Self, PublishError> {
        let most = revision.caps().answers_packed;
        let signatures: BTreeMap<String, Bytes> = inputs
            .iter()
            .filter_map(|(path, content)| {
                Some((path.strip_prefix("signatures/")?.to_owned(), Bytes::copy_from_slice(content)))
            })
            .collect();
        let graph_data = Body::plain(Bytes::from(archive::archive(inputs, revision, most)?));
        let size = graph_data.size() + signatures.values().map(Bytes::len).sum::<usize>();
        Ok(ServedFiles { graph_data, signatures, size })
    }
}

impl Publication {
    /// Makes every body of a revision.
    ///
    /// Bodies that are the same as in `previous` are taken over; the rest is made by this many threads.
    pub fn prepare(
        inputs: &Inputs,
        revision: &Revision,
        previous: Option<&Publication>,
        threads: NonZeroUsize,
    ) -> Result<Self, PublishError> {
        Publication::of_files(ServedFiles::new(inputs, revision)?, revision, previous, threads)
    }

    /// The same where the files have been taken care of.
    pub(crate) fn of_files(
        files: ServedFiles,
        revision: &Revision,
        previous: Option<&Publication>,
        threads: NonZeroUsize,
    ) -> Result<Self, PublishError> {
        if let Some(above) = revision.above_in_answers() {
            return Err(above.into());
        }
        let threads = threads.get().min(MOST_THREADS);
        let made = Made::new(revision.caps(), previous.map(|previous| &previous.bodies), files.size);
        let nobody = made.answer(&Graph::default())?;
        // Each list of releases once, and where its answer goes.
        let mut scopes: HashMap<&[u32], Vec<(&str, usize)>> = HashMap::new();
        for channel in revision.channels() {
            for (at, arch) in revision.arches().iter().enumerate() {
                let members = revision.members(&channel.name, arch);
                scopes.entry(members).or_default().push((&channel.name, at));
            }
        }
        let scopes: Vec<Vec<(&str, usize)>> = scopes.into_values().collect();
        let answers: Mutex<HashMap<String, Box<[u32]>>> = Mutex::default();
        let nothing: Box<[u32]> = revision.arches().iter().map(|_| nobody).collect();
        work(threads, &scopes, |scopes| {
            let Some((channel, arch)) = scopes.first() else { return Ok(()) };
            let Some(arch) = revision.arches().get(*arch) else { return Ok(()) };
            let number = made.answer(&revision.graph(channel, arch))?;
            let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
            for (channel, arch) in scopes {
                let of_channel = answers.entry((*channel).to_owned()).or_insert_with(|| nothing.clone());
                of_channel.get_mut(*arch).into_iter().for_each(|slot| *slot = number);
            }
            Ok(())
        })?;
        let bodies = made.unfold(threads)?;
        let empty = bodies.list.get(nobody as usize).cloned();
        Ok(Publication {
            revision: revision.id().clone(),
            header: header(revision.id()),
            arches: revision.arches().iter().map(Arch::to_string).zip(0..).collect(),
            answers: answers.into_inner().unwrap_or_else(PoisonError::into_inner),
            empty: empty.unwrap_or_else(|| Arc::new(Body::plain(Bytes::new()))),
            bodies,
            graph_data: files.graph_data,
            signatures: files.signatures,
            releases: revision.releases().len(),
            channels: revision.channels().count(),
        })
    }

    /// The revision that all of this is of.
    pub fn revision(&self) -> &Digest {
        &self.revision
    }

    /// How many releases there are.
    pub fn releases(&self) -> usize {
        self.releases
    }

    /// How many channels there are.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// How many bytes the bodies take.
    pub fn size(&self) -> usize {
        self.bodies.list.iter().map(|body| body.size()).sum::<usize>() + self.graph_data.size()
    }

    /// The revision as the value of a header.
    pub(crate) fn header(&self) -> &HeaderValue {
        &self.header
    }

    /// Whether any release of this data is in a channel of this name.
    pub(crate) fn knows(&self, channel: &str) -> bool {
        self.answers.contains_key(channel)
    }

    /// The answer for a channel and an architecture: an empty one for what nobody declared.
    pub(crate) fn answer(&self, channel: &str, arch: &str) -> &Arc<Body> {
        let number = || self.answers.get(channel)?.get(*self.arches.get(arch)?);
        number().and_then(|number| self.bodies.list.get(*number as usize)).unwrap_or(&self.empty)
    }

    /// The answers that differ from those of another publication: channel and architecture. Those of one list changed from
    /// the same answer to the same answer.
    pub(crate) fn changed_answers(&self, previous: &Publication) -> Vec<Vec<(String, Arch)>> {
        let (new, old) = (self.digests(), previous.digests());
        let channels: BTreeSet<&String> = self.answers.keys().chain(previous.answers.keys()).collect();
        let arches: BTreeSet<&String> = self.arches.keys().chain(previous.arches.keys()).collect();
        let mut changed: BTreeMap<BodyChange, Vec<(String, Arch)>> = BTreeMap::new();
        for channel in channels {
            for name in &arches {
                let number = |publication: &Publication| {
                    publication.answers.get(channel)?.get(*publication.arches.get(*name)?).copied()
                };
                let digest = |publication: &Publication, digests: &HashMap<u32, &Digest>| {
                    number(publication).and_then(|number| digests.get(&number)).map(ToString::to_string)
                };
                let change = (digest(previous, &old), digest(self, &new));
                if let (true, Ok(arch)) = (change.0 != change.1, name.parse()) {
                    changed.entry(change).or_default().push((channel.clone(), arch));
                }
            }
        }
        changed.into_values().collect()
    }

    /// The digests of the bodies, by their numbers.
    fn digests(&self) -> HashMap<u32, &Digest> {
        self.bodies.numbers.iter().map(|(digest, number)| (*number, digest)).collect()
    }

    pub(crate) fn graph_data(&self) -> &Body {
        &self.graph_data
    }

    pub(crate) fn signature(&self, path: &str) -> Option<&Bytes> {
        self.signatures.get(path)
    }
}

/// A digest as the value of a header; its letters always are one.
pub(crate) fn header(digest: &Digest) -> HeaderValue {
    HeaderValue::try_from(digest.to_string()).unwrap_or_else(|_| HeaderValue::from_static("unknown"))
}

/// Does the work for every item on some threads. The first failure ends it.
fn work<T: Sync>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<(), CapExceeded> + Sync,
) -> Result<(), CapExceeded> {
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<CapExceeded>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(above) = work(item) {
                        next.store(items.len(), Ordering::Relaxed);
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(above);
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Bodies in the making: many channels give the same answer, and most survive a change of the data.
struct Made<'p> {
    caps: &'p GraphLimits,
    known: Option<&'p Bodies>,
    bodies: Mutex<Bodies>,
    /// Bytes of all different answers before they are packed.
    plain: AtomicU64,
    /// Bytes that are kept.
    kept: AtomicU64,
    /// Held while a large answer is made.
    large: Mutex<()>,
}

impl<'p> Made<'p> {
    /// Nothing yet, beside what takes so many bytes already.
    fn new(caps: &'p GraphLimits, known: Option<&'p Bodies>, size: usize) -> Self {
        let (bodies, large) = (Mutex::default(), Mutex::default());
        Made { caps, known, bodies, plain: AtomicU64::new(0), kept: AtomicU64::new(size as u64), large }
    }

    /// The body of a previous revision.
    fn known(&self, digest: &Digest) -> Option<&'p Arc<Body>> {
        self.known.and_then(|known| known.find(digest))
    }

    /// Packs an answer, unless that was done already, and gives its number.
    fn answer(&self, graph: &Graph) -> Result<u32, CapExceeded> {
        let bytes = wire::write_within(graph, self.caps)?;
        let digest = Digest::sha256(&bytes);
        let made = || self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = made().numbers.get(&digest) {
            return Ok(*number);
        }
        let _alone = (bytes.len() > LARGE).then(|| self.large.lock().unwrap_or_else(PoisonError::into_inner));
        let length = bytes.len() as u64;
        let body = match self.known(&digest) {
            Some(known) => known.folded(),
            None => Body::packed(bytes, &digest),
        };
        // Two threads may have made the same; they agree on the first.
        let mut bodies = made();
        if let Some(number) = bodies.numbers.get(&digest) {
            return Ok(*number);
        }
        let (limit, what) = (self.caps.answers_bytes, "bytes in all different answers");
        if self.plain.fetch_add(length, Ordering::Relaxed) + length > limit {
            return Err(CapExceeded { cap: "answers_bytes", limit, what });
        }
        let (limit, what) = (self.caps.answers_packed, "bytes in all answers and files when compressed");
        let size = body.size() as u64;
        if self.kept.fetch_add(size, Ordering::Relaxed) + size > limit {
            return Err(CapExceeded { cap: "answers_packed", limit, what });
        }
        Ok(bodies.add(digest, Arc::new(body)))
    }

    /// The bodies, kept plain and in other codings too as long as there is room.
    fn unfold(self, threads: usize) -> Result<Bodies, CapExceeded> {
        let Bodies { list, numbers } = std::mem::take(&mut *self.bodies.lock().unwrap_or_else(PoisonError::into_inner));
        let mut order: Vec<(&Digest, u32, &Arc<Body>)> =
            numbers.iter().filter_map(|(digest, at)| Some((digest, *at, list.get(*at as usize)?))).collect();
        // Small ones first: there is room for most of them.
        order.sort_by_key(|(digest, _, body)| (body.length(), digest.hex()));
        let room = |bytes: usize| {
            let fits = |kept: u64| kept.checked_add(bytes as u64).filter(|sum| *sum <= self.caps.answers_packed);
            self.kept.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
        };
        let unfolded: Mutex<Vec<Arc<Body>>> = Mutex::new(list.clone());
        work(threads, &order, |(digest, number, body)| {
            let _alone = (body.length() > LARGE).then(|| self.large.lock().unwrap_or_else(PoisonError::into_inner));
            let whole = match self.known(digest) {
                Some(known) if room(known.size().saturating_sub(body.size())) => Arc::clone(known),
                Some(_) => return Ok(()),
                None => Arc::new(body.unfolded(digest, &room)),
            };
            let mut unfolded = unfolded.lock().unwrap_or_else(PoisonError::into_inner);
            unfolded.get_mut(*number as usize).into_iter().for_each(|slot| *slot = whole.clone());
            Ok(())
        })?;
        Ok(Bodies { list: unfolded.into_inner().unwrap_or_else(PoisonError::into_inner), numbers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_core::Limits;
    use clearway_graph::load;

    /// Two channels with the same releases, and one with others; texts that get much smaller when packed.
    fn revision(caps: GraphLimits) -> (Inputs, Revision) {
        let text = "0123456789".repeat(1_000);
        let release = |version: &str| {
            format!(r#"{{"version":"{version}","arch":"amd64","payload":"p","metadata":{{"url":"{text}"}}}}"#)
        };
        let releases = format!("[{},{}]", release("1.0.0"), release("1.0.1"));
        let inputs: Inputs = [
            ("version", "1.1.0\n"),
            ("channels/a.yaml", "name: a\nversions: [1.0.0]\n"),
            ("channels/b.yaml", "name: b\nversions: [1.0.0]\n"),
            ("channels/c.yaml", "name: c\nversions: [1.0.0, 1.0.1]\n"),
            ("releases/r.json", releases.as_str()),
        ]
        .into_iter()
        .collect();
        let limits = Limits { graph: caps, ..Limits::default() };
        let revision = load(&inputs, &limits).revision.unwrap();
        (inputs, revision)
    }

    fn prepared(caps: GraphLimits) -> Result<Publication, PublishError> {
        let (inputs, revision) = revision(caps);
        Publication::prepare(&inputs, &revision, None, NonZeroUsize::MIN)
    }

    #[test]
    fn channels_with_the_same_releases_share_one_answer() {
        let made = prepared(GraphLimits::default()).unwrap();
        assert!(Arc::ptr_eq(made.answer("a", "amd64"), made.answer("b", "amd64")));
        assert!(!Arc::ptr_eq(made.answer("a", "amd64"), made.answer("c", "amd64")));
        assert!(Arc::ptr_eq(made.answer("x", "amd64"), made.answer("a", "x")), "the empty answer");
    }

    #[test]
    fn what_is_above_a_cap_is_refused_by_name() {
        let default = GraphLimits::default();
        for (caps, cap) in [
            (GraphLimits { answers: 2, ..default.clone() }, "answers"),
            (GraphLimits { answer_nodes: 1, ..default.clone() }, "answer_nodes"),
            (GraphLimits { answer_bytes: 20_000, ..default.clone() }, "answer_bytes"),
            (GraphLimits { answers_bytes: 25_000, ..default.clone() }, "answers_bytes"),
            (GraphLimits { answers_packed: 400, ..default.clone() }, "answers_packed"),
        ] {
            let error = prepared(caps).unwrap_err().to_string();
            assert!(error.contains(&format!("(the cap `{cap}`)")), "{cap}: {error}");
        }
    }

    #[test]
    fn where_there_is_little_room_answers_are_kept_packed_only() {
        let whole = prepared(GraphLimits::default()).unwrap();
        let packed = prepared(GraphLimits { answers_packed: 4_000, ..GraphLimits::default() }).unwrap();
        assert!(packed.size() <= 4_000 && whole.size() > 30_000, "{} {}", packed.size(), whole.size());
    }
}
