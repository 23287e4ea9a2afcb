//! A directory and a git revision of graph-data, and what neither of them is.

use super::*;
use std::os::unix::fs::symlink;

fn sample() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("version", "1.1.0\n"),
        ("channels/stable.yaml", "name: stable\nversions: [1.0.0]\n"),
        ("channels/old/away.yaml", "x"),
        ("README.md", "x"),
    ] {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

fn names(inputs: &Inputs) -> Vec<String> {
    inputs.iter().map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn what_is_gathered_keeps_to_the_caps_on_graphs() {
    let caps = clearway_core::GraphLimits::default();
    assert_eq!((collect::FILES, collect::BYTES, collect::NAME_BYTES), (caps.files, caps.data_bytes, caps.path_bytes));
    assert_eq!(archive::ANSWER_BYTES, caps.answer_bytes as u64);
}

#[test]
fn a_directory_is_its_files_and_nothing_else() {
    let root = sample();
    let inputs = directory(root.path(), &Limits::default()).unwrap();
    assert_eq!(names(&inputs), ["channels/stable.yaml", "version"]);
}

#[test]
fn what_is_no_graph_data_missing_or_too_large_is_said() {
    let root = sample();
    let error = |path: PathBuf, limits: &Limits| directory(&path, limits).unwrap_err().to_string();
    assert!(error(root.path().join("channels/old"), &Limits::default()).contains("not graph-data"));
    assert!(error(root.path().join("nope"), &Limits::default()).contains("No such file"));
    let small = Limits { file_bytes: 8, ..Limits::default() };
    assert!(error(root.path().to_owned(), &small).ends_with("larger than 8 bytes"));
}

/// The hooks of a reading that changes the directory each time.
struct Restless<'r>(&'r Path, usize);

impl ReadHooks for Restless<'_> {
    fn after_reading(&mut self, _: usize) {
        self.1 += 1;
        fs::write(self.0.join(format!("channels/{}.yaml", self.1)), "name: x").unwrap();
    }

    fn before_next(&mut self, _: usize) {}
}

#[test]
fn a_directory_that_never_rests_is_refused_with_what_to_do() {
    let root = sample();
    let mut restless = Restless(root.path(), 0);
    let error = read_directory(root.path(), &Limits::default(), &mut restless).unwrap_err().to_string();
    assert_eq!(restless.1, READS);
    assert!(error.contains("changed during each of 5 reads") && error.contains("docs/publishing.md"), "{error}");
}

/// Swaps a mounted `ConfigMap` after the first reading, as the kubelet does.
struct Swap<'r>(&'r Path);

impl ReadHooks for Swap<'_> {
    fn after_reading(&mut self, reading: usize) {
        if reading == 0 {
            symlink("..2026_02", self.0.join("..data_tmp")).unwrap();
            fs::rename(self.0.join("..data_tmp"), self.0.join("..data")).unwrap();
        }
    }

    fn before_next(&mut self, _: usize) {}
}

#[test]
fn a_mounted_config_map_is_read_and_a_swap_of_it_is_noticed() {
    // As the kubelet writes it: names at the top are links into `..data`, which is a link to a directory with a date.
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    for (date, version) in [("..2026_01", "1.1.0"), ("..2026_02", "1.2.0")] {
        fs::create_dir_all(path(&format!("{date}/channels"))).unwrap();
        fs::write(path(&format!("{date}/version")), version).unwrap();
        fs::write(path(&format!("{date}/channels/a.yaml")), version).unwrap();
    }
    symlink("..2026_01", path("..data")).unwrap();
    symlink("..data/version", path("version")).unwrap();
    symlink("..data/channels", path("channels")).unwrap();
    // A volume mounted at a directory of its own has files that are links.
    fs::create_dir_all(path("risks/..2026_03")).unwrap();
    fs::write(path("risks/..2026_03/r.yaml"), "r").unwrap();
    symlink("..2026_03", path("risks/..data")).unwrap();
    symlink("..data/r.yaml", path("risks/r.yaml")).unwrap();
    let inputs = directory(root.path(), &Limits::default()).unwrap();
    assert_eq!(names(&inputs), ["channels/a.yaml", "risks/r.yaml", "version"]);
    assert_eq!(inputs.unreadable().count(), 0);

    let inputs = read_directory(root.path(), &Limits::default(), &mut Swap(root.path())).unwrap();
    let content = |name: &str| inputs.get(name).unwrap().to_vec();
    assert_eq!((content("version"), content("channels/a.yaml")), (b"1.2.0".to_vec(), b"1.2.0".to_vec()));
}
