//! R14 and R15: limits of numbers, lengths and counts.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use crate::finding::RuleId;
use crate::judge::{Change, Collector, FieldPair};
use crate::model::{Keywords, Level};

const R14: RuleId = RuleId("R14");
const R15: RuleId = RuleId("R15");

/// A limit that differs, and whether fewer values are accepted than before.
struct ChangedLimit<'p> {
    keyword: &'static str,
    old: Option<&'p Number>,
    new: Option<&'p Number>,
    tightened: bool,
}

fn changed<'p>(pair: &FieldPair<'p>) -> Vec<ChangedLimit<'p>> {
    let (old, new) = (&pair.old.keywords, &pair.new.keywords);
    let mut changed = Vec::new();
    for (keywords, upper) in [(Keywords::UPPER_LIMITS, true), (Keywords::LOWER_LIMITS, false)] {
        for keyword in keywords {
            let exclusive = |keywords: &Keywords| match keyword {
                "maximum" => keywords.exclusive_maximum,
                "minimum" => keywords.exclusive_minimum,
                _ => false,
            };
            let (before, after) = (old.limits.get(keyword), new.limits.get(keyword));
            let order = match (before, after) {
                (None, None) => continue,
                (None, Some(_)) => Ordering::Less,
                (Some(_), None) => Ordering::Greater,
                (Some(before), Some(after)) => {
                    let order = compare(after, before);
                    let order = if upper { order } else { order.reverse() };
                    order.then(exclusive(old).cmp(&exclusive(new)))
                }
            };
            if order != Ordering::Equal {
                changed.push(ChangedLimit { keyword, old: before, new: after, tightened: order == Ordering::Less });
            }
        }
    }
    changed
}

/// The order of two numbers, exact for whole ones.
fn compare(one: &Number, two: &Number) -> Ordering {
    let whole = |number: &Number| number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    match (whole(one), whole(two)) {
        (Some(one), Some(two)) => one.cmp(&two),
        _ => one.as_f64().unwrap_or(f64::NAN).total_cmp(&two.as_f64().unwrap_or(f64::NAN)),
    }
}

fn report(pair: &FieldPair<'_>, out: &mut Collector, rule: RuleId, tightened: bool) {
    for limit in changed(pair).into_iter().filter(|limit| limit.tightened == tightened) {
        let keyword = limit.keyword;
        let message = match (limit.old, limit.new) {
            (Some(old), Some(new)) => format!("{keyword} changed from {old} to {new}"),
            (None, Some(new)) => format!("{keyword} {new} added"),
            (Some(old), None) => format!("{keyword} {old} removed"),
            (None, None) => continue,
        };
        let value = |limit: Option<&Number>| limit.cloned().map(Value::Number);
        let change = Change::new(rule, message).values(value(limit.old), value(limit.new)).at(pair.new.position);
        let change = if tightened && enum_is_within(pair, keyword, limit.new) {
            change.needs(Level::None, Level::None).stored("Every value of the old enum is within the limit.")
        } else {
            change
        };
        out.report(pair.site, pair.path, change);
    }
}

/// Whether every text that an enumeration allowed is within a new limit of its length.
fn enum_is_within(pair: &FieldPair<'_>, keyword: &str, limit: Option<&Number>) -> bool {
    let (Some(values), Some(limit)) = (&pair.old.keywords.enumeration, limit.and_then(Number::as_u64)) else {
        return false;
    };
    let within = |value: &Value| {
        let length = value.as_str().map(|text| text.chars().count() as u64);
        match keyword {
            "maxLength" => length.is_some_and(|length| length <= limit),
            "minLength" => length.is_some_and(|length| length >= limit),
            _ => false,
        }
    };
    values.iter().all(within)
}

/// R14: an upper limit was raised or removed, or a lower one was lowered or removed.
pub(super) fn limit_loosened(pair: &FieldPair<'_>, out: &mut Collector) {
    report(pair, out, R14, false);
}

/// R15: an upper limit was lowered or added, or a lower one was raised or added.
pub(super) fn limit_tightened(pair: &FieldPair<'_>, out: &mut Collector) {
    report(pair, out, R15, true);
}
