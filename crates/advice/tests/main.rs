//! Recommendations and their proofs, from graphs and evidence small enough to read.
//!
//! One program: each file of its own would be compiled, linted and linked with all dependencies once more.

mod budget;
mod bundles;
mod fixtures;
mod fleet;
mod objects;
mod order;
mod outcomes;
mod policies;
mod proofs;
mod rounds;
mod sample;
mod story;
mod table;
