//! What decides how a command prints: options, the environment and the terminal, observed once at the start.
//!
//! The decisions are functions of what was observed ([`Observed`]); only [`observe`] looks at the process.

use std::env;
use std::io::{self, IsTerminal as _};

use rustix::termios::tcgetwinsize;

use super::pager::Pager;
use crate::arguments::TerminalOptions;

/// How this process prints. The default is for tests: not a terminal, nothing left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Standard output, if it is a terminal.
    pub(crate) screen: Option<Screen>,
    /// Columns of standard error, if it is a terminal that says so.
    pub(crate) width_of_errors: Option<usize>,
    /// Whether tables have no line of column names.
    pub(crate) no_headers: bool,
    /// Whether notes about the run are left out.
    pub(crate) quiet: bool,
    /// How often `--verbose` was given.
    pub(crate) verbose: u8,
    /// The program for output that is longer than the screen.
    pub(crate) pager: Option<Pager>,
}

/// The size of a terminal; `None` if it does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Screen {
    pub(crate) columns: Option<usize>,
    pub(crate) rows: Option<usize>,
}

/// What the process and its environment say.
#[derive(Debug, Clone, Default)]
pub(crate) struct Observed {
    /// The size of standard output; `None` if it is not a terminal.
    pub(crate) screen: Option<Screen>,
    /// The size of standard error; `None` if it is not a terminal.
    pub(crate) errors: Option<Screen>,
    /// `COLUMNS`
    pub(crate) columns: Option<String>,
    /// `TERM`
    pub(crate) term: Option<String>,
    /// `CLEARWAY_PAGER`
    pub(crate) clearway_pager: Option<String>,
    /// `PAGER`
    pub(crate) pager: Option<String>,
}

impl Settings {
    /// Decides by what was observed and by the options. `COLUMNS` is stronger than what the terminal says.
    pub(crate) fn decide(observed: &Observed, options: TerminalOptions) -> Self {
        let columns =
            observed.columns.as_deref().and_then(|columns| columns.parse().ok()).filter(|&columns| columns > 0);
        let sized = |screen: Screen| Screen { columns: columns.or(screen.columns), ..screen };
        let screen = observed.screen.map(sized);
        Settings {
            screen,
            width_of_errors: observed.errors.and_then(|errors| sized(errors).columns),
            no_headers: options.no_headers,
            quiet: options.quiet,
            verbose: options.verbose,
            pager: screen.filter(|_| !options.no_pager).and_then(|_| Pager::choose(observed)),
        }
    }

    /// The columns that tables are fitted into; `None` outside of a terminal.
    pub(crate) fn width(&self) -> Option<usize> {
        self.screen.and_then(|screen| screen.columns)
    }

    /// Whether text is longer than the screen, in which lines that are too long wrap.
    pub(crate) fn exceeds_screen(&self, text: &str) -> bool {
        use unicode_width::UnicodeWidthStr as _;
        let Some(rows) = self.screen.and_then(|screen| screen.rows) else { return false };
        let columns = self.width().unwrap_or(usize::MAX).max(1);
        let mut needed = 0_usize;
        for line in text.lines() {
            needed = needed.saturating_add(line.width().div_ceil(columns).max(1));
            // The prompt needs a line, too.
            if needed >= rows {
                return true;
            }
        }
        false
    }
}

/// Looks at the terminal and the environment of this process.
pub(crate) fn observe() -> Observed {
    let variable = |name: &str| env::var(name).ok();
    let size = |size: Result<rustix::termios::Winsize, rustix::io::Errno>| {
        let known = |number: u16| Some(usize::from(number)).filter(|&number| number > 0);
        size.map_or_else(|_| Screen::default(), |size| Screen { columns: known(size.ws_col), rows: known(size.ws_row) })
    };
    let (stdout, stderr) = (io::stdout(), io::stderr());
    Observed {
        screen: stdout.is_terminal().then(|| size(tcgetwinsize(&stdout))),
        errors: stderr.is_terminal().then(|| size(tcgetwinsize(&stderr))),
        columns: variable("COLUMNS"),
        term: variable("TERM"),
        clearway_pager: variable("CLEARWAY_PAGER"),
        pager: variable("PAGER"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: TerminalOptions = TerminalOptions {
        color: crate::arguments::ColorWhen::Auto,
        no_headers: false,
        no_pager: false,
        quiet: false,
        verbose: 0,
    };

    fn terminal(columns: usize, rows: usize) -> Observed {
        Observed { screen: Some(Screen { columns: Some(columns), rows: Some(rows) }), ..Observed::default() }
    }

    #[test]
    fn tables_fit_the_terminal_and_nothing_else() {
        assert_eq!(Settings::decide(&terminal(80, 24), OPTIONS).width(), Some(80));
        let with_columns = Observed { columns: Some("132".to_owned()), ..terminal(80, 24) };
        assert_eq!(Settings::decide(&with_columns, OPTIONS).width(), Some(132));
        for odd in ["", "0", "wide"] {
            let observed = Observed { columns: Some(odd.to_owned()), ..terminal(80, 24) };
            assert_eq!(Settings::decide(&observed, OPTIONS).width(), Some(80), "{odd}");
        }
        let piped = Observed { columns: Some("132".to_owned()), ..Observed::default() };
        assert_eq!(Settings::decide(&piped, OPTIONS).width(), None);
    }

    #[test]
    fn a_pager_is_for_a_terminal_only_and_can_be_switched_off() {
        assert_eq!(Settings::decide(&terminal(80, 24), OPTIONS).pager, Some(Pager::Less));
        assert_eq!(Settings::decide(&Observed::default(), OPTIONS).pager, None);
        let without = TerminalOptions { no_pager: true, ..OPTIONS };
        assert_eq!(Settings::decide(&terminal(80, 24), without).pager, None);
    }

    #[test]
    fn output_that_fits_above_the_prompt_is_not_longer_than_the_screen() {
        let settings = Settings::decide(&terminal(10, 4), OPTIONS);
        assert!(!settings.exceeds_screen("1\n2\n3\n"));
        assert!(settings.exceeds_screen("1\n2\n3\n4\n"));
        assert!(settings.exceeds_screen("12345678901234567890123456789012345\n"));
        assert!(!Settings::default().exceeds_screen(&"line\n".repeat(10_000)));
    }
}
