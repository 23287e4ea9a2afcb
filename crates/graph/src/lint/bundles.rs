//! Parameters of `Bundle` rules: whether clusters can evaluate them.

use std::sync::Arc;

use super::{At, Draft, Drafts, ParameterFinding, RuleTexts};
use crate::codes;
use crate::model::risk::{Risk, Rule};

/// The key under which the parameters stand.
const PARAMETERS: &str = "bundle";

/// Checks the `Bundle` rules of some risks, each with the file it stands in.
pub(super) fn check<'r>(
    risks: impl IntoIterator<Item = (&'r str, &'r Risk)>,
    texts: &dyn RuleTexts,
    drafts: &mut Drafts,
) {
    for (file, risk) in risks {
        for (rule, found) in risk.rules().iter().enumerate().filter(|(_, rule)| rule.kind == Rule::BUNDLE) {
            for ParameterFinding { key, message, span, known } in texts.check_parameters(found) {
                let keys = [PARAMETERS, key];
                let text = Arc::from(found.text(keys).unwrap_or_default());
                let at = At::RuleText { rule, keys, text, span };
                let (code, help) = if known {
                    (&codes::PARAMETER_INVALID, "docs/rules.md describes the parameters of `Bundle` rules")
                } else {
                    (&codes::PARAMETER_UNKNOWN, "check the spelling: a parameter that is skipped has no effect")
                };
                let message = format!("the risk `{}` has a Bundle rule {message}", risk.name());
                drafts.push(Draft::new(code, file, at, message, help));
            }
        }
    }
}
