//! Findings of one run, of which all are counted and a bounded number is kept.
//!
//! A stranger may cause any number of findings. Whether something is clean is decided by the counts, and never by what was
//! kept or shown: a thousand notes must not hide an error.

use super::{Diagnostic, Severity};

/// Findings by severity: each is counted, and the first ones of each severity are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingList {
    limit: usize,
    errors: Kept,
    warnings: Kept,
    notes: Kept,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Kept {
    findings: Vec<Diagnostic>,
    count: usize,
}

impl FindingList {
    /// A list that keeps so many findings of each severity.
    pub fn new(limit: usize) -> Self {
        FindingList { limit, errors: Kept::default(), warnings: Kept::default(), notes: Kept::default() }
    }

    /// Counts a finding, and keeps it if there is room.
    pub fn push(&mut self, finding: Diagnostic) {
        self.report(finding.severity, || finding);
    }

    /// Counts a finding of a severity, which is only made if it is kept: for what an input can have millions of.
    pub fn report(&mut self, severity: Severity, make: impl FnOnce() -> Diagnostic) {
        let limit = self.limit;
        let kept = match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
            Severity::Info => &mut self.notes,
        };
        kept.count = kept.count.saturating_add(1);
        if kept.findings.len() < limit {
            kept.findings.push(Diagnostic { severity, ..make() });
        }
    }

    /// How many findings of a severity there were.
    pub fn count(&self, severity: Severity) -> usize {
        self.of(severity).count
    }

    /// How many findings of a severity there were that are not kept.
    pub fn dropped(&self, severity: Severity) -> usize {
        let kept = self.of(severity);
        kept.count.saturating_sub(kept.findings.len())
    }

    /// Whether there was an error.
    pub fn has_errors(&self) -> bool {
        self.errors.count > 0
    }

    /// What is kept: errors first, then warnings, then notes, each by place.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        [&self.errors, &self.warnings, &self.notes].into_iter().flat_map(|kept| {
            let mut findings: Vec<&Diagnostic> = kept.findings.iter().collect();
            findings.sort_by(|one, other| {
                (&one.place, &one.code, &one.message).cmp(&(&other.place, &other.code, &other.message))
            });
            findings
        })
    }

    /// The errors that are kept, in the order in which they came.
    pub fn into_errors(self) -> Vec<Diagnostic> {
        self.errors.findings
    }

    fn of(&self, severity: Severity) -> &Kept {
        match severity {
            Severity::Error => &self.errors,
            Severity::Warning => &self.warnings,
            Severity::Info => &self.notes,
        }
    }
}

impl Extend<Diagnostic> for FindingList {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, findings: I) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Place;
    use super::*;

    fn finding(severity: Severity, file: &str) -> Diagnostic {
        let place = Place { file: Some(file.to_owned()), ..Place::default() };
        Diagnostic::new("X1", severity, "bad").at(place)
    }

    #[test]
    fn everything_counts_and_errors_come_first_however_many_notes_there_are() {
        let mut list = FindingList::new(2);
        list.extend((0..1001).map(|number| finding(Severity::Info, &format!("{number:04}"))));
        assert!(!list.has_errors());
        list.extend(["c", "b", "a"].map(|file| finding(Severity::Error, file)));
        list.push(finding(Severity::Warning, "w"));
        list.report(Severity::Info, || panic!("not made"));
        assert!(list.has_errors());
        let counts =
            [Severity::Error, Severity::Warning, Severity::Info].map(|one| (list.count(one), list.dropped(one)));
        assert_eq!(counts, [(3, 1), (1, 0), (1002, 1000)]);
        let files: Vec<&str> = list.iter().filter_map(|one| one.place.file.as_deref()).collect();
        assert_eq!(files, ["b", "c", "w", "0000", "0001"]);
        assert_eq!(list.into_errors().len(), 2);
    }
}
