//! Foreign text for a terminal: what could drive the terminal or deceive its reader is shown as an escape.
//!
//! Control characters, escape sequences, carriage returns, bidirectional overrides and invisible characters let whoever
//! wrote a risk, an object or an error rewrite lines that are already on the screen. This is the one place that knows
//! them; every command prints through it.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

/// Text of several lines: line breaks and tabs stay.
pub fn escape(text: &str) -> Cow<'_, str> {
    replace(text, |letter| !matches!(letter, '\n' | '\t') && is_unsafe(letter), push_escape)
}

/// Text for one line: line breaks and tabs become spaces.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    replace(text, is_unsafe, |out, letter| match letter {
        '\n' | '\t' => out.push(' '),
        other => push_escape(out, other),
    })
}

/// A record of a log, with its line break at the end: foreign text cannot begin another one.
pub fn escape_record(record: &str) -> String {
    let (text, end) = record.strip_suffix('\n').map_or((record, ""), |text| (text, "\n"));
    let text = replace(
        text,
        |letter| letter != '\t' && is_unsafe(letter),
        |out, letter| match letter {
            '\n' => out.push_str("\\n"),
            other => push_escape(out, other),
        },
    );
    format!("{text}{end}")
}

/// JSON that says the same: such characters stand in its strings only, where they can be written as `\u202e`.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_raw_in_json) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len().saturating_add(16));
    // Writing into a text cannot fail.
    let _ = write_json_escaped(&mut out, json);
    Cow::Owned(out)
}

/// Writes a piece of JSON as [`escape_json`] has it, without another copy of it: an escape has up to three times the bytes.
///
/// # Errors
///
/// Those of `out`.
pub fn write_json_escaped(out: &mut dyn fmt::Write, json: &str) -> fmt::Result {
    // Nearly all JSON, which is not looked at letter by letter then.
    if json.is_ascii() && !json.as_bytes().contains(&0x7f) {
        return out.write_str(json);
    }
    let mut rest = json;
    while let Some((at, letter)) = rest.char_indices().find(|(_, letter)| is_raw_in_json(*letter)) {
        let (plain, behind) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.write_str(plain)?;
        for unit in letter.encode_utf16(&mut [0; 2]) {
            write!(out, "\\u{unit:04x}")?;
        }
        rest = behind.strip_prefix(letter).unwrap_or_default();
    }
    out.write_str(rest)
}

/// White space between values of JSON is control characters as well; those in strings are escapes already, but for U+007F.
fn is_raw_in_json(letter: char) -> bool {
    letter == '\u{7f}' || !letter.is_ascii() && is_unsafe(letter)
}

/// Whether a character is a control or changes how what stands around it is shown.
pub fn is_unsafe(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            // Soft hyphen, Arabic letter mark, Mongolian vowel separator.
            '\u{ad}' | '\u{61c}' | '\u{180e}'
            // Zero-width characters, directional marks and overrides, separators of lines and paragraphs, isolates.
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            // Byte order mark, interlinear annotations, tags.
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn push_escape(out: &mut String, letter: char) {
    match letter {
        '\r' => out.push_str("\\r"),
        '\0'..='\u{7f}' => drop(write!(out, "\\x{:02x}", u32::from(letter))),
        other => drop(write!(out, "\\u{{{:x}}}", u32::from(other))),
    }
}

fn replace(text: &str, unsafe_here: impl Fn(char) -> bool, push: impl Fn(&mut String, char)) -> Cow<'_, str> {
    if !text.contains(&unsafe_here) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len().saturating_add(16));
    for letter in text.chars() {
        if unsafe_here(letter) { push(&mut out, letter) } else { out.push(letter) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_a_log_is_one_line() {
        let forged = "INFO a risk\n2026-11-16T00:00:00Z ERROR all is lost\r\n\u{1b}[2Jx\ty\n";
        assert_eq!(escape_record(forged), "INFO a risk\\n2026-11-16T00:00:00Z ERROR all is lost\\r\\n\\x1b[2Jx\ty\n");
        assert_eq!(escape_record("plain"), "plain");
    }

    #[test]
    fn what_could_deceive_is_shown_as_an_escape() {
        for (text, lines, line) in [
            ("plain é 日本", "plain é 日本", "plain é 日本"),
            ("a\n\tb", "a\n\tb", "a  b"),
            ("a\rb", "a\\rb", "a\\rb"),
            ("\u{1b}[2J\u{1b}]0;x\u{7}", "\\x1b[2J\\x1b]0;x\\x07", "\\x1b[2J\\x1b]0;x\\x07"),
            ("\u{9b}31m\u{85}\u{7f}", "\\u{9b}31m\\u{85}\\x7f", "\\u{9b}31m\\u{85}\\x7f"),
            ("4.1\u{202e}0.4", "4.1\\u{202e}0.4", "4.1\\u{202e}0.4"),
            (
                "\u{2066}a\u{2069}\u{200b}\u{feff}\u{e0041}",
                "\\u{2066}a\\u{2069}\\u{200b}\\u{feff}\\u{e0041}",
                "\\u{2066}a\\u{2069}\\u{200b}\\u{feff}\\u{e0041}",
            ),
        ] {
            assert_eq!((escape(text).as_ref(), escape_line(text).as_ref()), (lines, line));
        }
    }

    #[test]
    fn json_says_the_same() {
        let value = serde_json::json!({"a\u{202e}": "b\u{9b}\u{e0041}\n\u{1b}\u{7f}é"});
        let json = value.to_string();
        let escaped = escape_json(&json);
        assert!(!escaped.contains(|letter: char| is_unsafe(letter)), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        assert!(matches!(escape_json("{\n  \"a\": \"é\"\n}"), Cow::Borrowed(_)));
    }
}
