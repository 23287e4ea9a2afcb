//! One line on standard error that is written over as work goes on; nothing at all where that is not a terminal.

use std::io::{self, IsTerminal as _, Write as _};

use super::{printable, settings, table};

/// Columns of the line where the width of the terminal is not known.
const USUAL_WIDTH: usize = 80;

/// A line that changes while a command works.
pub(crate) struct LiveLine {
    shown: bool,
    terminal: bool,
}

impl LiveLine {
    /// A line that is empty so far.
    pub(crate) fn new() -> Self {
        LiveLine { shown: false, terminal: io::stderr().is_terminal() && !settings().quiet }
    }

    /// Whether anybody sees it.
    pub(crate) fn is_live(&self) -> bool {
        self.terminal
    }

    /// Replaces the line.
    pub(crate) fn set(&mut self, text: &str) {
        if self.terminal {
            // A line that reaches the end of the terminal would wrap, and only its last part be replaced.
            let width = settings().width_of_errors.unwrap_or(USUAL_WIDTH).saturating_sub(1);
            let _ = write!(io::stderr(), "\r\x1b[2K{}", table::truncated(&printable(text), width));
            let _ = io::stderr().flush();
            self.shown = true;
        }
    }

    /// Takes the line away, so that something lasting can be printed.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r\x1b[2K");
            let _ = io::stderr().flush();
        }
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        self.clear();
    }
}
