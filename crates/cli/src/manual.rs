//! Shell completions and manual pages, made from the command line's own definition.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::exit::Exit;

/// Prints the completions for a shell.
pub(crate) fn completions(shell: Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "clearway", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(Exit::Yes)
}

/// Writes one page per command into a directory, or prints the page of `clearway` itself.
pub(crate) fn pages(directory: Option<&Path>) -> Result<Exit> {
    match directory {
        Some(directory) => {
            std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
            clap_mangen::generate_to(Arguments::command(), directory)
                .with_context(|| format!("cannot write into {}", directory.display()))?;
        }
        // The page names only pages that exist: there is none of `help`.
        None => {
            let command = Arguments::command().disable_help_subcommand(true);
            clap_mangen::Man::new(command).render(&mut std::io::stdout())?;
        }
    }
    Ok(Exit::Yes)
}
