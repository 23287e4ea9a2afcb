//! `clearway graph diff`: differences of two graphs by channel, with the files that cause them.
//!
//! With files on both sides the files are named that are the reason. Where one side is an answer, the other one is cut
//! down to the same channel.

use anyhow::{Result, bail};
use clearway_core::Arch;
use clearway_graph::diff::{Diff, FileChangeKind, UpdateChangeKind};
use clearway_graph::{Graph, Inputs, Revision, diff};
use clearway_sources::service::Service;
use serde::Serialize;

use super::source::{self, GraphInput, ServiceAnswer, registry};
use crate::arguments::{GraphDiff, GraphName};
use crate::exit::Exit;
use crate::output;

/// Runs the command. Exit code 0: the answers are the same; 1: they differ.
pub(super) fn run(options: &GraphDiff) -> Result<Exit> {
    if [&options.before, &options.after].into_iter().all(|name| name.image().is_none()) {
        registry::refuse_keys(&options.registries.keys, "two others")?;
    }
    let sides = [Side::new(options, &options.before)?, Side::new(options, &options.after)?];
    let (channels, arch) = (channels(options, &sides)?, arch(options, &sides)?);
    let [before, after] = sides;
    let (before, after) = (before.settled(&channels)?, after.settled(&channels)?);
    let compared = match (&before, &after) {
        (Side::Files(before), Side::Files(after)) => of_files(before, after, &channels, &arch)?,
        (Side::Answer(before), Side::Answer(after)) if channels.is_empty() => {
            vec![(after.name.clone(), diff(&before.graph, &after.graph))]
        }
        _ => {
            let graph = |side: &Side, channel: &str| side.graph(channel, channels.len(), &arch);
            let pair = |name: &String| Ok((name.clone(), diff(&graph(&before, name)?, &graph(&after, name)?)));
            channels.iter().map(pair).collect::<Result<_>>()?
        }
    };
    let diffs: Vec<(String, Diff)> = compared.into_iter().filter(|(_, diff)| !diff.is_empty()).collect();
    let data = diffs.iter().map(|(channel, diff)| ChannelDiff { channel, diff });
    output::print_data(options.output.format, &data.collect::<Vec<_>>(), || {
        diffs.iter().map(|(channel, diff)| described(channel, diff)).collect::<Vec<_>>().join("\n")
    })?;
    output::print_note!("{} channels differ", diffs.len());
    Ok(if diffs.is_empty() { Exit::Yes } else { Exit::No })
}

/// What differs in a channel.
#[derive(Serialize)]
struct ChannelDiff<'d> {
    channel: &'d str,
    diff: &'d Diff,
}

/// One side of the comparison.
enum Side {
    Files(Box<Revision>),
    Answer(ServiceAnswer),
    Service(Service),
}

impl Side {
    /// What a name stands for: a service, a file or directory if there is one, else a git revision of `--graph`.
    fn new(options: &GraphDiff, name: &GraphName) -> Result<Self> {
        if let Some(address) = name.address() {
            return Ok(Side::Service(source::connect(&address, &options.trust)?));
        }
        if let Some(image) = name.image() {
            let inputs = with_releases(registry::graph_data(image, &options.registries, &options.trust)?, options)?;
            return Ok(Side::Files(Box::new(super::revision(&inputs)?)));
        }
        let (path, shown) = (name.as_path(), name.to_string());
        let there = shown == "-" || path.exists();
        let given = if there { source::local(path, None) } else { source::local(&options.graph, Some(&shown)) };
        Ok(match given? {
            GraphInput::Files(inputs) => Side::Files(Box::new(super::revision(&with_releases(inputs, options)?)?)),
            GraphInput::Answer(answer) => Side::Answer(answer.with_printed_diagnostics()),
        })
    }

    /// A service stands for its files if all channels are to be compared.
    fn settled(self, channels: &[String]) -> Result<Self> {
        Ok(match self {
            Side::Service(service) if channels.is_empty() => {
                Side::Files(Box::new(super::revision(&source::data_of(&service)?)?))
            }
            side => side,
        })
    }

    /// What this side says of one of several channels.
    fn graph(&self, channel: &str, channels: usize, arch: &Arch) -> Result<Graph> {
        match self {
            Side::Files(revision) => {
                super::check_channel(revision, channel, arch)?;
                Ok(revision.graph(channel, arch))
            }
            Side::Answer(answer) if channels > 1 => bail!("{} is a single answer, for one channel", answer.name),
            Side::Answer(answer) => {
                answer.check(Some(channel), None)?;
                Ok(answer.graph.clone())
            }
            Side::Service(service) => Ok(source::answer(service, channel, arch)?.with_printed_diagnostics().graph),
        }
    }
}

/// Graph-data with the releases of the repositories that are named.
fn with_releases(mut inputs: Inputs, options: &GraphDiff) -> Result<Inputs> {
    registry::add_releases(&mut inputs, &options.registries, &options.trust)?;
    Ok(inputs)
}

/// The channels to compare; none for all of them, or for two answers of which none says.
fn channels(options: &GraphDiff, sides: &[Side; 2]) -> Result<Vec<String>> {
    let mut channels = options.channels.clone();
    if channels.is_empty() {
        channels.extend(sides.iter().filter_map(|side| match side {
            Side::Service(service) => service.channel().map(str::to_owned),
            _ => None,
        }));
    }
    let answers: Vec<&ServiceAnswer> =
        sides.iter().filter_map(|side| if let Side::Answer(answer) = side { Some(answer) } else { None }).collect();
    if let (true, [answer]) = (channels.is_empty(), answers.as_slice()) {
        match answer.channels().as_deref() {
            Some([only]) => channels.push((*only).to_owned()),
            _ => bail!("{} is a single answer; pass its channel with --channel", answer.name),
        }
    }
    channels.sort();
    channels.dedup();
    Ok(channels)
}

/// The architecture to compare.
fn arch(options: &GraphDiff, sides: &[Side; 2]) -> Result<Arch> {
    let named = sides.iter().find_map(|side| if let Side::Service(service) = side { service.arch() } else { None });
    match (&options.arch.arch, named) {
        (Some(arch), _) => Ok(arch.clone()),
        (None, Some(named)) => Ok(named.parse()?),
        (None, None) => Ok(Arch::default()),
    }
}

fn of_files(before: &Revision, after: &Revision, channels: &[String], arch: &Arch) -> Result<Vec<(String, Diff)>> {
    let mut names: Vec<&String> = before.channels().chain(after.channels()).map(|channel| &channel.name).collect();
    names.sort_unstable();
    names.dedup();
    if let Some(unknown) = channels.iter().find(|channel| !names.contains(channel)) {
        bail!("channel `{unknown}` not found in either graph");
    }
    names.retain(|name| channels.is_empty() || channels.contains(name));
    let (mut diffs, mut lines) = (Vec::new(), 0_usize);
    for name in names {
        for revision in [before, after] {
            if let Some(above) = revision.graph(name, arch).above(revision.caps()) {
                bail!("the channel `{name}` on {arch} has {above}");
            }
        }
        let diff = before.diff(after, name, arch);
        lines = lines.saturating_add(diff.updates.len());
        if lines > MOST_LINES {
            bail!("the channels differ in more than {MOST_LINES} lines; pass --channel to compare some of them");
        }
        diffs.push((name.clone(), diff));
    }
    Ok(diffs)
}

/// Lines about updates of all channels that are compared in one run. All of them are in memory.
const MOST_LINES: usize = 200_000;

/// Files that are named for one line.
const SHOWN_FILES: usize = 20;

fn described(channel: &str, diff: &Diff) -> String {
    let mut lines = vec![channel.to_owned()];
    let mut line = |sentence: String| lines.push(format!("  {sentence}"));
    for (word, versions) in [("gained", &diff.releases.gained), ("lost", &diff.releases.lost)] {
        let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
        if !versions.is_empty() {
            line(format!("releases {word}: {}", versions.join(", ")));
        }
    }
    for change in &diff.releases.changed {
        line(format!("release {} changed: payload or metadata", change.version));
    }
    for update in &diff.updates {
        let risks = super::names_of_risks(update.risks.iter().map(String::as_str));
        let unless = if risks.is_empty() { String::new() } else { format!(" unless {risks} applies") };
        let what = match update.what {
            UpdateChangeKind::Gained => format!("offered now{unless}"),
            UpdateChangeKind::Lost if risks.is_empty() => "no longer offered".to_owned(),
            UpdateChangeKind::Lost => format!("no longer offered; it had {risks}"),
            UpdateChangeKind::BecameConditional => format!("offered only{unless}"),
            UpdateChangeKind::BecameUnconditional => format!("now offered to every cluster; it had {risks}"),
            UpdateChangeKind::RisksGained => format!("now also has {risks}"),
            UpdateChangeKind::RisksLost => format!("no longer has {risks}"),
        };
        line(format!("{update}: {what}"));
        for file in update.files.iter().take(SHOWN_FILES) {
            let now = match file.now {
                FileChangeKind::Gained => "now refers to it",
                FileChangeKind::Lost => "no longer refers to it",
                FileChangeKind::Changed => "changed",
            };
            line(format!("  because {} {now}", file.file));
        }
        if let Some(more @ 1..) = update.files.len().checked_sub(SHOWN_FILES) {
            line(format!("  because of {more} more files; -o json has all of them"));
        }
    }
    for risk in &diff.risks.changed {
        line(format!("risk {} changed its {} on {} updates", risk.after.name(), risk.fields.join(", "), risk.updates));
    }
    lines.join("\n") + "\n"
}
