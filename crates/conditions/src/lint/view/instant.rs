//! `lastTransitionTime` in seconds, cheaply.
//!
//! Nearly every stored time has the one form the API server writes; it is checked byte by byte and counted by calendar
//! arithmetic, and only other forms go to the general parser.

use clearway_core::Timestamp;

/// Seconds since 1970 of an RFC 3339 time.
pub(crate) fn seconds(text: &str) -> Option<i64> {
    common(text.as_bytes()).or_else(|| text.parse::<Timestamp>().ok().map(Timestamp::as_seconds))
}

/// The form `2024-05-01T12:00:00Z`.
pub(crate) fn common(text: &[u8]) -> Option<i64> {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2, b'Z'] = text else {
        return None;
    };
    let pair = |tens: u8, ones: u8| {
        (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
    };
    let year = pair(y1, y2)? * 100 + pair(y3, y4)?;
    let (month, day) = (pair(m1, m2)?, pair(d1, d2)?);
    let (hour, minute, second) = (pair(h1, h2)?, pair(n1, n2)?, pair(s1, s2)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => return None,
    };
    if !(1..=days).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(days_from_civil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// Days since 1970 of a date of the Gregorian calendar, with the year counted from March so that a leap day ends it.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn other_forms_go_to_the_general_parser_and_bad_ones_are_refused() {
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("1970-01-01T01:00:00.5+01:00"), Some(0));
        assert_eq!(seconds("0001-01-01T00:00:00Z"), Some(-62_135_596_800));
        for text in ["2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01", "never", ""]
        {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_cheap_way_agrees_with_the_general_parser(seconds in -62_135_596_800_i64..253_402_207_200) {
            let text = Timestamp::from_seconds(seconds).unwrap().to_string();
            prop_assert_eq!(common(text.as_bytes()), Some(seconds));
        }

        #[test]
        fn what_the_cheap_way_accepts_the_general_parser_accepts(text in "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9]Z") {
            if let Some(seconds) = common(text.as_bytes()) {
                prop_assert_eq!(text.parse::<Timestamp>().map(Timestamp::as_seconds).ok(), Some(seconds));
            }
        }
    }
}
