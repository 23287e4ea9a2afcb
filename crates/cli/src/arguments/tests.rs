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

/// Flags whose values mean something of their own in this command, and why that is accepted.
const OTHER_VALUES: &[(&str, &str, &str)] =
    &[("bundle convert", "output", "prints objects, and only as tables what is lost")];

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

/// What a flag means: its value, and its help. Only two things may differ between commands: what follows a colon, which
/// is what the command does with it, and the default in brackets.
fn meaning(arg: &Arg) -> Meaning {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let help = help.split(" [default: ").next().unwrap_or_default();
    let name = help.split(": ").next().unwrap_or_default().trim().to_owned();
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
fn a_short_flag_and_a_long_flag_belong_together_in_every_command() {
    let mut longs: BTreeMap<char, BTreeSet<String>> = BTreeMap::new();
    let mut shorts: BTreeMap<String, BTreeSet<Option<char>>> = BTreeMap::new();
    for (_, command) in commands() {
        for arg in command.get_arguments() {
            let Some(long) = arg.get_long() else { continue };
            // The version of the program, which commands with a `--version` of their own do not have.
            if arg.get_id() == "version" {
                continue;
            }
            shorts.entry(long.to_owned()).or_default().insert(arg.get_short());
            if let Some(short) = arg.get_short() {
                longs.entry(short).or_default().insert(long.to_owned());
            }
        }
    }
    longs.retain(|_, longs| longs.len() > 1);
    // Objects have a namespace as with `kubectl`; that of the operator is written out, because it is seldom changed.
    shorts.retain(|long, shorts| shorts.len() > 1 && long != "namespace");
    assert!(longs.is_empty() && shorts.is_empty(), "{longs:?} {shorts:?}");
}

#[test]
fn a_value_of_a_flag_means_the_same_in_every_command() {
    let mut meanings: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (name, command) in commands() {
        for arg in command.get_arguments() {
            let Some(flag) = arg.get_long() else { continue };
            if OTHER_VALUES.iter().any(|(command, other, _)| *command == name && *other == flag) {
                continue;
            }
            for value in arg.get_possible_values() {
                let help = value.get_help().map(ToString::to_string).unwrap_or_default();
                let key = (flag.to_owned(), value.get_name().to_owned());
                meanings.entry(key).or_default().insert(help);
            }
        }
    }
    meanings.retain(|_, helps| helps.len() > 1);
    assert!(meanings.is_empty(), "{meanings:#?}");
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
