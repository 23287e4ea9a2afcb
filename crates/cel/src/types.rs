//! Types of expressions, and when a value of one may stand where another is wanted.
//!
//! A type is a number in a table, and equal types have equal numbers. An environment has a table that is made once; each
//! check extends it by what its expression needs. Unification follows cel-go step by step, because which overloads of
//! a function fit decides what it costs.

mod unify;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use unify::Unifier;

/// A type, by its number in a [`TypeTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Type(u32);

/// What a type is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TypeKind {
    /// Known on evaluation only.
    Dyn,
    /// Of a part that does not type-check; fits everywhere, so that one mistake is reported once.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    /// The type of types.
    Type(Type),
    List(Type),
    Map(Type, Type),
    Optional(Type),
    /// A type of a library, which only its functions look into.
    Named(Named),
    /// An object of a schema, by its number there.
    Object(u32),
    /// The variables of a policy.
    Variables,
    /// A parameter of a signature.
    Parameter(u8),
    /// A type that is to be found out.
    Variable(u32),
}

/// The types of libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Named {
    Url,
    Quantity,
    Semver,
    Format,
    Ip,
    Cidr,
}

impl Named {
    /// The name of the type in CEL.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Named::Url => "kubernetes.URL",
            Named::Quantity => "kubernetes.Quantity",
            Named::Semver => "kubernetes.Semver",
            Named::Format => "kubernetes.NamedFormat",
            Named::Ip => "net.IP",
            Named::Cidr => "net.CIDR",
        }
    }
}

impl Type {
    pub(crate) const DYN: Type = Type(0);
    pub(crate) const NULL: Type = Type(2);
    pub(crate) const BOOL: Type = Type(3);
    pub(crate) const INT: Type = Type(4);
    pub(crate) const UINT: Type = Type(5);
    pub(crate) const DOUBLE: Type = Type(6);
    pub(crate) const STRING: Type = Type(7);
    pub(crate) const BYTES: Type = Type(8);
    pub(crate) const TIMESTAMP: Type = Type(9);
    pub(crate) const DURATION: Type = Type(10);
    pub(crate) const VARIABLES: Type = Type(11);
}

const FIRST: [TypeKind; 12] = [
    TypeKind::Dyn,
    TypeKind::Error,
    TypeKind::Null,
    TypeKind::Bool,
    TypeKind::Int,
    TypeKind::Uint,
    TypeKind::Double,
    TypeKind::String,
    TypeKind::Bytes,
    TypeKind::Timestamp,
    TypeKind::Duration,
    TypeKind::Variables,
];

/// How deep types may be nested; deeper ones are dynamic, and the check says so.
const DEPTH: u16 = 256;

#[derive(Debug, Clone, Copy)]
struct Entry {
    kind: TypeKind,
    /// Whether a parameter or variable is in it.
    open: bool,
    depth: u16,
}

/// All types that an environment or a check knows.
#[derive(Debug, Clone)]
pub(crate) struct TypeTable {
    base: Option<Arc<TypeTable>>,
    entries: Vec<Entry>,
    numbers: HashMap<TypeKind, Type>,
    too_deep: bool,
}

impl TypeTable {
    /// A table with the types that CEL always has.
    pub(crate) fn new() -> Self {
        let mut table = TypeTable { base: None, entries: Vec::new(), numbers: HashMap::new(), too_deep: false };
        for kind in FIRST {
            table.intern(kind);
        }
        table
    }

    /// A table that goes on where another ends.
    pub(crate) fn extending(base: &Arc<TypeTable>) -> Self {
        TypeTable { base: Some(Arc::clone(base)), entries: Vec::new(), numbers: HashMap::new(), too_deep: false }
    }

    /// Bytes of memory that the table takes without the one it extends, at most.
    pub(crate) fn own_memory(&self) -> usize {
        // A hash table has up to half of its places free, and doubles them.
        let number = size_of::<(TypeKind, Type)>().saturating_add(1).saturating_mul(4);
        let entries = self.entries.capacity().saturating_mul(size_of::<Entry>());
        self.numbers.capacity().saturating_mul(number).saturating_add(entries)
    }

    /// Whether a type was nested too deep to be kept.
    pub(crate) fn is_too_deep(&self) -> bool {
        self.too_deep
    }

    fn offset(&self) -> usize {
        self.base.as_ref().map_or(0, |base| base.offset().saturating_add(base.entries.len()))
    }

    fn entry(&self, of: Type) -> Entry {
        let at = of.0 as usize;
        let offset = self.offset();
        let found = if at < offset {
            self.base.as_ref().map(|base| base.entry(of))
        } else {
            self.entries.get(at.saturating_sub(offset)).copied()
        };
        found.unwrap_or(Entry { kind: TypeKind::Dyn, open: false, depth: 0 })
    }

    /// What a type is.
    pub(crate) fn kind(&self, of: Type) -> TypeKind {
        self.entry(of).kind
    }

    /// Whether a type has parameters or variables in it.
    pub(crate) fn is_open(&self, of: Type) -> bool {
        self.entry(of).open
    }

    /// The number of a type.
    pub(crate) fn intern(&mut self, kind: TypeKind) -> Type {
        if let Some(known) = self.find(&kind) {
            return known;
        }
        let (open, depth) = match kind {
            TypeKind::Parameter(_) | TypeKind::Variable(_) => (true, 0),
            TypeKind::Type(inner) | TypeKind::List(inner) | TypeKind::Optional(inner) => {
                let inner = self.entry(inner);
                (inner.open, inner.depth.saturating_add(1))
            }
            TypeKind::Map(key, value) => {
                let (key, value) = (self.entry(key), self.entry(value));
                (key.open || value.open, key.depth.max(value.depth).saturating_add(1))
            }
            _ => (false, 0),
        };
        if depth > DEPTH {
            self.too_deep = true;
            return Type::DYN;
        }
        let number = Type(u32::try_from(self.offset().saturating_add(self.entries.len())).unwrap_or(0));
        self.entries.push(Entry { kind, open, depth });
        self.numbers.insert(kind, number);
        number
    }

    fn find(&self, kind: &TypeKind) -> Option<Type> {
        // Most types that a check asks for are among the first.
        let inherited = self.base.as_ref().and_then(|base| base.find(kind));
        inherited.or_else(|| self.numbers.get(kind).copied())
    }

    pub(crate) fn list(&mut self, element: Type) -> Type {
        self.intern(TypeKind::List(element))
    }

    pub(crate) fn map(&mut self, key: Type, value: Type) -> Type {
        self.intern(TypeKind::Map(key, value))
    }

    pub(crate) fn optional(&mut self, value: Type) -> Type {
        self.intern(TypeKind::Optional(value))
    }

    /// A closed type in another table of the same environment: objects keep their numbers.
    pub(crate) fn copy(&self, of: Type, into: &mut TypeTable) -> Type {
        match self.kind(of) {
            TypeKind::Type(inner) => {
                let inner = self.copy(inner, into);
                into.intern(TypeKind::Type(inner))
            }
            TypeKind::List(inner) => {
                let inner = self.copy(inner, into);
                into.list(inner)
            }
            TypeKind::Optional(inner) => {
                let inner = self.copy(inner, into);
                into.optional(inner)
            }
            TypeKind::Map(key, value) => {
                let key = self.copy(key, into);
                let value = self.copy(value, into);
                into.map(key, value)
            }
            TypeKind::Parameter(_) | TypeKind::Variable(_) => Type::DYN,
            kind => into.intern(kind),
        }
    }

    /// How a type is written in messages.
    pub(crate) fn show(&self, of: Type) -> String {
        let mut out = String::new();
        self.push_shown(of, &mut out, 0);
        out
    }

    fn push_shown(&self, of: Type, out: &mut String, depth: usize) {
        if depth > 12 {
            out.push('…');
            return;
        }
        let below = depth.saturating_add(1);
        let word = match self.kind(of) {
            TypeKind::Dyn | TypeKind::Parameter(_) | TypeKind::Variable(_) => "dyn",
            TypeKind::Error => "error",
            TypeKind::Null => "null",
            TypeKind::Bool => "bool",
            TypeKind::Int => "int",
            TypeKind::Uint => "uint",
            TypeKind::Double => "double",
            TypeKind::String => "string",
            TypeKind::Bytes => "bytes",
            TypeKind::Timestamp => "timestamp",
            TypeKind::Duration => "duration",
            TypeKind::Named(named) => named.name(),
            TypeKind::Object(_) => "object",
            TypeKind::Variables => "variables",
            TypeKind::Type(inner) => return self.push_with("type", &[inner], out, below),
            TypeKind::List(element) => return self.push_with("list", &[element], out, below),
            TypeKind::Map(key, value) => return self.push_with("map", &[key, value], out, below),
            TypeKind::Optional(value) => return self.push_with("optional", &[value], out, below),
        };
        out.push_str(word);
    }

    fn push_with(&self, word: &str, parameters: &[Type], out: &mut String, depth: usize) {
        out.push_str(word);
        out.push('(');
        for (index, parameter) in parameters.iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            self.push_shown(*parameter, out, depth);
        }
        out.push(')');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_types_have_equal_numbers_across_tables() {
        let mut base = TypeTable::new();
        let strings = base.list(Type::STRING);
        let base = Arc::new(base);
        let mut table = TypeTable::extending(&base);
        assert_eq!(table.list(Type::STRING), strings);
        let map = table.map(Type::STRING, strings);
        assert_eq!(table.map(Type::STRING, strings), map);
        assert_eq!(table.show(map), "map(string, list(string))");
    }

    #[test]
    fn endless_types_become_dynamic() {
        let mut table = TypeTable::new();
        let mut of = Type::INT;
        for _ in 0..1_000 {
            of = table.list(of);
        }
        assert!(table.is_too_deep());
    }
}
