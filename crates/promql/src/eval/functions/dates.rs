//! Parts of dates, in UTC.

use super::super::{EvalTime, Evaluator, Point};
use super::renamed;
use crate::error::Error;
use crate::syntax::ast::Expr;

impl<'a> Evaluator<'a> {
    /// A part of the date of every value, or of the time of evaluation.
    pub(super) fn date(&mut self, name: &str, vector: Option<&'a Expr>, at: EvalTime) -> Result<Vec<Point>, Error> {
        let Some(vector) = vector else {
            let value = part(name, at.time.wrapping_div(1_000));
            return Ok(vec![Point { set: self.space.empty, drop_name: false, value }]);
        };
        let points = self.vector(vector, at)?;
        Ok(renamed(points, |value| part(name, whole_seconds(value))))
    }
}

/// The seconds of a value. What no integer can hold is the smallest one, as in Prometheus on its usual processor.
fn whole_seconds(value: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "the range was just checked")]
    if (-9.223_372_036_854_776e18..9.223_372_036_854_775e18).contains(&value) { value as i64 } else { i64::MIN }
}

const DAY: i128 = 86_400;

fn part(name: &str, seconds: i64) -> f64 {
    let seconds = wrapped(seconds);
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = civil(days);
    let number = match name {
        "year" => year,
        "month" => month,
        "day_of_month" => day,
        // The first day of 1970 was a Thursday.
        "day_of_week" => days.wrapping_add(4).rem_euclid(7),
        "day_of_year" => days.wrapping_sub(since_1970(year, 1, 1)).wrapping_add(1),
        "days_in_month" => {
            let (next_year, next) = if month == 12 { (year.wrapping_add(1), 1) } else { (year, month.wrapping_add(1)) };
            since_1970(next_year, next, 1).wrapping_sub(since_1970(year, month, 1))
        }
        "hour" => second.wrapping_div(3_600),
        _ => second.wrapping_div(60).rem_euclid(60),
    };
    #[expect(clippy::cast_precision_loss, reason = "all numbers of PromQL are floats")]
    let number = number as f64;
    number
}

/// Go counts seconds from a year far before all others and wraps around; so dates at the ends of time do, too.
fn wrapped(seconds: i64) -> i128 {
    /// From Go's first year to 1970.
    const BEFORE: i128 = (292_277_022_400 * 3_652_425 / 10_000 + 306 + 719_162) * DAY;
    let absolute = i128::from(seconds).wrapping_add(BEFORE).rem_euclid(1 << 64);
    absolute.wrapping_sub(BEFORE)
}

/// Year, month and day of a day counted from 1970. Years start in March here, so that the leap day is their last.
fn civil(days: i128) -> (i128, i128, i128) {
    let days = days.wrapping_add(719_468);
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = of_era
        .wrapping_sub(of_era.wrapping_div(1_460))
        .wrapping_add(of_era.wrapping_div(36_524))
        .wrapping_sub(of_era.wrapping_div(146_096))
        .wrapping_div(365);
    let before = year_of_era
        .wrapping_mul(365)
        .wrapping_add(year_of_era.wrapping_div(4))
        .wrapping_sub(year_of_era.wrapping_div(100));
    let of_year = of_era.wrapping_sub(before);
    let shifted = of_year.wrapping_mul(5).wrapping_add(2).wrapping_div(153);
    let day = of_year.wrapping_sub(shifted.wrapping_mul(153).wrapping_add(2).wrapping_div(5)).wrapping_add(1);
    let month = if shifted < 10 { shifted.wrapping_add(3) } else { shifted.wrapping_sub(9) };
    let year = year_of_era.wrapping_add(era.wrapping_mul(400)).wrapping_add(i128::from(month <= 2));
    (year, month, day)
}

/// The days from 1970 to a date.
fn since_1970(year: i128, month: i128, day: i128) -> i128 {
    let year = year.wrapping_sub(i128::from(month <= 2));
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted = month.wrapping_add(9).rem_euclid(12);
    let of_year = shifted.wrapping_mul(153).wrapping_add(2).wrapping_div(5).wrapping_add(day).wrapping_sub(1);
    let of_era = year_of_era
        .wrapping_mul(365)
        .wrapping_add(year_of_era.wrapping_div(4))
        .wrapping_sub(year_of_era.wrapping_div(100))
        .wrapping_add(of_year);
    era.wrapping_mul(146_097).wrapping_add(of_era).wrapping_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_of_known_dates() {
        // 2016-12-31 13:37:00, the last day of a leap year.
        let parts = ["year", "month", "day_of_month", "day_of_week", "day_of_year", "days_in_month", "hour", "minute"];
        let found = parts.map(|name| part(name, 1_483_191_420).to_string());
        assert_eq!(found, ["2016", "12", "31", "6", "366", "31", "13", "37"]);
        let found = parts.map(|name| part(name, -1).to_string());
        assert_eq!(found, ["1969", "12", "31", "3", "365", "31", "23", "59"]);
    }

    proptest! {
        #[test]
        fn a_date_is_the_date_of_its_day(days in -4_000_000_000_000_i128..4_000_000_000_000) {
            let (year, month, day) = civil(days);
            prop_assert_eq!(since_1970(year, month, day), days);
            prop_assert!((1..=12).contains(&month) && (1..=31).contains(&day));
        }
    }
}
