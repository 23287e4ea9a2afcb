//! The memory of linting does not grow with the number of documents: 100,000 need at most 1.1 times that of 10,000.
//!
//! `cargo bench --bench memory` writes both streams, runs the program over each, from a file and from standard input,
//! and ends with exit code 1 above the bound. The peak is what the kernel says the program's resident memory rose to.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

#[path = "objects/generate.rs"]
mod objects;

const FEW: usize = 10_000;
const MANY: usize = 100_000;
const BOUND: f64 = 1.1;
/// Runs of each; the median counts, because the allocator and the kernel vary a little.
const RUNS: usize = 3;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    // Without `--bench` this is `cargo test --benches`, which only wants to know whether it runs.
    let timed = std::env::args().any(|argument| argument == "--bench");
    let (few, many, runs) = if timed { (FEW, MANY, RUNS) } else { (100, 200, 1) };
    if !Path::new("/proc/self/status").exists() {
        println!("memory: not measured, because this system has no /proc");
        return Ok(ExitCode::SUCCESS);
    }
    let directory = tempfile::tempdir()?;
    let (few_file, many_file) = (directory.path().join("few.yaml"), directory.path().join("many.yaml"));
    write(few, &few_file)?;
    write(many, &many_file)?;
    println!("peak memory of `clearway status lint`, {few} and {many} documents, medians of {runs} runs");
    let mut passes = true;
    for (name, stdin) in [("from a file", false), ("from standard input", true)] {
        let (small, large) = (median(&few_file, stdin, runs)?, median(&many_file, stdin, runs)?);
        #[expect(clippy::cast_precision_loss, reason = "kilobytes of a process")]
        let ratio = large as f64 / small as f64;
        let holds = ratio <= BOUND || !timed;
        passes &= holds;
        let verdict = if holds { "PASS" } else { "FAIL" };
        println!("  {verdict}: {name:20} {small:6} kB and {large:6} kB: {ratio:.3} times, at most {BOUND}");
    }
    Ok(if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn write(count: usize, path: &Path) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut text = String::new();
    for number in 0..count {
        text.clear();
        objects::object(number, &mut text);
        file.write_all(text.as_bytes())?;
    }
    file.flush()
}

fn median(file: &Path, stdin: bool, runs: usize) -> Result<u64, Box<dyn Error>> {
    let mut peaks = (0..runs).map(|_| peak(file, stdin)).collect::<Result<Vec<_>, _>>()?;
    peaks.sort_unstable();
    peaks.get(peaks.len() / 2).copied().ok_or_else(|| "no runs".into())
}

/// The most resident memory of one run, in kB.
fn peak(file: &Path, stdin: bool) -> Result<u64, Box<dyn Error>> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clearway"));
    command.args(["status", "lint", "-f"]);
    if stdin {
        command.arg("-").stdin(Stdio::from(File::open(file)?));
    } else {
        command.arg(file).stdin(Stdio::null());
    }
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut highest = 0;
    // The high-water mark only rises, so that the last look before the end has it but for a moment.
    let exit = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        if let Some(mark) = text.lines().find_map(|line| line.strip_prefix("VmHWM:")) {
            highest = highest.max(mark.trim().trim_end_matches("kB").trim().parse()?);
        }
        if let Some(exit) = child.try_wait()? {
            break exit;
        }
        thread::sleep(Duration::from_millis(1));
    };
    if !exit.success() {
        return Err(format!("the program ended with {exit} on objects without findings").into());
    }
    Ok(highest)
}
