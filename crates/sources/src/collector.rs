//! The one collector of Kubernetes objects for rules: `assess`, `snapshot collect` and the operator read objects through it.
//!
//! Rules come from strangers, so what they get to see is decided here and nowhere else: no Secrets, of `ConfigMap`s only
//! those that a rule names, no values that [`strip`] removes, and no kind of which there is more
//! than the limits allow. Pages of a list are handed on as they come, so that memory is that of one page. What cannot be
//! read costs the rules their answers that ask for it, and no others.

mod pages;
#[cfg(test)]
mod tests;
mod unread_reason;

use std::collections::BTreeMap;

use clearway_advice::evidence::{Failure, ObjectAnswer, ObjectQuestion, ObjectRequest, Observation, Record, Tally};
use clearway_core::{GroupKind, GroupVersionKind, JsonSize, ObjectReference, Timestamp, is_config_map, is_secret_kind};
use serde_json::Value;

pub use unread_reason::UnreadReason;

use crate::snapshot::{self, Budget, NameSelector, Part, UnreadName, strip};
use crate::store::{Store, StoreError};
use pages::{MeasuredObject, Pages};

/// Rules that are evaluated on an object before the evaluation counts as a new one: each takes a fraction of a second at
/// most, so that this is far less than the time after which a computation is taken for one that hangs.
const RULES_AT_ONCE: usize = 50;

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

/// The objects that rules ask about, to be kept in a snapshot. Kinds that do not fit into one beside the kinds before them
/// are too large.
pub async fn snapshot_objects<S: Store>(
    store: &S,
    requests: &[&ObjectRequest],
    limits: &ObjectLimits,
) -> BTreeMap<GroupKind, Part<snapshot::Objects>> {
    objects_within(store, requests, limits, Budget::for_collecting()).await
}

async fn objects_within<S: Store>(
    store: &S,
    requests: &[&ObjectRequest],
    limits: &ObjectLimits,
    mut budget: Budget,
) -> BTreeMap<GroupKind, Part<snapshot::Objects>> {
    let mut parts = BTreeMap::new();
    for (kind, served) in served_kinds(store, requests).await {
        let part = match served {
            Ok(None) => Ok(snapshot::Objects { not_served: true, ..snapshot::Objects::default() }),
            Ok(Some(found)) if is_config_map(&kind) => {
                Ok(named_objects(store, &found, requests.iter().copied(), &mut budget).await)
            }
            Ok(Some(found)) => all_objects(Pages::new(store, found, limits), &mut budget).await,
            Err(reason) => Err(reason),
        };
        let part = part.map_or_else(|reason| Part::NotCollected { why: reason.to_string() }, Part::Collected);
        parts.insert(kind, part);
    }
    parts
}

async fn all_objects<S: Store>(
    mut pages: Pages<'_, S>,
    budget: &mut Budget,
) -> Result<snapshot::Objects, UnreadReason> {
    let (mut items, mut left) = (Vec::new(), budget.clone());
    while let Some(page) = pages.next_page().await? {
        for MeasuredObject { object, size } in page {
            left.take_size(&size).ok_or(UnreadReason::TooLarge)?;
            items.push(object);
        }
    }
    *budget = left;
    Ok(snapshot::Objects { items, ..snapshot::Objects::default() })
}

/// Shows every object of a kind, page by page, until there are no more or `see` refuses one.
pub(crate) async fn each_object<S: Store>(
    store: &S,
    kind: GroupVersionKind,
    limits: &ObjectLimits,
    mut see: impl FnMut(Value) -> Result<(), String>,
) -> Result<(), String> {
    let mut pages = Pages::new(store, kind, limits);
    while let Some(page) = pages.next_page().await.map_err(|reason| reason.to_string())? {
        page.into_iter().try_for_each(|admitted| see(admitted.object))?;
    }
    Ok(())
}

/// Shows every object of some kinds, page by page. The result has the kinds that could not be read, with the reason; a kind
/// that is not served has no objects.
pub async fn visit_kinds<S: Store>(
    store: &S,
    kinds: impl IntoIterator<Item = GroupKind>,
    limits: &ObjectLimits,
    mut see: impl FnMut(&Value),
) -> BTreeMap<GroupKind, UnreadReason> {
    let requests: Vec<ObjectRequest> =
        kinds.into_iter().map(|kind| ObjectRequest { kind, namespace: None, name: None }).collect();
    let mut unread = BTreeMap::new();
    for (kind, served) in served_kinds(store, &requests.iter().collect::<Vec<_>>()).await {
        let read = match served {
            Ok(_) if is_config_map(&kind) => Err(UnreadReason::Unsupported),
            Ok(None) => Ok(()),
            Ok(Some(found)) => visit_pages(Pages::new(store, found, limits), &mut see).await,
            Err(reason) => Err(reason),
        };
        if let Err(reason) = read {
            unread.insert(kind, reason);
        }
    }
    unread
}

async fn visit_pages<S: Store>(mut pages: Pages<'_, S>, see: &mut impl FnMut(&Value)) -> Result<(), UnreadReason> {
    while let Some(page) = pages.next_page().await? {
        for admitted in &page {
            see(&admitted.object);
        }
    }
    Ok(())
}

/// The `ConfigMap`s that requests name, and which of them could not be read.
async fn named_objects<'r, S: Store>(
    store: &S,
    kind: &GroupVersionKind,
    requests: impl Iterator<Item = &'r ObjectRequest>,
    budget: &mut Budget,
) -> snapshot::Objects {
    let mut objects = snapshot::Objects::default();
    let mut reader = NamedReader { store, kind, unreachable: false };
    let requests = requests.filter(|request| is_config_map(&request.kind)).map(|request| (request, ()));
    for (name, _) in by_name(requests) {
        let found = reader.read(&name).await.and_then(|found| {
            let fits = found.as_ref().is_none_or(|object| budget.take_size(&JsonSize::of_value(object)).is_some());
            if fits { Ok(found) } else { Err(UnreadReason::TooLarge) }
        });
        match found {
            Ok(found) => {
                objects.items.extend(found);
                objects.selection.only.push(name);
            }
            Err(reason) => objects.selection.not_read.push(UnreadName { name, why: reason.to_string() }),
        }
    }
    objects
}

/// What belongs to each name that requests have, by name.
fn by_name<'r, T>(requests: impl Iterator<Item = (&'r ObjectRequest, T)>) -> BTreeMap<NameSelector, Vec<T>> {
    let mut by_name: BTreeMap<NameSelector, Vec<T>> = BTreeMap::new();
    for (request, value) in requests {
        let name = request.name.clone().unwrap_or_default();
        let name = NameSelector { namespace: request.namespace.clone(), name };
        by_name.entry(name).or_default().push(value);
    }
    by_name
}

/// Reads objects one by one. The identity that reads may get a `ConfigMap` by its name, and list none.
struct NamedReader<'s, S> {
    store: &'s S,
    kind: &'s GroupVersionKind,
    /// Nobody answered: the others are not asked for, because each would have to be waited for.
    unreachable: bool,
}

impl<S: Store> NamedReader<'_, S> {
    /// An object without what is removed; nothing if there is none.
    async fn read(&mut self, name: &NameSelector) -> Result<Option<Value>, UnreadReason> {
        let namespace = name.namespace.clone().filter(|namespace| !namespace.is_empty() && !name.name.is_empty());
        let namespace = namespace.ok_or(UnreadReason::Unsupported)?;
        if self.unreachable {
            return Err(UnreadReason::Unreachable);
        }
        let key = ObjectReference { kind: self.kind.clone(), namespace, name: name.name.clone() };
        let found = self.store.get(&key).await;
        self.unreachable = matches!(found, Err(StoreError::Away { .. }));
        let found = found.map_err(|error| UnreadReason::of_error(&error, self.kind))?;
        // Whatever else a server answers is not what the rule names.
        let is_asked_for = |object: &Value| ObjectReference::of(object).is_ok_and(|found| found.id() == key.id());
        if found.as_ref().is_some_and(|object| !is_asked_for(object)) {
            return Err(UnreadReason::Unreachable);
        }
        Ok(found.and_then(strip))
    }
}

/// What the objects of a live cluster say to questions, each evaluated within its steps. Evaluation runs on a thread of its
/// own; what `busy` gives there is held for as long as a few rules take for one object.
pub async fn object_answers<S: Store, B>(
    store: &S,
    questions: Vec<(ObjectQuestion, u64)>,
    limits: &ObjectLimits,
    clock: impl Fn() -> Timestamp,
    source: &str,
    busy: impl Fn() -> B + Clone + Send + 'static,
) -> BTreeMap<String, Record<ObjectAnswer>> {
    let requests: Vec<&ObjectRequest> = questions.iter().map(|(question, _)| question.request()).collect();
    let mut records = BTreeMap::new();
    for (kind, served) in served_kinds(store, &requests).await {
        let own: Vec<&(ObjectQuestion, u64)> = questions.iter().filter(|(one, _)| one.request().kind == kind).collect();
        let observed_at = clock();
        // Of a kind that is not there nothing can be shown, and `kubectl` may take its name for that of another one.
        let is_known = matches!(served, Ok(Some(_)));
        let answers = match served {
            Ok(None) => own.iter().map(|(one, _)| (one, Ok(ObjectAnswer::not_served()))).collect(),
            Ok(Some(found)) if is_config_map(&kind) => {
                let mut answers = Vec::new();
                let mut reader = NamedReader { store, kind: &found, unreachable: false };
                for (name, own) in by_name(own.iter().map(|own| (own.0.request(), *own))) {
                    let found = reader.read(&name).await.map(|found| found.into_iter().collect());
                    answers.extend(answers_of(&kind, &own, found, &busy).await);
                }
                answers
            }
            Ok(Some(found)) => {
                let counted = counted(Pages::new(store, found, limits), tallies(&own), &busy).await;
                finished(&kind, &own, counted)
            }
            Err(reason) => own.iter().map(|(one, _)| (one, Err(reason.failure(&kind)))).collect(),
        };
        records.extend(answers.into_iter().map(|(question, answer)| {
            let reproduce = is_known.then(|| store.show_command(question.request())).flatten();
            let source = source.to_owned();
            let record = match answer {
                Ok(value) => {
                    Record::Answered(Observation { value, observed_at, source, reproduce, warnings: Vec::new() })
                }
                Err(failure) => {
                    let (observed_at, source) = (Some(observed_at), Some(source));
                    Record::Failed(Failure { observed_at, source, reproduce, ..failure })
                }
            };
            (question.text().to_owned(), record)
        }));
    }
    records
}

/// A question, and what objects say to it.
type Answered<'q> = (&'q ObjectQuestion, Result<ObjectAnswer, Failure>);

fn tallies(own: &[&(ObjectQuestion, u64)]) -> Vec<Tally> {
    own.iter().map(|(question, steps)| question.tally(*steps)).collect()
}

fn finished<'q>(
    kind: &GroupKind,
    own: &[&'q (ObjectQuestion, u64)],
    counted: Result<Vec<Tally>, UnreadReason>,
) -> Vec<Answered<'q>> {
    let answers = match counted {
        Ok(tallies) => tallies.into_iter().map(Tally::finish).collect(),
        Err(reason) => vec![Err(reason.failure(kind)); own.len()],
    };
    own.iter().map(|(question, _)| question).zip(answers).collect()
}

/// What a few objects say to questions.
async fn answers_of<'q, B>(
    kind: &GroupKind,
    own: &[&'q (ObjectQuestion, u64)],
    objects: Result<Vec<Value>, UnreadReason>,
    busy: &(impl Fn() -> B + Clone + Send + 'static),
) -> Vec<Answered<'q>> {
    let counted = match objects {
        Ok(objects) => add_all(objects, tallies(own), busy).await,
        Err(reason) => Err(reason),
    };
    finished(kind, own, counted)
}

async fn counted<S: Store, B>(
    mut pages: Pages<'_, S>,
    mut tallies: Vec<Tally>,
    busy: &(impl Fn() -> B + Clone + Send + 'static),
) -> Result<Vec<Tally>, UnreadReason> {
    while let Some(page) = pages.next_page().await? {
        tallies = add_all(page.into_iter().map(|admitted| admitted.object).collect(), tallies, busy).await?;
    }
    Ok(tallies)
}

/// Evaluates questions on objects, on a thread of its own.
async fn add_all<B>(
    objects: Vec<Value>,
    mut tallies: Vec<Tally>,
    busy: &(impl Fn() -> B + Clone + Send + 'static),
) -> Result<Vec<Tally>, UnreadReason> {
    let busy = busy.clone();
    let add = move || {
        for object in &objects {
            for tallies in tallies.chunks_mut(RULES_AT_ONCE) {
                let _busy = busy();
                for tally in tallies {
                    tally.add(object);
                }
            }
        }
        tallies
    };
    tokio::task::spawn_blocking(add).await.map_err(|_| UnreadReason::Unreachable)
}

/// Each requested kind as it is served: nothing if the cluster does not serve it, or why it cannot be read.
async fn served_kinds<S: Store>(
    store: &S,
    requests: &[&ObjectRequest],
) -> BTreeMap<GroupKind, Result<Option<GroupVersionKind>, UnreadReason>> {
    if requests.is_empty() {
        return BTreeMap::new();
    }
    let served = store.kinds().await;
    let stale = store.stale_groups();
    let find = |kind: &GroupKind| match &served {
        _ if is_secret_kind(&kind.kind) => Err(UnreadReason::Unsupported),
        Err(error) => Err(UnreadReason::of_error(error, &GroupVersionKind::new("", &kind.kind))),
        Ok(served) => match find(served, kind) {
            None if stale.contains(&kind.group) => Err(UnreadReason::DiscoveryIncomplete),
            found => Ok(found),
        },
    };
    requests.iter().map(|request| (request.kind.clone(), find(&request.kind))).collect()
}

/// The served version of a kind.
fn find(served: &[GroupVersionKind], kind: &GroupKind) -> Option<GroupVersionKind> {
    let named = |group: &str| served.iter().find(|one| one.group == group && one.kind == kind.kind);
    // Events are served twice and listed once, under their newer group.
    let core_event = || {
        let event = kind.group.is_empty() && kind.kind == "Event";
        event.then(|| named("events.k8s.io")).flatten().map(|_| GroupVersionKind::new("v1", "Event"))
    };
    named(&kind.group).cloned().or_else(core_event)
}
