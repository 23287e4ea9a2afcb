//! Exit codes, the same for every command.

use std::io;
use std::process::ExitCode;

/// The answer of a command to the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: yes, clean, current.
    Yes,
    /// 1: no, findings, failed.
    No,
    /// 2: not known, or not yet.
    Unknown,
    /// 3: bad usage, bad input, unreachable.
    CouldNotRun,
}

impl Exit {
    /// The number that a shell sees.
    pub(crate) fn number(self) -> i32 {
        match self {
            Exit::Yes => 0,
            Exit::No => 1,
            Exit::Unknown => 2,
            Exit::CouldNotRun => 3,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        // All of them are small; a number that is not would be a failure.
        u8::try_from(exit.number()).map_or(ExitCode::FAILURE, ExitCode::from)
    }
}

/// The exit code of a command's result; an error is printed as one line on standard error.
pub(crate) fn code(outcome: anyhow::Result<Exit>) -> ExitCode {
    match outcome {
        Ok(exit) => exit.into(),
        // The reader of a pipe closed it (`| head`): the output is incomplete, and there is no one to report to.
        Err(error) if is_broken_pipe(&error) => Exit::Unknown.into(),
        Err(error) => {
            crate::output::print_problem!("error: {error:#}");
            Exit::CouldNotRun.into()
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
