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

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clearway_core::Digest;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::object_files::{cannot, entries, read, remove, write};
use super::{Apply, Event, Key, Kind, Page, Part, Seen, Store, StoreError, Weight, merge};
use crate::clock;
use crate::files::write_atomically;

/// How often objects that are followed are looked at.
const LOOK: Duration = Duration::from_millis(100);
/// A log of events that is longer is moved aside.
const LOG_BYTES: u64 = 1 << 20;

/// The objects in a directory.
#[derive(Debug, Clone)]
pub struct StateDirectory {
    root: Arc<PathBuf>,
}

impl StateDirectory {
    /// The state in a directory that is there or is made.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        for part in ["objects", "applied", "metrics"] {
            fs::create_dir_all(root.join(part)).map_err(|error| cannot("make", &root.join(part), &error))?;
        }
        Ok(StateDirectory { root: Arc::new(root.to_owned()) })
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the live metrics feed is read from.
    pub fn metrics(&self) -> PathBuf {
        self.root.join("metrics")
    }

    fn read(&self, key: &Key) -> Result<Option<Value>, StoreError> {
        let object = read(&self.root.join("objects").join(path(key)?))?;
        // The same object in the version that was asked for: nothing is converted.
        Ok(object.map(|mut object| {
            object["apiVersion"] = key.kind.api_version().into();
            object
        }))
    }

    /// Changes one object behind the lock: `change` gets it as it is, and says what it is to be.
    fn change(
        &self,
        key: &Key,
        keep: bool,
        change: impl FnOnce(Option<Value>) -> Result<Value, StoreError>,
    ) -> Result<Value, StoreError> {
        let _lock = self.lock()?;
        let before = self.read(key)?;
        let mut after = change(before.clone())?;
        if before.as_ref() == Some(&after) || !keep {
            return Ok(after);
        }
        let revision = self.next_revision()?;
        stamp(&mut after, before.as_ref(), key, revision);
        write(&self.root.join("objects").join(path(key)?), &after)?;
        Ok(after)
    }

    fn lock(&self) -> Result<File, StoreError> {
        let path = self.root.join("lock");
        let file =
            File::options().create(true).append(true).open(&path).map_err(|error| cannot("open", &path, &error))?;
        file.lock().map_err(|error| cannot("lock", &path, &error))?;
        Ok(file)
    }

    /// Written before it is used: a crash between leaves a gap, never a number that is used twice.
    fn next_revision(&self) -> Result<u64, StoreError> {
        let path = self.root.join("revision");
        let last = match fs::read_to_string(&path) {
            Ok(text) => text.trim().parse().map_err(|_| StoreError::Refused {
                why: format!("{} holds no number; remove it to count anew", path.display()),
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(cannot("read", &path, &error)),
        };
        let next: u64 = last + 1;
        write_atomically(&path, format!("{next}\n").as_bytes()).map_err(|error| cannot("write", &path, &error))?;
        Ok(next)
    }

    fn of_kind(&self, kind: &Kind) -> Result<Vec<Value>, StoreError> {
        let group = if kind.group.is_empty() { "core" } else { &kind.group };
        let mut objects = Vec::new();
        for namespace in entries(&self.root.join("objects").join(group).join(&kind.kind))? {
            for path in entries(&namespace)? {
                if path.extension().is_some_and(|extension| extension == "yaml") {
                    objects.extend(read(&path)?);
                }
            }
        }
        for object in &mut objects {
            object["apiVersion"] = kind.api_version().into();
        }
        Ok(objects)
    }
}

impl Store for StateDirectory {
    async fn get(&self, key: &Key) -> Result<Option<Value>, StoreError> {
        self.read(key)
    }

    async fn list(&self, kind: &Kind, labels: &str) -> Result<Vec<Value>, StoreError> {
        let wanted = selector(labels)?;
        let mut objects = self.of_kind(kind)?;
        objects.retain(|object| {
            let labels = &object["metadata"]["labels"];
            wanted.iter().all(|(name, value)| value.map_or(labels[name].is_string(), |value| labels[name] == value))
        });
        Ok(objects)
    }

    async fn list_in(&self, kind: &Kind, namespace: &str) -> Result<Vec<Value>, StoreError> {
        let mut objects = self.of_kind(kind)?;
        objects.retain(|object| object["metadata"]["namespace"] == namespace);
        Ok(objects)
    }

    async fn page(&self, kind: &Kind, namespace: Option<&str>, _token: Option<&str>) -> Result<Page, StoreError> {
        let items = match namespace {
            Some(namespace) => self.list_in(kind, namespace).await?,
            None => self.list(kind, "").await?,
        };
        Ok(Page { items, next: None })
    }

    async fn kinds(&self) -> Result<Vec<Kind>, StoreError> {
        let mut kinds = BTreeSet::new();
        for group in entries(&self.root.join("objects"))? {
            for kind in entries(&group)? {
                for namespace in entries(&kind)? {
                    let first = entries(&namespace)?.into_iter().next();
                    if let Some(object) = first.map(|path| read(&path)).transpose()?.flatten() {
                        kinds.insert(Key::of(&object)?.kind);
                    }
                }
            }
        }
        Ok(kinds.into_iter().collect())
    }

    async fn create(&self, object: &Value) -> Result<Value, StoreError> {
        let key = Key::of(object)?;
        self.change(&key, true, |before| match before {
            None => Ok(object.clone()),
            Some(_) => Err(StoreError::Conflict { why: format!("{key} is there already") }),
        })
    }

    async fn apply(&self, object: &Value, how: &Apply<'_>) -> Result<Value, StoreError> {
        let key = Key::of(object)?;
        let said = self.root.join("applied").join(how.manager).join(path(&key)?);
        let applied = self.change(&key, !how.dry_run, |before| {
            let mut after = before.unwrap_or_else(|| json!({}));
            let status = after["status"].take();
            merge::apply(&mut after, &read(&said)?.unwrap_or_default(), object);
            let fields =
                after.as_object_mut().ok_or_else(|| StoreError::Refused { why: format!("{key} is no object") })?;
            fields.remove("status");
            if !status.is_null() {
                fields.insert("status".to_owned(), status);
            }
            Ok(after)
        })?;
        if !how.dry_run {
            write(&said, object)?;
        }
        Ok(applied)
    }

    async fn patch(&self, key: &Key, part: Part, patch: &Value) -> Result<Value, StoreError> {
        self.change(key, true, |before| {
            let mut after = before.ok_or_else(|| StoreError::Missing { what: key.to_string() })?;
            let expected = &patch["metadata"]["resourceVersion"];
            if !expected.is_null() && after["metadata"]["resourceVersion"] != *expected {
                return Err(StoreError::Conflict { why: format!("{key} was changed meanwhile") });
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
        let key = Key::of(object)?;
        self.change(&key, true, |before| {
            let mut after = before.ok_or_else(|| StoreError::Missing { what: key.to_string() })?;
            if after["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"] {
                return Err(StoreError::Conflict { why: format!("{key} was changed meanwhile") });
            }
            after["status"] = object["status"].clone();
            Ok(after)
        })
    }

    async fn delete(&self, key: &Key, uid: &str) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let Some(object) = self.read(key)? else { return Ok(()) };
        if !uid.is_empty() && object["metadata"]["uid"] != uid {
            return Err(StoreError::Conflict { why: format!("{key} is another one by now") });
        }
        let path = path(key)?;
        remove(&self.root.join("objects").join(&path))?;
        for manager in entries(&self.root.join("applied"))? {
            remove(&manager.join(&path))?;
        }
        Ok(())
    }

    async fn follow(&self, kind: &Kind, names: BTreeSet<String>) -> Result<mpsc::Receiver<Seen>, StoreError> {
        let (report, seen) = mpsc::channel(64);
        let (state, kind) = (self.clone(), kind.clone());
        tokio::spawn(async move {
            let mut told: BTreeMap<String, Option<Value>> = BTreeMap::new();
            let mut trouble = false;
            while !report.is_closed() {
                let news = match state.of_kind(&kind) {
                    Ok(objects) => {
                        trouble = false;
                        changes(objects, &names, &mut told)
                    }
                    Err(error) if !trouble => {
                        trouble = true;
                        told.clear();
                        vec![Seen::Trouble { error }]
                    }
                    Err(_) => Vec::new(),
                };
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

    async fn tell(&self, about: &Value, event: &Event) -> Result<(), StoreError> {
        let weight = match event.weight {
            Weight::Normal => "Normal",
            Weight::Warning => "Warning",
        };
        let line = json!({
            "time": clock::now().to_string(), "object": Key::of(about)?.to_string(),
            "type": weight, "reason": event.reason, "message": event.message,
        });
        let _lock = self.lock()?;
        let path = self.root.join("events.log");
        if fs::metadata(&path).is_ok_and(|log| log.len() > LOG_BYTES) {
            let aside = self.root.join("events.log.1");
            fs::rename(&path, &aside).map_err(|error| cannot("move aside", &path, &error))?;
        }
        let written = File::options().create(true).append(true).open(&path).and_then(|mut log| writeln!(log, "{line}"));
        written.map_err(|error| cannot("write", &path, &error))
    }
}

/// Where an object is, below the directory of objects.
fn path(key: &Key) -> Result<PathBuf, StoreError> {
    let Key { kind, namespace, name } = key;
    let group = if kind.group.is_empty() { "core" } else { &kind.group };
    let namespace = if namespace.is_empty() { "_" } else { namespace };
    for part in [group, &kind.kind, namespace, name] {
        // Names of other places, such as `..`, are not names of objects.
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        if part.is_empty() || part.starts_with('.') || part.len() > 253 || !part.chars().all(plain) {
            return Err(StoreError::Refused { why: format!("{part:?} is no name for an object") });
        }
    }
    Ok([group, &kind.kind, namespace, &format!("{name}.yaml")].iter().collect())
}

/// What is new since it was told: objects by their `resourceVersion`, and names that are not there.
fn changes(objects: Vec<Value>, names: &BTreeSet<String>, told: &mut BTreeMap<String, Option<Value>>) -> Vec<Seen> {
    let mut news = Vec::new();
    let mut gone: BTreeSet<String> = told.keys().chain(names).cloned().collect();
    for object in objects {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        gone.remove(&name);
        let version = Some(object["metadata"]["resourceVersion"].clone());
        if (names.is_empty() || names.contains(&name)) && told.get(&name) != Some(&version) {
            told.insert(name, version);
            news.push(Seen::Object(Box::new(object)));
        }
    }
    for name in gone {
        if told.insert(name.clone(), None) != Some(None) {
            news.push(Seen::Gone { name });
        }
    }
    news
}

/// Gives a changed object what an API server would: a version, and to a new one a uid and a time.
fn stamp(object: &mut Value, before: Option<&Value>, key: &Key, revision: u64) {
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
fn uid(key: &Key, revision: u64) -> String {
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
            return Err(StoreError::Refused { why: format!("a state directory cannot select by `{part}`") });
        }
        wanted.push((name, value));
    }
    Ok(wanted)
}
