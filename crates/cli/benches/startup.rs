//! How soon the program answers: `clearway --help` within 50 ms, which a person does not notice.
//!
//! `cargo bench --bench startup` runs it several times and takes the best: the rest is what else the machine does. It ends with exit
//! code 1 above the bound.

use std::error::Error;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const BOUND: Duration = Duration::from_millis(50);
const RUNS: usize = 20;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    // Without `--bench` this is `cargo test --benches`, which only wants to know whether it runs.
    let timed = std::env::args().any(|argument| argument == "--bench");
    let mut passes = true;
    for arguments in [&["--help"][..], &["upgrade", "--help"], &["completions", "bash"]] {
        let mut best = Duration::MAX;
        for _ in 0..if timed { RUNS } else { 1 } {
            let begin = Instant::now();
            let status = Command::new(env!("CARGO_BIN_EXE_clearway")).args(arguments).stdout(Stdio::null()).status()?;
            best = best.min(begin.elapsed());
            if !status.success() {
                return Err(format!("clearway {}: {status}", arguments.join(" ")).into());
            }
        }
        let holds = best <= BOUND || !timed;
        passes &= holds;
        let verdict = if holds { "PASS" } else { "FAIL" };
        println!("  {verdict}: clearway {:16} {best:?}, at most {BOUND:?}", arguments.join(" "));
    }
    Ok(if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
