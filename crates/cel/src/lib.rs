//! CEL: read with places, typed, estimated and evaluated, with the types, libraries and costs of Kubernetes.
//!
//! Rules in CEL come from strangers: resource rules of update graphs, validation rules of CRDs, and Gatekeeper's
//! policies. They must mean exactly what they mean in Kubernetes, and no rule may use more time or memory than its
//! budget.
//!
//! An [`Environment`] says what an expression may use. [`Program::compile`] reads an expression, checks its types and
//! estimates its cost: what does not fit is refused with its place before any object is looked at. Evaluating a
//! [`Program`] gives an [`Outcome`]: a value, an error that names its class and place and never data, or the answer that
//! it depends on what is not known. [`Program::explain`] also gives the value of every part.
//!
//! The engine is written whole. The crate `cel` 0.15 has neither a type checker nor costs, and its parser and its
//! evaluator recurse as deep as the text does, so that a few kilobytes of `1+1+…` end the process; below a checker,
//! a cost-counting evaluator and limits there would be nothing of it left. Here every pass is a loop over a vector:
//! the parser, the expansion of macros, the checker, the estimate and the machine that evaluates. What cel-go does is
//! followed step by step, because costs are counted by its steps.
//!
//! Nothing here has effects, and no text and no object makes it panic or recurse without bound (see [`Limits`] and
//! [`Budget`]).

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

mod check;
pub mod conformance;
mod cost;
mod decl;
mod environment;
mod error;
mod eval;
mod functions;
mod program;
mod syntax;
mod tree;
mod types;
mod value;

pub use check::{CheckedExpression, check};
pub use cost::estimate::CostRange;
pub use cost::limits::{Budget, Limits, RegexWork};
pub use environment::{DeclaredType, Environment, FunctionHelp, KubernetesVersion, ResultType};
pub use error::{CelError, ErrorClass, pages as code_pages};
pub use eval::evaluation::{Evaluation, Outcome};
pub use eval::explain::{ExplainedPart, Explanation};
pub use eval::session::{Bindings, Session};
pub use program::{Program, Searches};
pub use syntax::ast::Ast;
pub use syntax::parser::parse;
pub use syntax::print::print;
pub use syntax::span::Span;
pub use syntax::terms::MentionedNames;
pub use value::CelValue;
