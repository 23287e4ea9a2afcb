//! `clearway graph convert`: risks declared once, or one blocked-edges file per update.
//!
//! What is written is loaded again, and nothing is handed over unless every answer is the same as before, byte for byte.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clearway_core::Limits;
use clearway_graph::convert::{Conversion, compile, declare};
use clearway_graph::{Inputs, Revision, load, wire};

use super::source;
use crate::arguments::{GraphConvert, RiskFormat};
use crate::exit::Exit;

/// Runs the command.
pub(super) fn run(options: &GraphConvert) -> Result<Exit> {
    let why = "which does not contain the version expressions of its risks: pass a graph-data directory, an archive of \
               one, or a service that serves graph-data";
    let inputs = source::files(&options.source, why)?;
    let revision = super::revision(&inputs)?;
    let mut conversion = match options.format {
        RiskFormat::Risks if options.keep => {
            bail!("--keep needs `-o blocks`: with `-o risks` every risk would be declared twice")
        }
        RiskFormat::Risks => declare(&revision)?,
        RiskFormat::Blocks => compile(&revision)?,
    };
    let replaced = conversion.replaced.len();
    if options.keep {
        conversion.replaced.clear();
    }
    let files: BTreeMap<&String, String> =
        conversion.files.iter().map(|(path, text)| Ok((path, yaml(text)?))).collect::<Result<_>>()?;
    prove(&inputs, &revision, &conversion, &files)?;
    let written = files.len();
    if let Some(directory) = &options.output_dir {
        for (path, text) in inputs.iter().filter(|(path, _)| !conversion.replaced.contains(*path)) {
            write(&directory.join(path), text)?;
        }
        for (path, text) in &files {
            write(&directory.join(path), text.as_bytes())?;
        }
        crate::output::print_note!("wrote the converted graph-data to {}", directory.display());
    }
    let verb = if options.keep { "are copied to" } else { "are replaced by" };
    crate::output::print_line!("{replaced} files {verb} {written} files; every answer stays the same, byte for byte");
    Ok(Exit::Yes)
}

/// JSON as YAML.
fn yaml(text: &str) -> Result<String> {
    let value: serde_json::Value = serde_json::from_str(text)?;
    crate::output::to_yaml(&value)
}

fn prove(inputs: &Inputs, before: &Revision, conversion: &Conversion, files: &BTreeMap<&String, String>) -> Result<()> {
    let kept = inputs.iter().filter(|(path, _)| !conversion.replaced.contains(*path));
    let converted: Inputs = kept
        .map(|(path, content)| (path.to_owned(), content.to_vec()))
        .chain(files.iter().map(|(path, text)| ((*path).clone(), text.clone().into_bytes())))
        .collect();
    let Some(after) = load(&converted, &Limits::default()).revision else {
        bail!("the converted files are invalid; nothing was written");
    };
    for channel in before.channels() {
        for arch in before.arches() {
            let body = |revision: &Revision| wire::write(&revision.graph(&channel.name, arch));
            if body(before) != body(&after) {
                bail!("the answer for {} on {arch} would change; nothing was written", channel.name);
            }
        }
    }
    Ok(())
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    }
    std::fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}
