//! An answer alone, without the files it was made of: what clients show of its risks, their queries, stranded versions.
//!
//! Nothing is said about files. Risks and versions are found by their names, for places in an answer mean nothing to a
//! person, and a graph is in an order of its own.

use std::collections::BTreeMap;

use clearway_core::{Diagnostic, Excerpt, GraphLimits, Place};

use super::drafts::{At, Draft, Drafts};
use super::{RuleTexts, channels, expressions, queries, risks, rule_parameters};
use crate::codes;
use crate::model::graph::{Graph, Node};
use crate::model::risk::Risk;
use crate::query::stranded::stranded_places;

/// Everything the rules have to say about one answer, by its paths.
///
/// What is wrong with the JSON itself, [`crate::wire::read`] has told.
pub fn answer(graph: &Graph, texts: &dyn RuleTexts) -> Vec<Diagnostic> {
    let carried = graph.conditional().iter().flat_map(|group| group.risks.iter());
    // By its JSON, for one name may stand for several risks.
    let distinct: BTreeMap<&str, &Risk> = carried.map(|risk| (risk.json(), risk.as_ref())).collect();
    let named: Vec<(String, &Risk)> =
        distinct.values().map(|risk| (format!("conditionalEdges[].risks[name={}]", risk.name()), *risk)).collect();
    let mut drafts = Drafts::new(GraphLimits::default().findings);
    for (path, risk) in &named {
        risks::check(path, risk, &mut drafts);
    }
    queries::check(named.iter().map(|(path, risk)| (path.as_str(), *risk)), texts, &mut drafts);
    expressions::check(named.iter().map(|(path, risk)| (path.as_str(), *risk)), texts, &mut drafts);
    rule_parameters::check(named.iter().map(|(path, risk)| (path.as_str(), *risk)), texts, &mut drafts);
    // Among the few risks of one answer, a metric of its own is the rule.
    drafts.kept.retain(|draft| draft.code != &codes::QUERY_METRIC);
    for (place, missing) in stranded_places(graph) {
        let Some(version) = graph.node(place).map(Node::version) else { continue };
        let at = At::Entry { list: "nodes", text: version.to_string(), repeat: 0 };
        let message = channels::stranded_message(version, missing);
        drafts.push(Draft::new(&codes::CHANNEL_STRANDED, "", at, message, "see `clearway graph stranded`"));
    }
    let mut found = drafts.omitted_findings();
    found.extend(drafts.kept.iter().map(placed));
    found.sort_by(|one, other| one.place.cmp(&other.place).then_with(|| one.code.cmp(&other.code)));
    found
}

/// A draft with its path in the answer; its file is the path of the risk.
fn placed(draft: &Draft) -> Diagnostic {
    let mut excerpt = None;
    let path = match &draft.at {
        At::Key(key) => format!("{}.{key}", draft.file),
        At::Entry { list, text, .. } => format!("{list}[version={text}]"),
        At::RuleText { rule, keys: [outer, inner], text, span } => {
            excerpt = Excerpt::of(text, span.clone());
            format!("{}.matchingRules[{rule}].{outer}.{inner}", draft.file)
        }
    };
    draft.finding().at(Place { path: Some(path), ..Place::default() }).with_excerpt(excerpt)
}
