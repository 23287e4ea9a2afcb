//! From parser events to a tape.
//!
//! A [`Builder`] takes the events of one value. It follows aliases and merge keys (`<<`) by copying, and counts every
//! entry it makes against the limit, so that a small text cannot become a large tree. What aliases expand to is counted
//! for the whole stream ([`Aliased`]): whoever keeps its objects has a copy of it for each alias.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use clearway_core::Limits;
use granit_parser::{Event, ScalarStyle, Span};

use crate::tape::{Entry, Shape, Tape};

/// Why a value cannot be built although the text is YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BuildError {
    #[error("more than {limit} values in one object (each alias counts as its value)")]
    TooManyValues { limit: usize },
    #[error("aliases expand to more than {limit} values in one file")]
    TooManyAliased { limit: usize },
    #[error("aliases expand to more than {limit} bytes of text in one file")]
    TooMuchText { limit: usize },
    #[error("a list or an object cannot be a key")]
    ComplexKey,
    #[error("an alias for a value that is not complete before it")]
    OpenAlias,
    #[error("`<<` must name an object or a list of objects")]
    BadMerge,
}

/// What the aliases of a stream have expanded to so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Aliased {
    values: usize,
    /// Of all texts, also of those that are only borrowed here: who keeps an object has them as often as they stand in it.
    text: usize,
    most_values: usize,
    most_text: usize,
}

impl Aliased {
    pub(crate) fn new(limits: &Limits) -> Self {
        Aliased { values: 0, text: 0, most_values: limits.alias_values, most_text: limits.alias_text }
    }

    /// Counts a copy of some entries for an alias.
    fn add(&mut self, entries: &[Entry<'_>]) -> Result<(), BuildError> {
        self.values = self.values.saturating_add(entries.len());
        if self.values > self.most_values {
            return Err(BuildError::TooManyAliased { limit: self.most_values });
        }
        self.add_text(entries.iter().map(|entry| entry.text.len()).sum())
    }

    /// Counts the copy that is kept for aliases: only text that had to be unescaped or unfolded is copied for it.
    fn keep(&mut self, entries: &[Entry<'_>]) -> Result<(), BuildError> {
        let owned = |entry: &Entry<'_>| if let Cow::Owned(text) = &entry.text { text.len() } else { 0 };
        self.add_text(entries.iter().map(owned).sum())
    }

    fn add_text(&mut self, bytes: usize) -> Result<(), BuildError> {
        self.text = self.text.saturating_add(bytes);
        if self.text > self.most_text { Err(BuildError::TooMuchText { limit: self.most_text }) } else { Ok(()) }
    }
}

/// A list or object that is not closed yet.
struct Open {
    start: usize,
    mapping: bool,
    /// In a mapping: whether the next value is a key.
    key_next: bool,
    merges: bool,
    anchor: usize,
}

/// Builds the tape of one value.
pub(crate) struct Builder<'s> {
    pub(crate) tape: Tape<'s>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Vec<Entry<'s>>>,
    /// Entries kept for aliases; they count against the limit for as long as the document lasts.
    anchored: usize,
    /// Where the value of the outermost object's `kind` stands.
    kind: Option<usize>,
    limit: usize,
    first_line: usize,
    keep: FieldFilter,
    /// How many lists and objects are open inside a value that is not kept.
    passing: usize,
}

/// Which fields of an object are wanted, by its kind (where that was read before) and their name.
///
/// What is not wanted is parsed and then forgotten: it stands as null.
pub type FieldFilter = fn(kind: Option<&str>, field: &str) -> bool;

impl<'s> Builder<'s> {
    /// A builder for texts that start at line `first_line` of their file.
    pub(crate) fn new(first_line: usize, limit: usize, keep: FieldFilter, capacity: usize) -> Self {
        Builder {
            tape: Tape { entries: Vec::with_capacity(capacity), located: true },
            open: Vec::new(),
            anchors: BTreeMap::new(),
            anchored: 0,
            kind: None,
            limit,
            first_line,
            keep,
            passing: 0,
        }
    }

    /// Forgets the value, and keeps what later aliases may name.
    pub(crate) fn next_value(&mut self) {
        self.tape.entries.clear();
        self.open.clear();
        self.passing = 0;
        self.kind = None;
    }

    /// Forgets everything: anchors end with their document.
    pub(crate) fn next_document(&mut self) {
        self.next_value();
        self.anchors.clear();
        self.anchored = 0;
    }

    /// How many lists and objects are open.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// The key of the outermost object whose value comes next.
    pub(crate) fn top_key(&self) -> Option<&str> {
        match self.open.as_slice() {
            [Open { mapping: true, key_next: false, .. }] => self.tape.entries.last().map(|entry| &*entry.text),
            _ => None,
        }
    }

    /// The outermost object as far as it is complete.
    pub(crate) fn completed_part(&self) -> Tape<'s> {
        let mut tape = self.tape.clone();
        if self.top_key().is_some() {
            tape.entries.pop();
        }
        let size = u32::try_from(tape.entries.len()).unwrap_or(u32::MAX);
        if let Some(root) = tape.entries.first_mut() {
            root.size = size;
        }
        tape
    }

    /// Takes one event; says whether the value is complete with it.
    #[inline]
    pub(crate) fn feed(&mut self, event: Event<'s>, span: &Span, aliased: &mut Aliased) -> Result<bool, BuildError> {
        if self.passes_over(&event) {
            return Ok(false);
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = match &tag {
                    None => style == ScalarStyle::Plain,
                    // A tag says what it is, quoted or not; what nobody here knows is text.
                    Some(tag) => matches!(tag.core_suffix(), Some("null" | "bool" | "int" | "float")),
                };
                let merge = plain && text == "<<";
                self.push(if plain { Shape::Plain } else { Shape::Text }, text, span)?;
                if let Some(open) = self.open.last_mut().filter(|open| open.mapping && open.key_next) {
                    open.merges |= merge;
                }
                self.value_done(self.tape.entries.len().saturating_sub(1), anchor, aliased)
            }
            Event::SequenceStart(_, anchor, _) => self.start(Shape::Sequence, anchor, span),
            Event::MappingStart(_, anchor, _) => self.start(Shape::Mapping, anchor, span),
            Event::SequenceEnd | Event::MappingEnd => self.end(aliased),
            Event::Alias(anchor) => {
                let copy = self.anchors.get(&anchor).ok_or(BuildError::OpenAlias)?;
                let start = self.tape.entries.len();
                if start + copy.len() + self.anchored > self.limit {
                    return Err(BuildError::TooManyValues { limit: self.limit });
                }
                if copy.len() > 1 && self.open.last().is_some_and(|open| open.mapping && open.key_next) {
                    return Err(BuildError::ComplexKey);
                }
                aliased.add(copy)?;
                self.tape.entries.extend_from_slice(copy);
                self.value_done(start, 0, aliased)
            }
            _ => Ok(false),
        }
    }

    /// Whether an event belongs to a list or object that is not wanted; the whole of it stands as null.
    #[inline]
    fn passes_over(&mut self, event: &Event<'s>) -> bool {
        let opens = matches!(event, Event::SequenceStart(..) | Event::MappingStart(..));
        if self.passing > 0 {
            match event {
                _ if opens => self.passing += 1,
                Event::SequenceEnd | Event::MappingEnd => self.passing -= 1,
                _ => {}
            }
            return true;
        }
        if !opens || self.top_key().is_none_or(|key| (self.keep)(self.kind(), key)) {
            return false;
        }
        self.passing = 1;
        // The key's entry is followed by a null at the same place.
        if let Some(key) = self.tape.entries.last() {
            self.tape.entries.push(Entry { shape: Shape::Plain, size: 1, text: Cow::Borrowed(""), ..*key });
        }
        if let Some(open) = self.open.last_mut() {
            open.key_next = true;
        }
        true
    }

    /// The kind of the outermost object, if it was read already.
    pub(crate) fn kind(&self) -> Option<&str> {
        self.tape.entries.get(self.kind?).map(|value| &*value.text)
    }

    #[inline]
    fn push(&mut self, shape: Shape, text: Cow<'s, str>, span: &Span) -> Result<(), BuildError> {
        if self.tape.entries.len() + self.anchored >= self.limit {
            return Err(BuildError::TooManyValues { limit: self.limit });
        }
        // A document is shorter than 4 GiB: `Limits::document_bytes` is checked before it is parsed.
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let start = narrow(span.start.byte_offset().unwrap_or(0));
        let scalar = matches!(shape, Shape::Plain | Shape::Text);
        self.tape.entries.push(Entry {
            shape,
            size: 1,
            line: narrow(self.first_line + span.start.line() - 1),
            column: narrow(span.start.col() + 1),
            start,
            end: if scalar { narrow(span.end.byte_offset().unwrap_or(0)).max(start) } else { start },
            text,
        });
        Ok(())
    }

    fn start(&mut self, shape: Shape, anchor: usize, span: &Span) -> Result<bool, BuildError> {
        if self.open.last().is_some_and(|open| open.mapping && open.key_next) {
            return Err(BuildError::ComplexKey);
        }
        let mapping = shape == Shape::Mapping;
        self.push(shape, Cow::Borrowed(""), span)?;
        let start = self.tape.entries.len().saturating_sub(1);
        self.open.push(Open { start, mapping, key_next: mapping, merges: false, anchor });
        Ok(false)
    }

    fn end(&mut self, aliased: &mut Aliased) -> Result<bool, BuildError> {
        let Some(open) = self.open.pop() else { return Ok(true) };
        if open.merges {
            self.merge(open.start)?;
        }
        let size = self.tape.entries.len() - open.start;
        if let Some(entry) = self.tape.entries.get_mut(open.start) {
            entry.size = u32::try_from(size).unwrap_or(u32::MAX);
        }
        self.value_done(open.start, open.anchor, aliased)
    }

    /// A value that starts at `start` is whole.
    #[inline]
    fn value_done(&mut self, start: usize, anchor: usize, aliased: &mut Aliased) -> Result<bool, BuildError> {
        if anchor != 0 {
            let value = self.tape.entries.get(start..).unwrap_or(&[]);
            aliased.keep(value)?;
            let copy = value.to_vec();
            self.anchored += copy.len();
            if self.tape.entries.len() + self.anchored > self.limit {
                return Err(BuildError::TooManyValues { limit: self.limit });
            }
            self.anchors.insert(anchor, copy);
        }
        if let ([Open { mapping: true, key_next: false, .. }], None) = (self.open.as_slice(), self.kind)
            && start.checked_sub(1).and_then(|key| self.tape.entries.get(key)).is_some_and(|key| key.text == "kind")
        {
            self.kind = Some(start);
        }
        match self.open.last_mut() {
            Some(open) => {
                open.key_next = open.mapping && !open.key_next;
                Ok(false)
            }
            None => Ok(true),
        }
    }

    /// Replaces the `<<` of the object at the end of the tape by the entries that it does not have itself.
    fn merge(&mut self, start: usize) -> Result<(), BuildError> {
        let own = Tape { entries: self.tape.entries.split_off(start + 1), located: true };
        let fields = fields_of(&own.entries);
        let (merged, kept): (Vec<_>, Vec<_>) = fields
            .into_iter()
            .partition(|(key, _)| key.first().is_some_and(|key| key.shape == Shape::Plain && key.text == "<<"));
        let mut names: HashSet<&str> = HashSet::new();
        for (key, value) in kept {
            names.extend(key.first().map(|key| &*key.text));
            self.tape.entries.extend(key.iter().chain(value).cloned());
        }
        for (_, value) in merged {
            let inner = value.get(1..).unwrap_or(&[]);
            let sources: Vec<&[Entry<'s>]> = match value.first().map(|head| head.shape) {
                Some(Shape::Mapping) => vec![value],
                Some(Shape::Sequence) => values_of(inner),
                _ => return Err(BuildError::BadMerge),
            };
            for source in sources {
                if source.first().is_none_or(|head| head.shape != Shape::Mapping) {
                    return Err(BuildError::BadMerge);
                }
                for (key, value) in fields_of(source.get(1..).unwrap_or(&[])) {
                    let Some(name) = key.first().map(|key| &*key.text) else { continue };
                    if names.insert(name) {
                        self.tape.entries.extend(key.iter().chain(value).cloned());
                    }
                }
            }
        }
        Ok(())
    }
}

/// Cuts the inside of a list into its values.
fn values_of<'e, 's>(mut rest: &'e [Entry<'s>]) -> Vec<&'e [Entry<'s>]> {
    let mut values = Vec::new();
    while let Some(size) = rest.first().map(|head| head.size as usize) {
        let (value, behind) = rest.split_at_checked(size).unwrap_or((rest, &[]));
        values.push(value);
        rest = behind;
    }
    values
}

/// Cuts the inside of an object into its keys and values.
fn fields_of<'e, 's>(inside: &'e [Entry<'s>]) -> Vec<(&'e [Entry<'s>], &'e [Entry<'s>])> {
    let values = values_of(inside);
    values
        .chunks_exact(2)
        .filter_map(|pair| match pair {
            [key, value] => Some((*key, *value)),
            _ => None,
        })
        .collect()
}
