//! The text of a query and its tree: words, literals, parsing, printing, walking.

pub mod ast;
pub(crate) mod duration;
pub(crate) mod lexer;
pub(crate) mod limits;
pub(crate) mod memory;
pub(crate) mod number;
pub(crate) mod parser;
pub(crate) mod print;
pub(crate) mod strings;
pub(crate) mod token;
pub(crate) mod walk;
