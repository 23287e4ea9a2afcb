//! What was wrong with an answer of the update service: updates that were left out, and why (U8). All of it is logged once
//! per revision; the status says how much there was, and names what concerns this cluster first.

use clearway_core::{Diagnostic, Severity, Version};
use serde::{Deserialize, Serialize};

/// How many findings are named in a condition.
const NAMED: usize = 5;
/// Letters of one finding there: versions and names of risks are a stranger's.
const LETTERS: usize = 300;

/// The findings about one revision of the graph.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphFindings {
    /// How many there are.
    pub count: usize,
    /// The first of them, those about the updates of this cluster before all others.
    pub named: Vec<String>,
}

impl GraphFindings {
    /// The findings that matter to a cluster that runs a version.
    pub fn new(diagnostics: &[Diagnostic], from: &Version) -> Self {
        let mut findings: Vec<&Diagnostic> =
            diagnostics.iter().filter(|finding| finding.severity >= Severity::Warning).collect();
        let from = from.to_string();
        // A stable sort: otherwise they stay in the order of the answer.
        findings.sort_by_key(|finding| !finding.message.contains(&from));
        let sentence = |finding: &&Diagnostic| finding.message.chars().take(LETTERS).collect();
        GraphFindings { count: findings.len(), named: findings.iter().take(NAMED).map(sentence).collect() }
    }

    /// In one sentence, for a condition or an event; nothing if there is nothing to say.
    pub fn summary(&self) -> Option<String> {
        let more = self.count.saturating_sub(self.named.len());
        let rest = if more == 0 { String::new() } else { format!("; {more} more are in the operator's log") };
        let parts = if self.count == 1 { "One part" } else { "Some parts" };
        let named = self.named.join("; ");
        (self.count > 0)
            .then(|| format!("{parts} of the graph could not be used as published ({}): {named}{rest}", self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_about_this_cluster_come_first_and_the_rest_is_counted() {
        let from = Version::new(1, 0, 0);
        let finding = |severity, text: &str| Diagnostic::new("GD065", severity, text);
        assert_eq!(GraphFindings::new(&[finding(Severity::Info, "a note")], &from).summary(), None);
        let mut all: Vec<Diagnostic> =
            (0..6).map(|number| finding(Severity::Error, &format!("2.0.{number} -> 3.0.0 is in both lists"))).collect();
        all.push(finding(Severity::Error, "1.0.0 -> 1.1.0 is in both lists"));
        let found = GraphFindings::new(&all, &from);
        assert_eq!((found.count, found.named.len()), (7, 5));
        let said = found.summary().unwrap();
        let begin =
            "Some parts of the graph could not be used as published (7): 1.0.0 -> 1.1.0 is in both lists; 2.0.0 ";
        assert!(said.starts_with(begin) && said.ends_with("; 2 more are in the operator's log"), "{said}");
    }
}
