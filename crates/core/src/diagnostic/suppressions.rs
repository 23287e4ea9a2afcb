//! Findings that somebody has decided to live with, each for a reason and until a day.
//!
//! A suppression without an end becomes a rule that nobody remembers. So each has a reason and an end; one whose end has
//! passed has no effect and is a finding, and so is one that covers nothing any more.

use super::sarif::Rule;
use super::{Diagnostic, Place, Severity};
use crate::Timestamp;

/// What can be wrong with suppressions.
pub const RULES: [Rule; 3] = [
    Rule {
        code: EXPIRED,
        title: "A suppression has expired",
        why: "Its end has passed, so the findings that it covered are reported again.",
        text: "Its end has passed, so the findings that it covered are reported again. Correct what it covered and remove \
               it, or give it another end and a reason that still holds.",
    },
    Rule {
        code: UNUSED,
        title: "A suppression covers no finding",
        why: "What it covered was corrected, or it names something else than it was meant to.",
        text: "What it covered was corrected, or it names something else than it was meant to. Remove it, or correct its \
               code, file, object or path.",
    },
    Rule {
        code: INVALID,
        title: "A suppression cannot be read",
        why: "A suppression needs a known code, a reason and an end; a misspelt field would suppress too much.",
        text: "A suppression needs `code`, `reason` and `expires`, and may have `file`, `object` and `path`. Nothing is \
               linted while the file is invalid.",
    },
];

/// The code of a suppression whose end has passed.
pub const EXPIRED: &str = "SU001";
/// The code of a suppression that covers nothing.
pub const UNUSED: &str = "SU002";
/// The code of a suppression that cannot be read.
pub const INVALID: &str = "SU003";

/// One suppression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// The code of the findings.
    pub code: String,
    /// Only findings in this file: its path, or the end of its path.
    pub file: Option<Pattern>,
    /// Only findings about this object, as findings name it: `Kind.group namespace/name`.
    pub object: Option<Pattern>,
    /// Only findings at this path in an object.
    pub path: Option<Pattern>,
    /// Why it is accepted.
    pub reason: String,
    /// The last moment at which it holds.
    pub expires: Timestamp,
    /// Where it is written.
    pub place: Place,
}

/// Text in which `*` stands for any text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Whether it fits the whole text.
    pub fn fits(&self, text: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
        let mut rest = rest;
        let mut parts = parts.peekable();
        if parts.peek().is_none() {
            return rest.is_empty();
        }
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return rest.ends_with(part);
            }
            match rest.find(part).and_then(|at| rest.get(at.saturating_add(part.len())..)) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        true
    }

    /// Whether it fits a path, or the end of one that begins with a whole name.
    fn fits_end_of(&self, path: &str) -> bool {
        let ends = path.match_indices('/').filter_map(|(at, _)| path.get(at.saturating_add(1)..));
        self.fits(path) || ends.into_iter().any(|end| self.fits(end))
    }
}

impl From<&str> for Pattern {
    fn from(text: &str) -> Self {
        Pattern(text.to_owned())
    }
}

impl Suppression {
    fn covers(&self, finding: &Diagnostic) -> bool {
        let place = &finding.place;
        let fits = |wanted: &Option<Pattern>, is: &Option<String>| {
            wanted.as_ref().is_none_or(|pattern| is.as_deref().is_some_and(|is| pattern.fits(is)))
        };
        let in_file = self
            .file
            .as_ref()
            .is_none_or(|pattern| place.file.as_deref().is_some_and(|file| pattern.fits_end_of(file)));
        finding.code == self.code && in_file && fits(&self.object, &place.object) && fits(&self.path, &place.path)
    }
}

/// Suppressions, and which of them covered something so far.
#[derive(Debug, Clone, Default)]
pub struct Suppressions {
    entries: Vec<(Suppression, bool)>,
}

impl Suppressions {
    /// Suppressions that have covered nothing yet.
    pub fn new(entries: impl IntoIterator<Item = Suppression>) -> Self {
        Suppressions { entries: entries.into_iter().map(|entry| (entry, false)).collect() }
    }

    /// Whether a finding is suppressed at this time. Suppressions that would cover it are in use, expired or not.
    pub fn covers(&mut self, finding: &Diagnostic, now: Timestamp) -> bool {
        let mut is_covered = false;
        for (entry, used) in self.entries.iter_mut().filter(|(entry, _)| entry.covers(finding)) {
            *used = true;
            is_covered |= entry.expires >= now;
        }
        is_covered
    }

    /// What is wrong with the suppressions themselves. Which of them are in use is known only after a complete check.
    pub fn findings(&self, now: Timestamp, is_complete: bool) -> Vec<Diagnostic> {
        let finding = |(entry, used): &(Suppression, bool)| {
            let Suppression { code, expires, reason, .. } = entry;
            let (about, message, help) = if entry.expires < now {
                let help = format!("correct what it suppressed and remove it, or extend it; its reason was: {reason}");
                (EXPIRED, format!("the suppression of {code} expired at {expires} and has no effect"), help)
            } else if is_complete && !used {
                (UNUSED, format!("the suppression of {code} covers no finding"), "remove it, or correct it".to_owned())
            } else {
                return None;
            };
            Some(Diagnostic::new(about, Severity::Warning, message).at(entry.place.clone()).with_help(help))
        };
        self.entries.iter().filter_map(finding).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suppression(code: &str, expires: &str) -> Suppression {
        let expires = expires.parse().unwrap();
        Suppression {
            code: code.to_owned(),
            file: None,
            object: None,
            path: None,
            reason: "ticket 7".to_owned(),
            expires,
            place: Place::default(),
        }
    }

    fn finding(code: &'static str) -> Diagnostic {
        Diagnostic::new(code, Severity::Warning, "bad").at(Place {
            file: Some("data/blocked-edges/4.1.0.yaml".to_owned()),
            object: Some("Widget.example.com shop/later".to_owned()),
            path: Some("status.conditions[type=Ready].reason".to_owned()),
            ..Place::default()
        })
    }

    const NOW: &str = "2026-06-30T12:00:00Z";

    fn covers(suppression: Suppression, code: &'static str) -> bool {
        Suppressions::new([suppression]).covers(&finding(code), NOW.parse().unwrap())
    }

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, fits) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*b", "ab", true),
            ("a*c", "abc", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("*", "", true),
            ("", "a", false),
        ] {
            assert_eq!(Pattern::from(pattern).fits(text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn a_suppression_covers_what_it_names() {
        let later = "2027-01-01T00:00:00Z";
        let base = || suppression("SC002", later);
        assert!(covers(base(), "SC002") && !covers(base(), "SC003"));
        let file = |file: &str| covers(Suppression { file: Some(file.into()), ..base() }, "SC002");
        assert!(file("blocked-edges/4.1.0.yaml") && file("4.1*.yaml") && file("data/*"));
        assert!(!file("edges/4.1.0.yaml") && !file("4.2*.yaml"));
        let object = |object: &str| covers(Suppression { object: Some(object.into()), ..base() }, "SC002");
        assert!(object("Widget.example.com shop/later") && object("Widget.* shop/*") && !object("Widget"));
        let path = |path: &str| covers(Suppression { path: Some(path.into()), ..base() }, "SC002");
        assert!(path("*[type=Ready]*") && !path("*[type=Synced]*"));
    }

    #[test]
    fn an_expired_or_unused_suppression_is_a_finding() {
        let now = NOW.parse().unwrap();
        let mut all = Suppressions::new([
            suppression("SC001", "2027-01-01T00:00:00Z"),
            suppression("SC002", "2027-01-01T00:00:00Z"),
            suppression("SC003", "2026-06-30T11:59:59Z"),
        ]);
        assert!(all.covers(&finding("SC002"), now) && !all.covers(&finding("SC003"), now));
        let codes = |complete| all.findings(now, complete).iter().map(|one| one.code.to_string()).collect::<Vec<_>>();
        assert_eq!(codes(true), [UNUSED, EXPIRED]);
        assert_eq!(codes(false), [EXPIRED]);
        let expired = all.findings(now, false);
        assert!(expired[0].help.as_deref().unwrap().ends_with("its reason was: ticket 7"));
    }
}
