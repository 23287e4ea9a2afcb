//! The documentation of the codes of policies, with an example of each.

use clearway_core::Severity;
use clearway_core::diagnostic::CodePage;

use super::codes;

/// The pages of all codes, in their order.
pub fn pages() -> Vec<CodePage> {
    let page = |(code, severity, texts): &(&'static str, Severity, [&'static str; 5])| {
        let [title, meaning, action, wrong, right] = *texts;
        CodePage::new(code, Some(*severity), title, meaning, action).with_example(wrong, right)
    };
    PAGES.iter().map(page).collect()
}

/// A code with its title, meaning, action, and examples.
#[rustfmt::skip]
const PAGES: &[(&str, Severity, [&str; 5])] = &[
    (codes::TEMPLATE, Severity::Error, ["A template that is refused", "Its schema, its Rego or its CEL cannot be loaded, so none of its constraints is enforced.", "Correct the template at the line that the finding names.", "violation[{\"msg\": msg}] { msg := }", "violation[{\"msg\": msg}] { msg := \"no owner\" }"]),
    (codes::CONSTRAINT, Severity::Error, ["A constraint that is refused", "Its parameters do not fit the schema of its template, or its match cannot be read, so it is not enforced.", "Correct the parameters or the match.", "parameters:\n  labels: owner", "parameters:\n  labels: [owner]"]),
    (codes::NO_TEMPLATE, Severity::Error, ["A constraint without its template", "No template declares the kind of the constraint, so it is not enforced.", "Add the template, or correct the kind.", "kind: K8sRequiredLabel", "kind: K8sRequiredLabels"]),
    (codes::NO_CONSTRAINT, Severity::Info, ["A template without a constraint", "A template does nothing without a constraint.", "Add a constraint, unless it is in another directory.", "", ""]),
    (codes::UNKNOWN_ACTION, Severity::Warning, ["An unknown enforcement action or point", "The constraint is not enforced there.", "Use deny, warn, dryrun or scoped.", "enforcementAction: block", "enforcementAction: deny"]),
    (codes::UNUSED_PARAMETER, Severity::Warning, ["A parameter that the template does not use", "Its author expects an effect that it does not have.", "Remove the parameter from the schema, or use it.", "", ""]),
];
