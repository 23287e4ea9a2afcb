//! Tests whose components are not installed: never a silent skip.
//!
//! A test whose component is missing fails, with one exception: when the environment variable `CLEARWAY_NOT_RUN` names
//! a file, the test ends without a failure and a line is added to that file, for whoever runs the tests to show at the
//! end. The fields of a line are separated by tabs:
//!
//! ```text
//! test <TAB> component <TAB> why it is missing <TAB> how to get it
//! ```

use std::env;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use crate::assets::Component;
use crate::error::{Error, Result};

/// The environment variable with the file that lists what was not run.
const NOT_RUN: &str = "CLEARWAY_NOT_RUN";

/// A component that is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{component} is missing ({why}); to get it: {how}")]
pub struct MissingComponent {
    /// The component's name.
    pub component: &'static str,
    /// Why it is not there.
    pub why: String,
    /// How to get it.
    pub how: String,
}

/// Whether all these components are there. If one is not, the test that asks is listed as not run and is to return;
/// where there is no such list, the test fails.
///
/// ```no_run
/// use clearway_testbed::{Component, have};
///
/// if !have(&[Component::Nginx]) {
///     return;
/// }
/// ```
///
/// # Panics
///
/// When a component is missing and `CLEARWAY_NOT_RUN` is not set: the test that needs it cannot pass.
pub fn have(components: &[Component]) -> bool {
    available(components.iter().try_for_each(|component| component.find().map(drop)).map_err(Error::from)).is_some()
}

/// Lists a part of a test that cannot run on this machine although nothing could be installed for it. Where there is no such
/// list, the part is named on standard error, and the test goes on.
pub fn note_not_run(missing: &MissingComponent) {
    match env::var_os(NOT_RUN).filter(|value| !value.is_empty()) {
        Some(list) => write_down(missing, &test_name(), Some(&list)),
        None => eprintln!("{}: a part was not run: {missing}", test_name()),
    }
}

/// The value; nothing when a component is missing and that was written down. Any other error fails the test.
#[track_caller]
pub(crate) fn available<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Error::Missing(missing)) => {
            let list = env::var_os(NOT_RUN).filter(|value| !value.is_empty());
            write_down(&missing, &test_name(), list.as_deref());
            None
        }
        Err(error) => panic!("the test bed did not start: {error}"),
    }
}

#[track_caller]
fn write_down(missing: &MissingComponent, test: &str, list: Option<&OsStr>) {
    let Some(list) = list else {
        panic!("this test needs a component that is not there: {missing}. `make test` or `testbed/install` gets it.");
    };
    // One write of one line: other tests write to the same file.
    let line = format!("{test}\t{}\t{}\t{}\n", missing.component, missing.why, missing.how);
    let written =
        OpenOptions::new().create(true).append(true).open(list).and_then(|mut file| file.write_all(line.as_bytes()));
    if let Err(error) = written {
        panic!("{test} cannot run ({missing}), and {} cannot be written: {error}", Path::new(list).display());
    }
}

/// The name of the running test: the test binary, and the thread, which bears the test's name.
fn test_name() -> String {
    let program = env::current_exe().ok().and_then(|path| path.file_stem()?.to_str().map(str::to_owned));
    let program = program.as_deref().map_or("test", without_hash);
    let thread = std::thread::current();
    format!("{program}::{}", thread.name().unwrap_or("unnamed"))
}

/// Cargo names test binaries `name-0123456789abcdef`.
fn without_hash(program: &str) -> &str {
    match program.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => program,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing() -> MissingComponent {
        MissingComponent { component: "etcd", why: "no go".to_owned(), how: "install go".to_owned() }
    }

    #[test]
    fn a_missing_component_is_written_down() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("not-run");
        write_down(&missing(), "crate::one", Some(list.as_os_str()));
        write_down(&missing(), "crate::two", Some(list.as_os_str()));
        let text = std::fs::read_to_string(list).unwrap();
        assert_eq!(text, "crate::one\tetcd\tno go\tinstall go\ncrate::two\tetcd\tno go\tinstall go\n");
    }

    #[test]
    #[should_panic(expected = "etcd is missing (no go); to get it: install go")]
    fn without_a_list_the_test_fails() {
        write_down(&missing(), "crate::one", None);
    }

    #[test]
    fn the_test_is_named_without_cargo_s_hash() {
        assert_eq!(without_hash("clearway_testbed-0123456789abcdef"), "clearway_testbed");
        assert_eq!(without_hash("other-name"), "other-name");
        assert!(test_name().ends_with("the_test_is_named_without_cargo_s_hash"), "{}", test_name());
    }
}
