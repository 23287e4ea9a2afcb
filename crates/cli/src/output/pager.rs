//! The program that shows output longer than the screen.

use std::io::{self, Write as _};
use std::process::{Command, ExitStatus, Stdio};

use super::settings::Observed;

/// The exit status of a shell that did not find the program.
const NOT_FOUND: i32 = 127;

/// A pager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pager {
    /// `less -FRX`: colours are shown, and what was shown stays on the screen.
    Less,
    /// A command line for the shell, from the environment.
    CommandLine(String),
}

impl Pager {
    /// The pager by the environment: `CLEARWAY_PAGER`, then `PAGER`, then `less`. An empty one, or `cat`, is none.
    pub(super) fn choose(observed: &Observed) -> Option<Self> {
        if observed.term.as_deref() == Some("dumb") {
            return None;
        }
        match observed.clearway_pager.as_deref().or(observed.pager.as_deref()).map(str::trim) {
            None | Some("less") => Some(Pager::Less),
            Some("" | "cat") => None,
            Some(line) => Some(Pager::CommandLine(line.to_owned())),
        }
    }

    fn command(&self) -> Command {
        match self {
            Pager::Less => {
                let mut command = Command::new("less");
                command.arg("-FRX");
                command
            }
            Pager::CommandLine(line) => {
                let mut command = Command::new("sh");
                command.args(["-c", line]);
                command
            }
        }
    }

    /// Shows text, and returns when the reader has left. `false` if the program does not exist, and nothing was shown.
    pub(super) fn show(&self, text: &str) -> bool {
        let Ok(mut child) = self.command().stdin(Stdio::piped()).spawn() else { return false };
        if let Some(mut pipe) = child.stdin.take() {
            // Whoever has read enough closes the pipe.
            let _ = pipe.write_all(text.as_bytes());
        }
        wait(child).is_ok_and(|status| status.code() != Some(NOT_FOUND))
    }
}

/// Waits for the pager. Ctrl-C is for the pager, which stops a search with it: if it ended this process, two programs would
/// read the terminal.
fn wait(mut child: std::process::Child) -> io::Result<ExitStatus> {
    let ignored = crate::signals::ignore_interrupts();
    let status = child.wait();
    drop(ignored);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_chooses_the_pager() {
        let choose = |clearway: Option<&str>, pager: Option<&str>, term: Option<&str>| {
            let owned = |text: Option<&str>| text.map(str::to_owned);
            let observed = Observed {
                clearway_pager: owned(clearway),
                pager: owned(pager),
                term: owned(term),
                ..Observed::default()
            };
            Pager::choose(&observed)
        };
        let line = |line: &str| Some(Pager::CommandLine(line.to_owned()));
        assert_eq!(choose(None, None, None), Some(Pager::Less));
        assert_eq!(choose(None, Some("less"), None), Some(Pager::Less));
        assert_eq!(choose(None, Some("most -s"), None), line("most -s"));
        assert_eq!(choose(Some("bat"), Some("most"), Some("xterm")), line("bat"));
        assert_eq!(choose(Some(""), Some("most"), None), None);
        assert_eq!(choose(None, Some("cat"), None), None);
        assert_eq!(choose(Some("bat"), None, Some("dumb")), None);
    }

    #[test]
    fn a_pager_that_does_not_exist_shows_nothing() {
        assert!(!Pager::CommandLine("no-such-pager-anywhere".to_owned()).show("text"));
        assert!(Pager::CommandLine("true".to_owned()).show("text"));
    }
}
