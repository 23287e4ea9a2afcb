//! A risk as it stands on several pages: what goes wrong, where more is said, and the rules that decide.

use clearway_graph::{Risk, Rule};
use serde_json::Value;

use crate::address::Route;
use crate::foreign_text::{self, ForeignAddress};

/// A risk, as text.
#[derive(Debug)]
pub(crate) struct RiskText {
    pub(crate) name: String,
    pub(crate) link: String,
    pub(crate) message: String,
    pub(crate) url: ForeignAddress,
    pub(crate) rules: Vec<RuleText>,
}

/// A rule, as text.
#[derive(Debug)]
pub(crate) struct RuleText {
    pub(crate) kind: String,
    /// When it matches, in words; empty if the parameters say it.
    pub(crate) meaning: &'static str,
    /// The query, the expression or the parameters; empty if there are none.
    pub(crate) parameters: String,
}

impl RiskText {
    pub(crate) fn new(risk: &Risk) -> Self {
        RiskText {
            name: foreign_text::line(risk.name()),
            link: Route::Risk { name: risk.name().to_owned() }.link(),
            message: foreign_text::lines(risk.message()),
            url: ForeignAddress::new(risk.url()),
            rules: risk.rules().iter().map(RuleText::new).collect(),
        }
    }
}

impl RuleText {
    fn new(rule: &Rule) -> Self {
        let json = || {
            let parameters = Some(&rule.parameters).filter(|parameters| !parameters.is_empty());
            let text = parameters.and_then(|all| serde_json::to_string_pretty(&Value::Object(all.clone())).ok());
            text.unwrap_or_default()
        };
        let parameters = rule.promql().map_or_else(json, str::to_owned);
        let meaning = match rule.kind.as_str() {
            Rule::ALWAYS => "The risk applies to every cluster.",
            Rule::PROMQL => "The risk applies to a cluster whose metrics answer this query with 1.",
            Rule::RESOURCE => "The risk applies to a cluster with an object for which this expression is true.",
            Rule::CONDITION => "The risk applies to a cluster with an object that has this condition.",
            Rule::BUNDLE => "The risk applies to a cluster with these CRDs.",
            Rule::POLICY => "The risk applies to a cluster whose objects violate this policy.",
            Rule::UNREADABLE => "The rules of this risk cannot be read, so no cluster is recommended the update.",
            "Rollout" => "The risk applies to a cluster that a staged rollout has not reached yet.",
            _ => "This version of Clearway does not evaluate rules of this type.",
        };
        RuleText { kind: foreign_text::line(&rule.kind), meaning, parameters: foreign_text::lines(&parameters) }
    }
}
