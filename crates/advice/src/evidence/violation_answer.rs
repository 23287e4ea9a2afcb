//! What the status of a constraint says about its violations, reduced to what a proof may carry: when they were looked for,
//! how many there are, and the names of the first objects. Messages and parameters have no place here.

use std::collections::BTreeSet;

use clearway_core::{ObjectName, Timestamp};
use serde_json::Value;

use super::object_answer::short_text;

/// Objects that are named.
const NAMED: usize = 3;
/// Entries of a status that are looked at; Gatekeeper lists 20.
const LOOKED_AT: usize = 1_000;

/// The violations of a constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViolationAnswer {
    /// When the objects of the cluster were evaluated; nothing if they were not, or the number is missing. For the
    /// objects of a release it is the time of the observation.
    pub audited_at: Option<Timestamp>,
    /// How many violations there are.
    pub total: u64,
    /// The first objects by kind, namespace and name: `Pod shop/web`.
    pub objects: Vec<String>,
    /// Whether the constraint is evaluated at the enforcement point in question: that of audits, and for the objects of a
    /// release that of admission. One that is not has no violations, whatever there is.
    pub is_audited: bool,
}

impl ViolationAnswer {
    /// What a constraint says.
    pub(crate) fn of(constraint: &Value) -> Self {
        let status = constraint.get("status");
        let field = |name: &str| status.and_then(|status| status.get(name));
        let listed = field("violations").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        // What is listed exists, whatever the number says.
        let count = u64::try_from(listed.len()).unwrap_or(u64::MAX);
        let total = field("totalViolations").and_then(Value::as_u64).map(|total| total.max(count));
        let time = field("auditTimestamp").and_then(Value::as_str).and_then(|time| time.parse().ok());
        ViolationAnswer {
            audited_at: total.and(time),
            total: total.unwrap_or(0),
            objects: status.map(first_names).unwrap_or_default(),
            is_audited: is_audited(constraint),
        }
    }
}

/// The first objects that a status lists as violating, by kind, namespace and name.
pub(super) fn first_names(status: &Value) -> Vec<String> {
    let listed = status.get("violations").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let named = listed.iter().take(LOOKED_AT).map(|violation| {
        let text = |name: &str| short_text(violation.get(name).and_then(Value::as_str).unwrap_or_default());
        (text("kind"), ObjectName { namespace: text("namespace"), name: text("name") })
    });
    let objects: BTreeSet<(String, ObjectName)> = named.collect();
    objects.iter().take(NAMED).map(|(kind, name)| format!("{kind} {name}")).collect()
}

/// Whether the enforcement point of audits evaluates a constraint: its action is known, and is one for audits.
fn is_audited(constraint: &Value) -> bool {
    let spec = constraint.get("spec");
    match spec.and_then(|spec| spec.get("enforcementAction")).and_then(Value::as_str).unwrap_or_default() {
        "" | "deny" | "warn" | "dryrun" => true,
        "scoped" => {
            let actions = spec.and_then(|spec| spec.get("scopedEnforcementActions")).and_then(Value::as_array);
            let points = actions.into_iter().flatten().filter_map(|action| action.get("enforcementPoints")?.as_array());
            let mut names = points.flatten().filter_map(|point| point.get("name")?.as_str());
            names.any(|name| matches!(name, "*" | "audit.gatekeeper.sh"))
        }
        _ => false,
    }
}
