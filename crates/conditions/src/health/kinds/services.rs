//! What other objects lean on: services, claims, ingresses, namespaces, and plain data.

use crate::health::facts::Facts;
use crate::health::generic;
use crate::health::verdict::{Basis, Verdict};

/// Whether a load balancer has published an address.
fn has_address(facts: &Facts<'_>) -> bool {
    facts
        .status
        .and_then(|status| status.at(&["loadBalancer", "ingress"]))
        .is_some_and(|list| list.items().next().is_some())
}

/// As in kstatus, a load balancer is not waited for: many clusters have nobody to provide one. The message says so.
pub(in crate::health) fn service(facts: &Facts<'_>) -> Verdict {
    if facts.spec_text(&["type"]) != Some("LoadBalancer") {
        return facts.current("ServiceReady", "Service is ready");
    }
    if facts.spec_text(&["clusterIP"]).unwrap_or("").is_empty() {
        return facts.in_progress("NoIPAssigned", "ClusterIP not set. Service type: LoadBalancer");
    }
    if has_address(facts) {
        return facts.current("ServiceReady", "Service is ready");
    }
    let message = "Service is ready inside the cluster; its load balancer has no address";
    Verdict { proven: false, ..facts.current("ServiceReady", message) }
}

pub(in crate::health) fn claim(facts: &Facts<'_>) -> Verdict {
    match facts.status_text("phase") {
        "Bound" => facts.current("Bound", "PVC is Bound"),
        phase => {
            let phase = if phase.is_empty() { "unknown" } else { phase };
            facts.in_progress("NotBound", format!("PVC is not Bound. phase: {phase}"))
        }
    }
}

/// An address proves that a controller took the Ingress up. Many never publish one, so none is not a failure, nor
/// something to wait for longer than the first seconds.
pub(in crate::health) fn ingress(facts: &Facts<'_>) -> Verdict {
    if has_address(facts) {
        return Verdict { proven: true, ..facts.current("AddressPublished", "Ingress has an address") };
    }
    let end = facts.object.created().map(|created| created.plus(facts.context.grace));
    if let Some(end) = end.filter(|end| facts.context.now < *end) {
        let verdict = facts.in_progress("NoAddress", "no controller has published an address for the Ingress yet");
        return Verdict { recheck: Some(end), ..verdict.since(facts.object.created()) };
    }
    let message = "unconfirmed: no controller has published an address for the Ingress";
    Verdict { basis: Basis::Default, proven: false, ..facts.current("Unproven", message) }
}

/// A namespace that goes away was answered for by its deletion.
pub(in crate::health) fn namespace(facts: &Facts<'_>) -> Verdict {
    match facts.status_text("phase") {
        "Active" => facts.current("Active", "Namespace is active"),
        _ => generic::unproven(facts),
    }
}

/// Nobody observes these, so there is nothing a generation could prove.
pub(in crate::health) fn data(facts: &Facts<'_>) -> Verdict {
    Verdict { proven: true, ..facts.current("AlwaysReady", "Resource is always ready") }
}
