//! `clearway bundle diff`: every change between two bundles, allowed or not.

use anyhow::Result;
use clearway_bundle::{Comparison, Finding};

use super::{check, source};
use crate::arguments::BundleDiff;
use crate::exit::Exit;
use crate::output;

pub(super) fn run(options: &BundleDiff) -> Result<Exit> {
    let bundles = source::read(&[&options.pair.old, &options.pair.new], &options.pair.reading)?;
    let (old, new) = check::two(&bundles)?;
    let judgement = Comparison::new(old, new).judge();
    output::print_data(options.output.format, &judgement.findings, || {
        let findings: Vec<&Finding> = judgement.findings.iter().collect();
        check::table(&findings)
    })?;
    let changes = judgement.findings.len() + judgement.left_out;
    output::print_note!("{changes} changes from {} to {}", old.version_text(), new.version_text());
    Ok(match (changes, judgement.incomplete) {
        (_, true) => Exit::CouldNotRun,
        (0, _) => Exit::Yes,
        _ => Exit::No,
    })
}
