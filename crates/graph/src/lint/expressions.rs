//! Expressions of `Resource` rules: whether clusters can evaluate them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{At, Draft, Drafts, ExpressionFault, ExpressionFinding, RuleTexts};
use crate::codes;
use crate::model::risk::{Risk, Rule};

/// Checks the expressions of some risks, each with the file it stands in; each distinct expression is looked at once.
pub(super) fn check<'r>(
    risks: impl IntoIterator<Item = (&'r str, &'r Risk)>,
    texts: &dyn RuleTexts,
    drafts: &mut Drafts,
) {
    let mut known: BTreeMap<&str, Option<ExpressionFinding>> = BTreeMap::new();
    for (file, risk) in risks {
        for (rule, found) in risk.rules().iter().enumerate().filter(|(_, rule)| rule.kind == Rule::RESOURCE) {
            let at = |text: &str, span| At::RuleText { rule, keys: Rule::EXPRESSION_KEYS, text: Arc::from(text), span };
            let Some(expression) = found.expression() else {
                let message = format!("the risk `{}` has a Resource rule without an expression", risk.name());
                let help = "write the expression under `resource.expression`";
                drafts.push(Draft::new(&codes::EXPRESSION_MISSING, file, at("", 0..0), message, help));
                continue;
            };
            let finding = known.entry(expression).or_insert_with(|| texts.check_expression(expression));
            if let Some(ExpressionFinding { fault, message, span }) = finding {
                let (code, help) = match fault {
                    ExpressionFault::Invalid => (
                        &codes::EXPRESSION_INVALID,
                        "`clearway cel check` checks an expression, and `cel explain` a function",
                    ),
                    ExpressionFault::Limit => (&codes::EXPRESSION_COST, "write an expression that reads less"),
                };
                drafts.push(Draft::new(code, file, at(expression, span.clone()), message.as_str(), help));
            }
        }
    }
}
