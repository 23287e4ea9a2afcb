//! R11 to R13 and R16 to R18: the texts that a field accepts, by enumeration and by pattern.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::finding::RuleId;
use crate::judge::{Change, Collector, FieldPair};
use crate::model::Level;
use crate::patterns::{Inclusion, Texts};

const R11: RuleId = RuleId("R11");
const R12: RuleId = RuleId("R12");
const R13: RuleId = RuleId("R13");
const R16: RuleId = RuleId("R16");
const R17: RuleId = RuleId("R17");
const R18: RuleId = RuleId("R18");

fn difference(from: &[Value], other: &[Value]) -> Vec<Value> {
    let known: BTreeSet<String> = other.iter().map(Value::to_string).collect();
    from.iter().filter(|value| !known.contains(&value.to_string())).cloned().collect()
}

fn list(values: &[Value]) -> String {
    let shown = values.iter().take(5).map(|value| format!("`{}`", shorten(value)));
    let more = values.len().saturating_sub(5);
    let shown = shown.collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

fn shorten(value: &Value) -> String {
    clearway_schema::excerpt(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// The texts of an enumeration; none if a value is not a string.
fn words(values: &[Value]) -> Option<Texts> {
    let words: Option<Vec<String>> = values.iter().map(|value| value.as_str().map(str::to_owned)).collect();
    words.map(Texts::These)
}

fn matching(pattern: &str) -> Texts {
    Texts::Matching(pattern.to_owned())
}

fn quoted(pattern: Option<&String>) -> Option<Value> {
    pattern.map(|pattern| json!(pattern))
}

/// R11: an enumeration has more values.
pub(super) fn enum_value_added(pair: &FieldPair<'_>, out: &mut Collector) {
    let (Some(old), Some(new)) = (&pair.old.keywords.enumeration, &pair.new.keywords.enumeration) else { return };
    let added = difference(new, old);
    if !added.is_empty() {
        let change = Change::new(R11, format!("enum value {} added", list(&added)));
        out.report(pair.site, pair.path, change.values(Some(json!(old)), Some(json!(new))).at(pair.new.position));
    }
}

/// R12: an enumeration has fewer values, or was introduced where more was accepted.
pub(super) fn enum_value_removed(pair: &FieldPair<'_>, out: &mut Collector) {
    let (old, new) = (&pair.old.keywords, &pair.new.keywords);
    let Some(values) = &new.enumeration else { return };
    let change = if let Some(before) = &old.enumeration {
        let removed = difference(before, values);
        if removed.is_empty() {
            return;
        }
        let change = Change::new(R12, format!("enum value {} removed", list(&removed)));
        change.values(Some(json!(before)), Some(json!(values)))
    } else {
        let change = Change::new(R12, "enum introduced").values(quoted(old.pattern.as_ref()), Some(json!(values)));
        match (&old.pattern, words(values)) {
            (Some(pattern), Some(words)) => match out.patterns.includes(&words, &matching(pattern)) {
                Inclusion::Included => change.needs(Level::Patch, Level::Patch),
                Inclusion::Excluded(_) => change,
                Inclusion::Undecided(_) => change.needs(Level::Patch, Level::Patch).needs_review(),
            },
            _ => change,
        }
    };
    out.report(pair.site, pair.path, change.at(pair.new.position));
}

/// R13: an enumeration was dropped, or replaced by a pattern that accepts all of its values.
pub(super) fn enum_dropped(pair: &FieldPair<'_>, out: &mut Collector) {
    let (old, new) = (&pair.old.keywords, &pair.new.keywords);
    let (Some(values), None) = (&old.enumeration, &new.enumeration) else { return };
    let change = match (&new.pattern, words(values)) {
        (None, _) => Change::new(R13, "enum dropped"),
        (Some(_), None) => Change::new(R13, "enum replaced by a pattern").needs_review(),
        (Some(pattern), Some(words)) => match out.patterns.includes(&matching(pattern), &words) {
            Inclusion::Included => Change::new(R13, "enum replaced by a pattern that accepts all of its values"),
            Inclusion::Excluded(example) => {
                let message = format!("enum replaced by a pattern that refuses its value {example:?}");
                Change::new(R13, message).needs(Level::Never, Level::Minor)
            }
            Inclusion::Undecided(why) => {
                Change::new(R13, format!("enum replaced by a pattern that cannot be compared: {why}")).needs_review()
            }
        },
    };
    let change = change.values(Some(json!(values)), quoted(new.pattern.as_ref()));
    out.report(pair.site, pair.path, change.at(pair.new.position));
}

/// R16: a pattern was removed.
pub(super) fn pattern_removed(pair: &FieldPair<'_>, out: &mut Collector) {
    let (old, new) = (&pair.old.keywords, &pair.new.keywords);
    // An enumeration in its place is R12.
    let replaced = new.enumeration.is_some() && old.enumeration.is_none();
    if old.pattern.is_some() && new.pattern.is_none() && !replaced {
        let change = Change::new(R16, "pattern removed").values(quoted(old.pattern.as_ref()), None);
        out.report(pair.site, pair.path, change.at(pair.new.position));
    }
}

/// R17: a pattern was added. One that accepts everything that was accepted before changes nothing.
pub(super) fn pattern_added(pair: &FieldPair<'_>, out: &mut Collector) {
    let (old, new) = (&pair.old.keywords, &pair.new.keywords);
    let (None, Some(pattern)) = (&old.pattern, &new.pattern) else { return };
    // A pattern in place of an enumeration is R13.
    if old.enumeration.is_some() && new.enumeration.is_none() {
        return;
    }
    let before = match &old.enumeration {
        Some(values) => words(values),
        None => Some(matching("")),
    };
    let included = before.map(|before| out.patterns.includes(&matching(pattern), &before));
    let change = match included {
        Some(Inclusion::Included) => {
            let message = "pattern added that accepts everything that was accepted before";
            Change::new(R17, message).needs(Level::Patch, Level::Patch)
        }
        Some(Inclusion::Excluded(example)) => Change::new(R17, format!("pattern added; it refuses {example:?}")),
        Some(Inclusion::Undecided(_)) | None => Change::new(R17, "pattern added"),
    };
    out.report(pair.site, pair.path, change.values(None, quoted(Some(pattern))).at(pair.new.position));
}

/// R18: a pattern changed. Which texts both accept is decided by comparing automata; what is too large for that needs
/// review.
pub(super) fn pattern_changed(pair: &FieldPair<'_>, out: &mut Collector) {
    let (Some(old), Some(new)) = (&pair.old.keywords.pattern, &pair.new.keywords.pattern) else { return };
    if old == new {
        return;
    }
    let (before, after) = (matching(old), matching(new));
    let change = match (out.patterns.includes(&after, &before), out.patterns.includes(&before, &after)) {
        (Inclusion::Included, Inclusion::Included) => {
            Change::new(R18, "pattern changed; it accepts the same values").needs(Level::Patch, Level::Patch)
        }
        (Inclusion::Included, _) => Change::new(R18, "pattern loosened; it accepts all that it accepted before"),
        (Inclusion::Excluded(example), Inclusion::Included) => {
            Change::new(R18, format!("pattern tightened; it refuses {example:?}")).needs(Level::Never, Level::Minor)
        }
        (Inclusion::Excluded(example), _) => {
            Change::new(R18, format!("pattern changed; it refuses {example:?}, and accepts other values"))
                .needs_review()
        }
        (Inclusion::Undecided(why), _) => {
            Change::new(R18, format!("pattern changed; the two cannot be compared: {why}")).needs_review()
        }
    };
    let change = change.values(Some(json!(old)), Some(json!(new))).at(pair.new.position);
    out.report(pair.site, pair.path, change);
}
