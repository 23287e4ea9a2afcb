//! `clearway catalog publish`: a catalogue as a signed artifact of a registry.

use anyhow::{Result, anyhow};
use clearway_catalog::PRODUCT_FILE;
use clearway_sources::publish::CATALOG;

use super::source::{self, OpenedCatalog};
use crate::arguments::{CatalogPublish, GraphKeys};
use crate::commands::graph::publish::push_files;
use crate::exit::Exit;

/// Runs the command.
pub(super) fn run(options: &CatalogPublish) -> Result<Exit> {
    let connection = &options.push.registry;
    let opened =
        OpenedCatalog::at(&options.catalog, &GraphKeys::default(), connection.ca.file.clone(), &connection.access)?;
    let mut files = Vec::new();
    for (name, entry) in opened.catalog.iter() {
        // What readers could not use is not published.
        let failed = |why: String| anyhow!("{name}: {why}");
        source::usable(entry).map_err(failed)?;
        source::revision(entry).map_err(failed)?;
        files.push((format!("{name}/{PRODUCT_FILE}"), entry.product_file.as_slice()));
        files.extend(entry.graph_data.iter().map(|(path, content)| (format!("{name}/{path}"), content)));
    }
    push_files(&options.target, &options.push, CATALOG, files)
}
