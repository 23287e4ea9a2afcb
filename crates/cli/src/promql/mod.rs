//! `clearway promql`: queries evaluated, checked and tested without a Prometheus.

mod check;
mod query;
mod test;

use std::fs;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result};

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

/// The bytes of a file, or of standard input.
fn input(file: &Path) -> Result<Vec<u8>> {
    if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("standard input cannot be read")?;
        return Ok(bytes);
    }
    fs::read(file).with_context(|| format!("{} cannot be read", file.display()))
}
