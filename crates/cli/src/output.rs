//! Output for terminals and programs: colour and live lines only on a terminal.
//!
//! Everything a command prints goes through here, and through [`terminal_text`]: texts of strangers cannot drive the
//! terminal or rewrite what stands on it. Styles are added by diagnostics and headings only, behind that.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};

use anyhow::{Context as _, Result};
use clearway_core::Diagnostic;
use clearway_core::diagnostic::terminal;
use clearway_core::terminal_text::{self, escape_line};
use comfy_table::{Cell, ContentArrangement, Table, presets};
use serde::Serialize;

use crate::arguments::DataFormat;

/// Whether standard output shows ANSI styles.
pub(crate) fn colour() -> bool {
    !matches!(anstream::AutoStream::choice(&io::stdout()), anstream::ColorChoice::Never)
}

/// Prints a line, or several, on standard output.
macro_rules! print_line {
    ($($arguments:tt)*) => { $crate::output::write_line(&mut std::io::stdout(), &format!($($arguments)*)) };
}

/// Prints a line, or several, about the run itself on standard error.
macro_rules! print_note {
    ($($arguments:tt)*) => { $crate::output::write_line(&mut std::io::stderr(), &format!($($arguments)*)) };
}

pub(crate) use {print_line, print_note};

/// Writes text of any origin and ends the line. Whether somebody reads it does not matter to who calls this.
pub(crate) fn write_line(out: &mut impl io::Write, text: &str) {
    let _ = writeln!(out, "{}", terminal_text::escape(text));
}

/// Prints a JSON value on one line, as one event of a stream.
pub(crate) fn print_event(event: &serde_json::Value) -> io::Result<()> {
    writeln!(io::stdout(), "{}", terminal_text::escape_json(&event.to_string()))
}

/// Prints a diagnostic on standard error.
pub(crate) fn print_diagnostic(diagnostic: &Diagnostic) {
    let mut out = anstream::stderr();
    let _ = writeln!(out, "{}\n", terminal::render(diagnostic, colour()));
}

/// A document in a format of its own (a graph, a drawing): as it is for a file or a pipe, and escaped for a terminal.
pub(crate) fn document(text: &str) -> Cow<'_, str> {
    if io::stdout().is_terminal() { terminal_text::escape(text) } else { Cow::Borrowed(text) }
}

/// Writes such a document on standard output.
pub(crate) fn print_document(text: &str) -> io::Result<()> {
    io::stdout().write_all(document(text).as_bytes())
}

/// Prints data as JSON or YAML; a table is the caller's.
pub(crate) fn print_data(format: DataFormat, data: &impl Serialize, table: impl FnOnce() -> String) -> Result<()> {
    let mut text = match format {
        DataFormat::Table => terminal_text::escape(&table()).into_owned(),
        DataFormat::Json => terminal_text::escape_json(&serde_json::to_string_pretty(data)?).into_owned(),
        DataFormat::Yaml => {
            let yaml = serde_saphyr::to_string(data).context("cannot be written as YAML")?;
            document(&yaml).into_owned()
        }
    };
    if !text.ends_with('\n') && !text.is_empty() {
        text.push('\n');
    }
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// A table with a head and no lines; the last column is as wide as it needs to be.
pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head.iter().map(Cell::new));
    for row in rows {
        // A line break or an escape in foreign text must not break the line or drive the terminal.
        table.add_row(row.iter().map(|cell| Cell::new(printable(cell))));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Foreign text on one line.
pub(crate) fn printable(text: &str) -> String {
    escape_line(text).into_owned()
}

/// One line on standard error that is written over as work goes on; nothing at all where that is not a terminal.
pub(crate) struct LiveLine {
    shown: bool,
    terminal: bool,
}

impl LiveLine {
    /// A line that is empty so far.
    pub(crate) fn new() -> Self {
        LiveLine { shown: false, terminal: io::stderr().is_terminal() }
    }

    /// Whether anybody sees it.
    pub(crate) fn is_live(&self) -> bool {
        self.terminal
    }

    /// Replaces the line.
    pub(crate) fn set(&mut self, text: &str) {
        if self.terminal {
            let _ = write!(io::stderr(), "\r\x1b[2K{}", printable(text).chars().take(120).collect::<String>());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_foreign_text_on_its_line() {
        let text = table(&["A", "B"], [vec!["x\ny".to_owned(), "\u{1b}[2Jz".to_owned()]]);
        assert_eq!(text, "A    B\nx y  \\x1b[2Jz\n");
    }
}
