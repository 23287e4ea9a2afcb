//! `clearway policy lint`: what is wrong or unwise in templates and constraints.

use anyhow::Result;
use clearway_policy::lint::{LintedObject, lint};

use super::{files, worker};
use crate::arguments::PolicyLint;
use crate::exit::Exit;
use crate::findings::Findings;

/// Runs the command.
pub(super) fn run(options: &PolicyLint) -> Result<Exit> {
    let objects = files::read_objects(&options.files)?;
    let linted: Vec<LintedObject<'_>> = objects.iter().map(|(file, object)| LintedObject { file, object }).collect();
    let mut findings = Findings::new(options.output.format, "object");
    findings.begin(&[])?;
    findings.checked = linted.len();
    for finding in worker::watched("the files", || lint(&linted)) {
        findings.add(&finding)?;
    }
    findings.end()
}
