//! `clearway policy verify`: runs suites of gator, with its output and exit codes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, bail};
use clearway_core::Limits;
use clearway_policy::run::{self, SuiteResult, World};
use clearway_policy::{Filter, Suite, read_document};

use super::{files, worker};
use crate::arguments::PolicyVerify;
use crate::exit::Exit;
use crate::{junit, output};

/// Runs the command. Everything that goes wrong is exit code 1, as in gator.
pub(super) fn run(options: &PolicyVerify) -> Exit {
    verify(options).unwrap_or_else(|error| {
        output::print_problem!("Error: {error:#}");
        Exit::No
    })
}

fn verify(options: &PolicyVerify) -> Result<Exit> {
    let filter = Filter::read(&options.run).context("compiling filter")?;
    let suites = read_suites(&options.paths).context("listing test files")?;
    let start = Instant::now();
    let budget = worker::budget(&options.limits);
    let limits = Limits::default();
    let world = World {
        read: &read_file,
        clock: &|| start.elapsed(),
        limits: &limits,
        budget: &budget,
        watch: &|subject, evaluate| worker::watched(subject, evaluate),
    };
    let results: Vec<SuiteResult> =
        suites.iter().map(|(path, suite)| run::run_suite(suite, path, &filter, &world)).collect();
    if let Some(file) = &options.report.junit {
        let suites = results.iter().map(|suite| (suite.path.as_str(), junit_cases(suite)));
        fs::write(file, junit::write(suites)).with_context(|| format!("cannot write {}", file.display()))?;
    }
    output::print_line!("{}", run::print(&results, output::settings().verbose > 0));
    if results.iter().any(SuiteResult::is_failure) {
        output::print_problem!("Error: FAIL");
        return Ok(Exit::No);
    }
    Ok(Exit::Yes)
}

/// The error of the system in its own words, as gator has it.
fn read_file(path: &str) -> Result<String, String> {
    if !Path::new(path).exists() {
        return Err("no such file or directory".to_owned());
    }
    files::read_text(Path::new(path)).map_err(|error| format!("{error:#}"))
}

/// The suites below some paths. Files that are no suites are passed over.
fn read_suites(paths: &[String]) -> Result<Vec<(String, Suite)>> {
    let mut suites = Vec::new();
    for path in paths {
        for file in suite_files(path)? {
            let name = file.display().to_string();
            let text = files::read_text(&file)?;
            // Only the first document counts; what is not YAML is not a suite unless it was named.
            let document = match read_document(&text, &name, &Limits::default()) {
                Ok(document) => document,
                Err(_) if !name.eq(path) && !text.contains("test.gatekeeper.sh") => continue,
                Err(error) => bail!("{error}: parsing yaml file {name:?}"),
            };
            if Suite::is_suite(&document) {
                let suite = Suite::read(&document).map_err(|error| anyhow!("{name}: {error}"))?;
                suites.push((name, suite));
            }
        }
    }
    suites.sort_by(|(first, _), (second, _)| first.cmp(second));
    Ok(suites)
}

fn suite_files(path: &str) -> Result<Vec<PathBuf>> {
    let (directory, recursive) = path.strip_suffix("/...").map_or((path, false), |directory| (directory, true));
    let directory = Path::new(if directory.is_empty() { "/" } else { directory });
    let metadata = fs::metadata(directory).with_context(|| format!("stat {}", directory.display()))?;
    let is_yaml = |path: &Path| path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    match (metadata.is_dir(), recursive) {
        (false, true) => bail!("can only recursively traverse directories, not a directory: {path:?}"),
        (false, false) if !is_yaml(directory) => {
            let extension =
                directory.extension().map(|extension| format!(".{}", extension.display())).unwrap_or_default();
            bail!("unsupported extension: {extension:?}")
        }
        (false, false) => Ok(vec![directory.to_owned()]),
        (true, true) => {
            let mut found = files::list_below(directory)?;
            found.retain(|file| is_yaml(file));
            Ok(found)
        }
        (true, false) => {
            let mut found = Vec::new();
            for entry in fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))? {
                let entry = entry?;
                let (path, kind) = (entry.path(), entry.file_type()?);
                if kind.is_dir() || !is_yaml(&path) {
                    continue;
                }
                // It may stand for a suite, and without it all of them would pass.
                if !kind.is_file() {
                    bail!("cannot read {}: it is not a regular file; name the file itself", path.display());
                }
                found.push(path);
            }
            found.sort();
            Ok(found)
        }
    }
}

fn junit_cases(suite: &SuiteResult) -> Vec<junit::Case> {
    let mut cases = Vec::new();
    for test in &suite.tests {
        let outcome = |skipped: bool, error: &Option<String>| match (skipped, error) {
            (true, _) => junit::Outcome::Skipped("not selected, or skipped by the suite".to_owned()),
            (false, Some(error)) => junit::Outcome::Failed(error.clone()),
            (false, None) => junit::Outcome::Passed,
        };
        if test.cases.is_empty() || test.error.is_some() {
            cases.push(junit::Case { name: test.name.clone(), result: outcome(test.skipped, &test.error) });
        }
        for case in &test.cases {
            let name = format!("{}/{}", test.name, case.name);
            cases.push(junit::Case { name, result: outcome(case.skipped, &case.error) });
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_stand_for_a_suite_is_not_passed_over() {
        let place = tempfile::tempdir().unwrap();
        let listed = || suite_files(&place.path().display().to_string());
        fs::write(place.path().join("a.yaml"), "").unwrap();
        fs::create_dir(place.path().join("b.yaml")).unwrap();
        std::os::unix::fs::symlink("nowhere", place.path().join("notes")).unwrap();
        assert_eq!(listed().unwrap(), [place.path().join("a.yaml")]);
        for target in ["a.yaml", "/dev/zero", "gone"] {
            let odd = place.path().join("odd.yaml");
            std::os::unix::fs::symlink(target, &odd).unwrap();
            let error = listed().unwrap_err().to_string();
            assert!(error.contains("odd.yaml: it is not a regular file"), "{error}");
            fs::remove_file(odd).unwrap();
        }
    }
}
