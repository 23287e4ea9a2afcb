//! The unit tests of risks in a graph-data directory, as far as a reader wants to know which there are.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use clearway_core::Limits;
use clearway_yaml::{Node, ReadEvent};

use crate::files::confined::ConfinedDirectory;

/// The directory beside `risks/` and `blocked-edges/`.
const DIRECTORY: &str = "risk-tests";
/// Files that are read.
const MOST_FILES: usize = 5_000;
/// Bytes of one file; a larger one is left out.
const FILE_BYTES: u64 = 1 << 20;
/// Bytes of all files; what comes behind them is left out.
const ALL_BYTES: usize = 16 << 20;
/// Cases of one file, and letters of the name of one, that are kept: a service keeps them for as long as a revision lasts.
const KEPT: (usize, usize) = (200, 200);

/// A file and the names of its cases.
pub type TestFile = (String, Vec<String>);

/// The files of unit tests and their cases, by the name of the risk; none if there is no such directory. A file that cannot be
/// read is left out: `clearway risk test` says what is wrong with it.
pub fn risk_tests(directory: &Path) -> io::Result<BTreeMap<String, Vec<TestFile>>> {
    let mut graph_data = ConfinedDirectory::open(directory)?;
    let mut names: Vec<PathBuf> =
        graph_data.list_names(Path::new(DIRECTORY))?.into_iter().flatten().map(PathBuf::from).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml"));
    names.sort();
    let mut tests: BTreeMap<String, Vec<TestFile>> = BTreeMap::new();
    let mut left = ALL_BYTES;
    for path in names.iter().take(MOST_FILES) {
        let Ok(bytes) = graph_data.read_file(Path::new(DIRECTORY), path, FILE_BYTES) else { continue };
        let Some(rest) = left.checked_sub(bytes.len()) else { break };
        left = rest;
        if let Some((risk, cases)) = read_cases(&bytes) {
            tests.entry(risk).or_default().push((format!("{DIRECTORY}/{}", path.display()), cases));
        }
    }
    Ok(tests)
}

/// The name of the risk, and those of the cases; nothing if the file is not a test.
fn read_cases(bytes: &[u8]) -> Option<(String, Vec<String>)> {
    let (mut found, mut is_one) = (None, true);
    clearway_yaml::read(bytes, "", &Limits::for_graph_data(), |event| match event {
        ReadEvent::Object { root, .. } if found.is_none() => {
            let kept = |text: &str| text.chars().take(KEPT.1).collect::<String>();
            let name = |case: Node<'_>| case.get("name").and_then(|name| name.as_text().map(kept)).unwrap_or_default();
            let cases = root.get("cases").into_iter().flat_map(Node::items).take(KEPT.0).map(name).collect();
            found = root.get("risk").and_then(|risk| risk.as_text().map(str::to_owned)).map(|risk| (risk, cases));
            is_one = found.is_some();
        }
        ReadEvent::Object { .. } | ReadEvent::Problem(_) => is_one = false,
    });
    found.filter(|_| is_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_has_tests_for_its_risks() {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/graph-data");
        let tests = risk_tests(&example).unwrap();
        let (file, cases) = &tests["SlowEtcd"][0];
        assert_eq!(file, "risk-tests/SlowEtcd.yaml");
        assert!(!cases.is_empty() && cases.iter().all(|case| !case.is_empty()), "{cases:?}");
    }

    #[test]
    fn files_that_are_not_tests_are_left_out() {
        let directory = tempfile::tempdir().unwrap();
        assert!(risk_tests(directory.path()).unwrap().is_empty());
        let tests = directory.path().join(DIRECTORY);
        std::fs::create_dir(&tests).unwrap();
        for (name, text) in [("a.yaml", "risk: A\ncases: [{name: one}]\n"), ("b.yaml", "- 1\n"), ("c.txt", "risk: C\n")]
        {
            std::fs::write(tests.join(name), text).unwrap();
        }
        let found = risk_tests(directory.path()).unwrap();
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [("A".to_owned(), vec![("risk-tests/a.yaml".to_owned(), vec!["one".to_owned()])])]
        );
    }

    /// Whoever writes graph-data chooses how many tests there are, and a service keeps their names.
    #[test]
    fn tests_without_number_take_a_bounded_amount_of_memory() {
        let directory = tempfile::tempdir().unwrap();
        let tests = directory.path().join(DIRECTORY);
        std::fs::create_dir(&tests).unwrap();
        let case = format!("- name: {}\n", "x".repeat(2_000));
        for number in 0..40 {
            std::fs::write(tests.join(format!("{number}.yaml")), format!("risk: A\ncases:\n{}", case.repeat(500)))
                .unwrap();
        }
        std::fs::write(
            tests.join("aliases.yaml"),
            format!("risk: A\nx: &x {}\ncases:\n{}", "x".repeat(500_000), "- name: *x\n".repeat(40_000)),
        )
        .unwrap();
        let found = risk_tests(directory.path()).unwrap();
        let files = &found["A"];
        assert!(files.len() < 20, "{}", files.len());
        assert!(files.iter().all(|(_, cases)| cases.len() == KEPT.0 && cases.iter().all(|name| name.len() == KEPT.1)));
    }
}
