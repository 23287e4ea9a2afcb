//! The Gateway API, which has no `Ready`: its kinds are summed up by `Accepted` and `Programmed`.
//!
//! kstatus knows neither, so a Gateway that no controller has ever met is Current there: its conditions are the ones the
//! definition puts into every new object, Unknown since 1970. `ResolvedRefs` is not asked: a route with one missing
//! backend serves the others (G3).

use clearway_yaml::Node;

use crate::health::facts::{Condition, Facts};
use crate::health::verdict::{State, Verdict};
use crate::model::Status;

pub(in crate::health) fn class(facts: &Facts<'_>) -> Verdict {
    all_true(facts, |name| facts.condition(name), &["Accepted"])
}

pub(in crate::health) fn gateway(facts: &Facts<'_>) -> Verdict {
    all_true(facts, |name| facts.condition(name), &["Accepted", "Programmed"])
}

/// A route has a list of conditions for each parent it was attached to; the first that is not content decides.
pub(in crate::health) fn route(facts: &Facts<'_>) -> Verdict {
    let parents = facts.status.and_then(|status| status.get("parents"));
    let wanted = facts.spec.and_then(|spec| spec.get("parentRefs")).into_iter().flat_map(Node::items).count();
    let (mut reported, mut last) = (0, None);
    for conditions in parents.into_iter().flat_map(Node::items).map(|parent| parent.get("conditions")) {
        let find = |name: &str| {
            let conditions = conditions.into_iter().flat_map(Node::items).map(Condition::new);
            conditions.into_iter().find(|condition| condition.name() == name)
        };
        let verdict = all_true(facts, find, &["Accepted"]);
        if verdict.state != State::Current {
            return verdict;
        }
        reported += 1;
        last = Some(verdict);
    }
    if reported < wanted {
        return facts
            .in_progress("NotReportedYet", format!("{reported} of {wanted} parents have reported on the route"));
    }
    last.unwrap_or_else(|| facts.current("NoParents", "the route is not attached to any parent"))
}

/// Current if all of these conditions are True and up to date; otherwise in progress for the first that is not.
fn all_true<'a>(facts: &Facts<'a>, find: impl Fn(&str) -> Option<Condition<'a>>, names: &[&str]) -> Verdict {
    let mut last = None;
    for name in names {
        let Some(condition) = find(name) else {
            return facts.in_progress("NotReportedYet", format!("no controller has reported {name} yet"));
        };
        if let Some(outdated) = facts.outdated(condition) {
            return outdated;
        }
        if condition.status() != Status::True {
            return facts.by_condition(State::InProgress, condition, "NotAccepted");
        }
        last = Some(facts.by_condition(State::Current, condition, "Accepted"));
    }
    last.unwrap_or_else(|| facts.current("NothingAsked", ""))
}
