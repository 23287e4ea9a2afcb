//! Arguments of `clearway release`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clearway_core::{Arch, Digest, Version};

use super::{CaFile, ClusterConnection, DataOutput, FindingOutput, RegistryAccess};

#[derive(Debug, Subcommand)]
pub(crate) enum Release {
    /// Pack manifests into a release: a directory, or an image in a registry
    #[command(
        disable_version_flag = true,
        after_help = "\
Examples:
  clearway release pack manifests --version 1.5.0 --previous 1.4.2,1.4.3 --output-dir releases/1.5.0
  helm template shop charts/shop | clearway release pack - --version 1.5.0 --output-dir releases/1.5.0
  clearway release pack manifests --version 1.5.0 --push oci://registry.example.com/platform --sign-key key.pem

Each object is written to its own file at run level 50, namespaces and CRDs first. The annotations
clearway.dev/run-level (0 to 99) and clearway.dev/component change its run level and component. The output depends only on
the objects, not on the names of the input files. An image without a tag is tagged with the version.
Exit code 0: packed; 1: the manifests have errors; 3: could not run."
    )]
    Pack(ReleasePack),
    /// Show the metadata, components and objects of a release
    #[command(after_help = "\
Examples:
  clearway release show releases/1.5.0
  clearway release show oci://registry.example.com/platform:1.5.0 -o json
  clearway release show --digest releases/1.5.0          the digest, to sign or to request")]
    Show(ReleaseShow),
    /// Verify a release: integrity, manifests and signature
    #[command(after_help = "\
Examples:
  clearway release verify releases/1.5.0
  clearway release verify oci://registry.example.com/platform:1.5.0 --key cosign.pub
  clearway release verify releases/1.5.0 --digest sha256:… -o sarif > findings.sarif

With --key, one of the keys must have signed the release: an image with `cosign sign --key`, a directory with a file
release.sig that holds a base64 signature over the digest that `release show --digest` prints. Transparency logs are not
used. Exit code 0: clean (notes are allowed); 1: findings, refused, or not signed by a key; 3: could not run, or unreachable.")]
    Verify(ReleaseVerify),
    /// Write the objects of a release to files, for another tool to apply
    #[command(after_help = "\
Examples:
  clearway release render releases/1.5.0 --output-dir deploy/platform
  clearway release render oci://registry.example.com/platform:1.5.0 --output-dir deploy/platform --prune

One file per object, in the order in which an update applies them, each with the owner label. The same release gives the
same files. Files of an earlier release are removed; a directory with any other files is refused.
With --prune, prune.txt lists the owner's objects in the cluster that the release does not contain.
Exit code 0: written; 1: the release is invalid; 3: could not run.")]
    Render(ReleaseRender),
}

/// A release, and how it is read.
#[derive(Debug, Args)]
pub(crate) struct ReleaseSource {
    /// Release: a directory with release-manifests, or an image
    #[arg(value_name = "DIR|oci://IMAGE")]
    pub(crate) release: String,
    /// Architecture: that of a multi-architecture image to read [default: amd64, or the only one]
    #[arg(long, value_name = "ARCH", value_parser = Arch::from_person)]
    pub(crate) arch: Option<Arch>,
    /// Cache directory: for images
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) registry: RegistryConnection,
}

/// The connection to registries.
#[derive(Debug, Args)]
pub(crate) struct RegistryConnection {
    #[command(flatten)]
    pub(crate) access: RegistryAccess,
    #[command(flatten)]
    pub(crate) ca: CaFile,
}

/// Arguments of `clearway release pack`.
#[derive(Debug, Args)]
pub(crate) struct ReleasePack {
    /// Files or directories with manifests; - for standard input
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Version: that of the release
    // Not the version of the program, which `-V` prints everywhere else.
    #[arg(long = "version", id = "release_version", value_name = "VERSION")]
    pub(crate) version: Version,
    /// Versions that can be updated to this release
    #[arg(long, value_name = "VERSION", value_delimiter = ',')]
    pub(crate) previous: Vec<Version>,
    /// Versions that this release can be updated to
    #[arg(long, value_name = "VERSION", value_delimiter = ',')]
    pub(crate) next: Vec<Version>,
    /// URL of the release notes
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Additional metadata; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair)]
    pub(crate) metadata: Vec<(String, String)>,
    /// Component of objects without the annotation clearway.dev/component
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub(crate) component: String,
    /// Output directory: it must not exist yet
    #[arg(long, value_name = "DIR", conflicts_with = "push", required_unless_present = "push")]
    pub(crate) output_dir: Option<PathBuf>,
    /// Push the release as an image
    #[arg(long, value_name = "oci://IMAGE")]
    pub(crate) push: Option<String>,
    /// Architecture: that of the pushed image; `multi` for all
    #[arg(long, value_name = "ARCH", default_value = Arch::DEFAULT, requires = "push", value_parser = Arch::from_person)]
    pub(crate) arch: Arch,
    /// Sign with this private key (PEM, unencrypted: ECDSA P-256, Ed25519 or RSA)
    #[arg(long, value_name = "FILE")]
    pub(crate) sign_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) registry: RegistryConnection,
}

/// Arguments of `clearway release show`.
#[derive(Debug, Args)]
pub(crate) struct ReleaseShow {
    #[command(flatten)]
    pub(crate) source: ReleaseSource,
    /// Print only the digest
    #[arg(long, conflicts_with = "format")]
    pub(crate) digest: bool,
    #[command(flatten)]
    pub(crate) output: DataOutput,
}

/// Arguments of `clearway release verify`.
#[derive(Debug, Args)]
pub(crate) struct ReleaseVerify {
    #[command(flatten)]
    pub(crate) source: ReleaseSource,
    /// Public keys (PEM): one of them must have signed the release; repeatable
    #[arg(long = "key", value_name = "FILE")]
    pub(crate) keys: Vec<PathBuf>,
    /// Expected digest
    #[arg(long, value_name = "DIGEST")]
    pub(crate) digest: Option<Digest>,
    #[command(flatten)]
    pub(crate) output: FindingOutput,
}

/// Arguments of `clearway release render`.
#[derive(Debug, Args)]
pub(crate) struct ReleaseRender {
    #[command(flatten)]
    pub(crate) source: ReleaseSource,
    /// Output directory: new, empty, or written by this command before
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: PathBuf,
    /// Owner of the objects
    #[arg(long, value_name = "KIND.NAME", default_value = "ClusterVersion.version", value_parser = parse_owner)]
    pub(crate) owner: (String, String),
    /// Also list the owner's objects in the cluster that the release does not contain
    #[arg(long)]
    pub(crate) prune: bool,
    /// State directory: used instead of a cluster
    #[arg(long, value_name = "DIR", requires = "prune", conflicts_with_all = ["kubeconfig", "context"])]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connection: ClusterConnection,
}

/// Reads `Kind.name`.
fn parse_owner(text: &str) -> Result<(String, String), String> {
    match text.split_once('.') {
        Some((kind @ ("ClusterVersion" | "ComponentVersion"), name)) if !name.is_empty() => {
            Ok((kind.to_owned(), name.to_owned()))
        }
        _ => Err(format!("`{text}` is neither ClusterVersion.NAME nor ComponentVersion.NAME")),
    }
}

/// Reads `key=value`.
fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not KEY=VALUE")),
    }
}
