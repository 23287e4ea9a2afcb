//! Our own form of series: text, so that two snapshots can be compared, and made to be read at the speed of the disk.
//!
//! ```text
//! # clearway-series 1
//! up{job="api"} 1700000000000:1 +30000x118:1 +30000:0
//! up{job="web"} 1700000000000:1 +60000:stale
//! # end 2
//! ```
//!
//! The first line names the format and its version. Then there is one line per series, in the order of the labels: its
//! name and labels as text exposition has them, and its samples, each a time and a value with a colon between. The
//! first time is in milliseconds since 1970; `+30000` is so much later than the sample before, and `+30000x118` are 118
//! samples in such steps that have the same value. Values are numbers as Rust and Go read them, `NaN`, `+Inf`, `-Inf`,
//! `stale` (the series ended) and `histogram` (a native histogram, which is not kept). The last line says how many
//! series there are, so that a file that was cut off is known as such.

use std::fmt::Write;

use super::cursor::{self, Cursor};
use super::{ReadError, ReadLimits, checked};
use crate::series::symbols::NAME;
use crate::series::{Builder, HISTOGRAM, STALE, Series, is_histogram, is_stale, metric_in};
use crate::syntax::print::is_plain_metric;

/// The first line of a snapshot.
pub const SNAPSHOT_HEADER: &str = "# clearway-series 1";

/// Reads a snapshot.
pub fn snapshot(bytes: &[u8], limits: &ReadLimits) -> Result<Series, ReadError> {
    let text = checked(bytes, limits)?;
    let mut cursor = Cursor::new(text);
    if cursor.line() != SNAPSHOT_HEADER {
        let message = format!("The first line of a snapshot of series is `{SNAPSHOT_HEADER}`.");
        return Err(ReadError::whole(message));
    }
    let mut builder = Builder::expecting(limits.capacity.clone(), text.len());
    let mut count: usize = 0;
    let mut before = ("", 0);
    loop {
        match cursor.peek() {
            None => return Err(cursor.wrong("The last line `# end` is missing: the file was cut off.")),
            Some(b'#') => break,
            Some(_) => series(&mut cursor, &mut builder, &mut before)?,
        }
        count = count.saturating_add(1);
    }
    let end = cursor.line();
    let stated = end.strip_prefix("# end ").and_then(|count| count.parse::<usize>().ok());
    if stated != Some(count) {
        return Err(cursor.wrong(format!("The last line is `{end}`, but there are {count} series.")));
    }
    if cursor.peek().is_some() {
        return Err(cursor.wrong("Something follows the last line."));
    }
    builder.finish().map_err(|error| ReadError::built(text, &error))
}

/// Reads a line. `before` is the text of the samples of the line before, and how many there are: most series have the
/// samples of their neighbour.
fn series<'t>(cursor: &mut Cursor<'t>, builder: &mut Builder, before: &mut (&'t str, usize)) -> Result<(), ReadError> {
    let series = cursor.series(builder)?;
    let start = cursor.at;
    let rest = cursor.text.get(start..).unwrap_or_default();
    let known = before.0;
    let repeated = !known.is_empty() && rest.starts_with(known) && rest.as_bytes().get(known.len()) == Some(&b'\n');
    if repeated {
        let added = builder.same_samples(series, before.1);
        if cursor.built(added)? {
            cursor.advance(known.len().saturating_add(1));
            return Ok(());
        }
    }
    let mut last: i64 = 0;
    let mut total: usize = 0;
    let mut first = true;
    while !matches!(cursor.peek(), Some(b'\n') | None) {
        if !cursor.eat(b' ') {
            return Err(cursor.wrong("A sample must follow one space."));
        }
        let later = cursor.eat(b'+');
        if later == first {
            let message =
                if first { "The first sample must have a time." } else { "The next sample must start with `+`." };
            return Err(cursor.wrong(message));
        }
        let time = whole(cursor)?;
        let times = if later && cursor.eat(b'x') { whole(cursor)? } else { 1 };
        if !cursor.eat(b':') {
            return Err(cursor.wrong("A colon must separate time and value."));
        }
        let start = cursor.at;
        let word = cursor.word();
        let value = match word {
            "stale" => Some(STALE),
            "histogram" => Some(HISTOGRAM),
            _ => cursor::number(word),
        };
        let Some(value) = value else {
            return Err(ReadError::at(cursor.text, start, format!("`{word}` is not a value.")));
        };
        let start = if first { Some(time) } else { last.checked_add(time) };
        let end = time.checked_mul(times.saturating_sub(1)).and_then(|width| start?.checked_add(width));
        let (Some(start), Some(end), Ok(count)) = (start, end, usize::try_from(times)) else {
            return Err(cursor.wrong("The time is out of range."));
        };
        let added = builder.samples(series, (start, time), count, value);
        cursor.built(added)?;
        total = total.saturating_add(count);
        if count > 0 {
            last = end;
        }
        first = false;
    }
    *before = (cursor.text.get(start..cursor.at).unwrap_or_default(), total);
    cursor.advance(1);
    Ok(())
}

/// A whole number with an optional sign.
fn whole(cursor: &mut Cursor<'_>) -> Result<i64, ReadError> {
    let start = cursor.at;
    let negative = cursor.eat(b'-');
    let digits = cursor.while_bytes(|byte| byte.is_ascii_digit());
    let number = if (1..=18).contains(&digits.len()) {
        Some(
            digits
                .bytes()
                .fold(0_i64, |number, digit| number.wrapping_mul(10).wrapping_add(i64::from(digit.wrapping_sub(b'0')))),
        )
    } else {
        digits.parse().ok()
    };
    let number = number.ok_or_else(|| ReadError::at(cursor.text, start, "A whole number is missing."))?;
    Ok(if negative { number.wrapping_neg() } else { number })
}

/// Writes a snapshot that [`snapshot`] reads back.
pub fn write_snapshot(series: &Series) -> String {
    let mut out = format!("{SNAPSHOT_HEADER}\n");
    let mut count: usize = 0;
    for (pairs, samples) in series.rows() {
        count = count.saturating_add(1);
        let text = |symbol| series.symbols.text(symbol);
        let metric = text(metric_in(pairs));
        let bare = is_plain_metric(metric);
        let mut open = false;
        if bare {
            out.push_str(metric);
        }
        for pair in pairs {
            if bare && pair.name == NAME {
                continue;
            }
            out.push(if open { ',' } else { '{' });
            open = true;
            let name = text(pair.name);
            if crate::syntax::print::is_plain_label(name) {
                out.push_str(name);
            } else {
                escaped(name, &mut out);
            }
            out.push('=');
            escaped(text(pair.value), &mut out);
        }
        match (open, bare) {
            (true, _) => out.push('}'),
            (false, false) => out.push_str("{}"),
            (false, true) => {}
        }
        write_samples(samples.times, samples.values, &mut out);
        out.push('\n');
    }
    let _ = writeln!(out, "# end {count}");
    out
}

fn escaped(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn write_samples(times: &[i64], values: &[f64], out: &mut String) {
    let (Some(first), Some(value)) = (times.first(), values.first()) else { return };
    let _ = write!(out, " {first}:");
    write_value(*value, out);
    // A run of samples in equal steps with one value.
    let mut run: Option<(i64, u64, usize)> = None;
    let flush = |run: Option<(i64, u64, usize)>, out: &mut String| {
        let Some((step, bits, times)) = run else { return };
        let _ = if times == 1 { write!(out, " +{step}:") } else { write!(out, " +{step}x{times}:") };
        write_value(f64::from_bits(bits), out);
    };
    for ([before, time], value) in times.array_windows().zip(values.iter().skip(1)) {
        // Numbers that are none are written the same, whatever their bits.
        let plain = value.is_nan() && !is_stale(*value) && !is_histogram(*value);
        let (step, bits) = (time.saturating_sub(*before), if plain { f64::NAN } else { *value }.to_bits());
        match &mut run {
            Some((known_step, known_bits, times)) if *known_step == step && *known_bits == bits => {
                *times = times.saturating_add(1);
            }
            _ => flush(run.replace((step, bits, 1)), out),
        }
    }
    flush(run, out);
}

fn write_value(value: f64, out: &mut String) {
    let size = value.abs();
    let _ = if is_stale(value) {
        out.write_str("stale")
    } else if is_histogram(value) {
        out.write_str("histogram")
    } else if value.is_nan() {
        out.write_str("NaN")
    } else if value.is_infinite() {
        out.write_str(if value > 0.0 { "+Inf" } else { "-Inf" })
    } else if size != 0.0 && !(1e-5..1e15).contains(&size) {
        write!(out, "{value:e}")
    } else {
        write!(out, "{value}")
    };
}
