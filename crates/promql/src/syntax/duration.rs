//! Durations: `1h30m` and its like, as milliseconds.
//!
//! Prometheus counts days of 24 hours, weeks of 7 days and years of 365 days, wants the units in falling order, and
//! holds no more than some 292 years.

use std::fmt;

/// A signed number of milliseconds. Prints as PromQL writes a duration, without the sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Millis(pub i64);

/// The units in the order in which they may follow each other.
const UNITS: [(&str, i64); 7] = [
    ("y", 365 * 24 * 3_600_000),
    ("w", 7 * 24 * 3_600_000),
    ("d", 24 * 3_600_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// What Prometheus can hold: an `i64` of nanoseconds.
const LONGEST: i64 = i64::MAX / 1_000_000;

/// Why a text is no duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DurationError {
    /// It is not written as one.
    Form,
    /// It is longer than some 292 years.
    Range,
}

impl Millis {
    /// Reads `1h30m` and its like.
    pub(crate) fn parse(text: &str) -> Result<Millis, DurationError> {
        let mut rest = text;
        let mut units = UNITS.iter();
        let mut total: i64 = 0;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (number, tail) = rest.split_at(digits);
            let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(letters);
            let Some((_, millis)) = units.find(|(name, _)| *name == unit) else { return Err(DurationError::Form) };
            if number.is_empty() {
                return Err(DurationError::Form);
            }
            let number: i64 = number.parse().map_err(|_| DurationError::Range)?;
            let part = number.checked_mul(*millis).ok_or(DurationError::Range)?;
            total = total.checked_add(part).ok_or(DurationError::Range)?;
            rest = tail;
        }
        match total {
            _ if text.is_empty() => Err(DurationError::Form),
            _ if total > LONGEST => Err(DurationError::Range),
            _ => Ok(Millis(total)),
        }
    }

    /// The duration of so many seconds, to the nearest millisecond; nothing if it is longer than Prometheus can hold.
    pub(crate) fn from_seconds(seconds: f64) -> Option<Millis> {
        let millis = (seconds * 1_000.0).round();
        #[expect(clippy::cast_precision_loss, reason = "the bound need not be exact to the millisecond")]
        let fits = millis.abs() <= LONGEST as f64;
        #[expect(clippy::cast_possible_truncation, reason = "within the range of i64, as just seen")]
        fits.then_some(Millis(millis as i64))
    }

    /// The seconds.
    #[expect(clippy::cast_precision_loss, reason = "Prometheus counts seconds as a float, too")]
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1_000.0
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.unsigned_abs();
        if rest == 0 {
            return f.write_str("0s");
        }
        for (unit, millis) in UNITS {
            let millis = millis.unsigned_abs();
            let count = rest.checked_div(millis).unwrap_or(0);
            // Weeks and years only if nothing is left: "8d" and "400d" read better than "1w1d" and "1y5w".
            let whole = rest.is_multiple_of(millis);
            if count > 0 && (whole || !matches!(unit, "y" | "w")) {
                write!(f, "{count}{unit}")?;
                rest = rest.saturating_sub(count.saturating_mul(millis));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_read_as_prometheus_reads_them() {
        for (text, expected) in [
            ("0s", Ok(0)),
            ("5m", Ok(300_000)),
            ("1h30m", Ok(5_400_000)),
            ("1d", Ok(86_400_000)),
            ("2w", Ok(14 * 86_400_000)),
            ("1y", Ok(365 * 86_400_000)),
            ("1s5ms", Ok(1_005)),
            ("5ms1s", Err(DurationError::Form)),
            ("1m1m", Err(DurationError::Form)),
            ("1hs", Err(DurationError::Form)),
            ("m", Err(DurationError::Form)),
            ("", Err(DurationError::Form)),
            ("300y", Err(DurationError::Range)),
            ("99999999999999999999s", Err(DurationError::Range)),
        ] {
            assert_eq!(Millis::parse(text), expected.map(Millis), "{text}");
        }
    }

    #[test]
    fn seconds_out_of_range_are_no_duration() {
        assert_eq!(Millis::from_seconds(1e30), None);
        assert_eq!(Millis::from_seconds(f64::NAN), None);
        assert_eq!(Millis::from_seconds(f64::INFINITY), None);
        assert_eq!(Millis::from_seconds(-0.5), Some(Millis(-500)));
    }

    proptest! {
        #[test]
        fn a_printed_duration_reads_back(millis in 0..=LONGEST) {
            prop_assert_eq!(Millis::parse(&Millis(millis).to_string()), Ok(Millis(millis)));
        }
    }
}
