//! `sprintf`, as Go's `fmt` does it, and values as OPA writes them.

use std::fmt::Write as _;

use regorus::Value;

use super::{Function, text_fits, text_of};

pub(super) const FUNCTIONS: &[(&str, usize, Function)] = &[("sprintf", 2, sprintf)];

/// What `sprintf` formats: numbers and texts; everything else is written first.
enum Argument {
    Int(i128),
    /// An integer that is too large for the above, in digits.
    Big(String),
    Float(f64),
    Text(String),
}

impl Argument {
    fn of(value: &Value) -> Self {
        match value {
            Value::Number(_) => match number(value) {
                Number::Int(number) => Argument::Int(number),
                Number::Big(digits) => Argument::Big(digits),
                Number::Float(number) => Argument::Float(number),
            },
            Value::String(text) => Argument::Text(text.to_string()),
            other => Argument::Text(written(other)),
        }
    }

    fn go_type(&self) -> &'static str {
        match self {
            Argument::Int(_) => "int",
            Argument::Big(_) => "*big.Int",
            Argument::Float(_) => "float64",
            Argument::Text(_) => "string",
        }
    }

    fn plain(&self) -> String {
        match self {
            Argument::Int(number) => number.to_string(),
            Argument::Big(digits) => digits.clone(),
            Argument::Float(number) => shortest(*number),
            Argument::Text(text) => text.clone(),
        }
    }
}

/// Flags, width and precision of a verb.
#[derive(Default, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of a verb")]
struct Verb {
    minus: bool,
    plus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

/// No width or precision may be larger: Go stops at a million, a message needs less.
const WIDEST: usize = 100_000;

fn sprintf(arguments: &[Value]) -> Option<Value> {
    let [format, values] = arguments else { return None };
    let format = text_of(format)?;
    let Value::Array(values) = values else { return None };
    let values: Vec<Argument> = values.iter().map(Argument::of).collect();
    let text = formatted(format, &values)?;
    Some(Value::from(text))
}

fn formatted(format: &str, values: &[Argument]) -> Option<String> {
    let mut out = String::new();
    let mut rest = format.chars().peekable();
    let mut next = 0_usize;
    let mut reordered = false;
    while let Some(char) = rest.next() {
        if char != '%' {
            out.push(char);
            continue;
        }
        let mut verb = Verb::default();
        while let Some(flag) = rest.peek() {
            match flag {
                '-' => {
                    verb.minus = true;
                    verb.zero = false;
                }
                '+' => verb.plus = true,
                '#' => verb.sharp = true,
                ' ' => verb.space = true,
                '0' => verb.zero = !verb.minus,
                _ => break,
            }
            rest.next();
        }
        let mut bad_index = false;
        index(&mut rest, values.len(), &mut next, &mut reordered, &mut bad_index);
        if rest.peek() == Some(&'*') {
            rest.next();
            match star(values, &mut next) {
                Some(width) => {
                    verb.minus |= width < 0;
                    verb.width = usize::try_from(width.unsigned_abs()).ok().filter(|width| *width <= WIDEST);
                }
                None => out.push_str("%!(BADWIDTH)"),
            }
        } else {
            verb.width = digits(&mut rest);
        }
        if rest.peek() == Some(&'.') {
            rest.next();
            index(&mut rest, values.len(), &mut next, &mut reordered, &mut bad_index);
            if rest.peek() == Some(&'*') {
                rest.next();
                match star(values, &mut next).and_then(|precision| usize::try_from(precision).ok()) {
                    Some(precision) => verb.precision = Some(precision.min(WIDEST)),
                    None => out.push_str("%!(BADPREC)"),
                }
            } else {
                verb.precision = Some(digits(&mut rest).unwrap_or(0));
            }
        }
        index(&mut rest, values.len(), &mut next, &mut reordered, &mut bad_index);
        let Some(letter) = rest.next() else {
            out.push_str("%!(NOVERB)");
            break;
        };
        match letter {
            '%' => out.push('%'),
            letter if bad_index => {
                let _ = write!(out, "%!{letter}(BADINDEX)");
            }
            letter => match values.get(next) {
                None => {
                    let _ = write!(out, "%!{letter}(MISSING)");
                }
                Some(value) => {
                    next = next.saturating_add(1);
                    out.push_str(&one(&verb, letter, value));
                }
            },
        }
        text_fits(out.len())?;
    }
    if !reordered && next < values.len() {
        let extra: Vec<String> =
            values.iter().skip(next).map(|value| format!("{}={}", value.go_type(), value.plain())).collect();
        let _ = write!(out, "%!(EXTRA {})", extra.join(", "));
    }
    text_fits(out.len())?;
    Some(out)
}

type Rest<'f> = std::iter::Peekable<std::str::Chars<'f>>;

/// `[2]`: which argument comes next.
fn index(rest: &mut Rest<'_>, count: usize, next: &mut usize, reordered: &mut bool, bad: &mut bool) {
    if rest.peek() != Some(&'[') {
        return;
    }
    rest.next();
    *reordered = true;
    let number: String = std::iter::from_fn(|| rest.next_if(|char| *char != ']')).collect();
    rest.next();
    match number.parse::<usize>() {
        Ok(number) if number >= 1 && number <= count => *next = number.saturating_sub(1),
        _ => *bad = true,
    }
}

fn digits(rest: &mut Rest<'_>) -> Option<usize> {
    let digits: String = std::iter::from_fn(|| rest.next_if(char::is_ascii_digit)).collect();
    digits.parse().ok().map(|number: usize| number.min(WIDEST))
}

fn star(values: &[Argument], next: &mut usize) -> Option<i64> {
    let value = values.get(*next)?;
    *next = next.saturating_add(1);
    match value {
        Argument::Int(number) => i64::try_from(*number).ok(),
        _ => None,
    }
}

fn one(verb: &Verb, letter: char, value: &Argument) -> String {
    let bad = || format!("%!{letter}({}={})", value.go_type(), value.plain());
    match (value, letter) {
        (Argument::Text(text), 'v') if verb.sharp => padded(verb, quoted(text), false),
        (Argument::Text(text), 'v' | 's') => padded(verb, truncated(text, verb.precision), false),
        (Argument::Text(text), 'q') => {
            let text = truncated(text, verb.precision);
            let raw = verb.sharp && !text.contains('`') && !text.chars().any(|char| char.is_control() && char != '\t');
            padded(verb, if raw { format!("`{text}`") } else { quoted(&text) }, false)
        }
        (Argument::Text(text), 'x' | 'X') => {
            let mut hex = String::new();
            for byte in text.bytes().take(verb.precision.unwrap_or(usize::MAX)) {
                let _ = if letter == 'x' { write!(hex, "{byte:02x}") } else { write!(hex, "{byte:02X}") };
            }
            padded(verb, hex, false)
        }
        (Argument::Int(number), 'v' | 'd') => integer(verb, *number < 0, number.unsigned_abs().to_string(), ""),
        (Argument::Int(number), 'b') => {
            integer(verb, *number < 0, format!("{:b}", number.unsigned_abs()), if verb.sharp { "0b" } else { "" })
        }
        (Argument::Int(number), 'o') => {
            integer(verb, *number < 0, format!("{:o}", number.unsigned_abs()), if verb.sharp { "0" } else { "" })
        }
        (Argument::Int(number), 'O') => integer(verb, *number < 0, format!("{:o}", number.unsigned_abs()), "0o"),
        (Argument::Int(number), 'x') => {
            integer(verb, *number < 0, format!("{:x}", number.unsigned_abs()), if verb.sharp { "0x" } else { "" })
        }
        (Argument::Int(number), 'X') => {
            integer(verb, *number < 0, format!("{:X}", number.unsigned_abs()), if verb.sharp { "0X" } else { "" })
        }
        (Argument::Int(number), 'c') => {
            let char = u32::try_from(*number).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
            padded(verb, char.to_string(), false)
        }
        (Argument::Int(number), 'q') => {
            let char = u32::try_from(*number).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
            padded(verb, format!("'{}'", char.escape_debug()), false)
        }
        (Argument::Int(number), 'U') => padded(verb, format!("U+{number:04X}"), false),
        (Argument::Big(digits), 'v' | 'd' | 's') => {
            integer(verb, digits.starts_with('-'), digits.trim_start_matches('-').to_owned(), "")
        }
        (Argument::Float(number), 'v' | 'g' | 'G' | 'f' | 'F' | 'e' | 'E') => float(verb, letter, *number),
        (_, 'T') => padded(verb, value.go_type().to_owned(), false),
        _ => bad(),
    }
}

fn truncated(text: &str, precision: Option<usize>) -> String {
    precision.map_or_else(|| text.to_owned(), |precision| text.chars().take(precision).collect())
}

/// Fills up to the width, with zeros between the sign and the digits of a number if the verb says so.
fn padded(verb: &Verb, text: String, number: bool) -> String {
    let length = text.chars().count();
    let missing = verb.width.unwrap_or(0).saturating_sub(length);
    if missing == 0 {
        return text;
    }
    if verb.minus {
        return text + &" ".repeat(missing);
    }
    if !verb.zero {
        return " ".repeat(missing) + &text;
    }
    let sign = text.chars().next().filter(|char| number && matches!(char, '+' | '-' | ' '));
    let digits = sign.map_or(text.as_str(), |sign| text.strip_prefix(sign).unwrap_or_default());
    format!("{}{}{digits}", sign.map(String::from).unwrap_or_default(), "0".repeat(missing))
}

fn integer(verb: &Verb, negative: bool, digits: String, base: &str) -> String {
    let mut verb = verb.clone();
    let missing = verb.precision.unwrap_or(0).saturating_sub(digits.len());
    if verb.precision.is_some() {
        verb.zero = false;
    }
    let sign = match (negative, verb.plus, verb.space) {
        (true, ..) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        _ => "",
    };
    let digits = if verb.precision == Some(0) && digits == "0" { String::new() } else { digits };
    padded(&verb, format!("{sign}{base}{}{digits}", "0".repeat(missing)), true)
}

fn float(verb: &Verb, letter: char, number: f64) -> String {
    let text = match (letter, verb.precision) {
        ('v' | 'g' | 'G', None) => shortest(number),
        ('v' | 'g' | 'G', Some(precision)) => general(number, precision.max(1)),
        ('e' | 'E', precision) => exponent(&format!("{number:.*e}", precision.unwrap_or(6))),
        (_, precision) => format!("{number:.*}", precision.unwrap_or(6)),
    };
    let text = if letter.is_ascii_uppercase() { text.to_uppercase() } else { text };
    let sign = match (text.starts_with('-'), verb.plus, verb.space) {
        (false, true, _) => "+",
        (false, false, true) => " ",
        _ => "",
    };
    padded(verb, format!("{sign}{text}"), true)
}

/// A number with the fewest digits that read back as the same, in Go's form `%v`: with an exponent from 7 digits on.
pub(in crate::rego) fn shortest(number: f64) -> String {
    if number == 0.0 {
        return if number.is_sign_negative() { "-0".to_owned() } else { "0".to_owned() };
    }
    let number = rounded(number);
    let scientific = format!("{number:e}");
    let (_, power) = scientific.split_once('e').unwrap_or((scientific.as_str(), "0"));
    let power: i32 = power.parse().unwrap_or(0);
    if (-4..6).contains(&power) { number.to_string() } else { exponent(&scientific) }
}

/// OPA calculates with more bits than a float has: what differs from a number of 15 digits in the last bits only is that
/// number, such as the sum of 0.1 and 0.2.
fn rounded(number: f64) -> f64 {
    let short: f64 = format!("{number:.14e}").parse().unwrap_or(number);
    let bits = |number: f64| number.abs().to_bits();
    let near = bits(short).abs_diff(bits(number)) <= 2;
    if near && format!("{short:e}").len().saturating_add(2) < format!("{number:e}").len() { short } else { number }
}

/// `%.3g`.
fn general(number: f64, precision: usize) -> String {
    let scientific = format!("{number:.*e}", precision.saturating_sub(1));
    let (digits, power) = scientific.split_once('e').unwrap_or((scientific.as_str(), "0"));
    let power: i32 = power.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
    };
    if power < -4 || power >= i32::try_from(precision).unwrap_or(i32::MAX) {
        exponent(&format!("{}e{power}", trimmed(digits)))
    } else {
        let decimals = i32::try_from(precision).unwrap_or(i32::MAX).saturating_sub(1).saturating_sub(power);
        trimmed(&format!("{number:.*}", usize::try_from(decimals).unwrap_or(0)))
    }
}

/// Go's exponents have a sign and two digits.
fn exponent(scientific: &str) -> String {
    let (digits, power) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let (sign, power) = power.strip_prefix('-').map_or(("+", power), |power| ("-", power));
    format!("{digits}e{sign}{power:0>2}")
}

enum Number {
    Int(i128),
    Big(String),
    Float(f64),
}

fn number(value: &Value) -> Number {
    let text = value.to_string();
    if let Ok(number) = text.parse::<i128>() {
        // Floats that are integers came through JSON: they stay floats, as in Go.
        return match value.as_f64() {
            Ok(float) if is_float(value) => Number::Float(float),
            _ => Number::Int(number),
        };
    }
    if text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit()) {
        return Number::Big(text);
    }
    value.as_f64().map_or(Number::Big(text), Number::Float)
}

/// Whether a number is kept as a float: see [`crate::rego::values`].
fn is_float(value: &Value) -> bool {
    // Only floats are written with decimals.
    matches!(value, Value::Number(number) if number.format_decimal_with_width(1).contains('.'))
}

/// A number as OPA writes it outside of `sprintf`.
fn number_text(value: &Value) -> String {
    match number(value) {
        Number::Int(number) => number.to_string(),
        Number::Big(digits) => digits,
        Number::Float(number) => shortest(number),
    }
}

/// A value as OPA writes it: `{"a": [1, 2]}`, `set()`.
pub(in crate::rego) fn written(value: &Value) -> String {
    let mut out = String::new();
    write_value(value, &mut out, 0);
    out
}

fn write_value(value: &Value, out: &mut String, depth: usize) {
    // Values deeper than the parser of JSON reads cannot occur; texts over the limit are refused by who asked.
    if depth > 512 || out.len() > super::MAX_TEXT {
        return;
    }
    let below = depth.saturating_add(1);
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Value::Number(_) => out.push_str(&number_text(value)),
        Value::String(text) => out.push_str(&quoted(text)),
        Value::Array(array) => {
            out.push('[');
            for (number, element) in array.iter().enumerate() {
                out.push_str(if number > 0 { ", " } else { "" });
                write_value(element, out, below);
            }
            out.push(']');
        }
        Value::Set(set) if set.is_empty() => out.push_str("set()"),
        Value::Set(set) => {
            out.push('{');
            for (number, element) in set.iter_sorted().enumerate() {
                out.push_str(if number > 0 { ", " } else { "" });
                write_value(element, out, below);
            }
            out.push('}');
        }
        Value::Object(object) => {
            out.push('{');
            for (number, (key, element)) in object.iter_sorted().enumerate() {
                out.push_str(if number > 0 { ", " } else { "" });
                write_value(key, out, below);
                out.push_str(": ");
                write_value(element, out, below);
            }
            out.push('}');
        }
        Value::Undefined => {}
    }
}

/// A text in quotes, as Go's `strconv.Quote`.
pub(in crate::rego) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_add(2));
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\u{b}' => out.push_str("\\v"),
            char if (char as u32) < 0x20 || char as u32 == 0x7f => {
                let _ = write!(out, "\\x{:02x}", char as u32);
            }
            '\u{80}'..='\u{a0}' | '\u{ad}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                let _ = write!(out, "\\u{:04x}", char as u32);
            }
            char => out.push(char),
        }
    }
    out.push('"');
    out
}
