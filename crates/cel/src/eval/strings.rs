//! Functions of texts.

use super::Context;
use super::calls::{NO_OVERLOAD, Outcome};
use crate::error::ErrorClass;
use crate::functions::Op;
use crate::program::CallInfo;
use crate::value::convert;
use crate::value::format_text::Formatter;
use crate::value::pattern::Pattern;
use crate::value::{Blob, Text, Value, char_count};

impl<'a> Context<'_, 'a> {
    /// `contains`, `startsWith` and `endsWith`.
    pub(super) fn substring_test(&mut self, op: Op, arguments: &[Value<'a>]) -> Outcome<'a> {
        let [Value::String(text), Value::String(part)] = arguments else { return NO_OVERLOAD };
        self.meter.work(text.len().saturating_add(part.len()) / 16)?;
        Ok(Value::Bool(match op {
            Op::Contains => text.contains(&**part),
            Op::StartsWith => text.starts_with(&**part),
            _ => text.ends_with(&**part),
        }))
    }

    pub(super) fn regex(&mut self, call: &CallInfo, arguments: &[Value<'a>]) -> Outcome<'a> {
        let (text, source, most) = match arguments {
            [Value::String(text), Value::String(source)] => (text, source, -1),
            [Value::String(text), Value::String(source), Value::Int(most)] => (text, source, *most),
            _ => return NO_OVERLOAD,
        };
        let compiled;
        let known = call.pattern.and_then(|pattern| self.patterns.get(pattern as usize));
        let pattern = if let Some(pattern) = known {
            pattern
        } else {
            // A few letters can take a hundred kilobytes, so what is paid is what may be written and read.
            compiled = Pattern::compile(source, self.limits, |bytes| self.meter.work(bytes))?;
            &compiled
        };
        if call.op == Op::FindAll {
            return self.find_all(pattern, text, usize::try_from(most).unwrap_or(usize::MAX));
        }
        self.meter.work(pattern.work(text.len()))?;
        Ok(match call.op {
            Op::Matches => Value::Bool(pattern.is_match(text)),
            _ => self.part(text, pattern.find(text).unwrap_or_default())?,
        })
    }

    /// The first few matches. Each search may read the rest of the text, so each is paid for before it begins.
    fn find_all(&mut self, pattern: &Pattern, text: &Text<'a>, most: usize) -> Outcome<'a> {
        self.meter.elements(0)?;
        let mut parts = Vec::new();
        let (mut start, mut last_end) = (0, None);
        while parts.len() < most
            && let Some(rest) = text.len().checked_sub(start)
        {
            self.meter.work(pattern.work(rest))?;
            let Some(found) = pattern.find_from(text, start) else { break };
            start = found.end;
            if found.is_empty() {
                // It is at the end of the match before it, or is found again from there: go on behind the next character.
                start = next_character(text, found.end);
                if last_end == Some(found.end) {
                    continue;
                }
            }
            // Nothing is found within a character in Go.
            let Some(part) = text.get(found.clone()) else { continue };
            last_end = Some(found.end);
            self.meter.element()?;
            parts.push(self.part(text, part)?);
        }
        Ok(Value::list(parts))
    }

    /// A part of a text, borrowed if the text is.
    fn part(&mut self, text: &Text<'a>, part: &str) -> Outcome<'a> {
        if let Text::Borrowed(whole) = text {
            let start = (part.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize);
            if let Some(part) = whole.get(start..start.saturating_add(part.len())) {
                return Ok(Value::String(Text::Borrowed(part)));
            }
        }
        self.meter.memory(part.len().saturating_add(TEXT_BYTES))?;
        Ok(Value::text(part))
    }

    pub(super) fn strings(&mut self, op: Op, arguments: &[Value<'a>]) -> Outcome<'a> {
        use Value as V;
        // What is searched for is read as well, also when it is longer than the text.
        for argument in arguments {
            if let V::String(text) = argument {
                self.meter.work(text.len() / 8)?;
            }
        }
        match (op, arguments) {
            (Op::CharAt, [V::String(text), V::Int(at)]) => {
                let start = offset(text, *at)?;
                let rest = text.get(start..).unwrap_or_default();
                let char = rest.chars().next().map_or(0, char::len_utf8);
                self.part(text, rest.get(..char).unwrap_or_default())
            }
            (Op::IndexOf, [V::String(text), V::String(part)]) => Ok(V::Int(index_of(text, part, 0)?)),
            (Op::IndexOf, [V::String(text), V::String(part), V::Int(from)]) => {
                self.check_start(text, *from)?;
                Ok(V::Int(index_of(text, part, *from)?))
            }
            (Op::LastIndexOf, [V::String(text), V::String(part)]) => {
                let length = count(text);
                if part.is_empty() {
                    return Ok(V::Int(length));
                }
                let from = length.saturating_sub(1);
                Ok(V::Int(if text.len() < part.len() { -1 } else { last_index_of(text, part, from)? }))
            }
            (Op::LastIndexOf, [V::String(text), V::String(part), V::Int(from)]) => {
                self.check_start(text, *from)?;
                Ok(V::Int(last_index_of(text, part, *from)?))
            }
            (Op::LowerAscii, [V::String(text)]) => {
                self.meter.memory(text.len())?;
                Ok(V::text(text.to_ascii_lowercase()))
            }
            (Op::UpperAscii, [V::String(text)]) => {
                self.meter.memory(text.len())?;
                Ok(V::text(text.to_ascii_uppercase()))
            }
            (Op::Trim, [V::String(text)]) => {
                // What Go takes for white space.
                let space = |char: char| char.is_whitespace();
                self.part(text, text.trim_matches(space))
            }
            (Op::Reverse, [V::String(text)]) => {
                self.meter.memory(text.len())?;
                Ok(V::text(text.chars().rev().collect::<String>()))
            }
            (Op::Quote, [V::String(text)]) => {
                self.meter.memory(text.len().saturating_mul(2))?;
                self.made(quote(text))
            }
            (Op::Replace, [V::String(text), V::String(old), V::String(new)]) => self.replace(text, old, new, -1),
            (Op::Replace, [V::String(text), V::String(old), V::String(new), V::Int(most)]) => {
                self.replace(text, old, new, *most)
            }
            (Op::Split, [V::String(text), V::String(separator)]) => self.split(text, separator, -1),
            (Op::Split, [V::String(text), V::String(separator), V::Int(most)]) => self.split(text, separator, *most),
            (Op::Substring, [V::String(text), V::Int(start)]) => {
                let start = offset(text, *start)?;
                self.part(text, text.get(start..).unwrap_or_default())
            }
            (Op::Substring, [V::String(text), V::Int(start), V::Int(end)]) => {
                let (start, end) = (offset(text, *start)?, offset(text, *end)?);
                self.part(text, text.get(start..end).ok_or(ErrorClass::InvalidArgument)?)
            }
            (Op::Join, [V::List(list)]) => self.join(list, ""),
            (Op::Join, [V::List(list), V::String(separator)]) => self.join(list, separator),
            (Op::FormatText, [V::String(text), V::List(list)]) => {
                self.meter.elements(list.len())?;
                let values: Vec<V<'a>> = list.iter(self.reader).collect();
                let (reader, by_specification) = (self.reader, self.by_specification);
                let mut formatter = Formatter { meter: self.meter, reader, by_specification, unknown: false };
                let written = formatter.format(text, &values);
                if formatter.unknown { Ok(V::Unknown) } else { self.made(written?) }
            }
            (Op::Base64Encode, [V::Bytes(bytes)]) => {
                self.meter.memory(bytes.len().saturating_mul(2))?;
                self.made(convert::base64_text(bytes))
            }
            (Op::Base64Decode, [V::String(text)]) => {
                self.meter.memory(text.len())?;
                let decoded =
                    convert::base64_bytes(text, false, true).or_else(|| convert::base64_bytes(text, false, false));
                Ok(V::Bytes(Blob::from(decoded.ok_or(ErrorClass::InvalidArgument)?)))
            }
            _ => NO_OVERLOAD,
        }
    }

    fn made(&mut self, text: String) -> Outcome<'a> {
        self.meter.memory(text.len())?;
        Ok(Value::text(text))
    }

    /// By the specification, a start behind the end is an error; cel-go finds nothing there.
    fn check_start(&self, text: &str, from: i64) -> Result<(), ErrorClass> {
        if from < 0 || (self.by_specification && from > count(text)) {
            Err(ErrorClass::InvalidArgument)
        } else {
            Ok(())
        }
    }

    fn replace(&mut self, text: &str, old: &str, new: &str, most: i64) -> Outcome<'a> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let found = if old.is_empty() { char_count(text).saturating_add(1) } else { text.matches(old).count() };
        let grown = found.min(most).saturating_mul(new.len());
        self.meter.memory(text.len().saturating_add(grown))?;
        self.made(text.replacen(old, new, most))
    }

    fn split(&mut self, text: &Text<'a>, separator: &str, most: i64) -> Outcome<'a> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        self.meter.elements(0)?;
        let mut parts = Vec::new();
        if separator.is_empty() {
            // Each character by itself; the last part has the rest.
            let mut rest: &str = text;
            while let Some(char) = rest.chars().next().filter(|_| parts.len() < most) {
                let end = if parts.len().saturating_add(1) == most { rest.len() } else { char.len_utf8() };
                let (part, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
                self.meter.element()?;
                parts.push(self.part(text, part)?);
                rest = behind;
            }
        } else {
            for part in text.splitn(most, separator) {
                self.meter.element()?;
                parts.push(self.part(text, part)?);
            }
        }
        Ok(Value::list(parts))
    }

    fn join(&mut self, list: &crate::value::List<'a>, separator: &str) -> Outcome<'a> {
        let mut out = String::new();
        for (index, element) in list.iter(self.reader).enumerate() {
            self.meter.work(1)?;
            let text = match element {
                Value::String(text) => text,
                Value::Unknown => return Ok(Value::Unknown),
                Value::Error(class, _) => return Err(class),
                _ => return Err(ErrorClass::InvalidArgument),
            };
            self.meter.memory(text.len().saturating_add(separator.len()))?;
            if index > 0 {
                out.push_str(separator);
            }
            out.push_str(&text);
        }
        Ok(Value::text(out))
    }
}

/// What a text takes beside its bytes.
const TEXT_BYTES: usize = 16;

/// Where the character behind this byte starts; behind the end of the text, one more than its length.
fn next_character(text: &str, at: usize) -> usize {
    let next = at.saturating_add(1);
    (next..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len().max(next))
}

fn count(text: &str) -> i64 {
    i64::try_from(char_count(text)).unwrap_or(i64::MAX)
}

/// The byte at which a character starts, or the end.
fn offset(text: &str, at: i64) -> Result<usize, ErrorClass> {
    let at = usize::try_from(at).map_err(|_| ErrorClass::InvalidArgument)?;
    let mut starts = text.char_indices().map(|(start, _)| start).chain(std::iter::once(text.len()));
    starts.nth(at).ok_or(ErrorClass::InvalidArgument)
}

fn index_of(text: &str, part: &str, from: i64) -> Result<i64, ErrorClass> {
    if part.is_empty() {
        return Ok(from);
    }
    if from < 0 {
        return Err(ErrorClass::InvalidArgument);
    }
    if from >= count(text) {
        return Ok(-1);
    }
    let start = offset(text, from)?;
    let rest = text.get(start..).unwrap_or_default();
    Ok(rest.find(part).map_or(-1, |at| from.saturating_add(count(rest.get(..at).unwrap_or_default()))))
}

fn last_index_of(text: &str, part: &str, from: i64) -> Result<i64, ErrorClass> {
    if part.is_empty() {
        return Ok(from);
    }
    if from < 0 {
        return Err(ErrorClass::InvalidArgument);
    }
    let (length, wanted) = (count(text), count(part));
    if from >= length || wanted > length {
        return Ok(-1);
    }
    let end = offset(text, from.min(length.saturating_sub(wanted)).saturating_add(wanted))?;
    let head = text.get(..end).unwrap_or_default();
    Ok(head.rfind(part).map_or(-1, |at| count(head.get(..at).unwrap_or_default())))
}

/// A text in double quotes with the escapes of CEL.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            char => out.push(char),
        }
    }
    out.push('"');
    out
}
