//! The unit tests of risks in a graph-data directory, as far as a reader wants to know which there are.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::files::confined::ConfinedDirectory;

/// The directory beside `risks/` and `blocked-edges/`.
const DIRECTORY: &str = "risk-tests";
/// Files that are read.
const MOST_FILES: usize = 5_000;
/// Bytes of one file; a larger one is left out.
const FILE_BYTES: u64 = 4 << 20;

/// A file and the names of its cases.
pub type TestFile = (String, Vec<String>);

#[derive(Deserialize)]
struct RiskTestFile {
    risk: String,
    #[serde(default)]
    cases: Vec<CaseName>,
}

#[derive(Deserialize)]
struct CaseName {
    #[serde(default)]
    name: String,
}

/// The files of unit tests and their cases, by the name of the risk; none if there is no such directory. A file that cannot be
/// read is left out: `clearway risk test` says what is wrong with it.
pub fn risk_tests(directory: &Path) -> io::Result<BTreeMap<String, Vec<TestFile>>> {
    let mut graph_data = ConfinedDirectory::open(directory)?;
    let mut names: Vec<PathBuf> =
        graph_data.list_names(Path::new(DIRECTORY))?.into_iter().flatten().map(PathBuf::from).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml"));
    names.sort();
    let mut tests: BTreeMap<String, Vec<TestFile>> = BTreeMap::new();
    for path in names.iter().take(MOST_FILES) {
        let Ok(bytes) = graph_data.read_file(Path::new(DIRECTORY), path, FILE_BYTES) else { continue };
        let Some(file) = std::str::from_utf8(&bytes).ok().and_then(|text| serde_saphyr::from_str(text).ok()) else {
            continue;
        };
        let RiskTestFile { risk, cases } = file;
        let cases = cases.into_iter().map(|case| case.name).collect();
        tests.entry(risk).or_default().push((format!("{DIRECTORY}/{}", path.display()), cases));
    }
    Ok(tests)
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
}
