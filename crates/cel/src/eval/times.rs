//! Parts of times and durations.

use super::Context;
use super::calls::{NO_OVERLOAD, Outcome};
use crate::error::ErrorClass;
use crate::functions::TimePart;
use crate::value::Value;
use crate::value::time::{Civil, Timestamp, zone};

impl<'a> Context<'_, 'a> {
    pub(super) fn time_part(&mut self, part: TimePart, arguments: &[Value<'a>]) -> Outcome<'a> {
        Ok(Value::Int(match arguments {
            [Value::Timestamp(time)] => of_time(part, *time, 0),
            [Value::Timestamp(time), Value::String(name)] => {
                let zone = zone(name).ok_or(ErrorClass::InvalidArgument)?;
                of_time(part, *time, zone.offset_at(time.seconds))
            }
            [Value::Duration(nanoseconds)] => {
                let nanoseconds = *nanoseconds;
                match part {
                    TimePart::Hours => nanoseconds / 3_600_000_000_000,
                    TimePart::Minutes => nanoseconds / 60_000_000_000,
                    TimePart::Seconds => nanoseconds / 1_000_000_000,
                    TimePart::Milliseconds if self.by_specification => nanoseconds / 1_000_000 % 1_000,
                    TimePart::Milliseconds => nanoseconds / 1_000_000,
                    _ => return NO_OVERLOAD,
                }
            }
            _ => return NO_OVERLOAD,
        }))
    }
}

/// A part of a time so many seconds east of UTC.
fn of_time(part: TimePart, time: Timestamp, offset: i64) -> i64 {
    let civil = Civil::of_seconds(time.seconds.saturating_add(offset));
    match part {
        TimePart::FullYear => civil.year,
        TimePart::Month => civil.month.saturating_sub(1),
        TimePart::DayOfYear => civil.day_of_year,
        TimePart::DayOfMonth => civil.day.saturating_sub(1),
        TimePart::Date => civil.day,
        TimePart::DayOfWeek => civil.weekday,
        TimePart::Hours => civil.hour,
        TimePart::Minutes => civil.minute,
        TimePart::Seconds => civil.second,
        TimePart::Milliseconds => i64::from(time.nanos / 1_000_000),
    }
}
