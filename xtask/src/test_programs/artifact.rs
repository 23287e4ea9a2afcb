//! A test program, as cargo reports it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

/// The programs that take the longest, in that order: they begin first, so that none is left over at the end. Others follow.
const LONGEST: [&str; 12] = [
    "clearway/live_operator",
    "clearway/hostile",
    "clearway/live_policies",
    "clearway/live_install",
    "clearway-operator/apply_update",
    "clearway/offline",
    "clearway/documentation",
    "clearway-server/serve",
    "clearway/live_status",
    "clearway/live_policy",
    "clearway-operator/crds",
    "clearway/live_gateway",
];

/// A program with tests.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TestProgram {
    /// The file to run.
    pub(super) executable: PathBuf,
    /// The directory of its package, in which it runs.
    pub(super) package: PathBuf,
    name: String,
}

impl TestProgram {
    /// The program that a line of `cargo test --message-format=json` is about; none if it is about something else.
    pub(super) fn read(line: &str) -> Result<Option<Self>> {
        let message: Value = serde_json::from_str(line).with_context(|| format!("not JSON from cargo: {line}"))?;
        let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
        let is_test = message.pointer("/profile/test").and_then(Value::as_bool) == Some(true);
        let is_benchmark = text("/target/kind/0") == Some("bench");
        let (true, false, Some(executable)) = (is_test, is_benchmark, text("/executable")) else { return Ok(None) };
        let manifest = text("/manifest_path").context("an artifact of cargo without a manifest")?;
        let package = Path::new(manifest).parent().context("a manifest without a directory")?.to_owned();
        let name = text("/target/name").context("an artifact of cargo without a name")?.to_owned();
        Ok(Some(TestProgram { executable: executable.into(), package, name }))
    }

    /// The package and the program, such as `clearway/live_operator`. The directory of the package `clearway` is `cli`.
    pub(super) fn label(&self) -> String {
        let directory = self.package.file_name().unwrap_or_default().to_string_lossy();
        let package = match &*directory {
            "cli" => "clearway".to_owned(),
            "xtask" => "xtask".to_owned(),
            other => format!("clearway-{other}"),
        };
        format!("{package}/{}", self.name)
    }

    /// A name that no other program has. The label is none: a program and its tests may share it.
    pub(super) fn file_name(&self) -> Cow<'_, str> {
        self.executable.file_name().unwrap_or_default().to_string_lossy()
    }

    /// Its place in the order in which programs are started.
    pub(super) fn rank(&self) -> usize {
        let label = self.label();
        LONGEST.iter().position(|known| *known == label).unwrap_or(LONGEST.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn programs_with_tests_are_found_among_what_cargo_says() {
        let line = |kind: &str, test: bool, executable: Option<&str>| {
            let message = json!({
                "reason": "compiler-artifact", "manifest_path": "/w/crates/cli/Cargo.toml", "executable": executable,
                "target": {"name": "hostile", "kind": [kind]}, "profile": {"test": test},
            });
            TestProgram::read(&message.to_string()).unwrap()
        };
        let program = line("test", true, Some("/w/target/debug/deps/hostile-1")).unwrap();
        assert_eq!((program.label().as_str(), program.rank()), ("clearway/hostile", 1));
        assert_eq!(program.package, Path::new("/w/crates/cli"));
        let namesake = line("bin", true, Some("/w/target/debug/deps/hostile-2")).unwrap();
        assert_eq!(namesake.label(), program.label());
        assert_ne!(namesake.file_name(), program.file_name(), "their output is kept apart by it");
        assert_eq!(line("bin", false, Some("/w/target/debug/clearway")), None);
        assert_eq!(line("bench", true, Some("/w/target/debug/deps/lint-1")), None);
        assert_eq!(line("test", true, None), None);
        assert_eq!(TestProgram::read(r#"{"reason": "build-finished", "success": true}"#).unwrap(), None);
        assert!(TestProgram::read("Compiling").is_err());
    }
}
