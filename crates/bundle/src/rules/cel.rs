//! R19 to R21: validation rules in CEL, compared on their syntax trees.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use clearway_cel::{Ast, Bindings, Budget, Environment, KubernetesVersion, Limits, Program, parse, print};
use clearway_schema::Schema;
use serde_json::{Value, json};

use crate::finding::RuleId;
use crate::judge::{Change, Collector, FieldPair};
use crate::model::{CelRule, FieldSchema, Level};

const R19: RuleId = RuleId("R19");
const R20: RuleId = RuleId("R20");
const R21: RuleId = RuleId("R21");

/// New rules of one field that are evaluated; the others need review.
const EVALUATED_RULES: usize = 100;

/// How the validation rules of a field differ.
#[derive(Debug, Default)]
pub(crate) struct CelChanges<'p> {
    /// Rules that accept the same and differ in text for people, or in the way they are written.
    pub(crate) same_meaning: Vec<(&'p CelRule, &'p CelRule)>,
    /// Rules with the same message and another expression.
    rewritten: Vec<(&'p CelRule, &'p CelRule)>,
    /// The only rule that was removed and the only one that was added, if they are about the same fields.
    replaced: Vec<(&'p CelRule, &'p CelRule)>,
    removed: Vec<&'p CelRule>,
    added: Vec<&'p CelRule>,
}

impl<'p> CelChanges<'p> {
    /// Compares two lists of rules, in whatever order they are.
    pub(crate) fn between(old: &'p [CelRule], new: &'p [CelRule]) -> Self {
        let mut changes =
            CelChanges { removed: old.iter().collect(), added: new.iter().collect(), ..CelChanges::default() };
        changes.take_pairs(|rule| Some((&rule.rule, &rule.message, &rule.details, rule.optional_old_self)));
        if changes.removed.is_empty() || changes.added.is_empty() {
            return changes;
        }
        changes.same_meaning = changes.take_pairs(|rule| Some((canonical(rule), rule.optional_old_self)));
        changes.rewritten = changes.take_pairs(|rule| Some(&rule.message).filter(|message| !message.is_empty()));
        if let ([old], [new]) = (changes.removed.as_slice(), changes.added.as_slice())
            && share_a_field(old, new)
        {
            changes.replaced = changes.take_pairs(|_| Some(()));
        }
        changes
    }

    /// Takes the rules with the same key out of both lists, in order.
    fn take_pairs<K: Ord>(&mut self, key: impl Fn(&'p CelRule) -> Option<K>) -> Vec<(&'p CelRule, &'p CelRule)> {
        let mut by_key: BTreeMap<K, VecDeque<usize>> = BTreeMap::new();
        for (at, rule) in self.added.iter().enumerate() {
            if let Some(key) = key(rule) {
                by_key.entry(key).or_default().push_back(at);
            }
        }
        let mut pairs = Vec::new();
        let mut taken = BTreeSet::new();
        self.removed.retain(|old| {
            let at = key(old).and_then(|key| by_key.get_mut(&key)).and_then(VecDeque::pop_front);
            let new = at.and_then(|at| self.added.get(at).map(|new| (at, *new)));
            if let Some((at, new)) = new {
                taken.insert(at);
                pairs.push((*old, new));
            }
            new.is_none()
        });
        let mut at = 0_usize;
        self.added.retain(|_| {
            at = at.saturating_add(1);
            !taken.contains(&at.saturating_sub(1))
        });
        pairs
    }
}

fn tree(rule: &CelRule) -> Option<Ast> {
    parse(&rule.rule, &Limits::default()).ok()
}

/// The canonical text of a rule; the text itself if it cannot be parsed.
fn canonical(rule: &CelRule) -> String {
    tree(rule).map_or_else(|| rule.rule.clone(), |tree| print(&tree))
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
    for rule in &pair.cel_changes().removed {
        let change = Change::new(R19, format!("validation rule removed: {}", title(rule)));
        let change = change.values(Some(json!(rule.rule)), None).at(pair.new.position);
        out.report(pair.site, pair.path, change);
    }
}

/// R20: a validation rule was added. One that mentions nothing but fields of the same bundle, and holds where they are
/// missing, refuses no object that was accepted before.
pub(super) fn rule_added(pair: &FieldPair<'_>, out: &mut Collector) {
    let added = &pair.cel_changes().added;
    let mut before = BTreeSet::new();
    if !added.is_empty() {
        field_names(pair.old, &mut before);
    }
    let mut empty_object = None;
    let mut evaluated = 0_usize;
    for rule in added {
        let about_new_fields = tree(rule).is_some_and(|tree| mentions_new_fields_only(&tree, &before));
        let new_fields_only = about_new_fields
            && evaluated < EVALUATED_RULES
            && empty_object
                .get_or_insert_with(|| EmptyObject::of(pair))
                .as_ref()
                .is_some_and(|object| object.satisfies(rule));
        evaluated = evaluated.saturating_add(usize::from(about_new_fields));
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

/// Evaluates rules on an object that has none of the new fields, but for their defaults.
struct EmptyObject {
    object: Value,
    /// By whether `oldSelf` is optional. They hold the declarations of all fields, so rules share them.
    environments: [Environment; 2],
}

impl EmptyObject {
    fn of(pair: &FieldPair<'_>) -> Option<Self> {
        let schema = Schema::read(&pair.new.to_json()).ok()?;
        let is_root = pair.path.is_empty();
        let environment = |optional_old_self| {
            Environment::kubernetes_crd(KubernetesVersion::LATEST, schema.root(), is_root, optional_old_self)
        };
        Some(EmptyObject { object: schema.pruned(&json!({})), environments: [environment(false), environment(true)] })
    }

    fn satisfies(&self, rule: &CelRule) -> bool {
        let [plain, optional] = &self.environments;
        let environment = if rule.optional_old_self { optional } else { plain };
        let Ok(program) = Program::compile(&rule.rule, environment, &Limits::default()) else { return false };
        let bindings = Bindings::new().with("self", &self.object).with("oldSelf", &self.object);
        program.evaluate(bindings, &Budget::default()).outcome.as_bool() == Some(true)
    }
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
    let changes = pair.cel_changes();
    let rewritten = changes.rewritten.iter().map(|rules| (rules, "changed", Level::None));
    let replaced = changes.replaced.iter().map(|rules| (rules, "replaced", Level::Minor));
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
