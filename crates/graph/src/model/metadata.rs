//! What else is said about a release: texts by key.
//!
//! Releases have a handful of keys, and all the same ones: a sorted list with shared keys takes a fraction of the memory
//! of a map, and a graph has tens of thousands of them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Texts by key, in the order of the keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata(Vec<(Arc<str>, String)>);

/// What one key takes besides its texts.
const ENTRY: usize = 40;

impl Metadata {
    /// What a key and its text take, as caps count it.
    pub(crate) fn cost(key: &str, value: &str) -> usize {
        key.len() + value.len() + ENTRY
    }

    /// What all keys and texts take, as caps count it.
    pub(crate) fn bytes(&self) -> usize {
        self.iter().map(|(key, value)| Self::cost(key, value)).sum()
    }

    /// The texts of some pairs; the last one, if a key is repeated.
    pub(crate) fn of_pairs(pairs: Vec<(impl AsRef<str>, impl Into<String>)>) -> Self {
        let mut list: Vec<(Arc<str>, String)> =
            pairs.into_iter().map(|(key, value)| (key.as_ref().into(), value.into())).collect();
        list.sort_by(|(one, _), (other, _)| one.cmp(other));
        // Of a run of equal keys the last one stays: the later one takes the place of the one that is kept.
        list.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                std::mem::swap(later, kept);
            }
            same
        });
        Metadata(list)
    }

    /// The text under a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        let at = self.find(key).ok()?;
        self.0.get(at).map(|(_, value)| value.as_str())
    }

    /// Whether there is such a key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.find(key).is_ok()
    }

    /// The keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| &**key)
    }

    /// The keys and texts, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, value.as_str()))
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| (**known).cmp(key))
    }

    /// The text under a key, which is there and empty from now on if it was not there.
    pub(crate) fn entry(&mut self, key: &Arc<str>) -> Option<&mut String> {
        let at = self.find(key).unwrap_or_else(|at| {
            self.0.insert(at, (Arc::clone(key), String::new()));
            at
        });
        self.0.get_mut(at).map(|(_, value)| value)
    }

    /// Sets the text under a key.
    pub(crate) fn insert(&mut self, key: &Arc<str>, value: impl Into<String>) {
        if let Some(slot) = self.entry(key) {
            *slot = value.into();
        }
    }

    /// Whether both have a text under one of some keys, and not the same one.
    pub(crate) fn contradicts(&self, other: &Metadata, of: impl Fn(&str) -> bool) -> bool {
        let differs = |key: &str, value: &str| self.get(key).is_some_and(|own| own != value);
        other.iter().any(|(key, value)| of(key) && differs(key, value))
    }

    /// Adds what is not there yet.
    pub(crate) fn join(&mut self, other: Metadata) {
        for (key, value) in other.0 {
            if !self.contains_key(&key) {
                self.insert(&key, value);
            }
        }
    }

    /// Keeps the keys of which something is true.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.0.retain(|(key, _)| keep(key));
    }
}

impl From<BTreeMap<String, String>> for Metadata {
    fn from(map: BTreeMap<String, String>) -> Self {
        Metadata(map.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }
}

/// The distinct keys, each kept once.
#[derive(Default)]
pub(crate) struct Keys(HashSet<Arc<str>>);

impl Keys {
    pub(crate) fn share(&mut self, key: &str) -> Arc<str> {
        if let Some(known) = self.0.get(key) {
            return Arc::clone(known);
        }
        let new: Arc<str> = key.into();
        self.0.insert(Arc::clone(&new));
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_order_and_stand_once() {
        let mut keys = Keys::default();
        let mut metadata = Metadata::default();
        for (key, value) in [("b", "1"), ("a", "2"), ("b", "3")] {
            metadata.insert(&keys.share(key), value);
        }
        metadata.join(BTreeMap::from([("a".to_owned(), "9".to_owned()), ("c".to_owned(), "4".to_owned())]).into());
        assert_eq!(metadata.iter().collect::<Vec<_>>(), [("a", "2"), ("b", "3"), ("c", "4")]);
        assert_eq!((metadata.get("c"), metadata.get("d")), (Some("4"), None));
        metadata.retain(|key| key != "a");
        assert_eq!(metadata.keys().collect::<Vec<_>>(), ["b", "c"]);
        assert!(Arc::ptr_eq(&keys.share("b"), &keys.share("b")));
    }
}
