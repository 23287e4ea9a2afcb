//! Expressions that are ready to be evaluated.

mod code;
mod emit;
mod fold;

use std::sync::OnceLock;

use crate::check::{CheckedExpression, check_mode};
use crate::cost::estimate::{CostRange, estimate};
use crate::cost::limits::{Budget, Limits, RegexWork};
use crate::environment::Environment;
use crate::error::CelError;
use crate::eval::evaluation::Evaluation;
use crate::eval::session::{Bindings, Session};
use crate::syntax::parser::parse;
use crate::tree::TreeKind;
use crate::types::{Type, TypeTable};
use crate::value::pattern::{ConstantPatterns, Pattern};

pub(crate) use code::{CallCost, CallInfo, Code, FieldMode, Instr, list_memory};

/// What the own part of an environment takes; libraries and types are shared.
const ENVIRONMENT: usize = 1 << 10;

/// What constants take for each letter of the expression: `[],` is a list with its own memory.
const CONSTANT: usize = 32;

/// See [`Program::searches`].
#[derive(Debug)]
pub struct Searches(pub(crate) Vec<Pattern>);

/// A compiled expression.
#[derive(Debug)]
pub struct Program {
    pub(crate) checked: CheckedExpression,
    pub(crate) environment: Environment,
    pub(crate) code: Code,
    /// The same with notes of each part, once somebody asked for it.
    explaining: OnceLock<Code>,
    pub(crate) limits: Limits,
    estimate: CostRange,
}

impl Program {
    /// Reads, checks and compiles an expression.
    pub fn compile(text: &str, environment: &Environment, limits: &Limits) -> Result<Program, CelError> {
        Program::compile_mode(text, environment, limits, true, &mut RegexWork::new(limits.regex_work))
    }

    /// The same for one of several expressions, which share what compiling their regular expressions may take: it takes the
    /// place of [`Limits::regex_work`]. Also of an expression that is refused it tells what was used.
    pub fn compile_within(
        text: &str,
        environment: &Environment,
        limits: &Limits,
        work: &mut RegexWork,
    ) -> Result<Program, CelError> {
        Program::compile_mode(text, environment, limits, true, work)
    }

    /// The same without a check of types: what does not fit fails on evaluation.
    pub(crate) fn compile_mode(
        text: &str,
        environment: &Environment,
        limits: &Limits,
        checked: bool,
        work: &mut RegexWork,
    ) -> Result<Program, CelError> {
        let ast = parse(text, limits)?;
        let mut patterns = ConstantPatterns::new(work);
        let checked = check_mode(ast, environment, limits, checked, &mut patterns)?;
        let code = emit::emit(&checked, environment, limits, &mut patterns, false)?;
        let estimate = estimate(&checked, environment);
        Ok(Program {
            checked,
            environment: environment.clone(),
            code,
            explaining: OnceLock::new(),
            limits: limits.clone(),
            estimate,
        })
    }

    /// Evaluates over some values. Text, lists and maps of the result may be those of the values.
    pub fn evaluate<'a>(&'a self, bindings: Bindings<'a>, budget: &Budget) -> Evaluation<'a> {
        Session::new(bindings).evaluate(self, budget)
    }

    /// What evaluations of this program remember of the texts that its regular expressions searched, to be shared by some of
    /// them ([`Session::with_searches`]) and dropped with the last one: memory of a program that is kept does not grow.
    pub fn searches(&self) -> Searches {
        Searches(self.code.patterns.clone())
    }

    /// Bytes of memory that the program takes, at most, with what [`Program::searches`] of one caller remember.
    pub fn memory(&self) -> usize {
        let explaining = self.explaining.get().map_or(0, Code::memory);
        let constants = self.source().len().saturating_mul(CONSTANT);
        [self.checked.memory(), self.code.memory(), constants, explaining, ENVIRONMENT]
            .into_iter()
            .fold(0, usize::saturating_add)
    }

    /// The text of the expression.
    pub fn source(&self) -> &str {
        self.checked.source()
    }

    /// The type of the result, as it is written in messages.
    pub fn result_type(&self) -> String {
        self.checked.result_type()
    }

    /// The least and the most that an evaluation may cost, as the API server estimates it.
    pub fn estimate(&self) -> CostRange {
        self.estimate
    }

    /// Whether the expression uses a variable.
    pub fn uses(&self, variable: &str) -> bool {
        self.checked.tree.nodes.iter().any(|node| match node.kind {
            TreeKind::Global(number) => {
                self.environment.variables.get(number as usize).is_some_and(|known| *known.name == *variable)
            }
            _ => false,
        })
    }

    /// The type of the result in another table of the same environment.
    pub(crate) fn result_type_in(&self, types: &mut TypeTable) -> Type {
        self.checked.table.copy(self.checked.type_of(self.checked.tree.root()), types)
    }

    pub(crate) fn explaining_code(&self) -> Result<&Code, CelError> {
        if let Some(code) = self.explaining.get() {
            return Ok(code);
        }
        // What fits once fits again.
        let mut work = RegexWork::new(usize::MAX);
        let mut patterns = ConstantPatterns::new(&mut work);
        let code = emit::emit(&self.checked, &self.environment, &self.limits, &mut patterns, true)?;
        Ok(self.explaining.get_or_init(|| code))
    }
}
