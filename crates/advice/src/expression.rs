//! CEL expressions of strangers: which are supported, and what they may cost (U18).
//!
//! The evaluator underneath has no budget and cannot be stopped, and its parser recurses along chains of operators. So an
//! expression is supported only if it is short and flat, consists of what is known to be harmless, and the size of the
//! object bounds how long it can take. Everything else is reported as unsupported, and counts as a rule that could not be
//! evaluated. Texts of the evaluator quote values of objects, so only the class of an error leaves this module.

use std::collections::BTreeSet;

use cel::common::ast::LiteralValue;
use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::{Context, ExecutionError, Program};
use serde_json::Value;

use crate::evidence::{Failure, FailureClass, ObjectError, REMOVED};

/// Bytes of the text.
const LENGTH: usize = 2_048;
/// Brackets within brackets, counted before anything recursive reads the text.
const NESTING: usize = 24;
/// Operators, dots, indexes and calls, counted before anything recursive reads the text. The parser overflows a stack of
/// 2 MiB at about 1,400.
const CHAIN: usize = 256;
/// Levels of the tree.
const DEPTH: usize = 64;
/// Nodes of the tree.
const NODES: usize = 400;
/// Comprehensions (`all`, `exists`, `map`, …) within comprehensions.
const LOOP_DEPTH: usize = 2;
/// Steps for one object, estimated from above. The most expensive expressions known take two nanoseconds for each, usual
/// ones a hundredth of that.
const STEPS: u64 = 100_000_000;

/// The caps on one expression: what is counted, and the most of it. `docs/limits.md` lists them.
pub const EXPRESSION_CAPS: [(&str, u64); 7] = [
    ("Bytes of an expression", LENGTH as u64),
    ("Brackets within brackets", NESTING as u64),
    ("Operators, dots, indexes and calls", CHAIN as u64),
    ("Levels of its tree", DEPTH as u64),
    ("Nodes of its tree", NODES as u64),
    ("Comprehensions (`all`, `exists`, `map`) within comprehensions", LOOP_DEPTH as u64),
    ("Steps for one object, estimated from above", STEPS),
];

/// The supported functions. There is no `matches`: a pattern is compiled anew for every element.
const FUNCTIONS: &[&str] = &["contains", "double", "endsWith", "int", "size", "startsWith", "string"];
/// The supported operators, as the parser names them; the last one is what macros are made of.
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

/// A supported expression.
#[derive(Debug)]
pub(crate) struct Expression {
    program: Program,
    shape: Shape,
}

/// What evaluations of one rule may still cost.
#[derive(Debug)]
pub(crate) struct Steps(u64);

impl Steps {
    pub(crate) fn new(steps: u64) -> Self {
        Steps(steps)
    }
}

/// What bounds the cost of an expression, and what it names.
#[derive(Debug, Default)]
struct Shape {
    nodes: usize,
    depth: usize,
    /// Loops, counted twice if they build a list, which is copied in every step.
    loops: u32,
    loop_depth: usize,
    /// Names of fields and texts that may be one.
    names: BTreeSet<String>,
}

impl Expression {
    /// Reads an expression, or says why it is not supported.
    pub(crate) fn new(text: &str) -> Result<Self, Failure> {
        if text.len() > LENGTH {
            let message = format!("The expression has {} bytes; the limit is {LENGTH}.", text.len());
            return Err(unsupported(message));
        }
        let (nesting, chain) = extent(text);
        if nesting > NESTING {
            return Err(unsupported(format!("The expression has more than {NESTING} nested brackets.")));
        }
        if chain > CHAIN {
            return Err(unsupported(format!(
                "The expression has {chain} operators, indexes and calls; the limit is {CHAIN}."
            )));
        }
        let program = Program::compile(text).map_err(|errors| {
            let place = errors.errors.first().map(|error| format!(" (line {}, column {})", error.pos.0, error.pos.1));
            let message = format!("The expression is not valid CEL{}.", place.unwrap_or_default());
            Failure::new(FailureClass::Malformed, message)
        })?;
        let mut shape = Shape::default();
        look(program.expression(), 1, 0, &mut shape)?;
        if shape.nodes > NODES || shape.depth > DEPTH {
            let message = format!(
                "The expression has {} parts in {} levels; the limits are {NODES} and {DEPTH}.",
                shape.nodes, shape.depth
            );
            return Err(unsupported(message));
        }
        if shape.loop_depth > LOOP_DEPTH {
            let message =
                format!("The expression has more than {LOOP_DEPTH} nested comprehensions (all, exists, map, …).");
            return Err(unsupported(message));
        }
        Ok(Expression { program, shape })
    }

    /// What the expression says of an object, or why it says neither true nor false; no error if the steps are used up.
    pub(crate) fn holds(&self, object: &Value, steps: &mut Steps) -> Result<bool, Option<ObjectError>> {
        let mut size = Size::default();
        size.add(object, "");
        if self.shape.names.iter().any(|name| size.removed.contains(name.as_str())) {
            return Err(Some(ObjectError::Removed));
        }
        let cost = self.cost(&size);
        if cost > STEPS {
            return Err(Some(ObjectError::TooLarge));
        }
        steps.0 = steps.0.checked_sub(cost).ok_or(None)?;
        let mut context = Context::default();
        context.add_variable_from_value("object", value(object));
        match self.program.execute(&context) {
            Ok(cel::Value::Bool(holds)) => Ok(holds),
            Ok(_) => Err(Some(ObjectError::NotBoolean)),
            Err(error) => Err(Some(class(&error))),
        }
    }

    /// How many steps an evaluation takes at most: every loop may go over the longest list there is, or over one that
    /// the expression itself puts together, and in each step every part may copy or compare the whole object.
    fn cost(&self, size: &Size<'_>) -> u64 {
        let nodes = self.shape.nodes as u64;
        let round = (size.list as u64).saturating_add(nodes);
        let whole = (size.values as u64).saturating_add(size.text as u64 / 64).saturating_add(1);
        (0..self.shape.loops).fold(nodes.saturating_mul(whole), |steps, _| steps.saturating_mul(round))
    }
}

/// The class of an error of the evaluation: its text may quote a whole object.
fn class(error: &ExecutionError) -> ObjectError {
    match error {
        ExecutionError::NoSuchKey(_) => ObjectError::NoSuchField,
        ExecutionError::IndexOutOfBounds(_)
        | ExecutionError::Overflow(..)
        | ExecutionError::DivisionByZero(_)
        | ExecutionError::RemainderByZero(_) => ObjectError::OutOfRange,
        ExecutionError::UnexpectedType { .. }
        | ExecutionError::NoSuchOverload(_)
        | ExecutionError::UnsupportedTargetType { .. }
        | ExecutionError::NotSupportedAsMethod { .. }
        | ExecutionError::UnsupportedKeyType(_)
        | ExecutionError::ValuesNotComparable(..)
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::UnsupportedIndex(..) => ObjectError::WrongType,
        _ => ObjectError::Other,
    }
}

fn unsupported(message: impl Into<String>) -> Failure {
    Failure::new(FailureClass::Unsupported, message)
}

/// The deepest nesting of brackets, and how many characters may extend a chain of operators, selections or calls. Those in
/// strings count too, which refuses too much at worst.
fn extent(text: &str) -> (usize, usize) {
    let (mut depth, mut deepest, mut chain) = (0_usize, 0_usize, 0_usize);
    for c in text.chars() {
        match c {
            '(' | '[' | '{' | '?' => depth = depth.saturating_add(1),
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
        if matches!(c, '.' | '[' | '(' | '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '!' | '&' | '|' | '?') {
            chain = chain.saturating_add(1);
        }
    }
    (deepest, chain)
}

/// Looks at every part: whether it is supported, and what it adds to the cost. The parser bounds how deep that goes.
fn look(part: &IdedExpr, level: usize, loops: usize, shape: &mut Shape) -> Result<(), Failure> {
    shape.nodes = shape.nodes.saturating_add(1);
    shape.depth = shape.depth.max(level);
    shape.loop_depth = shape.loop_depth.max(loops);
    // Deeper parts are refused in the end; nothing has to look at them.
    if level > DEPTH || shape.nodes > NODES {
        return Ok(());
    }
    match &part.expr {
        Expr::Select(select) => drop(shape.names.insert(select.field.clone())),
        Expr::Literal(LiteralValue::String(text)) => drop(shape.names.insert(text.inner().to_owned())),
        _ => {}
    }
    let mut look = |part: &IdedExpr| look(part, level.saturating_add(1), loops, shape);
    match &part.expr {
        Expr::Literal(LiteralValue::Bytes(_)) => Err(unsupported("The expression has a bytes literal.")),
        Expr::Ident(_) | Expr::Literal(_) => Ok(()),
        Expr::Select(select) => look(&select.operand),
        Expr::List(list) if list.optional_indices.is_empty() => list.elements.iter().try_for_each(look),
        Expr::Map(map) => map.entries.iter().try_for_each(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) if !entry.optional => look(&entry.key).and_then(|()| look(&entry.value)),
            _ => Err(unsupported("The expression has an optional entry.")),
        }),
        Expr::Call(call) => {
            let name = call.func_name.as_str();
            if !FUNCTIONS.contains(&name) && !OPERATORS.contains(&name) {
                return Err(unsupported(format!("The expression uses `{name}`.")));
            }
            call.target.iter().map(AsRef::as_ref).chain(&call.args).try_for_each(look)
        }
        Expr::Comprehension(repeat) => {
            look(&repeat.iter_range)?;
            let parts = [&repeat.accu_init, &repeat.loop_cond, &repeat.loop_step, &repeat.result];
            for part in parts {
                self::look(part, level.saturating_add(1), loops.saturating_add(1), shape)?;
            }
            let builds = matches!(repeat.accu_init.expr, Expr::List(_) | Expr::Map(_));
            shape.loops = shape.loops.saturating_add(if builds { 2 } else { 1 });
            Ok(())
        }
        Expr::List(_) | Expr::Struct(_) | Expr::Unspecified => {
            Err(unsupported("The expression makes a message or an optional value."))
        }
    }
}

/// How large an object is, and which of its fields were removed.
#[derive(Default)]
struct Size<'o> {
    /// The length of its longest list or object.
    list: usize,
    /// Its values, of all levels.
    values: usize,
    /// The bytes of its texts.
    text: usize,
    /// The names of fields whose value is not in the evidence.
    removed: BTreeSet<&'o str>,
}

impl<'o> Size<'o> {
    fn add(&mut self, value: &'o Value, field: &'o str) {
        self.values = self.values.saturating_add(1);
        match value {
            Value::Array(items) => {
                self.list = self.list.max(items.len());
                for item in items {
                    self.add(item, field);
                }
            }
            Value::Object(fields) => {
                self.list = self.list.max(fields.len());
                for (key, value) in fields {
                    self.text = self.text.saturating_add(key.len());
                    self.add(value, key);
                }
            }
            Value::String(text) => {
                self.text = self.text.saturating_add(text.len());
                if text.contains(REMOVED) {
                    self.removed.insert(field);
                }
            }
            _ => {}
        }
    }
}

/// A value for the evaluator. Whole numbers are signed, as the API server has them.
fn value(json: &Value) -> cel::Value {
    match json {
        Value::Null => cel::Value::Null,
        Value::Bool(truth) => cel::Value::Bool(*truth),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => cel::Value::Int(whole),
            None => cel::Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => cel::Value::String(text.clone().into()),
        Value::Array(items) => cel::Value::List(items.iter().map(value).collect::<Vec<_>>().into()),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, field)| (key.clone(), value(field)));
            cel::Value::from(fields.collect::<std::collections::HashMap<String, cel::Value>>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn said(text: &str, object: &Value) -> Result<bool, String> {
        let expression = Expression::new(text).map_err(|failure| failure.message)?;
        let holds = expression.holds(object, &mut Steps::new(2_000_000_000));
        holds.map_err(|error| error.map_or("no steps left", ObjectError::as_str).to_owned())
    }

    #[test]
    fn expressions_read_objects() {
        let object = json!({
            "metadata": {"name": "web", "labels": {"a.b/c": "d"}},
            "spec": {"replicas": 3, "ratio": 0.5, "containers": [{"image": "x:1"}, {"image": "y:2"}]},
        });
        for (text, want) in [
            ("object.spec.replicas == 3", true),
            ("object.spec.replicas > 2 && object.spec.ratio < 1.0", true),
            ("has(object.spec.paused)", false),
            ("!has(object.spec.paused) || object.spec.paused", true),
            ("object.metadata.labels['a.b/c'] == 'd'", true),
            ("object.spec.containers.exists(c, c.image.startsWith('x:'))", true),
            ("object.spec.containers.all(c, c.image.endsWith(':1'))", false),
            ("size(object.spec.containers.filter(c, c.image == 'y:2')) == 1", true),
            ("object.spec.containers.map(c, c.image) == ['x:1', 'y:2']", true),
            ("'a.b/c' in object.metadata.labels", true),
            ("object.metadata.name.contains('we') ? int('7') == 7 : false", true),
        ] {
            assert_eq!(said(text, &object), Ok(want), "{text}");
        }
    }

    #[test]
    fn unsupported_expressions_are_named_and_errors_carry_no_data() {
        let object = json!({"spec": {"list": vec![1; 2_000], "name": "marker"}});
        let deep = format!("{}1{}", "(".repeat(30), ")".repeat(30));
        let wide = format!("1{} == 1", " + 1".repeat(250));
        let chain = format!("1{} == 1", "+1".repeat(300));
        for (text, want) in [
            ("object.", "The expression is not valid CEL (line 1, column "),
            ("spec{}", "The expression makes a message"),
            ("b'a'.contains(b'')", "The expression has a bytes literal."),
            ("object.spec.matches('a')", "The expression uses `matches`."),
            ("timestamp('2026-05-04T09:00:00Z') == 1", "The expression uses `timestamp`."),
            ("1 / 0 == 1", "The expression uses `_/_`."),
            ("object.?spec == 1", "The expression "),
            (deep.as_str(), "The expression has more than 24 nested brackets."),
            (wide.as_str(), "The expression has 129 parts in "),
            (chain.as_str(), "The expression has 302 operators, indexes and calls; the limit is 256."),
            (&"1".repeat(3_000), "The expression has 3000 bytes; the limit is 2048."),
            ("[1].all(a, [1].all(b, [1].all(c, a == b)))", "The expression has more than 2 nested comprehensions"),
            ("object.spec.list.all(a, object.spec.list.all(b, a == b))", "the object is too large"),
            ("object.spec.list.map(a, a) == []", "the object is too large"),
            ("object.spec[object.spec.name] == 1", "no such field"),
            ("object.spec.name.other == 1", "values of different types"),
            ("object.spec.name + 1 == 1", "values of different types"),
            ("object.spec.list[30000] == 1", "number or index out of range"),
            ("other == 1", "evaluation error"),
            ("object.spec.name", "the result is neither true nor false"),
        ] {
            let found = said(text, &object).unwrap_err();
            assert!(found.starts_with(want), "{text}: {found}");
        }
        assert_eq!(said("object.spec.list.all(a, a == 1)", &object), Ok(true));
    }

    #[test]
    fn what_crashed_or_deceived_an_older_evaluator_does_neither() {
        for (text, want) in [("!!true", Ok(true)), ("--1 == 1", Ok(true)), ("!!!true", Ok(false))] {
            assert_eq!(said(text, &json!({})), want.map_err(|()| String::new()), "{text}");
        }
        for sign in ["!", "-"] {
            assert!(said(&format!("{}(1)", sign.repeat(200)), &json!({})).is_err());
        }
        // The longest chains there may be, on a stack that is no larger than that of any thread.
        for (start, link) in [("1", "+1"), ("object", ".a"), ("object", "[0]"), ("true", "&&true"), ("''", "+''")] {
            let chain = format!("{start}{}", link.repeat(CHAIN / 3));
            std::thread::Builder::new()
                .stack_size(2 << 20)
                .spawn(move || drop(said(&chain, &json!({}))))
                .unwrap()
                .join()
                .unwrap();
        }
    }

    #[test]
    fn an_expression_that_reads_a_removed_field_is_not_evaluated() {
        let object = json!({"env": [{"name": "MODE", "value": REMOVED}], "args": ["--token", REMOVED], "kept": 1});
        for text in ["object.env.exists(e, e.value == 'x')", "has(object.args)", "object['args'] == []"] {
            assert_eq!(said(text, &object), Err(ObjectError::Removed.as_str().to_owned()), "{text}");
        }
        assert_eq!(said("object.kept == 1", &object), Ok(true));
    }

    #[test]
    fn many_objects_share_one_budget() {
        let expression = Expression::new("object.list.all(a, a == 1)").unwrap();
        let object = json!({"list": vec![1; 1_000]});
        let mut steps = Steps::new(100_000_000);
        let held: Vec<_> = (0..20).map(|_| expression.holds(&object, &mut steps)).collect();
        assert_eq!((held[0], held[19]), (Ok(true), Err(None)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(512), ..ProptestConfig::default() })]

        #[test]
        fn no_text_panics(parts in prop::collection::vec(prop::sample::select(vec![
            "object", ".", "spec", "list", "[", "]", "(", ")", "{", "}", ",", ":", "?", "1", "-1", "9223372036854775807",
            "1u", "1.5", "'a'", "b'x'", "r'\\d'", "true", "null", "==", "<", "&&", "||", "!", "-", "+", "*", "/", "in ",
            "has(", "size(", "all(", "map(", "filter(", "x", "x,", "string(", "int(", "contains(", "é", "`", "\n", " ",
        ]), 0..16)) {
            let _ = said(&parts.concat(), &json!({"spec": {"list": [1, "a", null, 1.5, {"a": []}]}}));
        }
    }
}
