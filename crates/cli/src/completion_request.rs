//! Answers to kubectl, which asks `kubectl_complete-clearway` how a command line can go on.
//!
//! The words after the plugin's name are the arguments, the last of them the one to complete. An answer is a line per
//! candidate, with a description after a tab, and at the end a number for the shell: whether file names are of use as well.

use clap::builder::PossibleValue;
use clap::{Arg, Command};

/// Files may follow.
const FILES: &str = ":0";
/// Nothing but the candidates.
const ONLY_THESE: &str = ":4";

/// The answer for these words.
pub(crate) fn answer(command: &Command, words: &[String]) -> String {
    let (last, before) = words.split_last().map_or(("", words), |(last, before)| (last.as_str(), before));
    let (current, awaiting) = follow(command, before);
    let (candidates, directive) = match awaiting {
        Some(option) => values(option),
        None => match last.split_once('=').filter(|_| last.starts_with("--")) {
            Some((flag, _)) => option_of(current, flag).map_or((Vec::new(), FILES), |option| {
                let (values, directive) = values(option);
                (values.into_iter().map(|(value, help)| (format!("{flag}={value}"), help)).collect(), directive)
            }),
            None if last.starts_with('-') => (flags(current), ONLY_THESE),
            None => next_words(current),
        },
    };
    let mut lines = String::new();
    for (candidate, help) in candidates.iter().filter(|(candidate, _)| candidate.starts_with(last)) {
        lines.push_str(candidate);
        if !help.is_empty() {
            lines.extend(["\t", help.as_str()]);
        }
        lines.push('\n');
    }
    lines + directive + "\n"
}

/// The command that words lead to, and the option whose value is missing.
fn follow<'c>(command: &'c Command, words: &[String]) -> (&'c Command, Option<&'c Arg>) {
    let (mut current, mut awaiting) = (command, None);
    for word in words {
        if awaiting.take().is_some() {
            continue;
        }
        if word.starts_with('-') {
            let option = option_of(current, word).filter(|_| !word.contains('='));
            awaiting = option.filter(|option| option.get_action().takes_values());
        } else if let Some(below) = current.find_subcommand(word) {
            current = below;
        }
    }
    (current, awaiting)
}

/// The option of a word such as `--graph` or `-o`.
fn option_of<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    let is_meant = |arg: &&Arg| match word.strip_prefix("--") {
        Some(long) => arg.get_long_and_visible_aliases().is_some_and(|names| names.contains(&long)),
        None => {
            arg.get_short().is_some_and(|short| word.strip_prefix('-').is_some_and(|name| name == short.to_string()))
        }
    };
    command.get_arguments().find(is_meant)
}

type Candidates = Vec<(String, String)>;

fn values(option: &Arg) -> (Candidates, &'static str) {
    let possible = possible_values(option);
    let directive = if possible.is_empty() { FILES } else { ONLY_THESE };
    (possible, directive)
}

fn possible_values(arg: &Arg) -> Candidates {
    let help = |value: &PossibleValue| value.get_help().map(ToString::to_string).unwrap_or_default();
    let values = arg.get_possible_values();
    values.iter().filter(|value| !value.is_hide_set()).map(|value| (value.get_name().to_owned(), help(value))).collect()
}

fn flags(command: &Command) -> Candidates {
    let visible = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let mut flags: Candidates =
        visible.filter_map(|arg| Some((format!("--{}", arg.get_long()?), first_line(arg.get_help())))).collect();
    flags.sort();
    flags
}

/// Commands below, and values of what comes without a flag.
fn next_words(command: &Command) -> (Candidates, &'static str) {
    let below = command.get_subcommands().filter(|below| !below.is_hide_set());
    let mut words: Candidates =
        below.map(|below| (below.get_name().to_owned(), first_line(below.get_about()))).collect();
    words.extend(command.get_positionals().flat_map(possible_values));
    let takes_files = command.get_positionals().any(|arg| possible_values(arg).is_empty());
    (words, if takes_files { FILES } else { ONLY_THESE })
}

fn first_line(help: Option<&clap::builder::StyledStr>) -> String {
    help.map(ToString::to_string).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::arguments::Arguments;

    fn ask(line: &str) -> String {
        let mut command = Arguments::command();
        command.build();
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        answer(&command, &words)
    }

    #[test]
    fn commands_flags_and_values_are_offered() {
        assert!(ask("gra").starts_with("graph\t"), "{}", ask("gra"));
        assert!(ask("gra").ends_with("\n:4\n"), "{}", ask("gra"));
        assert!(ask("graph lin").starts_with("lint\t"), "{}", ask("graph lin"));
        assert!(ask("graph show --gr").starts_with("--graph\t"), "{}", ask("graph show --gr"));
        assert!(ask("upgrade -o j").starts_with("json"), "{}", ask("upgrade -o j"));
        assert!(ask("install --channel=exp").starts_with("--channel=experimental"), "{}", ask("install --channel=exp"));
        assert_eq!(ask("graph show --graph "), ":0\n", "a file");
        assert_eq!(ask("nonsense --what x"), ":4\n");
        assert!(!ask("policy").contains("policy-evaluator"), "what programs run is not offered");
    }
}
