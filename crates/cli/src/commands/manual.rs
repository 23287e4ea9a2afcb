//! Shell completions and manual pages, generated from the command line.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::arguments::Arguments;
use crate::completion_request;
use crate::exit::Exit;
use crate::program_name::ProgramName;

/// Prints the completions for a shell.
pub(crate) fn completions(shell: Shell, name: ProgramName) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), name.file_name(), &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(Exit::Yes)
}

/// Answers kubectl, which asks how the words after `kubectl clearway` can go on.
pub(crate) fn kubectl_completions(name: ProgramName) -> Result<Exit> {
    let mut command = name.command();
    command.build();
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    std::io::stdout().write_all(completion_request::answer(&command, &words).as_bytes())?;
    Ok(Exit::Yes)
}

/// Writes one page per command into a directory, or prints the page of `clearway` itself.
pub(crate) fn pages(directory: Option<&Path>) -> Result<Exit> {
    // Pages name only pages that exist: there is none of `help`.
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    match directory {
        Some(directory) => {
            std::fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
            write_pages(&command, directory).with_context(|| format!("cannot write to {}", directory.display()))?;
        }
        None => std::io::stdout().write_all(&page(&command)?.1)?,
    }
    Ok(Exit::Yes)
}

fn write_pages(command: &clap::Command, directory: &Path) -> io::Result<()> {
    // What programs run is not for people to read about.
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_pages(below, directory)?;
    }
    let (name, text) = page(command)?;
    std::fs::write(directory.join(name), text)
}

/// The page of a command and the name of its file.
fn page(command: &clap::Command) -> io::Result<(String, Vec<u8>)> {
    let man = Man::new(command.clone()).source(concat!("clearway ", env!("CARGO_PKG_VERSION"))).manual("Clearway");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    if let Some(after) = command.get_after_help() {
        // Lines stay lines: a command that is filled and justified cannot be copied.
        let after = after.to_string();
        let heading = if after.starts_with("Example") { "EXAMPLES" } else { "EXIT CODES" };
        let mut roff = Roff::new();
        roff.control("SH", [heading]).control("nf", []);
        after.lines().for_each(|line| _ = roff.text([roman(line)]));
        roff.control("fi", []).to_writer(&mut text)?;
    }
    Ok((man.get_filename(), text))
}
