//! Options of `clearway install` that are passed to `clearway operator` and `clearway serve`.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, CommandFactory as _, FromArgMatches};

use clearway_operator::install::update_service;

use crate::arguments::{Arguments, Operator, OperatorPace, PolicyEnforcement, QueryLimits, Serve};

/// Options of a service that were given, by name; without a value for a flag. None has a default here: what is not given
/// stays as it is in the cluster.
#[derive(Debug)]
pub(crate) struct GivenOptions<T> {
    pub(crate) given: BTreeMap<String, Vec<String>>,
    options: PhantomData<fn() -> T>,
}

/// The options of the operator that advises.
pub(crate) type OperatorSettings = GivenOptions<AdviceOptions>;
/// The options of the operator that enforces policies.
pub(crate) type PolicySettings = GivenOptions<PolicyEnforcement>;

/// The options of the update service.
pub(crate) type ServeSettings = GivenOptions<Serve>;

/// Which of a service's options are passed on.
pub(crate) trait PassedOn: Args {
    /// Whether an option is passed on, by its name.
    fn is_passed_on(_name: &str) -> bool {
        true
    }
}

impl PassedOn for AdviceOptions {}
impl PassedOn for PolicyEnforcement {}
impl PassedOn for Serve {
    fn is_passed_on(name: &str) -> bool {
        update_service::OPTIONS.contains(&name)
    }
}

/// What is passed on to the operator that advises.
#[derive(Debug, Args)]
pub(crate) struct AdviceOptions {
    #[command(flatten)]
    rounds: OperatorPace,
    #[command(flatten)]
    queries: QueryLimits,
}

/// The options that are passed on.
fn passed_on<T: PassedOn>() -> Vec<Arg> {
    let command = T::augment_args(Command::new("service"));
    let is_passed_on = |arg: &&Arg| arg.get_long().is_some_and(T::is_passed_on);
    command.get_arguments().filter(is_passed_on).map(without_default).collect()
}

fn without_default(arg: &Arg) -> Arg {
    let usual: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    // Flags are false by default, which says nothing.
    let is_shown = arg.get_action().takes_values() && !usual.is_empty();
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let help = if is_shown { format!("{help} [default: {}]", usual.join(", ")) } else { help };
    arg.clone().default_value(None).help(help)
}

impl<T: PassedOn> Args for GivenOptions<T> {
    fn augment_args(command: Command) -> Command {
        command.args(passed_on::<T>())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: PassedOn> FromArgMatches for GivenOptions<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = BTreeMap::new();
        for arg in passed_on::<T>() {
            let (id, Some(name)) = (arg.get_id().as_str(), arg.get_long()) else { continue };
            if matches.value_source(id) != Some(ValueSource::CommandLine) {
                continue;
            }
            let values = matches.get_raw(id).filter(|_| arg.get_action().takes_values());
            let values = values.into_iter().flatten().map(|value| value.to_string_lossy().into_owned()).collect();
            given.insert(name.to_owned(), values);
        }
        Ok(GivenOptions { given, options: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Whether `clearway operator` has an option of this name.
pub(crate) fn is_operator_option(name: &str) -> bool {
    Operator::augment_args(Command::new("operator")).get_arguments().any(|arg| arg.get_long() == Some(name))
}

/// Reads a command line of `clearway operator` as the operator itself will.
pub(crate) fn read_operator(arguments: &[String]) -> Result<Operator, clap::Error> {
    read_command("operator", arguments)
}

/// Reads a command line of `clearway serve` as the service itself will.
pub(crate) fn read_serve(arguments: &[String]) -> Result<Serve, clap::Error> {
    read_command("serve", arguments)
}

fn read_command<T: FromArgMatches>(command: &str, arguments: &[String]) -> Result<T, clap::Error> {
    let words = ["clearway"].into_iter().chain(arguments.iter().map(String::as_str));
    let matches = Arguments::command().try_get_matches_from(words)?;
    match matches.subcommand() {
        Some((name, matches)) if name == command => T::from_arg_matches(matches),
        _ => Err(clap::Error::new(clap::error::ErrorKind::InvalidSubcommand)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(words: &[&str]) -> Vec<(String, Vec<String>)> {
        let command = OperatorSettings::augment_args(Command::new("install"));
        let matches = command.try_get_matches_from(["install"].iter().chain(words)).unwrap();
        OperatorSettings::from_arg_matches(&matches).unwrap().given.into_iter().collect()
    }

    #[test]
    fn what_is_given_is_passed_on_as_it_is_and_nothing_else() {
        assert_eq!(given(&[]), []);
        let pair = |name: &str, values: &[&str]| (name.to_owned(), values.iter().map(ToString::to_string).collect());
        assert_eq!(
            given(&["--pace", "single", "--allow-unnamed-metrics", "--deny-metrics=a", "--deny-metrics", "b"]),
            [pair("allow-unnamed-metrics", &[]), pair("deny-metrics", &["a", "b"]), pair("pace", &["single"])]
        );
    }

    #[test]
    fn every_setting_is_an_option_of_the_operator() {
        for arg in passed_on::<AdviceOptions>().into_iter().chain(passed_on::<PolicyEnforcement>()) {
            assert!(is_operator_option(arg.get_long().unwrap()), "{arg}");
        }
        assert!(!is_operator_option("adopt"));
    }

    #[test]
    fn the_options_of_the_update_service_exist() {
        let names: Vec<String> =
            passed_on::<Serve>().iter().filter_map(|arg| arg.get_long().map(str::to_owned)).collect();
        for name in update_service::OPTIONS {
            assert!(names.iter().any(|other| other == name), "{name}: {names:?}");
        }
    }
}
