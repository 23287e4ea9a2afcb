//! The binary `clearway`; the library beside it carries out the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    clearway_cli::run()
}
