//! Arguments of `clearway catalog`.

use clap::{Args, Subcommand};

use super::{ArtifactPush, CatalogOption, DataOutput, GraphKeys, RegistryConnection};

#[derive(Debug, Subcommand)]
pub(crate) enum Catalog {
    /// List the products of the catalogue
    #[command(after_help = "\
Examples:
  clearway catalog list
  clearway catalog list --catalog oci://registry.example.com/catalog --graph-key catalog.pub")]
    List(CatalogList),
    /// Show a product: how its version is detected, its versions and its risks
    #[command(after_help = "\
Examples:
  clearway catalog show cert-manager
  clearway catalog show cert-manager -o json")]
    Show(CatalogShow),
    /// Publish a catalogue to a registry, as a signed artifact
    #[command(after_help = "\
Examples:
  clearway catalog publish oci://registry.example.com/catalog --catalog catalog --sign-key key.pem
  clearway assess --all-products --catalog oci://registry.example.com/catalog --graph-key key.pub

The digest is printed on standard output; the same files have the same digest. Without a tag it is `latest`. A catalogue with
a product that cannot be read is not published.
Exit code 0: published; 3: could not run.")]
    Publish(CatalogPublish),
}

/// A catalogue, and the way to it.
#[derive(Debug, Args)]
pub(crate) struct CatalogSource {
    #[command(flatten)]
    pub(crate) catalog: CatalogOption,
    #[command(flatten)]
    pub(crate) keys: GraphKeys,
    #[command(flatten)]
    pub(crate) registry: RegistryConnection,
}

/// Arguments of `clearway catalog list`.
#[derive(Debug, Args)]
pub(crate) struct CatalogList {
    #[command(flatten)]
    pub(crate) source: CatalogSource,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}

/// Arguments of `clearway catalog show`.
#[derive(Debug, Args)]
pub(crate) struct CatalogShow {
    /// Product
    pub(crate) product: String,
    #[command(flatten)]
    pub(crate) source: CatalogSource,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}

/// Arguments of `clearway catalog publish`.
#[derive(Debug, Args)]
pub(crate) struct CatalogPublish {
    /// Artifact to push
    #[arg(value_name = "oci://HOST/PATH:TAG")]
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) catalog: CatalogOption,
    #[command(flatten)]
    pub(crate) push: ArtifactPush,
}
