//! `clearway graph list`: the channels of a graph, with how many releases and updates each has.

use anyhow::{Result, bail};
use clearway_core::Arch;
use clearway_graph::{Graph, Inputs};
use serde::Serialize;

use super::source::{self, GraphInput};
use crate::arguments::GraphList;
use crate::exit::Exit;
use crate::output;

/// A channel for one architecture.
#[derive(Debug, Serialize)]
struct ListedChannel {
    channel: String,
    /// Absent for an answer in a file, which does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    arch: Option<Arch>,
    releases: usize,
    /// Updates that are offered to every cluster.
    updates: usize,
    /// Updates with risks.
    conditional: usize,
    /// Absent for a channel without releases.
    #[serde(skip_serializing_if = "Option::is_none")]
    newest: Option<String>,
}

/// Runs the command.
pub(super) fn run(options: &GraphList) -> Result<Exit> {
    let arch = options.arch.arch.as_ref();
    let listed = match source::files_or_answer(&options.source, None, arch)? {
        GraphInput::Files(inputs) => of_files(&inputs, arch)?,
        GraphInput::Answer(answer) => {
            let view = source::of_answer(answer, None, arch)?;
            vec![count(&view.name, view.arch.as_ref(), &view.graph)]
        }
    };
    output::print_data(options.output.format, &listed, || {
        let head = ["CHANNEL", "ARCH", "RELEASES", "UPDATES", "CONDITIONAL", "NEWEST"];
        output::table(&head, listed.iter().map(row))
    })?;
    Ok(Exit::Yes)
}

fn of_files(inputs: &Inputs, arch: Option<&Arch>) -> Result<Vec<ListedChannel>> {
    let revision = super::revision(inputs)?;
    if let Some(arch) = arch.filter(|arch| !revision.arches().contains(arch)) {
        let arches: Vec<&str> = revision.arches().iter().map(Arch::as_str).collect();
        bail!("no releases for `{arch}`, only for {}", super::listing(&arches));
    }
    let wanted = |one: &&Arch| arch.is_none_or(|arch| arch == *one);
    let mut listed = Vec::new();
    for channel in revision.channels() {
        let of_channel = revision.arches().iter().filter(wanted).map(|arch| {
            let graph = revision.graph(&channel.name, arch);
            count(&channel.name, Some(arch), &graph)
        });
        // Most channels are for some architectures only; the others say nothing unless one is asked for.
        let of_channel: Vec<ListedChannel> = of_channel.collect();
        let any = of_channel.iter().any(|one| one.releases > 0);
        listed.extend(of_channel.into_iter().filter(|one| one.releases > 0 || !any));
    }
    Ok(listed)
}

fn count(channel: &str, arch: Option<&Arch>, graph: &Graph) -> ListedChannel {
    ListedChannel {
        channel: channel.to_owned(),
        arch: arch.cloned(),
        releases: graph.nodes().len(),
        updates: graph.edges().len(),
        conditional: graph.conditional().iter().map(|group| group.edges.len()).sum(),
        newest: graph.nodes().last().map(|node| node.version().without_build().to_string()),
    }
}

fn row(one: &ListedChannel) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    vec![
        one.channel.clone(),
        or_dash(one.arch.as_ref().map(ToString::to_string)),
        one.releases.to_string(),
        one.updates.to_string(),
        one.conditional.to_string(),
        or_dash(one.newest.clone()),
    ]
}
