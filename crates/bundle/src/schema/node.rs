//! A schema read once: every keyword that counts, patterns and rules compiled.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::formats::Format;
use super::rules::Rule;
use super::{SchemaError, Unchecked, field, pattern};

/// How deep a schema may be nested; that of the API server's own kinds is a fifth of it.
const DEPTH: usize = 64;
/// How many parts a schema may have; the largest CRDs known have a tenth of it.
const NODES: usize = 200_000;

/// One part of a schema.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a keyword of the schema")]
pub(super) struct Node {
    pub(super) kind: Option<Kind>,
    pub(super) nullable: bool,
    pub(super) default: Option<Value>,
    pub(super) properties: BTreeMap<String, Node>,
    pub(super) additional: Additional,
    pub(super) items: Option<Box<Node>>,
    pub(super) required: Vec<String>,
    pub(super) words: Option<Vec<Value>>,
    pub(super) minimum: Option<f64>,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_minimum: bool,
    pub(super) exclusive_maximum: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) min_length: Option<u64>,
    pub(super) max_length: Option<u64>,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
    pub(super) min_properties: Option<u64>,
    pub(super) max_properties: Option<u64>,
    pub(super) pattern: Option<Regex>,
    pub(super) format: Option<Format>,
    /// Whether it is a whole number of 32 bits.
    pub(super) int32: bool,
    /// Whether a format is named that the API server knows, checked here or not.
    pub(super) formatted: bool,
    pub(super) list: ListType,
    pub(super) preserve: bool,
    pub(super) embedded: bool,
    pub(super) int_or_string: bool,
    pub(super) all_of: Vec<Node>,
    pub(super) any_of: Vec<Node>,
    pub(super) one_of: Vec<Node>,
    pub(super) not: Option<Box<Node>>,
    pub(super) rules: Vec<Rule>,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

/// What is known of fields that have no name in the schema.
#[derive(Debug, Default)]
pub(super) enum Additional {
    /// Nothing: they are unknown.
    #[default]
    Unknown,
    /// They may be there, and nothing is said of them.
    Any,
    /// They may not be there; only within `allOf` and its like.
    Refused,
    /// They are all of this form.
    Each(Box<Node>),
}

/// What must not occur twice in a list.
#[derive(Debug, Default)]
pub(super) enum ListType {
    #[default]
    Atomic,
    Set,
    Map(Vec<String>),
}

impl Kind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Kind::Object => "object",
            Kind::Array => "array",
            Kind::String => "string",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
        }
    }

    fn of(word: &str) -> Option<Self> {
        let all = [Kind::Object, Kind::Array, Kind::String, Kind::Integer, Kind::Number, Kind::Boolean];
        all.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Reads a whole schema. The root is the object itself, whose own three fields are not the schema's business.
pub(super) fn read(schema: &Value, unchecked: &mut Vec<Unchecked>) -> Result<Node, SchemaError> {
    let mut reader = Reader { unchecked, nodes: 0 };
    let mut root = reader.node(schema, "", 0)?;
    root.embedded = true;
    Ok(root)
}

struct Reader<'u> {
    unchecked: &'u mut Vec<Unchecked>,
    nodes: usize,
}

impl Reader<'_> {
    fn node(&mut self, schema: &Value, path: &str, depth: usize) -> Result<Node, SchemaError> {
        self.nodes = self.nodes.saturating_add(1);
        if depth > DEPTH {
            return Err(SchemaError::TooLarge("it is nested more than 64 levels deep"));
        }
        if self.nodes > NODES {
            return Err(SchemaError::TooLarge("it has more than 200000 parts"));
        }
        let text = |key: &str| schema.get(key).and_then(Value::as_str);
        let flag = |key: &str| schema.get(key) == Some(&Value::Bool(true));
        let number = |key: &str| schema.get(key).and_then(Value::as_f64);
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        let texts = |key: &str| -> Vec<String> {
            let items = schema.get(key).and_then(Value::as_array).into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let kind = text("type").and_then(Kind::of);
        let (format, formatted) = self.format(kind, text("format"), path);
        let mut node = Node {
            kind,
            nullable: flag("nullable"),
            default: schema.get("default").filter(|value| !value.is_null()).cloned(),
            required: texts("required"),
            words: schema.get("enum").and_then(Value::as_array).cloned(),
            minimum: number("minimum"),
            maximum: number("maximum"),
            exclusive_minimum: flag("exclusiveMinimum"),
            exclusive_maximum: flag("exclusiveMaximum"),
            multiple_of: number("multipleOf").filter(|factor| *factor > 0.0),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            min_items: count("minItems"),
            max_items: count("maxItems"),
            min_properties: count("minProperties"),
            max_properties: count("maxProperties"),
            pattern: self.pattern(text("pattern"), path),
            format,
            formatted,
            int32: kind == Some(Kind::Integer) && text("format") == Some("int32"),
            list: match text("x-kubernetes-list-type") {
                Some("set") => ListType::Set,
                Some("map") => ListType::Map(texts("x-kubernetes-list-map-keys")),
                _ => ListType::Atomic,
            },
            preserve: flag("x-kubernetes-preserve-unknown-fields"),
            embedded: flag("x-kubernetes-embedded-resource"),
            int_or_string: flag("x-kubernetes-int-or-string"),
            ..Node::default()
        };
        let below = depth.saturating_add(1);
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            node.properties.insert(name.clone(), self.node(property, &field(path, name), below)?);
        }
        node.additional = match schema.get("additionalProperties") {
            None => Additional::Unknown,
            Some(Value::Bool(false)) => Additional::Refused,
            Some(Value::Object(_)) => {
                let each = schema.get("additionalProperties").unwrap_or(&Value::Null);
                Additional::Each(Box::new(self.node(each, &format!("{path}{{}}"), below)?))
            }
            Some(_) => Additional::Any,
        };
        if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
            node.items = Some(Box::new(self.node(items, &format!("{path}[]"), below)?));
        }
        node.all_of = self.branches(schema, "allOf", path, below)?;
        node.any_of = self.branches(schema, "anyOf", path, below)?;
        node.one_of = self.branches(schema, "oneOf", path, below)?;
        if let Some(not) = schema.get("not").filter(|not| not.is_object()) {
            node.not = Some(Box::new(self.node(not, path, below)?));
        }
        for rule in schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten() {
            match Rule::read(rule, &node) {
                Ok(Some(rule)) => node.rules.push(rule),
                Ok(None) => {}
                Err(what) => self.unchecked.push(Unchecked { path: path.to_owned(), what }),
            }
        }
        if node.embedded {
            let what = "the metadata of embedded objects is not looked at".to_owned();
            self.unchecked.push(Unchecked { path: path.to_owned(), what });
        }
        if let Some(reference) = text("$ref") {
            // No CRD has one; whoever hands in another kind of schema is told.
            let what = format!("the reference `{}` is not followed", excerpt(reference));
            self.unchecked.push(Unchecked { path: path.to_owned(), what });
        }
        Ok(node)
    }

    fn branches(&mut self, schema: &Value, key: &str, path: &str, depth: usize) -> Result<Vec<Node>, SchemaError> {
        let branches = schema.get(key).and_then(Value::as_array);
        branches.into_iter().flatten().map(|branch| self.node(branch, path, depth)).collect()
    }

    fn pattern(&mut self, text: Option<&str>, path: &str) -> Option<Regex> {
        let text = text.filter(|text| !text.is_empty())?;
        let read = pattern::read(text);
        if read.is_none() {
            let what = format!("the pattern `{}` is not one that is understood here", excerpt(text));
            self.unchecked.push(Unchecked { path: path.to_owned(), what });
        }
        read
    }

    fn format(&mut self, kind: Option<Kind>, name: Option<&str>, path: &str) -> (Option<Format>, bool) {
        let Some(name) = name.filter(|_| matches!(kind, None | Some(Kind::String))) else { return (None, false) };
        if let Ok(format) = Format::named(name) {
            return (format, format.is_some());
        }
        let what = format!("texts of the format `{}` are not looked at", excerpt(name));
        self.unchecked.push(Unchecked { path: path.to_owned(), what });
        (None, true)
    }
}

/// A text of a stranger, as it is quoted.
pub(super) fn excerpt(text: &str) -> String {
    if text.chars().count() <= 80 { text.to_owned() } else { text.chars().take(80).chain(['…']).collect() }
}
