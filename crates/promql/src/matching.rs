//! The regular expressions of label matchers.
//!
//! Prometheus matches the whole value, lets `.` match newlines, and speaks RE2. The `regex` crate is of the same family
//! but not the same dialect: here `\d` is ASCII, `{` and `[` are characters where they open nothing, `\Q…\E` quotes,
//! and the set operators of Rust's classes do not exist. [`Pattern::new`] translates before it compiles.

use std::collections::HashMap;
use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use clearway_core::expression;
use regex::RegexBuilder;

mod replace;

pub(crate) use replace::Replacement;

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
    /// With its repetitions written out it is longer than allowed.
    #[error("The regular expressions of the query have more than {0} positions, with their repetitions expanded.")]
    TooLong(usize),
}

impl PatternError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            PatternError::Syntax(_) => {
                "Patterns are RE2: no look-around, no back-references; a literal bracket is `[(]`."
            }
            PatternError::TooLarge(_) | PatternError::TooLong(_) => {
                "Use fewer repetitions and smaller classes of characters."
            }
        }
    }
}

impl Pattern {
    /// Compiles a pattern into at most `size` bytes.
    pub fn new(pattern: &str, size: usize) -> Result<Pattern, PatternError> {
        compile(&translated(pattern)?, size, size)
    }

    /// The same for a pattern of at most so many positions; and how large it is.
    pub(crate) fn within(pattern: &str, size: usize, most: usize) -> Result<(Pattern, Measure), PatternError> {
        let translated = translated(pattern)?;
        let measure = measure(&translated);
        if measure.positions > most {
            return Err(PatternError::TooLong(most));
        }
        Ok((compile(&translated, size, size)?, measure))
    }

    /// Whether the whole value matches.
    pub fn matches(&self, value: &str) -> bool {
        self.0.is_match(value)
    }
}

/// The pattern in the dialect of the `regex` crate, for whole values.
fn translated(pattern: &str) -> Result<String, PatternError> {
    let translated = Translation::of(pattern).map_err(PatternError::Syntax)?;
    Ok(format!("^(?s:{translated})$"))
}

/// Compiles into at most `size` bytes, with `cache` bytes for what is remembered of the values that were seen.
fn compile(translated: &str, size: usize, cache: usize) -> Result<Pattern, PatternError> {
    let mut builder = RegexBuilder::new(translated);
    match builder.size_limit(size).dfa_size_limit(cache).nest_limit(NEST).build() {
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

/// Levels of groups in a pattern.
const NEST: u32 = 200;

/// How large a pattern is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Measure {
    /// Its positions, with its repetitions written out.
    pub(crate) positions: usize,
    /// Whether it says which part of a value each of its groups matched.
    captures: bool,
}

/// The size of a translated pattern; nothing of one that is wrong, which compiling it tells.
fn measure(translated: &str) -> Measure {
    let parsed = regex_syntax::ParserBuilder::new().nest_limit(NEST).build().parse(translated);
    parsed.map_or_else(
        |_| Measure::default(),
        |parsed| Measure {
            positions: expression::positions(&parsed),
            captures: parsed.properties().explicit_captures_len() > 0,
        },
    )
}

/// The patterns of a query, compiled when the query is first evaluated: most queries of a plan are only asked elsewhere.
///
/// They follow from the text, so two of them never make a difference. Compiled ones are kept for the next evaluation as
/// long as all that are kept in the process take less than [`KEPT`]; others are compiled for each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Patterns(Arc<Compiled>);

/// Bytes that compiled patterns may take in the process, about. A fleet's hundred queries take a tenth of it.
const KEPT: usize = 64 << 20;
/// What they take.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug, Default)]
struct Compiled {
    /// The different texts, and how large each is.
    texts: Vec<(String, Measure)>,
    size: usize,
    patterns: OnceLock<HashMap<String, Pattern>>,
    taken: AtomicUsize,
}

/// What each compiled pattern remembers of values, at most.
const CACHE: usize = 64 << 10;

impl Measure {
    /// What a compiled pattern takes, about: its automata, a larger one for groups, and what it remembers.
    fn bytes(self) -> usize {
        const CACHES: usize = 3 * CACHE;
        const GROUPS: usize = CACHES + (1 << 20);
        self.positions.saturating_mul(256).saturating_add(if self.captures { GROUPS } else { CACHES })
    }
}

impl Patterns {
    /// Patterns that were found to be ones.
    pub(crate) fn new(texts: Vec<(String, Measure)>, size: usize) -> Self {
        Patterns(Arc::new(Compiled { texts, size, patterns: OnceLock::new(), taken: AtomicUsize::new(0) }))
    }

    /// Bytes of memory that the texts take.
    pub(crate) fn text_memory(&self) -> usize {
        let texts = &self.0.texts;
        let bytes = texts.iter().map(|(text, _)| text.capacity()).fold(size_of::<Compiled>(), usize::saturating_add);
        texts.capacity().saturating_mul(size_of::<(String, Measure)>()).saturating_add(bytes)
    }

    /// A compiled pattern, if it is kept.
    pub(crate) fn get(&self, text: &str) -> Option<&Pattern> {
        self.0.patterns.get_or_init(|| self.0.compile()).get(text)
    }
}

impl Compiled {
    fn compile(&self) -> HashMap<String, Pattern> {
        let needed = self.texts.iter().map(|(_, measure)| measure.bytes()).fold(0, usize::saturating_add);
        let fits = |taken: usize| taken.checked_add(needed).filter(|sum| *sum <= KEPT);
        if TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_err() {
            return HashMap::new();
        }
        self.taken.store(needed, Ordering::Relaxed);
        let compiled = |text: &str| compile(&translated(text).ok()?, self.size, CACHE).ok();
        self.texts.iter().filter_map(|(text, _)| Some((text.clone(), compiled(text)?))).collect()
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        TAKEN.fetch_sub(*self.taken.get_mut(), Ordering::Relaxed);
    }
}

impl PartialEq for Patterns {
    fn eq(&self, _: &Self) -> bool {
        true
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
