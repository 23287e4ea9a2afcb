//! Keys of maps that an evaluation makes. Numbers are the same key if they are the same number, whatever their type.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::{Text, Value};

/// A key by which entries are found.
#[derive(Debug, Clone)]
pub(crate) enum Key<'a> {
    Bool(bool),
    /// An integer of any type, or a floating-point number without a fraction.
    Number(i128),
    /// A floating-point number with a fraction.
    Double(f64),
    String(Text<'a>),
    Null,
}

impl<'a> Key<'a> {
    /// The key that a value is; nothing if it is none.
    pub(crate) fn of(value: &Value<'a>) -> Option<Key<'a>> {
        Some(match value {
            Value::Bool(value) => Key::Bool(*value),
            Value::Int(value) => Key::Number(i128::from(*value)),
            Value::Uint(value) => Key::Number(i128::from(*value)),
            Value::Double(value) => Key::of_double(*value)?,
            Value::String(text) => Key::String(text.clone()),
            Value::Null => Key::Null,
            _ => return None,
        })
    }

    #[expect(clippy::cast_possible_truncation, reason = "within the range of 64-bit integers, and without a fraction")]
    fn of_double(number: f64) -> Option<Key<'a>> {
        if number.is_nan() {
            return None;
        }
        let whole = number.fract() == 0.0 && number > -9.3e18 && number < 1.9e19;
        Some(if whole { Key::Number(number as i128) } else { Key::Double(number) })
    }

    fn rank(&self) -> u8 {
        match self {
            Key::Null => 0,
            Key::Bool(_) => 1,
            Key::Number(_) => 2,
            Key::Double(_) => 3,
            Key::String(_) => 4,
        }
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key<'_> {}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Key::Bool(one), Key::Bool(two)) => one.cmp(two),
            (Key::Number(one), Key::Number(two)) => one.cmp(two),
            (Key::Double(one), Key::Double(two)) => one.total_cmp(two),
            (Key::String(one), Key::String(two)) => (**one).cmp(&**two),
            (one, two) => one.rank().cmp(&two.rank()),
        }
    }
}

/// A map that an evaluation made, in the order of its keys.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnedMap<'a> {
    entries: BTreeMap<Key<'a>, (Value<'a>, Value<'a>)>,
}

impl<'a> OwnedMap<'a> {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn get(&self, key: &Key<'a>) -> Option<&Value<'a>> {
        self.entries.get(key).map(|(_, value)| value)
    }

    pub(crate) fn get_text(&self, key: &str) -> Option<&Value<'a>> {
        // A key that lives as long as the map is not needed to look one up.
        let entries: &BTreeMap<Key<'_>, (Value<'a>, Value<'a>)> = &self.entries;
        lookup(entries, key)
    }

    /// Adds an entry; false if the key is there already, whose value is replaced.
    pub(crate) fn insert(&mut self, key: Key<'a>, written: Value<'a>, value: Value<'a>) -> bool {
        self.entries.insert(key, (written, value)).is_none()
    }

    pub(crate) fn remove(&mut self, key: &Key<'a>) {
        self.entries.remove(key);
    }

    pub(crate) fn contains(&self, key: &Key<'a>) -> bool {
        self.entries.contains_key(key)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Value<'a>> {
        self.entries.values().map(|(key, _)| key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Value<'a>, &Value<'a>)> {
        self.entries.values().map(|(key, value)| (key, value))
    }
}

fn lookup<'m, 'k, 'a: 'k>(
    entries: &'m BTreeMap<Key<'a>, (Value<'a>, Value<'a>)>,
    key: &'k str,
) -> Option<&'m Value<'a>> {
    // Few maps in expressions have more entries than can be looked at one after another.
    if entries.len() <= 8 {
        let found = entries.iter().find(|(known, _)| matches!(known, Key::String(text) if **text == *key));
        return found.map(|(_, (_, value))| value);
    }
    let shared = Key::String(Text::Shared(key.into()));
    entries.get(&shared).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_are_one_key() {
        let key = |value: &Value<'static>| Key::of(value).unwrap();
        assert_eq!(key(&Value::Int(1)), key(&Value::Uint(1)));
        assert_eq!(key(&Value::Int(1)), key(&Value::Double(1.0)));
        assert_ne!(key(&Value::Int(1)), key(&Value::Double(1.5)));
        assert_ne!(key(&Value::Int(1)), key(&Value::Bool(true)));
        assert!(Key::of(&Value::Double(f64::NAN)).is_none());
    }

    #[test]
    fn texts_are_found_in_small_and_large_maps() {
        let mut map = OwnedMap::default();
        for number in 0..20 {
            let text = Value::text(format!("k{number}"));
            assert!(map.insert(Key::of(&text).unwrap(), text, Value::Int(number)));
            assert!(matches!(map.get_text("k0"), Some(Value::Int(0))));
        }
        assert!(map.get_text("k20").is_none());
    }
}
