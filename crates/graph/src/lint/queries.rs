//! Queries of risks: whether they can be read, are let through, and answer; and metrics that stand alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{At, Draft, Drafts, QueryFault, QueryFinding, RuleTexts};
use crate::codes;
use crate::model::risk::{Risk, Rule};

/// A query: the file it stands in, the place of its rule, and the text.
type Asked<'r> = (&'r str, usize, Arc<str>);

/// What is known of a query: its text, what is wrong with it, and the metrics it asks for.
type Known = (Arc<str>, Vec<QueryFinding>, Vec<String>);

/// Checks the queries of some risks, each with the file it stands in; each distinct query is looked at once.
pub(super) fn check<'r>(
    risks: impl IntoIterator<Item = (&'r str, &'r Risk)>,
    texts: &dyn RuleTexts,
    drafts: &mut Drafts,
) {
    let mut known: BTreeMap<&str, Known> = BTreeMap::new();
    // Of each metric: the risks that ask for it, and where one first does.
    let mut metrics: BTreeMap<String, (BTreeSet<&str>, Asked<'_>)> = BTreeMap::new();
    let mut askers: BTreeSet<&str> = BTreeSet::new();
    for (file, risk) in risks {
        for (at, rule) in risk.rules().iter().enumerate().filter(|(_, rule)| rule.kind == Rule::PROMQL) {
            let Some(query) = rule.promql() else {
                let place = At::RuleText { rule: at, keys: Rule::QUERY_KEYS, text: "".into(), span: 0..0 };
                let message = format!("the risk `{}` has a PromQL rule without a query", risk.name());
                let help = "write the query under `promql.promql`";
                drafts.push(Draft::new(&codes::QUERY_MISSING, file, place, message, help));
                continue;
            };
            askers.insert(risk.name());
            let (query, findings, names) =
                known.entry(query).or_insert_with(|| (query.into(), texts.check_query(query), texts.metrics(query)));
            for finding in findings.iter() {
                drafts.push(draft(finding, file, at, query));
            }
            for name in names {
                let first = || (BTreeSet::new(), (file, at, Arc::clone(query)));
                metrics.entry(name.clone()).or_insert_with(first).0.insert(risk.name());
            }
        }
    }
    for (metric, (risks, (file, at, query))) in metrics {
        if risks.len() == 1 && askers.len() > 1 {
            let start = query.find(&metric).unwrap_or(0);
            let span = start..start + metric.len();
            let place = At::RuleText { rule: at, keys: Rule::QUERY_KEYS, text: query, span };
            let message = format!("no other risk uses the metric `{metric}`");
            let help = "check that clusters have a metric of this name";
            drafts.push(Draft::new(&codes::QUERY_METRIC, file, place, message, help));
        }
    }
}

fn draft(finding: &QueryFinding, file: &str, rule: usize, query: &Arc<str>) -> Draft {
    let code = match finding.fault {
        QueryFault::Unreadable => &codes::QUERY_UNREADABLE,
        QueryFault::Refused => &codes::QUERY_REFUSED,
        QueryFault::Shape => &codes::QUERY_SHAPE,
    };
    let at = At::RuleText { rule, keys: Rule::QUERY_KEYS, text: Arc::clone(query), span: finding.span.clone() };
    let mut draft = Draft::new(code, file, at, finding.message.as_str(), finding.help.as_str());
    draft.severity = finding.severity;
    draft
}
