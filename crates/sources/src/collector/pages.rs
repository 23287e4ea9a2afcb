//! All objects of one kind, page by page, within the limits.
//!
//! Which kind is read is a stranger's choice, and its objects may be large. So a page is read only as far as its store
//! allows (see [`Store::page`]); if that is too little, fewer objects are asked for.

use clearway_core::{GroupVersionKind, JsonSize};
use serde_json::Value;

use super::{ObjectLimits, UnreadReason};
use crate::snapshot::strip;
use crate::store::{Store, StoreError};

/// Objects that are asked for in one page.
const PAGE: u32 = 500;
/// After a page below so many bytes, more objects are asked for again.
const SMALL_PAGE: usize = 1 << 20;

/// Objects of one kind on their way.
pub(super) struct Pages<'s, S> {
    store: &'s S,
    kind: GroupVersionKind,
    limits: &'s ObjectLimits,
    /// Objects that are asked for next.
    size: u32,
    next: Next,
    count: usize,
    bytes: usize,
}

/// What is asked of the store next.
enum Next {
    Page { token: Option<String> },
    End,
}

/// An object without what no rule sees, and its size.
pub(super) struct MeasuredObject {
    pub(super) object: Value,
    pub(super) size: JsonSize,
}

impl<'s, S: Store> Pages<'s, S> {
    pub(super) fn new(store: &'s S, kind: GroupVersionKind, limits: &'s ObjectLimits) -> Self {
        Pages { store, kind, limits, size: PAGE, next: Next::Page { token: None }, count: 0, bytes: 0 }
    }

    /// The next objects; nothing at the end.
    pub(super) async fn next_page(&mut self) -> Result<Option<Vec<MeasuredObject>>, UnreadReason> {
        let Next::Page { token } = std::mem::replace(&mut self.next, Next::End) else { return Ok(None) };
        let page = loop {
            match self.store.page(&self.kind, token.as_deref(), self.size).await {
                Err(StoreError::AnswerTooLarge { .. }) if self.size > 1 => self.size /= 2,
                Err(error) => return Err(UnreadReason::of_error(&error, &self.kind)),
                Ok(page) => break page,
            }
        };
        if let Some(next) = page.next {
            if token.as_ref() == Some(&next) {
                return Err(UnreadReason::Endless);
            }
            self.next = Next::Page { token: Some(next) };
        }
        self.admit(page.items).map(Some)
    }

    /// Removes what no rule sees, and counts the rest.
    fn admit(&mut self, items: Vec<Value>) -> Result<Vec<MeasuredObject>, UnreadReason> {
        let (mut admitted, before) = (Vec::with_capacity(items.len()), self.bytes);
        for object in items.into_iter().filter_map(strip) {
            let size = JsonSize::of_value(&object);
            self.count = self.count.saturating_add(1);
            self.bytes = self.bytes.saturating_add(size.bytes);
            if self.count > self.limits.count || self.bytes > self.limits.bytes {
                return Err(UnreadReason::TooLarge);
            }
            admitted.push(MeasuredObject { object, size });
        }
        if self.bytes.saturating_sub(before) < SMALL_PAGE {
            self.size = self.size.saturating_mul(2).min(PAGE);
        }
        Ok(admitted)
    }
}
