//! The different risks of graph-data, each kept once, within their caps.

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use clearway_core::{CapExceeded, GraphLimits};

use crate::model::risk::{Risk, Rule};

/// A risk that is found by its JSON.
#[derive(Debug)]
struct ByJson(Arc<Risk>);

impl Borrow<str> for ByJson {
    fn borrow(&self) -> &str {
        self.0.json()
    }
}

impl Hash for ByJson {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.json().hash(state);
    }
}

impl PartialEq for ByJson {
    fn eq(&self, other: &Self) -> bool {
        self.0.json() == other.0.json()
    }
}

impl Eq for ByJson {}

/// The different risks, and the file that each stands in first.
#[derive(Debug, Default)]
pub(crate) struct RiskTable {
    risks: HashMap<ByJson, String>,
    bytes: usize,
    rules: usize,
    queries: BTreeSet<String>,
    object_questions: BTreeSet<String>,
}

impl RiskTable {
    /// The risk as it is kept, the same for all that are equal; or the cap that it is above.
    pub(crate) fn share(&mut self, risk: Arc<Risk>, file: &str, caps: &GraphLimits) -> Result<Arc<Risk>, CapExceeded> {
        if let Some((known, _)) = self.risks.get_key_value(risk.json()) {
            return Ok(Arc::clone(&known.0));
        }
        self.bytes += risk.json().len();
        self.rules += risk.rules().len();
        for query in risk.rules().iter().filter_map(Rule::promql) {
            if !self.queries.contains(query) {
                self.queries.insert(query.to_owned());
            }
        }
        self.object_questions.extend(risk.rules().iter().filter_map(Rule::object_question));
        let above = CapExceeded::first([
            ("risks", self.risks.len() + 1, caps.risks, "different risks"),
            ("risks_bytes", self.bytes, caps.risks_bytes, "bytes in all different risks"),
            ("rules_in_all", self.rules, caps.rules_in_all, "matching rules in all different risks"),
            ("queries", self.queries.len(), caps.queries, "different queries"),
            ("object_questions", self.object_questions.len(), caps.object_questions, "different rules about objects"),
        ]);
        if let Some(above) = above {
            return Err(above);
        }
        self.risks.insert(ByJson(Arc::clone(&risk)), file.to_owned());
        Ok(risk)
    }

    /// The risks in their order, each with the file that it stands in first.
    pub(crate) fn in_order(self) -> Vec<(Arc<Risk>, String)> {
        let mut risks: Vec<_> = self.risks.into_iter().map(|(risk, file)| (risk.0, file)).collect();
        risks.sort_by(|(one, _), (other, _)| one.order(other));
        risks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_risks_are_kept_once_and_caps_are_named() {
        let caps = GraphLimits { risks: 2, queries: 1, ..GraphLimits::default() };
        let risk = |name: &str, query: &str| {
            let rule = serde_json::json!({"type": "PromQL", "promql": {"promql": query}});
            Arc::new(Risk::new(name, "u", "m", vec![Rule::from_json(&rule).unwrap()]))
        };
        let mut table = RiskTable::default();
        let first = table.share(risk("B", "up"), "one", &caps).unwrap();
        assert!(Arc::ptr_eq(&first, &table.share(risk("B", "up"), "two", &caps).unwrap()));
        table.share(risk("A", "up"), "three", &caps).unwrap();
        assert_eq!(table.share(risk("C", "up"), "four", &caps).unwrap_err().cap, "risks");
        let order: Vec<_> = table.in_order().into_iter().map(|(risk, file)| (risk.name().to_owned(), file)).collect();
        assert_eq!(order, [("A".to_owned(), "three".to_owned()), ("B".to_owned(), "one".to_owned())]);
        let mut table = RiskTable::default();
        table.share(risk("A", "up"), "one", &caps).unwrap();
        assert_eq!(table.share(risk("A", "down"), "two", &caps).unwrap_err().cap, "queries");

        let caps = GraphLimits { object_questions: 1, ..GraphLimits::default() };
        let about = |name: &str, kind: &str, expression: &str| {
            let rule = serde_json::json!({"type": kind, "resource": {"kind": "Node", "expression": expression}});
            Arc::new(Risk::new(name, "u", "m", vec![Rule::from_json(&rule).unwrap()]))
        };
        let mut table = RiskTable::default();
        table.share(about("A", "Resource", "true"), "one", &caps).unwrap();
        table.share(about("B", "Resource", "true"), "two", &caps).unwrap();
        table.share(about("C", "Future", "false"), "three", &caps).unwrap();
        assert_eq!(table.share(about("D", "Condition", "true"), "four", &caps).unwrap_err().cap, "object_questions");
    }
}
