//! Parameters of `Bundle` and `Policy` rules: whether clusters can evaluate them.

use std::sync::Arc;

use super::{At, Draft, Drafts, ParameterFinding, RuleTexts};
use crate::codes::{self, Code};
use crate::model::risk::{Risk, Rule};

/// A rule type whose parameters are checked.
struct CheckedType {
    /// The name of the type.
    name: &'static str,
    /// The key under which the parameters stand.
    key: &'static str,
    /// A parameter that cannot be read.
    invalid: &'static Code,
    /// A parameter that the type does not have.
    unknown: &'static Code,
}

const TYPES: [CheckedType; 2] = [
    CheckedType {
        name: Rule::BUNDLE,
        key: "bundle",
        invalid: &codes::PARAMETER_INVALID,
        unknown: &codes::PARAMETER_UNKNOWN,
    },
    CheckedType { name: Rule::POLICY, key: "policy", invalid: &codes::POLICY_INVALID, unknown: &codes::POLICY_UNKNOWN },
];

/// Checks the rules of some risks, each with the file it stands in.
pub(super) fn check<'r>(
    risks: impl IntoIterator<Item = (&'r str, &'r Risk)>,
    texts: &dyn RuleTexts,
    drafts: &mut Drafts,
) {
    for (file, risk) in risks {
        for (rule, found) in risk.rules().iter().enumerate() {
            let Some(checked) = TYPES.iter().find(|checked| checked.name == found.kind) else { continue };
            for ParameterFinding { key, message, span, known } in texts.check_parameters(found) {
                let keys = [checked.key, key];
                let text = Arc::from(found.text(keys).unwrap_or_default());
                let at = At::RuleText { rule, keys, text, span };
                let type_ = checked.name;
                let (code, help) = if known {
                    (checked.invalid, format!("docs/rules.md describes the parameters of `{type_}` rules"))
                } else {
                    (checked.unknown, "check the spelling: a parameter that is skipped has no effect".to_owned())
                };
                let message = format!("the risk `{}` has a {type_} rule {message}", risk.name());
                drafts.push(Draft::new(code, file, at, message, &help));
            }
        }
    }
}
