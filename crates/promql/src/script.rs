//! Test scripts for queries, in the language in which Prometheus tests its own engine.
//!
//! ```text
//! load 5m
//!   up{job="api"} 1 1 0 _ stale 1+1x3
//!
//! eval instant at 10m group(up == 0)
//!   {} 1
//!
//! eval range from 0 to 10m step 5m sum(up)
//!   expect no_warn
//!   {} 1 1 0
//! ```
//!
//! `load` adds series: one value a step from the epoch on, `_` for no value, `stale` for the end of a series,
//! `1+2x3` for a value and three more that grow by two, `_x3` for three times nothing. `clear` forgets them. `eval`
//! states what a query gives; `expect` lines state that it fails, warns, remarks or keeps an order. A blank line ends
//! a block, `#` starts a comment.
//!
//! Native histograms (`{{…}}`) are read and kept as samples that no query can look at: an `eval` that does is not
//! supported, and is named with the series. Start at [`run()`].

mod notation;
mod parse;
mod run;

pub use parse::{SCRIPT_BYTES, ScriptError};
pub use run::{Outcome, Report, Verdict, run};

#[cfg(test)]
mod tests;
