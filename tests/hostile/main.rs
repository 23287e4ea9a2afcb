//! Attacks by whoever controls something that Clearway reads, carried out on the program itself.
//!
//! Each file below `graph-data`, `answers`, `metrics`, `registries`, `snapshots`, `releases`, `state`, `catalogs` and `console` is one attack, and says what must become of
//! it; the modules of the same names carry the attacks out on every command and service that reads such a thing. What
//! holds for all of them: no process is ended or held up, none takes more memory than `docs/limits.md` says, an attack
//! makes the advice Unknown for what it touches and for nothing else, what was good before stays, the source is named,
//! and no value of the machine or the cluster is repeated.
//!
//! `cargo test --test hostile -- graph_data` runs those of one source.

mod answers;
mod archives;
mod attack;
mod catalogs;
mod console;
mod evidence;
mod graph_answers;
mod graph_data;
mod kept_answers;
mod memory;
mod metrics;
mod operator;
mod parts;
mod program;
mod redirects;
mod registries;
mod signals;
mod state;
mod stranger;
