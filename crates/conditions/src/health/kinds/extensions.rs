//! What extends the API: custom resource definitions and aggregated API servers.

use crate::health::facts::Facts;
use crate::health::verdict::{State, Verdict};
use crate::model::Status;

/// A definition is served once it is established. Unlike in kstatus, the order of its conditions decides nothing.
pub(in crate::health) fn definition(facts: &Facts<'_>) -> Verdict {
    let names = facts.condition("NamesAccepted").filter(|condition| condition.status() == Status::False);
    if let Some(names) = names {
        return facts.outdated(names).unwrap_or_else(|| facts.by_condition(State::Failed, names, "NamesNotAccepted"));
    }
    match facts.condition("Established") {
        Some(established) if established.status() == Status::True => {
            facts.current("Established", "CRD is established").since(established.since())
        }
        Some(established) if established.status() == Status::False && established.reason() != "Installing" => {
            facts.by_condition(State::Failed, established, "NotEstablished")
        }
        other => facts
            .in_progress("Installing", "Install in progress")
            .since(other.and_then(crate::health::facts::Condition::since)),
    }
}

/// An aggregated API is there when the aggregator reaches it; that it does not may pass with the pods behind it.
pub(in crate::health) fn api_service(facts: &Facts<'_>) -> Verdict {
    match facts.condition("Available") {
        Some(available) if available.status() == Status::True => {
            facts.by_condition(State::Current, available, "Available")
        }
        Some(available) => facts.by_condition(State::InProgress, available, "NotAvailable"),
        None => facts.in_progress("NotObserved", "the availability of the API has not been checked yet"),
    }
}
