//! `clearway graph render`: a channel as a drawing.

use std::io::Write as _;

use anyhow::Result;
use clearway_graph::render::{Format, Options, Show, render};

use crate::arguments::{DrawingFormat, DrawnUpdates, GraphRender};
use crate::exit::Exit;

/// Runs the command.
pub(super) fn run(options: &GraphRender) -> Result<Exit> {
    let revision = super::revision(&super::inputs(&options.source)?)?;
    super::known(&revision, &options.channel, &options.arch)?;
    let drawing = render(
        &revision.graph(&options.channel, &options.arch),
        &Options {
            format: match options.format {
                DrawingFormat::Svg => Format::Svg,
                DrawingFormat::Dot => Format::Dot,
                DrawingFormat::Mermaid => Format::Mermaid,
            },
            show: match options.show {
                DrawnUpdates::Essential => Show::Essential,
                DrawnUpdates::Risks => Show::Risks,
                DrawnUpdates::All => Show::All,
            },
            from: options.from.clone(),
            to: options.to.clone(),
            removed: if options.blocked { revision.removed(&options.channel, &options.arch) } else { Vec::new() },
            title: format!("{} ({})", options.channel, options.arch),
        },
    )?;
    std::io::stdout().write_all(drawing.as_bytes())?;
    Ok(Exit::Yes)
}
