//! Which function carries out a call.

use super::Context;
use crate::error::ErrorClass;
use crate::functions::Op;
use crate::program::CallInfo;
use crate::value::{Comparison, Equality, Value};

/// A value, or the class of an error.
pub(super) type Outcome<'a> = Result<Value<'a>, ErrorClass>;

/// What calls of functions with other types give.
pub(super) const NO_OVERLOAD: Outcome<'static> = Err(ErrorClass::NoSuchOverload);

impl<'a> Context<'_, 'a> {
    /// Carries out a call. Lists and maps on the left may be taken from the arguments.
    pub(crate) fn apply(&mut self, call: &CallInfo, arguments: &mut [Value<'a>]) -> Outcome<'a> {
        use Op as O;
        match call.op {
            O::Not => match arguments {
                [Value::Bool(value)] => Ok(Value::Bool(!*value)),
                _ => NO_OVERLOAD,
            },
            O::Equal | O::NotEqual => match arguments {
                [one, two] => self.equality(one, two, call.op == O::Equal),
                _ => NO_OVERLOAD,
            },
            O::Add | O::Subtract | O::Multiply | O::Divide | O::Modulo | O::Negate => {
                self.arithmetic(call.op, arguments)
            }
            O::Less | O::LessEqual | O::Greater | O::GreaterEqual => match arguments {
                [one, two] => {
                    let order = self.comparison().order(one, two)?;
                    Ok(Value::Bool(match call.op {
                        O::Less => order.is_lt(),
                        O::LessEqual => order.is_le(),
                        O::Greater => order.is_gt(),
                        _ => order.is_ge(),
                    }))
                }
                _ => NO_OVERLOAD,
            },
            O::In => match arguments {
                [value, container] => self.contains(value, container),
                _ => NO_OVERLOAD,
            },
            O::Size => match arguments {
                [value @ (Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_))] => {
                    if let Value::String(text) = value {
                        self.meter.work(text.len() / 64)?;
                    }
                    Ok(Value::Int(i64::try_from(value.size()).unwrap_or(i64::MAX)))
                }
                _ => NO_OVERLOAD,
            },
            O::TypeOf
            | O::ToBool
            | O::ToBytes
            | O::ToDouble
            | O::ToDuration
            | O::ToDyn
            | O::ToInt
            | O::ToString
            | O::ToTimestamp
            | O::ToUint => match arguments {
                [value] => self.convert(call.op, value),
                _ => NO_OVERLOAD,
            },
            O::Time(part) => self.time_part(part, arguments),
            O::Contains | O::StartsWith | O::EndsWith => self.substring_test(call.op, arguments),
            O::Matches | O::Find | O::FindAll => self.regex(call, arguments),
            O::OptionalOf
            | O::OptionalOfNonZero
            | O::OptionalNone
            | O::OptionalValue
            | O::OptionalHasValue
            | O::First
            | O::Last
            | O::Unwrap => self.optional(call.op, arguments),
            O::CharAt
            | O::LowerAscii
            | O::UpperAscii
            | O::Replace
            | O::Split
            | O::Substring
            | O::Trim
            | O::FormatText
            | O::Quote
            | O::Join
            | O::Base64Decode
            | O::Base64Encode => self.strings(call.op, arguments),
            O::IndexOf | O::LastIndexOf | O::Reverse => match arguments.first() {
                Some(Value::List(_)) => self.lists(call, arguments),
                _ => self.strings(call.op, arguments),
            },
            O::SetsContains
            | O::SetsEquivalent
            | O::SetsIntersects
            | O::Slice
            | O::Flatten
            | O::Sort
            | O::SortByKeys
            | O::Distinct
            | O::ListRange
            | O::MapInsert
            | O::IsSorted
            | O::Sum
            | O::Min
            | O::Max => self.lists(call, arguments),
            O::MathMin
            | O::MathMax
            | O::MathRound(_)
            | O::MathIs(_)
            | O::MathAbs
            | O::MathSign
            | O::MathSqrt
            | O::MathBits(_) => self.math(call.op, arguments),
            _ => self.library(call.op, arguments),
        }
    }

    pub(super) fn comparison(&mut self) -> Comparison<'_, 'a> {
        Comparison { meter: self.meter, reader: self.reader }
    }

    fn equality(&mut self, one: &Value<'a>, two: &Value<'a>, wanted: bool) -> Outcome<'a> {
        Ok(match self.comparison().equal(one, two)? {
            Equality::Equal => Value::Bool(wanted),
            Equality::Different => Value::Bool(!wanted),
            Equality::Unknown => Value::Unknown,
            // What cannot be compared is not equal, and asking whether it is is an error.
            Equality::Failed(_) if !wanted => Value::Bool(true),
            Equality::Failed(class) => return Err(class),
        })
    }

    /// `in`.
    fn contains(&mut self, value: &Value<'a>, container: &Value<'a>) -> Outcome<'a> {
        match container {
            Value::List(list) => {
                let (mut unknown, mut failed) = (false, None);
                let typed = list.decl().is_some();
                for element in list.iter(self.reader) {
                    // A list with a schema asks its elements, any other asks the value.
                    let (one, two) = if typed { (&element, value) } else { (value, &element) };
                    match self.comparison().equal(one, two)? {
                        Equality::Equal => return Ok(Value::Bool(true)),
                        Equality::Different => {}
                        Equality::Unknown => unknown = true,
                        Equality::Failed(class) => failed = failed.or(Some(class).filter(|_| typed)),
                    }
                }
                match failed {
                    Some(_) if !unknown => Err(ErrorClass::NoSuchOverload),
                    _ => Ok(if unknown { Value::Unknown } else { Value::Bool(false) }),
                }
            }
            Value::Map(map) => match map.get(value, self.reader)? {
                Some(Value::Error(class, _)) => Err(class),
                found => Ok(Value::Bool(found.is_some())),
            },
            _ => NO_OVERLOAD,
        }
    }
}
