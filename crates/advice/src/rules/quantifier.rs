//! What several objects say together: one suffices, or all have to.

use super::Finding;
use super::parameters::Parameters;
use crate::evidence::{Failure, FailureClass};

/// How the findings on several objects make one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantifier {
    all: bool,
    absent: WhenAbsent,
}

/// What it means that there is nothing to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenAbsent {
    Unknown,
    Match,
    NoMatch,
}

impl WhenAbsent {
    /// Reads `whenAbsent` (`Unknown`, `Match` or `NoMatch`).
    pub(crate) fn read(parameters: &Parameters<'_>) -> Result<Self, Failure> {
        let words = [("Unknown", WhenAbsent::Unknown), ("Match", WhenAbsent::Match), ("NoMatch", WhenAbsent::NoMatch)];
        Ok(parameters.word("whenAbsent", &words)?.unwrap_or(WhenAbsent::Unknown))
    }

    /// The finding where there is nothing to look at.
    pub(crate) fn finding(self, message: String, missing: String) -> Finding {
        match self {
            WhenAbsent::Match => Finding::Match,
            WhenAbsent::NoMatch => Finding::NoMatch,
            WhenAbsent::Unknown => Finding::failed(FailureClass::Absent, message, missing),
        }
    }
}

impl Quantifier {
    /// Reads `quantifier` (`Any` or `All`) and `whenAbsent` (`Unknown`, `Match` or `NoMatch`).
    pub(crate) fn read(parameters: &Parameters<'_>) -> Result<Self, Failure> {
        let all = parameters.word("quantifier", &[("Any", false), ("All", true)])?.unwrap_or(false);
        Ok(Quantifier { all, absent: WhenAbsent::read(parameters)? })
    }

    /// The finding where there is nothing to look at.
    pub(crate) fn absent(self, message: String, missing: String) -> Finding {
        self.absent.finding(message, missing)
    }

    /// One finding of those on each object: one that decides does so whatever is not known of the others.
    pub(crate) fn over(self, findings: impl Iterator<Item = Finding>) -> Finding {
        let mut open = None;
        for finding in findings {
            match finding {
                Finding::Match if !self.all => return Finding::Match,
                Finding::NoMatch if self.all => return Finding::NoMatch,
                Finding::Match | Finding::NoMatch => {}
                failed => open = open.or(Some(failed)),
            }
        }
        open.unwrap_or_else(|| Finding::of(self.all))
    }
}
