//! Structural schemas as CEL sees them: which fields have which types, how large values may be, and how data is read.
//!
//! This follows `SchemaDeclType` and `UnstructuredToVal` of the API server. A declaration is a tree of its own, so that
//! programs do not depend on how long a schema lives.

mod escape;

use clearway_schema::{AdditionalProperties, ListType, Node, ValueType};

use crate::types::{Type, TypeKind, TypeTable};

pub(crate) use escape::{escape, unescape};

/// The largest request that the API server accepts, in bytes.
pub(crate) const MAX_REQUEST: u64 = 3 * 1024 * 1024;

/// How deep declarations may be nested. Schemas are read with the same limit.
const DEPTH: usize = 70;

/// The declaration of one value.
#[derive(Debug)]
pub(crate) struct Decl {
    /// Numbers follow the order of the tree, each before what is below it.
    pub(crate) id: u32,
    /// The first number behind what is below.
    pub(crate) end: u32,
    /// The number of the declaration whose type this one has; its own, unless both have one name.
    pub(crate) type_id: u32,
    pub(crate) kind: DeclKind,
    pub(crate) nullable: bool,
    /// Whether expressions may use the value; otherwise it is only compared within its parent.
    pub(crate) exposed: bool,
    /// The largest size that a value of it may have, as the cost of rules is estimated.
    pub(crate) max_size: u64,
    /// The fewest bytes that a value of it takes in JSON.
    pub(crate) min_bytes: u64,
}

/// What a value is.
#[derive(Debug)]
pub(crate) enum DeclKind {
    IntOrString,
    /// An object with named fields, in the order of their names.
    Object(Vec<Property>),
    /// A map with string keys.
    Map(Box<Decl>),
    List(Box<Decl>, ListKind),
    String(StringFormat),
    Number,
    Integer,
    Boolean,
    /// Data that the schema does not describe.
    Preserved,
    /// A schema that no data fits.
    Invalid,
}

/// What makes elements of a list the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListKind {
    Atomic,
    Set,
    /// Elements with the same values of these keys, which are escaped as field names are.
    Map(Vec<String>),
}

/// How a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StringFormat {
    Plain,
    Bytes,
    Duration,
    Date,
    DateTime,
}

/// A field of an object.
#[derive(Debug)]
pub(crate) struct Property {
    pub(crate) name: Box<str>,
    /// The name in expressions; none if it cannot be written.
    pub(crate) escaped: Option<Box<str>>,
    pub(crate) decl: Decl,
}

impl Decl {
    /// Reads a schema. The root of a resource has the fields that every resource has.
    pub(crate) fn of_schema(schema: &Node, root: bool) -> Decl {
        let mut builder = Builder { next: 0, root };
        builder.build(Some(schema), 0)
    }

    /// The type of values in expressions.
    pub(crate) fn type_of(&self, types: &mut TypeTable) -> Type {
        if !self.exposed {
            return Type::DYN;
        }
        match &self.kind {
            DeclKind::IntOrString | DeclKind::Preserved | DeclKind::Invalid => Type::DYN,
            DeclKind::Object(_) => types.intern(TypeKind::Object(self.type_id)),
            DeclKind::Map(element) => {
                let element = element.type_of(types);
                types.map(Type::STRING, element)
            }
            DeclKind::List(element, _) => {
                let element = element.type_of(types);
                types.list(element)
            }
            DeclKind::String(StringFormat::Plain) => Type::STRING,
            DeclKind::String(StringFormat::Bytes) => Type::BYTES,
            DeclKind::String(StringFormat::Duration) => Type::DURATION,
            DeclKind::String(StringFormat::Date | StringFormat::DateTime) => Type::TIMESTAMP,
            DeclKind::Number => Type::DOUBLE,
            DeclKind::Integer => Type::INT,
            DeclKind::Boolean => Type::BOOL,
        }
    }

    /// The declaration with a number, here or below.
    pub(crate) fn find(&self, id: u32) -> Option<&Decl> {
        let mut at = self;
        loop {
            if at.id == id {
                return Some(at);
            }
            let contains = |decl: &&Decl| decl.id <= id && id < decl.end;
            at = match &at.kind {
                DeclKind::Object(properties) => {
                    let index = properties.partition_point(|property| property.decl.end <= id);
                    properties.get(index).map(|property| &property.decl).filter(contains)?
                }
                DeclKind::Map(element) | DeclKind::List(element, _) => Some(&**element).filter(contains)?,
                _ => return None,
            };
        }
    }

    /// A field by its name in the data.
    pub(crate) fn property(&self, name: &str) -> Option<&Decl> {
        let DeclKind::Object(properties) = &self.kind else { return None };
        let at = properties.binary_search_by(|property| (*property.name).cmp(name)).ok()?;
        properties.get(at).map(|property| &property.decl)
    }

    pub(crate) fn property_mut(&mut self, name: &str) -> Option<&mut Decl> {
        let DeclKind::Object(properties) = &mut self.kind else { return None };
        let at = properties.binary_search_by(|property| (*property.name).cmp(name)).ok()?;
        properties.get_mut(at).map(|property| &mut property.decl)
    }

    /// Gives one field the type of another.
    pub(crate) fn share_type(&mut self, from: &str, to: &str) {
        let shared = self.property(from).map(|decl| decl.type_id);
        if let (Some(shared), Some(to)) = (shared, self.property_mut(to)) {
            to.type_id = shared;
        }
    }

    /// A field that expressions may use, by its name there; reserved words may be written as they are.
    pub(crate) fn field(&self, name: &str, keywords: bool) -> Option<&Decl> {
        let DeclKind::Object(properties) = &self.kind else { return None };
        let raw = unescape(name)?;
        let at = properties.binary_search_by(|property| (*property.name).cmp(&raw)).ok()?;
        let wanted = properties.get(at)?;
        let plain = wanted.escaped.as_deref() == Some(name);
        let keyword = keywords && escape::is_escaped_word(name) && *raw == *name;
        (wanted.decl.exposed && (plain || keyword)).then_some(&wanted.decl)
    }

    /// What a list or map has as elements.
    pub(crate) fn element(&self) -> Option<&Decl> {
        match &self.kind {
            DeclKind::Map(element) | DeclKind::List(element, _) => Some(element),
            _ => None,
        }
    }
}

struct Builder {
    next: u32,
    /// Whether the schema is that of a whole resource.
    root: bool,
}

impl Builder {
    /// The declaration of a schema; none is that of a plain string, which the fields of every resource are.
    fn build(&mut self, schema: Option<&Node>, depth: usize) -> Decl {
        let id = self.next;
        self.next = self.next.saturating_add(1);
        let plain = Node { value_type: Some(ValueType::String), ..Node::default() };
        let schema = schema.unwrap_or(&plain);
        let (kind, exposed, max_size, min_bytes) =
            if depth > DEPTH { (DeclKind::Invalid, false, 0, 1) } else { self.kind(schema, depth) };
        Decl { id, end: self.next, type_id: id, kind, nullable: schema.nullable, exposed, max_size, min_bytes }
    }

    fn kind(&mut self, schema: &Node, depth: usize) -> (DeclKind, bool, u64, u64) {
        if schema.int_or_string {
            let size = schema.max_length.map_or(MAX_REQUEST.saturating_sub(2), |length| length.saturating_mul(4));
            return (DeclKind::IntOrString, true, size, 1);
        }
        match schema.value_type {
            Some(ValueType::Object) => self.object(schema, depth),
            Some(ValueType::Array) => {
                let Some(items) = &schema.items else { return (DeclKind::Invalid, false, 0, 1) };
                let items = self.build(Some(items), depth.saturating_add(1));
                let kind = match &schema.list {
                    ListType::Atomic => ListKind::Atomic,
                    ListType::Set => ListKind::Set,
                    ListType::Map(keys) => {
                        let escaped = |key: &String| escape(key).unwrap_or_else(|| key.clone());
                        ListKind::Map(keys.iter().map(escaped).collect())
                    }
                };
                let fitting = MAX_REQUEST.saturating_sub(2) / items.min_bytes.saturating_add(1);
                let size = schema.max_items.unwrap_or(fitting);
                let exposed = items.exposed;
                (DeclKind::List(Box::new(items), kind), exposed, size, 2)
            }
            Some(ValueType::String) => string(schema),
            Some(ValueType::Number) => (DeclKind::Number, true, 0, 1),
            Some(ValueType::Integer) => (DeclKind::Integer, true, 0, 1),
            Some(ValueType::Boolean) => (DeclKind::Boolean, true, 0, 4),
            None if schema.preserve => (DeclKind::Preserved, false, 0, 1),
            None => (DeclKind::Invalid, false, 0, 1),
        }
    }

    fn object(&mut self, schema: &Node, depth: usize) -> (DeclKind, bool, u64, u64) {
        let below = depth.saturating_add(1);
        if let AdditionalProperties::Each(each) = &schema.additional
            && !schema.embedded
            && !(self.root && depth == 0)
        {
            let element = self.build(Some(each), below);
            let fitting = MAX_REQUEST.saturating_sub(2) / element.min_bytes.saturating_add(6);
            let size = schema.max_properties.unwrap_or(fitting);
            let exposed = element.exposed;
            return (DeclKind::Map(Box::new(element)), exposed, size, 2);
        }
        let mut properties = Vec::new();
        let mut min_bytes = 2_u64;
        let meta = (schema.embedded || (self.root && depth == 0)) && !has_type_and_meta(schema);
        let added: &[&str] = if meta { &["apiVersion", "kind", "metadata"] } else { &[] };
        let own = schema.properties.keys().map(String::as_str).filter(|name| !added.contains(name));
        let mut names: Vec<&str> = own.chain(added.iter().copied()).collect();
        names.sort_unstable();
        for name in names {
            let own = schema.properties.get(name).filter(|_| !added.contains(&name));
            let decl = match own {
                Some(property) => self.build(Some(property), below),
                None if name == "metadata" => self.metadata(below),
                None => self.build(None, below),
            };
            let defaulted = own.is_some_and(|property| property.default.is_some());
            if decl.exposed && !defaulted && schema.required.iter().any(|required| required == name) {
                let bytes = u64::try_from(name.len()).unwrap_or(u64::MAX).saturating_add(4);
                min_bytes = min_bytes.saturating_add(bytes).saturating_add(decl.min_bytes);
            }
            let escaped = escape(name).map(String::into_boxed_str);
            properties.push(Property { name: name.into(), escaped, decl });
        }
        (DeclKind::Object(properties), true, 0, min_bytes)
    }

    /// The two fields of metadata that every resource has.
    fn metadata(&mut self, depth: usize) -> Decl {
        let id = self.next;
        self.next = self.next.saturating_add(1);
        let mut properties = Vec::new();
        for name in ["generateName", "name"] {
            let decl = self.build(None, depth.saturating_add(1));
            properties.push(Property { name: name.into(), escaped: Some(name.into()), decl });
        }
        Decl {
            id,
            end: self.next,
            type_id: id,
            kind: DeclKind::Object(properties),
            nullable: false,
            exposed: true,
            max_size: 0,
            min_bytes: 2,
        }
    }
}

/// Whether a schema describes what every resource has, so that it is taken as it is.
fn has_type_and_meta(schema: &Node) -> bool {
    let is = |node: Option<&Node>, value_type| node.is_some_and(|node| node.value_type == Some(value_type));
    let metadata = schema.properties.get("metadata");
    let name = |name| metadata.and_then(|metadata| metadata.properties.get(name));
    is(schema.properties.get("kind"), ValueType::String)
        && is(schema.properties.get("apiVersion"), ValueType::String)
        && is(metadata, ValueType::Object)
        && is(name("name"), ValueType::String)
        && is(name("generateName"), ValueType::String)
}

fn string(schema: &Node) -> (DeclKind, bool, u64, u64) {
    let whole = MAX_REQUEST.saturating_sub(2);
    let (format, size, bytes) = match schema.format_name.as_deref() {
        Some("byte") => (StringFormat::Bytes, schema.max_length.unwrap_or(whole), 2),
        Some("duration") => (StringFormat::Duration, 32, 3),
        Some("date") => (StringFormat::Date, 12, 12),
        Some("date-time") => (StringFormat::DateTime, 32, 21),
        _ => {
            let longest = |values: &Vec<serde_json::Value>| {
                let lengths = values.iter().filter_map(|value| value.as_str()).map(str::len);
                lengths.max().map_or(0, |length| u64::try_from(length).unwrap_or(u64::MAX))
            };
            let enumerated = schema.enumeration.as_ref().filter(|values| !values.is_empty()).map(longest);
            let size = schema.max_length.map(|length| length.saturating_mul(4)).or(enumerated).unwrap_or(whole);
            (StringFormat::Plain, size, 2)
        }
    };
    (DeclKind::String(format), true, size, bytes)
}

#[cfg(test)]
mod tests;
