//! One object a file, as YAML, below the root of a state directory.
//!
//! A file may be anybody's work: a list, a pipe, a gigabyte, the object of another path. Such a file is named, and neither
//! used nor written over.

use std::io;
use std::path::{Path, PathBuf};

use clearway_core::{GroupVersionKind, JsonSize, ObjectReference};
use serde_json::Value;

use super::StoreError;
use crate::files::confined::ConfinedDirectory;
use crate::files::file_tree::{FileTree as _, ReadError, Target, join, printable, resolve};
use crate::kubernetes::PAGE_MEMORY;

/// Bytes of one object as YAML, both to read and to write. An API server takes no larger requests.
pub const OBJECT_BYTES: usize = 3 << 20;
/// The directory of objects.
pub(super) const OBJECTS: &str = "objects";
/// Levels of nesting in one object: twice what the deepest of the known definitions has.
pub(super) const DEPTH: usize = 64;
/// Values and keys in one object: a definition of a kind that is as large as may be has a third of them. Bytes alone are no
/// bound on memory, because the smallest map takes hundreds of times its text.
pub(super) const VALUES: usize = 300_000;
/// Values behind anchors. No file that is written here has any; one that a person wrote has a few.
pub(super) const ALIASED: usize = 10_000;

/// Bytes of memory for all objects of a kind, as [`JsonSize`] estimates them: about 15,000 pods. Who follows a kind may
/// hold what was seen last beside what is read next.
pub(super) const LIST_MEMORY: usize = 128 << 20;
/// Letters of the reason why a file is not used: the rest is text of the file.
const REASON: usize = 500;

/// The files of a state directory, opened anew for every operation: somebody may have replaced the directory.
pub(super) struct ObjectFiles {
    root: PathBuf,
    directory: ConfinedDirectory,
}

/// The objects of a kind, and what stands among them that is none.
#[derive(Debug, Default)]
pub(super) struct ObjectListing {
    pub(super) objects: Vec<Value>,
    pub(super) unreadable: Vec<Unreadable>,
}

/// A file that holds no object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unreadable {
    /// The file, below the root.
    pub(super) path: String,
    /// The name that an object in it would have.
    pub(super) name: String,
    pub(super) why: String,
}

impl Unreadable {
    pub(super) fn error(&self) -> StoreError {
        StoreError::Refused { why: format!("{} is not used: {}", self.path, self.why) }
    }
}

impl ObjectFiles {
    pub(super) fn open(root: &Path) -> Result<Self, StoreError> {
        let directory = ConfinedDirectory::open(root).map_err(|error| cannot("open", root, &error))?;
        Ok(ObjectFiles { root: root.to_owned(), directory })
    }

    /// The object with a key in one of the directories of objects, if there is one.
    pub(super) fn read(&mut self, area: &str, key: &ObjectReference) -> Result<Option<Value>, StoreError> {
        let path = path(area, key)?;
        let content = match self.directory.content(path.as_bytes(), OBJECT_BYTES as u64) {
            Ok(None) => return Ok(None),
            Ok(Some(content)) => content,
            Err(error) => return Err(self.refused(&path, &too_large_or(error))),
        };
        parse(&content).and_then(|object| belongs(object, key)).map(Some).map_err(|why| self.refused(&path, &why))
    }

    /// Puts the text of an object into its file, which holds the old one or the new one at any moment.
    pub(super) fn write(&mut self, area: &str, key: &ObjectReference, text: &str) -> Result<(), StoreError> {
        let path = path(area, key)?;
        let place = self.place(&path)?;
        let failed = |error: io::Error| cannot("write", &self.root.join(&path), &error);
        self.directory.write_file(&place, text.as_bytes()).map_err(failed)
    }

    /// Removes the file of an object, if it is there.
    pub(super) fn remove(&mut self, area: &str, key: &ObjectReference) -> Result<(), StoreError> {
        let path = path(area, key)?;
        let place = self.place(&path)?;
        self.directory.remove_file(&place).map_err(|error| cannot("remove", &self.root.join(&path), &error))
    }

    /// All objects of a kind, by namespace and name. With objects that take more than so much memory, as [`JsonSize`]
    /// estimates it, none of the kind is read.
    pub(super) fn list(&mut self, kind: &GroupVersionKind, memory: usize) -> Result<ObjectListing, StoreError> {
        let (mut objects, mut left) = (Vec::new(), memory);
        let mut fits = true;
        let unreadable = self.each(kind, |object| {
            let rest = left.checked_sub(JsonSize::of_value(&object).memory);
            left = rest.unwrap_or_default();
            fits = rest.is_some();
            if fits {
                objects.push(object);
            }
            fits
        })?;
        if !fits {
            let directory = format!("{OBJECTS}/{}/{}", group(kind), kind.kind);
            let why = format!("its objects take more than {} MiB of memory; remove some of them", memory >> 20);
            return Err(self.refused(&directory, &why));
        }
        Ok(ObjectListing { objects, unreadable })
    }

    /// Hands over each object of a kind, by namespace and name, until one is not wanted; gives what is none.
    fn each(
        &mut self,
        kind: &GroupVersionKind,
        mut visit: impl FnMut(Value) -> bool,
    ) -> Result<Vec<Unreadable>, StoreError> {
        let mut unreadable = Vec::new();
        let directory = format!("{OBJECTS}/{}/{}", group(kind), kind.kind);
        for namespace in self.directories(&directory, &mut unreadable)? {
            let below = format!("{directory}/{namespace}");
            for (name, found) in self.entries(&below, None, &mut unreadable)? {
                match self.read_one(kind, &namespace, &name, &found) {
                    Ok(None) => {}
                    Ok(Some(object)) => {
                        if !visit(object) {
                            return Ok(unreadable);
                        }
                    }
                    Err(one) => unreadable.push(one),
                }
            }
        }
        Ok(unreadable)
    }

    /// The objects of a kind after the file that `token` names, so many of them at most and within the memory of a page; and
    /// the token of the next page, if there is one.
    pub(super) fn page(
        &mut self,
        kind: &GroupVersionKind,
        token: Option<&str>,
        objects: u32,
    ) -> Result<(ObjectListing, Option<String>), StoreError> {
        let after = token.and_then(|token| token.split_once('/'));
        let (mut listed, mut memory) = (ObjectListing::default(), 0_usize);
        let directory = format!("{OBJECTS}/{}/{}", group(kind), kind.kind);
        for namespace in self.directories(&directory, &mut listed.unreadable)? {
            let after = match after {
                Some((last, _)) if namespace.as_str() < last => continue,
                Some((last, name)) if namespace == last => Some(name),
                _ => None,
            };
            let below = format!("{directory}/{namespace}");
            for (name, found) in self.entries(&below, after, &mut listed.unreadable)? {
                match self.read_one(kind, &namespace, &name, &found) {
                    Ok(None) => {}
                    Ok(Some(object)) => {
                        memory = memory.saturating_add(JsonSize::of_value(&object).memory);
                        listed.objects.push(object);
                    }
                    Err(one) => listed.unreadable.push(one),
                }
                if listed.objects.len() >= objects as usize || memory > PAGE_MEMORY {
                    return Ok((listed, Some(format!("{namespace}/{name}"))));
                }
            }
        }
        Ok((listed, None))
    }

    /// The object in an entry of a directory; nothing in one that is not for an object.
    fn read_one(
        &mut self,
        kind: &GroupVersionKind,
        namespace: &str,
        name: &str,
        found: &Target,
    ) -> Result<Option<Value>, Unreadable> {
        let Some(stem) = name.strip_suffix(".yaml") else { return Ok(None) };
        let place = if namespace == "_" { String::new() } else { namespace.to_owned() };
        let key = ObjectReference { kind: kind.clone(), namespace: place, name: stem.to_owned() };
        let object = match found {
            Target::Missing => return Ok(None),
            Target::Directory(_) => Err("it is a directory, not a file".to_owned()),
            Target::File(file) => self
                .directory
                .read(file, OBJECT_BYTES as u64)
                .map_err(too_large_or)
                .and_then(|content| parse(&content))
                .and_then(|object| belongs(object, &key)),
        };
        object.map(Some).map_err(|mut why| {
            if let Some((end, _)) = why.char_indices().nth(REASON) {
                why.truncate(end);
                why.push('…');
            }
            let path = format!("{OBJECTS}/{}/{}/{namespace}/{name}", group(kind), kind.kind);
            Unreadable { path: self.root.join(path).display().to_string(), name: stem.to_owned(), why }
        })
    }

    /// Every kind that has a directory with something in it, also if none of that can be read.
    pub(super) fn kinds(&mut self) -> Result<Vec<GroupVersionKind>, StoreError> {
        let mut kinds = Vec::new();
        let mut odd_groups = Vec::new();
        for directory in self.directories(OBJECTS, &mut odd_groups)? {
            let group = if directory == "core" { String::new() } else { directory.clone() };
            let mut odd_kinds = Vec::new();
            for kind in self.directories(&format!("{OBJECTS}/{directory}"), &mut odd_kinds)? {
                let kind = GroupVersionKind { group: group.clone(), version: String::new(), kind };
                kinds.extend(self.version_of(&kind)?.map(|version| GroupVersionKind { version, ..kind }));
            }
            // A list of such a kind fails, as it should.
            kinds.extend(odd_kinds.into_iter().map(|odd| GroupVersionKind {
                group: group.clone(),
                version: String::new(),
                kind: odd.name,
            }));
        }
        // Which kinds it would have cannot be told.
        match odd_groups.first() {
            Some(odd) => Err(odd.error()),
            None => Ok(kinds),
        }
    }

    /// The version of the first object of a kind that can be read; empty if there are files and none can.
    fn version_of(&mut self, kind: &GroupVersionKind) -> Result<Option<String>, StoreError> {
        let mut odd = Vec::new();
        let directory = format!("{OBJECTS}/{}/{}", group(kind), kind.kind);
        let mut is_there = false;
        for namespace in self.directories(&directory, &mut odd)? {
            for (name, found) in self.entries(&format!("{directory}/{namespace}"), None, &mut odd)? {
                if name.strip_suffix(".yaml").is_none() {
                    continue;
                }
                is_there = true;
                let Target::File(file) = found else { continue };
                let content = self.directory.read(&file, OBJECT_BYTES as u64).ok();
                let object = content.and_then(|content| parse(&content).ok());
                if let Some(key) = object.and_then(|object| ObjectReference::of(&object).ok()) {
                    return Ok(Some(key.kind.version));
                }
            }
        }
        Ok((is_there || !odd.is_empty()).then(String::new))
    }

    /// Everything among the objects that is none. No object is kept longer than it is judged.
    pub(super) fn check(&mut self) -> Result<Vec<Unreadable>, StoreError> {
        let mut unreadable = Vec::new();
        for group in self.directories(OBJECTS, &mut unreadable)? {
            for kind in self.directories(&format!("{OBJECTS}/{group}"), &mut unreadable)? {
                let group = if group == "core" { String::new() } else { group.clone() };
                let kind = GroupVersionKind { group, version: String::new(), kind };
                unreadable.extend(self.each(&kind, |_| true)?);
            }
        }
        Ok(unreadable)
    }

    /// The directories in a directory, by name. Files are passed over; anything else is noted.
    pub(super) fn directories(&mut self, path: &str, odd: &mut Vec<Unreadable>) -> Result<Vec<String>, StoreError> {
        let entries = self.entries(path, None, odd)?;
        Ok(entries
            .into_iter()
            .filter(|(_, found)| matches!(found, Target::Directory(_)))
            .map(|(name, _)| name)
            .collect())
    }

    /// What is in a directory after a name, by name, without hidden files; nothing if it is not there. What leads nowhere, or out of the
    /// root, or is no file, is noted.
    fn entries(
        &mut self,
        path: &str,
        after: Option<&str>,
        odd: &mut Vec<Unreadable>,
    ) -> Result<Vec<(String, Target)>, StoreError> {
        let directory = match resolve(&mut self.directory, b"", path.as_bytes()) {
            Ok(Target::Directory(directory)) => directory,
            Ok(Target::Missing | Target::File(_)) => return Ok(Vec::new()),
            Err(refusal) => return Err(self.refused(path, &refusal.to_string())),
        };
        let names = self.directory.names(&directory).map_err(|why| self.refused(path, &why))?;
        let mut found = Vec::new();
        let is_due = |name: &Vec<u8>| after.is_none_or(|after| name.as_slice() > after.as_bytes());
        for name in names.into_iter().filter(|name| !name.starts_with(b".") && is_due(name)) {
            let shown = printable(&name);
            let entry = match resolve(&mut self.directory, &directory, &name) {
                Ok(target) => {
                    String::from_utf8(name).map(|name| (name, target)).map_err(|_| "its name is not UTF-8".to_owned())
                }
                Err(refusal) => Err(refusal.to_string()),
            };
            match entry {
                Ok(entry) => found.push(entry),
                Err(why) => odd.push(Unreadable {
                    path: self.root.join(path).join(&shown).display().to_string(),
                    name: shown.strip_suffix(".yaml").unwrap_or(&shown).to_owned(),
                    why,
                }),
            }
        }
        Ok(found)
    }

    /// Where a file is to be written: the directories on the way may be links inside the root.
    fn place(&mut self, path: &str) -> Result<Vec<u8>, StoreError> {
        let mut place = Vec::new();
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                place = join(&place, name.as_bytes());
                break;
            }
            place = match resolve(&mut self.directory, &place, name.as_bytes()) {
                Ok(Target::Directory(directory)) => directory,
                Ok(Target::Missing) => join(&place, name.as_bytes()),
                Ok(Target::File(_)) => return Err(self.refused(path, "a parent directory of it is a file")),
                Err(refusal) => return Err(self.refused(path, &refusal.to_string())),
            };
        }
        Ok(place)
    }

    fn refused(&self, path: &str, why: &str) -> StoreError {
        StoreError::Refused { why: format!("{} is not used: {why}", self.root.join(path).display()) }
    }
}

/// Where an object is, below the root.
fn path(area: &str, key: &ObjectReference) -> Result<String, StoreError> {
    let ObjectReference { kind, namespace, name } = key;
    let namespace = if namespace.is_empty() { "_" } else { namespace };
    for part in [group(kind), &kind.kind, namespace, name] {
        // Names of other places, such as `..`, are not names of objects.
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        if part.is_empty() || part.starts_with('.') || part.len() > 253 || !part.chars().all(plain) {
            return Err(StoreError::Refused { why: format!("{part:?} is not a valid object name") });
        }
    }
    Ok(format!("{area}/{}/{}/{namespace}/{name}.yaml", group(kind), kind.kind))
}

fn group(kind: &GroupVersionKind) -> &str {
    if kind.group.is_empty() { "core" } else { &kind.group }
}

/// An object as the text of its file. One that is too large or too deep to be read again is refused.
pub(super) fn text(key: &ObjectReference, object: &Value) -> Result<String, StoreError> {
    let refused = |why: &str| StoreError::Refused { why: format!("{key} cannot be stored as YAML: {why}") };
    // Whoever writes goes down level by level, and does not count.
    if is_deeper(object, DEPTH) {
        return Err(refused(&format!("it is nested more than {DEPTH} levels deep")));
    }
    let text = serde_saphyr::to_string(object).map_err(|error| refused(&error.to_string()))?;
    if text.len() > OBJECT_BYTES {
        return Err(StoreError::TooLarge { what: key.to_string(), bytes: text.len(), limit: OBJECT_BYTES });
    }
    if values(object) > VALUES {
        return Err(refused(&format!("it has more than {VALUES} values and keys")));
    }
    Ok(text)
}

/// Whether a value is nested deeper than so many levels.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let below = |value: &Value| levels == 0 || is_deeper(value, levels - 1);
    match value {
        Value::Array(items) => items.iter().any(below),
        Value::Object(fields) => fields.values().any(below),
        _ => false,
    }
}

/// The values and keys of a value, of all levels.
fn values(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(values).fold(1, usize::saturating_add),
        Value::Object(fields) => {
            fields.values().map(|value| values(value).saturating_add(1)).fold(1, usize::saturating_add)
        }
        _ => 1,
    }
}

/// The object in the bytes of a file of a state directory, or why there is none.
pub fn parse(bytes: &[u8]) -> Result<Value, String> {
    let text = str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let budget = serde_saphyr::budget! {
        max_depth: DEPTH, max_nodes: VALUES, max_events: 4 * VALUES, max_recorded_anchor_events: ALIASED
    };
    let options = serde_saphyr::options! { budget: budget, with_snippet: false };
    let value: Value = serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())?;
    match value {
        Value::Object(_) => Ok(value),
        Value::Array(_) => Err("it contains a list, not an object".to_owned()),
        _ => Err("it contains a single value, not an object".to_owned()),
    }
}

/// The object in the version of the key, if it is the one that its path says. Nothing is converted.
fn belongs(mut object: Value, key: &ObjectReference) -> Result<Value, String> {
    let found = ObjectReference::of(&object).map_err(|error| error.to_string())?;
    if found.id() != key.id() {
        return Err(format!("it contains {}, but its path is that of {}", found.id(), key.id()));
    }
    if let (Some(fields), false) = (object.as_object_mut(), key.kind.version.is_empty()) {
        fields.insert("apiVersion".to_owned(), key.kind.api_version().into());
    }
    Ok(object)
}

fn too_large_or(error: ReadError) -> String {
    match error {
        ReadError::TooLarge => format!("it is larger than {OBJECT_BYTES} bytes"),
        ReadError::Refused(why) => why,
    }
}

/// What failed, and where.
pub(super) fn cannot(verb: &str, path: &Path, error: &io::Error) -> StoreError {
    StoreError::Away { why: format!("cannot {verb} {}: {error}", path.display()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "(?s).{0,20}".prop_map(Value::from),
            "[-~<=#:&*!|>%@0-9a-f. \n\t\r]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map("(?s).{0,6}", inner, 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn a_kind_whose_objects_take_too_much_memory_is_not_read_and_the_limit_is_named() {
        let root = tempfile::tempdir().unwrap();
        let mut files = ObjectFiles::open(root.path()).unwrap();
        let object = |kind: &str, name: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}});
        let mut memory = 0;
        for (kind, name) in [("Node", "a"), ("Node", "b"), ("Pod", "c")] {
            let object = object(kind, name);
            let key = ObjectReference::of(&object).unwrap();
            files.write(OBJECTS, &key, &text(&key, &object).unwrap()).unwrap();
            memory += if kind == "Node" { JsonSize::of_value(&object).memory } else { 0 };
        }
        let node = GroupVersionKind::new("v1", "Node");
        assert_eq!(files.list(&node, memory).unwrap().objects, [object("Node", "a"), object("Node", "b")]);
        let error = files.list(&node, memory - 1).unwrap_err();
        assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
        assert!(
            error.to_string().contains("objects/core/Node is not used: its objects take more than 0 MiB"),
            "{error}"
        );
        // The other kinds are read, and a check finds nothing wrong with any object.
        assert_eq!(files.list(&GroupVersionKind::new("v1", "Pod"), memory - 1).unwrap().objects.len(), 1);
        assert_eq!(files.check().unwrap(), []);
    }

    #[test]
    fn the_reason_why_a_file_is_not_used_repeats_little_of_its_text() {
        let root = tempfile::tempdir().unwrap();
        let mut files = ObjectFiles::open(root.path()).unwrap();
        let key = ObjectReference::of(&json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}})).unwrap();
        let name = "é".repeat(100_000);
        files.write(OBJECTS, &key, &format!("{{apiVersion: v1, kind: Node, metadata: {{name: {name}}}}}\n")).unwrap();
        let [one]: [Unreadable; 1] = files.check().unwrap().try_into().unwrap();
        assert!(one.why.chars().count() == REASON + 1 && one.why.ends_with('…'), "{}", one.why.len());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_the_same(value in value()) {
            let object = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": value});
            let key = ObjectReference::of(&object).unwrap();
            let text = text(&key, &object).unwrap();
            prop_assert_eq!(parse(text.as_bytes()).unwrap(), object);
        }

        #[test]
        fn any_bytes_are_an_object_or_a_reason(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            match parse(&bytes) {
                Ok(object) => prop_assert!(object.is_object()),
                Err(why) => prop_assert!(!why.is_empty()),
            }
        }
    }
}
