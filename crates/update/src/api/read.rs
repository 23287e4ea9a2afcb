//! Reads foreign JSON field by field: total, and each oddity is named with its place (V6, U22).
//!
//! A derived reader refuses a whole object for one field of the wrong type; then a client that is newer, or careless, would
//! stop all advice. Here such a field has its default, such an element of a list is left out, and both are remarked on.

use std::fmt;

use clearway_conditions::Conditions;
use clearway_conditions::model::Oddity;
use clearway_core::Timestamp;
use serde_json::{Map, Value};

/// Something that could not be read, and was left out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    /// Where it is, such as `status.history[2].startedTime`.
    pub path: String,
    /// What is wrong with it.
    pub what: &'static str,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.path, self.what)
    }
}

/// A type that is read from the fields of an object.
pub(super) trait Read: Sized {
    /// Reads the fields; nothing if without them the whole means nothing, with the reason.
    fn read(fields: &mut Fields<'_, '_>) -> Result<Self, &'static str>;
}

/// The fields of one object, with its place.
pub(super) struct Fields<'v, 'r> {
    map: &'v Map<String, Value>,
    path: String,
    remarks: &'r mut Vec<Remark>,
}

/// No more remarks than these are kept; an object has no use for more.
const REMARKS: usize = 100;

impl<'v, 'r> Fields<'v, 'r> {
    pub(super) fn new(map: &'v Map<String, Value>, path: &str, remarks: &'r mut Vec<Remark>) -> Self {
        Fields { map, path: path.to_owned(), remarks }
    }

    /// All of them, as they are.
    pub(super) fn map(&self) -> &'v Map<String, Value> {
        self.map
    }

    /// The value of a field, if it is there and not null.
    pub(super) fn value(&self, key: &str) -> Option<&'v Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// A text; empty if it is not there.
    pub(super) fn text(&mut self, key: &str) -> String {
        self.one(key, "is not a string", |value| value.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// A text that counts only if it is not empty: Go clients write empty texts for "not set".
    pub(super) fn set(&mut self, key: &str) -> Option<String> {
        Some(self.text(key)).filter(|text| !text.is_empty())
    }

    /// A truth value; false if it is not there.
    pub(super) fn flag(&mut self, key: &str) -> bool {
        self.one(key, "is not true or false", Value::as_bool).unwrap_or_default()
    }

    /// A whole number; zero if it is not there.
    pub(super) fn number(&mut self, key: &str) -> i64 {
        self.one(key, "is not a whole number", Value::as_i64).unwrap_or_default()
    }

    /// A time, if it is there.
    pub(super) fn time(&mut self, key: &str) -> Option<Timestamp> {
        self.one(key, "is not an RFC 3339 time", |value| value.as_str()?.parse().ok())
    }

    /// An object, if it is there.
    pub(super) fn object<T: Read>(&mut self, key: &str) -> Option<T> {
        let value = self.value(key)?;
        let path = self.place(key);
        self.element(value, path)
    }

    /// A list of objects; those that cannot be read are left out.
    pub(super) fn list<T: Read>(&mut self, key: &str) -> Vec<T> {
        let Some(items) = self.items(key) else { return Vec::new() };
        let path = self.place(key);
        items.iter().enumerate().filter_map(|(at, item)| self.element(item, format!("{path}[{at}]"))).collect()
    }

    /// A list of texts; what is none is left out.
    pub(super) fn texts(&mut self, key: &str) -> Vec<String> {
        let Some(items) = self.items(key) else { return Vec::new() };
        let path = self.place(key);
        let mut texts = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            match item {
                Value::String(text) => texts.push(text.clone()),
                _ => self.remark(format!("{path}[{at}]"), "is not a string"),
            }
        }
        texts
    }

    /// Conditions, which have a lenient reader of their own; what they are not is left to it.
    pub(super) fn conditions(&mut self, key: &str) -> Conditions {
        let Some(value) = self.value(key) else { return Conditions::default() };
        let (conditions, odd) = Conditions::read(value);
        if odd.iter().any(|remark| remark.oddity == Oddity::NotAList) {
            let path = self.place(key);
            self.remark(path, "is not a list");
        }
        conditions
    }

    fn items(&mut self, key: &str) -> Option<&'v Vec<Value>> {
        self.one(key, "is not a list", Value::as_array)
    }

    fn one<T>(&mut self, key: &str, what: &'static str, read: impl FnOnce(&'v Value) -> Option<T>) -> Option<T> {
        let value = self.value(key)?;
        let read = read(value);
        if read.is_none() {
            let path = self.place(key);
            self.remark(path, what);
        }
        read
    }

    fn element<T: Read>(&mut self, value: &'v Value, path: String) -> Option<T> {
        let Value::Object(map) = value else {
            self.remark(path, "is not an object");
            return None;
        };
        let mut fields = Fields::new(map, &path, self.remarks);
        match T::read(&mut fields) {
            Ok(read) => Some(read),
            Err(what) => {
                self.remark(path, what);
                None
            }
        }
    }

    fn place(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn remark(&mut self, path: String, what: &'static str) {
        if self.remarks.len() < REMARKS {
            self.remarks.push(Remark { path, what });
        }
    }
}
