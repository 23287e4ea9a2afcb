//! The documentation of the codes of an audit, and of every condition and reason, as pages.

use std::borrow::Cow;

use clearway_core::diagnostic::CodePage;

use crate::audit::RULES;
use crate::explain::EXPLANATIONS;

/// The pages of the codes of [`crate::audit`], in their order.
pub fn audit_pages() -> Vec<CodePage> {
    let page = |((code, severity, title), (meaning, action)): (
        &(&'static str, clearway_core::Severity, &'static str),
        &(&'static str, &'static str),
    )| CodePage::new(code, Some(*severity), title, meaning, action);
    RULES.iter().zip(AUDIT).map(page).collect()
}

/// One page for each reason of each condition, named `Condition/Reason`.
pub fn condition_pages() -> Vec<CodePage> {
    EXPLANATIONS
        .iter()
        .map(|row| CodePage {
            code: Cow::Owned(format!("{}/{}", row.condition, row.reason)),
            title: Cow::Owned(format!("{} is {} (on {})", row.condition, row.status, row.kinds)),
            ..CodePage::new("", None, "", row.meaning, row.action)
        })
        .collect()
}

/// What each code of [`RULES`] means, and what to do.
const AUDIT: &[(&str, &str)] = &[
    (
        "Clients that wait for the condition wait forever, and it is not known whether the object works.",
        "Check that the controller of the GatewayClass runs and may write the status; then report it to the implementation.",
    ),
    (
        "The implementation judges the object differently than the specification, so the published status misleads.",
        "Compare with `clearway gateway status --tree`, and report it to the implementation.",
    ),
    (
        "The status is right, but programs that act on the reason do something else.",
        "Report it to the implementation; `clearway gateway explain` says what each reason means.",
    ),
    (
        "The status was written before the last change of the spec, so it may be about something else.",
        "Wait for the controller. If it stays, check that the controller runs.",
    ),
    ("A user who deletes a listener by this number may cut off routes.", "Report it to the implementation."),
    ("Users rely on the list to know which routes a listener takes.", "Report it to the implementation."),
    (
        "An entry of a controller that no longer has the object is never updated again.",
        "Remove the entry, or let the controller that wrote it clean up.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_an_audit_has_its_page() {
        assert_eq!(AUDIT.len(), RULES.len());
    }
}
