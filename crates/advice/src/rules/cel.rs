//! CEL expressions of strangers, fenced: what they may be, and what they may cost (U18).
//!
//! The evaluator has no budget and no way to be stopped, and parts of the language make it panic. So an expression is let
//! through only if it is short and flat, consists of what is known to be harmless, and the size of the object bounds
//! how long it can take. What is refused is named, and counts as a rule that could not be evaluated.

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr};
use kube_cel::cel::{self, Context, Program, functions};
use serde_json::Value;

use crate::evidence::{Failure, FailureClass};

/// Bytes of the text.
const LENGTH: usize = 2_048;
/// Brackets within brackets, counted before anything recursive looks at the text.
const NESTING: usize = 24;
/// Levels of the tree.
const DEPTH: usize = 64;
/// Nodes of the tree.
const NODES: usize = 400;
/// Steps for one object, estimated from above. The dearest expressions known take two nanoseconds for each, usual ones
/// a hundredth of that.
const STEPS: u64 = 100_000_000;
/// Steps for all objects that a rule looks at: a usual expression over some eight thousand pods.
const ALL_STEPS: u64 = 2_000_000_000;

/// The functions that are let through. There is no `matches`: a pattern is compiled anew for every element.
const FUNCTIONS: &[&str] = &["contains", "double", "endsWith", "int", "size", "startsWith", "string"];
/// The operators that are let through, as the parser names them; the last one is what macros are made of.
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

/// An expression that was let through.
#[derive(Debug)]
pub(crate) struct Expression {
    program: Program,
    shape: Shape,
}

/// What evaluations of one rule may still cost.
pub(crate) struct Budget(u64);

impl Default for Budget {
    fn default() -> Self {
        Budget(ALL_STEPS)
    }
}

/// What bounds the cost of an expression.
#[derive(Debug, Default)]
struct Shape {
    nodes: usize,
    depth: usize,
    /// Loops, counted twice if they build a list, which is copied in every step.
    loops: u32,
}

impl Expression {
    /// Reads an expression, or says why it is not let through.
    pub(crate) fn new(text: &str) -> Result<Self, Failure> {
        if text.len() > LENGTH {
            return Err(refused(format!("The expression has {} bytes; at most {LENGTH} are let through.", text.len())));
        }
        if nesting(text) > NESTING {
            return Err(refused(format!("The expression nests deeper than the {NESTING} brackets let through.")));
        }
        let program = Program::compile(text).map_err(|errors| {
            let first = errors.to_string();
            let first = first.lines().next().unwrap_or_default().trim_start_matches("ERROR: <input>:");
            Failure::new(FailureClass::Malformed, format!("The expression is not CEL ({first})."))
        })?;
        let mut shape = Shape::default();
        look(program.expression(), 1, &mut shape)?;
        if shape.nodes > NODES || shape.depth > DEPTH {
            let message = format!(
                "The expression has {} parts in {} levels; at most {NODES} in {DEPTH} are let through.",
                shape.nodes, shape.depth
            );
            return Err(refused(message));
        }
        Ok(Expression { program, shape })
    }

    /// What the expression says of an object, or why it says neither true nor false.
    pub(crate) fn holds(&self, object: &Value, budget: &mut Budget) -> Result<bool, Failure> {
        let steps = self.steps(object);
        if steps > STEPS {
            let message = format!("it may take {steps} steps on so large an object; at most {STEPS} are let through");
            return Err(Failure::new(FailureClass::Budget, message));
        }
        let Some(left) = budget.0.checked_sub(steps) else {
            let message = format!("it may take more than {ALL_STEPS} steps on so many objects");
            return Err(Failure::new(FailureClass::Budget, message));
        };
        budget.0 = left;
        let mut context = Context::empty();
        context.add_function("contains", functions::contains);
        context.add_function("double", functions::double);
        context.add_function("endsWith", functions::ends_with);
        context.add_function("int", functions::int);
        context.add_function("size", functions::size);
        context.add_function("startsWith", functions::starts_with);
        context.add_function("string", functions::string);
        context.add_variable_from_value("object", value(object));
        match self.program.execute(&context) {
            Ok(cel::Value::Bool(holds)) => Ok(holds),
            Ok(other) => {
                Err(Failure::new(FailureClass::Ambiguous, format!("it gives a {}, not true or false", other.type_of())))
            }
            Err(error) => Err(Failure::new(FailureClass::Evaluation, said(&error))),
        }
    }

    /// How many steps an evaluation takes at most: every loop may go over the longest list there is, or over one that
    /// the expression itself puts together, and in each step every part may copy or compare the whole object.
    fn steps(&self, object: &Value) -> u64 {
        let mut size = Size::default();
        size.add(object);
        let nodes = self.shape.nodes as u64;
        let round = (size.list as u64).saturating_add(nodes);
        let whole = (size.values as u64).saturating_add(size.text as u64 / 64).saturating_add(1);
        (0..self.shape.loops).fold(nodes.saturating_mul(whole), |steps, _| steps.saturating_mul(round))
    }
}

/// An error of the evaluation in few words: it may quote a whole object.
fn said(error: &cel::ExecutionError) -> String {
    error.to_string().chars().take(120).collect()
}

fn refused(message: String) -> Failure {
    Failure::new(FailureClass::Refused, message)
}

/// The deepest nesting of brackets and of signs in a row; those in strings count, too, which refuses too much at worst.
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

/// Looks at every part: whether it is let through, and what it adds to the cost. The parser bounds how deep that goes.
fn look(part: &IdedExpr, level: usize, shape: &mut Shape) -> Result<(), Failure> {
    shape.nodes = shape.nodes.saturating_add(1);
    shape.depth = shape.depth.max(level);
    // Deeper parts are refused in the end; nothing has to look at them.
    if level > DEPTH || shape.nodes > NODES {
        return Ok(());
    }
    let mut look = |part: &IdedExpr| look(part, level.saturating_add(1), shape);
    match &part.expr {
        Expr::Ident(_) | Expr::Literal(_) => Ok(()),
        Expr::Select(select) => look(&select.operand),
        Expr::List(list) if list.optional_indices.is_empty() => list.elements.iter().try_for_each(look),
        Expr::Map(map) => map.entries.iter().try_for_each(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) if !entry.optional => look(&entry.key).and_then(|()| look(&entry.value)),
            _ => Err(refused("The expression has an optional entry, which is not let through.".to_owned())),
        }),
        Expr::Call(call) => {
            let name = call.func_name.as_str();
            if !FUNCTIONS.contains(&name) && !OPERATORS.contains(&name) {
                return Err(refused(format!("The expression uses `{name}`, which is not let through.")));
            }
            call.target.iter().map(AsRef::as_ref).chain(&call.args).try_for_each(look)
        }
        Expr::Comprehension(repeat) => {
            let parts = [&repeat.iter_range, &repeat.accu_init, &repeat.loop_cond, &repeat.loop_step, &repeat.result];
            parts.into_iter().try_for_each(look)?;
            let builds = matches!(repeat.accu_init.expr, Expr::List(_) | Expr::Map(_));
            shape.loops = shape.loops.saturating_add(if builds { 2 } else { 1 });
            Ok(())
        }
        Expr::List(_) | Expr::Struct(_) | Expr::Unspecified => Err(refused(
            "The expression makes an object of a type, or an optional value, which is not let through.".to_owned(),
        )),
    }
}

/// How large an object is.
#[derive(Default)]
struct Size {
    /// The length of its longest list or object.
    list: usize,
    /// Its values, of all levels.
    values: usize,
    /// The bytes of its texts.
    text: usize,
}

impl Size {
    fn add(&mut self, value: &Value) {
        self.values = self.values.saturating_add(1);
        match value {
            Value::Array(items) => {
                self.list = self.list.max(items.len());
                for item in items {
                    self.add(item);
                }
            }
            Value::Object(fields) => {
                self.list = self.list.max(fields.len());
                for (key, field) in fields {
                    self.text = self.text.saturating_add(key.len());
                    self.add(field);
                }
            }
            Value::String(text) => self.text = self.text.saturating_add(text.len()),
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
        Expression::new(text)
            .and_then(|expression| expression.holds(object, &mut Budget::default()))
            .map_err(|failure| failure.message)
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
    fn what_is_not_let_through_is_named() {
        let object = json!({"spec": {"list": vec![1; 2_000]}});
        let deep = format!("{}1{}", "(".repeat(30), ")".repeat(30));
        let wide = format!("1{} == 1", " + 1".repeat(300));
        for (text, want) in [
            ("object.", "The expression is not CEL ("),
            ("spec{}", "The expression makes an object of a type"),
            ("object.spec.matches('a')", "The expression uses `matches`, which is not let through."),
            ("timestamp('2026-05-04T09:00:00Z') == 1", "The expression uses `timestamp`"),
            ("1 / 0 == 1", "The expression uses `_/_`"),
            ("object.?spec == 1", "The expression is not CEL (1:7: unsupported syntax '.?')."),
            (deep.as_str(), "The expression nests deeper than the 24 brackets let through."),
            (wide.as_str(), "The expression has "),
            (&"1".repeat(3_000), "The expression has 3000 bytes; at most 2048 are let through."),
            ("object.spec.list.all(a, object.spec.list.all(b, a == b))", "it may take "),
            ("object.spec.list.map(a, a) == []", "it may take "),
            ("object.spec.other == 1", "No such key: other"),
            ("object.spec.list[30000] == 1", "Index out of bounds"),
            ("other == 1", "Undeclared reference to 'other'"),
            ("size(object)", "it gives a int, not true or false"),
        ] {
            let found = said(text, &object).unwrap_err();
            assert!(found.starts_with(want), "{text}: {found}");
        }
        assert_eq!(said("object.spec.list.all(a, a == 1)", &object), Ok(true));
    }

    #[test]
    fn many_objects_share_one_budget() {
        let expression = Expression::new("object.list.all(a, a == 1)").unwrap();
        let object = json!({"list": vec![1; 1_000]});
        let mut budget = Budget(100_000_000);
        let said: Vec<bool> = (0..20).map(|_| expression.holds(&object, &mut budget).is_ok()).collect();
        assert!(said[0] && !said[19], "{said:?}");
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
