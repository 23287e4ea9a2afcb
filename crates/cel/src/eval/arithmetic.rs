//! Sums, differences, products, quotients, remainders and negations.

use std::sync::Arc;

use super::Context;
use super::calls::{NO_OVERLOAD, Outcome};
use crate::decl::{DeclKind, ListKind};
use crate::error::ErrorClass;
use crate::functions::Op;
use crate::value::{Blob, List, Value, element_key, has_native};

impl<'a> Context<'_, 'a> {
    pub(super) fn arithmetic(&mut self, op: Op, arguments: &mut [Value<'a>]) -> Outcome<'a> {
        match (op, arguments) {
            (Op::Add, [one, two]) => self.add(one, two),
            (Op::Subtract, [one, two]) => subtract(one, two),
            (Op::Multiply, [one, two]) => multiply(one, two),
            (Op::Divide, [one, two]) => divide(one, two),
            (Op::Modulo, [one, two]) => remainder(one, two),
            (Op::Negate, [Value::Int(number)]) => number.checked_neg().map(Value::Int).ok_or(ErrorClass::Overflow),
            (Op::Negate, [Value::Double(number)]) => Ok(Value::Double(-*number)),
            _ => NO_OVERLOAD,
        }
    }

    pub(super) fn add(&mut self, one: &mut Value<'a>, two: &mut Value<'a>) -> Outcome<'a> {
        use Value as V;
        let overflow = ErrorClass::Overflow;
        Ok(match (&mut *one, &mut *two) {
            (V::Int(a), V::Int(b)) => V::Int(a.checked_add(*b).ok_or(overflow)?),
            (V::Uint(a), V::Uint(b)) => V::Uint(a.checked_add(*b).ok_or(overflow)?),
            (V::Double(a), V::Double(b)) => V::Double(*a + *b),
            (V::String(a), V::String(b)) => {
                self.meter.memory(a.len().saturating_add(b.len()))?;
                let mut text = String::with_capacity(a.len().saturating_add(b.len()));
                text.push_str(a);
                text.push_str(b);
                V::text(text)
            }
            (V::Bytes(a), V::Bytes(b)) => {
                self.meter.memory(a.len().saturating_add(b.len()))?;
                V::Bytes(Blob::from([&**a, &**b].concat()))
            }
            (V::Duration(a), V::Duration(b)) => V::Duration(a.checked_add(*b).ok_or(overflow)?),
            (V::Timestamp(time), V::Duration(by)) | (V::Duration(by), V::Timestamp(time)) => {
                V::Timestamp(time.plus(*by).ok_or(overflow)?)
            }
            (V::List(a), V::List(b)) => {
                let list = self.add_lists(a, b)?;
                V::List(list)
            }
            _ => return NO_OVERLOAD,
        })
    }

    fn add_lists(&mut self, one: &mut List<'a>, two: &List<'a>) -> Result<List<'a>, ErrorClass> {
        match one.decl().map(|decl| (decl, &decl.kind)) {
            Some((decl, DeclKind::List(_, ListKind::Set))) => {
                self.meter.elements(one.len())?;
                let mut elements: Vec<Value<'a>> = one.iter(self.reader).collect();
                for element in two.iter(self.reader) {
                    self.meter.work(elements.len())?;
                    if !has_native(&elements, &element) {
                        self.meter.element()?;
                        elements.push(element);
                    }
                }
                return Ok(List::TypedOwned(Arc::new(elements), decl));
            }
            Some((decl, DeclKind::List(_, ListKind::Map(keys)))) => {
                self.meter.elements(one.len())?;
                let mut elements: Vec<Value<'a>> = one.iter(self.reader).collect();
                let own = elements.len();
                for element in two.iter(self.reader) {
                    self.meter.work(own)?;
                    let wanted = element_key(&element, keys);
                    let same = |known: &Value<'a>| wanted.is_some() && element_key(known, keys) == wanted;
                    if let Some(at) = elements.iter().take(own).rposition(same) {
                        if let Some(place) = elements.get_mut(at) {
                            *place = element;
                        }
                    } else {
                        self.meter.element()?;
                        elements.push(element);
                    }
                }
                return Ok(List::TypedOwned(Arc::new(elements), decl));
            }
            _ => {}
        }
        if one.len() == 0 && one.decl().is_none() && !matches!(one, List::Owned(_)) {
            return Ok(two.clone());
        }
        // A list that nobody else holds grows in place.
        if let List::Owned(elements) = one
            && let Some(elements) = Arc::get_mut(elements)
        {
            self.meter.elements(two.len())?;
            elements.extend(two.iter(self.reader));
            return Ok(std::mem::replace(one, List::Json(&[])));
        }
        let decl = one.decl();
        self.meter.elements(one.len().saturating_add(two.len()))?;
        let elements = Arc::new(one.iter(self.reader).chain(two.iter(self.reader)).collect());
        Ok(match decl {
            Some(decl) => List::TypedOwned(elements, decl),
            None => List::Owned(elements),
        })
    }
}

fn subtract<'a>(one: &Value<'a>, two: &Value<'a>) -> Outcome<'a> {
    use Value as V;
    let overflow = ErrorClass::Overflow;
    Ok(match (one, two) {
        (V::Int(a), V::Int(b)) => V::Int(a.checked_sub(*b).ok_or(overflow)?),
        (V::Uint(a), V::Uint(b)) => V::Uint(a.checked_sub(*b).ok_or(overflow)?),
        (V::Double(a), V::Double(b)) => V::Double(a - b),
        (V::Duration(a), V::Duration(b)) => V::Duration(a.checked_sub(*b).ok_or(overflow)?),
        (V::Timestamp(time), V::Duration(by)) => {
            V::Timestamp(time.plus(by.checked_neg().ok_or(overflow)?).ok_or(overflow)?)
        }
        (V::Timestamp(a), V::Timestamp(b)) => V::Duration(a.since(*b).ok_or(overflow)?),
        _ => return NO_OVERLOAD,
    })
}

fn multiply<'a>(one: &Value<'a>, two: &Value<'a>) -> Outcome<'a> {
    use Value as V;
    Ok(match (one, two) {
        (V::Int(a), V::Int(b)) => V::Int(a.checked_mul(*b).ok_or(ErrorClass::Overflow)?),
        (V::Uint(a), V::Uint(b)) => V::Uint(a.checked_mul(*b).ok_or(ErrorClass::Overflow)?),
        (V::Double(a), V::Double(b)) => V::Double(a * b),
        _ => return NO_OVERLOAD,
    })
}

fn divide<'a>(one: &Value<'a>, two: &Value<'a>) -> Outcome<'a> {
    use Value as V;
    Ok(match (one, two) {
        (V::Int(_), V::Int(0)) | (V::Uint(_), V::Uint(0)) => return Err(ErrorClass::DivisionByZero),
        (V::Int(a), V::Int(b)) => V::Int(a.checked_div(*b).ok_or(ErrorClass::Overflow)?),
        (V::Uint(a), V::Uint(b)) => V::Uint(a.checked_div(*b).ok_or(ErrorClass::DivisionByZero)?),
        (V::Double(a), V::Double(b)) => V::Double(a / b),
        _ => return NO_OVERLOAD,
    })
}

fn remainder<'a>(one: &Value<'a>, two: &Value<'a>) -> Outcome<'a> {
    use Value as V;
    Ok(match (one, two) {
        (V::Int(_), V::Int(0)) | (V::Uint(_), V::Uint(0)) => return Err(ErrorClass::ModulusByZero),
        (V::Int(a), V::Int(b)) => V::Int(a.checked_rem(*b).ok_or(ErrorClass::Overflow)?),
        (V::Uint(a), V::Uint(b)) => V::Uint(a.checked_rem(*b).ok_or(ErrorClass::ModulusByZero)?),
        _ => return NO_OVERLOAD,
    })
}
