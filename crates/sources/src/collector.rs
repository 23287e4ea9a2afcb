//! The one collector of Kubernetes objects for rules: `assess`, `snapshot collect` and the operator read objects through it.
//!
//! Rules come from strangers, so what they get to see is decided here and nowhere else: no Secrets, of `ConfigMap`s only
//! those that a rule names, no values that [`strip`] removes, and no kind of which there is more
//! than the limits allow. Pages of a list are handed on as they come, so that memory is that of one page.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use clearway_advice::evidence::{
    Failure, FailureClass, ObjectAnswer, ObjectKind, ObjectQuestion, ObjectRequest, Observation, Record, Tally,
};
use clearway_core::Timestamp;
use serde_json::Value;

use crate::snapshot::{self, GroupKind, ObjectName, Part, Selection, strip};
use crate::store::{Key, Kind, Store, StoreError};

/// How many objects of a kind are read before the kind counts as unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectLimits {
    /// Objects of one kind.
    pub count: usize,
    /// Bytes of the objects of one kind, as JSON without what is removed.
    pub bytes: usize,
}

impl Default for ObjectLimits {
    /// Fifty thousand objects in 256 MiB: all pods of a very large cluster.
    fn default() -> Self {
        ObjectLimits { count: 50_000, bytes: 256 << 20 }
    }
}

/// Why the objects of a kind are unknown: a class and fixed words, as they stand in proofs and snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// The identity that reads evidence may not read them.
    Forbidden,
    /// There are more than [`ObjectLimits`] allow.
    TooLarge,
    /// The API server did not answer, or not with what was asked for.
    Unreachable,
    /// The API server does not know at the moment whether it serves the kind.
    DiscoveryIncomplete,
    /// The list has no end.
    Endless,
    /// The objects are credentials, or `ConfigMap`s that no rule names.
    Unsupported,
    /// A snapshot does not hold them.
    NotInSnapshot,
}

impl Unread {
    const ALL: [Unread; 7] = [
        Unread::Forbidden,
        Unread::TooLarge,
        Unread::Unreachable,
        Unread::DiscoveryIncomplete,
        Unread::Endless,
        Unread::Unsupported,
        Unread::NotInSnapshot,
    ];

    /// The words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Unread::Forbidden => "permission denied",
            Unread::TooLarge => "too large",
            Unread::Unreachable => "the API server did not answer",
            Unread::DiscoveryIncomplete => "the API server does not know whether it serves the kind",
            Unread::Endless => "the list has no end",
            Unread::Unsupported => "rules cannot read them",
            Unread::NotInSnapshot => "not in the snapshot",
        }
    }

    /// The reason that words of a snapshot stand for. Other words come from a stranger, and are not repeated.
    pub fn of_words(words: &str) -> Self {
        Unread::ALL.into_iter().find(|reason| reason.as_str() == words).unwrap_or(Unread::NotInSnapshot)
    }

    /// The failure of every rule about objects of the kind.
    pub fn failure(self, kind: &ObjectKind) -> Failure {
        let class = match self {
            Unread::Forbidden => FailureClass::Unauthorized,
            Unread::TooLarge => FailureClass::Budget,
            Unread::Unreachable | Unread::DiscoveryIncomplete => FailureClass::Unreachable,
            Unread::Endless => FailureClass::Partial,
            Unread::Unsupported => FailureClass::Unsupported,
            Unread::NotInSnapshot => FailureClass::Absent,
        };
        Failure::new(class, format!("{kind} objects are not known: {self}."))
    }

    fn of_error(error: &StoreError) -> Self {
        match error {
            StoreError::Forbidden { .. } => Unread::Forbidden,
            _ => Unread::Unreachable,
        }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The objects that rules ask about, to be kept in a snapshot.
pub async fn snapshot_objects<S: Store>(
    store: &S,
    requests: &[&ObjectRequest],
    limits: &ObjectLimits,
) -> BTreeMap<GroupKind, Part<snapshot::Objects>> {
    let mut parts = BTreeMap::new();
    for (kind, reading) in readings(store, requests, limits).await {
        let part = match reading {
            Ok(None) => Ok(snapshot::Objects { not_served: true, ..snapshot::Objects::default() }),
            Ok(Some(reading)) => all(reading).await,
            Err(reason) => Err(reason),
        };
        let part = part.map_or_else(|reason| Part::NotCollected { why: reason.to_string() }, Part::Collected);
        parts.insert(GroupKind { group: kind.group, kind: kind.kind }, part);
    }
    parts
}

async fn all<S: Store>(mut reading: Reading<'_, S>) -> Result<snapshot::Objects, Unread> {
    let mut items = Vec::new();
    while let Some(page) = reading.next_page().await? {
        items.extend(page);
    }
    Ok(snapshot::Objects { selection: reading.selection(), items, not_served: false })
}

/// What the objects of a live cluster say to questions, each evaluated within its steps. Evaluation runs on a thread of its
/// own, page by page; what `busy` gives is held for as long as each page takes.
pub async fn object_answers<S: Store, B: Send + 'static>(
    store: &S,
    questions: Vec<(ObjectQuestion, u64)>,
    limits: &ObjectLimits,
    clock: impl Fn() -> Timestamp,
    source: &str,
    busy: impl Fn() -> B,
) -> BTreeMap<String, Record<ObjectAnswer>> {
    let requests: Vec<&ObjectRequest> = questions.iter().map(|(question, _)| question.request()).collect();
    let mut records = BTreeMap::new();
    for (kind, reading) in readings(store, &requests, limits).await {
        let own: Vec<&(ObjectQuestion, u64)> = questions.iter().filter(|(one, _)| one.request().kind == kind).collect();
        let observed_at = clock();
        let record = |result: Result<ObjectAnswer, Failure>| match result {
            Ok(value) => Record::Answered(Observation {
                value,
                observed_at,
                source: source.to_owned(),
                reproduce: store.show_command(&kind),
                warnings: Vec::new(),
            }),
            Err(failure) => Record::Failed(Failure {
                observed_at: Some(observed_at),
                source: Some(source.to_owned()),
                reproduce: store.show_command(&kind),
                ..failure
            }),
        };
        let text = |question: &ObjectQuestion| question.text().to_owned();
        match reading {
            Ok(None) => records.extend(own.iter().map(|(one, _)| (text(one), record(Ok(ObjectAnswer::not_served()))))),
            Ok(Some(reading)) => {
                let tallies: Vec<Tally> = own.iter().map(|(question, steps)| question.tally(*steps)).collect();
                let answers = match counted(reading, tallies, &busy).await {
                    Ok(tallies) => tallies.into_iter().map(Tally::finish).collect(),
                    Err(reason) => vec![Err(reason.failure(&kind)); own.len()],
                };
                records.extend(own.iter().zip(answers).map(|((one, _), answer)| (text(one), record(answer))));
            }
            Err(reason) => {
                let failed = own.iter().map(|(one, _)| (text(one), record(Err(reason.failure(&kind)))));
                records.extend(failed);
            }
        }
    }
    records
}

async fn counted<S: Store, B: Send + 'static>(
    mut reading: Reading<'_, S>,
    mut tallies: Vec<Tally>,
    busy: &impl Fn() -> B,
) -> Result<Vec<Tally>, Unread> {
    while let Some(page) = reading.next_page().await? {
        let beat = busy();
        let count = move || {
            let _beat = beat;
            for object in &page {
                for tally in &mut tallies {
                    tally.add(object);
                }
            }
            tallies
        };
        tallies = tokio::task::spawn_blocking(count).await.map_err(|_| Unread::Unreachable)?;
    }
    Ok(tallies)
}

/// How to read each requested kind: nothing if the cluster does not serve it, or why it cannot be read.
async fn readings<'s, S: Store>(
    store: &'s S,
    requests: &[&ObjectRequest],
    limits: &'s ObjectLimits,
) -> Vec<(ObjectKind, Result<Option<Reading<'s, S>>, Unread>)> {
    let mut by_kind: BTreeMap<&ObjectKind, Vec<&ObjectRequest>> = BTreeMap::new();
    for request in requests {
        by_kind.entry(&request.kind).or_default().push(request);
    }
    if by_kind.is_empty() {
        return Vec::new();
    }
    let served = store.kinds().await;
    let stale = store.stale_groups();
    let reading = |(kind, requests): (&ObjectKind, Vec<&ObjectRequest>)| {
        let reading = match &served {
            _ if kind.is_secret() => Err(Unread::Unsupported),
            Err(error) => Err(Unread::of_error(error)),
            Ok(served) => match find(served, kind) {
                Some(found) => Reading::new(store, found, &requests, limits).map(Some),
                None if stale.contains(&kind.group) => Err(Unread::DiscoveryIncomplete),
                None => Ok(None),
            },
        };
        (kind.clone(), reading)
    };
    by_kind.into_iter().map(reading).collect()
}

/// The served version of a kind.
fn find(served: &[Kind], kind: &ObjectKind) -> Option<Kind> {
    let named = |group: &str| served.iter().find(|one| one.group == group && one.kind == kind.kind);
    // Events are served twice and listed once, under their newer group.
    let core_event = || {
        let event = kind.group.is_empty() && kind.kind == "Event";
        event.then(|| named("events.k8s.io")).flatten().map(|_| Kind::new("v1", "Event"))
    };
    named(&kind.group).cloned().or_else(core_event)
}

/// Objects of one kind on their way: all of them, or those with a name.
struct Reading<'s, S> {
    store: &'s S,
    kind: Kind,
    limits: &'s ObjectLimits,
    /// The names to read; none for all objects of the kind.
    names: Vec<ObjectName>,
    todo: VecDeque<Step>,
    done_names: Vec<ObjectName>,
    count: usize,
    bytes: usize,
}

/// What is asked of the store next.
enum Step {
    Named(ObjectName),
    Page { namespace: Option<String>, token: Option<String>, only: Option<ObjectName> },
}

impl<'s, S: Store> Reading<'s, S> {
    fn new(store: &'s S, kind: Kind, requests: &[&ObjectRequest], limits: &'s ObjectLimits) -> Result<Self, Unread> {
        let config_maps = kind.group.is_empty() && kind.kind == "ConfigMap";
        let (mut names, mut todo) = (Vec::new(), VecDeque::new());
        if config_maps {
            for request in requests {
                let name = request.name.clone().ok_or(Unread::Unsupported)?;
                names.push(ObjectName { namespace: request.namespace.clone(), name });
            }
            names.sort();
            names.dedup();
            todo.extend(names.iter().cloned().map(Step::Named));
        } else {
            todo.push_back(Step::Page { namespace: None, token: None, only: None });
        }
        Ok(Reading { store, kind, limits, names, todo, done_names: Vec::new(), count: 0, bytes: 0 })
    }

    /// What is read, as a snapshot says it.
    fn selection(&self) -> Selection {
        Selection { only: self.names.clone(), ..Selection::default() }
    }

    /// The next objects, without what is removed; nothing at the end.
    async fn next_page(&mut self) -> Result<Option<Vec<Value>>, Unread> {
        let Some(step) = self.todo.pop_front() else { return Ok(None) };
        let items = match step {
            Step::Named(ObjectName { namespace: Some(namespace), name }) => {
                let key = Key { kind: self.kind.clone(), namespace: namespace.clone(), name: name.clone() };
                let found = self.store.get(&key).await.map_err(|error| self.failed(&error))?;
                let new = found.into_iter().filter(|item| !self.is_done(item)).collect();
                self.done_names.push(ObjectName { namespace: Some(namespace), name });
                new
            }
            Step::Named(name) => self.page(None, None, Some(name)).await?,
            Step::Page { namespace, token, only } => self.page(namespace, token, only).await?,
        };
        self.admit(&items).map(Some)
    }

    async fn page(
        &mut self,
        namespace: Option<String>,
        token: Option<String>,
        only: Option<ObjectName>,
    ) -> Result<Vec<Value>, Unread> {
        let page = self.store.page(&self.kind, namespace.as_deref(), token.as_deref()).await;
        let page = page.map_err(|error| self.failed(&error))?;
        let wanted = |item: &Value| only.as_ref().is_none_or(|only| only.names(item) && !self.is_done(item));
        let items = page.items.into_iter().filter(wanted).collect();
        match page.next {
            Some(next) if token.as_ref() == Some(&next) => return Err(Unread::Endless),
            Some(next) => self.todo.push_front(Step::Page { namespace, token: Some(next), only }),
            None => self.done_names.extend(only),
        }
        Ok(items)
    }

    /// Whether an object was read already under another of its names.
    fn is_done(&self, item: &Value) -> bool {
        self.done_names.iter().any(|name| name.names(item))
    }

    /// Removes what no rule sees, and counts the rest.
    fn admit(&mut self, items: &[Value]) -> Result<Vec<Value>, Unread> {
        let stripped: Vec<Value> = items.iter().filter_map(strip).collect();
        self.count = self.count.saturating_add(stripped.len());
        let bytes = stripped.iter().map(|item| item.to_string().len());
        self.bytes = bytes.fold(self.bytes, usize::saturating_add);
        let fits = self.count <= self.limits.count && self.bytes <= self.limits.bytes;
        if fits { Ok(stripped) } else { Err(Unread::TooLarge) }
    }

    fn failed(&self, error: &StoreError) -> Unread {
        // The text of the API server may name users and objects, so it goes no further than this.
        tracing::debug!(%error, kind = %self.kind, "objects for rules cannot be read");
        Unread::of_error(error)
    }
}
