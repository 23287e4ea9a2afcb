//! `clearway policy lint`: what is wrong or unwise in templates and constraints.

use anyhow::{Result, bail};
use clearway_core::Severity;
use clearway_policy::lint::{LintedObject, lint, rules};
use clearway_sources::clock;

use super::{files, worker};
use crate::arguments::PolicyLint;
use crate::exit::Exit;
use crate::findings::{Findings, LintInput};

/// Runs the command.
pub(super) fn run(options: &PolicyLint) -> Result<Exit> {
    let objects = files::read_objects(&options.files)?;
    if objects.is_empty() {
        bail!("no objects found: name files or directories (.yaml, .yml, .json) with templates and constraints");
    }
    let linted: Vec<LintedObject<'_>> = objects.iter().map(|(file, object)| LintedObject { file, object }).collect();
    let input = LintInput {
        rules: rules(),
        directories: options.files.iter().filter(|path| path.is_dir()).cloned().collect(),
        now: clock::now(),
        is_partial: false,
    };
    let mut findings = Findings::of_linter(options.output.format, "object", &options.lint, input)?;
    findings.checked = linted.len();
    for finding in worker::watched("the files", || lint(&linted)) {
        // An error is a policy that is not loaded; the suppressions may be of whoever wrote it.
        if finding.severity == Severity::Error {
            findings.add_refusal(&finding)?;
        } else {
            findings.add(&finding)?;
        }
    }
    findings.end()
}
