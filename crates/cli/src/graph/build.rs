//! `clearway graph build`: the answers an update service gives, as files or on standard output.

use std::io::Write as _;

use anyhow::{Context as _, Result, bail};
use clearway_graph::wire;

use crate::arguments::GraphBuild;
use crate::exit::Exit;

/// Runs the command.
pub(super) fn run(options: &GraphBuild) -> Result<Exit> {
    let revision = super::revision(&super::inputs(&options.source)?)?;
    if let Some(channel) = &options.channel {
        super::known(&revision, channel, &options.arch)?;
        let body = wire::write(&revision.graph(channel, &options.arch));
        std::io::stdout().write_all(&body)?;
        std::io::stdout().write_all(b"\n")?;
        return Ok(Exit::Yes);
    }
    let Some(directory) = &options.dir else {
        bail!("name one answer with --channel, or a directory for all of them with --dir");
    };
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let mut written = 0_usize;
    for channel in revision.channels() {
        // A channel is a name from a file and must not lead out of the directory.
        if !channel.name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter)) {
            bail!("the channel `{}` has a name that is no file name", channel.name);
        }
        for arch in revision.arches() {
            let path = directory.join(format!("{}_{arch}.json", channel.name));
            let body = wire::write(&revision.graph(&channel.name, arch));
            std::fs::write(&path, body).with_context(|| format!("cannot write {}", path.display()))?;
            written += 1;
        }
    }
    anstream::eprintln!("{written} answers of revision {} are in {}", revision.id(), directory.display());
    Ok(Exit::Yes)
}
