//! Functions about numbers whose results can be very large, or that would not be the same every time.

use regorus::Value;
use sha2::{Digest as _, Sha256};

use super::{Function, array, elements_fit, text_of};

pub(super) const FUNCTIONS: &[(&str, usize, Function)] = &[
    ("bits.lsh", 2, shift_left),
    ("format_int", 2, format_int),
    ("numbers.range", 2, range),
    ("numbers.range_step", 3, range_step),
    ("product", 1, product),
    ("rand.intn", 2, intn),
    ("to_number", 1, to_number),
];

/// The most bits a number may have.
const MAX_BITS: i64 = 4_096;

fn integer(value: &Value) -> Option<i64> {
    value.as_i64().ok()
}

fn shift_left(arguments: &[Value]) -> Option<Value> {
    let [Value::Number(number), Value::Number(by)] = arguments else { return None };
    if !(0..=MAX_BITS).contains(&by.as_i64()?) {
        return None;
    }
    number.lsh(by).map(Value::from)
}

fn format_int(arguments: &[Value]) -> Option<Value> {
    let [number, base] = arguments else { return None };
    let Value::Number(number) = number else { return None };
    let number = number.floor();
    Some(Value::from(match integer(base)? {
        2 => number.format_bin(),
        8 => number.format_octal(),
        10 => number.format_decimal(),
        16 => number.format_hex(),
        _ => return None,
    }))
}

fn range(arguments: &[Value]) -> Option<Value> {
    let [from, to] = arguments else { return None };
    sequence(integer(from)?, integer(to)?, 1)
}

fn range_step(arguments: &[Value]) -> Option<Value> {
    let [from, to, step] = arguments else { return None };
    let step = integer(step).filter(|step| *step > 0)?;
    sequence(integer(from)?, integer(to)?, step)
}

fn sequence(from: i64, to: i64, step: i64) -> Option<Value> {
    let steps = from.abs_diff(to).checked_div(step.unsigned_abs())?;
    elements_fit(usize::try_from(steps).ok()?.saturating_add(1))?;
    let signed = if from <= to { step } else { step.checked_neg()? };
    let numbers = (0..=i64::try_from(steps).ok()?).filter_map(|count| from.checked_add(signed.checked_mul(count)?));
    Some(array(numbers.map(Value::from)))
}

fn product(arguments: &[Value]) -> Option<Value> {
    let mut product = Value::from(1_u64).as_number().ok()?.clone();
    for factor in super::elements(arguments.first()?)? {
        product = product.mul(factor.as_number().ok()?).ok()?;
        // Digits are about a third of bits.
        if product.format_decimal().len() > 1_500 {
            return None;
        }
    }
    Some(Value::from(product))
}

/// The same number for the same text: policies have no randomness.
fn intn(arguments: &[Value]) -> Option<Value> {
    let [text, below] = arguments else { return None };
    let below = integer(below)?.unsigned_abs();
    let digest = Sha256::digest(text_of(text)?.as_bytes());
    let first = digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    Some(Value::from(first.checked_rem(below).unwrap_or(0)))
}

fn to_number(arguments: &[Value]) -> Option<Value> {
    match arguments.first()? {
        Value::Null => Some(Value::from(0_u64)),
        Value::Bool(bool) => Some(Value::from(u64::from(*bool))),
        Value::Number(number) => Some(Value::from(number.clone())),
        Value::String(text) => number(text),
        _ => None,
    }
}

/// A number as Go reads it: with `+` or zeros in front, without digits on one side of the point, with `_` between digits.
fn number(text: &str) -> Option<Value> {
    let is_digit = |at: Option<usize>| at.and_then(|at| text.as_bytes().get(at)).is_some_and(u8::is_ascii_digit);
    let separates = |(at, _)| is_digit(usize::checked_sub(at, 1)) && is_digit(usize::checked_add(at, 1));
    if !text.match_indices('_').all(separates) {
        return None;
    }
    let digits = text.replace('_', "");
    if !digits.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E')) {
        return None;
    }
    if let Ok(integer) = digits.parse::<i64>() {
        return Some(Value::from(integer));
    }
    digits.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from)
}
