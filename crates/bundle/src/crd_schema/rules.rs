//! Rules in CEL (`x-kubernetes-validations`), as far as they are understood here.
//!
//! The evaluator has no budget, and parts of the language make it panic. So only rules of a known vocabulary are evaluated, on
//! objects whose size bounds the cost; the others are named as unchecked. Field names are escaped as the API server does it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::{Context, Program};
use serde_json::Value;

use clearway_schema::{
    AdditionalProperties, Format, Node, Unchecked, ValidationRule, ValueType, Violation, excerpt, field_path,
    is_request_uri,
};

use super::Report;

/// Bytes of a rule.
const LENGTH: usize = 4_096;
/// Brackets within brackets, counted before anything recursive looks at the text.
const NESTING: usize = 24;
/// Nodes of a rule's tree.
const NODES: usize = 400;
/// Levels of a rule's tree.
const DEPTH: usize = 64;
/// Steps of all rules on one object, estimated from above: a tenth of a second.
const STEPS: u64 = 100_000_000;

/// The functions that are understood.
const FUNCTIONS: &[&str] =
    &["contains", "double", "endsWith", "int", "isURL", "matches", "size", "startsWith", "string"];
/// The operators that are understood, as the parser names them; the last one is what macros are made of.
const OPERATORS: &[&str] = &[
    "_?_:_",
    "_&&_",
    "_||_",
    "!_",
    "_-_",
    "_+_",
    "_*_",
    "_==_",
    "_!=_",
    "_>=_",
    "_<=_",
    "_>_",
    "_<_",
    "-_",
    "_[_]",
    "@in",
    "@not_strictly_false",
];
/// Words of the language that fields are not named by without an escape.
const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The rules of a schema that are evaluated, by the path of the node they stand at.
#[derive(Debug, Default)]
pub(super) struct Rules(BTreeMap<String, Vec<Rule>>);

/// A rule that is evaluated.
#[derive(Debug)]
struct Rule {
    program: Program,
    message: String,
    shape: Shape,
}

/// What bounds the cost of a rule, and what it names.
#[derive(Debug, Default)]
struct Shape {
    nodes: usize,
    depth: usize,
    loops: u32,
    fields: BTreeSet<String>,
    variables: BTreeSet<String>,
}

impl Rule {
    /// Reads a rule of a node; nothing if it is about transitions only, and why if it is not understood.
    fn read(rule: &ValidationRule, node: &Node) -> Result<Option<Self>, String> {
        let text = rule.rule.as_str();
        let because = |why: &str| format!("the rule `{}` is not evaluated: {why}", excerpt(text));
        if text.len() > LENGTH || nesting(text) > NESTING {
            return Err(because("it is too long or nested too deep"));
        }
        let program = Program::compile(text).map_err(|_| because("it is not CEL that is understood here"))?;
        let mut shape = Shape::default();
        look(program.expression(), 1, &mut shape).map_err(|name| because(&format!("it uses `{name}`")))?;
        if shape.nodes > NODES || shape.depth > DEPTH {
            return Err(because("it has too many parts"));
        }
        if shape.variables.contains("oldSelf") {
            let why = because("it looks at the object as it was before");
            return if rule.optional_old_self { Err(why) } else { Ok(None) };
        }
        // What is a text here is a time, a duration or bytes for the API server.
        let mut typed = BTreeSet::new();
        typed_fields(node, "self", &mut typed);
        if shape.fields.union(&shape.variables).any(|name| typed.contains(name)) {
            return Err(because("it compares texts of a format"));
        }
        if text.contains("matches") && ["\\d", "\\w", "\\s", "\\b"].iter().any(|class| text.contains(class)) {
            return Err(because("its pattern means something else here"));
        }
        let message = match rule.message.trim() {
            "" => format!("failed rule: {}", excerpt(text)),
            message => excerpt(message),
        };
        Ok(Some(Rule { program, message, shape }))
    }
}

impl Rules {
    /// Reads the rules of a schema; those that are not evaluated are added to what is unchecked.
    pub(super) fn read(root: &Node, unchecked: &mut Vec<Unchecked>) -> Self {
        let mut rules = Rules::default();
        rules.collect(root, "", unchecked);
        rules
    }

    fn collect(&mut self, node: &Node, path: &str, unchecked: &mut Vec<Unchecked>) {
        for rule in &node.validations {
            match Rule::read(rule, node) {
                Ok(Some(rule)) => self.0.entry(path.to_owned()).or_default().push(rule),
                Ok(None) => {}
                Err(what) => unchecked.push(Unchecked { path: path.to_owned(), what }),
            }
        }
        for (name, property) in &node.properties {
            self.collect(property, &field_path(path, name), unchecked);
        }
        if let AdditionalProperties::Each(each) = &node.additional {
            self.collect(each, &format!("{path}{{}}"), unchecked);
        }
        if let Some(items) = &node.items {
            self.collect(items, &format!("{path}[]"), unchecked);
        }
    }

    /// Evaluates every rule.
    pub(super) fn check(&self, root: &Node, object: &Value, report: &mut Report) {
        if self.0.is_empty() {
            return;
        }
        let mut checker = Checker { rules: self, report, left: STEPS };
        checker.value(root, object, "", "");
    }
}

struct Checker<'r> {
    rules: &'r Rules,
    report: &'r mut Report,
    left: u64,
}

impl Checker<'_> {
    /// Evaluates the rules of a value and of what is below it. `place` is the path of its schema.
    fn value(&mut self, node: &Node, value: &Value, place: &str, path: &str) {
        // The server evaluates no rule on a null.
        if value.is_null() {
            return;
        }
        for rule in self.rules.0.get(place).into_iter().flatten() {
            self.rule(rule, node, value, path);
        }
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let path = field_path(path, name);
                    match (node.properties.get(name), &node.additional) {
                        (Some(property), _) => self.value(property, value, &field_path(place, name), &path),
                        (None, AdditionalProperties::Each(each)) => {
                            self.value(each, value, &format!("{place}{{}}"), &path);
                        }
                        _ => {}
                    }
                }
            }
            Value::Array(items) => {
                if let Some(node) = &node.items {
                    let place = format!("{place}[]");
                    for (at, item) in items.iter().enumerate() {
                        self.value(node, item, &place, &format!("{path}[{at}]"));
                    }
                }
            }
            _ => {}
        }
    }

    fn rule(&mut self, rule: &Rule, node: &Node, value: &Value, path: &str) {
        let Some(left) = self.left.checked_sub(rule.steps(value)) else {
            let what = format!("the rule with the message `{}` is not evaluated on so large an object", rule.message);
            self.report.unchecked.push(Unchecked { path: path.to_owned(), what });
            return;
        };
        self.left = left;
        let mut context = Context::default();
        // The name is a fixed word, which is the only thing that can be wrong with it.
        let _ = context.add_function("isURL", |text: Arc<String>| is_request_uri(&text));
        context.add_variable_from_value("self", converted(value, Some(node)));
        // An error is a refusal, as it is for the API server.
        if !matches!(rule.program.execute(&context), Ok(cel::Value::Bool(true))) {
            let violation =
                Violation { path: path.to_owned(), rule: "x-kubernetes-validations", message: rule.message.clone() };
            self.report.violations.push(violation);
        }
    }
}

impl Rule {
    /// How many steps an evaluation takes at most: every loop may go over the longest list there is, and in each step every
    /// part may copy or compare the whole value.
    fn steps(&self, value: &Value) -> u64 {
        let (mut values, mut longest) = (1_u64, 1_u64);
        measure(value, &mut values, &mut longest);
        let nodes = self.shape.nodes as u64;
        let round = longest.saturating_add(nodes);
        (0..self.shape.loops).fold(nodes.saturating_mul(values), |steps, _| steps.saturating_mul(round))
    }
}

/// The size of a value: its parts (a long text counts by its length), and its longest list.
fn measure(value: &Value, values: &mut u64, longest: &mut u64) {
    *values = values.saturating_add(1);
    match value {
        Value::Array(items) => {
            *longest = (*longest).max(items.len() as u64);
            for item in items {
                measure(item, values, longest);
            }
        }
        Value::Object(fields) => {
            *longest = (*longest).max(fields.len() as u64);
            for field in fields.values() {
                measure(field, values, longest);
            }
        }
        Value::String(text) => *values = values.saturating_add(text.len() as u64 / 64),
        _ => {}
    }
}

/// The names of fields, from a node down, that are texts here and something else for the API server.
fn typed_fields(node: &Node, name: &str, typed: &mut BTreeSet<String>) {
    let special = matches!(node.format, Some(Format::Byte | Format::Date | Format::DateTime))
        || (node.formatted && node.format.is_none());
    if special || node.int_or_string {
        typed.insert(name.to_owned());
    }
    for (name, property) in &node.properties {
        typed_fields(property, &escaped(name), typed);
    }
    if let Some(items) = &node.items {
        typed_fields(items, name, typed);
    }
    if let AdditionalProperties::Each(each) = &node.additional {
        typed_fields(each, name, typed);
    }
}

/// The deepest nesting of brackets; those in strings count, too, which leaves too much unchecked at worst.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    for c in text.chars() {
        match c {
            '(' | '[' | '{' | '?' => depth = depth.saturating_add(1),
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Looks at every part: whether it is understood, and what it adds to the cost. The error is what is not understood.
fn look(part: &IdedExpr, level: usize, shape: &mut Shape) -> Result<(), String> {
    shape.nodes = shape.nodes.saturating_add(1);
    shape.depth = shape.depth.max(level);
    if level > DEPTH || shape.nodes > NODES {
        return Ok(());
    }
    let below = level.saturating_add(1);
    match &part.expr {
        Expr::Literal(_) => Ok(()),
        Expr::Ident(name) => {
            shape.variables.insert(name.clone());
            Ok(())
        }
        Expr::Select(select) => {
            shape.fields.insert(select.field.clone());
            look(&select.operand, below, shape)
        }
        Expr::List(list) if list.optional_indices.is_empty() => {
            list.elements.iter().try_for_each(|part| look(part, below, shape))
        }
        Expr::Map(map) => map.entries.iter().try_for_each(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) if !entry.optional => {
                look(&entry.key, below, shape)?;
                look(&entry.value, below, shape)
            }
            _ => Err("an optional entry".to_owned()),
        }),
        Expr::Call(call) => {
            let name = call.func_name.as_str();
            if !FUNCTIONS.contains(&name) && !OPERATORS.contains(&name) {
                return Err(name.to_owned());
            }
            let parts = call.target.iter().map(AsRef::as_ref).chain(&call.args);
            parts.into_iter().try_for_each(|part| look(part, below, shape))
        }
        Expr::Comprehension(repeat) => {
            let parts = [&repeat.iter_range, &repeat.accu_init, &repeat.loop_cond, &repeat.loop_step, &repeat.result];
            parts.into_iter().try_for_each(|part| look(part, below, shape))?;
            let builds = matches!(repeat.accu_init.expr, Expr::List(_) | Expr::Map(_));
            shape.loops = shape.loops.saturating_add(if builds { 2 } else { 1 });
            Ok(())
        }
        Expr::List(_) | Expr::Struct(_) | Expr::Unspecified => Err("a typed or optional value".to_owned()),
    }
}

/// A value for the evaluator. Names of fields are escaped, keys of maps are not.
fn converted(value: &Value, node: Option<&Node>) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(truth) => cel::Value::Bool(*truth),
        Value::Number(number) => match number.as_i64() {
            Some(whole) if node.is_none_or(|node| node.value_type != Some(ValueType::Number)) => cel::Value::Int(whole),
            _ => cel::Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => cel::Value::String(text.clone().into()),
        Value::Array(items) => {
            let node = node.and_then(|node| node.items.as_deref());
            cel::Value::List(items.iter().map(|item| converted(item, node)).collect::<Vec<_>>().into())
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| match node {
                Some(Node { additional: AdditionalProperties::Each(each), .. }) => {
                    (key.clone(), converted(value, Some(each)))
                }
                Some(node) => (escaped(key), converted(value, node.properties.get(key))),
                None => (key.clone(), converted(value, None)),
            });
            cel::Value::from(fields.collect::<HashMap<String, cel::Value>>())
        }
    }
}

/// The name by which a rule speaks of a field.
fn escaped(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__").replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
}
