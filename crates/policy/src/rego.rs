//! The Rego of templates: checked when it is loaded, compiled once, evaluated many times.
//!
//! The engine is the crate `regorus`. Where it differs from OPA, the text of a module is corrected before the engine reads
//! it (`corrections`), and functions that it lacks, gets wrong or does not bound are supplied (`builtins`). What
//! Gatekeeper refuses when it loads a template is refused here as well, with line and column: imports, references and
//! rules that break the contract (`contract`), unknown functions and rules that depend on themselves (`calls`).
//!
//! An evaluation is bounded by [`Budget::steps`], by the sizes of values that functions make ([`MAX_TEXT`],
//! [`MAX_ELEMENTS`]), and by the stack: rules cannot recur, and a chain of rules is measured when a template is loaded
//! ([`MAX_STACK_WEIGHT`], for which [`STACK_BYTES`] are enough). A program whose single steps are slow or large, such as
//! comparisons of values that share their parts, is bounded by nothing in this process: who evaluates templates of
//! strangers runs them in a process of their own, with a limit of memory and time.

mod budget;
mod builtins;
mod calls;
mod contract;
mod corrections;
mod edits;
mod error;
mod syntax;
pub mod values;
mod variables;

use std::num::{NonZeroU32, NonZeroUsize};

use regorus::{Engine, PolicyLengthConfig, Rc, Value};
use serde_json::Value as Json;

pub use budget::Interrupt;
pub use builtins::{MAX_ELEMENTS, MAX_TEXT};
pub use error::{EvaluationError, RegoError, RegoErrorKind};

use calls::Calls;
use corrections::{Corrected, placed};

/// The most bytes of a module.
pub const MAX_MODULE_BYTES: NonZeroUsize = NonZeroUsize::new(1 << 20).unwrap();
/// The most lines of a module.
pub const MAX_LINES: NonZeroUsize = NonZeroUsize::new(20_000).unwrap();
/// The most columns of a line; corrections make lines longer.
pub const MAX_COLUMN: NonZeroU32 = NonZeroU32::new(1 << 20).unwrap();
/// The most libraries of a template.
pub const MAX_LIBRARIES: usize = 64;
/// How many expressions may be nested, through all rules that use each other.
pub const MAX_STACK_WEIGHT: u64 = 2_000;
/// The stack that a thread needs to evaluate any template.
pub const STACK_BYTES: usize = 256 << 20;

/// The version of the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegoVersion {
    /// Without `if` and `contains`, as OPA read it before 1.0.
    V0,
    /// As OPA reads it since 1.0.
    V1,
}

/// The code of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegoCode {
    /// The module with the rule `violation`.
    pub rego: String,
    /// The modules of its libraries.
    pub libs: Vec<String>,
    /// The version of all of them.
    pub version: RegoVersion,
}

/// How much an evaluation may do.
#[derive(Clone)]
pub struct Budget {
    /// Steps of the engine: expressions, iterations, calls.
    pub steps: u64,
    /// Asked now and then whether to stop.
    pub interrupt: Option<Interrupt>,
    /// What `time.now_ns` is, in nanoseconds since 1970.
    pub now: i64,
}

impl Default for Budget {
    /// Ten million steps, several seconds on a slow machine.
    fn default() -> Self {
        Budget { steps: 10_000_000, interrupt: None, now: 0 }
    }
}

/// The code of a template, checked and compiled.
#[derive(Debug)]
pub struct Program {
    engine: Engine,
    rule: String,
    uses_inventory: bool,
}

/// What a template found.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// The message.
    pub message: String,
    /// What the template says about it, `{}` if nothing.
    pub details: Json,
}

impl Program {
    /// Checks and compiles code.
    pub fn compile(code: &RegoCode) -> Result<Program, RegoError> {
        if code.libs.len() > MAX_LIBRARIES {
            let message = format!("the template has {} libraries; at most {MAX_LIBRARIES} are read", code.libs.len());
            return Err(RegoError::of_module(RegoErrorKind::Limit, "template", message));
        }
        let mut texts = Vec::new();
        let mut modules = Vec::new();
        for (name, text) in names(code).zip(std::iter::once(&code.rego).chain(&code.libs)) {
            if text.trim().is_empty() {
                return Err(RegoError::of_module(RegoErrorKind::Contract, &name, "the module is empty"));
            }
            let Corrected { text, module } = corrections::correct(&name, text, code.version)?;
            let checked = if modules.is_empty() {
                contract::check_entry(&name, &module)
            } else {
                contract::check_library(&name, &module)
            };
            checked.map_err(|error| placed(error, &text))?;
            texts.push(text);
            modules.push((name, module));
        }
        let back = |error: RegoError| {
            let text = modules.iter().zip(&texts).find(|((name, _), _)| *name == error.module).map(|(_, text)| text);
            text.map_or(error.clone(), |text| placed(error, text))
        };
        let uses_inventory = Calls::check(&modules).map_err(back)?;
        let mut engine = Engine::new();
        let refused = |error: &dyn std::fmt::Display| {
            back(RegoError::of_engine(RegoErrorKind::Compile, "template", &error.to_string()))
        };
        engine.set_rego_v0(code.version == RegoVersion::V0);
        engine.set_strict_builtin_errors(false);
        engine.set_gather_prints(true);
        engine.set_policy_length_config(PolicyLengthConfig {
            max_col: MAX_COLUMN,
            max_file_bytes: NonZeroUsize::MAX,
            max_lines: NonZeroUsize::MAX,
        });
        let mut package = String::new();
        for (number, ((name, _), text)) in modules.iter().zip(&texts).enumerate() {
            let added = engine.add_policy(name.clone(), text.text().to_owned()).map_err(|error| refused(&error))?;
            if number == 0 {
                package = added;
            }
        }
        builtins::register(&mut engine).map_err(|error| refused(&error))?;
        engine.add_data(data(&Value::new_object())).map_err(|error| refused(&error))?;
        let rule = format!("{package}.violation");
        engine.compile_with_entrypoint(&Rc::from(rule.as_str())).map_err(|error| refused(&error))?;
        Ok(Program { engine, rule, uses_inventory })
    }

    /// Whether it looks at `data.inventory`.
    pub fn uses_inventory(&self) -> bool {
        self.uses_inventory
    }

    /// What a thread needs to evaluate it.
    pub fn evaluator(&self) -> ProgramEvaluator {
        ProgramEvaluator { engine: self.engine.clone(), rule: self.rule.clone(), inventory: None, prints: Vec::new() }
    }
}

fn names(code: &RegoCode) -> impl Iterator<Item = String> + use<> {
    let libraries = code.libs.len();
    std::iter::once("template".to_owned()).chain((0..libraries).map(|number| format!("libs[{number}]")))
}

/// The document `data`.
fn data(inventory: &Value) -> Value {
    Value::from(std::collections::BTreeMap::from([(Value::from("inventory"), inventory.clone())]))
}

/// A program in use by one thread.
#[derive(Debug)]
pub struct ProgramEvaluator {
    engine: Engine,
    rule: String,
    /// The number of the inventory that the engine has.
    inventory: Option<u64>,
    prints: Vec<String>,
}

impl ProgramEvaluator {
    /// Gives the evaluator an inventory, unless it has the one of that number.
    pub fn set_inventory(&mut self, number: u64, inventory: &Value) -> Result<(), EvaluationError> {
        if self.inventory == Some(number) {
            return Ok(());
        }
        self.engine.clear_data();
        self.engine.add_data(data(inventory)).map_err(|error| EvaluationError::Failed(error.to_string()))?;
        self.inventory = Some(number);
        Ok(())
    }

    /// Evaluates the template for a review and the parameters of a constraint.
    pub fn evaluate(
        &mut self,
        review: &Value,
        parameters: &Value,
        budget: &Budget,
    ) -> Result<Vec<Violation>, EvaluationError> {
        let input = std::collections::BTreeMap::from([
            (Value::from("review"), review.clone()),
            (Value::from("parameters"), parameters.clone()),
        ]);
        self.engine.set_input(Value::from(input));
        self.engine.set_execution_timer_config(budget::timer(budget.steps));
        builtins::reset();
        builtins::set_now(budget.now);
        let rule = self.rule.clone();
        let (result, interrupted) = budget::with_interrupt(budget.interrupt.clone(), || self.engine.eval_rule(rule));
        self.prints.extend(self.engine.take_prints().unwrap_or_default());
        let value = result.map_err(|error| {
            let text = error.to_string();
            if let Some(exceeded) = builtins::exceeded() {
                exceeded
            } else if interrupted {
                EvaluationError::Deadline
            } else if text.contains("execution exceeded time limit") {
                EvaluationError::Steps(budget.steps)
            } else {
                EvaluationError::Failed(error::failure(&text))
            }
        })?;
        violations(&value)
    }

    /// What the template printed since the last call.
    pub fn take_prints(&mut self) -> Vec<String> {
        std::mem::take(&mut self.prints)
    }
}

/// Elements without `msg` are passed over, and equal ones are one.
fn violations(value: &Value) -> Result<Vec<Violation>, EvaluationError> {
    let Value::Set(results) = value else { return Ok(Vec::new()) };
    let mut found: Vec<(Value, Value)> = Vec::new();
    for result in results.iter_sorted() {
        let Value::Object(fields) = result else { continue };
        let Some(message) = fields.get(&Value::from("msg")) else { continue };
        let details = fields.get(&Value::from("details")).cloned().unwrap_or_else(Value::new_object);
        found.push((details, message.clone()));
    }
    found.sort();
    found.dedup();
    found
        .into_iter()
        .map(|(details, message)| match message {
            Value::String(text) => {
                Ok(Violation { message: text.to_string(), details: values::to_json(&details).unwrap_or_default() })
            }
            Value::Null => Err(EvaluationError::Message("null")),
            Value::Bool(_) => Err(EvaluationError::Message("a bool")),
            Value::Number(_) => Err(EvaluationError::Message("a number")),
            Value::Array(_) => Err(EvaluationError::Message("an array")),
            Value::Set(_) => Err(EvaluationError::Message("a set")),
            _ => Err(EvaluationError::Message("an object")),
        })
        .collect()
}

#[cfg(test)]
mod tests;
