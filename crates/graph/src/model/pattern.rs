//! Which sources a block touches: a regular expression that is searched in `<version>+<arch>`, as Cincinnati does.
//!
//! Versions are ASCII, so the expressions are compiled without Unicode tables where they allow it: the same answers for
//! a fraction of the compile time. How large an expression is, is told before it is compiled; how much is searched with
//! all of them is bounded by [`Work`].

use std::sync::Arc;

use clearway_core::{Exceeded, GraphLimits, Version, expression};
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;

use crate::model::range::Ranges;

/// A `from`.
#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    /// Every source: `.*`, and whatever cannot be read.
    Any,
    /// The sources in whose full version the expression is found. Boxed: it is large.
    Search(Box<Regex>, usize),
    /// The sources that version ranges hold.
    Held(Arc<Ranges>),
}

impl Pattern {
    /// Compiles a text, or says why it cannot be.
    pub(crate) fn new(text: &str, caps: &GraphLimits) -> Result<Self, String> {
        if text == ".*" {
            return Ok(Pattern::Any);
        }
        if text.len() > caps.pattern_bytes {
            return Err(format!("it is longer than {} bytes (the cap `pattern_bytes`)", caps.pattern_bytes));
        }
        if text.is_ascii()
            && let Ok(compiled) = compile(text, false, caps)
        {
            return Ok(compiled);
        }
        compile(text, true, caps)
    }

    /// Whether a source is touched; `full` is `<version>+<arch>`.
    pub(crate) fn matches(&self, full: &str) -> bool {
        match self {
            Pattern::Any => true,
            Pattern::Search(regex, _) => regex.is_match(full.as_bytes()),
            // A release's full version is always one; anything else is touched.
            Pattern::Held(ranges) => {
                full.parse::<Version>().ok().is_none_or(|version| ranges.hold(&version, version.build()))
            }
        }
    }

    /// How much there is to compare at each byte of a text.
    fn positions(&self) -> u64 {
        match self {
            Pattern::Any => 0,
            Pattern::Search(_, positions) => positions.saturating_add(1) as u64,
            Pattern::Held(ranges) => ranges.iter().count() as u64,
        }
    }

    /// What one search in a text takes at worst: positions times bytes.
    fn cost(&self, full: &str) -> u64 {
        self.positions().saturating_mul(full.len() as u64)
    }
}

fn compile(text: &str, unicode: bool, caps: &GraphLimits) -> Result<Pattern, String> {
    // The last line says what is wrong; those before draw the place.
    let last = |error: String| error.lines().last().unwrap_or("not an expression").trim().to_owned();
    let parsed = ParserBuilder::new().unicode(unicode).utf8(false).build().parse(text);
    let positions = expression::positions(&parsed.map_err(|error| last(error.to_string()))?);
    if positions > caps.pattern_positions {
        let most = caps.pattern_positions;
        return Err(format!(
            "it is too large: more than {most} positions with its repetitions expanded (the cap `pattern_positions`)"
        ));
    }
    let compiled = RegexBuilder::new(text).unicode(unicode).size_limit(caps.pattern_compiled_bytes).build();
    compiled.map(|regex| Pattern::Search(Box::new(regex), positions)).map_err(|error| match error {
        regex::Error::CompiledTooBig(limit) => {
            format!("it is too large: more than {limit} bytes when compiled (the cap `pattern_compiled_bytes`)")
        }
        other => last(other.to_string()),
    })
}

/// What may still be searched: positions of expressions times bytes of versions.
#[derive(Debug)]
pub(crate) struct Work {
    left: u64,
}

impl Work {
    pub(crate) fn new(most: u64) -> Self {
        Work { left: most }
    }

    /// That there is none left.
    pub(crate) fn exceeded(caps: &GraphLimits) -> Exceeded {
        let what = "positions of expressions times searched bytes";
        Exceeded { cap: "pattern_work", limit: caps.pattern_work, what }
    }

    /// Takes the compiling of a pattern out of it: about as long as searching in a text of this many bytes.
    pub(crate) fn take_compile(&mut self, pattern: &Pattern) -> bool {
        const AS_LONG_AS: u64 = 1_000;
        let cost = pattern.positions().saturating_mul(AS_LONG_AS);
        self.left.checked_sub(cost).map(|left| self.left = left).is_some()
    }

    /// Takes a search out of it; false if it is more than there is left.
    pub(crate) fn take(&mut self, pattern: &Pattern, full: &str) -> bool {
        match self.left.checked_sub(pattern.cost(full)) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(text: &str) -> Result<Pattern, String> {
        Pattern::new(text, &GraphLimits::default())
    }

    #[test]
    fn a_pattern_is_searched_in_the_version_with_its_architecture() {
        for (pattern, full, want) in [
            (".*", "4.1.0+amd64", true),
            ("4[.]1[.]", "4.1.0+amd64", true),
            ("1[.]0", "4.1.0+amd64", true),
            ("^4[.]1[.]0$", "4.1.0+amd64", false),
            ("^4[.]1[.]0[+].*$", "4.1.0+amd64", true),
            ("^4[.]1[.]0[+]arm64$", "4.1.0+amd64", false),
            (r"^\d[.]\d+[.]0\b", "4.1.0+amd64", true),
            (r"\p{Nd}[+]", "4.1.0+amd64", true),
            ("(?i)AMD", "4.1.0+amd64", true),
            ("[^a-z]$", "4.1.0+amd64", true),
            ("", "4.1.0+amd64", true),
        ] {
            let compiled = new(pattern);
            if pattern.contains("\\p") && compiled.is_err() {
                continue; // Unicode properties are left out of this build: fail closed, as every unreadable `from`.
            }
            assert_eq!(compiled.unwrap().matches(full), want, "{pattern}");
        }
    }

    #[test]
    fn what_is_no_expression_says_why() {
        for (text, why) in [
            ("4[.", "unclosed character class"),
            ("(a{1000}){1000}", "too large"),
            ("(a{1000}){1000}", "`pattern_positions`"),
            (&"a".repeat(20_000), "`pattern_bytes`"),
        ] {
            assert!(new(text).unwrap_err().contains(why), "{why}: {}", new(text).unwrap_err());
        }
        let small = GraphLimits { pattern_compiled_bytes: 100, ..GraphLimits::default() };
        assert!(Pattern::new("[a-z]{9}", &small).unwrap_err().contains("`pattern_compiled_bytes`"));
    }

    #[test]
    fn work_is_positions_times_bytes() {
        let pattern = new("abc").unwrap();
        let mut work = Work::new(4 * 10 * 2);
        assert!(work.take(&pattern, "0123456789") && work.take(&pattern, "0123456789"));
        assert!(!work.take(&pattern, "0"));
        assert!(work.take(&Pattern::Any, "0"), "every source is no search");
    }
}
