//! `clearway graph`: commands about update graphs.

mod build;
mod convert;
mod diff;
pub(crate) mod explain;
mod init;
pub(crate) mod lint;
mod list;
mod paths;
pub(crate) mod publish;
mod render;
pub(crate) mod show;
pub(crate) mod source;
mod stranded;

use anyhow::{Result, bail};
use clearway_core::suggestion::did_you_mean;
use clearway_core::{Arch, Diagnostic, Limits, Severity, Version};
use clearway_graph::{Graph as UpdateGraph, Inputs, Revision, load};

use crate::arguments::Graph;
use crate::exit::Exit;
use crate::output;

/// Carries out a command.
pub(crate) fn run(command: &Graph) -> Result<Exit> {
    match command {
        Graph::Build(options) => build::run(options),
        Graph::Init(options) => init::run(options),
        Graph::List(options) => list::run(options),
        Graph::Show(options) => show::run(options),
        Graph::Explain(options) => explain::run(options),
        Graph::Lint(options) => lint::run(options),
        Graph::Diff(options) => diff::run(options),
        Graph::Paths(options) => paths::run(options),
        Graph::Stranded(options) => stranded::run(options),
        Graph::Render(options) => render::run(options),
        Graph::Convert(options) => convert::run(options),
        Graph::Publish(options) => publish::run(options),
    }
}

/// Loads graph-data and prints its diagnostics on standard error. An error if the graph-data is refused.
pub(crate) fn revision(inputs: &Inputs) -> Result<Revision> {
    revision_and_findings(inputs).map(|(revision, _)| revision)
}

/// The same, with what is wrong with it.
pub(crate) fn revision_and_findings(inputs: &Inputs) -> Result<(Revision, Vec<Diagnostic>)> {
    let outcome = load(inputs, &Limits::default());
    print_diagnostics("the files have", &outcome.diagnostics);
    match outcome.revision {
        Some(revision) => Ok((revision, outcome.diagnostics)),
        None => bail!("the graph-data is refused; see the errors above"),
    }
}

/// Prints errors on standard error, and the number of errors and warnings.
fn print_diagnostics(whose: &str, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error) {
        output::print_diagnostic(diagnostic);
    }
    let count = |severity| diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if errors + warnings > 0 {
        output::print_note!("{whose} {errors} errors and {warnings} warnings\n");
    }
}

/// Refuses a channel or architecture that no file knows: an empty answer would read as "no updates".
pub(crate) fn check_channel(revision: &Revision, channel: &str, arch: &Arch) -> Result<()> {
    let channels: Vec<&str> = revision.channels().map(|channel| channel.name.as_str()).collect();
    if !channels.contains(&channel) {
        let hint = did_you_mean(channel, channels.iter().copied());
        bail!("channel `{channel}` not found; the channels are {}{hint}", listing(&channels));
    }
    if !revision.arches().contains(arch) {
        let arches: Vec<&str> = revision.arches().iter().map(Arch::as_str).collect();
        bail!("no releases for `{arch}`, only for {}", listing(&arches));
    }
    Ok(())
}

/// The version of a graph that somebody may have meant by one that it does not have; empty if it has it.
pub(crate) fn version_hint(graph: &UpdateGraph, version: &Version) -> String {
    let known: Vec<String> = graph.nodes().iter().map(|node| node.version().without_build().to_string()).collect();
    let written = version.without_build().to_string();
    if known.contains(&written) { String::new() } else { did_you_mean(&written, known.iter().map(String::as_str)) }
}

/// Letters of the names of the risks on one update that are shown to people.
const RISK_LETTERS: usize = 1_500;

/// The names of risks on one line. Strangers choose them and how many there are, and the list is shown for each update: of a
/// long one the first ones, and how many there are besides. `-o json` has all of them.
pub(crate) fn names_of_risks<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let (mut shown, mut more) = (String::new(), 0_usize);
    for name in names {
        if more > 0 || (!shown.is_empty() && shown.len() + name.len() > RISK_LETTERS) {
            more += 1;
            continue;
        }
        if !shown.is_empty() {
            shown.push_str(", ");
        }
        shown.push_str(name);
    }
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

pub(crate) fn listing(names: &[&str]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<&str> = names.iter().copied().take(SHOWN).collect();
    match names.len().saturating_sub(SHOWN) {
        0 if names.is_empty() => "none".to_owned(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
