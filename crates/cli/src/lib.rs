//! `clearway`: is this update safe for this cluster, and why?
//!
//! `arguments` is the command line, one module per noun carries it out, and `exit` says what the exit codes mean.
//!
//! The binary is only [`run`]. So it can be linked in another way (`tools/image` links it with a static libc) without
//! compiling any of this again.

// Everything is printed by `output`, so that foreign text cannot drive a terminal.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod code_pages;
mod commands;
mod completion_request;
mod exit;
mod findings;
mod junit;
mod log;
mod name_hints;
mod output;
mod program_name;
mod runtime;
mod signals;
mod text_wrap;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use clap::FromArgMatches as _;
use exit::Exit;
use program_name::ProgramName;

/// Building a revision takes several times the memory of what is left of it, and the service runs for months: the
/// system's allocator would keep the difference, this one gives it back (how soon stands in `.cargo/config.toml`).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Carries out the command line of this process; the exit code is its answer.
pub fn run() -> ExitCode {
    let name = ProgramName::of(std::env::args_os().next().as_deref());
    if name == ProgramName::KubectlCompletion {
        return exit::code(commands::manual::kubectl_completions(name));
    }
    let arguments = match parse(name.command()) {
        Ok(arguments) => arguments,
        Err(answer) if !answer.use_stderr() => {
            // Help and version.
            let _ = answer.print();
            return Exit::Yes.into();
        }
        Err(error) => {
            print_usage_error(name, &error);
            return Exit::CouldNotRun.into();
        }
    };
    let mut terminal = arguments.terminal;
    // The demo prints what several commands print, and stops for its reader by itself.
    terminal.no_pager |= matches!(arguments.command, Command::Demo(_));
    output::start(terminal);
    // The others run services, which log in their own way.
    if !matches!(arguments.command, Command::Serve(_) | Command::Operator(_) | Command::Demo(_)) {
        log::start_for_command(terminal.quiet, terminal.verbose);
    }
    let outcome = match arguments.command {
        Command::Assess(options) => commands::assess::run(&options),
        Command::Bundle(command) => commands::bundle::run(&command),
        Command::Catalog(command) => commands::catalog::run(&command),
        Command::Demo(options) => commands::demo::run(&options),
        Command::Explain(options) => commands::explain::run(&options),
        Command::Fleet(command) => commands::fleet::run(&command),
        Command::Gateway(command) => commands::gateway::run(&command),
        Command::Graph(command) => commands::graph::run(&command),
        Command::Install(options) => commands::install::run(&options),
        Command::Operator(options) => commands::operator::run(&options),
        Command::Cel(command) => commands::cel::run(&command),
        Command::Policy(command) => commands::policy::run(&command),
        Command::Promql(command) => commands::promql::run(&command),
        Command::Release(command) => commands::release::run(&command),
        Command::Risk(command) => commands::risk::run(&command),
        Command::Serve(options) => commands::serve::run(&options),
        Command::Snapshot(command) => commands::snapshot::run(&command),
        Command::Status(command) => commands::status::run(&command),
        Command::Uninstall(options) => commands::install::uninstall(&options),
        Command::Upgrade(options) => commands::upgrade::run(&options),
        Command::Version(options) => commands::version::run(&options),
        Command::PolicyEvaluator => commands::policy::evaluate_for_operator(),
        Command::Completions { shell } => commands::manual::completions(shell, name),
        Command::Man { output_dir } => commands::manual::pages(output_dir.as_deref()),
    };
    exit::code(outcome)
}

/// Reads the command line of this process.
fn parse(mut command: clap::Command) -> Result<Arguments, clap::Error> {
    let parsed = command.try_get_matches_from_mut(std::env::args_os());
    let parsed = parsed.and_then(|matches| Arguments::from_arg_matches(&matches));
    parsed.map_err(|error| error.format(&mut command))
}

/// Says what is wrong with the command line. It is repeated there with its styles, and may have the names of files and
/// addresses that others chose: where something of it may not be shown as it is, all of it is shown without styles.
fn print_usage_error(name: ProgramName, error: &clap::Error) {
    // Words that are no UTF-8 can be names of files, too.
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let without_styles = name.command().styles(clap::builder::Styles::plain());
    let plain = match parse(without_styles) {
        Err(plain) => plain.render().ansi().to_string(),
        Ok(_) => error.render().to_string(),
    };
    let shown = arguments::shown(&plain, &words);
    if shown == plain {
        let _ = error.print();
    } else {
        output::print_problem!("{}", shown.trim_end());
    }
    if let Some(hint) = arguments::usage_hint(error, &words) {
        output::print_problem!("\ntip: {}", arguments::shown(&hint, &words));
    }
}
