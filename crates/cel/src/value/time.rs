//! Times and durations: reading and writing them as Go does, and the parts that expressions ask for.

#![expect(clippy::format_push_string, reason = "writing to a text does not fail, and this is how it reads best")]

mod zone;

pub(crate) use zone::zone;

/// A point in time, with the offset that it is written in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timestamp {
    /// Seconds since 1970, in UTC.
    pub(crate) seconds: i64,
    pub(crate) nanos: u32,
    /// Seconds east of UTC.
    pub(crate) offset: i32,
}

/// The first second of the year 1, and the last of the year 9999.
const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;

const SECOND: i64 = 1_000_000_000;

impl Timestamp {
    /// Whether it lies in the years 1 to 9999.
    pub(crate) fn is_in_range(self) -> bool {
        (FIRST..=LAST).contains(&self.seconds)
    }

    /// The time by which times are compared.
    pub(crate) fn instant(self) -> (i64, u32) {
        (self.seconds, self.nanos)
    }

    /// The time so many nanoseconds later; nothing outside the years 1 to 9999.
    pub(crate) fn plus(self, nanoseconds: i64) -> Option<Timestamp> {
        let nanos = i64::from(self.nanos).checked_add(nanoseconds.rem_euclid(SECOND))?;
        let seconds = self.seconds.checked_add(nanoseconds.div_euclid(SECOND))?.checked_add(nanos / SECOND)?;
        let nanos = u32::try_from(nanos % SECOND).ok()?;
        let time = Timestamp { seconds, nanos, offset: self.offset };
        time.is_in_range().then_some(time)
    }

    /// The nanoseconds from another time to this one.
    pub(crate) fn since(self, other: Timestamp) -> Option<i64> {
        let seconds = self.seconds.checked_sub(other.seconds)?.checked_mul(SECOND)?;
        seconds.checked_add(i64::from(self.nanos).checked_sub(i64::from(other.nanos))?)
    }

    /// The date and time of day in its own offset.
    pub(crate) fn civil(self) -> Civil {
        Civil::of_seconds(self.seconds.saturating_add(i64::from(self.offset)))
    }

    /// RFC 3339 with as many digits of the second as it has.
    pub(crate) fn text(self) -> String {
        let civil = self.civil();
        let mut text = format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            civil.year, civil.month, civil.day, civil.hour, civil.minute, civil.second
        );
        if self.nanos > 0 {
            let digits = format!(".{:09}", self.nanos);
            text.push_str(digits.trim_end_matches('0'));
        }
        if self.offset == 0 {
            text.push('Z');
        } else {
            let minutes = self.offset.unsigned_abs() / 60;
            let sign = if self.offset < 0 { '-' } else { '+' };
            text.push_str(&format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60));
        }
        text
    }
}

/// A date and time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// From 1.
    pub(crate) month: i64,
    /// From 1.
    pub(crate) day: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
    /// From 0, which is Sunday.
    pub(crate) weekday: i64,
    /// From 0.
    pub(crate) day_of_year: i64,
}

impl Civil {
    /// The date and time of seconds since 1970, by the calendar without time zones.
    pub(crate) fn of_seconds(seconds: i64) -> Civil {
        let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        // Eras of 400 years that begin in March: leap days come last.
        let shifted = days.saturating_add(719_468);
        let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year_of_era + era.saturating_mul(400) + i64::from(month <= 2);
        Civil {
            year,
            month,
            day,
            hour: rest / 3_600,
            minute: rest / 60 % 60,
            second: rest % 60,
            weekday: (days.rem_euclid(7) + 4) % 7,
            day_of_year: days.saturating_sub(days_before(year, 1, 1)),
        }
    }
}

/// Days from 1970 to a date.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Reads a time as Go's `time.Parse` does with RFC 3339; the offset may be missing unless it is `required`.
pub(crate) fn parse_timestamp(text: &str, required: bool) -> Option<Timestamp> {
    let mut reader = Reader { rest: text.as_bytes() };
    let days = reader.date()?;
    reader.expect(b'T')?;
    let hour = reader.number(1, 2)?;
    reader.expect(b':')?;
    let minute = reader.number(2, 2)?;
    reader.expect(b':')?;
    let second = reader.number(2, 2)?;
    let nanos = reader.fraction();
    let offset = match reader.rest {
        [] if !required => 0,
        _ => reader.offset()?,
    };
    if !reader.rest.is_empty() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - i64::from(offset);
    Some(Timestamp { seconds, nanos, offset })
}

/// Reads a date, `2006-01-02`, as the time at which it begins in UTC.
pub(crate) fn parse_date(text: &str) -> Option<Timestamp> {
    let mut reader = Reader { rest: text.as_bytes() };
    let days = reader.date()?;
    reader.rest.is_empty().then_some(Timestamp { seconds: days * 86_400, nanos: 0, offset: 0 })
}

struct Reader<'t> {
    rest: &'t [u8],
}

impl Reader<'_> {
    fn number(&mut self, least: usize, most: usize) -> Option<i64> {
        let digits = self.rest.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        if digits < least {
            return None;
        }
        let (number, rest) = self.rest.split_at_checked(digits)?;
        self.rest = rest;
        Some(number.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
    }

    fn expect(&mut self, wanted: u8) -> Option<()> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        (*first == wanted).then_some(())
    }

    /// A date, as days since 1970.
    fn date(&mut self) -> Option<i64> {
        let year = self.number(4, 4)?;
        self.expect(b'-')?;
        let month = self.number(2, 2)?;
        self.expect(b'-')?;
        let day = self.number(2, 2)?;
        let valid = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
        valid.then(|| days_before(year, month, day))
    }

    /// Nanoseconds behind a point or comma, if digits follow it; what lies below a nanosecond is cut off.
    fn fraction(&mut self) -> u32 {
        let [b'.' | b',', rest @ ..] = self.rest else { return 0 };
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return 0;
        }
        let taken = rest.get(..digits).unwrap_or_default();
        self.rest = rest.get(digits..).unwrap_or_default();
        let padded = taken.iter().copied().chain(std::iter::repeat(b'0')).take(9);
        padded.fold(0, |value, digit| value * 10 + u32::from(digit - b'0'))
    }

    /// `Z` or `+hh:mm`. As in Go, 24 hours and 60 minutes are accepted.
    fn offset(&mut self) -> Option<i32> {
        let (sign, rest) = self.rest.split_first()?;
        self.rest = rest;
        let sign = match sign {
            b'Z' => return Some(0),
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let hours = self.number(2, 2)?;
        self.expect(b':')?;
        let minutes = self.number(2, 2)?;
        if hours > 24 || minutes > 60 {
            return None;
        }
        i32::try_from(sign * (hours * 3_600 + minutes * 60)).ok()
    }
}

/// The nanoseconds of the longest negative duration.
const MOST: u64 = 1 << 63;

/// Reads a duration as Go's `time.ParseDuration` does, in nanoseconds.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0_u64;
    while !rest.is_empty() {
        if !rest.starts_with(|char: char| char == '.' || char.is_ascii_digit()) {
            return None;
        }
        let whole_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, behind) = rest.split_at_checked(whole_digits)?;
        let mut value = 0_u64;
        for digit in whole.bytes() {
            value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
            if value > MOST {
                return None;
            }
        }
        let mut fraction = "";
        let mut behind = behind;
        if let Some(after) = behind.strip_prefix('.') {
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            (fraction, behind) = after.split_at_checked(digits)?;
            if whole.is_empty() && fraction.is_empty() {
                return None;
            }
        }
        let unit_end = behind.find(|char: char| char == '.' || char.is_ascii_digit()).unwrap_or(behind.len());
        let (unit, after) = behind.split_at_checked(unit_end)?;
        let unit: u64 = match unit {
            "ns" => 1,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        value = value.checked_mul(unit).filter(|value| *value <= MOST)?;
        value = value.checked_add(fraction_of(fraction, unit)).filter(|value| *value <= MOST)?;
        total = total.checked_add(value).filter(|total| *total <= MOST)?;
        rest = after;
    }
    if negative { 0_i64.checked_sub_unsigned(total) } else { i64::try_from(total).ok() }
}

/// The fraction of a unit, with as many digits as fit.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as in Go")]
fn fraction_of(digits: &str, unit: u64) -> u64 {
    let (mut value, mut scale) = (0_u64, 1.0_f64);
    for digit in digits.bytes() {
        let next = value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit - b'0')));
        let Some(next) = next.filter(|next| *next <= 1 << 63) else { break };
        value = next;
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

/// Reads a duration as schemas have it: as above, or words such as `2 days`.
pub(crate) fn parse_schema_duration(text: &str) -> Option<i64> {
    if let Some(duration) = parse_duration(text) {
        return Some(duration);
    }
    let mut total = 0_i64;
    let mut found = false;
    let mut rest = text;
    while let Some(at) = rest.find(|char: char| char.is_ascii_digit()) {
        rest = rest.get(at..)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, behind) = rest.split_at_checked(digits)?;
        let word_at = behind.trim_start_matches(['\t', '\n', '\u{c}', '\r', ' ']);
        let letters =
            word_at.find(|char: char| !(char.is_ascii_alphabetic() || char == '\u{b5}')).unwrap_or(word_at.len());
        let (word, after) = word_at.split_at_checked(letters)?;
        rest = if word.is_empty() { behind } else { after };
        if word.is_empty() {
            continue;
        }
        let factor: i64 = number.parse().ok()?;
        if let Some(unit) = unit_of(&word.to_lowercase()) {
            total = total.wrapping_add(factor.wrapping_mul(unit));
            found = true;
        }
    }
    found.then_some(total)
}

/// The length of a unit by its name, of which the last spelling may be a beginning.
fn unit_of(word: &str) -> Option<i64> {
    const UNITS: &[(&[&str], i64)] = &[
        (&["ns", "nano"], 1),
        (&["us", "\u{b5}s", "micro"], 1_000),
        (&["ms", "milli"], 1_000_000),
        (&["s", "sec"], 1_000_000_000),
        (&["m", "min"], 60_000_000_000),
        (&["h", "hr", "hour"], 3_600_000_000_000),
        (&["d", "day"], 86_400_000_000_000),
        (&["w", "wk", "week"], 604_800_000_000_000),
    ];
    let matches =
        |spellings: &[&str]| spellings.contains(&word) || spellings.last().is_some_and(|last| word.starts_with(last));
    UNITS.iter().find(|(spellings, _)| matches(spellings)).map(|(_, unit)| *unit)
}

#[cfg(test)]
mod tests;
