//! `clearway graph render`: a channel as a drawing.

use anyhow::{Result, bail};
use clearway_graph::render::{Format, Options, RenderDetail, render};

use super::source;
use crate::arguments::{DrawingFormat, DrawnUpdates, GraphRender};
use crate::exit::Exit;

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
        _ if !options.blocked => Vec::new(),
        (Some(revision), Some(arch)) => revision.removed(&view.name, arch),
        _ => bail!("an answer does not contain blocked updates: omit --blocked, or pass graph-data with --graph"),
    };
    let drawing = render(
        &view.graph,
        &Options {
            format: match options.format {
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
            removed,
            title: view.arch.map_or_else(|| view.name.clone(), |arch| format!("{} ({arch})", view.name)),
        },
    )?;
    crate::output::print_document(&drawing)?;
    Ok(Exit::Yes)
}
