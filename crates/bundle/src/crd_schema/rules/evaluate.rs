//! Evaluates rules over an object, and over the one that it replaces, within the API server's cost limits.
//!
//! What is below a list is compared with an older element only if the list has keys. A rule that does not compare is not
//! held against a value that was like that before: the API server warns then, and accepts ("ratcheting").

use clearway_cel::{Bindings, Budget, ErrorClass, Outcome};
use clearway_schema::{AdditionalProperties, ListType, Node, Unchecked, Violation, field_path};
use serde_json::{Map, Value};

use super::{Rule, Rules};
use crate::crd_schema::Report;

/// The longest message that the API server takes from an expression, in bytes.
const MESSAGE: usize = 5_120;
/// What all rules of one object may look at: about a second. Costs do not count the length of every text.
const WORK: u64 = 1 << 27;

impl Rules {
    /// Evaluates every rule on an object; those about changes only if there is an older one.
    pub(in crate::crd_schema) fn check(&self, root: &Node, object: &Value, old: Option<&Value>, report: &mut Report) {
        let mut evaluator = Evaluator { report, cost_left: Budget::PER_OBJECT, work_left: WORK };
        // The first error that ends everything is in the report.
        let _ = evaluator.value(self, root, object, Before::root(root, object, old), "");
    }
}

/// The limits are used up: no further rule is evaluated.
struct Stop;

struct Evaluator<'r> {
    report: &'r mut Report,
    cost_left: u64,
    work_left: u64,
}

/// What stood in the place of a value before.
#[derive(Clone, Copy, Default)]
struct Before<'a> {
    /// The value that `oldSelf` is.
    old_self: Option<&'a Value>,
    /// Whether the value can be compared with what it was.
    comparable: bool,
    /// Whether it is the same; if it cannot be compared, whether the nearest value around it is.
    unchanged: bool,
}

impl<'a> Before<'a> {
    fn root(node: &Node, object: &Value, old: Option<&'a Value>) -> Self {
        let unchanged = old.is_some_and(|old| same(node, object, old));
        Before { old_self: old, comparable: old.is_some(), unchanged }
    }

    /// The same for something within the value; `old` is what it was, if that can be told.
    fn within(self, node: &Node, value: &Value, old: Option<&'a Value>) -> Self {
        match old {
            Some(old) if self.comparable => {
                Before { old_self: not_null(Some(old)), comparable: true, unchanged: same(node, value, old) }
            }
            old => Before { old_self: not_null(old), comparable: false, ..self },
        }
    }
}

impl Evaluator<'_> {
    /// Evaluates the rules of a value and of what is below it.
    fn value(&mut self, rules: &Rules, node: &Node, value: &Value, before: Before<'_>, path: &str) -> Result<(), Stop> {
        // The API server evaluates no rule on a null.
        if value.is_null() {
            return Ok(());
        }
        for rule in &rules.own {
            self.rule(rule, value, before, path)?;
        }
        match value {
            Value::Object(fields) => self.fields(rules, node, fields, before, path),
            Value::Array(items) => self.items(rules, node, items, before, path),
            _ => Ok(()),
        }
    }

    fn fields(
        &mut self,
        rules: &Rules,
        node: &Node,
        fields: &Map<String, Value>,
        before: Before<'_>,
        path: &str,
    ) -> Result<(), Stop> {
        for (name, value) in fields {
            let (below, types) = match (rules.properties.get(name), &rules.each, &node.additional) {
                (Some(below), ..) => (Some(below), node.properties.get(name)),
                (None, Some(below), AdditionalProperties::Each(types)) => (Some(&**below), Some(&**types)),
                _ => (None, None),
            };
            if let (Some(below), Some(types)) = (below, types) {
                let before = before.within(types, value, before.old_self.and_then(|old| old.get(name)));
                self.value(below, types, value, before, &field_path(path, name))?;
            }
        }
        Ok(())
    }

    fn items(
        &mut self,
        rules: &Rules,
        node: &Node,
        items: &[Value],
        before: Before<'_>,
        path: &str,
    ) -> Result<(), Stop> {
        let (Some(below), Some(types)) = (&rules.items, &node.items) else { return Ok(()) };
        for (at, item) in items.iter().enumerate() {
            let old = before.old_self.and_then(|old| with_same_keys(node, old, item));
            self.value(below, types, item, before.within(types, item, old), &format!("{path}[{at}]"))?;
        }
        Ok(())
    }

    fn rule(&mut self, rule: &Rule, value: &Value, before: Before<'_>, path: &str) -> Result<(), Stop> {
        if rule.is_transition && before.old_self.is_none() && !rule.optional_old_self {
            return Ok(());
        }
        let mut bindings = Bindings::new().with("self", value);
        if let Some(old) = before.old_self {
            bindings = bindings.with("oldSelf", old);
        }
        let budget = Budget { work: self.work_left.min(Budget::default().work), ..Budget::default() };
        let evaluation = rule.program.evaluate(bindings.clone(), &budget);
        self.work_left = self.work_left.saturating_sub(evaluation.work);
        if let Outcome::Error(error) = &evaluation.outcome {
            if matches!(error.class, ErrorClass::MemoryLimit | ErrorClass::WorkLimit) {
                return self.leave_to_server(rule, path);
            }
            self.spend(evaluation.cost, path)?;
            self.violation(path, format!("{error} evaluating rule: {}", rule.message));
            return if error.class == ErrorClass::CostLimit { Err(Stop) } else { Ok(()) };
        }
        self.spend(evaluation.cost, path)?;
        if evaluation.outcome.as_bool() == Some(true) {
            return Ok(());
        }
        let message = self.message(rule, bindings, path)?;
        if rule.is_transition || !before.unchanged {
            self.violation(&joined(path, &rule.field_path), message);
        }
        Ok(())
    }

    /// The text of a violation: that of the expression for it, where it gives one.
    fn message(&mut self, rule: &Rule, bindings: Bindings<'_>, path: &str) -> Result<String, Stop> {
        let Some(program) = &rule.message_program else { return Ok(rule.message.clone()) };
        let evaluation = program.evaluate(bindings, &Budget::default());
        self.spend(evaluation.cost, path)?;
        if evaluation.outcome.error().is_some_and(|error| error.class == ErrorClass::CostLimit) {
            self.violation(path, format!("messageExpression costs more than one expression may: {}", rule.message));
            return Err(Stop);
        }
        let text = evaluation.outcome.value().and_then(|value| value.as_text()).map(str::trim);
        let usable = text.filter(|text| !text.is_empty() && text.len() <= MESSAGE && !text.contains('\n'));
        Ok(usable.map_or_else(|| rule.message.clone(), str::to_owned))
    }

    /// Takes a cost from the limit for the whole object.
    fn spend(&mut self, cost: u64, path: &str) -> Result<(), Stop> {
        if let Some(left) = self.cost_left.checked_sub(cost) {
            self.cost_left = left;
            return Ok(());
        }
        let message = "validation failed due to running out of cost budget, no further validation rules will be run";
        self.violation(path, message.to_owned());
        Err(Stop)
    }

    /// A limit of our own says nothing about what the API server does.
    fn leave_to_server(&mut self, rule: &Rule, path: &str) -> Result<(), Stop> {
        let what =
            format!("the rule `{}` and the rules after it were not evaluated: the object is too large", rule.message);
        self.report.unchecked.push(Unchecked { path: path.to_owned(), what });
        Err(Stop)
    }

    fn violation(&mut self, path: &str, message: String) {
        self.report.violations.push(Violation { path: path.to_owned(), rule: "x-kubernetes-validations", message });
    }
}

/// A path with one relative to it behind, such as `.a.b` or `['a']`.
fn joined(path: &str, below: &str) -> String {
    let below = if path.is_empty() { below.strip_prefix('.').unwrap_or(below) } else { below };
    format!("{path}{below}")
}

fn not_null(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

/// The element of an older list that has the keys of an element; only lists with keys have one.
fn with_same_keys<'o>(list: &Node, old: &'o Value, element: &Value) -> Option<&'o Value> {
    let ListType::Map(keys) = &list.list else { return None };
    let keys: Option<Vec<_>> = keys.iter().map(|key| element.get(key).map(|value| (key, value))).collect();
    let keys = keys?;
    let matches = |old: &&Value| keys.iter().all(|(key, value)| old.get(key.as_str()) == Some(*value));
    old.as_array()?.iter().rev().find(matches)
}

/// Whether a value is what it was; the order of elements with keys makes no difference.
fn same(node: &Node, value: &Value, old: &Value) -> bool {
    match (value, old) {
        (Value::Array(items), Value::Array(old_items)) if matches!(node.list, ListType::Map(_)) => {
            let Some(types) = &node.items else { return value == old };
            let same = |item| with_same_keys(node, old, item).is_some_and(|old| same(types, item, old));
            items.len() == old_items.len() && items.iter().all(same)
        }
        (Value::Object(fields), Value::Object(old)) => {
            let same = |(name, value): (&String, &Value)| {
                let types = match (node.properties.get(name), &node.additional) {
                    (Some(types), _) => Some(types),
                    (None, AdditionalProperties::Each(types)) => Some(&**types),
                    _ => None,
                };
                let Some(old) = old.get(name) else { return false };
                types.map_or(value == old, |types| same(types, value, old))
            };
            fields.len() == old.len() && fields.iter().all(same)
        }
        (value, old) => value == old,
    }
}
