//! Go's layouts of times: a layout is the time `Mon Jan 2 15:04:05 MST 2006`, written as times are to be written.

use std::fmt::Write as _;

use jiff::{Timestamp, Zoned};

/// The names that OPA has for layouts.
pub(super) fn named(name: &str) -> Option<&'static str> {
    Some(match name {
        "ANSIC" => "Mon Jan _2 15:04:05 2006",
        "UnixDate" => "Mon Jan _2 15:04:05 MST 2006",
        "RubyDate" => "Mon Jan 02 15:04:05 -0700 2006",
        "RFC822" => "02 Jan 06 15:04 MST",
        "RFC822Z" => "02 Jan 06 15:04 -0700",
        "RFC850" => "Monday, 02-Jan-06 15:04:05 MST",
        "RFC1123" => "Mon, 02 Jan 2006 15:04:05 MST",
        "RFC1123Z" => "Mon, 02 Jan 2006 15:04:05 -0700",
        "RFC3339" => "2006-01-02T15:04:05Z07:00",
        "RFC3339Nano" => "2006-01-02T15:04:05.999999999Z07:00",
        _ => return None,
    })
}

/// The parts of layouts, longer ones first where they begin alike.
const PARTS: &[&str] = &[
    "2006", "January", "Jan", "Monday", "Mon", "MST", "Z07:00", "Z0700", "-07:00", "-0700", "-07", "01", "02", "03",
    "04", "05", "06", "15", "_2", "PM", "pm", "1", "2", "3", "4", "5",
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

enum Piece<'l> {
    Part(&'static str),
    /// Digits of the second: whether zeros at the end stay, and how many there are at most.
    Fraction(bool, usize),
    Text(&'l str),
}

fn pieces(layout: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = layout;
    while let Some(char) = rest.chars().next() {
        let fraction = rest.strip_prefix(['.', ',']).map(|behind| {
            let digit = behind.chars().next().filter(|digit| matches!(digit, '0' | '9'));
            digit.map_or((false, 0), |digit| (digit == '0', behind.chars().take_while(|char| *char == digit).count()))
        });
        if let Some((zeros, digits)) = fraction.filter(|(_, digits)| *digits > 0) {
            pieces.push(Piece::Fraction(zeros, digits));
            rest = rest.get(digits.saturating_add(1)..).unwrap_or_default();
        } else if let Some(part) = PARTS.iter().find(|part| rest.starts_with(**part)) {
            pieces.push(Piece::Part(part));
            rest = rest.get(part.len()..).unwrap_or_default();
        } else {
            let (text, behind) = rest.split_at_checked(char.len_utf8()).unwrap_or((rest, ""));
            pieces.push(Piece::Text(text));
            rest = behind;
        }
    }
    pieces
}

/// Writes a time.
pub(super) fn format(layout: &str, time: &Zoned) -> String {
    let mut out = String::new();
    let offset = time.offset().seconds();
    let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs() / 60);
    let month = MONTHS.get(usize::try_from(time.month()).unwrap_or(1).saturating_sub(1)).copied().unwrap_or_default();
    let twelve = match time.hour() % 12 {
        0 => 12,
        hour => hour,
    };
    for piece in pieces(layout) {
        // Writing into a text cannot fail.
        let _ = match piece {
            Piece::Text(text) => write!(out, "{text}"),
            Piece::Fraction(zeros, digits) => {
                let all = format!("{:09}", time.subsec_nanosecond());
                let cut = all.get(..digits.min(9)).unwrap_or_default();
                let cut = if zeros { cut } else { cut.trim_end_matches('0') };
                if cut.is_empty() { Ok(()) } else { write!(out, ".{cut}") }
            }
            Piece::Part(part) => match part {
                "2006" => write!(out, "{:04}", time.year()),
                "06" => write!(out, "{:02}", time.year().rem_euclid(100)),
                "January" => write!(out, "{month}"),
                "Jan" => write!(out, "{}", month.get(..3).unwrap_or_default()),
                "Monday" => write!(out, "{}", super::weekday(time)),
                "Mon" => write!(out, "{}", super::weekday(time).get(..3).unwrap_or_default()),
                "01" => write!(out, "{:02}", time.month()),
                "1" => write!(out, "{}", time.month()),
                "02" => write!(out, "{:02}", time.day()),
                "_2" => write!(out, "{:2}", time.day()),
                "2" => write!(out, "{}", time.day()),
                "15" => write!(out, "{:02}", time.hour()),
                "03" => write!(out, "{twelve:02}"),
                "3" => write!(out, "{twelve}"),
                "04" => write!(out, "{:02}", time.minute()),
                "4" => write!(out, "{}", time.minute()),
                "05" => write!(out, "{:02}", time.second()),
                "5" => write!(out, "{}", time.second()),
                "PM" => write!(out, "{}", if time.hour() >= 12 { "PM" } else { "AM" }),
                "pm" => write!(out, "{}", if time.hour() >= 12 { "pm" } else { "am" }),
                "MST" => write!(out, "{}", time.strftime("%Z")),
                "Z07:00" | "Z0700" if offset == 0 => write!(out, "Z"),
                "Z07:00" | "-07:00" => write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60),
                "Z0700" | "-0700" => write!(out, "{sign}{:02}{:02}", minutes / 60, minutes % 60),
                _ => write!(out, "{sign}{:02}", minutes / 60),
            },
        };
    }
    out
}

/// What was read of a time.
struct Read {
    year: i16,
    month: i8,
    day: i8,
    hour: i8,
    minute: i8,
    second: i8,
    nanosecond: i32,
    offset: i32,
    afternoon: Option<bool>,
}

/// Reads a time; nanoseconds since 1970.
pub(super) fn parse(layout: &str, text: &str) -> Option<i64> {
    let mut read =
        Read { year: 0, month: 1, day: 1, hour: 0, minute: 0, second: 0, nanosecond: 0, offset: 0, afternoon: None };
    let mut rest = text;
    for piece in pieces(layout) {
        rest = match piece {
            Piece::Text(text) => rest.strip_prefix(text)?,
            Piece::Fraction(..) => fraction(&mut read, rest)?,
            Piece::Part(part) => {
                let behind = parse_part(&mut read, part, rest)?;
                // Digits of the second may stand where the layout has none.
                if matches!(part, "05" | "5") && behind.starts_with('.') && !layout.contains("05.") {
                    fraction(&mut read, behind)?
                } else {
                    behind
                }
            }
        };
    }
    if !rest.is_empty() {
        return None;
    }
    match read.afternoon {
        Some(true) if read.hour < 12 => read.hour = read.hour.checked_add(12)?,
        Some(false) if read.hour == 12 => read.hour = 0,
        _ => {}
    }
    let time = jiff::civil::DateTime::new(
        read.year,
        read.month,
        read.day,
        read.hour,
        read.minute,
        read.second,
        read.nanosecond,
    );
    let zone = jiff::tz::Offset::from_seconds(read.offset).ok()?.to_time_zone();
    let time: Timestamp = time.ok()?.to_zoned(zone).ok()?.timestamp();
    i64::try_from(time.as_nanosecond()).ok()
}

fn fraction<'t>(read: &mut Read, rest: &'t str) -> Option<&'t str> {
    let Some(behind) = rest.strip_prefix(['.', ',']) else { return Some(rest) };
    let count = behind.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, behind) = behind.split_at_checked(count)?;
    let nine: String = digits.chars().chain(std::iter::repeat('0')).take(9).collect();
    read.nanosecond = nine.parse().ok()?;
    Some(behind)
}

/// A number of at least and at most so many digits.
fn number<T: std::str::FromStr>(rest: &str, least: usize, most: usize) -> Option<(T, &str)> {
    let count = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
    let (digits, behind) = rest.split_at_checked(count).filter(|_| count >= least)?;
    Some((digits.parse().ok()?, behind))
}

fn parse_part<'t>(read: &mut Read, part: &str, rest: &'t str) -> Option<&'t str> {
    let behind;
    match part {
        "2006" => (read.year, behind) = number(rest, 4, 4)?,
        "06" => {
            let (short, after): (i16, _) = number(rest, 2, 2)?;
            read.year = if short >= 69 { short.checked_add(1900)? } else { short.checked_add(2000)? };
            behind = after;
        }
        "January" | "Jan" => {
            let found = MONTHS.iter().position(|month| {
                let name = if part == "Jan" { month.get(..3).unwrap_or(month) } else { month };
                rest.starts_with(name)
            })?;
            let name = MONTHS.get(found)?;
            read.month = i8::try_from(found.checked_add(1)?).ok()?;
            behind = rest.get(if part == "Jan" { 3 } else { name.len() }..)?;
        }
        "Monday" | "Mon" => {
            let count = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
            behind = rest.get(if part == "Mon" { count.min(3) } else { count }..)?;
        }
        "01" => (read.month, behind) = number(rest, 2, 2)?,
        "1" => (read.month, behind) = number(rest, 1, 2)?,
        "02" => (read.day, behind) = number(rest, 2, 2)?,
        "_2" => (read.day, behind) = number(rest.trim_start_matches(' '), 1, 2)?,
        "2" => (read.day, behind) = number(rest, 1, 2)?,
        "15" | "03" => (read.hour, behind) = number(rest, 2, 2)?,
        "3" => (read.hour, behind) = number(rest, 1, 2)?,
        "04" => (read.minute, behind) = number(rest, 2, 2)?,
        "4" => (read.minute, behind) = number(rest, 1, 2)?,
        "05" => (read.second, behind) = number(rest, 2, 2)?,
        "5" => (read.second, behind) = number(rest, 1, 2)?,
        "PM" | "pm" => {
            let word = rest.get(..2)?.to_ascii_lowercase();
            read.afternoon = Some(match word.as_str() {
                "pm" => true,
                "am" => false,
                _ => return None,
            });
            behind = rest.get(2..)?;
        }
        "MST" => {
            let count = rest.bytes().take_while(u8::is_ascii_uppercase).count();
            behind = rest.get(count..).filter(|_| count >= 3)?;
        }
        "Z07:00" | "Z0700" if rest.starts_with('Z') => behind = rest.get(1..)?,
        _ => {
            let sign = match rest.chars().next()? {
                '+' => 1,
                '-' => -1,
                _ => return None,
            };
            let (hours, after): (i32, _) = number(rest.get(1..)?, 2, 2)?;
            let after = if part.contains(':') { after.strip_prefix(':')? } else { after };
            let (minutes, after): (i32, _) = if part == "-07" { (0, after) } else { number(after, 2, 2)? };
            read.offset = hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?.checked_mul(sign)?;
            behind = after;
        }
    }
    Some(behind)
}
