//! `clearway status` on files.

mod bad_input;
mod explain;
mod history;
mod lint;
mod show;
mod suppressions;
