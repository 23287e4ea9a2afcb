//! The programs of the test bed as processes: started, paused, ended and started again.

pub(crate) mod ports;
pub(crate) mod run_dir;
pub(crate) mod supervised;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{Error, Result};
use crate::http;
use crate::wait::{IN_TIME, wait_until};
use supervised::Supervised;

/// How many lines of a log are shown.
const TAIL_LINES: usize = 40;
/// How many bytes of a log are read to find them.
const TAIL_BYTES: u64 = 64 * 1024;

/// How one sees that a process is ready.
#[derive(Debug, Clone)]
pub(crate) enum Probe {
    /// `GET` without TLS answers 200.
    Http {
        /// The port on loopback.
        port: u16,
        /// The path with its leading slash.
        path: &'static str,
    },
    /// Connections to a port on loopback are accepted.
    Port(u16),
    /// `GET` with TLS and the configuration's credentials answers 200.
    Https {
        /// Where, and as whom.
        config: Box<kube::Config>,
        /// The path with its leading slash.
        path: &'static str,
    },
}

/// What is started: a program, its arguments, and how one sees that it is ready.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    /// The working directory; the log is written there as well.
    pub(crate) dir: PathBuf,
    pub(crate) probe: Probe,
}

/// A process of the test bed. It is killed when the value is dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct Process {
    launch: Launch,
    log: PathBuf,
    running: Mutex<Option<Supervised>>,
}

impl Process {
    /// Starts the process; `wait_ready` says when it can be used.
    pub(crate) fn spawn(launch: Launch) -> Result<Self> {
        let log = launch.dir.join(format!("{}.log", launch.name));
        let this = Self { launch, log, running: Mutex::new(None) };
        this.start_process()?;
        Ok(this)
    }

    /// The component's name.
    pub fn name(&self) -> &str {
        self.launch.name
    }

    /// The id of the process; nothing when it does not run.
    pub fn pid(&self) -> Option<u32> {
        self.while_alive(|pid| pid.as_raw_nonzero().get().unsigned_abs())
    }

    /// Whether the process runs; a paused process does.
    pub fn is_running(&self) -> bool {
        self.pid().is_some()
    }

    /// The file with what the process wrote.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines of the log.
    pub fn log_tail(&self) -> String {
        tail(&self.log).unwrap_or_else(|error| format!("(no log: {error})"))
    }

    /// Stops the process where it stands (SIGSTOP), and waits until it does: connections stay open, nothing is
    /// answered.
    pub async fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)?;
        // The signal is sent, but threads on other processors still run for a moment.
        let what = format!("{} stands still", self.launch.name);
        wait_until(IN_TIME, &what, async || self.pid().is_none_or(is_stopped)).await
    }

    /// Lets a paused process go on (SIGCONT).
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Asks the process to end (SIGTERM), and waits until it did. After the deadline it is killed.
    pub async fn terminate(&self, deadline: Duration) -> Result<()> {
        self.signal(Signal::TERM)?;
        // Whether it ended by itself or at the deadline is the same to the caller.
        let _ = wait_until(deadline, "the process ended", async || !self.is_running()).await;
        self.kill();
        Ok(())
    }

    /// Kills the process (SIGKILL), and waits until it is gone. Does nothing when it does not run.
    pub fn kill(&self) {
        if let Some(mut running) = self.lock().take() {
            running.end();
        }
    }

    /// Starts a process that was killed or ended, with the same ports and data, and waits until it is ready. Does
    /// nothing but wait when it runs.
    pub async fn start(&self) -> Result<()> {
        if !self.is_running() {
            self.start_process()?;
        }
        self.wait_ready().await
    }

    /// Kills the process, starts it again with the same ports and data, and waits until it is ready.
    pub async fn restart(&self) -> Result<()> {
        self.kill();
        self.start().await
    }

    /// Waits until the process is ready to be used.
    pub async fn wait_ready(&self) -> Result<()> {
        let client = match &self.launch.probe {
            Probe::Http { .. } | Probe::Port(_) => None,
            Probe::Https { config, .. } => Some(kube::Client::try_from((**config).clone())?),
        };
        let mut ended = false;
        let waited = wait_until(IN_TIME, "it is ready", async || {
            ended = !self.is_running();
            ended || self.is_ready(client.as_ref()).await
        })
        .await;
        let component = self.launch.name.to_owned();
        if ended {
            return Err(Error::Exited { component, log: self.log_tail() });
        }
        waited.map_err(|_| Error::NotReady { component, after: IN_TIME, log: self.log_tail() })
    }

    async fn is_ready(&self, client: Option<&kube::Client>) -> bool {
        match (&self.launch.probe, client) {
            (Probe::Http { port, path }, _) => http::get(*port, path).await.is_ok_and(|answer| answer.status == 200),
            (Probe::Https { path, .. }, Some(client)) => {
                let Ok(request) = ::http::Request::get(*path).body(Vec::new()) else { return false };
                client.request_text(request).await.is_ok()
            }
            (Probe::Https { .. }, None) => false,
            (Probe::Port(port), _) => tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).await.is_ok(),
        }
    }

    fn start_process(&self) -> Result<()> {
        let mut running = self.lock();
        if let Some(mut old) = running.take() {
            old.end();
        }
        let Launch { name, program, args, dir, .. } = &self.launch;
        *running = Some(Supervised::start(name, program, args, &self.log, |command| {
            command
                .current_dir(dir)
                // No program finds the settings of the user who runs the tests: files, proxies, ETCD_... and the like.
                .env_clear()
                .env("PATH", "/usr/local/bin:/usr/bin:/bin")
                .env("HOME", dir)
                // Programs in Go live for seconds here: a control plane that does not collect its garbage before it needs
                // to has a fifth less work.
                .env("GOGC", "off")
                .env("GOMEMLIMIT", "512MiB");
        })?);
        Ok(())
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        match self.while_alive(|pid| kill_process(pid, signal)) {
            Some(sent) => sent
                .map_err(std::io::Error::from)
                .map_err(Error::io(format!("sending a signal to {}", self.launch.name))),
            None => Err(Error::Exited { component: self.launch.name.to_owned(), log: self.log_tail() }),
        }
    }

    /// Does something with the process id, if it is still that of the process.
    fn while_alive<T>(&self, action: impl FnOnce(Pid) -> T) -> Option<T> {
        let mut running = self.lock();
        let running = running.as_mut()?;
        running.is_alive().then(|| action(running.pid()))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Supervised>> {
        // A panic elsewhere does not make the value wrong.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether all threads of a process are stopped; also when the system does not say.
fn is_stopped(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return true };
    // The state follows the name, which stands in parentheses and may contain anything.
    threads.flatten().all(|thread| {
        let status = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        status.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('T'))
    })
}

/// The last lines of a file.
fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = fs::metadata(path)?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n"))
}

/// Shows the ends of the logs, when this thread is failing a test.
pub(crate) fn show_logs_of_failure<'a>(processes: impl IntoIterator<Item = &'a Process>) {
    if std::thread::panicking() {
        for process in processes {
            let state = if process.is_running() { "running" } else { "not running" };
            eprintln!("--- the end of the log of {} ({state})\n{}", process.name(), process.log_tail());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::run_dir::RunDir;
    use super::*;

    fn shell(dir: &RunDir, script: &str) -> Process {
        Process::spawn(Launch {
            name: "shell",
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            dir: dir.path().to_owned(),
            probe: Probe::Http { port: 1, path: "/" },
        })
        .unwrap()
    }

    fn state(pid: u32) -> Option<char> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        text.rsplit_once(") ")?.1.chars().next()
    }

    #[tokio::test]
    async fn a_process_is_paused_resumed_and_killed() {
        let dir = RunDir::new("process").unwrap();
        let process = shell(&dir, "exec tail -f /dev/null");
        let pid = process.pid().unwrap();
        process.pause().await.unwrap();
        assert_eq!(state(pid), Some('T'));
        assert!(process.is_running());
        process.resume().unwrap();
        wait_until(IN_TIME, "it runs", async || state(pid) == Some('S')).await.unwrap();
        process.kill();
        assert_eq!(process.pid(), None);
        assert_eq!(state(pid), None);
        process.pause().await.unwrap_err();
    }

    #[tokio::test]
    async fn a_process_that_ends_is_reported_with_its_log() {
        let dir = RunDir::new("process").unwrap();
        let process = shell(&dir, "echo no such flag >&2; exit 3");
        let error = process.wait_ready().await.unwrap_err();
        assert!(matches!(&error, Error::Exited { log, .. } if log == "no such flag"), "{error}");
    }

    #[tokio::test]
    async fn a_process_is_asked_to_end_and_made_to() {
        let dir = RunDir::new("process").unwrap();
        let polite = shell(&dir, "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done");
        wait_until(IN_TIME, "it is up", async || polite.log_tail() == "up").await.unwrap();
        polite.terminate(IN_TIME).await.unwrap();
        assert_eq!(polite.log_tail(), "up\nbye");

        let stubborn = shell(&dir, "trap '' TERM; exec tail -f /dev/null");
        stubborn.terminate(Duration::from_millis(100)).await.unwrap();
        assert!(!stubborn.is_running());
    }

    #[tokio::test]
    async fn a_dropped_process_is_gone_even_when_paused() {
        let dir = RunDir::new("process").unwrap();
        let process = shell(&dir, "exec tail -f /dev/null");
        let pid = process.pid().unwrap();
        process.pause().await.unwrap();
        drop(process);
        assert_eq!(state(pid), None);
    }

    #[test]
    fn only_the_last_lines_are_shown() {
        let dir = RunDir::new("process").unwrap();
        let lines: Vec<_> = (0..100).map(|number| number.to_string()).collect();
        let path = dir.write("log", &lines.join("\n")).unwrap();
        assert_eq!(tail(&path).unwrap(), lines[60..].join("\n"));
    }
}
