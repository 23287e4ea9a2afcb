//! Writes graph-data: of the size of a large product's, for benchmarks and to try services on, or of a publisher who wants
//! to use up memory and time.
//!
//! `cargo run -p clearway-graph --example generate -- DIR [COPIES]`: DIR is a graph-data directory then, with 76
//! channels, 5 architectures, 5,739 releases and 1,717 blocks for each of the copies, which share nothing.
//!
//! `… --example generate -- --hostile DIR [WORDS]`: DIR/data has one graph-data directory for each attack, and DIR/answers
//! one answer of an update service; with WORDS only those with these words in their names.

mod data;
mod hostile;
mod hostile_answers;

use std::path::Path;
use std::process::ExitCode;

use clearway_core::GraphLimits;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let written = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--hostile", directory, words @ ..] => attacks(Path::new(directory), &words.join(" ")),
        [directory] => copies(Path::new(directory), 1),
        [directory, number] if number.parse().is_ok_and(|copies: usize| (1..=90).contains(&copies)) => {
            copies(Path::new(directory), number.parse().unwrap_or(1))
        }
        _ => {
            eprintln!("usage: generate DIR [COPIES], with 1 to 90 copies, or generate --hostile DIR [WORDS]");
            return ExitCode::from(3);
        }
    };
    match written {
        Ok(files) => {
            println!("{files} files are written");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
    }
}

fn copies(directory: &Path, copies: usize) -> std::io::Result<usize> {
    let mut written = 0;
    for (path, text) in (0..copies).flat_map(data::files) {
        write(&directory.join(path), text.as_bytes())?;
        written += 1;
    }
    Ok(written)
}

fn attacks(directory: &Path, words: &str) -> std::io::Result<usize> {
    let caps = GraphLimits::default();
    let mut written = 0;
    for (name, files) in hostile::GRAPH_DATA.iter().filter(|(name, _)| name.contains(words)) {
        let root = directory.join("data").join(name.replace(' ', "-"));
        for (path, content) in files(&caps) {
            write(&root.join(path), &content)?;
            written += 1;
        }
    }
    for (name, answer) in hostile_answers::ANSWERS.iter().filter(|(name, _)| name.contains(words)) {
        write(&directory.join("answers").join(name.replace(' ', "-") + ".json"), &answer(&caps))?;
        written += 1;
    }
    Ok(written)
}

fn write(path: &Path, content: &[u8]) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, content)
}
