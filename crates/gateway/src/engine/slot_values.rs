//! Values by the slot of an object: a vector, because slots are numbered without gaps.

use super::store::Id;

/// A value for some of the slots.
#[derive(Debug)]
pub(super) struct SlotValues<T> {
    values: Vec<Option<T>>,
}

impl<T> Default for SlotValues<T> {
    fn default() -> Self {
        SlotValues { values: Vec::new() }
    }
}

impl<T> SlotValues<T> {
    pub(super) fn get(&self, id: Id) -> Option<&T> {
        self.values.get(id.index())?.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        self.values.get_mut(id.index())?.as_mut()
    }

    pub(super) fn insert(&mut self, id: Id, value: T) {
        if self.values.len() <= id.index() {
            self.values.resize_with(id.index() + 1, || None);
        }
        if let Some(place) = self.values.get_mut(id.index()) {
            *place = Some(value);
        }
    }

    /// Takes the value out.
    pub(super) fn remove(&mut self, id: Id) -> Option<T> {
        self.values.get_mut(id.index())?.take()
    }
}
