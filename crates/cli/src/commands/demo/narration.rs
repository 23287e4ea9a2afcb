//! Output of the demo: pages that fit a small terminal, and commands that are run exactly as they are printed.

use std::fmt;
use std::io::{Stdout, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clearway_core::terminal_text::escape;
use tokio::process::Command;

use super::browser::Browser;
use super::fit;
use super::keyboard::{Keyboard, PageRequest};
use super::quoted;
use crate::exit::Exit;
use crate::output;
use crate::text_wrap::wrap;

/// Columns that sentences are wrapped at: shorter lines are read faster.
const SENTENCES: usize = 72;

/// Speaks.
pub(super) struct Narrator {
    out: anstream::AutoStream<Stdout>,
    start: Instant,
    /// Whether the demo runs until a signal.
    pub(super) stays: bool,
    /// Who turns the pages; nothing if they follow each other without a pause.
    reader: Option<Keyboard>,
    /// Where the console is shown; nothing if nobody can see it, and once it is.
    browser: Option<Browser>,
    /// How many pages there were.
    pages: usize,
}

impl Narrator {
    pub(super) fn new(stays: bool, reader: Option<Keyboard>, browser: Option<Browser>) -> Self {
        Narrator { out: anstream::stdout(), start: Instant::now(), stays, reader, browser, pages: 0 }
    }

    /// Opens an address in the browser, the first time.
    pub(super) fn open_in_browser(&mut self, address: &str) {
        if let Some(browser) = self.browser.take() {
            browser.open(address);
        }
    }

    /// Begins a page with a question, once the reader is done with the one before.
    pub(super) async fn page(&mut self, question: &str) -> Result<()> {
        self.pages += 1;
        if let Some(reader) = self.reader.as_mut().filter(|_| self.pages > 1) {
            let style = anstyle::Style::new().dimmed();
            write!(self.out, "\n{style}Press Enter for the next page, or q and Enter for the rest{style:#} ")?;
            self.out.flush()?;
            if reader.wait().await == PageRequest::Rest {
                self.reader = None;
            }
        }
        let style = anstyle::Style::new().bold();
        let before = if self.pages > 1 { "\n" } else { "" };
        Ok(writeln!(self.out, "{before}{style}── {}{style:#}\n", escape(question))?)
    }

    /// The command that a page shows the output of.
    pub(super) fn command(&mut self, command: &str) -> Result<()> {
        let style = anstyle::Style::new().bold();
        Ok(writeln!(self.out, "{style}{}{style:#}\n", escape(fit::command(command).trim_end()))?)
    }

    /// Sentences.
    pub(super) fn prose(&mut self, text: &str) -> Result<()> {
        Ok(write!(self.out, "{}", wrap("", "", SENTENCES, &escape(text)))?)
    }

    /// Prints an event. The time is printed only at a terminal, because it differs each time.
    pub(super) fn say(&mut self, text: &str) -> Result<()> {
        let stamp =
            if self.stays { format!("{:>5.1}s  ", self.start.elapsed().as_secs_f64()) } else { "• ".to_owned() };
        let margin = " ".repeat(stamp.chars().count());
        Ok(write!(self.out, "{}", wrap(&stamp, &margin, SENTENCES, &escape(text)))?)
    }

    /// Lines, as they are where they fit.
    pub(super) fn lines(&mut self, text: &str) -> Result<()> {
        let text = escape(text);
        // An empty text is an empty line.
        if text.is_empty() {
            return Ok(writeln!(self.out)?);
        }
        write!(self.out, "{}", fit::text(&text))?;
        // A line break at the end is an empty line.
        if text.ends_with('\n') { Ok(writeln!(self.out)?) } else { Ok(()) }
    }

    /// Lines that have styles of their own.
    pub(super) fn styled(&mut self, text: &str) -> Result<()> {
        Ok(write!(self.out, "{}", fit::text(text))?)
    }

    /// A table.
    pub(super) fn table(&mut self, table: &impl fmt::Display) -> Result<()> {
        Ok(write!(self.out, "{}", fit::table(&escape(&table.to_string())))?)
    }

    /// Lines that are copied as they are, such as commands with the name of a directory.
    pub(super) fn verbatim(&mut self, text: &str) -> Result<()> {
        Ok(writeln!(self.out, "{}", escape(text))?)
    }

    /// Runs `clearway upgrade` on a state directory, as with `CLEARWAY_STATE` in the environment. The directory of the
    /// demo is shown as `…`.
    pub(super) async fn upgrade(&mut self, state: &Path, words: &[&str]) -> Result<()> {
        let shown: Vec<String> = ["clearway", "upgrade"].iter().chain(words).map(|word| quoted(word)).collect();
        self.lines("")?;
        self.command(&shown.join(" "))?;
        self.out.flush()?;
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.arg("upgrade").args(words).env("CLEARWAY_STATE", state).env("NO_COLOR", "1").kill_on_drop(true);
        let ran = command.stdin(Stdio::null()).output().await.context("cannot run `clearway upgrade`")?;
        let directory = state.parent().unwrap_or(state).display().to_string();
        let fitted = |bytes: &[u8]| fit::text(&escape(&String::from_utf8_lossy(bytes).replace(&directory, "…")));
        write!(self.out, "{}", fitted(&ran.stdout))?;
        let told = fitted(&ran.stderr);
        if ran.status.code().is_none_or(|code| code >= Exit::CouldNotRun.number()) {
            bail!("`{}` failed: {}", shown.join(" "), told.trim());
        }
        if !told.trim().is_empty() {
            output::print_note!("{}", told.trim_end());
        }
        Ok(())
    }
}
