//! `clearway graph stranded`: versions without an unconditional update (U17).

use anyhow::{Result, bail};
use clearway_core::Arch;
use clearway_graph::{Graph, Inputs, MissingPath, Stranded, SupportedVersions, stranded};
use serde_json::{Value, json};

use super::source::{self, GraphInput};
use crate::arguments::GraphStranded;
use crate::exit::Exit;
use crate::output;

/// Runs the command. Exit code 0: no version is stranded; 1: some are.
pub(super) fn run(options: &GraphStranded) -> Result<Exit> {
    let supported = SupportedVersions { oldest: options.oldest.clone(), newest: options.newest.clone() };
    let found: Vec<(String, Stranded)> = graphs(options)?
        .into_iter()
        .flat_map(|(name, graph)| stranded(&graph, &supported).into_iter().map(move |version| (name.clone(), version)))
        .filter(|(_, version)| options.newest_patches || !version.newest_patch)
        .collect();
    let data: Vec<Value> =
        found.iter().map(|(channel, version)| json!({"channel": channel, "stranded": version})).collect();
    output::print_data(options.output.format, &data, || {
        output::table(&["CHANNEL", "VERSION", "CANNOT REACH", "PATHS WITH RISKS"], found.iter().map(row)).named_by(1)
    })?;
    output::print_note!("{} stranded", found.len());
    Ok(if found.is_empty() { Exit::Yes } else { Exit::No })
}

/// The graphs that are asked about, by channel.
fn graphs(options: &GraphStranded) -> Result<Vec<(String, Graph)>> {
    let arch = options.arch.arch.as_ref();
    let given = match source::service(&options.source)? {
        Some(service) => {
            let arch = source::arch_of(&service, arch)?;
            let named = options.channels().iter().map(String::as_str);
            let mut channels: Vec<&str> = named.collect();
            if channels.is_empty() {
                channels.extend(service.channel());
            }
            if !channels.is_empty() {
                let answer = |channel: &str| {
                    Ok((channel.to_owned(), source::answer(&service, channel, &arch)?.with_printed_diagnostics().graph))
                };
                return channels.into_iter().map(answer).collect();
            }
            return of_files(&source::data_of(&service)?, options.channels(), &arch);
        }
        None => source::read_input(&options.source)?,
    };
    match given {
        GraphInput::Files(inputs) => of_files(&inputs, options.channels(), &arch.cloned().unwrap_or_default()),
        GraphInput::Answer(answer) => {
            if let [_, _, ..] = options.channels() {
                bail!("{} is a single answer, for one channel", answer.name);
            }
            let view = source::of_answer(answer, options.channels().first().map(String::as_str), arch)?;
            Ok(vec![(view.name, view.graph)])
        }
    }
}

fn of_files(inputs: &Inputs, channels: &[String], arch: &Arch) -> Result<Vec<(String, Graph)>> {
    let revision = super::revision(inputs)?;
    for channel in channels {
        super::check_channel(&revision, channel, arch)?;
    }
    let names = revision.channels().map(|channel| &channel.name);
    let wanted = names.filter(|name| channels.is_empty() || channels.contains(name));
    Ok(wanted.map(|name| (name.clone(), revision.graph(name, arch))).collect())
}

fn row((channel, version): &(String, Stranded)) -> Vec<String> {
    let missing = match version.missing {
        MissingPath::ToNewestPatch => "the newest patch",
        MissingPath::OutOfMinor => "a later minor version",
        MissingPath::Both => "the newest patch or a later minor version",
    };
    let ways: Vec<String> = version
        .ways
        .iter()
        .map(|way| {
            let risks: Vec<&str> = way.hops.iter().flat_map(|hop| &hop.risks).map(|risk| risk.name()).collect();
            let target = way.hops.last().map(|hop| hop.to.to_string()).unwrap_or_default();
            format!("{target} unless {}", risks.join(", "))
        })
        .collect();
    let ways = if ways.is_empty() { "none".to_owned() } else { ways.join("; ") };
    vec![channel.clone(), version.version.to_string(), missing.to_owned(), ways]
}
