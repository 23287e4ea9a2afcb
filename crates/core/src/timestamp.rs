//! Points in time, in whole seconds.
//!
//! The Kubernetes API stores times with a precision of one second; a finer value in memory would never equal the stored
//! one and make controllers write for ever. There is no `now()` here: the present is an argument.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time in whole seconds since 1970-01-01T00:00:00Z; reads and writes RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// Why a text is not a timestamp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimestampError {
    /// The text is not RFC 3339.
    #[error("`{text}` is not an RFC 3339 time such as 2024-05-01T12:00:00Z")]
    Syntax {
        /// What was read.
        text: String,
    },
    /// The number of seconds lies outside the calendar (years -9999 to 9999).
    #[error("{seconds} seconds since 1970 is outside the calendar")]
    Range {
        /// What was given.
        seconds: i64,
    },
}

impl Timestamp {
    /// 1970-01-01T00:00:00Z, which APIs use for "never".
    pub const EPOCH: Timestamp = Timestamp(0);

    /// The time `seconds` after 1970, if the calendar has it.
    pub fn from_seconds(seconds: i64) -> Result<Self, TimestampError> {
        jiff::Timestamp::from_second(seconds).map(|_| Timestamp(seconds)).map_err(|_| TimestampError::Range { seconds })
    }

    /// Whole seconds since 1970.
    pub fn as_seconds(self) -> i64 {
        self.0
    }

    /// How much later `self` is than `earlier`; nothing if it is not later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_secs(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The time `by` later (fractions of a second are dropped), held at the end of the calendar.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        let by = i64::try_from(by.as_secs()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_add(by).min(jiff::Timestamp::MAX.as_second()))
    }

    /// The time `by` earlier (fractions of a second are dropped), held at the start of the calendar.
    #[must_use]
    pub fn minus(self, by: Duration) -> Self {
        let by = i64::try_from(by.as_secs()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_sub(by).max(jiff::Timestamp::MIN.as_second()))
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let syntax = || TimestampError::Syntax { text: text.chars().take(64).collect() };
        // jiff also reads forms that RFC 3339 does not have (a week date, a bracketed zone, a missing `T`).
        let shape_ok = text.len() <= 40
            && text.as_bytes().get(10).is_some_and(|byte| matches!(byte, b'T' | b't'))
            && !text.contains('[');
        if !shape_ok {
            return Err(syntax());
        }
        let parsed: jiff::Timestamp = text.parse().map_err(|_| syntax())?;
        // Truncate downwards, so that a time before 1970 is not moved into the next second.
        Ok(Timestamp(parsed.as_nanosecond().div_euclid(1_000_000_000).try_into().map_err(|_| syntax())?))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0) {
            Ok(time) => write!(f, "{}", time.strftime("%Y-%m-%dT%H:%M:%SZ")),
            Err(_) => write!(f, "@{}", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A duration as a person says it, in its two largest units: `45s`, `3m20s`, `2h5m`, `9d4h`.
pub fn humanize(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (days, hours, minutes, rest) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    let units = [(days, 'd'), (hours, 'h'), (minutes, 'm'), (rest, 's')];
    let first = units.iter().position(|(count, _)| *count > 0).unwrap_or(3);
    units.iter().skip(first).take(2).filter(|(count, unit)| *count > 0 || (first == 3 && *unit == 's')).fold(
        String::new(),
        |mut text, (count, unit)| {
            text.push_str(&count.to_string());
            text.push(*unit);
            text
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_rfc_3339_and_writes_whole_seconds_in_utc() {
        for (text, want) in [
            ("2024-05-01T12:00:00Z", "2024-05-01T12:00:00Z"),
            ("2024-05-01T12:00:00.999Z", "2024-05-01T12:00:00Z"),
            ("2024-05-01T14:30:00+02:30", "2024-05-01T12:00:00Z"),
            ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59Z"),
            ("1970-01-01t00:00:00z", "1970-01-01T00:00:00Z"),
        ] {
            assert_eq!(text.parse::<Timestamp>().map(|time| time.to_string()), Ok(want.to_owned()), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_not_rfc_3339() {
        for text in
            ["", "yesterday", "2024-05-01", "2024-05-01 12:00:00Z", "2024-05-01T12:00:00", "2024-13-01T12:00:00Z"]
        {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    #[test]
    fn arithmetic_stays_inside_the_calendar() {
        let last = Timestamp::EPOCH.plus(Duration::MAX);
        assert_eq!(last.to_string(), "9999-12-30T22:00:00Z");
        assert_eq!(last.plus(Duration::from_secs(1)), last);
        assert_eq!(Timestamp::EPOCH.since(last), Duration::ZERO);
    }

    #[test]
    fn durations_read_like_speech() {
        for (seconds, want) in [(0, "0s"), (45, "45s"), (60, "1m"), (200, "3m20s"), (7_500, "2h5m"), (792_000, "9d4h")]
        {
            assert_eq!(humanize(Duration::from_secs(seconds)), want);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(seconds in -62_135_596_800_i64..253_402_207_200) {
            let time = Timestamp::from_seconds(seconds).unwrap();
            prop_assert_eq!(time.to_string().parse::<Timestamp>(), Ok(time));
        }

        #[test]
        fn no_text_panics(text in ".{0,60}") {
            let _ = text.parse::<Timestamp>();
        }
    }
}
