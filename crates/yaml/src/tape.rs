//! One document as a vector of its values in reading order.
//!
//! A value knows how many of the following entries belong to it, so walking a tree is walking a slice, a subtree is
//! copied by copying a range, and the vector is used again for the next document. Start at [`Tape::root`].

use std::borrow::Cow;

use crate::scalar::{self, Plain};

/// Where a value stands in its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// The byte at which it starts.
    pub start: usize,
    /// The byte behind it; for mappings and sequences, where they start.
    pub end: usize,
    /// The line, counted from 1.
    pub line: usize,
    /// The character within the line, counted from 1.
    pub column: usize,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'t> {
    /// Nothing, `~` or `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number that fits 64 bits.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// Text.
    Text(&'t str),
    /// A list.
    Sequence,
    /// An object.
    Mapping,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Unquoted: means what [`scalar`] says.
    Plain,
    /// Quoted, block, or tagged as text.
    Text,
    Sequence,
    Mapping,
}

/// One entry of a tape. The keys of a mapping are entries too: key, value, key, value.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'s> {
    pub(crate) shape: Shape,
    /// How many entries this value takes, itself included.
    pub(crate) size: u32,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) text: Cow<'s, str>,
}

/// The values of one document.
#[derive(Debug, Clone, Default)]
pub struct Tape<'s> {
    pub(crate) entries: Vec<Entry<'s>>,
    /// False for a document that came without text, such as an API server's answer.
    pub(crate) located: bool,
}

/// One value in a [`Tape`].
#[derive(Debug, Clone, Copy)]
pub struct Node<'t> {
    entries: &'t [Entry<'t>],
    located: bool,
}

impl Tape<'_> {
    /// The document's value; nothing for an empty one.
    pub fn root(&self) -> Option<Node<'_>> {
        Node::first(&self.entries, self.located)
    }

    /// The document a JSON value is; it has no places.
    pub fn from_json(value: &serde_json::Value) -> Tape<'_> {
        let mut entries = Vec::new();
        push_json(value, &mut entries);
        Tape { entries, located: false }
    }
}

fn push_json<'s>(value: &'s serde_json::Value, entries: &mut Vec<Entry<'s>>) {
    use serde_json::Value as Json;
    let at = entries.len();
    let entry = |shape, text| Entry { shape, size: 1, line: 0, column: 0, start: 0, end: 0, text };
    match value {
        Json::Null => entries.push(entry(Shape::Plain, Cow::Borrowed(""))),
        Json::Bool(truth) => entries.push(entry(Shape::Plain, Cow::Borrowed(if *truth { "true" } else { "false" }))),
        Json::Number(number) => entries.push(entry(Shape::Plain, Cow::Owned(number.to_string()))),
        Json::String(text) => entries.push(entry(Shape::Text, Cow::Borrowed(text))),
        Json::Array(items) => {
            entries.push(entry(Shape::Sequence, Cow::Borrowed("")));
            for item in items {
                push_json(item, entries);
            }
        }
        Json::Object(fields) => {
            entries.push(entry(Shape::Mapping, Cow::Borrowed("")));
            for (key, value) in fields {
                entries.push(entry(Shape::Text, Cow::Borrowed(key)));
                push_json(value, entries);
            }
        }
    }
    let size = u32::try_from(entries.len() - at).unwrap_or(u32::MAX);
    if let Some(first) = entries.get_mut(at) {
        first.size = size;
    }
}

impl<'t> Node<'t> {
    fn first(entries: &'t [Entry<'t>], located: bool) -> Option<Self> {
        let size = entries.first()?.size as usize;
        Some(Node { entries: entries.get(..size)?, located })
    }

    fn head(self) -> Option<&'t Entry<'t>> {
        self.entries.first()
    }

    /// The entries behind this value's own.
    fn inner(self) -> &'t [Entry<'t>] {
        self.entries.get(1..).unwrap_or(&[])
    }

    /// What the value is.
    pub fn value(self) -> Value<'t> {
        let Some(head) = self.head() else { return Value::Null };
        match head.shape {
            Shape::Text => Value::Text(&head.text),
            Shape::Sequence => Value::Sequence,
            Shape::Mapping => Value::Mapping,
            Shape::Plain => match scalar::resolve(&head.text) {
                Plain::Null => Value::Null,
                Plain::Bool(truth) => Value::Bool(truth),
                Plain::Int(number) => Value::Int(number),
                Plain::Float(number) => Value::Float(number),
                Plain::Text => Value::Text(&head.text),
            },
        }
    }

    /// The value as one word for messages: `a list`, `a number`, ….
    pub fn describe(self) -> &'static str {
        match self.value() {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Int(_) | Value::Float(_) => "a number",
            Value::Text(_) => "a string",
            Value::Sequence => "a list",
            Value::Mapping => "an object",
        }
    }

    /// The characters of a scalar, whatever they mean; empty for lists and objects.
    pub fn raw(self) -> &'t str {
        self.head().map_or("", |head| &head.text)
    }

    /// The text, if the value is one.
    pub fn as_text(self) -> Option<&'t str> {
        match self.value() {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The whole number, if the value is one.
    pub fn as_int(self) -> Option<i64> {
        match self.value() {
            Value::Int(number) => Some(number),
            _ => None,
        }
    }

    /// The boolean, if the value is one.
    pub fn as_bool(self) -> Option<bool> {
        match self.value() {
            Value::Bool(truth) => Some(truth),
            _ => None,
        }
    }

    /// Whether this is a list.
    pub fn is_sequence(self) -> bool {
        self.head().is_some_and(|head| head.shape == Shape::Sequence)
    }

    /// Whether this is an object.
    pub fn is_mapping(self) -> bool {
        self.head().is_some_and(|head| head.shape == Shape::Mapping)
    }

    /// Whether this is nothing.
    pub fn is_null(self) -> bool {
        self.value() == Value::Null
    }

    /// The elements of a list; none for anything else.
    pub fn items(self) -> impl Iterator<Item = Node<'t>> {
        let mut rest = if self.is_sequence() { self.inner() } else { &[] };
        std::iter::from_fn(move || take(&mut rest, self.located))
    }

    /// The keys and values of an object in reading order; none for anything else.
    pub fn fields(self) -> impl Iterator<Item = (Node<'t>, Node<'t>)> {
        let mut rest = if self.is_mapping() { self.inner() } else { &[] };
        std::iter::from_fn(move || Some((take(&mut rest, self.located)?, take(&mut rest, self.located)?)))
    }

    /// The value under a key of an object; the last one, if the key is repeated.
    pub fn get(self, key: &str) -> Option<Node<'t>> {
        self.field(key).map(|(_, value)| value)
    }

    /// The key itself with its value.
    pub fn field(self, key: &str) -> Option<(Node<'t>, Node<'t>)> {
        self.fields().filter(|(name, _)| name.raw() == key).last()
    }

    /// The value under a chain of keys.
    pub fn at(self, path: &[&str]) -> Option<Node<'t>> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Where the value stands, if the document came from text.
    pub fn span(self) -> Option<Span> {
        let head = self.head().filter(|_| self.located)?;
        Some(Span {
            start: head.start as usize,
            end: head.end as usize,
            line: head.line as usize,
            column: head.column as usize,
        })
    }

    /// The value as JSON: what an API server would be sent.
    pub fn to_json(self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self.value() {
            Value::Null => Json::Null,
            Value::Bool(truth) => Json::Bool(truth),
            Value::Int(number) => Json::from(number),
            Value::Float(number) => match scalar::unsigned(self.raw()) {
                Some(number) => Json::from(number),
                None => serde_json::Number::from_f64(number).map_or(Json::Null, Json::Number),
            },
            Value::Text(text) => Json::from(text),
            Value::Sequence => Json::Array(self.items().map(Node::to_json).collect()),
            Value::Mapping => {
                Json::Object(self.fields().map(|(key, value)| (key.raw().to_owned(), value.to_json())).collect())
            }
        }
    }
}

fn take<'t>(rest: &mut &'t [Entry<'t>], located: bool) -> Option<Node<'t>> {
    let node = Node::first(rest, located)?;
    *rest = rest.get(node.entries.len()..)?;
    Some(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_json_value_is_walked_by_key_and_item() {
        let value = json!({"a": [1, {"b": "x"}], "c": null, "d": true});
        let tape = Tape::from_json(&value);
        let root = tape.root().unwrap();
        assert_eq!(root.at(&["a"]).unwrap().items().count(), 2);
        assert_eq!(root.get("a").unwrap().items().nth(1).unwrap().get("b").unwrap().as_text(), Some("x"));
        assert!(root.get("c").unwrap().is_null() && root.get("d").unwrap().as_bool() == Some(true));
        assert_eq!((root.get("e").is_none(), root.span()), (true, None));
        assert_eq!(root.to_json(), value);
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(|truth| json!(truth)),
            any::<i64>().prop_map(|number| json!(number)),
            any::<u64>().prop_map(|number| json!(number)),
            ".{0,12}".prop_map(|text| json!(text)),
        ];
        leaf.prop_recursive(4, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::Array),
                prop::collection::btree_map("[a-z]{1,4}", inner, 0..6)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn json_survives_the_tape(value in any_json()) {
            prop_assert_eq!(Tape::from_json(&value).root().unwrap().to_json(), value);
        }
    }
}
