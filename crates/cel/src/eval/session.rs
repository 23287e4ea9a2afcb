//! Values for the variables of expressions.

use std::cell::RefCell;
use std::fmt;

use serde_json::Value as Json;

use crate::cost::limits::Budget;
use crate::decl::Decl;
use crate::environment::{Variable, VariableSource};
use crate::error::ErrorClass;
use crate::eval::Machine;
use crate::eval::evaluation::Evaluation;
use crate::program::{Code, Program, Searches};
use crate::syntax::span::Span;
use crate::value::pattern::Pattern;
use crate::value::{CelValue, Reader, Value};

/// The values of variables, by their names.
#[derive(Clone, Default)]
pub struct Bindings<'a> {
    values: Vec<(&'a str, Bound<'a>)>,
    unknown: Option<&'a (dyn Fn(&Json) -> bool + Sync)>,
}

#[derive(Clone)]
enum Bound<'a> {
    Json(&'a Json),
    Value(Value<'a>),
}

impl fmt::Debug for Bindings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.values.iter().map(|(name, _)| *name).collect();
        f.debug_struct("Bindings").field("names", &names).finish_non_exhaustive()
    }
}

impl<'a> Bindings<'a> {
    /// No values.
    pub fn new() -> Self {
        Bindings::default()
    }

    /// The same with data for a variable. It is borrowed, and read as the environment says.
    #[must_use]
    pub fn with(mut self, name: &'a str, data: &'a Json) -> Self {
        self.values.push((name, Bound::Json(data)));
        self
    }

    /// The same with a value for a variable.
    #[must_use]
    pub fn with_value(mut self, name: &'a str, value: CelValue<'a>) -> Self {
        self.values.push((name, Bound::Value(value.into_inner())));
        self
    }

    /// The same with values in the data that are not known, such as those that were removed before it was stored.
    ///
    /// An expression that needs one of them gives neither a value nor an error but
    /// [`Outcome::Unknown`](crate::Outcome::Unknown). Whether a field with such a value is present is known.
    #[must_use]
    pub fn with_unknown(mut self, unknown: &'a (dyn Fn(&Json) -> bool + Sync)) -> Self {
        self.unknown = Some(unknown);
        self
    }

    fn get(&self, name: &str) -> Option<&Bound<'a>> {
        self.values.iter().rev().find(|(known, _)| *known == name).map(|(_, bound)| bound)
    }
}

/// The evaluation of several expressions over the same values: the variables of a policy are evaluated once, when an
/// expression first needs them.
#[derive(Debug)]
pub struct Session<'a> {
    bindings: Bindings<'a>,
    variables: Vec<(&'a str, &'a Program)>,
    known: RefCell<Vec<Option<Value<'a>>>>,
    searches: Option<(&'a Program, &'a Searches)>,
}

impl<'a> Session<'a> {
    /// A session without variables of a policy.
    pub fn new(bindings: Bindings<'a>) -> Self {
        Session { bindings, variables: Vec::new(), known: RefCell::default(), searches: None }
    }

    /// The same with one more variable, which may use those before it.
    #[must_use]
    pub fn with_variable(mut self, name: &'a str, program: &'a Program) -> Self {
        self.variables.push((name, program));
        self.known.get_mut().push(None);
        self
    }

    /// The same with what the regular expressions of a program remember ([`Program::searches`]); without it the program
    /// remembers it itself.
    #[must_use]
    pub fn with_searches(mut self, program: &'a Program, searches: &'a Searches) -> Self {
        self.searches = Some((program, searches));
        self
    }

    /// The compiled regular expressions of the code of a program.
    pub(crate) fn patterns(&self, program: &'a Program, code: &'a Code) -> &'a [Pattern] {
        match self.searches {
            Some((of, searches)) if std::ptr::eq(of, program) && std::ptr::eq(code, &raw const program.code) => {
                &searches.0
            }
            _ => &code.patterns,
        }
    }

    /// Evaluates an expression.
    pub fn evaluate(&self, program: &'a Program, budget: &Budget) -> Evaluation<'a> {
        let finished = Machine::new(self, budget).run(program, &program.code);
        Evaluation::of(finished)
    }

    /// Evaluates without a distinction between values and why there are none.
    pub(crate) fn raw(&self, program: &'a Program, budget: &Budget) -> Value<'a> {
        let finished = Machine::new(self, budget).run(program, &program.code);
        finished.value.unwrap_or_else(|error| Value::Error(error.class, error.span))
    }

    pub(crate) fn reader(&self) -> Reader<'a> {
        Reader { unknown: self.bindings.unknown }
    }

    /// The value of a variable of the environment.
    pub(crate) fn resolve(&self, variable: &Variable, decl: Option<&'a Decl>) -> Value<'a> {
        let reader = self.reader();
        let missing = Value::Error(ErrorClass::NotBound, Span::default());
        let by_schema = |data: &'a Json| decl.map_or_else(|| reader.plain(data), |decl| reader.typed(data, decl));
        match (variable.source, self.bindings.get(&variable.name)) {
            (VariableSource::Policy, _) => Value::Variables,
            (VariableSource::OptionalSchema, None) => Value::Optional(None),
            (VariableSource::OptionalSchema, Some(Bound::Json(data))) => Value::some(by_schema(data)),
            (VariableSource::Schema, Some(Bound::Json(data))) => by_schema(data),
            (_, Some(Bound::Json(data))) => reader.plain(data),
            (_, Some(Bound::Value(value))) => value.clone(),
            (_, None) => missing,
        }
    }

    pub(crate) fn variable(&self, number: usize) -> Option<(&'a str, &'a Program)> {
        self.variables.get(number).copied()
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.variables.iter().rposition(|(known, _)| *known == name)
    }

    /// The number of a variable that was not evaluated yet.
    pub(crate) fn unknown_variable(&self, name: &str) -> Option<usize> {
        let number = self.position(name)?;
        let known = self.known.borrow();
        known.get(number).is_some_and(Option::is_none).then_some(number)
    }

    pub(crate) fn known_variable(&self, name: &str) -> Option<Value<'a>> {
        let number = self.position(name)?;
        self.known.borrow().get(number).cloned().flatten()
    }

    pub(crate) fn store(&self, number: usize, value: Value<'a>) {
        if let Some(known) = self.known.borrow_mut().get_mut(number) {
            *known = Some(value);
        }
    }
}
