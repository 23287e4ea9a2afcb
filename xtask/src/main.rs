//! The project's own checks, run as `cargo xtask <check>`.

mod generated;
mod purity;

use clap::{Parser, Subcommand};

/// The project's own checks.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    check: Check,
}

#[derive(Subcommand)]
enum Check {
    /// No pure crate reaches an effect, and no crate uses another that the crate map does not allow.
    Purity,
    /// Writes the CRDs of both channels, as the types of the operator have them.
    Crds {
        /// Only says whether the files are as they would be written.
        #[arg(long)]
        check: bool,
    },
    /// Writes the manifests of `deploy`: what `clearway install` applies, for kustomize.
    Deploy {
        /// Only says whether the files are as they would be written.
        #[arg(long)]
        check: bool,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().check {
        Check::Purity => purity::check(),
        Check::Crds { check } => generated::crds(check),
        Check::Deploy { check } => generated::deploy(check),
    }
}
