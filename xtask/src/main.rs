//! The project's own checks, run as `cargo xtask <check>`.

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
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().check {
        Check::Purity => purity::check(),
    }
}
