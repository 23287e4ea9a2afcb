//! A child process that dies with this one: also when this one is killed with SIGKILL and cannot clean up.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Once;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, getppid, kill_process};

use crate::error::{Error, Result};

/// Starts a program, says its process id, and waits for it. Standard input is a pipe whose other end only the test
/// process holds; when that process ends, for whatever reason, the kernel closes the pipe and the watcher kills the
/// program. (`PR_SET_PDEATHSIG` would not do: it fires when the *thread* that started the program ends, and tests run
/// in threads.)
const SUPERVISOR: &str = r#"
log=$1
shift
exec 3<&0
"$@" </dev/null >>"$log" 2>&1 3<&- &
child=$!
{ read -r _ <&3; kill -KILL "$child"; } >/dev/null 2>&1 &
watcher=$!
exec 3<&- </dev/null
echo "$child"
exec >/dev/null
wait "$child"
status=$?
kill -KILL "$watcher"
exit "$status"
"#;

/// A running program.
#[derive(Debug)]
pub(crate) struct Supervised {
    /// The supervising shell. Its standard input is the pipe that ends with this process.
    supervisor: Child,
    pid: Pid,
}

impl Supervised {
    /// Starts a program; what it writes is added to the log. `prepare` sets its environment and working directory.
    pub(crate) fn start(
        name: &str,
        program: &Path,
        args: &[OsString],
        log: &Path,
        prepare: impl FnOnce(&mut Command),
    ) -> Result<Self> {
        end_with_parent();
        let what = || format!("starting {name}");
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SUPERVISOR, "clearway-testbed-supervisor"]).arg(log).arg(program).args(args);
        prepare(&mut shell);
        let mut supervisor = shell
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Ctrl-C at the terminal is for this program, which then ends the others in the right order.
            .process_group(0)
            .spawn()
            .map_err(Error::io(what()))?;
        let mut line = String::new();
        if let Some(stdout) = supervisor.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).map_err(Error::io(what()))?;
        }
        let Some(pid) = line.trim().parse().ok().and_then(Pid::from_raw) else {
            let _ = supervisor.kill();
            let _ = supervisor.wait();
            return Err(Error::Exited { component: name.to_owned(), log: line });
        };
        Ok(Self { supervisor, pid })
    }

    /// The id of the program, which is its own for as long as [`Supervised::is_alive`].
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.supervisor.try_wait(), Ok(None))
    }

    /// Sends a signal; false if the program has ended.
    pub(crate) fn signal(&mut self, signal: Signal) -> std::io::Result<bool> {
        // As long as the supervisor runs, the process id is that of its child.
        if !self.is_alive() {
            return Ok(false);
        }
        kill_process(self.pid, signal)?;
        Ok(true)
    }

    /// Kills the program (SIGKILL), and waits until it is gone.
    pub(crate) fn end(&mut self) {
        let _ = self.signal(Signal::KILL);
        let _ = self.supervisor.wait();
    }

    /// How the program ended, as a shell says it: 128 and the number of a signal that ended it. Nothing if it runs.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.supervisor.try_wait().ok().flatten()
    }
}

/// Ends this process soon after its parent: whoever kills `cargo test` means the tests as well, and what they started.
fn end_with_parent() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        let parent = getppid();
        thread::spawn(move || {
            while getppid() == parent {
                thread::sleep(Duration::from_secs(1));
            }
            std::process::exit(1);
        });
    });
}
