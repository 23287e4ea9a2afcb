//! Regular expressions, in the dialect of Go.

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

    /// How much work a match over so many bytes may be.
    pub(crate) fn work(&self, bytes: usize) -> usize {
        let per_byte = usize::try_from(self.states / 64).unwrap_or(usize::MAX).saturating_add(1);
        bytes.saturating_add(8).saturating_mul(per_byte) / 8
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text.as_bytes())
    }

    /// The first match.
    pub(crate) fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.regex.find(text.as_bytes()).and_then(|found| text.get(found.range()))
    }

    /// The first few matches.
    pub(crate) fn find_all<'t>(&self, text: &'t str, most: usize) -> Vec<&'t str> {
        self.regex.find_iter(text.as_bytes()).take(most).filter_map(|found| text.get(found.range())).collect()
    }
}
