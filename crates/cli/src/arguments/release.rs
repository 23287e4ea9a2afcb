//! `clearway release` on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clearway_core::{Arch, Digest, Version};

use super::{AsData, ClusterConnection, FindingFormat, RegistryAccess};

#[derive(Debug, Subcommand)]
pub(crate) enum Release {
    /// Make a release from plain manifests: a directory, or an image in a registry
    #[command(
        disable_version_flag = true,
        after_help = "\
Examples:
  clearway release pack manifests --version 1.5.0 --previous 1.4.2,1.4.3 --output-dir releases/1.5.0
  helm template shop charts/shop | clearway release pack - --version 1.5.0 --output-dir releases/1.5.0
  clearway release pack manifests --version 1.5.0 --push oci://registry.example.com/platform --sign-key key.pem

Every object gets a file of its own at run level 50, namespaces and definitions first. The annotations
clearway.dev/run-level (0 to 99) and clearway.dev/component of an object move it. The files depend on the objects only,
and not on the files they came from. Without a tag, an image gets the version as its tag.
Exit code 0: packed; 1: something in the manifests cannot be packed; 3: could not run."
    )]
    Pack(ReleasePack),
    /// Show what a release is made of
    #[command(after_help = "\
Examples:
  clearway release show releases/1.5.0
  clearway release show oci://registry.example.com/platform:1.5.0 -o json
  clearway release show --digest releases/1.5.0          what to sign, and to ask for")]
    Show(ReleaseShow),
    /// Check a release: that it is whole, can be carried out, and was signed
    #[command(after_help = "\
Examples:
  clearway release verify releases/1.5.0
  clearway release verify oci://registry.example.com/platform:1.5.0 --key cosign.pub
  clearway release verify releases/1.5.0 --digest sha256:… -o sarif > findings.sarif

With --key, one of the keys must have signed the release: an image as `cosign sign --key` does it, a directory in a file
release.sig with a signature in base64 over the digest that `release show --digest` prints. No transparency log is asked.
Exit code 0: clean (there may be notes); 1: findings, refused, or not signed by a key; 3: could not run, or unreachable.")]
    Verify(ReleaseVerify),
    /// Write the objects of a release as files, for something else to apply
    #[command(after_help = "\
Examples:
  clearway release render releases/1.5.0 --output-dir deploy/platform
  clearway release render oci://registry.example.com/platform:1.5.0 --output-dir deploy/platform --prune

One file for each object, in the order in which an update applies them, with the label that says whose they are. The same
release gives the same files. Those of an earlier release go; a directory with anything else in it is not touched.
With --prune, prune.txt lists what the cluster has of the owner and the release no longer has.
Exit code 0: written; 1: it is no release; 3: could not run.")]
    Render(ReleaseRender),
}

/// Where a release is, and how to get there.
#[derive(Debug, Args)]
pub(crate) struct ReleaseSource {
    /// A directory that holds release-manifests, or an image
    #[arg(value_name = "DIR|oci://IMAGE")]
    pub(crate) release: String,
    /// The architecture, of an image for several [default: amd64, or the only one]
    #[arg(long, value_name = "ARCH")]
    pub(crate) arch: Option<Arch>,
    /// Keep what was read of images here, and read it from here
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) registry: OfRegistry,
}

/// How registries are reached.
#[derive(Debug, Args)]
pub(crate) struct OfRegistry {
    #[command(flatten)]
    pub(crate) access: RegistryAccess,
    /// Certificates (PEM) that are trusted besides those of the system
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}

/// Options of `clearway release pack`.
#[derive(Debug, Args)]
pub(crate) struct ReleasePack {
    /// Files and directories of manifests; - reads standard input
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// The version of the release
    // Not the version of the program, which `-V` prints everywhere else.
    #[arg(long = "version", id = "release_version", value_name = "VERSION")]
    pub(crate) version: Version,
    /// Versions that may update to it
    #[arg(long, value_name = "VERSION", value_delimiter = ',')]
    pub(crate) previous: Vec<Version>,
    /// Versions that it may update to
    #[arg(long, value_name = "VERSION", value_delimiter = ',')]
    pub(crate) next: Vec<Version>,
    /// Where people read about it
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Anything else to say about it
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair)]
    pub(crate) metadata: Vec<(String, String)>,
    /// The component of objects that name none
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub(crate) component: String,
    /// Write a directory, which must not be there
    #[arg(long, value_name = "DIR", conflicts_with = "push", required_unless_present = "push")]
    pub(crate) output_dir: Option<PathBuf>,
    /// Push an image
    #[arg(long, value_name = "oci://IMAGE")]
    pub(crate) push: Option<String>,
    /// The architecture that the image says it is for; `multi` is for all
    #[arg(long, value_name = "ARCH", default_value = Arch::DEFAULT, requires = "push")]
    pub(crate) arch: Arch,
    /// Sign it with this private key (PEM, not encrypted: ECDSA P-256, Ed25519, RSA)
    #[arg(long, value_name = "FILE")]
    pub(crate) sign_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) registry: OfRegistry,
}

/// Options of `clearway release show`.
#[derive(Debug, Args)]
pub(crate) struct ReleaseShow {
    #[command(flatten)]
    pub(crate) source: ReleaseSource,
    /// Only the digest
    #[arg(long, conflicts_with = "format")]
    pub(crate) digest: bool,
    #[command(flatten)]
    pub(crate) output: AsData,
}

/// Options of `clearway release verify`.
#[derive(Debug, Args)]
pub(crate) struct ReleaseVerify {
    #[command(flatten)]
    pub(crate) source: ReleaseSource,
    /// A file with public keys (PEM), one of which must have signed it
    #[arg(long = "key", value_name = "FILE")]
    pub(crate) keys: Vec<PathBuf>,
    /// The digest that it must have
    #[arg(long, value_name = "DIGEST")]
    pub(crate) digest: Option<Digest>,
    /// How to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: FindingFormat,
}

/// Options of `clearway release render`.
#[derive(Debug, Args)]
pub(crate) struct ReleaseRender {
    #[command(flatten)]
    pub(crate) source: ReleaseSource,
    /// The directory of the files: empty, not there, or rendered before
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: PathBuf,
    /// Whose release it is
    #[arg(long, value_name = "KIND.NAME", default_value = "ClusterVersion.version", value_parser = parse_owner)]
    pub(crate) owner: (String, String),
    /// Also list what the cluster has of the owner, and the release no longer has
    #[arg(long)]
    pub(crate) prune: bool,
    /// Look at this state directory, in place of a cluster
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
        _ => Err(format!("`{text}` is no KEY=VALUE")),
    }
}
