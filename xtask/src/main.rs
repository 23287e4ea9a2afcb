//! The project's own checks, run as `cargo xtask <check>`.

mod purity;
mod text;

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
    /// Strings, help and pages use plain words, and every cited requirement is defined.
    Text {
        /// Print this many strings of the product instead, chosen evenly.
        #[arg(long, value_name = "COUNT")]
        sample: Option<usize>,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().check {
        Check::Purity => purity::check(),
        Check::Text { sample } => text::check(sample),
    }
}

/// Whether attributes say that an item is only compiled for tests.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test")))
    })
}
