//! What was found wrong with graph-data so far, within a bound, and whether it refuses the revision.
//!
//! A publisher may make a million mistakes. Of each kind the first ones are kept; the others are counted, so that the
//! memory of a report is bounded and its counts are true.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use clearway_core::{CapExceeded, Diagnostic, GraphLimits, Limits, Place, Severity};

use crate::codes::{self, Code};

/// Bytes of one message: what is longer is foreign text.
const MESSAGE: usize = 2_000;

/// The findings of one load, and the limits it keeps to.
pub(crate) struct Findings<'l> {
    pub(crate) limits: &'l Limits,
    pub(crate) refused: bool,
    kept: BoundedFindings,
    /// The caps that were named already: one finding for each is enough.
    told: BTreeSet<&'static str>,
}

impl<'l> Findings<'l> {
    pub(crate) fn new(limits: &'l Limits) -> Self {
        Findings { limits, refused: false, kept: BoundedFindings::new(limits.graph.findings), told: BTreeSet::new() }
    }

    /// The caps on graph-data.
    pub(crate) fn caps(&self) -> &'l GraphLimits {
        &self.limits.graph
    }

    /// The limits for reading one file.
    pub(crate) fn yaml(&self) -> Limits {
        self.limits.of_graph_data()
    }

    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.kept.push(diagnostic);
    }

    /// A finding of a code that is only made if it is kept: for what an input can have millions of.
    pub(crate) fn report(&mut self, code: &Code, make: impl FnOnce() -> Diagnostic) {
        self.kept.report(code.code, code.severity, make);
    }

    /// A finding after which the last good revision must stay.
    pub(crate) fn refuse(&mut self, diagnostic: Diagnostic) {
        self.refused = true;
        self.kept.push(diagnostic.with_note(REFUSED));
    }

    /// The same, made only if it is kept.
    pub(crate) fn refuse_with(&mut self, code: &Code, make: impl FnOnce() -> Diagnostic) {
        self.refused = true;
        self.kept.report(code.code, code.severity, || make().with_note(REFUSED));
    }

    /// Refuses the revision because a cap on the whole was exceeded; one finding names it.
    pub(crate) fn exceed(&mut self, exceeded: CapExceeded, place: Place) {
        self.refused = true;
        if self.told.insert(exceeded.cap) {
            self.refuse(over(&codes::OVER_CAP, &exceeded).at(place));
        }
    }

    /// Whether a count is above a cap, which then refuses the revision.
    pub(crate) fn exceeds(
        &mut self,
        cap: &'static str,
        count: usize,
        limit: usize,
        what: &'static str,
        place: impl FnOnce() -> Place,
    ) -> bool {
        let above = CapExceeded::first([(cap, count, limit, what)]);
        if let Some(exceeded) = above {
            self.exceed(exceeded, place());
        }
        above.is_some()
    }

    /// Everything that was found, by place.
    pub(crate) fn finish(self) -> Vec<Diagnostic> {
        self.kept.finish()
    }
}

const REFUSED: &str = "the revision is refused";

/// A finding that a cap was exceeded, with its name and value.
pub(crate) fn over(code: &Code, exceeded: &CapExceeded) -> Diagnostic {
    code.finding(exceeded.to_string()).with_help("docs/limits.md lists every cap and what the largest product needs")
}

/// Cuts a message that holds more foreign text than helps.
pub(crate) fn cut(message: &mut String) {
    if message.len() > MESSAGE {
        message.truncate(message.floor_char_boundary(MESSAGE));
        message.push_str(" …");
    }
}

/// Findings within a bound for each kind.
pub(crate) struct BoundedFindings {
    most: usize,
    diagnostics: Vec<Diagnostic>,
    /// By code: how many are kept, and of the others how many there are and how severe.
    counts: BTreeMap<Cow<'static, str>, (usize, usize, Severity)>,
}

impl BoundedFindings {
    pub(crate) fn new(most: usize) -> Self {
        BoundedFindings { most, diagnostics: Vec::new(), counts: BTreeMap::new() }
    }

    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        let (code, severity) = (diagnostic.code.clone(), diagnostic.severity);
        self.add(code, severity, || diagnostic);
    }

    pub(crate) fn report(&mut self, code: &'static str, severity: Severity, make: impl FnOnce() -> Diagnostic) {
        self.add(code.into(), severity, make);
    }

    fn add(&mut self, code: Cow<'static, str>, severity: Severity, make: impl FnOnce() -> Diagnostic) {
        let (kept, more, worst) = self.counts.entry(code).or_insert((0, 0, severity));
        *worst = severity.max(*worst);
        if *kept >= self.most {
            *more += 1;
            return;
        }
        *kept += 1;
        let mut diagnostic = make();
        cut(&mut diagnostic.message);
        self.diagnostics.push(diagnostic);
    }

    /// The findings by place; those that were only counted are one more of their kind.
    pub(crate) fn finish(self) -> Vec<Diagnostic> {
        let mut diagnostics = self.into_unsorted();
        diagnostics.sort_by(|one, other| one.place.cmp(&other.place).then_with(|| one.code.cmp(&other.code)));
        diagnostics
    }

    /// The same in the order in which they were found.
    pub(crate) fn into_unsorted(self) -> Vec<Diagnostic> {
        let mut diagnostics = self.diagnostics;
        for (code, (_, more, severity)) in self.counts {
            if more > 0 {
                let message = format!("{more} more findings of this kind are not shown");
                diagnostics.push(Diagnostic::new(code, severity, message));
            }
        }
        diagnostics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_kind_the_first_are_kept_and_the_others_are_counted() {
        let mut kept = BoundedFindings::new(2);
        for number in 0..5 {
            kept.push(Diagnostic::new("A", Severity::Warning, format!("{number}")));
        }
        kept.push(Diagnostic::new("B", Severity::Error, "é".repeat(MESSAGE)));
        kept.report("A", Severity::Error, || panic!("not made"));
        let found = kept.finish();
        let shown: Vec<(&str, Severity, &str)> =
            found.iter().map(|found| (&*found.code, found.severity, found.message.as_str())).collect();
        let long = "é".repeat(MESSAGE / 2) + " …";
        assert_eq!(
            shown,
            [
                ("A", Severity::Warning, "0"),
                ("A", Severity::Warning, "1"),
                ("A", Severity::Error, "4 more findings of this kind are not shown"),
                ("B", Severity::Error, long.as_str()),
            ]
        );
    }
}
