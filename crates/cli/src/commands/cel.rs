//! `clearway cel`: check, evaluate, test and explain expressions.

mod check;
mod eval;
mod explain;
mod scope;
mod test;

use anyhow::Result;

use crate::arguments::Cel;
use crate::exit::Exit;

/// Carries out a command.
pub(crate) fn run(command: &Cel) -> Result<Exit> {
    match command {
        Cel::Check(options) => check::run(options),
        Cel::Eval(options) => eval::run(options),
        Cel::Test(options) => test::run(options),
        Cel::Explain(options) => explain::run(options),
    }
}
