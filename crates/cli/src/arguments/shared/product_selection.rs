//! Options that name products of a catalogue.

use clap::Args;

use super::GraphName;

/// A catalogue of products.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CatalogOption {
    /// Catalogue: a directory with one directory per product, or an image or artifact (`oci://HOST/PATH:TAG`)
    /// [default: the built-in one]
    #[arg(long, value_name = "CATALOG")]
    pub(crate) catalog: Option<GraphName>,
}

/// Products of a catalogue, in place of a graph.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ProductSelection {
    /// Product of the catalogue, such as cert-manager, in place of --graph: its installed version is detected. Repeatable,
    /// or a list with commas; `clearway catalog list` lists them
    #[arg(
        long = "product", id = "product", value_name = "NAME", value_delimiter = ',',
        conflicts_with_all = ["graph", "rev", "registry"]
    )]
    pub(crate) names: Vec<String>,
    /// All products of the catalogue
    #[arg(long, conflicts_with_all = ["product", "graph", "rev", "registry"])]
    pub(crate) all_products: bool,
    #[command(flatten)]
    pub(crate) catalog: CatalogOption,
}

impl ProductSelection {
    /// Whether products are named.
    pub(crate) fn is_any(&self) -> bool {
        self.all_products || !self.names.is_empty()
    }

    /// Whether several products can be meant.
    pub(crate) fn is_several(&self) -> bool {
        self.all_products || self.names.len() > 1
    }
}
