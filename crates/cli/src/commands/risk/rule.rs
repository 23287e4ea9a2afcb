//! A rule of a risk as text: its query or condition, the evidence it needs, and the meaning of each result.

use anyhow::Result;
use clearway_advice::evidence::{FailureClass, Snapshot};
use clearway_advice::{Outcome, RuleProof, Settings};
use clearway_core::Timestamp;
use clearway_graph::{Risk, Rule};
use clearway_promql::{CLUSTER_ID_LABEL, Query, shape};
use serde::Serialize;
use serde_json::{Map, Value};

use super::layout::format_query;
use super::parameters::{find, own, word};

/// A rule, explained.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RuleText {
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// What is asked, laid out for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) asks: String,
    /// The metrics or objects that have to be there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) needs: Vec<String>,
    /// When the risk applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) matches: Option<String>,
    /// When it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) no_match: Option<String>,
    /// The results that are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unknown: Option<String>,
    /// What happens then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) then: Option<String>,
    /// Whether the fence lets it through, if it has to pass one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fence: Option<String>,
    /// Why it is never evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) never: Option<String>,
    /// What its author may want to know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

/// Explains a rule; `last` if there is no other behind it.
pub(super) fn explained(rule: &Rule, last: bool, settings: &Settings) -> Result<RuleText> {
    let mut text = RuleText {
        kind: rule.kind.clone(),
        asks: String::new(),
        needs: Vec::new(),
        matches: None,
        no_match: None,
        unknown: None,
        then: None,
        fence: None,
        never: None,
        notes: Vec::new(),
    };
    let then = if last { "the risk is Unknown, because this is the last rule" } else { "the next rule is evaluated" };
    let opinion = evaluation_error(rule, settings)?;
    match &opinion {
        Some(proof) => {
            let why = proof.why.clone().unwrap_or_default();
            if proof.failure == Some(FailureClass::Refused) {
                text.fence = Some("refused".to_owned());
            }
            text.never = Some(why);
            text.asks = match rule.promql() {
                Some(query) => query.trim().to_owned(),
                None => Value::Object(rule.parameters.clone()).to_string(),
            };
            text.then = Some(then.to_owned());
            return Ok(text);
        }
        None if rule.kind == Rule::ALWAYS => {
            text.matches = Some("always: the risk applies to every cluster".to_owned());
            return Ok(text);
        }
        None => text.then = Some(then.to_owned()),
    }
    match (rule.kind.as_str(), own(rule)) {
        (Rule::PROMQL, _) => promql(rule, &mut text),
        ("Resource", Some(parameters)) => resource(parameters, &mut text),
        ("Condition", Some(parameters)) => condition(parameters, &mut text),
        (Rule::BUNDLE, Some(parameters)) => bundle(parameters, &mut text),
        (Rule::POLICY, Some(parameters)) => policy(parameters, &mut text),
        ("Rollout", Some(parameters)) => rollout(parameters, &mut text),
        _ => text.asks = Value::Object(rule.parameters.clone()).to_string(),
    }
    Ok(text)
}

/// Why a rule can never be evaluated, if so; found by evaluating it without evidence.
fn evaluation_error(rule: &Rule, settings: &Settings) -> Result<Option<RuleProof>> {
    let alone = Risk::new("Alone", "", "", vec![rule.clone()]).into();
    let nothing = Snapshot::empty(Timestamp::EPOCH, "");
    let proof = super::evaluate(&alone, &nothing, Timestamp::EPOCH, settings)?;
    let kept_from = |tried: &&RuleProof| {
        tried.outcome == Outcome::NotRecognised
            || matches!(
                tried.failure,
                Some(
                    FailureClass::Malformed | FailureClass::Refused | FailureClass::Unsupported | FailureClass::Budget
                )
            )
    };
    Ok(proof.rules.first().filter(kept_from).cloned())
}

fn promql(rule: &Rule, text: &mut RuleText) {
    let Some(query) = rule.promql().and_then(|query| Query::parse(query, &Settings::default().limits).ok()) else {
        return;
    };
    text.fence = Some("allowed".to_owned());
    text.asks = format_query(query.expr());
    text.needs = query.metrics().into_iter().map(|metric| format!("metric {metric}")).collect();
    text.matches = Some("one series with the value 1".to_owned());
    text.no_match = Some("one series with the value 0".to_owned());
    text.unknown = Some("no series (the metrics are absent), several, any other value, or an error".to_owned());
    let ours = |matcher: &clearway_promql::ast::Matcher| {
        matcher.label.text == CLUSTER_ID_LABEL && matcher.value.text.is_empty()
    };
    if query.selectors().iter().any(|selector| selector.matchers.iter().any(ours)) {
        let note = format!("`{CLUSTER_ID_LABEL}=\"\"` is replaced by the cluster id if a store has several clusters.");
        text.notes.push(note);
    }
    for finding in shape::findings(&query) {
        text.notes.push(format!("{} {}", finding.message(), finding.help()));
    }
}

fn resource(parameters: &Map<String, Value>, text: &mut RuleText) {
    text.asks = word(parameters, "expression").map(str::to_owned).unwrap_or_default();
    let whom = selected(parameters, text);
    text.matches = Some(format!("the expression is true for {whom}"));
    text.no_match = Some(
        if is_all(parameters) {
            "the expression is false for one of them"
        } else {
            "the expression is false for all of them"
        }
        .to_owned(),
    );
    let unknown = "a missing field, a result that is not a boolean, or an unreachable API server";
    absent(parameters, "object not found", unknown, text);
}

fn condition(parameters: &Map<String, Value>, text: &mut RuleText) {
    let (type_, status) =
        (word(parameters, "type").unwrap_or_default(), word(parameters, "status").unwrap_or_default());
    text.asks = format!("the condition {type_} is {status}");
    let whom = selected(parameters, text);
    text.matches = Some(format!("true for {whom}"));
    text.no_match = Some(if is_all(parameters) { "false for one of them" } else { "false for all of them" }.to_owned());
    let unknown = "a condition about another generation of its object, a status of Unknown that is not asked for, or an API server \
                   that does not answer";
    absent(parameters, "object not found, or without the condition", unknown, text);
}

fn bundle(parameters: &Map<String, Value>, text: &mut RuleText) {
    let of = |key: &str| word(parameters, key);
    let group = of("group").unwrap_or_default();
    let mut asks = vec![format!("the bundle {group} is installed")];
    for (key, words) in [
        ("version", "its version is in"),
        ("channel", "its channel is"),
        ("servedVersion", "it serves"),
        ("storedVersion", "objects may be stored in"),
        ("usedField", "an object uses the field"),
    ] {
        asks.extend(of(key).map(|value| format!("{words} {value}")));
    }
    text.asks = asks.join(", and ");
    text.needs.push(format!("CRDs with the annotations {group}/bundle-version and {group}/channel"));
    let kind = of("usedField").and_then(|field| field.split(' ').next());
    text.needs.extend(kind.map(|kind| format!("objects of the kind {kind}, in the version of the field")));
    text.matches = Some("all of this is true".to_owned());
    text.no_match = Some("one of it is false".to_owned());
    let unknown = "CRDs of several versions or channels, without annotations, or not established; objects that cannot be \
                   listed, or an unreachable API server";
    absent(parameters, "no such bundle, or no CRD of a kind that the rule names", unknown, text);
}

fn policy(parameters: &Map<String, Value>, text: &mut RuleText) {
    let of = |key: &str| word(parameters, key).unwrap_or_default();
    let constraint = format!("{} {}", of("kind"), of("name"));
    if of("objects") == "Release" {
        text.asks =
            format!("objects of the release that the update leads to would violate the constraint {constraint}");
        text.needs
            .push(format!("the constraint {constraint}, its template, and the release by the digest of its image"));
        text.matches = Some("objects of the release violate it".to_owned());
        text.no_match = Some("no object of the release violates it".to_owned());
        let unknown = "a release that cannot be read, a constraint that admission does not evaluate, an evaluation that \
                       fails, or an unreachable API server";
        return absent(parameters, "no such constraint", unknown, text);
    }
    text.asks = format!("objects of the cluster violate the constraint {constraint}");
    text.needs.push(format!("the constraint {constraint} with the results of an audit in its status"));
    text.matches = Some("the last audit found violations".to_owned());
    text.no_match = Some("the last audit found none".to_owned());
    let unknown = "a constraint without an audit, an audit that is too old, a constraint that audits do not evaluate, or an \
                   unreachable API server";
    absent(parameters, "no such constraint", unknown, text);
}

fn rollout(parameters: &Map<String, Value>, text: &mut RuleText) {
    let start = word(parameters, "start").unwrap_or_default();
    text.needs = vec!["cluster id".to_owned()];
    match (word(parameters, "duration"), find(parameters, "percentage")) {
        (Some(duration), _) => {
            text.asks = format!("whether the cluster's start time, within {duration} from {start}, has passed");
            text.matches = Some(
                "before the cluster's start time, which is computed from the cluster id and the name of the risk"
                    .to_owned(),
            );
            text.no_match = Some("from the start time on".to_owned());
        }
        (None, share) => {
            let share = share.map(ToString::to_string).unwrap_or_default();
            text.asks = format!("whether the cluster is among the {share} percent of clusters that start at {start}");
            text.matches = Some(format!("before {start}, and afterwards for all other clusters"));
            text.no_match = Some("for these clusters from the start on".to_owned());
        }
    }
    text.unknown = Some("the cluster id is unknown".to_owned());
}

/// Says which objects are needed, and gives words for whether one or all of them have to agree.
fn selected(parameters: &Map<String, Value>, text: &mut RuleText) -> &'static str {
    let of = |key: &str| word(parameters, key);
    let mut needs =
        format!("objects of the kind {} ({})", of("kind").unwrap_or_default(), of("apiVersion").unwrap_or_default());
    for (key, words) in [("namespace", "in the namespace"), ("name", "with the name")] {
        if let Some(value) = of(key) {
            needs = format!("{needs} {words} {value}");
        }
    }
    if let Some(labels) = find(parameters, "labelSelector") {
        needs = format!("{needs} with labels {labels}");
    }
    text.needs.push(needs);
    if is_all(parameters) { "every selected object" } else { "at least one selected object" }
}

/// The meaning of missing objects, and the other unknown results.
fn absent(parameters: &Map<String, Value>, what: &str, else_: &str, text: &mut RuleText) {
    match word(parameters, "whenAbsent") {
        Some("Match") => text.matches = text.matches.take().map(|said| format!("{said}; or {what}")),
        Some("NoMatch") => text.no_match = text.no_match.take().map(|said| format!("{said}; or {what}")),
        _ => {
            text.unknown = Some(format!("{what}; {else_}"));
            return;
        }
    }
    text.unknown = Some(else_.to_owned());
}

fn is_all(parameters: &Map<String, Value>) -> bool {
    word(parameters, "quantifier") == Some("All")
}
