//! What the schema refuses, rules apart. The order of the checks, and what is not checked of a null, are the API server's.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::node::{AdditionalProperties, ListType, Node, ValueType, excerpt};
use super::{Violation, field_path};

/// No more violations than these are named: one suffices to refuse, and a person reads a few.
const VIOLATIONS: usize = 1_000;

/// Everything that is wrong with an object. Its own three fields (`apiVersion`, `kind`, `metadata`) are not looked at.
pub(super) fn check(root: &Node, object: &Value, violations: &mut Vec<Violation>) {
    let mut checker = Checker { violations };
    checker.value(root, object, "");
    checker.lists(root, object, "");
}

struct Checker<'v> {
    violations: &'v mut Vec<Violation>,
}

impl Checker<'_> {
    fn refuse(&mut self, path: &str, rule: &'static str, message: String) {
        if self.violations.len() < VIOLATIONS {
            self.violations.push(Violation { path: path.to_owned(), rule, message });
        }
    }

    fn value(&mut self, node: &Node, value: &Value, path: &str) {
        if value.is_null() {
            if node.value_type.is_some() && !node.nullable {
                self.refuse(path, "nullable", "must not be null".to_owned());
            }
            self.words(node, value, path);
            return;
        }
        self.kind(node, value, path);
        self.words(node, value, path);
        match value {
            Value::String(text) => self.text(node, text, path),
            Value::Number(number) => self.number(node, number.as_f64().unwrap_or(f64::NAN), path),
            Value::Array(items) => self.items(node, items, path),
            Value::Object(fields) => self.fields(node, fields, path),
            Value::Bool(_) | Value::Null => {}
        }
        self.branches(node, value, path);
    }

    fn kind(&mut self, node: &Node, value: &Value, path: &str) {
        if node.int_or_string {
            if !(value.is_string() || is_whole(value)) {
                self.refuse(path, "type", "must be an integer or a string".to_owned());
            }
            return;
        }
        let Some(kind) = node.value_type else { return };
        let right = match (kind, value) {
            (ValueType::Object, Value::Object(_))
            | (ValueType::Array, Value::Array(_))
            | (ValueType::String, Value::String(_))
            | (ValueType::Boolean, Value::Bool(_))
            | (ValueType::Number, Value::Number(_)) => true,
            (ValueType::Integer, _) => is_whole(value),
            // The server lets a list through where a text of a format is wanted.
            (ValueType::String, Value::Array(_)) => node.formatted,
            _ => false,
        };
        if !right {
            self.refuse(path, "type", format!("must be of the type {}", kind.as_str()));
        }
    }

    fn words(&mut self, node: &Node, value: &Value, path: &str) {
        let Some(words) = node.enumeration.as_ref().filter(|words| !words.is_empty()) else { return };
        let same = |word: &Value| word == value || (word.is_number() && word.as_f64() == value.as_f64());
        if !words.iter().any(same) {
            let all: Vec<String> = words.iter().take(20).map(|word| excerpt(&word.to_string())).collect();
            self.refuse(path, "enum", format!("must be one of {}", all.join(", ")));
        }
    }

    fn text(&mut self, node: &Node, text: &str, path: &str) {
        let bounded = node.min_length.is_some() || node.max_length.is_some();
        let length = if bounded { text.chars().count() as u64 } else { 0 };
        if let Some(most) = node.max_length.filter(|most| length > *most) {
            self.refuse(path, "maxLength", format!("has {length} characters; at most {most} are allowed"));
        }
        if let Some(least) = node.min_length.filter(|least| length < *least) {
            self.refuse(path, "minLength", format!("has {length} characters; at least {least} are needed"));
        }
        if let Some(pattern) = node.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
            self.refuse(path, "pattern", format!("does not match `{}`", excerpt(pattern.as_str())));
        }
        if let Some(format) = node.format.filter(|format| !format.holds(text)) {
            self.refuse(path, "format", format!("is not of the format {}", format.as_str()));
        }
    }

    fn number(&mut self, node: &Node, number: f64, path: &str) {
        if let Some(most) = node.maximum.filter(|most| number > *most || (node.exclusive_maximum && number >= *most)) {
            self.refuse(path, "maximum", format!("must not be greater than {most}"));
        }
        if let Some(least) =
            node.minimum.filter(|least| number < *least || (node.exclusive_minimum && number <= *least))
        {
            self.refuse(path, "minimum", format!("must not be less than {least}"));
        }
        if node.int32 && !(f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number) {
            self.refuse(path, "format", "does not fit into 32 bits".to_owned());
        }
        if let Some(factor) = node.multiple_of {
            let times = if factor < 1.0 { 1.0 / factor * number } else { number / factor };
            if (times - times.round()).abs() > 1e-9 {
                self.refuse(path, "multipleOf", format!("must be a multiple of {factor}"));
            }
        }
    }

    fn items(&mut self, node: &Node, items: &[Value], path: &str) {
        let count = items.len() as u64;
        if let Some(most) = node.max_items.filter(|most| count > *most) {
            self.refuse(path, "maxItems", format!("has {count} elements; at most {most} are allowed"));
        }
        if let Some(least) = node.min_items.filter(|least| count < *least) {
            self.refuse(path, "minItems", format!("has {count} elements; at least {least} are needed"));
        }
        if let Some(node) = &node.items {
            for (at, item) in items.iter().enumerate() {
                self.value(node, item, &format!("{path}[{at}]"));
            }
        }
    }

    fn fields(&mut self, node: &Node, fields: &Map<String, Value>, path: &str) {
        let count = fields.len() as u64;
        if let Some(most) = node.max_properties.filter(|most| count > *most) {
            self.refuse(path, "maxProperties", format!("has {count} fields; at most {most} are allowed"));
        }
        if let Some(least) = node.min_properties.filter(|least| count < *least) {
            self.refuse(path, "minProperties", format!("has {count} fields; at least {least} are needed"));
        }
        for name in node.required.iter().filter(|name| !fields.contains_key(*name)) {
            self.refuse(&field_path(path, name), "required", "is required".to_owned());
        }
        if node.embedded && !path.is_empty() {
            let missing = |name: &&&str| fields.get(**name).and_then(Value::as_str).is_none_or(str::is_empty);
            for name in ["apiVersion", "kind"].iter().filter(missing) {
                self.refuse(&field_path(path, name), "x-kubernetes-embedded-resource", "is required".to_owned());
            }
        }
        for (name, value) in fields {
            let meta = path.is_empty() && matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
            match (node.properties.get(name), &node.additional) {
                _ if meta => {}
                (Some(property), _) => self.value(property, value, &field_path(path, name)),
                (None, AdditionalProperties::Each(each)) => self.value(each, value, &field_path(path, name)),
                (None, AdditionalProperties::Forbidden) => {
                    self.refuse(&field_path(path, name), "additionalProperties", "is not allowed".to_owned());
                }
                (None, AdditionalProperties::Any | AdditionalProperties::Unspecified) => {}
            }
        }
    }

    fn branches(&mut self, node: &Node, value: &Value, path: &str) {
        for branch in &node.all_of {
            self.value(branch, value, path);
        }
        let holds = |branch: &Node| {
            let mut violations = Vec::new();
            Checker { violations: &mut violations }.value(branch, value, path);
            violations.is_empty()
        };
        if !node.any_of.is_empty() && !node.any_of.iter().any(holds) {
            self.refuse(path, "anyOf", "must match at least one schema of `anyOf`".to_owned());
        }
        if !node.one_of.is_empty() && node.one_of.iter().filter(|branch| holds(branch)).count() != 1 {
            self.refuse(path, "oneOf", "must match exactly one schema of `oneOf`".to_owned());
        }
        if node.not.as_ref().is_some_and(|not| holds(not)) {
            self.refuse(path, "not", "must not match the `not` schema".to_owned());
        }
    }

    /// Elements that occur twice, a second walk as in the API server.
    fn lists(&mut self, node: &Node, value: &Value, path: &str) {
        match value {
            Value::Array(items) => {
                self.unique(node, items, path);
                if let Some(node) = &node.items {
                    for (at, item) in items.iter().enumerate() {
                        self.lists(node, item, &format!("{path}[{at}]"));
                    }
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    if let Some(property) = node.properties.get(name) {
                        self.lists(property, value, &field_path(path, name));
                    }
                    if let AdditionalProperties::Each(each) = &node.additional {
                        self.lists(each, value, &field_path(path, name));
                    }
                }
            }
            _ => {}
        }
    }

    fn unique(&mut self, node: &Node, items: &[Value], path: &str) {
        let key = |item: &Value| match &node.list {
            ListType::Atomic => None,
            ListType::Set => Some(item.to_string()),
            ListType::Map(keys) => {
                let key: Vec<Option<String>> = keys.iter().map(|key| Some(item.get(key)?.to_string())).collect();
                Some(format!("{key:?}"))
            }
        };
        let rule =
            if matches!(node.list, ListType::Map(_)) { "x-kubernetes-list-map-keys" } else { "x-kubernetes-list-type" };
        let mut seen = BTreeSet::new();
        for (at, item) in items.iter().enumerate() {
            let path = || format!("{path}[{at}]");
            if matches!(node.list, ListType::Map(_)) && !(item.is_object() || item.is_null()) {
                self.refuse(&path(), "type", "must be an object".to_owned());
            } else if let Some(key) = key(item)
                && !seen.insert(key)
            {
                self.refuse(&path(), rule, "occurs twice".to_owned());
            }
        }
    }
}

/// Whether a value is a whole number, also one that is written with a fraction of zero and can be told from its neighbours.
fn is_whole(value: &Value) -> bool {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    value.is_i64() || value.as_f64().is_some_and(|number| number.fract() == 0.0 && number.abs() <= EXACT)
}
