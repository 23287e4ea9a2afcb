//! Output for terminals and programs: colour, live lines and a pager only on a terminal.
//!
//! Everything a command prints goes through here, and through [`terminal_text`]: texts of strangers cannot drive the
//! terminal or rewrite what stands on it. Styles are added behind that, by diagnostics, headings and states in tables.
//! A command returns a [`Document`] (or a [`Table`], or text); how it looks is decided here, once for all commands, by
//! [`mod@settings`].

mod bounded_text;
mod document;
mod live_line;
mod pager;
mod settings;
mod states;
mod table;
mod yaml;

use std::io::{self, Write as _};
use std::sync::OnceLock;

use anyhow::{Result, bail};
use clearway_core::Diagnostic;
use clearway_core::diagnostic::terminal;
use clearway_core::terminal_text::{self, escape_line};
use serde::Serialize;

use crate::arguments::{ColorWhen, DataFormat, TerminalOptions};

pub(crate) use document::Document;
pub(crate) use live_line::LiveLine;
pub(crate) use settings::Settings;
pub(crate) use table::{Layout, Table, truncated};
pub(crate) use yaml::to_yaml;

/// How this process prints. It is decided before anything is printed and never changes, and every line of every command
/// depends on it, so it is the one value of the process that is not passed along.
static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// Decides how this process prints, by its options, its environment and its terminal.
pub(crate) fn start(options: TerminalOptions) {
    match options.color {
        ColorWhen::Auto => anstream::ColorChoice::Auto,
        ColorWhen::Always => anstream::ColorChoice::Always,
        ColorWhen::Never => anstream::ColorChoice::Never,
    }
    .write_global();
    // A second call would be a second start of the process.
    let _ = SETTINGS.set(Settings::decide(&settings::observe(), options));
}

/// How this process prints.
pub(crate) fn settings() -> &'static Settings {
    static PLAIN: Settings =
        Settings { screen: None, width_of_errors: None, no_headers: false, quiet: false, verbose: 0, pager: None };
    SETTINGS.get().unwrap_or(&PLAIN)
}

/// Whether standard output shows ANSI styles.
pub(crate) fn colour() -> bool {
    shows_styles(&io::stdout())
}

fn shows_styles(stream: &impl anstream::stream::RawStream) -> bool {
    !matches!(anstream::AutoStream::choice(stream), anstream::ColorChoice::Never)
}

/// Prints a line, or several, on standard output.
macro_rules! print_line {
    ($($arguments:tt)*) => { $crate::output::write_line(&mut std::io::stdout(), &format!($($arguments)*)) };
}

/// Prints a line, or several, about the run itself on standard error; nothing with `--quiet`.
macro_rules! print_note {
    ($($arguments:tt)*) => {
        if !$crate::output::settings().quiet {
            $crate::output::write_line(&mut std::io::stderr(), &format!($($arguments)*))
        }
    };
}

/// Prints an error, a warning, or what makes the answer incomplete on standard error; also with `--quiet`.
macro_rules! print_problem {
    ($($arguments:tt)*) => { $crate::output::write_line(&mut std::io::stderr(), &format!($($arguments)*)) };
}

pub(crate) use {print_line, print_note, print_problem};

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
    let _ = writeln!(out, "{}\n", terminal::render(diagnostic, shows_styles(&io::stderr())));
}

/// Prints text in a format of its own, such as a drawing. Formats that have escapes use theirs; what is left is escaped here,
/// for a file or a pipe, too: somebody looks at it later.
pub(crate) fn print_document(text: &str) -> io::Result<()> {
    print_text(&terminal_text::escape(text))
}

/// JSON with line breaks, and the escapes of JSON for what could drive a terminal or deceive its reader.
pub(crate) fn to_json(data: &impl Serialize) -> Result<String> {
    bounded_text::json(data)
}

/// Prints data in the format of the options; only the formats for people need the document.
pub(crate) fn print_data<D: Into<Document>>(
    format: DataFormat,
    data: &impl Serialize,
    document: impl FnOnce() -> D,
) -> Result<()> {
    let mut text = match format {
        DataFormat::Table => document().into().render(layout(false)),
        DataFormat::Wide => document().into().render(layout(true)),
        DataFormat::Json => to_json(data)?,
        DataFormat::Yaml => to_yaml(data)?,
        DataFormat::Name => match document().into().names() {
            Some(names) => names,
            None => bail!("`-o name` needs a list, and this answer has none; use -o table, json or yaml"),
        },
    };
    if !text.ends_with('\n') && !text.is_empty() {
        text.push('\n');
    }
    print_text(&text)?;
    Ok(())
}

/// How documents look on standard output; with `-o wide`, every cell is complete.
pub(crate) fn layout(is_wide: bool) -> Layout {
    let settings = settings();
    Layout { width: settings.width().filter(|_| !is_wide), headers: !settings.no_headers, colour: colour() }
}

/// Writes text that is ready for standard output, in a pager if it is longer than the terminal.
pub(crate) fn print_text(text: &str) -> io::Result<()> {
    let settings = settings();
    if let Some(pager) = settings.pager.as_ref().filter(|_| settings.exceeds_screen(text))
        && pager.show(text)
    {
        return Ok(());
    }
    io::stdout().write_all(text.as_bytes())
}

/// A table with a head. Its first column names what a row is about.
pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    Table::new(head, rows)
}

/// Foreign text on one line.
pub(crate) fn printable(text: &str) -> String {
    escape_line(text).into_owned()
}
