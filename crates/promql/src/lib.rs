//! PromQL: read with places, typed, printed, fenced, judged by its shape, and evaluated.
//!
//! Update graphs carry PromQL that somebody else wrote, and a cluster runs it. So a query is text from a stranger until
//! three questions are answered, and each has a module: is it PromQL ([`Query::parse`], with a place and a sentence
//! for everything that is wrong), is it harmless ([`fence`]), and can it answer at all, that is give exactly one series
//! with the value 0 or 1 ([`shape`]).
//!
//! What it answers is said without a Prometheus: [`read`] fills a [`Series`] store from what others write, [`eval`]
//! gives the value of a query over it, and [`script`] runs tests of queries in the language of Prometheus' own.
//!
//! The language is that of Prometheus 3 with its stable syntax; experimental syntax is refused by name unless it is
//! wanted, experimental functions are known as such. Nothing here has effects, and no text makes it panic or recurse without bound: nesting
//! is limited before anything recursive looks at a tree (see [`Limits`]).

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::arithmetic_side_effects
    )
)]

mod analysis;
mod error;
pub mod eval;
pub mod matching;
mod query;
pub mod read;
mod rewrite;
pub mod script;
pub mod series;
mod syntax;

pub use analysis::fence::{Fence, Refusal};
pub use analysis::types::ValueType;
pub use analysis::{fence, functions, shape, types};
pub use error::{Code, Error, Errors, pages as code_pages};
pub use query::Query;
pub use rewrite::group_by::{GroupedQuery, GroupingError};
pub use rewrite::placeholder::{CLUSTER_ID_LABEL, Substitution};
pub use series::{Labels, Series};
pub use syntax::ast;
pub use syntax::ast::{Expr, Selector, Span};
pub use syntax::duration::Millis;
pub use syntax::limits::Limits;
pub use syntax::walk::{children, visit};
