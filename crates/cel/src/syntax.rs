//! The text of expressions: words, literals, places, the tree of what was written, and its canonical text.

pub(crate) mod ast;
mod lexer;
mod literal;
pub(crate) mod parser;
pub(crate) mod print;
pub(crate) mod span;
pub(crate) mod terms;
pub(crate) mod token;
