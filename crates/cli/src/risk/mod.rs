//! `clearway risk`: what the authors of risks need before they publish one.

mod cases;
mod test;

use anyhow::Result;

use crate::arguments::Risk;
use crate::exit::Exit;

/// Carries out a command.
pub(crate) fn run(command: &Risk) -> Result<Exit> {
    match command {
        Risk::Test(options) => test::run(options),
    }
}
