//! `clearway policy`: test, check, explain and measure policies of Gatekeeper, and audit clusters by them.

mod audit;
mod bench;
mod explain;
mod files;
mod lint;
mod policies;
mod preview;
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
        Policy::Audit(options) => &options.limits,
        Policy::Preview(options) => &options.limits,
        Policy::Evaluate(options) => &options.limits,
    };
    // What gator has, fails as in gator; what an audit cannot evaluate is not known.
    let ended = if matches!(command, Policy::Audit(_) | Policy::Preview(_) | Policy::Evaluate(_)) {
        Exit::Unknown
    } else {
        Exit::No
    };
    let threads = if matches!(command, Policy::Audit(_)) { audit::threads() } else { 1 };
    worker::run(limits, threads, ended, || match command {
        Policy::Verify(options) => Ok(verify::run(options)),
        Policy::Test(options) => Ok(test::run(options)),
        Policy::Lint(options) => lint::run(options),
        Policy::Explain(options) => explain::run(options),
        Policy::Bench(options) => bench::run(options),
        Policy::Audit(options) => audit::run(options),
        Policy::Preview(options) => preview::run(options),
        Policy::Evaluate(options) => preview::evaluate_request(options),
    })
}

/// Evaluates for an operator, which sends policies and objects through pipes.
pub(crate) fn evaluate_for_operator() -> Result<Exit> {
    clearway_operator::policies::evaluation::run_child().map_err(|error| anyhow!(error))?;
    Ok(Exit::Yes)
}
