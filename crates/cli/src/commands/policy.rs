//! `clearway policy`: test, check, explain and measure policies of Gatekeeper.

mod bench;
mod explain;
mod files;
mod lint;
mod test;
mod verify;
mod worker;

use anyhow::{Result, anyhow};

pub(in crate::commands) use explain::table as explanation_table;

use crate::arguments::{Policy, PolicyLimits};
use crate::exit::Exit;

/// Carries out a command, in a process of its own: templates are programs of strangers.
pub(crate) fn run(command: &Policy) -> Result<Exit> {
    let limits: &PolicyLimits = match command {
        Policy::Verify(options) => &options.limits,
        Policy::Test(options) => &options.limits,
        Policy::Lint(options) => &options.limits,
        Policy::Explain(options) => &options.limits,
        Policy::Bench(options) => &options.limits,
    };
    worker::run(limits, || match command {
        Policy::Verify(options) => Ok(verify::run(options)),
        Policy::Test(options) => Ok(test::run(options)),
        Policy::Lint(options) => lint::run(options),
        Policy::Explain(options) => explain::run(options),
        Policy::Bench(options) => bench::run(options),
    })
}

/// Evaluates for an operator, which sends policies and objects through pipes.
pub(crate) fn evaluate_for_operator() -> Result<Exit> {
    clearway_operator::policies::evaluation::run_child().map_err(|error| anyhow!(error))?;
    Ok(Exit::Yes)
}
