//! The memory of the program on hostile graph-data and answers, as large as the caps let them be: every command and the
//! service stay below 512 MiB, and reading an answer as the operator does below 150 MiB.
//!
//! `cargo bench --bench hostile` writes each attack, runs the program on it, and ends with exit code 1 above a bound or
//! when a run takes longer than three minutes. `cargo bench --bench hostile -- WORDS` runs those with these words in their
//! names. The peak is what the kernel says the program's resident memory rose to.

use std::error::Error;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use clearway_advice::Settings;
use clearway_core::{GraphLimits, Timestamp, Version};
use clearway_update::upstream::Knowledge;
use rustix::process::{Pid, Signal, kill_process};

#[path = "../../graph/examples/generate/hostile.rs"]
mod hostile;
#[path = "../../graph/examples/generate/hostile_answers.rs"]
mod hostile_answers;

/// As in the program that is measured.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Kilobytes of a command or the service, and of reading an answer.
const COMMAND: u64 = 512 << 10;
const READING: u64 = 150 << 10;
/// How long one run may take: on a machine that does other things too.
const LONGEST: Duration = Duration::from_mins(3);
/// The word by which this program reads an answer and says how much memory that took.
const READ: &str = "read-as-the-operator-does";

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, path] = arguments.as_slice()
        && word == READ
    {
        return read(Path::new(path));
    }
    // Without `--bench` this is `cargo test --benches`, which only wants to know that it builds.
    if !arguments.iter().any(|argument| argument == "--bench") || !Path::new("/proc/self/status").exists() {
        return Ok(ExitCode::SUCCESS);
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| !word.starts_with("--")).collect();
    let (words, caps) = (words.join(" "), GraphLimits::default());
    let scratch = tempfile::tempdir()?;
    let mut report = Report { passes: true };
    for (name, files) in hostile::GRAPH_DATA.iter().filter(|(name, _)| name.contains(&words)) {
        let data = scratch.path().join("data");
        written(&data, files(&caps))?;
        graph_data(name, &data, scratch.path(), &mut report)?;
        fs::remove_dir_all(&data)?;
    }
    for (name, answer) in hostile_answers::ANSWERS.iter().filter(|(name, _)| name.contains(&words)) {
        let path = scratch.path().join("answer.json");
        fs::write(&path, answer(&caps))?;
        of_answer(name, &path, scratch.path(), &mut report)?;
    }
    if "one revision after another".contains(&words) {
        replaced(&caps, scratch.path(), &mut report)?;
    }
    Ok(if report.passes { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What is printed of each run, and whether all of them keep to their bounds.
struct Report {
    passes: bool,
}

impl Report {
    fn add(&mut self, name: &str, command: &str, bound: u64, (kilobytes, took, ended): (u64, Duration, bool)) {
        let holds = kilobytes <= bound && ended;
        self.passes &= holds;
        let verdict = if holds { "PASS" } else { "FAIL" };
        let took = took.as_secs_f64();
        println!("  {verdict} {:4} MiB, at most {}, {took:5.1} s  {command:6} {name}", kilobytes >> 10, bound >> 10);
    }
}

fn written(root: &Path, files: hostile::Files) -> std::io::Result<()> {
    for (path, content) in files {
        let path = root.join(path);
        path.parent().map(fs::create_dir_all).transpose()?;
        fs::write(path, content)?;
    }
    Ok(())
}

fn graph_data(name: &str, data: &Path, scratch: &Path, report: &mut Report) -> Outcome<()> {
    let graph = data.to_str().ok_or("a path that is no text")?;
    let out = scratch.join("out");
    let answers = out.to_str().ok_or("a path that is no text")?;
    for (command, arguments) in [
        ("show", &["graph", "show", "--graph", graph, "c"][..]),
        ("lint", &["graph", "lint", "--graph", graph]),
        ("build", &["graph", "build", "--graph", graph, "--output-dir", answers]),
    ] {
        report.add(name, command, COMMAND, peak(Command::new(program()).args(arguments))?);
    }
    let _ = fs::remove_dir_all(out);
    let mut service = Service::start(data)?;
    let published = service.settles();
    report.add(name, "serve", COMMAND, (service.memory()?, service.begin.elapsed(), published.is_some()));
    Ok(())
}

fn of_answer(name: &str, path: &Path, scratch: &Path, report: &mut Report) -> Outcome<()> {
    let graph = path.to_str().ok_or("a path that is no text")?;
    let series = scratch.join("metrics.prom");
    fs::write(&series, "up 1\n")?;
    let series = series.to_str().ok_or("a path that is no text")?;
    for (command, arguments) in [
        ("show", &["graph", "show", "--graph", graph][..]),
        ("lint", &["graph", "lint", "--graph", graph]),
        ("assess", &["assess", "--graph", graph, "--version", "1.0.0", "--series", series]),
    ] {
        report.add(name, command, COMMAND, peak(Command::new(program()).args(arguments))?);
    }
    report.add(name, "read", READING, peak(Command::new(std::env::current_exe()?).args([READ, graph]))?);
    Ok(())
}

/// A service whose graph-data is replaced by another that is as large: both are there for a while.
fn replaced(caps: &GraphLimits, scratch: &Path, report: &mut Report) -> Outcome<()> {
    let largest = hostile::GRAPH_DATA
        .iter()
        .filter(|(name, _)| ["everything at its cap", "texts that cannot be packed"].contains(name));
    for (name, files) in largest {
        let (one, other, link) = (scratch.join("one"), scratch.join("other"), scratch.join("link"));
        written(&one, files(caps))?;
        let changed = |(path, content): (String, Vec<u8>)| {
            let text = String::from_utf8_lossy(&content).replace("r.example.com/p:", "r.example.com/q:");
            (path, text.into_bytes())
        };
        written(&other, files(caps).into_iter().map(changed).collect())?;
        std::os::unix::fs::symlink(&one, &link)?;
        let mut service = Service::start(&link)?;
        let first = service.settles();
        fs::remove_file(&link)?;
        std::os::unix::fs::symlink(&other, &link)?;
        service.signal(Signal::HUP)?;
        let second = service.settles();
        let ended = first.is_some() && second.is_some();
        report.add(
            &format!("{name}, and then another"),
            "serve",
            COMMAND,
            (service.memory()?, service.begin.elapsed(), ended),
        );
        drop(service);
        fs::remove_file(&link)?;
        fs::remove_dir_all(&one)?;
        fs::remove_dir_all(&other)?;
    }
    Ok(())
}

fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_clearway"))
}

/// Reads an answer as the operator does, and ends well if that is all there is to it.
fn read(path: &Path) -> Outcome<ExitCode> {
    let answer = fs::read(path)?;
    let (from, at) = (Version::new(1, 0, 0), Timestamp::from_seconds(0)?);
    let read = Knowledge::read(&answer, &from, at, &Settings::default());
    println!("{}", read.is_ok());
    // The high-water mark is read while this still runs.
    thread::sleep(Duration::from_millis(50));
    Ok(ExitCode::SUCCESS)
}

/// The most resident memory of one run in kilobytes, how long it took, and whether it came to an end by itself.
fn peak(command: &mut Command) -> Outcome<(u64, Duration, bool)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let begin = Instant::now();
    let mut highest = 0;
    // The high-water mark only rises, so that the last look before the end has it but for a moment.
    let ended = loop {
        highest = highest.max(high_water_mark(&child));
        if let Some(exit) = child.try_wait()? {
            break exit.code().is_some();
        }
        if begin.elapsed() > LONGEST {
            child.kill()?;
            child.wait()?;
            break false;
        }
        thread::sleep(Duration::from_millis(1));
    };
    Ok((highest, begin.elapsed(), ended))
}

fn high_water_mark(child: &Child) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    mark.and_then(|mark| mark.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}

/// A service, and what it logs.
struct Service {
    child: Child,
    lines: Receiver<String>,
    begin: Instant,
}

impl Service {
    fn start(graph_data: &Path) -> Outcome<Self> {
        let mut child = Command::new(program())
            .args(["serve", "--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0", "--refresh", "1h"])
            .arg("--graph")
            .arg(graph_data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let (sender, lines) = channel();
        let log = child.stderr.take().ok_or("no log")?;
        thread::spawn(move || {
            let mut log = BufReader::new(log);
            let mut line = Vec::new();
            // A line may be as long as the messages in it.
            while (&mut log).take(1 << 20).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
                line.clear();
            }
        });
        Ok(Service { child, lines, begin: Instant::now() })
    }

    /// Waits until a revision is published or refused, and says whether it is served; nothing if that takes too long.
    fn settles(&mut self) -> Option<bool> {
        self.begin = Instant::now();
        loop {
            let line = self.lines.recv_timeout(LONGEST.saturating_sub(self.begin.elapsed())).ok()?;
            if line.contains("published") {
                return Some(true);
            }
            if ["refused;", "cannot be read;", "cannot be served"].iter().any(|words| line.contains(words)) {
                return Some(false);
            }
        }
    }

    fn signal(&self, signal: Signal) -> Outcome<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).ok_or("no process")?;
        Ok(kill_process(pid, signal)?)
    }

    fn memory(&self) -> Outcome<u64> {
        Ok(Some(high_water_mark(&self.child)).filter(|mark| *mark > 0).ok_or("the service has ended")?)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
