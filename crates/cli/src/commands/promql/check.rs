//! `clearway promql check`: syntax, types, limits and result shape of a query.

use std::path::Path;

use anyhow::{Context as _, Result};
use clearway_promql::{Limits, Query, shape};

use crate::arguments::PromqlCheck;
use crate::exit::Exit;
use crate::findings::Findings;

/// Runs the command.
pub(super) fn run(options: &PromqlCheck) -> Result<Exit> {
    let text = match options.query.as_str() {
        "-" => String::from_utf8(super::series::input(Path::new("-"))?).context("standard input is not UTF-8")?,
        text => text.to_owned(),
    };
    let mut findings = Findings::new(options.output.format, "query");
    findings.begin(&[])?;
    findings.checked = 1;
    match Query::parse(&text, &Limits::default()) {
        Ok(query) => {
            if let Err(refusal) = options.queries.fence()?.check(&query) {
                findings.add(&refusal.diagnostic(&text))?;
            }
            for finding in shape::findings(&query) {
                findings.add(&finding.diagnostic(&text))?;
            }
        }
        Err(errors) => {
            for error in &errors.0 {
                findings.add(&error.diagnostic(&text))?;
            }
        }
    }
    findings.end()
}
