//! Writes graph-data of the size of a large product's, for benchmarks and to try services on.
//!
//! `cargo run -p clearway-graph --example generate -- DIR [COPIES]`: DIR is a graph-data directory then, with 76
//! channels, 5 architectures, 5,739 releases and 1,717 blocks for each of the copies, which share nothing.

mod data;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let copies = arguments.get(1).map_or(Ok(1), |copies| copies.parse());
    let (Some(directory), Ok(copies @ 1..=90)) = (arguments.first(), copies) else {
        eprintln!("usage: generate DIR [COPIES], with 1 to 90 copies");
        return ExitCode::from(3);
    };
    match write(Path::new(directory), copies) {
        Ok(files) => {
            println!("{files} files are in {directory}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{directory}: {error}");
            ExitCode::from(3)
        }
    }
}

fn write(directory: &Path, copies: usize) -> std::io::Result<usize> {
    let mut written = 0;
    for (path, text) in (0..copies).flat_map(data::files) {
        let path = directory.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
        written += 1;
    }
    Ok(written)
}
