//! The web console of `clearway demo`: its pages while the demo runs, and who gets it opened in a browser.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clearway_testbed::{IN_TIME, wait_until};
use rustix::process::Signal;

use super::running::Running;
use crate::Place;

/// The console that a line of the demo names: its address, without the scheme and the path.
fn address(line: &str) -> &str {
    line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix("/console/")).expect(line)
}

/// A page of the console.
fn page(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /console/{path} HTTP/1.0\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 200 "), "{path}: {answer}");
    answer
}

#[test]
fn the_console_shows_the_cluster_and_the_graph_while_the_demo_runs() {
    let place = Place::new();
    // The tour applies no update, so the pages stay as they are.
    let mut demo = Running::start(&place, &["tour"]);
    let line = demo.line_with("/console/");
    let address = address(&line);
    let overview = page(address, "");
    for text in ["ClusterVersion version", "1.4.2", "stable-1.5", "Known issue", "Known to be current", "Channels"] {
        assert!(overview.contains(text), "{text}: {overview}");
    }
    // Links of the overview, to both halves of the console.
    let proof = page(address, "cluster-update?kind=ClusterVersion&name=version&version=1.5.0");
    assert!(proof.contains("Applies to this cluster") && proof.contains("This rule decided."), "{proof}");
    let update = page(address, "update?channel=stable-1.5&arch=amd64&from=1.4.2&to=1.5.0");
    assert!(update.contains("blocked-edges/1.5.0-ProxyTimeouts.yaml"), "{update}");
    assert!(page(address, "health").contains("It answers."));

    // The same address is among the commands to try.
    demo.line_with("In a browser:");
    assert_eq!(demo.line_with("/console/"), line);
    demo.line_with("Ctrl-C stops the demo");
    assert_eq!(demo.end(Signal::INT), Some(0));
    assert!(TcpStream::connect(address).is_err(), "nothing listens any more");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "nothing is left behind");
}

/// A desktop that only notes which address it is to open.
struct Desktop(Place);

impl Desktop {
    fn new() -> Self {
        let desktop = Desktop(Place::new());
        let program = desktop.0.path().join("xdg-open");
        // Complete as soon as it is there.
        let script = format!("#!/bin/sh\necho \"$1\" > '{0}.new' && mv '{0}.new' '{0}'\n", desktop.note().display());
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        desktop
    }

    fn note(&self) -> PathBuf {
        self.0.path().join("opened")
    }

    /// Runs a demo at a terminal of this desktop to its end: what it prints; nothing if there is no script(1).
    fn run(&self, arguments: &str) -> Option<String> {
        let place = Place::new();
        let path = format!("{}:{}", self.0.path().display(), std::env::var("PATH").unwrap());
        let line = format!("exec {} demo {arguments}", env!("CARGO_BIN_EXE_clearway"));
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).current_dir(place.path());
        command.env("TMPDIR", place.path()).env("PATH", path).env("DISPLAY", ":0");
        let mut child = match command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
            Ok(child) => child,
            Err(error) => {
                eprintln!("not checked, no script(1): {error}");
                return None;
            }
        };
        let mut keys = child.stdin.take().unwrap();
        // All pages at once; then Ctrl-C ends a demo that stays.
        keys.write_all(b"q\n").unwrap();
        let mut printed = String::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if line.contains("Ctrl-C stops the demo") {
                keys.write_all(&[3]).unwrap();
            }
            printed.extend([line.trim_end(), "\n"]);
        }
        assert!(child.wait().unwrap().success(), "{printed}");
        Some(printed)
    }
}

#[tokio::test]
async fn a_browser_is_opened_at_a_terminal_of_a_desktop() {
    let desktop = Desktop::new();
    let Some(printed) = desktop.run("publish") else { return };
    wait_until(IN_TIME, "a browser was opened", async || desktop.note().exists()).await.unwrap();
    let link = printed.lines().find(|line| line.contains("/console/")).unwrap().trim();
    assert_eq!(fs::read_to_string(desktop.note()).unwrap().trim(), link);
}

#[test]
fn no_browser_is_opened_where_none_is_wanted() {
    for arguments in ["publish --no-browser", "publish --once"] {
        let desktop = Desktop::new();
        let Some(printed) = desktop.run(arguments) else { return };
        assert!(!desktop.note().exists(), "{arguments}: {printed}");
    }
}
