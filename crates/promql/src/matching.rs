//! The regular expressions of label matchers.
//!
//! Prometheus matches the whole value, lets `.` match newlines, and speaks RE2. The `regex` crate is of the same family
//! but not the same dialect: here `\d` is ASCII, `{` and `[` are characters where they open nothing, `\Q…\E` quotes,
//! and the set operators of Rust's classes do not exist. [`Pattern::new`] translates before it compiles.

use std::collections::HashMap;
use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;
use std::sync::Arc;

use regex::RegexBuilder;

/// A compiled matcher of whole values.
#[derive(Debug, Clone)]
pub struct Pattern(regex::Regex);

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It is not written as RE2 wants it.
    #[error("The regular expression is not valid: {0}.")]
    Syntax(String),
    /// It is larger than allowed once compiled.
    #[error("The regular expression needs more than {0} bytes when compiled.")]
    TooLarge(usize),
}

impl PatternError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            PatternError::Syntax(_) => {
                "Patterns are RE2: no look-around, no back-references; a literal bracket is `[(]`."
            }
            PatternError::TooLarge(_) => "Use fewer repetitions and smaller classes of characters.",
        }
    }
}

impl Pattern {
    /// Compiles a pattern into at most `size` bytes.
    pub fn new(pattern: &str, size: usize) -> Result<Pattern, PatternError> {
        let translated = Translation::of(pattern).map_err(PatternError::Syntax)?;
        let mut builder = RegexBuilder::new(&format!("^(?s:{translated})$"));
        match builder.size_limit(size).dfa_size_limit(size).nest_limit(200).build() {
            Ok(regex) => Ok(Pattern(regex)),
            Err(regex::Error::CompiledTooBig(_)) => Err(PatternError::TooLarge(size)),
            // The crate's message draws the translated pattern; its last line says what is wrong.
            Err(error) => {
                let text = error.to_string();
                let last = text.lines().next_back().unwrap_or_default().trim();
                Err(PatternError::Syntax(last.strip_prefix("error: ").unwrap_or(last).to_owned()))
            }
        }
    }

    /// Whether the whole value matches.
    pub fn matches(&self, value: &str) -> bool {
        self.0.is_match(value)
    }
}

/// The patterns of a query, compiled once. They follow from the text, so two of them never make a difference.
#[derive(Debug, Clone, Default)]
pub(crate) struct Patterns(Arc<HashMap<String, Pattern>>);

impl Patterns {
    pub(crate) fn new(patterns: HashMap<String, Pattern>) -> Self {
        Patterns(Arc::new(patterns))
    }

    pub(crate) fn get(&self, text: &str) -> Option<&Pattern> {
        self.0.get(text)
    }
}

impl PartialEq for Patterns {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A pattern with what replaces it: `$1` and `${name}` stand for groups, `$$` for a dollar sign.
#[derive(Debug, Clone)]
pub(crate) struct Replacement<'p> {
    pattern: &'p Pattern,
    parts: Vec<Part>,
}

/// A part of a replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Group(usize),
    Named(String),
}

/// What a replacement makes is longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong;

impl<'p> Replacement<'p> {
    pub(crate) fn new(pattern: &'p Pattern, with: &str) -> Self {
        Replacement { pattern, parts: parts(with) }
    }

    /// What becomes of a value that matches as a whole; nothing if it does not.
    pub(crate) fn replace(&self, value: &str, longest: usize) -> Result<Option<String>, TooLong> {
        let Some(groups) = self.pattern.0.captures(value) else { return Ok(None) };
        let mut made = String::new();
        for part in &self.parts {
            made.push_str(match part {
                Part::Text(text) => text,
                Part::Group(index) => groups.get(*index).map_or("", |group| group.as_str()),
                Part::Named(name) => groups.name(name).map_or("", |group| group.as_str()),
            });
            if made.len() > longest {
                return Err(TooLong);
            }
        }
        Ok(Some(made))
    }
}

/// Takes a replacement apart. A dollar sign that starts no group is itself.
fn parts(with: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = with;
    while let Some((before, after)) = rest.split_once('$') {
        parts.push(Part::Text(before.to_owned()));
        if let Some(tail) = after.strip_prefix('$') {
            parts.push(Part::Text("$".to_owned()));
            rest = tail;
            continue;
        }
        let braces = after.strip_prefix('{');
        let body = braces.unwrap_or(after);
        let end = body.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(body.len());
        let (name, tail) = body.split_at(end);
        let tail = if braces.is_some() { tail.strip_prefix('}') } else { Some(tail) };
        match tail {
            Some(tail) if !name.is_empty() => {
                parts.push(group(name));
                rest = tail;
            }
            _ => {
                parts.push(Part::Text("$".to_owned()));
                rest = after;
            }
        }
    }
    parts.push(Part::Text(rest.to_owned()));
    parts.retain(|part| *part != Part::Text(String::new()));
    parts
}

/// A group by its number, or by its name if that is no number.
fn group(name: &str) -> Part {
    let number =
        name.len() < 9 && name.bytes().all(|byte| byte.is_ascii_digit()) && (name == "0" || !name.starts_with('0'));
    match name.parse() {
        Ok(index) if number => Part::Group(index),
        _ => Part::Named(name.to_owned()),
    }
}

/// Walks over an RE2 pattern and writes the same pattern for the `regex` crate.
struct Translation<'p> {
    rest: Peekable<Chars<'p>>,
    out: String,
    /// Whether a repetition was just written: another one behind it is wrong in RE2.
    repeated: bool,
}

type Translated<T> = Result<T, String>;

impl Translation<'_> {
    fn of(pattern: &str) -> Translated<String> {
        let mut this = Translation { rest: pattern.chars().peekable(), out: String::new(), repeated: false };
        while let Some(c) = this.rest.next() {
            let repetition = match c {
                '*' | '+' | '?' => {
                    this.out.push(c);
                    true
                }
                '{' => this.braces()?,
                _ => {
                    this.other(c)?;
                    false
                }
            };
            if repetition {
                if this.repeated {
                    return Err(format!("`{c}` repeats a repetition"));
                }
                if this.rest.next_if_eq(&'?').is_some() {
                    this.out.push('?');
                }
            }
            this.repeated = repetition;
        }
        Ok(this.out)
    }

    fn other(&mut self, c: char) -> Translated<()> {
        match c {
            '\\' => self.escape(false)?,
            '[' => self.class()?,
            '(' => self.group()?,
            '}' | ']' => self.literal(c),
            _ => self.out.push(c),
        }
        Ok(())
    }

    fn literal(&mut self, c: char) {
        if c.is_alphanumeric() {
            self.out.push(c);
        } else {
            self.code(u32::from(c));
        }
    }

    fn code(&mut self, code: u32) {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "\\x{{{code:X}}}");
    }

    /// `{2}`, `{2,}` and `{2,5}` repeat; any other brace is a character. Says whether it repeats.
    fn braces(&mut self) -> Translated<bool> {
        // The longest repetition that is one is `{1000,1000}`; looking no further keeps the whole linear.
        let ahead: String = self.rest.clone().take(12).collect();
        let (inside, closed) = ahead.split_once('}').map_or(("", false), |(inside, _)| (inside, true));
        let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !closed || least.is_empty() || !digits(least) || !digits(most) {
            self.literal('{');
            return Ok(false);
        }
        for number in [least, most] {
            if !number.is_empty() && !number.parse::<u32>().is_ok_and(|count| count <= 1_000) {
                return Err("it repeats more than 1,000 times".to_owned());
            }
        }
        self.rest.by_ref().take(inside.len().saturating_add(1)).for_each(drop);
        let _ = write!(self.out, "{{{inside}}}");
        Ok(true)
    }

    /// The start of a group; the flags of Rust that RE2 does not have are refused.
    fn group(&mut self) -> Translated<()> {
        self.out.push('(');
        if self.rest.next_if_eq(&'?').is_none() {
            return Ok(());
        }
        self.out.push('?');
        if matches!(self.rest.peek(), Some('P' | '<')) {
            return Ok(());
        }
        for c in self.rest.by_ref() {
            self.out.push(c);
            match c {
                'i' | 'm' | 's' | 'U' | '-' => {}
                ':' | ')' => return Ok(()),
                _ => return Err(format!("the group `(?{c}` does not exist")),
            }
        }
        Err("a group is not closed".to_owned())
    }

    /// An escape, behind its backslash.
    fn escape(&mut self, in_class: bool) -> Translated<()> {
        let Some(c) = self.rest.next() else { return Err("it ends in a backslash".to_owned()) };
        match c {
            'd' => self.out.push_str("[0-9]"),
            'D' => self.out.push_str("[^0-9]"),
            'w' => self.out.push_str("[0-9A-Za-z_]"),
            'W' => self.out.push_str("[^0-9A-Za-z_]"),
            's' => self.out.push_str("[\\t\\n\\f\\r ]"),
            'S' => self.out.push_str("[^\\t\\n\\f\\r ]"),
            'p' | 'P' => {
                self.out.push('\\');
                self.out.push(c);
            }
            'b' | 'B' | 'A' | 'z' if !in_class => {
                let _ = write!(self.out, "(?-u:\\{c})");
            }
            'Q' if !in_class => self.quoted(),
            _ => match self.character(c)? {
                Some(code) => self.code(code),
                None => return Err(format!("the escape `\\{c}` does not exist")),
            },
        }
        Ok(())
    }

    /// The character an escape stands for, if it stands for one.
    fn character(&mut self, c: char) -> Translated<Option<u32>> {
        Ok(Some(match c {
            'a' => 7,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            'x' => self.hexadecimal()?,
            '0'..='7' => {
                // A single digit but zero would be a back-reference.
                let more: String = self.rest.clone().take_while(|c| c.is_digit(8)).take(2).collect();
                if c != '0' && more.is_empty() {
                    return Ok(None);
                }
                self.rest.by_ref().take(more.len()).for_each(drop);
                u32::from_str_radix(&format!("{c}{more}"), 8).unwrap_or_default()
            }
            _ if c.is_ascii() && !c.is_ascii_alphanumeric() => u32::from(c),
            _ => return Ok(None),
        }))
    }

    fn hexadecimal(&mut self) -> Translated<u32> {
        let digits: String = if self.rest.next_if_eq(&'{').is_some() {
            self.rest.by_ref().take_while(|c| *c != '}').collect()
        } else {
            self.rest.by_ref().take(2).collect()
        };
        u32::from_str_radix(&digits, 16)
            .ok()
            .filter(|code| char::from_u32(*code).is_some())
            .ok_or_else(|| "`\\x` names no character".to_owned())
    }

    /// The text between `\Q` and `\E`, or the end.
    fn quoted(&mut self) {
        while let Some(c) = self.rest.next() {
            if c == '\\' && self.rest.next_if_eq(&'E').is_some() {
                return;
            }
            self.literal(c);
        }
    }

    /// A class of characters, behind its opening bracket.
    fn class(&mut self) -> Translated<()> {
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let Some(c) = self.rest.next() else { return Err("a class is not closed".to_owned()) };
            match c {
                ']' if !first => break,
                '[' if self.rest.peek() == Some(&':') => {
                    let name: String = self.rest.clone().take_while(|c| *c != ']').collect();
                    if !is_posix_class(&name) {
                        return Err(format!("the class `[{name}]` does not exist"));
                    }
                    self.rest.by_ref().take(name.chars().count().saturating_add(1)).for_each(drop);
                    let _ = write!(self.out, "[{name}]");
                }
                '\\' if self.rest.peek().is_some_and(|c| "dDwWsSpP".contains(*c)) => {
                    let property = matches!(self.rest.peek(), Some('p' | 'P'));
                    self.escape(true)?;
                    if property {
                        self.property();
                    }
                }
                _ => self.members(c)?,
            }
            first = false;
        }
        self.out.push(']');
        Ok(())
    }

    /// The name behind `\p` within a class.
    fn property(&mut self) {
        let braces = self.rest.peek() == Some(&'{');
        for c in self.rest.by_ref() {
            self.out.push(c);
            if !braces || c == '}' {
                return;
            }
        }
    }

    /// One character of a class, or a range of them.
    fn members(&mut self, c: char) -> Translated<()> {
        let low = self.member(c)?;
        let mut ahead = self.rest.clone();
        let range = ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']');
        self.code(low);
        if range {
            self.rest.next();
            let Some(c) = self.rest.next() else { return Ok(()) };
            let high = self.member(c)?;
            if high < low {
                return Err("a range of characters ends before it starts".to_owned());
            }
            self.out.push('-');
            self.code(high);
        }
        Ok(())
    }

    fn member(&mut self, c: char) -> Translated<u32> {
        if c != '\\' {
            return Ok(u32::from(c));
        }
        let Some(c) = self.rest.next() else { return Err("it ends in a backslash".to_owned()) };
        self.character(c)?.ok_or_else(|| format!("the escape `\\{c}` does not exist in a class"))
    }
}

/// Whether `name` is `:alpha:` or one of its kin, or `:^alpha:`.
fn is_posix_class(name: &str) -> bool {
    let name = name.strip_prefix(':').and_then(|name| name.strip_suffix(':')).unwrap_or_default();
    matches!(
        name.strip_prefix('^').unwrap_or(name),
        "alnum"
            | "alpha"
            | "ascii"
            | "blank"
            | "cntrl"
            | "digit"
            | "graph"
            | "lower"
            | "print"
            | "punct"
            | "space"
            | "upper"
            | "word"
            | "xdigit"
    )
}

#[cfg(test)]
mod tests;
