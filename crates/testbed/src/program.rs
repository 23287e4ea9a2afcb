//! A program under test, such as an operator or a service, that runs beside the test and dies with it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::error::{Error, Result};
use crate::process::ports;
use crate::process::supervised::Supervised;
use crate::wait::{IN_TIME, wait_until};

/// A running program, with its log. It is killed when the value is dropped, and when this process ends in any way. When
/// that happens while a test fails, its log is shown.
#[derive(Debug)]
pub struct Program {
    name: String,
    log: PathBuf,
    running: Supervised,
}

impl Program {
    /// Starts a program with the environment of this process; both its outputs go to the log, which is new.
    pub fn start<A: Into<OsString>>(
        program: impl AsRef<Path>,
        arguments: impl IntoIterator<Item = A>,
        log: impl Into<PathBuf>,
    ) -> Result<Self> {
        Self::start_with(program, arguments, log, |_| {})
    }

    /// The same; `prepare` changes the environment or the working directory.
    pub fn start_with<A: Into<OsString>>(
        program: impl AsRef<Path>,
        arguments: impl IntoIterator<Item = A>,
        log: impl Into<PathBuf>,
        prepare: impl FnOnce(&mut Command),
    ) -> Result<Self> {
        let (program, log) = (program.as_ref(), log.into());
        let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
        let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        fs::write(&log, "").map_err(Error::io(format!("writing {}", log.display())))?;
        let running = Supervised::start(&name, program, &arguments, &log, prepare)?;
        Ok(Program { name, log, running })
    }

    /// What it has written.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Whether it has written these words.
    pub fn logged(&self, words: &str) -> bool {
        self.log().contains(words)
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.running.pid().as_raw_nonzero().get().unsigned_abs()
    }

    /// Its exit code, if it has ended; 128 and the number of the signal if one ended it.
    pub fn exit_code(&mut self) -> Option<i32> {
        self.running.ended().and_then(|status| status.code())
    }

    /// The most resident memory that it had, in kilobytes; nothing if it has ended.
    pub fn peak_memory(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
        let mark = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        mark.trim().trim_end_matches("kB").trim().parse().ok()
    }

    /// As `kill -9`: it has no time to do anything.
    pub fn kill(&mut self) {
        self.running.end();
    }

    /// Asks it to end (SIGTERM); it may have ended already.
    pub fn ask_to_end(&mut self) -> Result<()> {
        self.running.signal(Signal::TERM).map(drop).map_err(Error::io(format!("sending a signal to {}", self.name)))
    }

    /// Asks it to end, waits until it did, and gives its exit code.
    pub async fn terminate(&mut self) -> Result<i32> {
        self.ask_to_end()?;
        let mut code = None;
        wait_until(IN_TIME, &format!("{} ends", self.name), async || {
            code = self.exit_code();
            code.is_some()
        })
        .await?;
        Ok(code.unwrap_or(-1))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("==== {}\n{}", self.log.display(), self.log());
        }
    }
}

/// A port on loopback that is free, and that no outgoing connection takes before a program listens on it.
pub fn free_port() -> Result<u16> {
    let [port] = ports::free()?;
    Ok(port)
}
