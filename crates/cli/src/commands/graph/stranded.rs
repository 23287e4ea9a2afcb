//! `clearway graph stranded`: versions without an unconditional update (U17).

use anyhow::{Context as _, Result, bail};
use clearway_core::Arch;
use clearway_graph::{Graph, Inputs, MissingPath, Stranded, StrandedBudget, SupportedVersions, stranded};
use serde::Serialize;

use super::source::{self, GraphInput};
use crate::arguments::GraphStranded;
use crate::exit::Exit;
use crate::output;

/// Runs the command. Exit code 0: no version is stranded; 1: some are.
pub(super) fn run(options: &GraphStranded) -> Result<Exit> {
    let supported = SupportedVersions {
        oldest: options.oldest.clone(),
        newest: options.newest.clone(),
        without_newest_patches: !options.newest_patches,
    };
    let mut found: Vec<StrandedVersion> = Vec::new();
    let mut budget = StrandedBudget::default();
    // One graph at a time: all of them together may take far more memory than their files.
    each_graph(options, &mut |channel, graph| {
        let versions = stranded(graph, &supported, &mut budget);
        let versions = versions.with_context(|| format!("cannot list the paths of the channel `{channel}`"))?;
        let versions = versions.into_iter().map(|stranded| StrandedVersion { channel: channel.to_owned(), stranded });
        found.extend(versions);
        Ok(())
    })?;
    output::print_data(options.output.format, &found, || {
        output::table(&["CHANNEL", "VERSION", "CANNOT REACH", "PATHS WITH RISKS"], found.iter().map(row)).named_by(1)
    })?;
    output::print_note!("{} stranded", found.len());
    Ok(if found.is_empty() { Exit::Yes } else { Exit::No })
}

/// A stranded version of a channel.
#[derive(Debug, Serialize)]
struct StrandedVersion {
    channel: String,
    stranded: Stranded,
}

/// What is done with the graph of a channel.
type Visit<'v> = &'v mut dyn FnMut(&str, &Graph) -> Result<()>;

/// Visits the graphs that are asked about, by channel.
fn each_graph(options: &GraphStranded, visit: Visit<'_>) -> Result<()> {
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
                return channels.into_iter().try_for_each(|channel| {
                    visit(channel, &source::answer(&service, channel, &arch)?.with_printed_diagnostics().graph)
                });
            }
            return each_of_files(&source::data_of(&service)?, options.channels(), &arch, visit);
        }
        None => source::read_input(&options.source)?,
    };
    match given {
        GraphInput::Files(inputs) => {
            each_of_files(&inputs, options.channels(), &arch.cloned().unwrap_or_default(), visit)
        }
        GraphInput::Answer(answer) => {
            if let [_, _, ..] = options.channels() {
                bail!("{} is a single answer, for one channel", answer.name);
            }
            let view = source::of_answer(answer, options.channels().first().map(String::as_str), arch)?;
            visit(&view.name, &view.graph)
        }
    }
}

fn each_of_files(inputs: &Inputs, channels: &[String], arch: &Arch, visit: Visit<'_>) -> Result<()> {
    let revision = super::revision(inputs)?;
    for channel in channels {
        super::check_channel(&revision, channel, arch)?;
    }
    let names = revision.channels().map(|channel| &channel.name);
    for name in names.filter(|name| channels.is_empty() || channels.contains(name)) {
        let graph = revision.graph(name, arch);
        if let Some(above) = graph.above(revision.caps()) {
            bail!("the channel `{name}` on {arch} has {above}");
        }
        visit(name, &graph)?;
    }
    Ok(())
}

fn row(StrandedVersion { channel, stranded: version }: &StrandedVersion) -> Vec<String> {
    let missing = match version.missing {
        MissingPath::ToNewestPatch => "the newest patch",
        MissingPath::OutOfMinor => "a later minor version",
        MissingPath::Both => "the newest patch or a later minor version",
    };
    let ways: Vec<String> = version
        .ways
        .iter()
        .map(|way| {
            let names = way.hops.iter().flat_map(|hop| hop.risks.iter()).map(|risk| risk.name());
            let target = way.hops.last().map(|hop| hop.to.to_string()).unwrap_or_default();
            format!("{target} unless {}", super::names_of_risks(names))
        })
        .collect();
    let ways = if ways.is_empty() { "none".to_owned() } else { ways.join("; ") };
    vec![channel.clone(), version.version.to_string(), missing.to_owned(), ways]
}
