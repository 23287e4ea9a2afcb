//! The pages of one revision that were rendered already, up to a number of bytes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use crate::data::body::Body;

/// Bytes of all pages that are kept of one revision, in all codings.
const MOST_BYTES: usize = 64 << 20;

/// Pages by their addresses. What was added first goes first.
#[derive(Debug, Default)]
pub(super) struct PageCache(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    pages: HashMap<String, Arc<Body>>,
    order: VecDeque<String>,
    bytes: usize,
}

impl PageCache {
    pub(super) fn get(&self, key: &str) -> Option<Arc<Body>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pages.get(key).cloned()
    }

    pub(super) fn insert(&self, key: String, page: Arc<Body>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, page, MOST_BYTES);
    }
}

impl Entries {
    fn insert(&mut self, key: String, page: Arc<Body>, most: usize) {
        let size = page.size() + 2 * key.len();
        if size > most || self.pages.contains_key(&key) {
            return;
        }
        while self.bytes + size > most {
            let Some(oldest) = self.order.pop_front() else { break };
            let gone = self.pages.remove(&oldest).map_or(0, |page| page.size() + 2 * oldest.len());
            self.bytes = self.bytes.saturating_sub(gone);
        }
        self.bytes += size;
        self.order.push_back(key.clone());
        self.pages.insert(key, page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn the_oldest_pages_go_when_there_is_no_room() {
        let page = |bytes: usize| Arc::new(Body::plain(Bytes::from(vec![0; bytes])));
        let mut pages = Entries::default();
        for (key, bytes) in [("a", 400), ("b", 400), ("a", 400)] {
            pages.insert(key.to_owned(), page(bytes), 1_000);
        }
        assert_eq!((pages.bytes, pages.pages.len()), (804, 2));
        pages.insert("c".to_owned(), page(500), 1_000);
        assert_eq!((pages.bytes, pages.pages.len()), (904, 2));
        assert!(!pages.pages.contains_key("a") && pages.pages.contains_key("c"));
        pages.insert("d".to_owned(), page(2_000), 1_000);
        assert_eq!(pages.bytes, 904, "what never fits is not kept");
        pages.insert("e".to_owned(), page(998), 1_000);
        assert_eq!((pages.bytes, pages.pages.len()), (1_000, 1));
    }
}
