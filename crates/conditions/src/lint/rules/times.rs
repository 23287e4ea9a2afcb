//! SC005: `lastTransitionTime` is a time that can have been.

use clearway_core::{Severity, Timestamp};
use clearway_yaml::{Node, Value};

use crate::Status;
use crate::lint::Profile;
use crate::lint::out::{Finding, List, Out};
use crate::lint::view::condition::Condition;

/// The zero time of Go, which is written when nobody set one.
const ZERO: i64 = -62_135_596_800;

/// SC005.
pub(crate) fn transition_time(list: &List<'_, '_>, condition: &Condition<'_>, out: &mut Out<'_, '_>) {
    let latest = out.policy.now.plus(out.policy.skew).as_seconds();
    let set = "set it when the status changes, to the time of the change";
    let (message, help) = match condition.time {
        Some(time) if time > 0 && time <= latest => return,
        Some(time) if time > latest => {
            let ahead = Timestamp::from_seconds(time).map_or_else(|_| time.to_string(), |time| time.to_string());
            let message =
                format!("the lastTransitionTime of condition {} is in the future: {ahead}", condition.title());
            (message, "check the clock of the controller's node and the time zone it writes")
        }
        // Gateway API's CRDs put this there before any controller came by (GW20).
        Some(0) if condition.status == Some(Status::Unknown) => return,
        Some(0) => (format!("condition {} is settled and has the lastTransitionTime 1970", condition.title()), set),
        Some(ZERO) => (format!("the lastTransitionTime of condition {} is the zero time", condition.title()), set),
        Some(_) => (format!("the lastTransitionTime of condition {} is before 1970", condition.title()), set),
        None => match condition.time_node.map(Node::value) {
            None | Some(Value::Null | Value::Text("")) => {
                if matches!(out.profile, Profile::Native | Profile::Knative) {
                    return;
                }
                (format!("condition {} has no lastTransitionTime", condition.title()), set)
            }
            Some(_) => {
                let shown: String = condition.time_node.map_or("", Node::raw).chars().take(40).collect();
                let message =
                    format!("the lastTransitionTime of condition {} is not a time: `{shown}`", condition.title());
                (message, "write RFC 3339 in UTC, such as 2024-05-01T12:00:00Z")
            }
        },
    };
    out.report(
        list,
        Some(condition),
        Finding {
            code: "SC005",
            severity: Severity::Error,
            field: "lastTransitionTime",
            node: condition.time_node,
            message,
            help: help.into(),
            refs: "A13, KN9, GW20",
        },
    );
}
