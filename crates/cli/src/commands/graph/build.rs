//! `clearway graph build`: the answers of an update service, as files or on standard output.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clearway_core::terminal_text::escape_json;
use clearway_core::{CapExceeded, GraphLimits};
use clearway_graph::{Revision, wire};

use super::source::{self, GraphInput};
use crate::arguments::GraphBuild;
use crate::exit::Exit;

const NEITHER: &str = "pass --channel to build one answer, or --output-dir to build all of them";

/// Runs the command.
pub(super) fn run(options: &GraphBuild) -> Result<Exit> {
    if let Some(directory) = &options.output_dir {
        let inputs = source::files(&options.source, "not graph-data; omit --output-dir to print it")?;
        return all(&super::revision(&inputs)?, directory);
    }
    let named = options.channel.is_some();
    let view = match source::service(&options.source)? {
        Some(service) if !named && service.channel().is_none() => bail!("{NEITHER}"),
        Some(_) => source::view(&options.source, options.channel.as_deref(), options.arch.arch.as_ref())?,
        None => match source::read_input(&options.source)? {
            GraphInput::Files(_) if !named => bail!("{NEITHER}"),
            GraphInput::Files(inputs) => {
                source::of_files(&inputs, options.channel.as_deref(), options.arch.arch.as_ref())?
            }
            GraphInput::Answer(answer) => {
                source::of_answer(answer, options.channel.as_deref(), options.arch.arch.as_ref())?
            }
        },
    };
    let answer = wire::write_within(&view.graph, &GraphLimits::default())?;
    // The bytes that a service answers with, unless something in them could drive a terminal: then an escape of JSON.
    let mut stdout = std::io::stdout();
    stdout.write_all(escape_json(&String::from_utf8_lossy(&answer)).as_bytes())?;
    stdout.write_all(b"\n")?;
    Ok(Exit::Yes)
}

fn all(revision: &Revision, directory: &Path) -> Result<Exit> {
    if let Some(above) = revision.above_in_answers() {
        bail!("{above}");
    }
    std::fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let mut written = 0_usize;
    let (mut bytes, limit) = (0_u64, revision.caps().answers_bytes);
    for channel in revision.channels() {
        // A channel is a name from a file and must not lead out of the directory.
        if !channel.name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter)) {
            bail!("the name of the channel `{}` is not a valid file name", channel.name);
        }
        for arch in revision.arches() {
            let path = directory.join(format!("{}_{arch}.json", channel.name));
            let body = wire::write_within(&revision.graph(&channel.name, arch), revision.caps())
                .with_context(|| format!("cannot build the answer for {} on {arch}", channel.name))?;
            bytes += body.len() as u64;
            if bytes > limit {
                bail!("{}", CapExceeded { cap: "answers_bytes", limit, what: "bytes in all answers" });
            }
            std::fs::write(&path, body).with_context(|| format!("cannot write {}", path.display()))?;
            written += 1;
        }
    }
    crate::output::print_note!("wrote {written} answers of revision {} to {}", revision.id(), directory.display());
    Ok(Exit::Yes)
}
