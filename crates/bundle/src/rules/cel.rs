//! R19 to R21: validation rules in CEL, compared on their syntax trees.

use std::collections::BTreeSet;

use clearway_cel::{Ast, Limits, parse};
use serde_json::json;

use crate::finding::RuleId;
use crate::judge::{Change, Collector, FieldPair};
use crate::model::{CelRule, FieldSchema, Level};

const R19: RuleId = RuleId("R19");
const R20: RuleId = RuleId("R20");
const R21: RuleId = RuleId("R21");

/// Rules of one field that are compared with each other at most; more are taken for removed and added.
const COMPARED_RULES: usize = 200;

/// How the validation rules of a field differ.
#[derive(Debug, Default)]
pub(super) struct CelChanges<'p> {
    /// Rules that accept the same and differ in text for people, or in the way they are written.
    pub(super) same_meaning: Vec<(&'p CelRule, &'p CelRule)>,
    /// Rules with the same message and another expression.
    rewritten: Vec<(&'p CelRule, &'p CelRule)>,
    /// The only rule that was removed and the only one that was added, if they are about the same fields.
    replaced: Vec<(&'p CelRule, &'p CelRule)>,
    removed: Vec<&'p CelRule>,
    added: Vec<&'p CelRule>,
}

impl<'p> CelChanges<'p> {
    pub(super) fn of(pair: &FieldPair<'p>) -> Self {
        let mut changes = CelChanges {
            removed: pair.old.validations.iter().collect(),
            added: pair.new.validations.iter().collect(),
            ..CelChanges::default()
        };
        let whole =
            |rule: &CelRule| (rule.rule.clone(), rule.message.clone(), rule.details.clone(), rule.optional_old_self);
        changes.take_pairs(|old, new| whole(old) == whole(new));
        if changes.removed.len().max(changes.added.len()) > COMPARED_RULES {
            return changes;
        }
        let meaning = |old: &CelRule, new: &CelRule| {
            old.optional_old_self == new.optional_old_self && (old.rule == new.rule || same_tree(old, new))
        };
        changes.same_meaning = changes.take_pairs(meaning);
        changes.rewritten = changes.take_pairs(|old, new| !old.message.is_empty() && old.message == new.message);
        if let ([old], [new]) = (changes.removed.as_slice(), changes.added.as_slice())
            && share_a_field(old, new)
        {
            changes.replaced = changes.take_pairs(|_, _| true);
        }
        changes
    }

    /// Takes out of both lists what belongs together, in order.
    fn take_pairs(&mut self, same: impl Fn(&CelRule, &CelRule) -> bool) -> Vec<(&'p CelRule, &'p CelRule)> {
        let mut pairs = Vec::new();
        let removed = std::mem::take(&mut self.removed);
        for old in removed {
            match self.added.iter().position(|new| same(old, new)) {
                Some(at) => pairs.push((old, self.added.remove(at))),
                None => self.removed.push(old),
            }
        }
        pairs
    }
}

fn tree(rule: &CelRule) -> Option<Ast> {
    parse(&rule.rule, &Limits::default()).ok()
}

fn same_tree(old: &CelRule, new: &CelRule) -> bool {
    match (tree(old), tree(new)) {
        (Some(old), Some(new)) => old.same_tree(&new),
        _ => false,
    }
}

fn share_a_field(old: &CelRule, new: &CelRule) -> bool {
    let fields = |rule| tree(rule).map(|tree| tree.mentioned_names().fields).unwrap_or_default();
    !fields(old).is_disjoint(&fields(new))
}

fn title(rule: &CelRule) -> String {
    let text = if rule.message.is_empty() { &rule.rule } else { &rule.message };
    clearway_schema::excerpt(text.trim())
}

/// R19: a validation rule was removed.
pub(super) fn rule_removed(pair: &FieldPair<'_>, out: &mut Collector) {
    for rule in CelChanges::of(pair).removed {
        let change = Change::new(R19, format!("validation rule removed: {}", title(rule)));
        let change = change.values(Some(json!(rule.rule)), None).at(pair.new.position);
        out.report(pair.site, pair.path, change);
    }
}

/// R20: a validation rule was added. One that mentions nothing but fields of the same bundle refuses no object that was
/// accepted before.
pub(super) fn rule_added(pair: &FieldPair<'_>, out: &mut Collector) {
    let added = CelChanges::of(pair).added;
    let mut before = BTreeSet::new();
    if !added.is_empty() {
        field_names(pair.old, &mut before);
    }
    for rule in added {
        let new_fields_only = tree(rule).is_some_and(|tree| mentions_new_fields_only(&tree, &before));
        let change = if new_fields_only {
            let stored = "Stored objects do not have the fields it is about.";
            Change::new(R20, format!("validation rule about new fields added: {}", title(rule))).stored(stored)
        } else {
            Change::new(R20, format!("validation rule added: {}", title(rule))).needs_review()
        };
        out.report(pair.site, pair.path, change.values(None, Some(json!(rule.rule))).at(rule.position));
    }
}

fn mentions_new_fields_only(tree: &Ast, before: &BTreeSet<&str>) -> bool {
    let names = tree.mentioned_names();
    let is_new = |name: &String| !before.contains(name.as_str());
    let whole = names.variables.contains("self") || names.variables.contains("oldSelf");
    !whole && !names.fields.is_empty() && names.fields.iter().all(is_new)
}

fn field_names<'p>(schema: &'p FieldSchema, names: &mut BTreeSet<&'p str>) {
    names.extend(schema.properties.keys().map(String::as_str));
    for (_, below) in schema.children() {
        field_names(below, names);
    }
}

/// How two expressions with the same message relate.
enum Relation {
    Loosened,
    Tightened,
    Unknown,
}

fn relation(old: &CelRule, new: &CelRule) -> Relation {
    let (Some(old), Some(new)) = (tree(old), tree(new)) else { return Relation::Unknown };
    let (all_old, all_new) = (old.conjuncts(), new.conjuncts());
    let (any_old, any_new) = (old.disjuncts(), new.disjuncts());
    if all_new.is_subset(&all_old) || any_old.is_subset(&any_new) {
        Relation::Loosened
    } else if all_old.is_subset(&all_new) || any_new.is_subset(&any_old) {
        Relation::Tightened
    } else {
        Relation::Unknown
    }
}

/// R21: a validation rule has another expression. Dropped conditions and new alternatives are loosening; everything else
/// needs review. One that also has another message is a new rule in place of the old one, as in R20.
pub(super) fn rule_changed(pair: &FieldPair<'_>, out: &mut Collector) {
    let changes = CelChanges::of(pair);
    let rewritten = changes.rewritten.into_iter().map(|rules| (rules, "changed", Level::None));
    let replaced = changes.replaced.into_iter().map(|rules| (rules, "replaced", Level::Minor));
    for ((old, new), word, level) in rewritten.chain(replaced) {
        let change = match relation(old, new) {
            Relation::Loosened => {
                let change = Change::new(R21, format!("validation rule loosened: {}", title(new)));
                change.needs(Level::Minor, Level::Minor)
            }
            Relation::Tightened => {
                let change = Change::new(R21, format!("validation rule tightened: {}", title(new)));
                change.needs(Level::Minor, Level::Minor).needs_review()
            }
            // Its level is not known, so that no version is too small for it and a person has to decide.
            Relation::Unknown => {
                Change::new(R21, format!("validation rule {word}: {}", title(new))).needs(level, level).needs_review()
            }
        };
        let change = change.values(Some(json!(old.rule)), Some(json!(new.rule))).at(new.position);
        out.report(pair.site, pair.path, change);
    }
}
