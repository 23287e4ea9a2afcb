//! `clearway bundle build`: the CRDs of Clearway itself.

use anyhow::{Context as _, Result};
use clearway_bundle::to_yaml;
use clearway_update::api;

use crate::arguments::BundleBuild;
use crate::exit::Exit;
use crate::output;

pub(super) fn run(options: &BundleBuild) -> Result<Exit> {
    let crds = api::crds(options.channel)?;
    if let Some(directory) = &options.output_dir {
        std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    }
    for crd in &crds {
        let yaml = to_yaml(crd)?;
        match &options.output_dir {
            Some(directory) => {
                let name = crd["metadata"]["name"].as_str().unwrap_or_default();
                let path = directory.join(format!("{name}.yaml"));
                std::fs::write(&path, yaml).with_context(|| format!("cannot write {}", path.display()))?;
                output::print_note!("wrote {}", path.display());
            }
            None => output::print_document(&format!("---\n{yaml}"))?,
        }
    }
    Ok(Exit::Yes)
}
