//! `clearway`: is this update safe for this cluster, and why?
//!
//! [`arguments`] is the command line, one module per noun carries it out, and [`exit`] says what the exit codes mean.

// Everything is printed by `output`, so that foreign text cannot drive a terminal.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod assess;
mod cel;
mod demo;
mod exit;
mod findings;
mod fleet;
mod graph;
mod install;
mod junit;
mod log;
mod manual;
mod operator;
mod output;
mod promql;
mod release;
mod risk;
mod serve;
mod signals;
mod snapshot;
mod status;
mod upgrade;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use clap::Parser as _;
use exit::Exit;

/// Building a revision takes several times the memory of what is left of it, and the service runs for months: the
/// system's allocator would keep the difference, this one gives it back (how soon stands in `.cargo/config.toml`).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(answer) => {
            // Help and version are answers; everything else is a wrong command line.
            let _ = answer.print();
            return if answer.use_stderr() { Exit::CouldNotRun.into() } else { Exit::Yes.into() };
        }
    };
    let outcome = match arguments.command {
        Command::Assess(options) => assess::run(&options),
        Command::Demo(options) => demo::run(&options),
        Command::Fleet(command) => fleet::run(&command),
        Command::Graph(command) => graph::run(&command),
        Command::Install(options) => install::run(&options),
        Command::Operator(options) => operator::run(&options),
        Command::Cel(command) => cel::run(&command),
        Command::Promql(command) => promql::run(&command),
        Command::Release(command) => release::run(&command),
        Command::Risk(command) => risk::run(&command),
        Command::Serve(options) => serve::run(&options),
        Command::Snapshot(command) => snapshot::run(&command),
        Command::Status(command) => status::run(&command),
        Command::Uninstall(options) => install::uninstall(&options),
        Command::Upgrade(options) => upgrade::run(&options),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { output_dir } => manual::pages(output_dir.as_deref()),
    };
    exit::code(outcome)
}
