//! The project's own checks and the release archive, run as `cargo xtask <task>`.

mod dist;
mod purity;
mod test_programs;
mod text;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// The project's own checks, and the release archive.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build the release archive: static binary, manual pages, completions, licences, SBOM; and the Helm chart.
    Dist {
        /// Where the archives and SHA256SUMS go.
        #[arg(long, value_name = "DIR", default_value = "target/dist")]
        output: PathBuf,
        /// Build although there are changes that no commit has.
        #[arg(long)]
        allow_dirty: bool,
    },
    /// No pure crate reaches an effect, and no crate uses another that the crate map does not allow.
    Purity,
    /// Build all tests, and run several test programs at one time.
    Test,
    /// Strings, help and pages use plain words, and every cited requirement is defined.
    Text {
        /// Print this many strings of the product instead, chosen evenly.
        #[arg(long, value_name = "COUNT")]
        sample: Option<usize>,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().task {
        Task::Dist { output, allow_dirty } => dist::run(&output, allow_dirty),
        Task::Purity => purity::check(),
        Task::Test => test_programs::run(),
        Task::Text { sample } => text::check(sample),
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
