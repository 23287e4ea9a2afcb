//! The types in the tables of functions: `list(T)`, `map(K, V)`, `optional(string)`, `int`.

use crate::types::{Named, Type, TypeKind, TypeTable};

/// The type parameters of one signature, in the order of their letters' first use.
#[derive(Default)]
pub(crate) struct Parameters(Vec<char>);

impl Parameters {
    pub(super) fn count(&self) -> u8 {
        u8::try_from(self.0.len()).unwrap_or(u8::MAX)
    }

    fn number(&mut self, letter: char) -> u8 {
        let found = self.0.iter().position(|known| *known == letter);
        let at = found.unwrap_or_else(|| {
            self.0.push(letter);
            self.0.len().saturating_sub(1)
        });
        u8::try_from(at).unwrap_or(u8::MAX)
    }
}

/// Reads a type. Words that are none are dynamic; a test holds the tables to having no such word.
pub(crate) fn read_type(text: &str, types: &mut TypeTable, parameters: &mut Parameters) -> Type {
    let text = text.trim();
    if let Some((word, inner)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let mut inner = split_top(inner).into_iter();
        let mut next =
            |types: &mut TypeTable| inner.next().map_or(Type::DYN, |text| read_type(text, types, parameters));
        let first = next(types);
        return match word {
            "list" => types.list(first),
            "optional" => types.optional(first),
            "type" => types.intern(TypeKind::Type(first)),
            "map" => {
                let second = next(types);
                types.map(first, second)
            }
            _ => Type::DYN,
        };
    }
    match text {
        "dyn" => Type::DYN,
        "null" => Type::NULL,
        "bool" => Type::BOOL,
        "int" => Type::INT,
        "uint" => Type::UINT,
        "double" => Type::DOUBLE,
        "string" => Type::STRING,
        "bytes" => Type::BYTES,
        "timestamp" => Type::TIMESTAMP,
        "duration" => Type::DURATION,
        word => {
            if let Some(kind) = Named::of(word) {
                return types.intern(kind);
            }
            match word.chars().next() {
                Some(letter) if word.len() == 1 && letter.is_ascii_uppercase() => {
                    let number = parameters.number(letter);
                    types.intern(TypeKind::Parameter(number))
                }
                _ => Type::DYN,
            }
        }
    }
}

/// Splits at the commas that stand in no parentheses.
fn split_top(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, char) in text.char_indices() {
        match char {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text.get(start..at).unwrap_or_default());
                start = at.saturating_add(1);
            }
            _ => {}
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_with_their_parameters() {
        let mut types = TypeTable::new();
        let mut parameters = Parameters::default();
        let read = read_type("map(K, list(optional(V)))", &mut types, &mut parameters);
        assert_eq!(parameters.count(), 2);
        let key = types.intern(TypeKind::Parameter(0));
        let value = types.intern(TypeKind::Parameter(1));
        let value = types.optional(value);
        let list = types.list(value);
        assert_eq!(read, types.map(key, list));
    }
}
