//! Queries of risks: whether they can be read, are let through, and answer; and metrics that stand alone.

use std::collections::{BTreeMap, BTreeSet};

use super::{At, Draft, Index, Queries, QueryFault, QueryFinding, risk};
use crate::block::Block;
use crate::codes;
use crate::risk::Rule;

/// A query: the block, the place of its rule, and the text.
type Asked<'r> = (&'r Block, usize, &'r str);

/// Checks the queries of every risk; each distinct one is looked at once.
pub(super) fn check(index: &Index<'_>, queries: &dyn Queries, drafts: &mut Vec<Draft>) {
    let mut known: BTreeMap<&str, (Vec<QueryFinding>, Vec<String>)> = BTreeMap::new();
    let mut told: BTreeSet<&str> = BTreeSet::new();
    // Of each metric: the risks that ask for it, and where one first does.
    let mut metrics: BTreeMap<String, (BTreeSet<&str>, Asked<'_>)> = BTreeMap::new();
    let mut askers: BTreeSet<&str> = BTreeSet::new();
    for block in index.revision.blocks() {
        let Some(risk) = risk(block).filter(|_| told.insert(&block.file)) else { continue };
        for (at, rule) in risk.rules().iter().enumerate().filter(|(_, rule)| rule.kind == Rule::PROMQL) {
            let Some(query) = rule.promql() else {
                let place = At::Query { rule: at, query: String::new(), span: 0..0 };
                let message = format!("the risk `{}` has a PromQL rule without a query", risk.name());
                let help = "write the query under `promql.promql`";
                drafts.push(Draft::new(&codes::QUERY_MISSING, &block.file, place, message, help));
                continue;
            };
            askers.insert(risk.name());
            let (findings, names) =
                known.entry(query).or_insert_with(|| (queries.check(query), queries.metrics(query)));
            drafts.extend(findings.iter().map(|finding| draft(finding, block, at, query)));
            for name in names {
                let place = (block, at, query);
                metrics.entry(name.clone()).or_insert_with(|| (BTreeSet::new(), place)).0.insert(risk.name());
            }
        }
    }
    for (metric, (risks, (block, at, query))) in metrics {
        if risks.len() == 1 && askers.len() > 1 {
            let start = query.find(&metric).unwrap_or(0);
            let span = start..start + metric.len();
            let place = At::Query { rule: at, query: query.to_owned(), span };
            let message = format!("no other risk asks for the metric `{metric}`");
            let help = "look whether clusters have it under this name";
            drafts.push(Draft::new(&codes::QUERY_METRIC, &block.file, place, message, help));
        }
    }
}

fn draft(finding: &QueryFinding, block: &Block, rule: usize, query: &str) -> Draft {
    let code = match finding.fault {
        QueryFault::Unreadable => &codes::QUERY_UNREADABLE,
        QueryFault::Refused => &codes::QUERY_REFUSED,
        QueryFault::Shape => &codes::QUERY_SHAPE,
    };
    let at = At::Query { rule, query: query.to_owned(), span: finding.span.clone() };
    let mut draft = Draft::new(code, &block.file, at, finding.message.as_str(), finding.help.as_str());
    draft.severity = finding.severity;
    draft
}
