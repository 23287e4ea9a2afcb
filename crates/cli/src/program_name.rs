//! The name that the program was started by: `clearway`, or a name under which kubectl finds plugins.
//!
//! kubectl runs `kubectl-clearway` for `kubectl clearway …`, and `kubectl_complete-clearway` to complete it. Both are links to
//! the same program. Usage, examples and errors then name the command as it was typed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Command, CommandFactory as _};

use crate::arguments::Arguments;

/// What the program was started as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramName {
    /// Itself, under whatever name.
    Clearway,
    /// A plugin of kubectl.
    KubectlPlugin,
    /// What kubectl asks for completions of the plugin.
    KubectlCompletion,
}

impl ProgramName {
    /// The name in the first word of a command line.
    pub(crate) fn of(first: Option<&OsStr>) -> Self {
        let name = first.map(Path::new).and_then(Path::file_name).and_then(OsStr::to_str).unwrap_or_default();
        match name {
            "kubectl-clearway" => ProgramName::KubectlPlugin,
            "kubectl_complete-clearway" => ProgramName::KubectlCompletion,
            _ => ProgramName::Clearway,
        }
    }

    /// The name of the file that completions are for.
    pub(crate) fn file_name(self) -> &'static str {
        match self {
            ProgramName::Clearway => "clearway",
            ProgramName::KubectlPlugin | ProgramName::KubectlCompletion => "kubectl-clearway",
        }
    }

    /// The command line under this name.
    pub(crate) fn command(self) -> Command {
        let command = Arguments::command();
        if self == ProgramName::Clearway {
            return command;
        }
        let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
        with_plugin_examples(command, &names).bin_name("kubectl clearway")
    }
}

/// The program of this process, to start it once more. It is the same one also if its file was replaced meanwhile, which an
/// installation or a build does.
pub(crate) fn own_program() -> Result<PathBuf> {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() { Ok(own) } else { std::env::current_exe().context("cannot find the program itself") }
}

/// The same command whose examples begin with `kubectl clearway`.
fn with_plugin_examples(command: Command, names: &[String]) -> Command {
    let command = command.mut_subcommands(|sub| with_plugin_examples(sub, names));
    match command.get_after_help().map(ToString::to_string) {
        Some(text) => command.after_help(plugin_text(&text, names)),
        None => command,
    }
}

/// A text in which every `clearway` before the name of a command is one of the plugin.
fn plugin_text(text: &str, names: &[String]) -> String {
    let mut parts = text.split("clearway ");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_start = result.ends_with([' ', '(', '`', '\n']) || result.is_empty();
        let next = part.split(|letter: char| !letter.is_ascii_lowercase()).next().unwrap_or_default();
        if is_start && names.iter().any(|name| name == next) {
            result.push_str("kubectl ");
        }
        result.push_str("clearway ");
        result.push_str(part);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_known_by_the_name_of_its_file() {
        for (first, want) in [
            (Some("/usr/bin/clearway"), ProgramName::Clearway),
            (Some("/usr/local/bin/kubectl-clearway"), ProgramName::KubectlPlugin),
            (Some("kubectl_complete-clearway"), ProgramName::KubectlCompletion),
            (Some("clearway-0.1.0"), ProgramName::Clearway),
            (None, ProgramName::Clearway),
        ] {
            assert_eq!(ProgramName::of(first.map(OsStr::new)), want, "{first:?}");
        }
    }

    #[test]
    fn examples_name_the_command_as_it_is_typed() {
        let names = ["graph", "completions"].map(str::to_owned);
        let text = "Examples:\n  clearway graph show\n  source <(clearway completions bash)\nRun `clearway graph`; /var/lib/clearway is no command";
        assert_eq!(
            plugin_text(text, &names),
            "Examples:\n  kubectl clearway graph show\n  source <(kubectl clearway completions bash)\nRun `kubectl clearway graph`; /var/lib/clearway is no command"
        );
    }
}
