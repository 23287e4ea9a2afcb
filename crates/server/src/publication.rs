//! Everything that is served of one revision, made before the first request for it.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use bytes::Bytes;
use clearway_core::{Arch, Digest};
use clearway_graph::{Graph, Inputs, Revision, wire};
use http::HeaderValue;

use crate::archive;
use crate::body::Body;

/// All answers of one revision. It never changes.
#[derive(Debug)]
pub struct Publication {
    revision: Digest,
    header: HeaderValue,
    /// By channel, then by architecture.
    answers: HashMap<String, HashMap<String, Arc<Body>>>,
    /// The answer for a channel or an architecture nobody has heard of.
    empty: Arc<Body>,
    bodies: HashMap<Digest, Arc<Body>>,
    graph_data: Body,
    /// By path below `signatures/`.
    signatures: BTreeMap<String, Bytes>,
    releases: usize,
    channels: usize,
}

impl Publication {
    /// Makes every body of a revision.
    ///
    /// Bodies that are the same as in `previous` are taken over; the rest is compressed by this many threads.
    pub fn prepare(
        inputs: &Inputs,
        revision: &Revision,
        previous: Option<&Publication>,
        threads: NonZeroUsize,
    ) -> io::Result<Self> {
        let scopes: Vec<(&str, &Arch)> = revision
            .channels()
            .flat_map(|channel| revision.arches().iter().map(move |arch| (channel.name.as_str(), arch)))
            .collect();
        let made = Made { known: previous.map(|previous| &previous.bodies), bodies: Mutex::default() };
        let next = AtomicUsize::new(0);
        let answers: Mutex<HashMap<String, HashMap<String, Arc<Body>>>> = Mutex::default();
        thread::scope(|scope| {
            for _ in 0..threads.get() {
                scope.spawn(|| {
                    while let Some((channel, arch)) = scopes.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let body = made.body(&revision.graph(channel, arch));
                        let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
                        answers.entry((*channel).to_owned()).or_default().insert(arch.to_string(), body);
                    }
                });
            }
        });
        let empty = made.body(&Graph::default());
        let signatures = inputs
            .iter()
            .filter_map(|(path, content)| {
                Some((path.strip_prefix("signatures/")?.to_owned(), Bytes::copy_from_slice(content)))
            })
            .collect();
        Ok(Publication {
            revision: revision.id().clone(),
            header: header(revision.id()),
            answers: answers.into_inner().unwrap_or_else(PoisonError::into_inner),
            empty,
            bodies: made.bodies.into_inner().unwrap_or_else(PoisonError::into_inner),
            graph_data: Body::plain(Bytes::from(archive::archive(inputs, revision)?)),
            signatures,
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
        self.bodies.values().map(|body| body.size()).sum::<usize>() + self.graph_data.size()
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
        self.answers.get(channel).and_then(|arches| arches.get(arch)).unwrap_or(&self.empty)
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

/// Bodies by what is in them: many channels give the same answer, and most survive a change of the data.
struct Made<'p> {
    known: Option<&'p HashMap<Digest, Arc<Body>>>,
    bodies: Mutex<HashMap<Digest, Arc<Body>>>,
}

impl Made<'_> {
    fn body(&self, graph: &Graph) -> Arc<Body> {
        let mut bytes = wire::write(graph);
        let digest = Digest::sha256(&bytes);
        let made = || self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(body) = made().get(&digest) {
            return Arc::clone(body);
        }
        let body = self.known.and_then(|known| known.get(&digest)).map_or_else(
            || {
                bytes.shrink_to_fit();
                Arc::new(Body::compressed(&Bytes::from(bytes), &digest))
            },
            Arc::clone,
        );
        // Two threads may have made the same; they agree on the first.
        Arc::clone(made().entry(digest).or_insert(body))
    }
}
