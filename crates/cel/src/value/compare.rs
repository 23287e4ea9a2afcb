//! Which values are equal, and which comes first.
//!
//! Lists of schemas compare as their list type says, and only if they are on the left, as in the API server.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::{List, Map, Reader, Value};
use crate::cost::meter::Meter;
use crate::decl::{Decl, DeclKind, ListKind};
use crate::error::ErrorClass;

/// How deep values are compared; none is nested deeper, because expressions and data are not.
const DEPTH: usize = 600;

/// What came of comparing two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Equality {
    Equal,
    Different,
    Unknown,
    Failed(ErrorClass),
}

impl Equality {
    pub(crate) fn of(equal: bool) -> Self {
        if equal { Equality::Equal } else { Equality::Different }
    }
}

/// Compares values within what an evaluation may look at.
pub(crate) struct Comparison<'m, 'a> {
    pub(crate) meter: &'m mut Meter,
    pub(crate) reader: Reader<'a>,
}

impl<'a> Comparison<'_, 'a> {
    /// Whether two values are equal; an error only if that takes too much work.
    pub(crate) fn equal(&mut self, one: &Value<'a>, two: &Value<'a>) -> Result<Equality, ErrorClass> {
        self.values(one, two, 0)
    }

    fn values(&mut self, one: &Value<'a>, two: &Value<'a>, depth: usize) -> Result<Equality, ErrorClass> {
        use Value as V;
        self.meter.work(1)?;
        if depth > DEPTH {
            return Err(ErrorClass::WorkLimit);
        }
        Ok(match (one, two) {
            (V::Error(class, _), _) | (_, V::Error(class, _)) => Equality::Failed(*class),
            (V::Unknown, _) | (_, V::Unknown) => Equality::Unknown,
            (V::Null, V::Null) | (V::Optional(None), V::Optional(None)) => Equality::Equal,
            (V::Null, _) | (_, V::Null) => Equality::Different,
            (V::String(a), V::String(b)) => {
                self.meter.work(a.len().min(b.len()) / 32)?;
                Equality::of(**a == **b)
            }
            (V::Bytes(a), V::Bytes(b)) => {
                self.meter.work(a.len().min(b.len()) / 32)?;
                Equality::of(**a == **b)
            }
            (V::Int(_) | V::Uint(_) | V::Double(_), V::Int(_) | V::Uint(_) | V::Double(_)) => {
                Equality::of(numbers(one, two) == Some(Ordering::Equal))
            }
            (V::Bool(a), V::Bool(b)) => Equality::of(a == b),
            (V::Timestamp(a), V::Timestamp(b)) => Equality::of(a.instant() == b.instant()),
            (V::Duration(a), V::Duration(b)) => Equality::of(a == b),
            (V::Type(a), V::Type(b)) => Equality::of(a == b),
            (V::List(a), V::List(b)) => self.lists(a, b, depth)?,
            (V::Map(a), V::Map(b)) => self.maps(a, b, depth)?,
            (V::List(List::Typed(..) | List::TypedOwned(..)) | V::Map(Map::Typed(..)), _) => {
                Equality::Failed(ErrorClass::NoSuchOverload)
            }
            (V::Optional(Some(a)), V::Optional(Some(b))) => self.values(a, b, depth.saturating_add(1))?,
            (V::Library(a), V::Library(b)) => {
                a.equal(b).map_or(Equality::Failed(ErrorClass::NoSuchOverload), Equality::of)
            }
            (V::Library(_), _) => Equality::Failed(ErrorClass::NoSuchOverload),
            _ => Equality::Different,
        })
    }

    fn lists(&mut self, one: &List<'a>, two: &List<'a>, depth: usize) -> Result<Equality, ErrorClass> {
        if one.len() != two.len() {
            return Ok(Equality::Different);
        }
        let below = depth.saturating_add(1);
        match one.decl().map(|decl| &decl.kind) {
            Some(DeclKind::List(_, ListKind::Set)) => return self.sets(one, two),
            Some(DeclKind::List(_, ListKind::Map(keys))) => return self.map_lists(one, keys, two, below),
            _ => {}
        }
        let strict = one.decl().is_some();
        let mut unknown = false;
        for index in 0..one.len() {
            let (Some(a), Some(b)) = (one.get(index, self.reader), two.get(index, self.reader)) else { continue };
            match self.values(&a, &b, below)? {
                Equality::Different => return Ok(Equality::Different),
                Equality::Unknown => unknown = true,
                Equality::Failed(class) if strict => return Ok(Equality::Failed(class)),
                _ => {}
            }
        }
        Ok(if unknown { Equality::Unknown } else { Equality::Equal })
    }

    /// A set equals a list that has as many elements, each of them in the set.
    fn sets(&mut self, one: &List<'a>, two: &List<'a>) -> Result<Equality, ErrorClass> {
        let mut known: Vec<Native<'_>> = Vec::with_capacity(one.len());
        let own: Vec<Value<'a>>;
        if let List::Typed(elements, _) = one {
            known.extend(elements.iter().map(Native::of_json));
        } else {
            own = one.iter(self.reader).collect();
            known.extend(own.iter().map(Native::of_value));
        }
        self.meter.work(one.len().saturating_mul(8))?;
        known.sort_by(Native::order);
        for value in two.iter(self.reader) {
            if matches!(value, Value::Unknown) {
                return Ok(Equality::Unknown);
            }
            let native = Native::of_value(&value);
            if known.binary_search_by(|known| known.order(&native)).is_err() || matches!(native, Native::Other) {
                return Ok(Equality::Different);
            }
        }
        Ok(Equality::Equal)
    }

    /// A list with keys equals a list that has the same elements for the same keys.
    fn map_lists(
        &mut self,
        one: &List<'a>,
        keys: &[String],
        two: &List<'a>,
        depth: usize,
    ) -> Result<Equality, ErrorClass> {
        let own: Vec<Value<'a>> = one.iter(self.reader).collect();
        for element in two.iter(self.reader) {
            let wanted = element_key(&element, keys);
            self.meter.work(own.len())?;
            // The last element with a key counts.
            let found =
                wanted.and_then(|wanted| own.iter().rev().find(|own| element_key(own, keys) == Some(wanted.clone())));
            let Some(found) = found else { return Ok(Equality::Different) };
            let equality = self.values(found, &element, depth)?;
            if equality != Equality::Equal {
                return Ok(equality);
            }
        }
        Ok(Equality::Equal)
    }

    fn maps(&mut self, one: &Map<'a>, two: &Map<'a>, depth: usize) -> Result<Equality, ErrorClass> {
        if one.len() != two.len() {
            return Ok(Equality::Different);
        }
        if let Map::Typed(entries, decl) = one {
            return self.typed_maps(entries, decl, two, depth);
        }
        let mut unknown = false;
        for key in one.keys() {
            let Some(a) = one.get(&key, self.reader).unwrap_or(None) else { continue };
            let b = match two.get(&key, self.reader) {
                Ok(Some(value)) => value,
                Ok(None) => return Ok(Equality::Different),
                Err(_) => continue,
            };
            match self.values(&a, &b, depth.saturating_add(1))? {
                Equality::Different => return Ok(Equality::Different),
                Equality::Unknown => unknown = true,
                _ => {}
            }
        }
        Ok(if unknown { Equality::Unknown } else { Equality::Equal })
    }

    fn typed_maps(
        &mut self,
        entries: &'a serde_json::Map<String, Json>,
        decl: &'a Decl,
        two: &Map<'a>,
        depth: usize,
    ) -> Result<Equality, ErrorClass> {
        for (name, value) in entries {
            self.meter.work(1)?;
            let property = match &decl.kind {
                DeclKind::Map(element) => Some(&**element),
                _ => decl.property(name),
            };
            let Some(property) = property else {
                // A field that the schema does not know is compared as it is.
                let Map::Typed(others, _) = two else { return Ok(Equality::Failed(ErrorClass::NoSuchOverload)) };
                if others.get(name).is_some_and(|other| other != value) {
                    return Ok(Equality::Different);
                }
                continue;
            };
            if matches!(property.kind, DeclKind::Preserved) {
                let other = match two {
                    Map::Typed(others, _) | Map::Json(others) => others.get(name),
                    Map::Owned(_) => None,
                };
                if other.is_none_or(|other| other != value) {
                    return Ok(Equality::Different);
                }
                continue;
            }
            let is_map = matches!(decl.kind, DeclKind::Map(_));
            let own = if is_map {
                Some(self.reader.typed(value, property))
            } else {
                self.reader.property(entries, decl, name)
            };
            let escaped = if is_map { name.clone() } else { crate::decl::escape(name).unwrap_or_else(|| name.clone()) };
            let other = if matches!(two, Map::Typed(..)) {
                two.get_text(&escaped, self.reader)
            } else {
                two.get_text(name, self.reader)
            };
            match (own, other) {
                (None, None) => {}
                (Some(own), Some(other)) => {
                    let equality = self.values(&own, &other, depth.saturating_add(1))?;
                    if equality != Equality::Equal {
                        return Ok(equality);
                    }
                }
                _ => return Ok(Equality::Different),
            }
        }
        Ok(Equality::Equal)
    }

    /// Which of two values comes first.
    pub(crate) fn order(&mut self, one: &Value<'a>, two: &Value<'a>) -> Result<Ordering, ErrorClass> {
        use Value as V;
        match (one, two) {
            (V::Int(_) | V::Uint(_) | V::Double(_), V::Int(_) | V::Uint(_) | V::Double(_)) => {
                numbers(one, two).ok_or(ErrorClass::NotOrdered)
            }
            (V::String(a), V::String(b)) => {
                self.meter.work(a.len().min(b.len()) / 32)?;
                Ok((**a).cmp(&**b))
            }
            (V::Bytes(a), V::Bytes(b)) => {
                self.meter.work(a.len().min(b.len()) / 32)?;
                Ok((**a).cmp(&**b))
            }
            (V::Bool(a), V::Bool(b)) => Ok(a.cmp(b)),
            (V::Timestamp(a), V::Timestamp(b)) => Ok(a.instant().cmp(&b.instant())),
            (V::Duration(a), V::Duration(b)) => Ok(a.cmp(b)),
            _ => Err(ErrorClass::NoSuchOverload),
        }
    }
}

/// Numbers on one line; integers lose what a floating-point number cannot hold when they are compared with one.
#[expect(clippy::cast_precision_loss, reason = "as cel-go compares them")]
fn numbers(one: &Value<'_>, two: &Value<'_>) -> Option<Ordering> {
    use Value as V;
    Some(match (one, two) {
        (V::Int(a), V::Int(b)) => a.cmp(b),
        (V::Uint(a), V::Uint(b)) => a.cmp(b),
        (V::Int(a), V::Uint(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (V::Uint(a), V::Int(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (V::Double(a), V::Double(b)) => return a.partial_cmp(b),
        (V::Int(a), V::Double(b)) => return (*a as f64).partial_cmp(b),
        (V::Double(a), V::Int(b)) => return a.partial_cmp(&(*b as f64)),
        (V::Uint(a), V::Double(b)) => return (*a as f64).partial_cmp(b),
        (V::Double(a), V::Uint(b)) => return a.partial_cmp(&(*b as f64)),
        _ => return None,
    })
}

/// A scalar as Go has it behind an interface: values of different types differ, even if they are the same number.
#[derive(Debug, Clone, PartialEq)]
enum Native<'v> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(&'v str),
    Other,
}

impl<'v> Native<'v> {
    fn of_json(json: &'v Json) -> Self {
        match json {
            Json::Null => Native::Null,
            Json::Bool(value) => Native::Bool(*value),
            Json::Number(number) => {
                number.as_i64().map_or_else(|| Native::Double(number.as_f64().unwrap_or(f64::NAN)), Native::Int)
            }
            Json::String(text) => Native::String(text),
            _ => Native::Other,
        }
    }

    fn of_value(value: &'v Value<'_>) -> Self {
        match value {
            Value::Null => Native::Null,
            Value::Bool(value) => Native::Bool(*value),
            Value::Int(value) => Native::Int(*value),
            Value::Uint(value) => Native::Uint(*value),
            Value::Double(value) => Native::Double(*value),
            Value::String(text) => Native::String(text),
            _ => Native::Other,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Native::Null => 0,
            Native::Bool(_) => 1,
            Native::Int(_) => 2,
            Native::Uint(_) => 3,
            Native::Double(_) => 4,
            Native::String(_) => 5,
            Native::Other => 6,
        }
    }

    fn order(&self, other: &Native<'_>) -> Ordering {
        match (self, other) {
            (Native::Bool(a), Native::Bool(b)) => a.cmp(b),
            (Native::Int(a), Native::Int(b)) => a.cmp(b),
            (Native::Uint(a), Native::Uint(b)) => a.cmp(b),
            (Native::Double(a), Native::Double(b)) => a.total_cmp(b),
            (Native::String(a), Native::String(b)) => a.cmp(b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

/// What makes an element of a list with keys the same: the values of its keys as they stand in the data.
pub(crate) fn element_key<'v>(element: &'v Value<'_>, keys: &[String]) -> Option<Vec<Option<&'v Json>>> {
    match element {
        Value::Map(Map::Typed(entries, _) | Map::Json(entries)) => {
            Some(keys.iter().map(|key| entries.get(key)).collect())
        }
        _ => None,
    }
}

/// Whether a list has an element that is the same by Go's types.
pub(crate) fn has_native(list: &[Value<'_>], wanted: &Value<'_>) -> bool {
    let wanted = Native::of_value(wanted);
    wanted != Native::Other && list.iter().any(|element| Native::of_value(element) == wanted)
}
