//! `clearway demo`: what the product does, on samples that are part of the program.
//!
//! Nothing is recorded: the same code judges these samples as judges those of a cluster, as of fixed times, so that the
//! ages are the same on every day. A scenario is a file of its own: [`tour`] and [`story`]; [`product`] is what the
//! sample products have in common.

mod product;
mod service;
mod story;
mod tour;

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::ValueEnum as _;

use crate::arguments::{Demo, Scenario};
use crate::exit::Exit;
use crate::output;

/// Runs the demo.
pub(crate) fn run(options: &Demo) -> Result<Exit> {
    let mut out = anstream::stdout();
    if options.list {
        write!(out, "{}", list())?;
        return Ok(Exit::Yes);
    }
    match options.scenario {
        Scenario::Tour => tour::run(&mut out, options)?,
        Scenario::Story => story::run(&mut out, options)?,
    }
    Ok(Exit::Yes)
}

/// Every scenario with what its help says.
fn list() -> String {
    let rows = Scenario::value_variants().iter().filter_map(clap::ValueEnum::to_possible_value).map(|scenario| {
        let help = scenario.get_help().map(ToString::to_string).unwrap_or_default();
        vec![scenario.get_name().to_owned(), help]
    });
    output::table(&["SCENARIO", "WHAT IS SHOWN"], rows)
}

/// Writes files by their names below a directory.
fn write_files(directory: &Path, files: &[(&str, &str)]) -> Result<()> {
    for (name, text) in files {
        let path = directory.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        }
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+:@%~".contains(letter);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

fn heading(text: &str) -> String {
    let style = anstyle::Style::new().bold();
    format!("{style}── {text}{style:#}\n")
}
