//! Builds all test programs and runs several of them at one time.
//!
//! `cargo test` runs one program after the other. Programs that meet a control plane mostly wait for it, so that half of a
//! machine would be idle for most of the time.

mod artifact;
mod outcome;
mod processor_time;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use artifact::TestProgram;
use outcome::{Counts, Outcome};

/// When a program is taken for stuck. Waits inside of tests have bounds of their own, which are far shorter.
const LONGEST: Duration = Duration::from_mins(45);
/// How often a program is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Programs at one time. Each may run several control planes, so that memory is the limit on a large machine.
const AT_ONCE: usize = 2;
/// The most tests of one program at one time, on a large machine.
const MOST_THREADS: usize = 8;

/// Builds and runs all test programs, and then the examples in documentation.
pub(crate) fn run() -> Result<()> {
    let mut programs = build()?;
    ensure!(!programs.is_empty(), "cargo built no test programs");
    programs.sort_by_key(|program| (program.rank(), program.label()));
    let outcomes = run_all(programs)?;
    let mut total = Counts::default();
    for outcome in &outcomes {
        total.add(&outcome.counts);
    }
    let failed: Vec<String> = outcomes.iter().filter_map(Outcome::failure).collect();
    ensure!(failed.is_empty(), "{} test programs, {total}; these failed: {}", outcomes.len(), failed.join(", "));
    let documentation = command(cargo_path()).args(["test", "--workspace", "--locked", "--quiet", "--doc"]).status();
    ensure!(documentation.context("cannot run cargo")?.success(), "examples in documentation failed");
    println!("\ntests: {total}");
    Ok(())
}

/// The cargo that runs this program.
fn cargo_path() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// A command without what cargo says about this program, which build scripts would take for their own: they would run
/// again, and what depends on them would be compiled a second time.
fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Builds the programs, and the benchmarks with them so that they are linted; what the compiler says goes to standard error.
fn build() -> Result<Vec<TestProgram>> {
    let mut cargo = command(cargo_path())
        .args([
            "test",
            "--workspace",
            "--all-targets",
            "--locked",
            "--no-run",
            "--message-format=json-render-diagnostics",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run cargo")?;
    let output = cargo.stdout.take().context("cargo has no output")?;
    let mut programs = Vec::new();
    for line in BufReader::new(output).lines() {
        programs.extend(TestProgram::read(&line.context("cannot read the output of cargo")?)?);
    }
    ensure!(cargo.wait()?.success(), "the tests do not compile");
    Ok(programs)
}

fn run_all(programs: Vec<TestProgram>) -> Result<Vec<Outcome>> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let threads = (processors * 2).min(MOST_THREADS);
    let waiting = Mutex::new(programs.into_iter().collect::<std::collections::VecDeque<_>>());
    let next = || waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop_front();
    let work = || {
        let mut outcomes = Vec::new();
        while let Some(program) = next() {
            let outcome = run_one(&program, threads)?;
            // At once: a run that is ended before its end has then shown what failed.
            let output = if outcome.success { "" } else { &outcome.output };
            print!("{outcome}\n{output}");
            outcomes.push(outcome);
        }
        Ok(outcomes)
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        let mut outcomes = Vec::new();
        for worker in workers {
            let done: Result<Vec<Outcome>> = worker.join().unwrap_or_else(|_| bail!("a worker ended"));
            outcomes.extend(done?);
        }
        outcomes.sort_by(|one, other| one.label.cmp(&other.label));
        Ok(outcomes)
    })
}

/// Runs a program as `cargo test` does: in the directory of its package.
fn run_one(program: &TestProgram, threads: usize) -> Result<Outcome> {
    let label = program.label();
    let log = std::env::temp_dir().join(format!("clearway-{}-{}.log", std::process::id(), program.file_name()));
    let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let begin = Instant::now();
    let mut child = command(&program.executable)
        .current_dir(&program.package)
        .env("CARGO", cargo_path())
        .env("CARGO_MANIFEST_DIR", &program.package)
        .env("RUST_TEST_THREADS", threads.to_string())
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .spawn()
        .with_context(|| format!("cannot run {}", program.executable.display()))?;
    let (status, processor_time) = wait(&mut child, begin)?;
    let output = std::fs::read(&log).with_context(|| format!("cannot read {}", log.display()))?;
    let _ = std::fs::remove_file(&log);
    Ok(Outcome::new(label, status, begin.elapsed(), processor_time, &String::from_utf8_lossy(&output)))
}

/// The end of a program, none if it was stuck and is killed, and the processor time that it and the programs it waited for took.
fn wait(child: &mut Child, begin: Instant) -> Result<(Option<ExitStatus>, Duration)> {
    let mut processor_time = Duration::ZERO;
    loop {
        processor_time = processor_time::of(child.id()).unwrap_or(processor_time);
        if let Some(status) = child.try_wait()? {
            return Ok((Some(status), processor_time));
        }
        if begin.elapsed() > LONGEST {
            child.kill()?;
            child.wait()?;
            return Ok((None, processor_time));
        }
        thread::sleep(LOOK);
    }
}
