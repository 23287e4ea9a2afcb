//! `clearway` without a cluster: files, standard input, help, completions, manual pages, demo.

mod assess;
mod bundle;
mod catalog;
mod cel;
mod demo;
mod documents;
mod explain;
mod fleet;
mod gateway;
mod graph;
mod lint_options;
mod policy;
mod policy_audit;
mod promql;
mod release;
mod risk;
mod serve;
mod status;
mod unreachable;
mod upgrade;
mod usage;
mod wrong_usage;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The morning the samples of the demo are judged as of.
const MORNING: &str = "2026-05-04T09:00:00Z";

/// An object with exactly one finding: SC002 in line 6, column 27 of the six lines.
const WIDGET: &str = r#"apiVersion: example.com/v1
kind: Widget
metadata: {name: later}
status:
  conditions:
  - {type: Ready, status: "maybe", reason: X, message: m, lastTransitionTime: "2026-01-01T00:00:00Z"}
"#;

/// An object without a finding.
const FINE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fine}\n";

/// What a run came to.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    code: i32,
    out: String,
    err: String,
}

/// A directory that commands are run in.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    /// A directory with the samples of the demo in `samples`.
    fn with_samples() -> Self {
        let place = Place::new();
        assert_eq!(place.run(&["demo", "--output-dir", "kept"]).code, 0);
        fs::rename(place.path().join("kept/objects"), place.path().join("samples")).unwrap();
        fs::remove_dir_all(place.path().join("kept")).unwrap();
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// The program, with nothing of the machine it runs on.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clearway"));
        command.args(arguments).current_dir(self.path()).env("HOME", self.path()).stdin(Stdio::null());
        for name in [
            "KUBECONFIG",
            "NO_COLOR",
            "CLICOLOR",
            "CLICOLOR_FORCE",
            "COLUMNS",
            "KUBERNETES_SERVICE_HOST",
            "CLEARWAY_STATE",
        ] {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> Answer {
        answer(self.command(arguments).output().unwrap())
    }

    fn run_with(&self, input: impl AsRef<[u8]>, arguments: &[&str]) -> Answer {
        let mut command = self.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut pipe, input) = (child.stdin.take().unwrap(), input.as_ref());
        std::thread::scope(|scope| {
            // The child may end before it has read everything.
            scope.spawn(move || pipe.write_all(input));
            answer(child.wait_with_output().unwrap())
        })
    }
}

fn answer(output: std::process::Output) -> Answer {
    Answer {
        code: output.status.code().expect("no signal ends it"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Answer {
    /// The output as JSON.
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The findings of a run with `-o json`, each as `CODE file:line:column`.
    fn places(&self) -> Vec<String> {
        let findings = self.json();
        findings
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| {
                let at = &finding["where"];
                let file = at["file"].as_str().unwrap_or_default();
                let position = match (at["line"].as_u64(), at["column"].as_u64()) {
                    (Some(line), Some(column)) => format!(":{line}:{column}"),
                    _ => String::new(),
                };
                format!("{} {file}{position}", finding["code"].as_str().unwrap())
            })
            .collect()
    }
}
