//! Reads files of YAML documents, named as arguments or on standard input, and writes one line of JSON for each.
//!
//! `cargo run --package clearway-yaml --example yaml_to_json -- FILE...` writes per file `{"file": …, "documents": […],
//! "problems": […]}`, for comparing the reader with others (`tools/corpora`).

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write as _};

use clearway_core::Limits;
use clearway_yaml::{ReadEvent, read};
use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let paths: Vec<String> = match std::env::args().skip(1).collect::<Vec<_>>() {
        none if none.is_empty() => io::stdin().lines().collect::<Result<_, _>>()?,
        given => given,
    };
    for path in paths {
        let (mut documents, mut problems): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
        match File::open(&path) {
            Ok(file) => {
                read(BufReader::new(file), &path, &Limits::default(), |found| match found {
                    ReadEvent::Object { root, .. } => documents.push(root.to_json()),
                    ReadEvent::Problem(problem) => {
                        let line = problem.place.position.map_or(0, |position| position.line);
                        problems.push(json!({"code": problem.code, "line": line, "message": problem.message}));
                    }
                });
            }
            Err(error) => problems.push(json!({"code": "", "line": 0, "message": error.to_string()})),
        }
        writeln!(out, "{}", json!({"file": path, "documents": documents, "problems": problems}))?;
    }
    out.flush()
}
