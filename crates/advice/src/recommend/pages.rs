//! The documentation of the reasons of a recommendation.

use clearway_core::diagnostic::CodePage;

use super::reasons;

/// The pages of all reasons.
pub fn reason_pages() -> Vec<CodePage> {
    PAGES.iter().map(|(reason, [title, meaning, action])| CodePage::new(reason, None, title, meaning, action)).collect()
}

/// A reason with its title, meaning and action.
#[rustfmt::skip]
const PAGES: &[(&str, [&str; 3])] = &[
    (reasons::UNCONDITIONAL, ["Recommended: no risk is known for the update", "The graph offers the update to every cluster.", ""]),
    (reasons::NOT_EXPOSED, ["Recommended: no known risk applies to this cluster", "Every risk of the update was evaluated with evidence from this cluster, and none applies.", ""]),
    (reasons::ACCEPTED, ["Recommended: every risk that applies was accepted", "An administrator accepted each of the risks that apply, by name. Risks that could not be evaluated are never accepted this way.", "`clearway upgrade accept` lists what was accepted; a name with `-` withdraws it."]),
    (reasons::EXPOSED, ["Not recommended: a risk applies to this cluster", "The name of the risk cannot be used as a reason, so the message names it.", "Read the message, wait for the fixed release, or accept the risk by name."]),
    (reasons::MULTIPLE, ["Not recommended: several risks apply or are unknown", "At least one risk applies, and others apply too or could not be evaluated. The message has a paragraph for each.", "`clearway upgrade recommend --version VERSION` lists them one by one."]),
    (reasons::EVIDENCE_UNREACHABLE, ["Unknown: a source of evidence cannot be reached", "The metrics store or the API server could not be reached, refused the request, or did not answer in time. Without evidence an update is never recommended.", "Read the cause in the message: check the address, the credentials and the network, then run it again."]),
    (reasons::PROMQL_ERROR, ["Unknown: a query of a risk could not be evaluated", "The metrics store is unreachable, has no such metric, or gave no single series with the value 0 or 1. Without an answer the update is not recommended.", "Check that Prometheus runs and has the metrics; `clearway assess --why` shows the query, its answer and a command that repeats it."]),
    (reasons::EVALUATION_FAILED, ["Unknown: a rule of a risk could not be evaluated", "A rule about objects, conditions, bundles or policies failed: missing rights, missing fields, an unknown state.", "`clearway assess --why` shows which rule failed and why."]),
    (reasons::PENDING, ["Unknown: a risk is not evaluated yet", "Risks are evaluated in rounds. The first round after a start or a new graph has not reached this one.", "Wait for the next round; `clearway upgrade status` shows it."]),
    (reasons::EVALUATING, ["The risks of the update are evaluated again and again", "Reason of the condition `Evaluating`: every risk has a rule that this cluster supports.", ""]),
    (reasons::NO_RULES, ["A risk has no rules", "It is unknown which clusters have it, so the update is not recommended to any.", "Report it to the publisher of the graph; `clearway graph lint` finds it (GD023)."]),
    (reasons::UNRECOGNISED, ["A risk has only rules of unknown types", "This version does not support any of its rules, so it is unknown whether the risk applies.", "Update Clearway, or report a misspelt type to the publisher of the graph (GD025)."]),
];
