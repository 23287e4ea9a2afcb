//! Reads every object of a kind with one page in memory at a time, however many objects there are.

use clearway_core::GroupVersionKind;

use super::{Page, Store, StoreError};

/// Objects of one page; a page that is too large is asked for again with fewer.
const PAGE: u32 = 500;

/// The pages of the objects of one kind.
#[derive(Debug)]
pub struct ObjectPages<'s, S> {
    store: &'s S,
    kind: GroupVersionKind,
    token: Option<String>,
    size: u32,
    is_complete: bool,
}

impl<'s, S: Store> ObjectPages<'s, S> {
    /// Starts at the first object.
    pub fn new(store: &'s S, kind: GroupVersionKind) -> Self {
        ObjectPages { store, kind, token: None, size: PAGE, is_complete: false }
    }

    /// The same with another number of objects in a page.
    #[must_use]
    pub fn with_size(mut self, objects: u32) -> Self {
        self.size = objects.max(1);
        self
    }

    /// The next page; none after the last one. After an error the same page is read again.
    pub async fn next_page(&mut self) -> Result<Option<Page>, StoreError> {
        while !self.is_complete {
            match self.store.page(&self.kind, self.token.as_deref(), self.size).await {
                Ok(page) => {
                    self.token.clone_from(&page.next);
                    self.is_complete = self.token.is_none();
                    return Ok(Some(page));
                }
                Err(StoreError::AnswerTooLarge { .. }) if self.size > 1 => self.size /= 2,
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}
