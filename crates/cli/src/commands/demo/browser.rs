//! The browser of the person who watches the demo.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::process::Stdio;

use tokio::process::Command;

/// The program of this desktop that opens an address in the preferred browser.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Browser {
    program: &'static str,
}

impl Browser {
    /// The browser of the person at this terminal; nothing without a terminal or without a graphical session, where a
    /// program that opens addresses would show one in the terminal, or fail.
    pub(super) fn of_session() -> Option<Self> {
        if io::stdout().is_terminal() { Self::of(cfg!(target_os = "macos"), env::var_os) } else { None }
    }

    fn of(is_macos: bool, variable: impl Fn(&'static str) -> Option<OsString>) -> Option<Self> {
        if is_macos {
            return Some(Browser { program: "open" });
        }
        let is_graphical =
            ["WAYLAND_DISPLAY", "DISPLAY"].map(variable).into_iter().flatten().any(|name| !name.is_empty());
        is_graphical.then_some(Browser { program: "xdg-open" })
    }

    /// Opens an address. Without the program nothing happens: the address is printed as well.
    pub(super) fn open(&self, address: &str) {
        let mut command = Command::new(self.program);
        command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // It may become the browser itself, which Ctrl-C in this terminal must not end.
        command.process_group(0);
        let _ = command.spawn();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_opened_only_in_a_graphical_session() {
        let session = |name: &'static str, value: &'static str| {
            Browser::of(false, move |wanted| (wanted == name).then(|| value.into())).map(|browser| browser.program)
        };
        assert_eq!(session("DISPLAY", ":0"), Some("xdg-open"));
        assert_eq!(session("WAYLAND_DISPLAY", "wayland-0"), Some("xdg-open"));
        assert_eq!(session("DISPLAY", ""), None);
        assert_eq!(session("TERM", "xterm"), None);
        assert_eq!(Browser::of(true, |_| None), Some(Browser { program: "open" }));
    }
}
