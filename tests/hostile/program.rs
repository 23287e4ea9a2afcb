//! The program under attack: commands that end, and services that do not, with the memory they take.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use clearway_testbed::IN_TIME;
use rustix::process::{Pid, Signal, kill_process};

/// Kilobytes of a command, and of the service.
pub(crate) const COMMAND: u64 = 512 << 10;
/// Kilobytes of the operator without a release; its container may have 512 MiB. A program without optimisation takes 50 MiB of
/// it for itself.
pub(crate) const OPERATOR: u64 = 320 << 10;

/// The program, with nothing of the machine it runs on but one value that it must never tell.
fn command(place: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clearway"));
    command.args(arguments).current_dir(place).env_clear().env("HOME", place).env("PATH", env!("PATH"));
    command.env("OF_THIS_MACHINE", MARKER).stdin(Stdio::null());
    command
}

/// A value of the machine, or of the cluster, that no output may repeat.
pub(crate) const MARKER: &str = "hunter2marker";

/// How a record of a log begins that an attack wants to forge.
const FORGED: &str = "2026-11-16T00:00:00Z ERROR forged";

/// Whether a letter is a control character, also one of eight bits, or changes the direction of what stands behind it.
fn deceives(letter: char) -> bool {
    (letter.is_control() && letter != '\t') || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) text: String,
}

/// Runs a command to its end: by itself, in time, within its memory, and without a word about the machine.
pub(crate) fn run(place: &Path, arguments: &[&str]) -> Ended {
    let mut child = command(place, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let printed = [read(child.stdout.take().unwrap()), read(child.stderr.take().unwrap())];
    let (begin, mut highest) = (Instant::now(), 0);
    // The high-water mark only rises, so the last look before the end has it but for a moment.
    let status: ExitStatus = loop {
        highest = memory(&child).unwrap_or(0).max(highest);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begin.elapsed() > IN_TIME {
            child.kill().unwrap();
            panic!("{arguments:?} does not end");
        }
        thread::sleep(Duration::from_millis(1));
    };
    let text = printed.map(|thread| thread.join().unwrap()).concat();
    let code = status.code().unwrap_or_else(|| panic!("{arguments:?}: {status}\n{}", shortened(&text)));
    assert!((0..=3).contains(&code), "{arguments:?}: {status}\n{}", shortened(&text));
    assert!(highest < COMMAND, "{arguments:?}: {highest} kB");
    assert!(!text.contains(MARKER), "{arguments:?} tells a value of the machine");
    Ended { code, text }
}

fn read(mut from: impl std::io::Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The beginning of a text, for the message of a failed test.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(2_000).collect()
}

/// The most resident memory that a process had, in kilobytes; nothing once it has ended.
///
/// For a moment after its start a child still has the memory of this program, which is not its own.
fn memory(child: &Child) -> Option<u64> {
    if fs::read_link(format!("/proc/{}/exe", child.id())).ok()? == std::env::current_exe().ok()? {
        return None;
    }
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let mark = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    mark.trim().trim_end_matches("kB").trim().parse().ok()
}

/// What a path of a service answers, with its head.
pub(crate) fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(IN_TIME)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// A service at work, and what it logs.
pub(crate) struct Service {
    child: Child,
    log: Arc<Mutex<String>>,
    seen: usize,
}

impl Service {
    pub(crate) fn start(place: &Path, arguments: &[&str]) -> Self {
        let mut child = command(place, arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (mut lines, kept) = (BufReader::new(child.stderr.take().unwrap()), log.clone());
        thread::spawn(move || {
            let mut line = Vec::new();
            while (&mut lines).take(1 << 20).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
        });
        Service { child, log, seen: 0 }
    }

    /// Waits for a line with one of these texts, after those that were waited for before.
    pub(crate) fn line_with(&mut self, texts: &[&str]) -> String {
        let begin = Instant::now();
        loop {
            let log = self.log.lock().unwrap().clone();
            let rest = log.get(self.seen..).unwrap_or_default();
            let mut end = 0;
            for line in rest.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
                end += line.len();
                if texts.iter().any(|text| line.contains(text)) {
                    self.seen += end;
                    return line.to_owned();
                }
            }
            self.is_well();
            assert!(begin.elapsed() < IN_TIME, "no line with {texts:?}: {}", shortened(rest));
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits no longer for what it logged until now.
    pub(crate) fn forget(&mut self) {
        self.seen = self.log.lock().unwrap().len();
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Fails if it has ended.
    pub(crate) fn is_well(&mut self) {
        assert!(self.child.try_wait().unwrap().is_none(), "it has ended: {}", self.last_words());
    }

    /// What it said at last, for the message of a failed test.
    pub(crate) fn last_words(&self) -> String {
        let log = self.log.lock().unwrap();
        let lines: Vec<&str> = log.lines().collect();
        shortened(&lines[lines.len().saturating_sub(5)..].join("\n"))
    }

    /// Sends what a machine sends that shuts down.
    pub(crate) fn signal(&self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
    }

    /// Makes a service read its sources now.
    pub(crate) fn hang_up(&self) {
        kill_process(Pid::from_child(&self.child), Signal::HUP).unwrap();
    }

    /// Sends two signals at one moment: the process is stopped meanwhile, so that it cannot end in between.
    pub(crate) fn signal_twice(&self) {
        for signal in [Signal::STOP, Signal::TERM, Signal::INT, Signal::CONT] {
            kill_process(Pid::from_child(&self.child), signal).unwrap();
        }
    }

    /// How long threads whose names begin so have computed, and how long all the others.
    pub(crate) fn computing_times(&self, threads: &str) -> (Duration, Duration) {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let (mut named, mut others) = (0, 0);
        for task in tasks.filter_map(Result::ok) {
            let file = |name: &str| fs::read_to_string(task.path().join(name));
            // A thread may end meanwhile.
            let (Ok(name), Ok(scheduled)) = (file("comm"), file("schedstat")) else { continue };
            let nanoseconds: u64 = scheduled.split(' ').next().unwrap().parse().unwrap();
            *if name.starts_with(threads) { &mut named } else { &mut others } += nanoseconds;
        }
        (Duration::from_nanos(named), Duration::from_nanos(others))
    }

    /// Ends it at once, as a machine does that has no memory left.
    pub(crate) fn kill(mut self) {
        self.is_well();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it has ended.
    pub(crate) fn wait(&mut self) {
        let begin = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(begin.elapsed() < IN_TIME, "a signal does not end it");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The exit code of one that has ended; none if a signal ended it.
    pub(crate) fn code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Ends it by a signal, as a machine does that shuts down: it kept within its memory, and ends well.
    pub(crate) fn end(mut self, kilobytes: u64) {
        self.is_well();
        let highest = memory(&self.child).unwrap();
        assert!(highest < kilobytes, "{highest} kB");
        self.signal();
        self.wait();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{}", self.last_words());
        let log = self.log.lock().unwrap();
        assert!(!log.contains(MARKER), "it tells a value of the machine");
        let forged = log.lines().find(|line| line.starts_with(FORGED));
        assert_eq!(forged, None, "foreign text begins a record of the log");
        let raw = log.lines().find(|line| line.contains(deceives));
        assert_eq!(raw, None, "the log has what could drive a terminal or deceive its reader");
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
