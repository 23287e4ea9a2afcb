//! `clearway bundle ledger`: every field name that was ever released.

use anyhow::Result;
use clearway_bundle::{Finding, NameLedger};

use super::{check, source};
use crate::arguments::BundleLedger;
use crate::exit::Exit;
use crate::output;

pub(super) fn run(options: &BundleLedger) -> Result<Exit> {
    let names: Vec<&str> = options.bundles.iter().map(String::as_str).collect();
    let bundles = source::read(&names, &options.reading)?;
    for bundle in &bundles {
        anyhow::ensure!(
            !source::is_incomplete(bundle),
            "{} could not be read completely; a ledger of it would miss names",
            bundle.name
        );
    }
    let mut ledger = match &options.ledger.file {
        Some(path) => check::read_ledger(path)?,
        None => NameLedger::default(),
    };
    let mut reused: Vec<Finding> = Vec::new();
    for bundle in &bundles {
        reused.extend(ledger.reused_names(bundle));
        ledger.record(bundle);
    }
    for finding in &reused {
        output::print_diagnostic(&finding.to_diagnostic());
    }
    output::print_document(&ledger.to_string())?;
    Ok(if reused.is_empty() { Exit::Yes } else { Exit::No })
}
