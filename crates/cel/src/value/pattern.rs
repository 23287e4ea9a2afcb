//! Regular expressions, in the dialect of Go.

use std::ops::Range;

use clearway_schema::GoPattern;
use regex::bytes::{Regex, RegexBuilder};

use crate::cost::limits::Limits;
use crate::error::ErrorClass;

/// Sizes that are tried before the largest that is allowed, so that what a small one takes is known.
const SMALL: [usize; 3] = [2 << 10, 8 << 10, 32 << 10];
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
    pub(crate) fn compile(text: &str, limits: &Limits) -> Result<Pattern, ErrorClass> {
        let translated = GoPattern::translate(text).map_err(|_| ErrorClass::InvalidRegex)?;
        let largest = limits.regex_bytes;
        let sizes = SMALL.into_iter().filter(|size| *size < largest).chain([largest]);
        let mut compiled = sizes.filter_map(|size| {
            let cache = size.saturating_mul(CACHE_FACTOR).max(LEAST_CACHE).min(largest);
            let regex = RegexBuilder::new(&translated.rust).size_limit(size).dfa_size_limit(cache).build().ok()?;
            // One automaton for each direction.
            Some((regex, size.saturating_add(cache).saturating_mul(2)))
        });
        let (regex, memory) = compiled.next().ok_or(ErrorClass::InvalidRegex)?;
        Ok(Pattern { regex, states: translated.states, memory })
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
