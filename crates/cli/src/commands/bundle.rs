//! `clearway bundle`: which CRD change may ship at which version.

mod build;
mod check;
mod convert;
mod diff;
mod explain;
mod guard;
mod installed;
mod ledger;
mod migrate;
mod preflight;
mod show;
mod source;

use anyhow::Result;

pub(crate) use check::table as findings_table;
pub(crate) use preflight::{check_snapshot_objects, table as preflight_table};

use crate::arguments::Bundle;
use crate::exit::Exit;

/// Runs a command.
pub(crate) fn run(command: &Bundle) -> Result<Exit> {
    match command {
        Bundle::Build(options) => build::run(options),
        Bundle::Check(options) => check::run(options),
        Bundle::Convert(options) => convert::run(options),
        Bundle::Diff(options) => diff::run(options),
        Bundle::Explain(options) => explain::run(options),
        Bundle::Guard(options) => guard::run(options),
        Bundle::Installed(options) => installed::run(options),
        Bundle::Ledger(options) => ledger::run(options),
        Bundle::Migrate(options) => migrate::run(options),
        Bundle::Preflight(options) => preflight::run(options),
        Bundle::Show(options) => show::run(options),
    }
}
