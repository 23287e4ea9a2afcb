//! `clearway demo` while somebody watches: a second terminal works on it, and signals end it in good order.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::Place;

/// How long anything may take.
const BOUND: Duration = clearway_testbed::IN_TIME;

/// A demo that goes on, and its lines.
pub(super) struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Running {
    pub(super) fn start(place: &Place, arguments: &[&str]) -> Self {
        let mut command = place.command(&[&["demo", "--stay"], arguments].concat());
        command.env("TMPDIR", place.path()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let out: BufReader<ChildStdout> = BufReader::new(child.stdout.take().unwrap());
        let (report, lines) = channel();
        // Ends with the pipe.
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| report.send(line)));
        Running { child, lines, seen: Vec::new() }
    }

    /// The next line that holds a text.
    pub(super) fn line_with(&mut self, text: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(BOUND);
            let line = line.unwrap_or_else(|_| panic!("no line with `{text}`:\n{}", self.seen.join("\n")));
            self.seen.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end: its exit code.
    fn code(&mut self) -> Option<i32> {
        let closed = loop {
            match self.lines.recv_timeout(BOUND) {
                Ok(_) => {}
                Err(end) => break end,
            }
        };
        assert_eq!(closed, RecvTimeoutError::Disconnected, "it does not end");
        self.child.wait().unwrap().code()
    }

    /// Sends a signal, and waits for the end: its exit code.
    pub(super) fn end(&mut self, signal: Signal) -> Option<i32> {
        self.signal(signal);
        self.line_with("The demo has stopped.");
        assert!(self.lines.recv_timeout(BOUND).is_err(), "that was the last line");
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends a scenario with a signal when a line was seen.
fn ended(scenario: &str, at: &str, signal: Signal) {
    let place = Place::new();
    let mut demo = Running::start(&place, &[scenario]);
    demo.line_with(at);
    assert!(fs::read_dir(place.path()).unwrap().count() > 0);
    assert_eq!(demo.end(signal), Some(0));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn ctrl_c_ends_a_scenario_half_way() {
    ended("publish", "a file is added", Signal::INT);
}

#[test]
fn ctrl_c_ends_an_update_half_way() {
    ended("update", "rolling out, 1 of 2 pods", Signal::INT);
}

#[test]
fn a_demo_that_stays_ends_when_it_is_told_to() {
    ended("tour", "Ctrl-C stops the demo", Signal::TERM);
}

/// While somebody holds the lock of the state directory, the demo cannot end in order: it waits for it.
#[test]
fn a_second_signal_ends_a_demo_that_cannot_stop() {
    let place = Place::new();
    let mut demo = Running::start(&place, &["tour", "--output-dir", "kept"]);
    demo.line_with("Ctrl-C stops the demo");
    let lock = fs::File::open(place.path().join("kept/state/lock")).unwrap();
    lock.lock().unwrap();
    // The lock is waited for so long and no longer: both signals come at one moment, while the process is stopped.
    for signal in [Signal::STOP, Signal::TERM, Signal::INT, Signal::CONT] {
        demo.signal(signal);
    }
    assert_eq!(demo.code(), Some(3));
}

/// A pipe in place of a file that it writes: it waits for a reader, before anything is at work.
#[test]
fn a_second_signal_ends_a_demo_that_does_not_start() {
    let place = Place::new();
    let (cluster, graph_data) = (place.path().join("kept/cluster"), place.path().join("kept/graph-data"));
    fs::create_dir_all(&cluster).unwrap();
    mknodat(CWD, cluster.join("series.snap"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let mut demo = Running::start(&place, &["tour", "--output-dir", "kept"]);
    let begin = Instant::now();
    while !graph_data.exists() {
        assert!(begin.elapsed() < BOUND, "it does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    demo.signal(Signal::TERM);
    demo.signal(Signal::INT);
    assert_eq!(demo.code(), Some(3));
}

#[test]
fn a_second_terminal_works_on_it() {
    let place = Place::new();
    let mut demo = Running::start(&place, &["outage", "--output-dir", "it's kept"]);
    demo.line_with("In a second terminal:");
    demo.line_with("Ctrl-C stops the demo");
    let from = demo.seen.iter().position(|line| line == "In a second terminal:").unwrap();
    let told = demo.seen.iter().skip(from + 2).take_while(|line| !line.is_empty());
    let script: String = told.map(|line| line.trim_start().to_owned() + "\n").collect();
    assert!(script.contains("upgrade --to 1.5.2 --watch\n") && script.contains("clearway assess"), "{script}");

    // Every command as it is printed.
    let program = env!("CARGO_BIN_EXE_clearway");
    let script = format!("set -e\nclearway() {{ {program} \"$@\"; }}\n{script}");
    let output = Command::new("sh").args(["-c", &script]).current_dir(place.path()).output().unwrap();
    assert!(output.status.success(), "{script}\n{output:?}");
    let shown = String::from_utf8(output.stdout).unwrap();
    for text in
        ["Recommended updates:", "Requested update to 1.5.2", "1.5.2    Completed", "Deployment.apps platform/api"]
    {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    // What was done in the second terminal is told in the first.
    demo.line_with("history: 1.5.2 Partial");
    demo.line_with("history: 1.5.2 Completed");

    let state = place.path().join("it's kept/state");
    let object: Value =
        serde_json::from_str(&place.run(&["upgrade", "--state", state.to_str().unwrap(), "-o", "json"]).out).unwrap();
    assert_eq!(object["version"], "1.5.2");
    let address = object["upstream"].as_str().unwrap().split('/').nth(2).unwrap().to_owned();
    assert!(TcpStream::connect(&address).is_ok());
    assert_eq!(demo.end(Signal::INT), Some(0));

    // What is kept is there still, and free for the next operator.
    let history = place.run(&["upgrade", "history", "--state", state.to_str().unwrap(), "-o", "json"]).json();
    assert_eq!(history[0]["version"], "1.5.2");
    let mut lease = String::new();
    let path = state.join("objects/coordination.k8s.io/Lease/clearway/clearway-operator.yaml");
    fs::File::open(path).unwrap().read_to_string(&mut lease).unwrap();
    assert!(lease.contains("holderIdentity: \"\""), "{lease}");
    let again = place.run(&["demo", "--once", "--output-dir", "it's kept"]);
    assert!(again.code == 3 && again.err.contains("is from an earlier demo: remove it"), "{again:?}");
}
