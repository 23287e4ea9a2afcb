//! The text that programs expose, in its older form and in that of `OpenMetrics`.
//!
//! One sample a line: name, labels, value, and its time if it has one. The older form counts milliseconds, `OpenMetrics`
//! seconds; `OpenMetrics` ends with `# EOF`, and may have an exemplar behind a sample, which is left out.

use super::cursor::Cursor;
use super::{ReadError, ReadLimits, checked};
use crate::series::{Builder, Series};
use crate::syntax::duration::Millis;

/// Reads text exposition. Samples without a time are those of `now`.
pub fn text(bytes: &[u8], now: Millis, limits: &ReadLimits) -> Result<Series, ReadError> {
    read(bytes, now, limits, Form::Text)
}

/// Reads `OpenMetrics`. Samples without a time are those of `now`.
pub fn open_metrics(bytes: &[u8], now: Millis, limits: &ReadLimits) -> Result<Series, ReadError> {
    read(bytes, now, limits, Form::OpenMetrics)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    OpenMetrics,
}

fn read(bytes: &[u8], now: Millis, limits: &ReadLimits, form: Form) -> Result<Series, ReadError> {
    let text = checked(bytes, limits)?;
    let mut builder = Builder::new(limits.capacity.clone());
    let mut cursor = Cursor::new(text);
    let mut ended = false;
    while cursor.peek().is_some() {
        if ended {
            return Err(cursor.wrong("Something follows the end of the samples, `# EOF`."));
        }
        cursor.blanks();
        match cursor.peek() {
            Some(b'\n' | b'\r') => {
                cursor.line();
            }
            Some(b'#') => ended = cursor.line() == "# EOF" && form == Form::OpenMetrics,
            Some(_) => sample(&mut cursor, &mut builder, now, form)?,
            None => break,
        }
    }
    if form == Form::OpenMetrics && !ended {
        return Err(cursor.wrong("The end of the samples is missing, `# EOF`: the text may be cut off."));
    }
    builder.finish().map_err(|error| ReadError::built(text, &error))
}

fn sample(cursor: &mut Cursor<'_>, builder: &mut Builder, now: Millis, form: Form) -> Result<(), ReadError> {
    let series = cursor.series(builder)?;
    cursor.blanks();
    let value = cursor.number()?;
    cursor.blanks();
    let time = match cursor.peek() {
        None | Some(b'\n' | b'\r' | b'#') => now.0,
        Some(_) => time(cursor, form)?,
    };
    let added = builder.sample(series, time, value);
    cursor.built(added)?;
    cursor.blanks();
    match cursor.peek() {
        None | Some(b'\n' | b'\r') => {}
        // An exemplar.
        Some(b'#') if form == Form::OpenMetrics => {}
        Some(_) => return Err(cursor.wrong("Nothing may follow the time of a sample.")),
    }
    cursor.line();
    Ok(())
}

fn time(cursor: &mut Cursor<'_>, form: Form) -> Result<i64, ReadError> {
    let start = cursor.at;
    let word = cursor.word();
    let time = match form {
        Form::Text => word.parse::<i64>().ok(),
        Form::OpenMetrics => word.parse::<f64>().ok().and_then(millis),
    };
    time.ok_or_else(|| ReadError::at(cursor.text, start, format!("`{word}` is not a valid sample time.")))
}

/// The milliseconds of a time in seconds, if they fit.
pub(super) fn millis(seconds: f64) -> Option<i64> {
    let millis = (seconds * 1_000.0).round();
    #[expect(clippy::cast_possible_truncation, reason = "the range was just checked")]
    (millis.abs() < 9.0e18).then_some(millis as i64)
}
