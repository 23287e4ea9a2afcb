//! `docs/codes.md` has what `clearway explain` says, and every code in the sources has a page there.
//!
//! `make crds` runs this test with `CLEARWAY_WRITE_GENERATED` set: then it writes what it would otherwise compare.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The last subject of the list, which has a document of its own.
const REQUIREMENTS: &str = "Requirements and conventions that findings cite";

fn root() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).to_owned()
}

fn pages() -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_clearway")).args(["explain", "-o", "json"]).output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_index_of_codes_is_as_the_program_explains_them() {
    let path = root().join("docs/codes.md");
    let index = index(&pages());
    if std::env::var_os("CLEARWAY_WRITE_GENERATED").is_some() {
        fs::write(&path, &index).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == index, "docs/codes.md is not what the program explains; run `make crds` and commit it");
}

fn index(pages: &[Value]) -> String {
    let text = |page: &Value, key: &str| page[key].as_str().unwrap_or_default().replace('|', "\\|").replace('\n', " ");
    let mut out = String::from(
        "# Codes\n\n\
         Every finding, reason and exit code of Clearway, by subject. `clearway explain CODE` shows the whole page of a code, with\n\
         what it means, and an example that has it and one that does not; `clearway explain -o json` has all of them for\n\
         programs. This page is generated from the same texts (`make crds`).\n",
    );
    let mut subject = String::new();
    for page in pages.iter().filter(|page| page["subject"] != REQUIREMENTS) {
        let current = text(page, "subject");
        if current != subject {
            let by = text(page, "reportedBy");
            write!(
                out,
                "\n## {current}\n\nReported by: {by}.\n\n| code | severity | title | what to do |\n|---|---|---|---|\n"
            )
            .unwrap();
            subject = current;
        }
        let [code, severity, title, action] = ["code", "severity", "title", "action"].map(|key| text(page, key));
        writeln!(out, "| `{code}` | {severity} | {title} | {action} |").unwrap();
    }
    write!(out, "\n## {REQUIREMENTS}\n\nIds such as GW4 and U16 are defined in [requirements.md](requirements.md).\n")
        .unwrap();
    out
}

#[test]
fn every_code_and_reason_in_the_sources_has_a_page() {
    let pages = pages();
    let known: BTreeSet<&str> = pages.iter().filter_map(|page| page["code"].as_str()).collect();
    let mut missing = BTreeSet::new();
    let mut seen = 0;
    for path in sources(&root().join("crates")) {
        let source = fs::read_to_string(&path).unwrap();
        let product = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let code_lines = product.lines().filter(|line| !line.trim_start().starts_with("//"));
        let reports = path.components().any(|part| ["update", "operator"].iter().any(|name| part.as_os_str() == *name));
        for line in code_lines {
            let words = line.split('"').skip(1).step_by(2);
            for (word, before) in words.zip(line.split('"').step_by(2)) {
                let is_reason = reports
                    && !word.contains(' ')
                    && [" reason: ", "{ reason: ", "reason!(", "EventType::Normal, ", "EventType::Warning, "]
                        .iter()
                        .any(|mark| before.ends_with(mark));
                if is_code(word) || is_reason {
                    seen += 1;
                    if !known.contains(word) {
                        missing.insert(format!("{word} in {}", path.display()));
                    }
                }
            }
        }
    }
    assert!(seen > 250, "only {seen} codes were found in the sources, so they are not read as they should be");
    assert!(missing.is_empty(), "codes without a page for `clearway explain`: {missing:#?}");
}

/// Two or three capital letters and three digits; `RFC850` is a format of times.
fn is_code(word: &str) -> bool {
    let letters = word.chars().take_while(char::is_ascii_uppercase).count();
    let digits = word.chars().skip(letters).filter(char::is_ascii_digit).count();
    (2..=3).contains(&letters) && digits == 3 && word.chars().count() == letters + digits && !word.starts_with("RFC")
}

/// The source files of the product, without those of tests.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["tests", "benches", "examples", "demo", "testbed", "target"].contains(&name.as_str()) {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs" {
            found.push(path);
        }
    }
    found
}
