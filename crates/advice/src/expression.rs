//! CEL expressions of `Resource` rules: what they may use, and what they may cost (U18, U19).
//!
//! Rules come from strangers. An expression is checked when its rule is loaded: what the environment of `Resource` rules
//! does not have, does not fit together or cannot stay within the limits is refused with its position. Evaluating one is
//! bounded for each object and for all objects of a rule. Values that were removed from evidence are unknown to the
//! evaluator, so that a result that depends on one is no result. An error has a class, and nothing of an
//! object.

use clearway_cel::{
    Bindings, Budget, CelError, Environment, ErrorClass, Limits, Outcome, Program, RegexWork, Searches, Session, Span,
};
use serde_json::Value;

use crate::evidence::{Failure, FailureClass, ObjectError, PartValue, REMOVED, UNREADABLE_FIELDS};
use crate::memory::PatternWork;

/// How large an expression may be. Expressions in use have some hundred characters.
const LIMITS: Limits = Limits {
    code_points: 16_384,
    nesting: 250,
    nodes: 20_000,
    type_steps: 500_000,
    regex_bytes: 1 << 17,
    regex_work: 4 << 20,
};
/// What evaluating one may use for one object. The cost is that of Kubernetes for one expression.
const BUDGET: Budget = Budget { cost: Budget::PER_EXPRESSION, memory: 16 << 20, work: 10_000_000 };

/// The caps on one expression: what is counted, and the most of it. `docs/limits.md` lists them.
pub const EXPRESSION_CAPS: [(&str, u64); 9] = [
    ("Characters of a CEL expression", LIMITS.code_points as u64),
    ("Nesting depth of an expression", LIMITS.nesting as u64),
    ("Nodes of an expression after macro expansion", LIMITS.nodes as u64),
    ("Type-checking steps of an expression", LIMITS.type_steps as u64),
    ("Bytes of one compiled regular expression", LIMITS.regex_bytes as u64),
    ("Bytes written and read to compile all regular expressions of an expression", LIMITS.regex_work as u64),
    ("CEL cost of an expression for one object, as Kubernetes counts it", BUDGET.cost),
    ("Bytes of memory for one evaluation", BUDGET.memory),
    ("Elements and text parts that one evaluation may read", BUDGET.work),
];

/// Checks an expression as loading its rule does. The error has the position in the text.
pub fn check_expression(text: &str) -> Result<(), CelError> {
    compile(text, &mut RegexWork::new(LIMITS.regex_work)).map(drop)
}

fn compile(text: &str, work: &mut RegexWork) -> Result<Program, CelError> {
    let span = |start: usize, end: usize| {
        let offset = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        Span::new(offset(start), offset(end))
    };
    for field in UNREADABLE_FIELDS {
        if let Some(start) = text.find(field) {
            let place = span(start, start.saturating_add(field.len()));
            return Err(CelError::with(ErrorClass::Unsupported, place, format!("`{field}` is not in evidence")));
        }
    }
    let program = Program::compile_within(text, &Environment::resource_rule(), &LIMITS, work)?;
    // Objects have no schema, so the most that an evaluation costs is unknown; the least it costs is not.
    let (least, most) = (program.estimate().min, BUDGET.cost);
    if least > most {
        let whole = span(0, text.len());
        let detail = format!("the expression costs at least {least} for each object; the limit is {most}");
        return Err(CelError::with(ErrorClass::EstimatedCost, whole, detail));
    }
    Ok(program)
}

/// An expression that can be evaluated.
#[derive(Debug)]
pub(crate) struct Expression {
    program: Program,
}

/// The evaluations of one expression over all objects.
#[derive(Debug)]
pub(crate) struct Steps {
    /// What they may still use: their cost, and what they look at.
    left: u64,
    /// What regular expressions remember of texts. The expression is kept for as long as its rule, and this is not.
    searches: Option<Searches>,
}

impl Steps {
    pub(crate) fn new(steps: u64) -> Self {
        Steps { left: steps, searches: None }
    }
}

impl Expression {
    /// Reads an expression, or says why it is refused. Its regular expressions have what all rules have left for theirs.
    pub(crate) fn new(text: &str, patterns: &PatternWork) -> Result<Self, Failure> {
        let most = patterns.left().min(LIMITS.regex_work);
        let mut work = RegexWork::new(most);
        let compiled = compile(text, &mut work);
        patterns.take(work.used());
        compiled.map(|program| Expression { program }).map_err(|error| {
            if work.is_exceeded() && most < LIMITS.regex_work {
                return PatternWork::exceeded();
            }
            let place = error.span.position(text).map(|at| format!(" (line {}, column {})", at.line, at.column));
            let class = match error.class {
                ErrorClass::EstimatedCost => FailureClass::Budget,
                ErrorClass::TooLarge | ErrorClass::Unsupported => FailureClass::Unsupported,
                _ => FailureClass::Malformed,
            };
            Failure::new(class, format!("The expression is refused{}: {error}.", place.unwrap_or_default()))
        })
    }

    /// Whether the expression is true of an object, or why it is neither true nor false; no error if the steps are used up.
    pub(crate) fn holds(&self, object: &Value, steps: &mut Steps) -> Result<bool, Option<ObjectError>> {
        let searches = steps.searches.get_or_insert_with(|| self.program.searches());
        let session = Session::new(bindings(object)).with_searches(&self.program, searches);
        let evaluation = session.evaluate(&self.program, &BUDGET);
        steps.left = steps.left.checked_sub(evaluation.cost.saturating_add(evaluation.work)).ok_or(None)?;
        Err(Some(match &evaluation.outcome {
            Outcome::Value(value) => match value.as_bool() {
                Some(holds) => return Ok(holds),
                None => ObjectError::NotBoolean,
            },
            Outcome::Unknown => ObjectError::Removed,
            Outcome::Error(error) => class(error.class),
        }))
    }

    /// Bytes of memory that it takes, at most.
    pub(crate) fn memory(&self) -> usize {
        self.program.memory()
    }

    /// What each part of the expression gives for an object. Values of the object are in it: only for objects that belong
    /// to whoever reads them.
    pub(crate) fn explain(&self, object: &Value) -> Vec<PartValue> {
        let session = Session::new(bindings(object));
        let Ok(explanation) = self.program.explain(&session, &BUDGET) else { return Vec::new() };
        let source = self.program.source();
        let part = |part: clearway_cel::ExplainedPart| PartValue {
            expression: part.span.of(source).split_whitespace().collect::<Vec<_>>().join(" "),
            level: part.depth,
            value: part.value,
            times: part.times,
        };
        without_noise(explanation.parts.into_iter().map(part))
    }
}

/// The parts that say something: not constants, and not the way to a field that was found, which starts with the whole object.
fn without_noise(parts: impl Iterator<Item = PartValue>) -> Vec<PartValue> {
    let mut kept: Vec<PartValue> = Vec::new();
    // The parts around the next one, the innermost last.
    let mut around: Vec<PartValue> = Vec::new();
    for part in parts {
        around.truncate(part.level);
        let on_the_way = around.last().is_some_and(|outer| {
            let behind = outer.expression.strip_prefix(&part.expression).unwrap_or_default();
            behind.starts_with(['.', '[']) && !behind.contains('(') && !outer.value.starts_with("error: ")
        });
        let is_constant = part.expression.replace('\'', "\"") == part.value;
        if !on_the_way && !is_constant {
            kept.push(part.clone());
        }
        around.push(part);
    }
    kept
}

fn bindings(object: &Value) -> Bindings<'_> {
    Bindings::new().with("object", object).with_unknown(&is_removed)
}

/// Whether a value, or a part of a text, was removed from evidence.
pub(crate) fn is_removed(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains(REMOVED))
}

/// The class of an error of the evaluation.
const fn class(class: ErrorClass) -> ObjectError {
    match class {
        ErrorClass::NoSuchKey => ObjectError::NoSuchField,
        ErrorClass::NoSuchOverload => ObjectError::WrongType,
        ErrorClass::IndexOutOfBounds
        | ErrorClass::DivisionByZero
        | ErrorClass::ModulusByZero
        | ErrorClass::Overflow => ObjectError::OutOfRange,
        ErrorClass::Conversion
        | ErrorClass::InvalidArgument
        | ErrorClass::InvalidRegex
        | ErrorClass::InvalidKey
        | ErrorClass::NotOrdered
        | ErrorClass::NoValue => ObjectError::InvalidValue,
        ErrorClass::CostLimit | ErrorClass::MemoryLimit | ErrorClass::WorkLimit => ObjectError::TooLarge,
        _ => ObjectError::Other,
    }
}

#[cfg(test)]
mod tests;
