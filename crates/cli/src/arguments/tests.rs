//! Checks over the whole command line: it is consistent, and one flag has one meaning.

use std::collections::{BTreeMap, BTreeSet};

use clap::{Arg, Command, CommandFactory as _, Parser as _};

use super::Arguments;

/// Flags that mean something else in this command than in the others, and why that is accepted.
const OTHER_MEANINGS: &[(&str, &str, &str)] = &[
    (
        "install",
        "channel",
        "the channel of the CRDs: the term of the Gateway API, and a setting of installed operators",
    ),
    ("bundle build", "channel", "the channel of the CRDs, as for `install`"),
    ("serve", "max-age", "the `max-age` of HTTP's Cache-Control"),
    ("install update-service", "max-age", "as for `serve`"),
    ("graph lint", "explain", "explains a code, as `rustc --explain` does"),
    ("release verify", "digest", "the expected digest; `release show --digest` prints it"),
    ("release pack", "component", "a component of a release, which is the term of its manifests"),
    ("gateway status", "tree", "a tree of conditions and causes, where `status show` has one of objects"),
    ("status lint", "watch", "takes the time to watch, because linting does not end by itself"),
];

/// Every command that has arguments of its own, by its name.
fn commands() -> Vec<(String, Command)> {
    fn collect(name: &str, command: &Command, all: &mut Vec<(String, Command)>) {
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            collect(format!("{name} {}", sub.get_name()).trim(), sub, all);
        }
        all.push((name.to_owned(), command.clone()));
    }
    let mut root = Arguments::command();
    root.build();
    let mut all = Vec::new();
    collect("", &root, &mut all);
    all
}

/// The value names of a flag, and the part of its help that names the thing.
type Meaning = (Vec<String>, String);

/// What a flag means: its value, and the part of its help that names the thing. What follows a colon, semicolon or bracket
/// is detail, such as the default of one command.
fn meaning(arg: &Arg) -> Meaning {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let name = help.split([':', ';', '[', '(']).next().unwrap_or_default().trim().to_owned();
    let values = arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string);
    let takes_value = arg.get_action().takes_values();
    (values.filter(|_| takes_value).collect(), name)
}

#[test]
fn the_definition_is_sound() {
    Arguments::command().debug_assert();
}

#[test]
fn one_flag_has_one_meaning() {
    let mut meanings: BTreeMap<String, BTreeMap<Meaning, Vec<String>>> = BTreeMap::new();
    let mut used = BTreeSet::new();
    for (name, command) in commands() {
        for arg in command.get_arguments() {
            let Some(flag) = arg.get_long().filter(|flag| *flag != "help") else { continue };
            // The version of the program, which commands with a `--version` of their own do not have.
            if arg.get_id() == "version" && arg.get_short() == Some('V') {
                continue;
            }
            if let Some(listed) = OTHER_MEANINGS.iter().find(|(command, other, _)| *command == name && *other == flag) {
                used.insert(listed);
                continue;
            }
            meanings.entry(flag.to_owned()).or_default().entry(meaning(arg)).or_default().push(name.clone());
        }
    }
    let several: BTreeMap<_, _> = meanings.iter().filter(|(_, meanings)| meanings.len() > 1).collect();
    assert!(several.is_empty(), "flags with several meanings: {several:#?}");
    assert_eq!(used.len(), OTHER_MEANINGS.len(), "a listed flag does not exist any more; used are {used:#?}");
}

#[test]
fn the_same_short_flag_is_the_same_long_flag() {
    let mut longs: BTreeMap<char, BTreeSet<String>> = BTreeMap::new();
    for (_, command) in commands() {
        for arg in command.get_arguments() {
            if let (Some(short), Some(long)) = (arg.get_short(), arg.get_long()) {
                longs.entry(short).or_default().insert(long.to_owned());
            }
        }
    }
    longs.retain(|_, longs| longs.len() > 1);
    assert!(longs.is_empty(), "{longs:?}");
}

#[test]
fn every_flag_and_command_has_a_help_text() {
    for (name, command) in commands() {
        assert!(command.get_about().is_some(), "clearway {name}");
        for arg in command.get_arguments() {
            assert!(arg.get_help().is_some_and(|help| !help.to_string().is_empty()), "clearway {name}: {arg}");
        }
    }
}

#[test]
fn former_names_of_flags_are_accepted_and_not_shown() {
    for line in [
        "serve --graph-data data",
        "graph convert --to risks",
        "graph render stable --format dot",
        "demo --keep samples",
    ] {
        let words = ["clearway"].into_iter().chain(line.split(' '));
        assert!(Arguments::try_parse_from(words).is_ok(), "{line}");
    }
    for (name, mut command) in commands() {
        let help = command.render_long_help().to_string();
        assert!(!help.contains("--graph-data"), "clearway {name}");
    }
}
