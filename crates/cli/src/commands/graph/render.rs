//! `clearway graph render`: a channel as a drawing, on standard output or in a file.

use anyhow::{Context as _, Result, bail};
use clearway_graph::render::{Format, Options, RenderDetail, render};

use super::source;
use crate::arguments::{DrawingFormat, DrawnUpdates, GraphRender};
use crate::exit::Exit;
use crate::output;

/// Letters of the digest of a revision in a caption: the algorithm, and enough to tell revisions apart.
const SHOWN_REVISION: usize = 19;

/// Runs the command.
pub(super) fn run(options: &GraphRender) -> Result<Exit> {
    let (channel, arch) = (options.channel.as_deref(), options.arch.arch.as_ref());
    let view = match source::service(&options.source)? {
        // Blocked updates are only in graph-data.
        Some(service) if options.blocked => {
            let arch = source::arch_of(&service, arch)?;
            source::of_files(&source::data_of(&service)?, channel.or(service.channel()), Some(&arch))?
        }
        _ => source::view(&options.source, channel, arch)?,
    };
    let removed = match (&view.revision, &view.arch) {
        (Some(revision), Some(arch)) => Some(revision.removed(&view.name, arch)),
        _ if options.blocked => {
            bail!("an answer does not contain blocked updates: omit --blocked, or pass graph-data with --graph")
        }
        _ => None,
    };
    let blocked = removed.as_ref().map(Vec::len);
    let drawing = render(
        &view.graph,
        &Options {
            format: match options.output.format {
                DrawingFormat::Svg => Format::Svg,
                DrawingFormat::Dot => Format::Dot,
                DrawingFormat::Mermaid => Format::Mermaid,
            },
            show: match options.show {
                DrawnUpdates::Essential => RenderDetail::Essential,
                DrawnUpdates::Risks => RenderDetail::Risks,
                DrawnUpdates::All => RenderDetail::All,
            },
            from: options.from.clone(),
            to: options.to.clone(),
            removed: removed.filter(|_| options.blocked).unwrap_or_default(),
            title: view.arch.map_or_else(|| view.name.clone(), |arch| format!("{} ({arch})", view.name)),
            blocked,
            revision: view.revision.map(|revision| revision.id().to_string().chars().take(SHOWN_REVISION).collect()),
        },
    )?;
    match &options.output.file {
        Some(file) => {
            std::fs::write(file, drawing).with_context(|| format!("cannot write {}", file.display()))?;
            output::print_note!("wrote {}", file.display());
        }
        None => output::print_document(&drawing)?,
    }
    Ok(Exit::Yes)
}
