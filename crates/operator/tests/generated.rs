//! `crds/`, `deploy/` and the diagram in `docs/update-states.md` are as the code has them.
//!
//! `make crds` runs this test with `CLEARWAY_WRITE_GENERATED` set: then it writes what it would otherwise compare. It is a
//! test, and no program of its own, so that nothing has to be compiled a second time to check the files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clearway_bundle::{Channel, to_yaml};
use clearway_operator::install::{helm, kustomize};
use clearway_update::api;
use clearway_update::rollout::transitions;

#[test]
fn the_crds_are_as_the_types_have_them() {
    for channel in Channel::ALL {
        let mut files = BTreeMap::new();
        for crd in api::crds(channel).unwrap() {
            let name = crd["metadata"]["name"].as_str().unwrap();
            files.insert(PathBuf::from(format!("{name}.yaml")), to_yaml(&crd).unwrap());
        }
        compare_or_write(&format!("crds/{}", channel.as_str()), &files);
    }
}

#[test]
fn the_manifests_are_as_the_installation_has_them() {
    let files = kustomize::files().unwrap().into_iter().chain(helm::files().unwrap());
    let files = files.map(|(name, text)| (PathBuf::from(name), text)).collect();
    compare_or_write("deploy", &files);
}

#[test]
fn the_diagram_of_an_update_is_as_the_table_has_it() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("docs/update-states.md");
    let written = fs::read_to_string(&path).unwrap();
    let (begin, end) = ("```mermaid\n", "```\n");
    let (before, rest) = written.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let generated = format!("{before}{begin}{}{end}{after}", transitions::mermaid());
    if std::env::var_os("CLEARWAY_WRITE_GENERATED").is_some() {
        fs::write(&path, &generated).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap();
    assert_eq!(found, generated, "docs/update-states.md is not as the table has it; run `make crds` and commit it");
}

/// Compares a directory of the repository with these files and no others, or makes it hold them.
fn compare_or_write(directory: &str, files: &BTreeMap<PathBuf, String>) {
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(directory);
    if std::env::var_os("CLEARWAY_WRITE_GENERATED").is_some() {
        write(&directory, files);
    }
    let mut found = BTreeMap::new();
    for path in files_below(&directory) {
        found.insert(path.strip_prefix(&directory).unwrap().to_owned(), fs::read_to_string(&path).unwrap());
    }
    let differing: Vec<_> =
        files.keys().chain(found.keys()).filter(|name| files.get(*name) != found.get(*name)).collect();
    assert!(
        differing.is_empty(),
        "not as the types have them: {differing:?}; run `make crds` and commit what it writes"
    );
}

fn write(directory: &Path, files: &BTreeMap<PathBuf, String>) {
    for path in files_below(directory) {
        if !files.contains_key(path.strip_prefix(directory).unwrap()) {
            fs::remove_file(&path).unwrap();
        }
    }
    for (name, text) in files {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
