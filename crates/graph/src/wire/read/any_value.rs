//! JSON values of which it is not known what they are: whoever reads one says what it makes of each kind.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What is made of a value. Kinds that are not overridden come to [`AnyValue::other`], and are skipped without being
/// kept.
pub(super) trait AnyValue<'de>: Sized {
    /// What comes of it.
    type Value;

    /// Anything that it is not meant to be.
    fn other(self) -> Self::Value;

    fn null(self) -> Self::Value {
        self.other()
    }

    fn index(self, _: u64) -> Self::Value {
        self.other()
    }

    fn text(self, _: Cow<'de, str>) -> Self::Value {
        self.other()
    }

    fn list<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(self.other())
    }

    fn object<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(self.other())
    }
}

/// Reads a value.
pub(super) struct Any<V>(pub(super) V);

impl<'de, V: AnyValue<'de>> DeserializeSeed<'de> for Any<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, V: AnyValue<'de>> Visitor<'de> for Any<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(self.0.other())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(self.0.other())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(self.0.index(number))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(self.0.other())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(self.0.null())
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(self.0.text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.0.text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        self.0.list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        self.0.object(map)
    }
}

/// A text; nothing if the value is none.
pub(super) struct Text;

impl<'de> AnyValue<'de> for Text {
    type Value = Option<Cow<'de, str>>;

    fn other(self) -> Self::Value {
        None
    }

    fn text(self, text: Cow<'de, str>) -> Self::Value {
        Some(text)
    }
}

/// An index; nothing if the value is none.
pub(super) struct Index;

impl AnyValue<'_> for Index {
    type Value = Option<u64>;

    fn other(self) -> Self::Value {
        None
    }

    fn index(self, number: u64) -> Self::Value {
        Some(number)
    }
}

/// The next key of an object.
pub(super) fn next_key<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<Cow<'de, str>>, A::Error> {
    Ok(map.next_key_seed(Any(Text))?.map(Option::unwrap_or_default))
}
