//! A schema read once: every keyword that counts, with patterns compiled.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::formats::Format;
use super::{SchemaError, UncheckedConstraint, field_path, pattern};

/// How deep a schema may be nested; that of the API server's own kinds is a fifth of it.
const DEPTH: usize = 64;
/// How many parts a schema may have; the largest CRDs known have a tenth of it.
const NODES: usize = 200_000;

/// The schema of one value, with the schemas of what is below it.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a keyword of the schema")]
pub struct Node {
    /// `type`; none if the schema does not say.
    pub value_type: Option<ValueType>,
    /// `nullable`.
    pub nullable: bool,
    /// `default`, unless that is null.
    pub default: Option<Value>,
    /// `properties` by name.
    pub properties: BTreeMap<String, Node>,
    /// `additionalProperties`.
    pub additional: AdditionalProperties,
    /// `items`.
    pub items: Option<Box<Node>>,
    /// `required`.
    pub required: Vec<String>,
    /// `enum`.
    pub enumeration: Option<Vec<Value>>,
    /// `minimum`.
    pub minimum: Option<f64>,
    /// `maximum`.
    pub maximum: Option<f64>,
    /// `exclusiveMinimum`.
    pub exclusive_minimum: bool,
    /// `exclusiveMaximum`.
    pub exclusive_maximum: bool,
    /// `multipleOf`, if it is positive.
    pub multiple_of: Option<f64>,
    /// `minLength`.
    pub min_length: Option<u64>,
    /// `maxLength`.
    pub max_length: Option<u64>,
    /// `minItems`.
    pub min_items: Option<u64>,
    /// `maxItems`.
    pub max_items: Option<u64>,
    /// `minProperties`.
    pub min_properties: Option<u64>,
    /// `maxProperties`.
    pub max_properties: Option<u64>,
    /// `pattern`, translated from Go's dialect; none if it cannot be.
    pub pattern: Option<Regex>,
    /// `format` of a string, if it is checked here.
    pub format: Option<Format>,
    /// Whether `format` is `int32`, of an integer.
    pub int32: bool,
    /// Whether `format` is one that the API server knows, checked here or not.
    pub formatted: bool,
    /// `format` as it is written.
    pub format_name: Option<String>,
    /// `x-kubernetes-list-type` and its keys.
    pub list: ListType,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve: bool,
    /// `x-kubernetes-embedded-resource`, and the whole object.
    pub embedded: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `allOf`.
    pub all_of: Vec<Node>,
    /// `anyOf`.
    pub any_of: Vec<Node>,
    /// `oneOf`.
    pub one_of: Vec<Node>,
    /// `not`.
    pub not: Option<Box<Node>>,
    /// `x-kubernetes-validations`, in order.
    pub validations: Vec<ValidationRule>,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValueType {
    /// A map with string keys.
    Object,
    /// A list.
    Array,
    /// A string.
    String,
    /// A number without a fraction.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
}

/// What is known of fields that have no name in the schema.
#[derive(Debug, Default)]
pub enum AdditionalProperties {
    /// Nothing: they are unknown, and pruned.
    #[default]
    Unspecified,
    /// They may be there, with any value.
    Any,
    /// They may not be there; only within `allOf`, `anyOf`, `oneOf` and `not`.
    Forbidden,
    /// They may be there, with values of this schema.
    Each(Box<Node>),
}

/// What must not occur twice in a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ListType {
    /// Nothing.
    #[default]
    Atomic,
    /// Elements.
    Set,
    /// Elements with the same values of these keys.
    Map(Vec<String>),
}

/// A validation rule in CEL, as it is written in the schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ValidationRule {
    /// The expression.
    pub rule: String,
    /// What the API server says if it does not hold; empty if the author gave none.
    pub message: String,
    /// An expression for the message.
    pub message_expression: Option<String>,
    /// The machine-readable reason.
    pub reason: Option<String>,
    /// The field that is named, relative to the place of the rule.
    pub field_path: Option<String>,
    /// Whether `oldSelf` is optional, so that the rule is evaluated on creation too.
    pub optional_old_self: bool,
}

impl ValueType {
    /// The word of the schema.
    pub const fn as_str(self) -> &'static str {
        match self {
            ValueType::Object => "object",
            ValueType::Array => "array",
            ValueType::String => "string",
            ValueType::Integer => "integer",
            ValueType::Number => "number",
            ValueType::Boolean => "boolean",
        }
    }

    fn of(word: &str) -> Option<Self> {
        let all = [
            ValueType::Object,
            ValueType::Array,
            ValueType::String,
            ValueType::Integer,
            ValueType::Number,
            ValueType::Boolean,
        ];
        all.into_iter().find(|kind| kind.as_str() == word)
    }
}

impl ValidationRule {
    fn read(rule: &Value) -> Self {
        let text = |key: &str| rule.get(key).and_then(Value::as_str).map(str::to_owned);
        ValidationRule {
            rule: text("rule").unwrap_or_default(),
            message: text("message").unwrap_or_default(),
            message_expression: text("messageExpression"),
            reason: text("reason"),
            field_path: text("fieldPath"),
            optional_old_self: rule.get("optionalOldSelf") == Some(&Value::Bool(true)),
        }
    }
}

/// Reads a whole schema. The root is the object itself, whose own three fields are not the schema's business.
pub(super) fn read(schema: &Value, unchecked: &mut Vec<UncheckedConstraint>) -> Result<Node, SchemaError> {
    let mut reader = Reader { unchecked, nodes: 0 };
    let mut root = reader.node(schema, "", 0)?;
    root.embedded = true;
    Ok(root)
}

struct Reader<'u> {
    unchecked: &'u mut Vec<UncheckedConstraint>,
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
        let value_type = text("type").and_then(ValueType::of);
        let (format, formatted) = self.format(value_type, text("format"), path);
        let mut node = Node {
            value_type,
            nullable: flag("nullable"),
            default: schema.get("default").filter(|value| !value.is_null()).cloned(),
            required: texts("required"),
            enumeration: schema.get("enum").and_then(Value::as_array).cloned(),
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
            format_name: text("format").map(str::to_owned),
            int32: value_type == Some(ValueType::Integer) && text("format") == Some("int32"),
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
            node.properties.insert(name.clone(), self.node(property, &field_path(path, name), below)?);
        }
        node.additional = match schema.get("additionalProperties") {
            None => AdditionalProperties::Unspecified,
            Some(Value::Bool(false)) => AdditionalProperties::Forbidden,
            Some(Value::Object(_)) => {
                let each = schema.get("additionalProperties").unwrap_or(&Value::Null);
                AdditionalProperties::Each(Box::new(self.node(each, &format!("{path}{{}}"), below)?))
            }
            Some(_) => AdditionalProperties::Any,
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
            node.validations.push(ValidationRule::read(rule));
        }
        if node.embedded {
            let what = "the metadata of embedded objects is not checked".to_owned();
            self.unchecked.push(UncheckedConstraint { path: path.to_owned(), what });
        }
        if let Some(reference) = text("$ref") {
            // No CRD has one; whoever hands in another kind of schema is told.
            let what = format!("the reference `{}` is not followed", excerpt(reference));
            self.unchecked.push(UncheckedConstraint { path: path.to_owned(), what });
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
            let what = format!("the pattern `{}` is not supported", excerpt(text));
            self.unchecked.push(UncheckedConstraint { path: path.to_owned(), what });
        }
        read
    }

    fn format(&mut self, value_type: Option<ValueType>, name: Option<&str>, path: &str) -> (Option<Format>, bool) {
        let Some(name) = name.filter(|_| matches!(value_type, None | Some(ValueType::String))) else {
            return (None, false);
        };
        if let Ok(format) = Format::named(name) {
            return (format, format.is_some());
        }
        let what = format!("strings of the format `{}` are not checked", excerpt(name));
        self.unchecked.push(UncheckedConstraint { path: path.to_owned(), what });
        (None, true)
    }
}

/// The start of a text, for quoting it in a message.
pub fn excerpt(text: &str) -> String {
    if text.chars().count() <= 80 { text.to_owned() } else { text.chars().take(80).chain(['…']).collect() }
}
