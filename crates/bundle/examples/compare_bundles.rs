//! Compares two directories of CRDs and prints the findings: `compare_bundles DOMAIN OLD NEW`, with times on standard error.

use std::path::Path;
use std::time::Instant;

use clearway_bundle::{Bundle, BundleLimits, BundleReader, Comparison};

fn read(domain: &str, directory: &str) -> Bundle {
    let mut files: Vec<_> = std::fs::read_dir(Path::new(directory))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .filter(|path| !path.ends_with("kustomization.yaml"))
        .collect();
    files.sort();
    let mut reader = BundleReader::new(directory, domain, BundleLimits::default());
    for file in files {
        reader.add_file(&file.display().to_string(), &std::fs::read(&file).expect("a file"));
    }
    reader.finish()
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, domain, old, new] = arguments.as_slice() else {
        eprintln!("usage: compare_bundles DOMAIN OLD NEW");
        std::process::exit(2);
    };
    let start = Instant::now();
    let (old, new) = (read(domain, old), read(domain, new));
    let reading = start.elapsed();
    let start = Instant::now();
    let judgement = Comparison::new(&old, &new).judge();
    eprintln!("read in {reading:?}, judged in {:?}", start.elapsed());
    for problem in old.problems.iter().chain(&new.problems) {
        eprintln!("{}: {}", problem.code, problem.message);
    }
    for finding in &judgement.findings {
        println!("{} {}: {}: {}", finding.rule, finding.verdict, finding.path, finding.message);
    }
    println!("{:?}: needs {}, allowed {}", judgement.outcome(), judgement.needed(), judgement.allowed);
}
