//! Functions of lists, sets and maps.

use std::sync::Arc;

use super::Context;
use super::calls::{NO_OVERLOAD, Outcome};
use crate::error::ErrorClass;
use crate::functions::Op;
use crate::program::CallInfo;
use crate::types::TypeKind;
use crate::value::{Equality, Key, List, Map, OwnedMap, Value};

impl<'a> Context<'_, 'a> {
    pub(super) fn lists(&mut self, call: &CallInfo, arguments: &mut [Value<'a>]) -> Outcome<'a> {
        use Value as V;
        match (call.op, arguments) {
            (Op::MapInsert, arguments) => self.insert(arguments),
            (Op::ListRange, [V::Int(count)]) => {
                let count = usize::try_from(*count).unwrap_or(0);
                self.meter.elements(count)?;
                let numbers = (0..count).map(|number| V::Int(i64::try_from(number).unwrap_or(i64::MAX)));
                Ok(V::list(numbers.collect()))
            }
            (Op::SetsContains, [V::List(one), V::List(two)]) => self.is_subset(two, one).map(truth),
            (Op::SetsEquivalent, [V::List(one), V::List(two)]) => {
                Ok(truth(match self.is_subset(two, one)? {
                    Equality::Equal => self.is_subset(one, two)?,
                    // A difference the other way round decides, whatever is not known here.
                    Equality::Unknown if self.is_subset(one, two)? != Equality::Different => Equality::Unknown,
                    _ => Equality::Different,
                }))
            }
            (Op::SetsIntersects, [V::List(one), V::List(two)]) => {
                let mut found = Equality::Different;
                for element in one.iter(self.reader) {
                    match self.has(two, &element)? {
                        Equality::Equal => return Ok(V::Bool(true)),
                        Equality::Unknown => found = Equality::Unknown,
                        _ => {}
                    }
                }
                Ok(truth(found))
            }
            (Op::IndexOf, [V::List(list), wanted]) => self.position(list, wanted, false),
            (Op::LastIndexOf, [V::List(list), wanted]) => self.position(list, wanted, true),
            (Op::SortByKeys, [V::List(list), V::List(keys)]) => self.sort(list, keys),
            (Op::Sort, [V::List(list)]) => self.sort(list, list),
            (Op::Slice, [V::List(list), V::Int(start), V::Int(end)]) => {
                let range = usize::try_from(*start).ok().zip(usize::try_from(*end).ok());
                let range = range.filter(|(start, end)| start <= end && *end <= list.len());
                let (start, end) = range.ok_or(ErrorClass::InvalidArgument)?;
                self.meter.elements(end.saturating_sub(start))?;
                Ok(V::list((start..end).filter_map(|at| list.get(at, self.reader)).collect()))
            }
            (Op::Flatten, [V::List(list)]) => self.flatten(list, 1),
            (Op::Flatten, [V::List(list), V::Int(depth)]) => self.flatten(list, *depth),
            (op, [V::List(list)]) => self.whole_list(op, list, call.result),
            _ => NO_OVERLOAD,
        }
    }

    fn whole_list(&mut self, op: Op, list: &List<'a>, result: TypeKind) -> Outcome<'a> {
        self.meter.work(list.len())?;
        match op {
            Op::Reverse => {
                self.meter.elements(list.len())?;
                let mut elements: Vec<Value<'a>> = list.iter(self.reader).collect();
                elements.reverse();
                Ok(Value::list(elements))
            }
            Op::Distinct => {
                self.meter.elements(0)?;
                let mut kept: Vec<Value<'a>> = Vec::new();
                for element in list.iter(self.reader) {
                    let mut seen = Equality::Different;
                    for other in &kept {
                        match self.comparison().equal(&element, other)? {
                            Equality::Equal => {
                                seen = Equality::Equal;
                                break;
                            }
                            Equality::Unknown => seen = Equality::Unknown,
                            _ => {}
                        }
                    }
                    match seen {
                        Equality::Equal => {}
                        Equality::Unknown => return Ok(Value::Unknown),
                        _ => {
                            self.meter.element()?;
                            kept.push(element);
                        }
                    }
                }
                Ok(Value::list(kept))
            }
            Op::IsSorted => {
                let mut before: Option<Value<'a>> = None;
                for element in list.iter(self.reader) {
                    if matches!(element, Value::Unknown) {
                        return Ok(Value::Unknown);
                    }
                    comparable(&element)?;
                    if let Some(before) = &before
                        && self.order(before, &element)?.is_some_and(std::cmp::Ordering::is_gt)
                    {
                        return Ok(Value::Bool(false));
                    }
                    before = Some(element);
                }
                Ok(Value::Bool(true))
            }
            Op::Sum => {
                let mut sum = match result {
                    TypeKind::Uint => Value::Uint(0),
                    TypeKind::Double => Value::Double(0.0),
                    TypeKind::Duration => Value::Duration(0),
                    TypeKind::Int => Value::Int(0),
                    _ => zero_like(list.get(0, self.reader).as_ref()),
                };
                for mut element in list.iter(self.reader) {
                    if let Value::Error(class, _) = element {
                        return Err(class);
                    }
                    if matches!(element, Value::Unknown) {
                        return Ok(Value::Unknown);
                    }
                    sum = self.add(&mut sum, &mut element)?;
                }
                Ok(sum)
            }
            Op::Min | Op::Max => {
                let mut best: Option<Value<'a>> = None;
                for element in list.iter(self.reader) {
                    if matches!(element, Value::Unknown) {
                        return Ok(Value::Unknown);
                    }
                    comparable(&element)?;
                    let better = match &best {
                        None => true,
                        Some(best) => self
                            .order(best, &element)?
                            .is_some_and(|order| if op == Op::Min { order.is_gt() } else { order.is_lt() }),
                    };
                    if better {
                        best = Some(element);
                    }
                }
                best.ok_or(ErrorClass::InvalidArgument)
            }
            _ => NO_OVERLOAD,
        }
    }

    /// The order of two elements; nothing if they cannot be compared, which these functions do not mind.
    fn order(&mut self, one: &Value<'a>, two: &Value<'a>) -> Result<Option<std::cmp::Ordering>, ErrorClass> {
        match self.comparison().order(one, two) {
            Ok(order) => Ok(Some(order)),
            Err(class) if class.is_budget() => Err(class),
            Err(_) => Ok(None),
        }
    }

    /// Whether an element of a list equals a value.
    fn has(&mut self, list: &List<'a>, wanted: &Value<'a>) -> Result<Equality, ErrorClass> {
        let mut found = Equality::Different;
        for element in list.iter(self.reader) {
            match self.comparison().equal(wanted, &element)? {
                Equality::Equal => return Ok(Equality::Equal),
                Equality::Unknown => found = Equality::Unknown,
                _ => {}
            }
        }
        Ok(found)
    }

    /// Whether every element of one list is in another.
    fn is_subset(&mut self, part: &List<'a>, whole: &List<'a>) -> Result<Equality, ErrorClass> {
        let mut all = Equality::Equal;
        for element in part.iter(self.reader) {
            match self.has(whole, &element)? {
                Equality::Equal => {}
                Equality::Unknown => all = Equality::Unknown,
                _ => return Ok(Equality::Different),
            }
        }
        Ok(all)
    }

    fn position(&mut self, list: &List<'a>, wanted: &Value<'a>, backwards: bool) -> Outcome<'a> {
        let length = list.len();
        for step in 0..length {
            let at = if backwards { length.saturating_sub(step).saturating_sub(1) } else { step };
            let Some(element) = list.get(at, self.reader) else { continue };
            match self.comparison().equal(&element, wanted)? {
                Equality::Equal => return Ok(Value::Int(i64::try_from(at).unwrap_or(i64::MAX))),
                Equality::Unknown => return Ok(Value::Unknown),
                _ => {}
            }
        }
        Ok(Value::Int(-1))
    }

    fn sort(&mut self, list: &List<'a>, keys: &List<'a>) -> Outcome<'a> {
        if list.len() != keys.len() {
            return Err(ErrorClass::InvalidArgument);
        }
        self.meter.elements(list.len().saturating_mul(2))?;
        self.meter.work(list.len().saturating_mul(20))?;
        let mut pairs: Vec<(Value<'a>, Value<'a>)> = keys.iter(self.reader).zip(list.iter(self.reader)).collect();
        let Some((first, _)) = pairs.first() else { return Ok(Value::List(list.clone())) };
        let wanted = first.type_name();
        if pairs.iter().any(|(key, _)| matches!(key, Value::Unknown)) {
            return Ok(Value::Unknown);
        }
        for (key, _) in &pairs {
            comparable(key)?;
            if key.type_name() != wanted {
                return Err(ErrorClass::InvalidArgument);
            }
        }
        let mut failed = None;
        pairs.sort_by(|(one, _), (two, _)| match self.comparison().order(one, two) {
            Ok(order) => order,
            Err(class) => {
                failed = failed.or(Some(class).filter(|class| class.is_budget()));
                std::cmp::Ordering::Equal
            }
        });
        match failed {
            Some(class) => Err(class),
            None => Ok(Value::list(pairs.into_iter().map(|(_, value)| value).collect())),
        }
    }

    fn flatten(&mut self, list: &List<'a>, depth: i64) -> Outcome<'a> {
        if depth < 0 {
            return Err(ErrorClass::InvalidArgument);
        }
        let mut out = Vec::new();
        // Lists that are being looked into, the innermost last.
        let mut open = vec![(list.clone(), 0_usize)];
        while let Some((list, at)) = open.last_mut() {
            let Some(element) = list.get(*at, self.reader) else {
                open.pop();
                continue;
            };
            *at = at.saturating_add(1);
            let level = i64::try_from(open.len()).unwrap_or(i64::MAX);
            self.meter.work(1)?;
            match element {
                Value::List(inner) if level <= depth => open.push((inner, 0)),
                // It may be a list.
                Value::Unknown if level <= depth => return Ok(Value::Unknown),
                element => {
                    self.meter.elements(1)?;
                    out.push(element);
                }
            }
        }
        Ok(Value::list(out))
    }

    /// Adds one entry, or those of another map, to a map.
    fn insert(&mut self, arguments: &mut [Value<'a>]) -> Outcome<'a> {
        let mut map = match arguments.first_mut() {
            Some(Value::Map(Map::Owned(map))) => std::mem::take(map),
            Some(Value::Map(map)) if map.len() == 0 => Arc::default(),
            _ => return NO_OVERLOAD,
        };
        let entries = match arguments {
            [_, key, value] => {
                self.meter.elements(2)?;
                vec![(key.clone(), value.clone())]
            }
            [_, Value::Map(more)] => {
                self.meter.elements(more.len().saturating_mul(2))?;
                more.entries(self.reader)
            }
            _ => return NO_OVERLOAD,
        };
        if Arc::get_mut(&mut map).is_none() {
            self.meter.elements(map.len().saturating_mul(2))?;
        }
        let target: &mut OwnedMap<'a> = Arc::make_mut(&mut map);
        for (written, value) in entries {
            let key = Key::of(&written).ok_or(ErrorClass::InvalidKey)?;
            if target.contains(&key) {
                return Err(ErrorClass::InvalidKey);
            }
            target.insert(key, written, value);
        }
        Ok(Value::Map(Map::Owned(map)))
    }
}

fn truth(equality: Equality) -> Value<'static> {
    match equality {
        Equality::Unknown => Value::Unknown,
        equality => Value::Bool(equality == Equality::Equal),
    }
}

fn comparable(value: &Value<'_>) -> Result<(), ErrorClass> {
    match value {
        Value::Error(class, _) => Err(*class),
        Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::String(_)
        | Value::Bytes(_)
        | Value::Timestamp(_)
        | Value::Duration(_) => Ok(()),
        _ => Err(ErrorClass::NoSuchOverload),
    }
}

fn zero_like<'a>(first: Option<&Value<'a>>) -> Value<'a> {
    match first {
        Some(Value::Uint(_)) => Value::Uint(0),
        Some(Value::Double(_)) => Value::Double(0.0),
        Some(Value::Duration(_)) => Value::Duration(0),
        _ => Value::Int(0),
    }
}
