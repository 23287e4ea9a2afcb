//! `clearway catalog`: products that clusters run, with their known risks.

mod list;
mod publish;
mod show;
pub(crate) mod source;

use anyhow::Result;

use crate::arguments::Catalog;
use crate::exit::Exit;

/// Carries out a command.
pub(crate) fn run(command: &Catalog) -> Result<Exit> {
    match command {
        Catalog::List(options) => list::run(options),
        Catalog::Show(options) => show::run(options),
        Catalog::Publish(options) => publish::run(options),
    }
}
