//! Quantities such as `1.5Gi`, with the precision and the limits of the API server's.
//!
//! A quantity is an integer of 64 bits with a power of ten where it fits, because functions ask for that; otherwise it is
//! a decimal number with as many digits as it needs.

use std::cmp::Ordering;

/// The digits that a number may have; far more than any quantity of an object has.
const MAX_DIGITS: usize = 1_000;

/// A number with its unit taken into account.
#[derive(Debug, Clone)]
pub(crate) enum Quantity {
    /// `value` times ten to the power of `scale`.
    Small {
        value: i64,
        scale: i32,
    },
    Large(Decimal),
}

/// A decimal number of any length.
#[derive(Debug, Clone)]
pub(crate) struct Decimal {
    negative: bool,
    /// From the last to the first, without zeros at the front.
    digits: Vec<u8>,
    /// How many of them stand behind the point; negative if zeros are to be added.
    scale: i32,
}

enum Unit {
    /// A power of ten.
    Decimal(i32),
    /// A power of two.
    Binary(u32),
}

fn unit(suffix: &str) -> Option<Unit> {
    Some(match suffix {
        "n" => Unit::Decimal(-9),
        "u" => Unit::Decimal(-6),
        "m" => Unit::Decimal(-3),
        "" => Unit::Decimal(0),
        "k" => Unit::Decimal(3),
        "M" => Unit::Decimal(6),
        "G" => Unit::Decimal(9),
        "T" => Unit::Decimal(12),
        "P" => Unit::Decimal(15),
        "E" => Unit::Decimal(18),
        "Ki" => Unit::Binary(10),
        "Mi" => Unit::Binary(20),
        "Gi" => Unit::Binary(30),
        "Ti" => Unit::Binary(40),
        "Pi" => Unit::Binary(50),
        "Ei" => Unit::Binary(60),
        _ => {
            let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            Unit::Decimal(i32::try_from(exponent).ok()?)
        }
    })
}

impl Quantity {
    /// Reads a quantity.
    pub(crate) fn parse(text: &str) -> Option<Quantity> {
        if text.is_empty() {
            return None;
        }
        let negative = text.starts_with('-');
        let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
        let rest = rest.trim_start_matches('0');
        let digits_end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
        let (whole, rest) = rest.split_at_checked(digits_end)?;
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => {
                let end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
                rest.split_at_checked(end)?
            }
            None => ("", rest),
        };
        let unit = unit(suffix)?;
        // As in the API server, a unit without a number is zero.
        let whole = if whole.is_empty() { "0" } else { whole };
        Quantity::small(negative, whole, fraction, &unit).or_else(|| Quantity::large(negative, whole, fraction, &unit))
    }

    fn small(negative: bool, whole: &str, fraction: &str, unit: &Unit) -> Option<Quantity> {
        let (scale, factor) = match unit {
            Unit::Decimal(exponent) => {
                if whole.len().saturating_add(fraction.len()) > 18 {
                    return None;
                }
                (*exponent, 1_i64)
            }
            Unit::Binary(exponent) => {
                let precision = 14_i64 - i64::try_from(whole.len()).ok()? - i64::from(exponent * 3 / 10);
                if !fraction.is_empty() || precision < 0 {
                    return None;
                }
                (0, 1_i64.checked_shl(*exponent)?)
            }
        };
        let scale = scale.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        if scale < -9 {
            return None;
        }
        let value: i64 = format!("{whole}{fraction}").parse().ok()?;
        let value = value.checked_mul(factor)?;
        Some(Quantity::Small { value: if negative { -value } else { value }, scale })
    }

    fn large(negative: bool, whole: &str, fraction: &str, unit: &Unit) -> Option<Quantity> {
        if whole.len().saturating_add(fraction.len()) > MAX_DIGITS {
            return None;
        }
        let digits = whole.bytes().chain(fraction.bytes()).rev().map(|byte| byte.wrapping_sub(b'0')).collect();
        let mut number = Decimal { negative: false, digits, scale: i32::try_from(fraction.len()).ok()? };
        number.trim();
        let mut binary = false;
        match unit {
            Unit::Decimal(exponent) => number.scale = number.scale.checked_sub(*exponent)?,
            Unit::Binary(exponent) => {
                binary = true;
                number.double(*exponent);
            }
        }
        if !number.digits.is_empty() {
            number.round_up(9)?;
        }
        let largest = Decimal::of(i64::MAX, 0);
        if binary && number.compare(&largest).is_gt() {
            number = largest;
        }
        number.negative = negative && !number.digits.is_empty();
        Some(Quantity::Large(number))
    }

    fn decimal(&self) -> Decimal {
        match self {
            Quantity::Small { value, scale } => Decimal::of(*value, *scale),
            Quantity::Large(decimal) => decimal.clone(),
        }
    }

    /// The sum of two quantities; nothing if it has too many digits.
    pub(crate) fn plus(&self, other: &Quantity) -> Option<Quantity> {
        if let (Quantity::Small { value: a, scale: s }, Quantity::Small { value: b, scale: t }) = (self, other)
            && let Some((value, scale)) = add_small(*a, *s, *b, *t)
        {
            return Some(Quantity::Small { value, scale });
        }
        Some(Quantity::Large(self.decimal().plus(&other.decimal())?))
    }

    /// The difference of two quantities; nothing if it has too many digits.
    pub(crate) fn minus(&self, other: &Quantity) -> Option<Quantity> {
        let negated = match other {
            Quantity::Small { value, scale } => match value.checked_neg() {
                Some(value) => Quantity::Small { value, scale: *scale },
                None => Quantity::Large(Decimal::of(*value, *scale).negated()),
            },
            Quantity::Large(decimal) => Quantity::Large(decimal.clone().negated()),
        };
        self.plus(&negated)
    }

    pub(crate) fn compare(&self, other: &Quantity) -> Ordering {
        self.decimal().compare(&other.decimal())
    }

    pub(crate) fn sign(&self) -> i64 {
        match self {
            Quantity::Small { value, .. } => value.signum(),
            Quantity::Large(decimal) if decimal.digits.is_empty() => 0,
            Quantity::Large(decimal) => {
                if decimal.negative {
                    -1
                } else {
                    1
                }
            }
        }
    }

    /// The integer that it is written as; a large number or a fraction of one is none, whatever its value.
    pub(crate) fn integer(&self) -> Option<i64> {
        let Quantity::Small { value, scale } = self else { return None };
        scale_up(*value, u32::try_from(*scale).ok()?)
    }

    #[expect(clippy::cast_precision_loss, reason = "the approximate value is wanted")]
    pub(crate) fn approximate(&self) -> f64 {
        let (base, exponent) = match self {
            Quantity::Small { value, scale } => (*value as f64, *scale),
            Quantity::Large(decimal) => {
                let base: f64 = decimal.digit_text().parse().unwrap_or(0.0);
                (if decimal.negative { -base } else { base }, -decimal.scale)
            }
        };
        if exponent == 0 { base } else { base * power_of_ten(exponent) }
    }

    pub(crate) fn text(&self) -> String {
        let decimal = self.decimal();
        let sign = if decimal.negative { "-" } else { "" };
        let digits = decimal.digit_text();
        let scale = decimal.scale;
        match usize::try_from(scale) {
            Ok(0) => format!("{sign}{digits}"),
            Ok(scale) if scale <= MAX_DIGITS => {
                let padded = format!("{digits:0>width$}", width = scale.saturating_add(1));
                let (whole, fraction) =
                    padded.split_at_checked(padded.len().saturating_sub(scale)).unwrap_or((&padded, ""));
                let fraction = fraction.trim_end_matches('0');
                if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
            }
            _ => match usize::try_from(scale.unsigned_abs()) {
                Ok(zeros) if scale < 0 && zeros <= MAX_DIGITS && digits != "0" => {
                    format!("{sign}{digits}{}", "0".repeat(zeros))
                }
                _ => format!("{sign}{digits}e{}", scale.saturating_neg()),
            },
        }
    }
}

/// Powers of ten as Go's `math.Pow10` has them.
fn power_of_ten(exponent: i32) -> f64 {
    let steps = exponent.unsigned_abs();
    let power = |text: String| text.parse::<f64>().unwrap_or(0.0);
    let (large, small) = (steps / 32 * 32, steps % 32);
    if exponent > 308 {
        f64::INFINITY
    } else if exponent >= 0 {
        power(format!("1e{large}")) * power(format!("1e{small}"))
    } else if exponent >= -323 {
        power(format!("1e-{large}")) / power(format!("1e{small}"))
    } else {
        0.0
    }
}

fn scale_up(value: i64, scale: u32) -> Option<i64> {
    if value == 0 { Some(0) } else { value.checked_mul(10_i64.checked_pow(scale)?) }
}

fn add_small(a: i64, s: i32, b: i64, t: i32) -> Option<(i64, i32)> {
    if b == 0 {
        return Some((a, s));
    }
    if a == 0 {
        return Some((b, t));
    }
    let scale = s.min(t);
    let a = scale_up(a, u32::try_from(s.checked_sub(scale)?).ok()?)?;
    let b = scale_up(b, u32::try_from(t.checked_sub(scale)?).ok()?)?;
    Some((a.checked_add(b)?, scale))
}

impl Decimal {
    fn of(value: i64, scale: i32) -> Decimal {
        let digits = value.unsigned_abs().to_string();
        let digits = digits.bytes().rev().map(|byte| byte.wrapping_sub(b'0')).collect();
        let mut number = Decimal { negative: value < 0, digits, scale: scale.saturating_neg() };
        number.trim();
        number
    }

    fn trim(&mut self) {
        while self.digits.last() == Some(&0) {
            self.digits.pop();
        }
        if self.digits.is_empty() {
            self.negative = false;
        }
    }

    fn negated(mut self) -> Decimal {
        self.negative = !self.negative && !self.digits.is_empty();
        self
    }

    fn digit_text(&self) -> String {
        if self.digits.is_empty() {
            return "0".to_owned();
        }
        self.digits.iter().rev().map(|digit| char::from(b'0'.saturating_add(*digit))).collect()
    }

    /// Multiplies by a power of two.
    fn double(&mut self, exponent: u32) {
        let factor = 1_u64.checked_shl(exponent).unwrap_or(0);
        let mut carry = 0_u128;
        for digit in &mut self.digits {
            let product = u128::from(*digit) * u128::from(factor) + carry;
            *digit = u8::try_from(product % 10).unwrap_or(0);
            carry = product / 10;
        }
        while carry > 0 {
            self.digits.push(u8::try_from(carry % 10).unwrap_or(0));
            carry /= 10;
        }
    }

    /// The same number with so many digits behind the point, rounded away from zero.
    fn round_up(&mut self, scale: i32) -> Option<()> {
        let missing = i64::from(scale) - i64::from(self.scale);
        if missing >= 0 {
            let missing = usize::try_from(missing).ok()?;
            if missing.saturating_add(self.digits.len()) > MAX_DIGITS {
                return None;
            }
            self.digits.splice(0..0, std::iter::repeat_n(0, missing));
        } else {
            let dropped = usize::try_from(-missing).ok()?.min(self.digits.len());
            let rest: Vec<u8> = self.digits.drain(..dropped).collect();
            if rest.iter().any(|digit| *digit != 0) {
                let mut carried = false;
                for digit in &mut self.digits {
                    if *digit < 9 {
                        *digit += 1;
                        carried = true;
                        break;
                    }
                    *digit = 0;
                }
                if !carried {
                    self.digits.push(1);
                }
            }
        }
        self.scale = scale;
        Some(())
    }

    /// Compares by size first, so that no zeros are added to numbers with large exponents.
    fn compare(&self, other: &Decimal) -> Ordering {
        let sign = |number: &Decimal| match (number.digits.is_empty(), number.negative) {
            (true, _) => 0,
            (_, true) => -1,
            _ => 1,
        };
        let magnitude =
            |number: &Decimal| i64::try_from(number.digits.len()).unwrap_or(i64::MAX) - i64::from(number.scale);
        let signs = sign(self).cmp(&sign(other));
        if signs.is_ne() || sign(self) == 0 {
            return signs;
        }
        let sizes = magnitude(self).cmp(&magnitude(other)).then_with(|| {
            let length = self.digits.len().max(other.digits.len());
            let padded = |number: &Decimal| {
                let mut digits: Vec<u8> = number.digits.iter().rev().copied().collect();
                digits.resize(length, 0);
                digits
            };
            padded(self).cmp(&padded(other))
        });
        if self.negative { sizes.reverse() } else { sizes }
    }

    /// The same number with more digits behind the point.
    fn extended(&self, scale: i32) -> Option<Vec<u8>> {
        let missing = usize::try_from(i64::from(scale) - i64::from(self.scale)).ok()?;
        if missing.saturating_add(self.digits.len()) > MAX_DIGITS {
            return None;
        }
        let zeros = std::iter::repeat_n(0, missing);
        Some(zeros.chain(self.digits.iter().copied()).collect())
    }

    fn plus(&self, other: &Decimal) -> Option<Decimal> {
        let scale = self.scale.max(other.scale);
        let (a, b) = (self.extended(scale)?, other.extended(scale)?);
        let length = a.len().max(b.len()).saturating_add(1);
        let signed = |digits: &[u8], negative: bool, at: usize| {
            let digit = i16::from(digits.get(at).copied().unwrap_or(0));
            if negative { -digit } else { digit }
        };
        let sum = |flip: bool| {
            let mut digits = Vec::with_capacity(length);
            let mut carry = 0_i16;
            for at in 0..length {
                let digit = signed(&a, self.negative != flip, at) + signed(&b, other.negative != flip, at) + carry;
                digits.push(u8::try_from(digit.rem_euclid(10)).unwrap_or(0));
                carry = digit.div_euclid(10);
            }
            (digits, carry)
        };
        let (digits, carry) = sum(false);
        let negative = carry < 0;
        let digits = if negative { sum(true).0 } else { digits };
        let mut number = Decimal { negative, digits, scale };
        number.trim();
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Quantity {
        Quantity::parse(text).unwrap()
    }

    #[test]
    fn quantities_are_read() {
        for (text, shown, integer) in [
            ("0", "0", Some(0)),
            ("1Ki", "1024", Some(1024)),
            ("1.5Gi", "1610612736", None),
            ("100m", "0.1", None),
            ("1000m", "1", None),
            ("1e3", "1000", Some(1000)),
            ("-2k", "-2000", Some(-2000)),
            ("0.0000000001", "0.000000001", None),
            ("9Ei", "9223372036854775807", None),
            ("123456789012345678901", "123456789012345678901", None),
        ] {
            assert_eq!(read(text).integer(), integer, "{text}");
            let number = read(text);
            let expected = Decimal::of(0, 0).plus(&read(shown).decimal()).unwrap();
            assert!(number.decimal().compare(&expected).is_eq(), "{text}: {}", number.text());
        }
        for text in ["", "K", "1K", "1e", "abc", "1.2.3", "1 Ki", "1e1000000000000"] {
            assert!(Quantity::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn quantities_are_added_and_compared() {
        assert!(read("1").plus(&read("500m")).unwrap().compare(&read("1.5")).is_eq());
        assert!(read("1").minus(&read("2")).unwrap().compare(&read("-1")).is_eq());
        assert!(read("9223372036854775807").plus(&read("1")).unwrap().compare(&read("9223372036854775808")).is_eq());
        assert!(read("1e400").compare(&read("1e300")).is_gt());
        assert!(read("-1Gi").compare(&read("1")).is_lt());
        assert_eq!(read("-5").sign(), -1);
        assert!((read("1.5Gi").approximate() - 1_610_612_736.0).abs() < 1e-3);
    }
}
