//! `clearway`: is this update safe for this cluster, and why?
//!
//! [`arguments`] is the command line, one module per noun carries it out, and [`exit`] says what the exit codes mean.

mod arguments;
mod demo;
mod exit;
mod findings;
mod graph;
mod manual;
mod output;
mod promql;
mod status;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use clap::Parser as _;
use exit::Exit;

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
        Command::Demo(options) => demo::run(&options),
        Command::Graph(command) => graph::run(&command),
        Command::Promql(command) => promql::run(&command),
        Command::Status(command) => status::run(&command),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { dir } => manual::pages(dir.as_deref()),
    };
    exit::code(outcome)
}
