//! Regular expressions, in the dialect of Go.

use std::ops::Range;

use clearway_schema::GoPattern;
use regex::bytes::{Regex, RegexBuilder};

use crate::cost::limits::Limits;
use crate::error::ErrorClass;

/// A compiled regular expression.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    regex: Regex,
    states: u64,
}

impl Pattern {
    /// Compiles a regular expression; an error if Go refuses it, or if it is too large.
    pub(crate) fn compile(text: &str, limits: &Limits) -> Result<Pattern, ErrorClass> {
        let translated = GoPattern::translate(text).map_err(|_| ErrorClass::InvalidRegex)?;
        let regex = RegexBuilder::new(&translated.rust)
            .size_limit(limits.regex_bytes)
            .dfa_size_limit(limits.regex_bytes)
            .build()
            .map_err(|_| ErrorClass::InvalidRegex)?;
        Ok(Pattern { regex, states: translated.states })
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
