//! A directory in place of an API server: for a machine without a cluster, and for the demo.
//!
//! ```text
//! objects/<group>/<kind>/<namespace>/<name>.yaml   the objects; `core` is the core group, `_` is no namespace
//! applied/<manager>/...                            what each manager applied last, so that it can take it back
//! metrics/*.prom                                   the live metrics feed
//! events.log                                       what happened, a line of JSON each
//! revision                                         the number of the last change
//! lock                                             held by whoever changes something
//! ```
//!
//! A file is replaced by renaming, so a reader sees it whole, before or after. Changes are made one at a time behind the
//! lock; as in a cluster each gives the object a new `resourceVersion`, and a new `generation` if more than its status
//! and metadata changed. What a kind means is not known here: nothing is validated, defaulted or rolled out.
//!
//! A file that holds no object, or the object of another path, is named and not used, and never written over; the other
//! objects are read as if it were not there. But a list of its kind fails, because what the list lacks would be taken for
//! something that does not exist. Nothing is read or written outside the directory, wherever links lead.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clearway_advice::evidence::ObjectRequest;
use clearway_advice::reproduce;
use clearway_core::{Diagnostic, Digest, Event, GroupVersionKind, ObjectReference, Place, Severity};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::object_files::{self, LIST_MEMORY, OBJECTS, ObjectFiles, ObjectListing, Unreadable, cannot, text};
use super::{Apply, Page, Part, Store, StoreError, StoreEvent, merge};
use crate::clock;
use crate::files::confined::ConfinedDirectory;
use crate::files::file_tree::ReadError;
use crate::metrics_directory;

/// How often objects that are followed are looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How long the lock is waited for. A change takes milliseconds; who holds the lock for longer does not let go of it.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// How often a lock that another process holds is tried.
const LOCK_TRY: Duration = Duration::from_millis(10);
/// A log of events that is longer is moved aside.
const LOG_BYTES: u64 = 1 << 20;
/// Bytes of the file that holds the number of the last change.
const NUMBER_BYTES: u64 = 64;
/// The caps on state directories, as documentation shows them.
pub const STATE_CAPS: &[(&str, u64)] = &[
    ("Bytes of one object as YAML, to read and to write", object_files::OBJECT_BYTES as u64),
    ("Levels of nesting of one object", object_files::DEPTH as u64),
    ("Values and keys of one object", object_files::VALUES as u64),
    ("Values behind YAML anchors in one object", object_files::ALIASED as u64),
    (
        "Bytes of memory of all objects of one kind that are listed at a time, estimated; 15,000 pods need them. Above it the \
         kind cannot be read",
        LIST_MEMORY as u64,
    ),
    ("Bytes of all files of the metrics feed (`metrics/*.prom`)", metrics_directory::BYTES),
    ("Bytes of `events.log` before it is moved aside", LOG_BYTES),
    ("Seconds that a change waits for a lock that another process holds", LOCK_WAIT.as_secs()),
];
/// How many files a message names.
const NAMED: usize = 3;
/// The code of the finding that a file is no object.
const UNREADABLE: &str = "ST001";

/// The objects in a directory.
#[derive(Debug, Clone)]
pub struct StateDirectory {
    root: Arc<PathBuf>,
    lock_wait: Duration,
}

/// The lock of a state directory, until it is dropped.
struct StateLock {
    _file: File,
}

impl StateDirectory {
    /// The state in a directory that is there or is made.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        for part in ["objects", "applied", "metrics"] {
            fs::create_dir_all(root.join(part)).map_err(|error| cannot("make", &root.join(part), &error))?;
        }
        Ok(StateDirectory { root: Arc::new(root.to_owned()), lock_wait: LOCK_WAIT })
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the live metrics feed is read from.
    pub fn metrics(&self) -> PathBuf {
        self.root.join("metrics")
    }

    /// Every file among the objects that is not used, and why. The others are.
    pub fn check(&self) -> Vec<Diagnostic> {
        let unreadable = ObjectFiles::open(&self.root).and_then(|mut files| files.check());
        let finding = |file: Option<String>, message: String| {
            let place = Place { file, ..Place::default() };
            let finding = Diagnostic::new(UNREADABLE, Severity::Warning, message).at(place);
            finding.with_help("put a regular file with this object there, or remove it")
        };
        match unreadable {
            Ok(unreadable) => unreadable
                .into_iter()
                .map(|Unreadable { path, why, .. }| finding(Some(path), format!("the file is not used: {why}")))
                .collect(),
            Err(error) => vec![finding(None, error.to_string())],
        }
    }

    /// The objects of a kind that can be read, and why others cannot.
    pub fn readable(&self, kind: &GroupVersionKind) -> Result<(Vec<Value>, Vec<StoreError>), StoreError> {
        let ObjectListing { objects, unreadable } = ObjectFiles::open(&self.root)?.list(kind, LIST_MEMORY)?;
        Ok((objects, unreadable.iter().map(Unreadable::error).collect()))
    }

    fn read(&self, key: &ObjectReference) -> Result<Option<Value>, StoreError> {
        ObjectFiles::open(&self.root)?.read(OBJECTS, key)
    }

    /// Changes one object behind the lock: `change` gets it as it is, and says what it is to be.
    fn change(
        &self,
        _lock: StateLock,
        key: &ObjectReference,
        keep: bool,
        change: impl FnOnce(Option<Value>, &mut ObjectFiles) -> Result<Value, StoreError>,
    ) -> Result<Value, StoreError> {
        let mut files = ObjectFiles::open(&self.root)?;
        let before = files.read(OBJECTS, key)?;
        let mut after = change(before.clone(), &mut files)?;
        if before.as_ref() == Some(&after) {
            return Ok(after);
        }
        if !keep {
            text(key, &after)?;
            return Ok(after);
        }
        let revision = self.next_revision()?;
        stamp(&mut after, before.as_ref(), key, revision);
        let text = text(key, &after)?;
        // The number before the object: a crash between leaves a gap, never a number that is used twice.
        self.use_revision(revision)?;
        files.write(OBJECTS, key, &text)?;
        Ok(after)
    }

    /// The root, to work on files that are no objects.
    fn own_files(&self) -> Result<ConfinedDirectory, StoreError> {
        ConfinedDirectory::open(&self.root).map_err(|error| cannot("open", &self.root, &error))
    }

    /// Takes the lock. A process that does not let go of it stops no thread, and not this one for ever.
    async fn lock(&self) -> Result<StateLock, StoreError> {
        let path = self.root.join("lock");
        let file = self.own_files()?.open_to_append(b"lock").map_err(|error| cannot("open", &path, &error))?;
        let until = Instant::now() + self.lock_wait;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(StateLock { _file: file }),
                Err(TryLockError::Error(error)) => return Err(cannot("lock", &path, &error)),
                Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                    let seconds = self.lock_wait.as_secs_f32();
                    let path = path.display();
                    return Err(StoreError::Away {
                        why: format!(
                            "cannot lock {path}: another process has held it for {seconds} seconds; end that process"
                        ),
                    });
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_TRY).await,
            }
        }
    }

    /// The number of the next change.
    fn next_revision(&self) -> Result<u64, StoreError> {
        let path = self.root.join("revision");
        let no_number = || StoreError::Refused {
            why: format!("{} does not contain a number; remove it to restart the count", path.display()),
        };
        let last: u64 = match self.own_files()?.content(b"revision", NUMBER_BYTES) {
            Ok(None) => 0,
            Ok(Some(text)) => {
                str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok()).ok_or_else(no_number)?
            }
            Err(ReadError::TooLarge) => return Err(no_number()),
            Err(ReadError::Refused(why)) => {
                return Err(StoreError::Refused { why: format!("cannot read {}: {why}", path.display()) });
            }
        };
        last.checked_add(1).ok_or_else(no_number)
    }

    fn use_revision(&self, revision: u64) -> Result<(), StoreError> {
        let written = self.own_files()?.write_file(b"revision", format!("{revision}\n").as_bytes());
        written.map_err(|error| cannot("write", &self.root.join("revision"), &error))
    }

    /// The objects of a kind.
    fn of_kind(&self, kind: &GroupVersionKind) -> Result<Vec<Value>, StoreError> {
        complete(kind, ObjectFiles::open(&self.root)?.list(kind, LIST_MEMORY)?)
    }
}

/// The objects of a list. One that cannot be read fails the whole: what a list lacks is taken for something that does not
/// exist.
fn complete(kind: &GroupVersionKind, listed: ObjectListing) -> Result<Vec<Value>, StoreError> {
    let ObjectListing { objects, unreadable } = listed;
    if unreadable.is_empty() {
        return Ok(objects);
    }
    let mut named: Vec<String> =
        unreadable.iter().take(NAMED).map(|one| format!("{}: {}", one.path, one.why)).collect();
    if unreadable.len() > NAMED {
        named.push(format!("and {} more", unreadable.len() - NAMED));
    }
    let why = format!("the list of {kind} is not complete: {}; repair or remove the file", named.join("; "));
    Err(StoreError::Refused { why })
}

impl Store for StateDirectory {
    fn show_command(&self, request: &ObjectRequest) -> Option<String> {
        Some(reproduce::object_files(&request.kind, &self.root.join(OBJECTS).display().to_string()))
    }

    async fn get(&self, key: &ObjectReference) -> Result<Option<Value>, StoreError> {
        self.read(key)
    }

    async fn list(&self, kind: &GroupVersionKind, labels: &str) -> Result<Vec<Value>, StoreError> {
        let wanted = selector(labels)?;
        let mut objects = self.of_kind(kind)?;
        objects.retain(|object| {
            let labels = &object["metadata"]["labels"];
            wanted.iter().all(|(name, value)| value.map_or(labels[name].is_string(), |value| labels[name] == value))
        });
        Ok(objects)
    }

    async fn list_in(&self, kind: &GroupVersionKind, namespace: &str) -> Result<Vec<Value>, StoreError> {
        let mut objects = self.of_kind(kind)?;
        objects.retain(|object| object["metadata"]["namespace"] == namespace);
        Ok(objects)
    }

    async fn page(&self, kind: &GroupVersionKind, token: Option<&str>, objects: u32) -> Result<Page, StoreError> {
        let (listed, next) = ObjectFiles::open(&self.root)?.page(kind, token, objects)?;
        Ok(Page { items: complete(kind, listed)?, next })
    }

    async fn kinds(&self) -> Result<Vec<GroupVersionKind>, StoreError> {
        ObjectFiles::open(&self.root)?.kinds()
    }

    async fn create(&self, object: &Value) -> Result<Value, StoreError> {
        let key = ObjectReference::of(object)?;
        self.change(self.lock().await?, &key, true, |before, _| match before {
            None => Ok(object.clone()),
            Some(_) => Err(StoreError::Conflict { why: format!("{key} already exists") }),
        })
    }

    async fn apply(&self, object: &Value, how: &Apply<'_>) -> Result<Value, StoreError> {
        let key = ObjectReference::of(object)?;
        let area = applied_by(how.manager)?;
        let applied = self.change(self.lock().await?, &key, !how.dry_run, |before, files| {
            let mut after = before.unwrap_or_else(|| json!({}));
            let status = after["status"].take();
            merge::apply(&mut after, &files.read(&area, &key)?.unwrap_or_default(), object);
            let fields =
                after.as_object_mut().ok_or_else(|| StoreError::Refused { why: format!("{key} is not an object") })?;
            fields.remove("status");
            if !status.is_null() {
                fields.insert("status".to_owned(), status);
            }
            Ok(after)
        })?;
        if !how.dry_run {
            // It says no more than the object, so it is not too large either.
            ObjectFiles::open(&self.root)?.write(&area, &key, &text(&key, object)?)?;
        }
        Ok(applied)
    }

    async fn patch(&self, key: &ObjectReference, part: Part, patch: &Value) -> Result<Value, StoreError> {
        self.change(self.lock().await?, key, true, |before, _| {
            let mut after = before.ok_or_else(|| StoreError::Missing { what: key.to_string() })?;
            let expected = &patch["metadata"]["resourceVersion"];
            if !expected.is_null() && after["metadata"]["resourceVersion"] != *expected {
                return Err(StoreError::Conflict { why: format!("{key} was changed by another writer") });
            }
            let mut patch = patch.clone();
            if let Some(fields) = patch.as_object_mut() {
                fields.retain(|name, _| (name == "status") == (part == Part::Status));
            }
            merge::patch(&mut after, &patch);
            Ok(after)
        })
    }

    async fn replace_status(&self, object: &Value) -> Result<Value, StoreError> {
        let key = ObjectReference::of(object)?;
        self.change(self.lock().await?, &key, true, |before, _| {
            let mut after = before.ok_or_else(|| StoreError::Missing { what: key.to_string() })?;
            if after["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"] {
                return Err(StoreError::Conflict { why: format!("{key} was changed by another writer") });
            }
            after["status"] = object["status"].clone();
            Ok(after)
        })
    }

    async fn delete(&self, key: &ObjectReference, uid: &str) -> Result<(), StoreError> {
        let _lock = self.lock().await?;
        let mut files = ObjectFiles::open(&self.root)?;
        let Some(object) = files.read(OBJECTS, key)? else { return Ok(()) };
        if !uid.is_empty() && object["metadata"]["uid"] != uid {
            return Err(StoreError::Conflict { why: format!("{key} was deleted and created again") });
        }
        files.remove(OBJECTS, key)?;
        for manager in files.directories("applied", &mut Vec::new())? {
            files.remove(&applied_by(&manager)?, key)?;
        }
        Ok(())
    }

    async fn follow(
        &self,
        kind: &GroupVersionKind,
        names: BTreeSet<String>,
    ) -> Result<mpsc::Receiver<StoreEvent>, StoreError> {
        let (report, seen) = mpsc::channel(64);
        let (state, kind) = (self.clone(), kind.clone());
        tokio::spawn(async move {
            let mut told: BTreeMap<String, Option<Digest>> = BTreeMap::new();
            let mut troubles: BTreeMap<String, StoreError> = BTreeMap::new();
            while !report.is_closed() {
                let listed = ObjectFiles::open(&state.root).and_then(|mut files| files.list(&kind, LIST_MEMORY));
                let (objects, unreadable) = match listed {
                    Ok(ObjectListing { objects, unreadable }) => {
                        let wanted = |one: &&Unreadable| names.is_empty() || names.contains(&one.name);
                        let unreadable = unreadable.iter().filter(wanted);
                        (Some(objects), unreadable.map(|one| (one.name.clone(), one.error())).collect())
                    }
                    Err(error) => (None, BTreeMap::from([(String::new(), error)])),
                };
                let mut news = Vec::new();
                for (name, error) in &unreadable {
                    // Seen again, it is news again; until then it is not known to be gone.
                    told.remove(name);
                    if troubles.get(name) != Some(error) {
                        news.push(StoreEvent::Trouble { error: error.clone() });
                    }
                }
                match objects {
                    Some(objects) => news.extend(changes(objects, &names, &unreadable, &mut told)),
                    None => told.clear(),
                }
                troubles = unreadable;
                for seen in news {
                    if report.send(seen).await.is_err() {
                        return;
                    }
                }
                tokio::time::sleep(LOOK).await;
            }
        });
        Ok(seen)
    }

    async fn record_event(&self, about: &Value, event: &Event) -> Result<(), StoreError> {
        let line = json!({
            "time": clock::now().to_string(), "object": ObjectReference::of(about)?.to_string(),
            "type": event.type_.as_str(), "reason": event.reason, "message": event.message,
        });
        let _lock = self.lock().await?;
        let path = self.root.join("events.log");
        if fs::symlink_metadata(&path).is_ok_and(|log| log.is_file() && log.len() > LOG_BYTES) {
            let aside = self.root.join("events.log.1");
            fs::rename(&path, &aside).map_err(|error| cannot("move aside", &path, &error))?;
        }
        let written = self.own_files()?.open_to_append(b"events.log").and_then(|mut log| writeln!(log, "{line}"));
        written.map_err(|error| cannot("write", &path, &error))
    }
}

/// Where what a manager applied is kept, below the root.
fn applied_by(manager: &str) -> Result<String, StoreError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if manager.is_empty() || manager.starts_with('.') || !manager.chars().all(is_plain) {
        return Err(StoreError::Refused { why: format!("{manager:?} is not a valid field manager") });
    }
    Ok(format!("applied/{manager}"))
}

/// What is new since it was told: objects by their `resourceVersion`, and names that are not there. Whose file cannot be
/// read is there.
fn changes(
    objects: Vec<Value>,
    names: &BTreeSet<String>,
    unreadable: &BTreeMap<String, StoreError>,
    told: &mut BTreeMap<String, Option<Digest>>,
) -> Vec<StoreEvent> {
    let mut news = Vec::new();
    let mut gone: BTreeSet<String> = told.keys().chain(names).cloned().collect();
    gone.retain(|name| !unreadable.contains_key(name));
    for object in objects {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        gone.remove(&name);
        // A file may have anything for its version, of any size: no part of an object that was handed over is kept.
        let version = Some(Digest::sha256(object["metadata"]["resourceVersion"].to_string().as_bytes()));
        if (names.is_empty() || names.contains(&name)) && told.get(&name) != Some(&version) {
            told.insert(name, version);
            news.push(StoreEvent::Object(Box::new(object)));
        }
    }
    for name in gone {
        if told.insert(name.clone(), None) != Some(None) {
            news.push(StoreEvent::Gone { name });
        }
    }
    news
}

/// Gives a changed object what an API server would: a version, and to a new one a uid and a time.
fn stamp(object: &mut Value, before: Option<&Value>, key: &ObjectReference, revision: u64) {
    let substance = |object: &Value| {
        let mut object = object.clone();
        for apart in ["metadata", "status"] {
            object.as_object_mut().map(|fields| fields.remove(apart));
        }
        object
    };
    let kept = |field: &str| before.map(|before| before["metadata"][field].clone()).filter(|value| !value.is_null());
    let generation = before.map_or(0, |before| before["metadata"]["generation"].as_u64().unwrap_or(0));
    let changed = before.is_none_or(|before| substance(before) != substance(object));
    let uid = kept("uid").unwrap_or_else(|| uid(key, revision).into());
    let created = kept("creationTimestamp").unwrap_or_else(|| clock::now().to_string().into());
    let metadata = &mut object["metadata"];
    metadata["uid"] = uid;
    metadata["creationTimestamp"] = created;
    metadata["resourceVersion"] = revision.to_string().into();
    metadata["generation"] = (generation + u64::from(changed)).max(1).into();
}

/// In the form of a version 4 UUID; no two objects of a directory have the same revision.
fn uid(key: &ObjectReference, revision: u64) -> String {
    let hash = Digest::sha256(format!("{key}\n{revision}").as_bytes());
    let part = |from: usize, to: usize| hash.hex().get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// `name=value` and `name`, with commas between; more than that needs an API server.
fn selector(text: &str) -> Result<Vec<(&str, Option<&str>)>, StoreError> {
    let mut wanted = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').map_or((part, None), |(name, value)| (name, Some(value)));
        if name.contains(['!', ' ', '(']) || value.is_some_and(|value| value.starts_with('=')) {
            return Err(StoreError::Refused {
                why: format!("a state directory does not support the selector `{part}`"),
            });
        }
        wanted.push((name, value));
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use clearway_core::EventType;

    use super::*;

    fn node() -> Value {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}})
    }

    fn state(root: &Path, lock_wait: Duration) -> StateDirectory {
        StateDirectory { lock_wait, ..StateDirectory::open(root).unwrap() }
    }

    fn held(root: &Path) -> File {
        let lock = File::create(root.join("lock")).unwrap();
        lock.try_lock().unwrap();
        lock
    }

    #[tokio::test]
    async fn a_lock_that_another_process_keeps_fails_the_change_and_is_named() {
        let root = tempfile::tempdir().unwrap();
        let state = state(root.path(), Duration::ZERO);
        let _held = held(root.path());
        let event = Event::new(EventType::Normal, "Reason", "message");
        for error in [
            state.create(&node()).await.unwrap_err(),
            state.delete(&ObjectReference::of(&node()).unwrap(), "").await.unwrap_err(),
            state.record_event(&node(), &event).await.unwrap_err(),
        ] {
            let path = root.path().join("lock").display().to_string();
            assert!(error.is_passing() && error.to_string().contains(&path), "{error:?}");
            assert!(error.to_string().contains("another process has held it"), "{error}");
        }
        // Reading needs no lock.
        assert_eq!(state.list(&GroupVersionKind::new("v1", "Node"), "").await, Ok(Vec::new()));
    }

    #[tokio::test]
    async fn a_lock_that_is_let_go_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let state = state(root.path(), clearway_testbed::IN_TIME);
        let held = held(root.path());
        // The change is tried first, and waits without holding up what runs on the same thread.
        let node = node();
        let (created, ()) = tokio::join!(state.create(&node), async { drop(held) });
        assert_eq!(created.unwrap()["metadata"]["name"], "a");
    }
}
