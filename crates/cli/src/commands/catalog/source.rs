//! The catalogue that the command line names: the built-in one, a directory, or an image or artifact.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clearway_catalog::{CatalogEntry, Product, ProductCatalog};
use clearway_core::Limits;
use clearway_graph::{Revision, load};
use clearway_sources::catalog;
use clearway_sources::oci::{Image, Registry};

use crate::arguments::{CatalogOption, CatalogSource, GraphKeys, GraphSource, ProductSelection, RegistryAccess};
use crate::commands::graph::listing;
use crate::commands::graph::source::registry;
use crate::runtime::block_on;

/// A catalogue, and what it goes by.
pub(crate) struct OpenedCatalog {
    pub(crate) catalog: ProductCatalog,
    /// `built-in`, a directory, or an image by its digest.
    pub(crate) name: String,
}

impl OpenedCatalog {
    /// The catalogue of `clearway catalog`.
    pub(crate) fn open(source: &CatalogSource) -> Result<Self> {
        let (ca, access) = (source.registry.ca.file.clone(), &source.registry.access);
        OpenedCatalog::at(&source.catalog, &source.keys, ca, access)
    }

    /// The catalogue of a command that also reads graphs.
    pub(crate) fn beside(selection: &ProductSelection, graph: &GraphSource) -> Result<Self> {
        let (ca, registries) = (graph.trust.ca.file.clone(), &graph.registries);
        OpenedCatalog::at(&selection.catalog, &registries.keys, ca, &registries.access)
    }

    /// The catalogue of an option.
    pub(super) fn at(
        option: &CatalogOption,
        keys: &GraphKeys,
        ca: Option<PathBuf>,
        access: &RegistryAccess,
    ) -> Result<Self> {
        let Some(name) = &option.catalog else {
            registry::refuse_keys(keys, "the built-in catalogue")?;
            return Ok(OpenedCatalog { catalog: ProductCatalog::built_in(), name: "built-in".to_owned() });
        };
        if let Some(address) = name.address() {
            bail!("--catalog {address}: unsupported; pass a directory or an image (oci://…)");
        }
        let Some(image) = name.image() else {
            registry::refuse_keys(keys, &name.to_string())?;
            let catalog = catalog::directory(name.as_path())?;
            return Ok(OpenedCatalog { catalog, name: name.to_string() });
        };
        let (image, keys): (Image, _) = (image.parse()?, registry::keys(keys)?);
        let registry = Registry::new(registry::options(ca, access))?;
        let (catalog, digest) = block_on(catalog::image(&registry, &image, &keys))??;
        Ok(OpenedCatalog { catalog, name: format!("oci://{}@{digest}", image.repository()) })
    }

    /// The products that are selected, by name.
    pub(crate) fn select(&self, selection: &ProductSelection) -> Result<Vec<(&str, &CatalogEntry)>> {
        if selection.all_products {
            return Ok(self.catalog.iter().collect());
        }
        let mut names: Vec<&String> = selection.names.iter().collect();
        names.sort();
        names.dedup();
        names.into_iter().map(|name| self.product(name)).collect()
    }

    /// One product.
    pub(crate) fn product(&self, name: &str) -> Result<(&str, &CatalogEntry)> {
        let found = self.catalog.iter().find(|(known, _)| *known == name);
        let Some(found) = found else {
            let names: Vec<&str> = self.catalog.iter().map(|(name, _)| name).collect();
            bail!("product `{name}` not found in the catalogue; the products are {}", listing(&names));
        };
        Ok(found)
    }
}

/// The product of an entry, or why it cannot be used.
pub(crate) fn usable(entry: &CatalogEntry) -> Result<&Product, String> {
    entry.product.as_ref().map_err(ToString::to_string)
}

/// The graph-data of an entry, or why it cannot be used.
pub(crate) fn revision(entry: &CatalogEntry) -> Result<Revision, String> {
    let outcome = load(&entry.graph_data, &Limits::default());
    let first = outcome.diagnostics.first().map(|first| first.message.clone()).unwrap_or_default();
    outcome.revision.ok_or_else(|| format!("its graph-data is refused: {first}"))
}
