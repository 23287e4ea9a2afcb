//! `clearway promql`: check, evaluate and test queries.

mod check;
mod query;
pub(crate) mod series;
mod test;

use anyhow::Result;

use crate::arguments::Promql;
use crate::exit::Exit;

/// Carries out a command.
pub(crate) fn run(command: &Promql) -> Result<Exit> {
    match command {
        Promql::Query(options) => query::run(options),
        Promql::Check(options) => check::run(options),
        Promql::Test(options) => test::run(options),
    }
}
