//! Regular expressions, in the dialect of Go.

use std::collections::BTreeMap;
use std::ops::Range;

use clearway_schema::GoPattern;
use regex::bytes::{Regex, RegexBuilder};

use crate::cost::limits::{Limits, RegexWork};
use crate::error::{CelError, ErrorClass};
use crate::syntax::span::Span;

/// The smallest size that is tried, and how much larger the next one is: so what a pattern takes is known, and trying those that
/// are too small takes little.
const SMALLEST: usize = 2 << 10;
const LARGER: usize = 4;
/// What a search may remember, in relation to the size, and at least.
const CACHE_FACTOR: usize = 4;
const LEAST_CACHE: usize = 16 << 10;

/// A compiled regular expression. A clone shares it, and has its own memory of the texts that it searched.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    regex: Regex,
    states: u64,
    memory: usize,
}

impl Pattern {
    /// Compiles a regular expression; an error if Go refuses it, or if it is too large.
    ///
    /// `pay` is asked before every try for the bytes that it may write and those that it reads, and ends the compiling with
    /// its error.
    pub(crate) fn compile(
        text: &str,
        limits: &Limits,
        mut pay: impl FnMut(usize) -> Result<(), ErrorClass>,
    ) -> Result<Pattern, ErrorClass> {
        pay(text.len())?;
        let translated = GoPattern::translate(text).map_err(|_| ErrorClass::InvalidRegex)?;
        let reading = usize::try_from(translated.reading).unwrap_or(usize::MAX);
        let largest = limits.regex_bytes;
        let smaller = std::iter::successors(Some(SMALLEST), |size| size.checked_mul(LARGER));
        for size in smaller.take_while(|size| *size < largest).chain([largest]) {
            pay(size.saturating_add(reading))?;
            let cache = size.saturating_mul(CACHE_FACTOR).max(LEAST_CACHE).min(largest);
            match RegexBuilder::new(&translated.rust).size_limit(size).dfa_size_limit(cache).build() {
                Ok(regex) => {
                    // One automaton for each direction.
                    let memory = size.saturating_add(cache).saturating_mul(2);
                    return Ok(Pattern { regex, states: translated.states, memory });
                }
                Err(regex::Error::CompiledTooBig(_)) => {}
                Err(_) => break,
            }
        }
        Err(ErrorClass::InvalidRegex)
    }

    /// Bytes of memory that it takes with what one search after the other remembers, at most.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    /// How much work one search over so many bytes may be.
    ///
    /// Most searches look at each byte once. A pattern can be written so that each byte is looked at in every state, and
    /// which one it is shows only while it runs, so that every search is taken for the worst. A quarter of states times
    /// bytes is what Kubernetes' cost allows for patterns without counts: these reach the limit of the cost first.
    pub(crate) fn work(&self, bytes: usize) -> usize {
        let states = usize::try_from(self.states).unwrap_or(usize::MAX);
        bytes.saturating_add(8).saturating_mul(states) / 4
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text.as_bytes())
    }

    /// The first match.
    pub(crate) fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.regex.find(text.as_bytes()).and_then(|found| text.get(found.range()))
    }

    /// The first match that starts at a byte or behind it. The search may read the text to its end, however short the match
    /// is.
    pub(crate) fn find_from(&self, text: &str, start: usize) -> Option<Range<usize>> {
        self.regex.find_at(text.as_bytes(), start).map(|found| found.range())
    }
}

/// The constant regular expressions of one expression. Each text is compiled once, and what that takes is counted.
#[derive(Debug)]
pub(crate) struct ConstantPatterns<'w> {
    known: BTreeMap<Box<str>, Result<Pattern, ErrorClass>>,
    work: &'w mut RegexWork,
}

impl<'w> ConstantPatterns<'w> {
    pub(crate) fn new(work: &'w mut RegexWork) -> Self {
        ConstantPatterns { known: BTreeMap::new(), work }
    }

    /// A compiled pattern, which stands at some place of the expression; what is wrong with it may be too much work for all of
    /// them.
    pub(crate) fn get(&mut self, text: &str, limits: &Limits, span: Span) -> Result<&Pattern, CelError> {
        if !self.known.contains_key(text) {
            let compiled = Pattern::compile(text, limits, |bytes| self.work.take(bytes));
            self.known.insert(text.into(), compiled);
        }
        match self.known.get(text) {
            Some(Ok(pattern)) => Ok(pattern),
            Some(Err(ErrorClass::TooLarge)) => {
                let most = self.work.most();
                let detail = format!("compiling its regular expressions takes more than {most} bytes");
                Err(CelError::with(ErrorClass::TooLarge, span, detail))
            }
            _ => Err(CelError::with(ErrorClass::InvalidConstant, span, "this is not a valid regular expression")),
        }
    }
}
