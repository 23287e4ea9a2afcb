//! Regular expressions in Go's dialect, translated. Both dialects have the syntax of RE2; what differs is read here, so
//! that a pattern is refused if Go refuses it and means what it means there.

use std::collections::BTreeSet;

use regex::{Regex, RegexBuilder};

/// What a compiled pattern may take; the largest of public CRDs take a tenth.
const SIZE: usize = 1 << 20;

/// How often a part may be repeated by a count, nested counts multiplied.
const REPEATS: u64 = 1_000;

/// How deep groups may be nested.
const DEPTH: usize = 1_000;

/// Compiles a pattern; nothing if it is not valid, or says something that cannot be said here.
pub(super) fn read(pattern: &str) -> Option<Regex> {
    let translated = GoPattern::translate(pattern).ok()?;
    RegexBuilder::new(&translated.rust).size_limit(SIZE).build().ok()
}

/// A regular expression of Go, in the syntax of the crate `regex`.
///
/// Groups capture only where that was asked for. Word boundaries are about ASCII, as in Go; `\B` is therefore accepted by `regex::bytes` only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoPattern {
    /// The translated pattern.
    pub rust: String,
    /// How many characters and classes it has, with those that are repeated by a count counted as often: how much a
    /// match may cost for each character of a text.
    pub states: u64,
    /// How much there is to read before anything is compiled, in bytes: the text, the tables of Unicode that its classes
    /// stand for, and what ignoring case looks up for the characters of each. A few letters can ask for all of Unicode.
    pub reading: u64,
}

/// What a class that is named adds to [`GoPattern::reading`]: its table.
const TABLE: u64 = 1 << 10;

/// All characters.
const ALL: u64 = 0x11_0000;

/// How many characters are looked up where case is ignored, for each byte of [`GoPattern::reading`].
const FOLDED: u64 = 16;

/// Why a text is not a regular expression of Go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PatternError(&'static str);

impl GoPattern {
    /// Translates a pattern.
    pub fn translate(pattern: &str) -> Result<GoPattern, PatternError> {
        GoPattern::translate_groups(pattern, false)
    }

    /// The same with groups that capture, for what is found and replaced by groups.
    pub fn translate_capturing(pattern: &str) -> Result<GoPattern, PatternError> {
        GoPattern::translate_groups(pattern, true)
    }

    fn translate_groups(pattern: &str, capturing: bool) -> Result<GoPattern, PatternError> {
        let mut translator = Translator {
            capturing,
            rest: pattern,
            out: String::with_capacity(pattern.len().saturating_mul(2)),
            groups: vec![Group::default()],
            names: BTreeSet::new(),
            no_named_classes: false,
            named: 0,
            width: 0,
            ignores_case: false,
        };
        while !translator.rest.is_empty() {
            translator.step()?;
        }
        match translator.groups.as_mut_slice() {
            [whole] => {
                settle(whole);
                let tables = translator.named.saturating_mul(TABLE);
                let folded = if translator.ignores_case { translator.width / FOLDED } else { 0 };
                let reading = (translator.out.len() as u64).saturating_add(tables).saturating_add(folded);
                Ok(GoPattern { states: whole.states.saturating_add(1), reading, rust: translator.out })
            }
            _ => Err(PatternError("a group has no end")),
        }
    }
}

/// What is known of an open group, and of the last part in it.
#[derive(Default)]
struct Group {
    states: u64,
    /// The largest product of counts in it.
    repeats: u64,
    last: Option<Part>,
}

/// A part that may be repeated.
struct Part {
    states: u64,
    repeats: u64,
    /// Whether it is a repetition itself, which cannot be repeated once more.
    repeated: bool,
}

struct Translator<'p> {
    capturing: bool,
    rest: &'p str,
    out: String,
    groups: Vec<Group>,
    names: BTreeSet<&'p str>,
    /// Whether there is no end of a named class in the rest.
    no_named_classes: bool,
    /// Classes of Unicode.
    named: u64,
    /// Characters of all classes, each counted for every class that has it.
    width: u64,
    /// Whether case is ignored anywhere.
    ignores_case: bool,
}

impl Translator<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn take(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.skip(char.len_utf8());
        Some(char)
    }

    fn eat(&mut self, wanted: &str) -> bool {
        let found = self.rest.starts_with(wanted);
        if found {
            self.skip(wanted.len());
        }
        found
    }

    /// A part is complete.
    fn part(&mut self, states: u64, repeats: u64) {
        if let Some(group) = self.groups.last_mut() {
            settle(group);
            group.last = Some(Part { states, repeats, repeated: false });
        }
    }

    fn literal(&mut self, char: char) {
        push_char(&mut self.out, char, false);
        self.part(1, 1);
    }

    fn step(&mut self) -> Result<(), PatternError> {
        let Some(char) = self.peek() else { return Ok(()) };
        match char {
            '(' => self.open_group(),
            ')' => self.close_group(),
            '|' => {
                self.skip(1);
                self.out.push('|');
                if let Some(group) = self.groups.last_mut() {
                    settle(group);
                }
                Ok(())
            }
            '[' => self.class(),
            '*' | '+' | '?' => {
                self.skip(1);
                self.repeat(&char.to_string(), None)
            }
            '{' => {
                let Some((length, least, most)) = self.count() else {
                    self.skip(1);
                    self.literal('{');
                    return Ok(());
                };
                let words = self.rest.get(..length).unwrap_or_default().to_owned();
                self.skip(length);
                let count = most.unwrap_or(least);
                if least > REPEATS || count > REPEATS || count < least {
                    return Err(PatternError("the count of a repetition is not valid"));
                }
                self.repeat(&words, Some(count))
            }
            '.' | '^' | '$' => {
                self.skip(1);
                self.out.push(char);
                self.part(1, 1);
                Ok(())
            }
            '\\' => self.escape(),
            char => {
                self.skip(char.len_utf8());
                self.literal(char);
                Ok(())
            }
        }
    }

    /// `{2}`, `{2,}` or `{2,3}`: its length and numbers. Anything else in braces is text.
    fn count(&self) -> Option<(usize, u64, Option<u64>)> {
        let behind = self.rest.strip_prefix('{')?;
        // No further than the count may go: there may be a brace at every letter.
        let end = behind.find(|letter: char| !letter.is_ascii_digit() && letter != ',')?;
        let (inner, rest) = behind.split_at_checked(end)?;
        rest.strip_prefix('}')?;
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let plain = digits && (text.len() == 1 || !text.starts_with('0'));
            plain.then(|| text.parse().unwrap_or(u64::MAX))
        };
        let length = inner.len().saturating_add(2);
        match inner.split_once(',') {
            None => number(inner).map(|count| (length, count, Some(count))),
            Some((least, "")) => number(least).map(|least| (length, least, None)),
            Some((least, most)) => Some((length, number(least)?, Some(number(most)?))),
        }
    }

    fn repeat(&mut self, words: &str, count: Option<u64>) -> Result<(), PatternError> {
        let lazy = self.eat("?");
        let Some(last) = self.groups.last_mut().and_then(|group| group.last.as_mut()) else {
            return Err(PatternError("a repetition has nothing to repeat"));
        };
        if last.repeated {
            return Err(PatternError("a repetition is repeated"));
        }
        last.repeated = true;
        if let Some(count) = count {
            let factor = count.max(1);
            last.states = last.states.saturating_mul(factor.saturating_add(1));
            last.repeats = last.repeats.saturating_mul(factor);
            if count >= 2 && last.repeats > REPEATS {
                return Err(PatternError("nested repetitions repeat too often"));
            }
        }
        self.out.push_str(words);
        if lazy {
            self.out.push('?');
        }
        Ok(())
    }

    fn open_group(&mut self) -> Result<(), PatternError> {
        self.skip(1);
        if self.groups.len() > DEPTH {
            return Err(PatternError("groups are nested too deeply"));
        }
        if self.eat("?P<") || (self.rest.starts_with("?<") && self.eat("?<")) {
            let (name, _) = self.rest.split_once('>').ok_or(PatternError("the name of a group has no end"))?;
            let valid = !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
            if !valid || !self.names.insert(name) {
                return Err(PatternError("the name of a group is not valid"));
            }
            self.skip(name.len().saturating_add(1));
            if self.capturing {
                self.out.push_str("(?P<");
                self.out.push_str(name);
                self.out.push('>');
            } else {
                self.out.push_str("(?:");
            }
        } else if self.eat("?") {
            return self.flags();
        } else {
            self.out.push_str(if self.capturing { "(" } else { "(?:" });
        }
        self.groups.push(Group::default());
        Ok(())
    }

    /// `(?i)`, `(?i-s:…)`.
    fn flags(&mut self) -> Result<(), PatternError> {
        let wrong = PatternError("the flags of a group are not valid");
        let mut flags = String::new();
        let (mut negative, mut seen) = (false, false);
        loop {
            match self.take().ok_or(wrong)? {
                flag @ ('i' | 'm' | 's' | 'U') => {
                    flags.push(flag);
                    seen = true;
                }
                '-' if !negative => {
                    flags.push('-');
                    (negative, seen) = (true, false);
                }
                end @ (':' | ')') if seen || !negative => {
                    self.end_flags(&flags, end);
                    return Ok(());
                }
                _ => return Err(wrong),
            }
        }
    }

    fn end_flags(&mut self, flags: &str, end: char) {
        // One dialect accepts a flag twice, the other does not.
        let mut once = String::new();
        let (on, off) = flags.split_once('-').unwrap_or((flags, ""));
        self.ignores_case |= on.contains('i');
        for flag in on.chars().filter(|flag| !off.contains(*flag)) {
            if !once.contains(flag) {
                once.push(flag);
            }
        }
        let mut without = String::new();
        for flag in off.chars() {
            if !without.contains(flag) {
                without.push(flag);
            }
        }
        if !without.is_empty() {
            once.push('-');
            once.push_str(&without);
        }
        if end == ':' {
            self.out.extend(["(?", &once, ":"]);
            self.groups.push(Group::default());
        } else if !once.is_empty() {
            self.out.extend(["(?", &once, ")"]);
        }
    }

    fn close_group(&mut self) -> Result<(), PatternError> {
        self.skip(1);
        if self.groups.len() < 2 {
            return Err(PatternError("a closing parenthesis has no opening one"));
        }
        if let Some(mut group) = self.groups.pop() {
            settle(&mut group);
            self.out.push(')');
            self.part(group.states.max(1), group.repeats.max(1));
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<(), PatternError> {
        if self.eat("\\Q") {
            let (text, after) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
            self.rest = after;
            for char in text.chars() {
                self.literal(char);
            }
            return Ok(());
        }
        let code = self.rest.chars().nth(1).ok_or(PatternError("the pattern ends with a backslash"))?;
        let translated = match code {
            'A' => "\\A",
            'z' => "\\z",
            'b' => "(?-u:\\b)",
            'B' => "(?-u:\\B)",
            'd' => "[0-9]",
            'D' => "[^0-9]",
            's' => "[\\t\\n\\f\\r ]",
            'S' => "[^\\t\\n\\f\\r ]",
            'w' => "[0-9A-Za-z_]",
            'W' => "[^0-9A-Za-z_]",
            'p' | 'P' => {
                let class = self.unicode_class()?;
                self.out.push_str(&class);
                self.part(4, 1);
                return Ok(());
            }
            _ => {
                let char = self.escaped_char()?;
                self.literal(char);
                return Ok(());
            }
        };
        self.skip(1_usize.saturating_add(code.len_utf8()));
        self.out.push_str(translated);
        self.part(1, 1);
        Ok(())
    }

    /// `\pL`, `\p{Greek}`, `\P{^Greek}`.
    fn unicode_class(&mut self) -> Result<String, PatternError> {
        let wrong = PatternError("the character class is unknown");
        let mut negated = self.rest.starts_with("\\P");
        self.skip(2);
        let name = if self.eat("{") {
            let (name, _) = self.rest.split_once('}').ok_or(wrong)?;
            self.skip(name.len().saturating_add(1));
            name
        } else {
            let length = self.peek().ok_or(wrong)?.len_utf8();
            let name = self.rest.get(..length).unwrap_or_default();
            self.skip(length);
            name
        };
        let plain = name.strip_prefix('^').unwrap_or(name);
        if plain.len() < name.len() {
            negated = !negated;
        }
        if plain.is_empty() || !plain.chars().all(|char| char.is_ascii_alphabetic() || char == '_') {
            return Err(wrong);
        }
        self.named = self.named.saturating_add(1);
        self.width = self.width.saturating_add(ALL);
        if plain == "Any" {
            return Ok(if negated { "[^\\x{0}-\\x{10FFFF}]" } else { "[\\x{0}-\\x{10FFFF}]" }.to_owned());
        }
        Ok(format!("\\{}{{{plain}}}", if negated { 'P' } else { 'p' }))
    }

    /// A character behind a backslash.
    fn escaped_char(&mut self) -> Result<char, PatternError> {
        let wrong = PatternError("the escape is unknown");
        self.skip(1);
        let code = self.take().ok_or(wrong)?;
        let simple = match code {
            'a' => '\u{7}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '0'..='7' => {
                let more = self.rest.chars().take(2).take_while(|char| char.is_digit(8)).count();
                if code != '0' && more == 0 {
                    return Err(wrong);
                }
                let digits: String = std::iter::once(code).chain(self.rest.chars().take(more)).collect();
                self.skip(more);
                return u32::from_str_radix(&digits, 8).ok().and_then(char::from_u32).ok_or(wrong);
            }
            'x' => return self.hexadecimal().ok_or(wrong),
            char if char.is_ascii() && !char.is_ascii_alphanumeric() => char,
            _ => return Err(wrong),
        };
        Ok(simple)
    }

    fn hexadecimal(&mut self) -> Option<char> {
        let digits = if self.eat("{") {
            let (digits, _) = self.rest.split_once('}')?;
            self.skip(digits.len().saturating_add(1));
            digits
        } else {
            let digits = self.rest.get(..2)?;
            self.skip(2);
            digits
        };
        let valid = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        valid.then(|| u32::from_str_radix(digits, 16).ok()).flatten().and_then(char::from_u32)
    }

    /// `[…]`.
    fn class(&mut self) -> Result<(), PatternError> {
        let unfinished = PatternError("a character class has no end");
        self.skip(1);
        self.out.push('[');
        if self.eat("^") {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            match self.peek().ok_or(unfinished)? {
                ']' if !first => break,
                '[' if self.rest.starts_with("[:") && self.has_named_class() => self.named_class()?,
                '\\' if self.rest.starts_with("\\p") || self.rest.starts_with("\\P") => {
                    let class = self.unicode_class()?;
                    self.out.push_str(&class);
                }
                '\\' if self.perl_class() => {}
                _ => self.class_range()?,
            }
            first = false;
        }
        self.skip(1);
        self.out.push(']');
        self.part(1, 1);
        Ok(())
    }

    /// Whether a class that begins here has an end. Where it has none, no later one has.
    fn has_named_class(&mut self) -> bool {
        self.no_named_classes = self.no_named_classes || !self.rest.contains(":]");
        !self.no_named_classes
    }

    fn named_class(&mut self) -> Result<(), PatternError> {
        let (name, _) = self.rest.split_once(":]").unwrap_or_default();
        let plain = name.trim_start_matches("[:").trim_start_matches('^');
        let known = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
            "word", "xdigit",
        ];
        if !known.contains(&plain) {
            return Err(PatternError("the character class is unknown"));
        }
        if name.contains('^') {
            self.width = self.width.saturating_add(ALL);
        }
        self.out.push_str(name);
        self.out.push_str(":]");
        self.skip(name.len().saturating_add(2));
        Ok(())
    }

    fn perl_class(&mut self) -> bool {
        let translated = match self.rest.get(..2) {
            Some("\\d") => "0-9",
            Some("\\D") => "[^0-9]",
            Some("\\s") => "\\t\\n\\f\\r ",
            Some("\\S") => "[^\\t\\n\\f\\r ]",
            Some("\\w") => "0-9A-Za-z_",
            Some("\\W") => "[^0-9A-Za-z_]",
            _ => return false,
        };
        if translated.contains('^') {
            self.width = self.width.saturating_add(ALL);
        }
        self.skip(2);
        self.out.push_str(translated);
        true
    }

    fn class_char(&mut self) -> Result<char, PatternError> {
        let unfinished = PatternError("a character class has no end");
        if self.rest.starts_with('\\') { self.escaped_char() } else { self.take().ok_or(unfinished) }
    }

    fn class_range(&mut self) -> Result<(), PatternError> {
        let low = self.class_char()?;
        push_char(&mut self.out, low, true);
        if self.rest.starts_with('-') && !self.rest.starts_with("-]") && self.rest.len() > 1 {
            self.skip(1);
            let high = self.class_char()?;
            if high < low {
                return Err(PatternError("a range of characters ends before it starts"));
            }
            self.width = self.width.saturating_add(u64::from(u32::from(high).saturating_sub(u32::from(low))));
            self.out.push('-');
            push_char(&mut self.out, high, true);
        }
        Ok(())
    }
}

/// Counts the last part of a group.
fn settle(group: &mut Group) {
    if let Some(last) = group.last.take() {
        group.states = group.states.saturating_add(last.states);
        group.repeats = group.repeats.max(last.repeats);
    }
}

/// A character that stands for itself, in a class or outside.
fn push_char(out: &mut String, char: char, class: bool) {
    let outside = matches!(char, '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$');
    if outside || (class && matches!(char, '-' | '&' | '~')) {
        out.push('\\');
    }
    out.push(char);
}

#[cfg(test)]
mod tests;
