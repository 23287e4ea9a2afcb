//! The reader of the demo: pages turn when Enter is pressed.

use std::io::{self, BufRead as _, IsTerminal as _};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Lines that are typed. They are read by a thread of its own, which nothing waits for: a demo that is stopped does not
/// have to wait for a key.
pub(super) struct Keyboard {
    lines: UnboundedReceiver<String>,
}

/// What the reader wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageRequest {
    /// The next page.
    NextPage,
    /// Everything else without a pause.
    Rest,
}

impl Keyboard {
    /// The keyboard, if there is a person at a terminal to read and to type.
    pub(super) fn of_terminal() -> Option<Self> {
        if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
            return None;
        }
        let (send, lines) = unbounded_channel();
        std::thread::spawn(move || {
            io::stdin().lock().lines().map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        Some(Keyboard { lines })
    }

    /// Waits for Enter.
    pub(super) async fn wait(&mut self) -> PageRequest {
        match self.lines.recv().await {
            Some(line) if !line.trim().eq_ignore_ascii_case("q") => PageRequest::NextPage,
            _ => PageRequest::Rest,
        }
    }
}
