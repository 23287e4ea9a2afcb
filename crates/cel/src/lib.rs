//! CEL.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

mod ast;
mod error;
mod lexer;
mod limits;
mod literal;
mod parser;
mod print;
mod span;
mod token;

pub use ast::Ast;
pub use error::{CelError, ErrorClass};
pub use limits::{Budget, Limits};
pub use parser::parse;
pub use print::print;
pub use span::Span;
