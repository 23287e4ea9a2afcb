//! `clearway`, for the container image that `tools/image --profile dev` builds.
//!
//! The binary of a release is that of `crates/cli`. This one does the same, and its dependencies have the features that tests
//! have, so that building the image in a test only links what is compiled already.

use std::process::ExitCode;

fn main() -> ExitCode {
    clearway_cli::run()
}
