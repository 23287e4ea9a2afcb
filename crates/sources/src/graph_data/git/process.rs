//! One `git cat-file --batch`: objects are asked for one by one, and git is ended when it is no longer needed or takes too
//! long.
//!
//! What git writes is read to the end of each answer, up to a limit; what it complains about is drained on a thread of its
//! own, so that neither side ever waits for the other.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::{location, repository};
use crate::files::file_tree::printable;

/// Bytes of what git complains about that are kept.
const COMPLAINTS: u64 = 4096;
/// Bytes of a line before an object, which repeats what was asked for.
const LINE: u64 = 64 << 10;
/// Bytes of the path of a repository, and of that of a directory within it.
const PATH: u64 = 64 << 10;
/// Bytes of memory that git may map: an object in full several times, and the lists of objects of a large repository.
pub(super) const MEMORY: u64 = 512 << 20;

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Blob,
    Tree,
    Other,
}

/// One object of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) kind: ObjectKind,
    pub(super) content: Vec<u8>,
    /// Bytes of an object id in this repository.
    pub(super) id_bytes: usize,
}

/// A running git that answers for objects.
pub(super) struct GitProcess {
    running: Running,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// Why git gives no object; it is of no more use after this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GitFailure {
    /// The object is larger than was allowed, and git was ended.
    TooLarge,
    /// Git ended, or is not understood, in words.
    Ended(String),
}

impl GitProcess {
    /// Starts git for the repository that a directory is in.
    pub(super) fn start(path: &Path, patience: Duration, memory: u64) -> Result<Self, String> {
        let git_dir = path_of(path, "--absolute-git-dir", patience)?;
        let git_dir = Path::new(OsStr::from_bytes(&git_dir));
        location::check(path, git_dir)?;
        repository::check(git_dir)?;
        let mut command = git(path);
        command.args(["cat-file", "--batch"]).stdin(Stdio::piped());
        let running = Running::start(command, patience, memory)?;
        let (input, output) = running.pipes()?;
        let input = input.ok_or("git does not accept input")?;
        Ok(GitProcess { running, input, output: BufReader::new(output) })
    }

    /// An object of at most so many bytes by a name that git knows; nothing if there is none.
    pub(super) fn object(&mut self, name: &str, limit: u64) -> Result<Option<Object>, GitFailure> {
        let asked = writeln!(self.input, "{name}").and_then(|()| self.input.flush());
        let mut line = Vec::new();
        let read = asked.and_then(|()| self.output.by_ref().take(LINE).read_until(b'\n', &mut line));
        if read.is_err() || line.last() != Some(&b'\n') {
            return Err(GitFailure::Ended(self.running.reason()));
        }
        let line = String::from_utf8_lossy(&line);
        let words: Vec<&str> = line.trim_end().rsplitn(3, ' ').collect();
        let (size, kind, id) = match words.as_slice() {
            ["missing" | "ambiguous", ..] => return Ok(None),
            [size, kind, id] => (size.parse::<u64>().ok(), *kind, *id),
            _ => (None, "", ""),
        };
        let Some(size) = size.filter(|_| id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit())) else {
            let line = printable(line.trim_end().as_bytes());
            return Err(GitFailure::Ended(format!("git answered `{line}`, which is unexpected")));
        };
        if size > limit {
            self.running.stop();
            return Err(GitFailure::TooLarge);
        }
        let mut content = Vec::new();
        // Each object is followed by a line feed.
        let read = self.output.by_ref().take(size + 1).read_to_end(&mut content);
        if read.is_err() || content.pop() != Some(b'\n') || content.len() as u64 != size {
            return Err(GitFailure::Ended(self.running.reason()));
        }
        let kind = match kind {
            "blob" => ObjectKind::Blob,
            "tree" => ObjectKind::Tree,
            _ => ObjectKind::Other,
        };
        Ok(Some(Object { kind, content, id_bytes: id.len() / 2 }))
    }
}

/// The path of a directory within its repository; empty for its root.
pub(super) fn prefix(path: &Path, patience: Duration) -> Result<Vec<u8>, String> {
    path_of(path, "--show-prefix", patience)
}

/// A path that git gives for a directory.
fn path_of(directory: &Path, option: &str, patience: Duration) -> Result<Vec<u8>, String> {
    let mut command = git(directory);
    command.args(["rev-parse", option]).stdin(Stdio::null());
    let running = Running::start(command, patience, MEMORY)?;
    let (_, output) = running.pipes()?;
    let mut path = Vec::new();
    let read = output.take(PATH).read_to_end(&mut path);
    if read.is_err() || !running.end().is_ok_and(|status| status.success()) {
        return Err(running.reason());
    }
    path.truncate(path.len().saturating_sub(usize::from(path.last() == Some(&b'\n'))));
    Ok(path)
}

/// Git in a directory whose repository may be a stranger's: none of the programs that its configuration can name is run,
/// and no object that it lacks is fetched. The configuration of the system and of the user is theirs; it says, for one
/// thing, which repositories are trusted.
fn git(path: &Path) -> Command {
    let mut command = Command::new("git");
    command.args(["--no-replace-objects", "--no-optional-locks", "--no-pager"]);
    for setting in [
        "core.fsmonitor=false",
        "core.hooksPath=/dev/null",
        "core.attributesFile=/dev/null",
        "core.sshCommand=false",
        "core.gitProxy=false",
        "core.askPass=false",
        "credential.helper=",
        "protocol.allow=never",
        "gc.auto=0",
        "maintenance.auto=false",
        // Otherwise packs are mapped as a whole, and a large one does not fit into the memory that git gets.
        "core.packedGitWindowSize=16m",
        "core.packedGitLimit=64m",
        "core.deltaBaseCacheLimit=16m",
    ] {
        command.args(["-c", setting]);
    }
    command.arg("-C").arg(path);
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Limits the memory of git, which reads some objects in full before it says how large they are. Whatever it takes before
/// the limit is set counts too.
#[cfg(target_os = "linux")]
fn limit_memory(child: &Child, memory: u64) -> std::io::Result<()> {
    use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
    let inherited = getrlimit(Resource::As);
    let current = Some(inherited.current.map_or(memory, |inherited| inherited.min(memory)));
    prlimit(Some(Pid::from_child(child)), Resource::As, Rlimit { current, ..inherited })?;
    Ok(())
}

/// Other systems cannot limit a process that runs.
#[cfg(not(target_os = "linux"))]
fn limit_memory(_child: &Child, _memory: u64) -> std::io::Result<()> {
    Ok(())
}

/// A child that is ended when nobody needs it any more, or after some time.
struct Running {
    child: Arc<Mutex<Child>>,
    /// Gives what git complained about, once it closed its error stream.
    complaints: mpsc::Receiver<Vec<u8>>,
    is_late: Arc<AtomicBool>,
    patience: Duration,
    memory: u64,
    /// Dropping it ends the watch over the time.
    _watched: mpsc::Sender<()>,
}

impl Running {
    fn start(mut command: Command, patience: Duration, memory: u64) -> Result<Self, String> {
        let mut child = command.spawn().map_err(|error| format!("cannot start git: {error}"))?;
        if let Err(error) = limit_memory(&child, memory) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("cannot limit the memory of git: {error}"));
        }
        let (complain, complaints) = mpsc::channel();
        if let Some(mut stderr) = child.stderr.take() {
            thread::spawn(move || {
                let mut kept = Vec::new();
                // Whatever it is, git must not wait for somebody to read it.
                let _ = stderr.by_ref().take(COMPLAINTS).read_to_end(&mut kept);
                let _ = std::io::copy(&mut stderr, &mut std::io::sink());
                let _ = complain.send(kept);
            });
        }
        let child = Arc::new(Mutex::new(child));
        let is_late = Arc::new(AtomicBool::new(false));
        let (watched, end) = mpsc::channel();
        thread::spawn({
            let (child, is_late) = (Arc::clone(&child), Arc::clone(&is_late));
            move || {
                if end.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                    is_late.store(true, Ordering::SeqCst);
                    let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
                }
            }
        });
        Ok(Running { child, complaints, is_late, patience, memory, _watched: watched })
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pipes(&self) -> Result<(Option<ChildStdin>, ChildStdout), String> {
        let mut child = self.child();
        Ok((child.stdin.take(), child.stdout.take().ok_or("git returned no output")?))
    }

    /// Ends it by its id; one that ended already is left alone.
    fn stop(&self) {
        let _ = self.child().kill();
    }

    /// Waits for its end, which is near: it closed its output. Whoever ends it when it is late can do so meanwhile.
    fn end(&self) -> std::io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.child().try_wait()? {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Why it gave no answer, in words; never empty.
    fn reason(&self) -> String {
        let status = self.end();
        if self.is_late.load(Ordering::SeqCst) {
            return format!("git did not finish within {} seconds", self.patience.as_secs_f32());
        }
        let complaints = self.complaints.recv_timeout(self.patience).unwrap_or_default();
        let said = complaints.trim_ascii();
        match (said.is_empty(), status) {
            (false, _) => {
                let said = said.split(|byte| *byte == b'\n').map(printable).collect::<Vec<_>>().join("; ");
                // In git's words: `Out of memory, malloc failed`, `mmap failed: Cannot allocate memory`.
                let is_full = said.contains("Out of memory") || said.contains("Cannot allocate memory");
                let limit = format!(" (git may use at most {} MiB)", self.memory >> 20);
                if is_full { said + &limit } else { said }
            }
            (true, Ok(status)) => format!("git failed without a message ({status})"),
            (true, Err(error)) => format!("git failed without a message ({error})"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        let _ = self.child().wait();
    }
}
