//! What a change does: which objects stop being accepted, which start, and what becomes of their traffic.

use std::collections::BTreeSet;

use clearway_conditions::Status;
use serde::Serialize;

use crate::engine::{Engine, RouteTraffic};
use crate::model::ObjectKey;
use crate::status::ObjectStatus;
use crate::words::ConditionType;

/// What is different about one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The object, as `HTTPRoute shop/web`.
    pub object: String,
    /// What happens to it.
    pub effect: Effect,
    /// Conditions that are different, as `Gateway infra/gw Accepted: True/Accepted → False/NoMatchingParent`.
    pub conditions: Vec<String>,
    /// What becomes of its requests, before and after, where that is different.
    pub traffic: Vec<TrafficChange>,
}

/// What happens to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// It was accepted somewhere where it is no longer.
    StopsBeingAccepted,
    /// It is accepted somewhere where it was not.
    StartsBeingAccepted,
    /// It is accepted as before, and something else is different.
    Changes,
}

/// What becomes of the requests of a rule, before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrafficChange {
    /// The rule.
    pub rule: String,
    /// Which requests it is for.
    pub requests: String,
    /// What became of them; empty if there was no such rule.
    pub before: Vec<String>,
    /// What becomes of them; empty if there is no longer such a rule.
    pub after: Vec<String>,
    /// Whether a larger share of them fails than before. What had no rule before fails by it only.
    pub worse: bool,
}

impl Effect {
    /// What happens, in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Effect::StopsBeingAccepted => "stops being accepted",
            Effect::StartsBeingAccepted => "starts being accepted",
            Effect::Changes => "changes",
        }
    }
}

/// Compares what two sets of objects come to; what stops being accepted comes first.
pub fn differences(before: &Engine, after: &Engine) -> Vec<Difference> {
    let keys: BTreeSet<ObjectKey> = before.keys().into_iter().chain(after.keys()).collect();
    let mut found: Vec<Difference> = keys.iter().filter_map(|key| difference(key, before, after)).collect();
    found.sort_by_key(|one| one.effect);
    found
}

fn difference(key: &ObjectKey, before: &Engine, after: &Engine) -> Option<Difference> {
    let (old, new) = (before.status(key), after.status(key));
    let (old_words, new_words) = (condition_words(old.as_ref()), condition_words(new.as_ref()));
    let mut conditions = Vec::new();
    let abouts: BTreeSet<&String> = old_words.iter().chain(&new_words).map(|(about, _, _)| about).collect();
    let value = |words: &'_ [(String, String, bool)], about: &str| {
        words
            .iter()
            .find(|(other, _, _)| other == about)
            .map_or_else(|| "none".to_owned(), |(_, value, _)| value.clone())
    };
    for about in abouts {
        let (one, two) = (value(&old_words, about), value(&new_words, about));
        if one != two {
            conditions.push(format!("{about}: {one} → {two}"));
        }
    }
    let accepted = |words: &[(String, String, bool)]| -> BTreeSet<String> {
        words.iter().filter(|(_, _, accepted)| *accepted).map(|(about, _, _)| about.clone()).collect()
    };
    let (was, is) = (accepted(&old_words), accepted(&new_words));
    let traffic = traffic_changes(before.traffic(key).as_ref(), after.traffic(key).as_ref());
    if conditions.is_empty() && traffic.is_empty() {
        return None;
    }
    let effect = if was.difference(&is).next().is_some() {
        Effect::StopsBeingAccepted
    } else if is.difference(&was).next().is_some() {
        Effect::StartsBeingAccepted
    } else {
        Effect::Changes
    };
    Some(Difference { object: key.to_string(), effect, conditions, traffic })
}

/// Of each condition: what it is about, status and reason, and whether it is `Accepted` and True.
fn condition_words(status: Option<&ObjectStatus>) -> Vec<(String, String, bool)> {
    let mut words = Vec::new();
    for (about, conditions) in status.map(ObjectStatus::condition_lists).unwrap_or_default() {
        for condition in conditions {
            let kind = condition.kind;
            let about = if about.is_empty() { kind.to_string() } else { format!("{about} {kind}") };
            let accepted = kind == ConditionType::Accepted && condition.status == Status::True;
            words.push((about, format!("{}/{}", condition.status.as_str(), condition.reason), accepted));
        }
    }
    words
}

fn traffic_changes(before: Option<&RouteTraffic>, after: Option<&RouteTraffic>) -> Vec<TrafficChange> {
    let lines = |traffic: Option<&RouteTraffic>, index: usize| -> Vec<String> {
        let rule = traffic.and_then(|traffic| traffic.rules.get(index));
        let shares = rule.into_iter().flat_map(|rule| &rule.shares);
        shares.map(|share| format!("{} {}, {}", share.percent(), share.answer.as_str(), share.why)).collect()
    };
    let rules = |traffic: Option<&RouteTraffic>| traffic.map_or(0, |traffic| traffic.rules.len());
    let change = |index: usize| {
        let (one, two) = (lines(before, index), lines(after, index));
        let rule = [after, before].into_iter().flatten().find_map(|traffic| traffic.rules.get(index))?;
        (one != two).then(|| TrafficChange {
            rule: rule.rule.clone(),
            requests: rule.requests.clone(),
            before: one,
            after: two,
            worse: {
                let ((was, of), (is, whole)) = (failing_share(before, index), failing_share(after, index));
                is * of > was * whole
            },
        })
    };
    (0..rules(before).max(rules(after))).filter_map(change).collect()
}

/// The share of the requests of a rule that fails: parts, and what the whole is. A rule that does not exist fails nothing.
fn failing_share(traffic: Option<&RouteTraffic>, index: usize) -> (u128, u128) {
    let shares = traffic.and_then(|traffic| traffic.rules.get(index)).map_or(&[][..], |rule| &rule.shares);
    let failing: u64 = shares.iter().filter(|share| !share.answer.is_success()).map(|share| share.parts).sum();
    (u128::from(failing), u128::from(shares.first().map_or(1, |share| share.of.max(1))))
}
