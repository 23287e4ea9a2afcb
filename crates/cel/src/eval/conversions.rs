//! Conversions between types.

use super::Context;
use super::calls::{NO_OVERLOAD, Outcome};
use crate::error::ErrorClass;
use crate::functions::Op;
use crate::value::convert::{self, BadTime};
use crate::value::library::LibraryValue;
use crate::value::{Blob, Value};

impl<'a> Context<'_, 'a> {
    #[expect(clippy::cast_precision_loss, reason = "integers become the nearest floating-point number")]
    pub(super) fn convert(&mut self, op: Op, value: &Value<'a>) -> Outcome<'a> {
        use Value as V;
        let failed = ErrorClass::Conversion;
        Ok(match (op, value) {
            (Op::ToDyn, value)
            | (Op::ToBool, value @ V::Bool(_))
            | (Op::ToBytes, value @ V::Bytes(_))
            | (Op::ToDouble, value @ V::Double(_))
            | (Op::ToDuration, value @ V::Duration(_))
            | (Op::ToInt, value @ V::Int(_))
            | (Op::ToString, value @ V::String(_))
            | (Op::ToTimestamp, value @ V::Timestamp(_))
            | (Op::ToUint, value @ V::Uint(_)) => value.clone(),
            (Op::TypeOf, value) => V::Type(value.type_name()),
            (Op::ToBool, V::String(text)) => V::Bool(convert::bool(text).ok_or(failed)?),
            (Op::ToBytes, V::String(text)) => {
                self.meter.memory(text.len())?;
                V::Bytes(Blob::from(text.as_bytes().to_vec()))
            }
            (Op::ToDouble, V::Int(number)) => V::Double(*number as f64),
            (Op::ToDouble, V::Uint(number)) => V::Double(*number as f64),
            (Op::ToDouble, V::String(text)) => V::Double(convert::double(text).ok_or(failed)?),
            (Op::ToDuration, V::String(text)) => V::Duration(convert::duration(text).ok_or(failed)?),
            // As in cel-go, where the specification has no such conversion.
            (Op::ToDuration, V::Int(nanoseconds)) => V::Duration(*nanoseconds),
            (Op::ToInt, V::Uint(number)) => V::Int(i64::try_from(*number).map_err(|_| ErrorClass::Overflow)?),
            (Op::ToInt, V::Double(number)) => V::Int(convert::int_of_double(*number).ok_or(ErrorClass::Overflow)?),
            (Op::ToInt, V::String(text)) => V::Int(convert::int(text).ok_or(failed)?),
            (Op::ToInt, V::Timestamp(time)) => V::Int(time.seconds),
            (Op::ToInt, V::Duration(nanoseconds)) => V::Int(*nanoseconds),
            (Op::ToUint, V::Int(number)) => V::Uint(u64::try_from(*number).map_err(|_| ErrorClass::Overflow)?),
            (Op::ToUint, V::Double(number)) => V::Uint(convert::uint_of_double(*number).ok_or(ErrorClass::Overflow)?),
            (Op::ToUint, V::String(text)) => V::Uint(convert::uint(text).ok_or(failed)?),
            (Op::ToTimestamp, V::String(text)) => V::Timestamp(convert::timestamp(text).map_err(|bad| match bad {
                BadTime::Format => failed,
                BadTime::Range => ErrorClass::Overflow,
            })?),
            (Op::ToTimestamp, V::Int(seconds)) => {
                V::Timestamp(convert::timestamp_of_seconds(*seconds).ok_or(ErrorClass::Overflow)?)
            }
            (Op::ToString, value) => return self.text_of(value),
            _ => return NO_OVERLOAD,
        })
    }

    fn text_of(&mut self, value: &Value<'a>) -> Outcome<'a> {
        use Value as V;
        let text = match value {
            V::Bool(value) => value.to_string(),
            V::Int(number) => number.to_string(),
            V::Uint(number) => number.to_string(),
            V::Double(number) => convert::double_text(*number),
            V::Bytes(bytes) => {
                self.meter.memory(bytes.len())?;
                std::str::from_utf8(bytes).map_err(|_| ErrorClass::Conversion)?.to_owned()
            }
            V::Timestamp(time) => time.text(),
            V::Duration(nanoseconds) => convert::duration_text(*nanoseconds),
            V::Library(value @ (LibraryValue::Ip(_) | LibraryValue::Cidr(_))) => value.text(),
            _ => return NO_OVERLOAD,
        };
        Ok(V::text(text))
    }
}
