//! Advice for command lines that clap refuses and that people write often.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _};
use clearway_core::redacted;
use clearway_core::terminal_text::escape;

use super::Arguments;

/// A message about a command line as it is shown: without the credentials of addresses, and with escapes for what could drive a
/// terminal. A word of the command line is looked at by itself before the message is, because it ends where the word does.
pub(crate) fn shown(message: &str, words: &[String]) -> String {
    let mut message = message.to_owned();
    for word in words {
        let plain = redacted(word);
        if plain != *word {
            message = message.replace(word, &plain);
        }
    }
    escape(&redacted(&message)).into_owned()
}

/// What to write instead, if that is known. `words` is the command line without the name of the program.
pub(crate) fn usage_hint(error: &clap::Error, words: &[String]) -> Option<String> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument || argument.starts_with('-') {
        return None;
    }
    let root = Arguments::command();
    let command = named_command(&root, words);
    let takes_files = command.get_arguments().any(|arg| arg.get_short() == Some('f'));
    if takes_files {
        return Some(format!("to read a file or a directory, write -f {argument}"));
    }
    let takes_graph = command.get_arguments().any(|arg| arg.get_long() == Some("graph"));
    takes_graph.then(|| format!("to name the graph, write --graph {argument}"))
}

/// The innermost command that the words name.
fn named_command<'c>(root: &'c Command, words: &[String]) -> &'c Command {
    let mut command = root;
    for word in words.iter().filter(|word| !word.starts_with('-')) {
        match command.find_subcommand(word) {
            Some(inner) => command = inner,
            None => break,
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn hint(line: &str) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let error = Arguments::try_parse_from(std::iter::once("clearway".to_owned()).chain(words.clone())).unwrap_err();
        usage_hint(&error, &words)
    }

    #[test]
    fn a_file_without_its_option_is_recognized() {
        assert_eq!(
            hint("gateway status manifests").as_deref(),
            Some("to read a file or a directory, write -f manifests")
        );
        assert_eq!(hint("policy lint policies").as_deref(), Some("to read a file or a directory, write -f policies"));
        assert_eq!(hint("graph lint graph-data").as_deref(), Some("to name the graph, write --graph graph-data"));
        assert_eq!(hint("graph lint --no-such-option"), None);
        assert_eq!(hint("completions bash zsh"), None);
    }
}
