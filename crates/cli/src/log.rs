//! The log of long-running commands, on standard error.

use std::fmt;
use std::io::{self, Write};

use anyhow::{Context as _, Result};
use clearway_core::terminal_text::{escape_json, escape_record};
use clearway_sources::waiting;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::arguments::{LogFormat, Logging};

/// Writes the log from now on.
pub(crate) fn start(options: &Logging) -> Result<()> {
    let settings = crate::output::settings();
    let filter = options.log.as_deref().unwrap_or_else(|| usual_filter(settings.quiet, settings.verbose));
    let filter = EnvFilter::try_new(filter).with_context(|| {
        format!("`--log {filter}` is not a log filter; write a level (error, warn, info, debug) or info,clearway_server=debug")
    })?;
    write(filter, options.log_format);
    Ok(())
}

/// What is logged by commands that run for long, if no filter is given. The client of the API server warns with whole
/// answers, which may hold anything of the cluster: they are only for who asks for the words of libraries.
fn usual_filter(quiet: bool, verbose: u8) -> &'static str {
    match (quiet, verbose) {
        (true, _) => "warn,kube_client=error",
        (false, 0) => "info,kube_client=error",
        (false, 1) => "info,clearway=debug,kube_client=error",
        (false, _) => "debug",
    }
}

/// Writes what other commands wait for, with `--verbose` all requests, and with a second one what libraries say.
pub(crate) fn start_for_command(quiet: bool, verbose: u8) {
    let filter = match (quiet, verbose) {
        (true, _) => return,
        (false, 0) => format!("off,{}=debug", waiting::TARGET),
        (false, 1) => "warn,clearway=debug,kube_client=error".to_owned(),
        (false, _) => "debug".to_owned(),
    };
    let log = tracing_subscriber::fmt().with_env_filter(EnvFilter::new(filter)).with_writer(|| EscapedStderr);
    // Only a test starts two.
    let _ = log.with_ansi(false).event_format(CommandNotes).try_init();
}

/// Lines for somebody at a terminal: without time and place.
struct CommandNotes;

impl<S, N> FormatEvent<S, N> for CommandNotes
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let metadata = event.metadata();
        let word = match *metadata.level() {
            _ if metadata.target() == waiting::TARGET => "waiting",
            Level::ERROR => "error",
            Level::WARN => "warning",
            Level::INFO => "info",
            Level::DEBUG | Level::TRACE => "debug",
        };
        write!(writer, "{word}: ")?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

fn write(filter: EnvFilter, format: LogFormat) {
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| EscapedStderr)
        .with_target(false)
        // Styles could not be told from those that foreign text brings along.
        .with_ansi(false);
    // The demo may have started one; then it goes on with that.
    let _ = match format {
        LogFormat::Text => log.compact().try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
}

/// Standard error, on which foreign text can neither drive a terminal nor begin a record. The subscriber writes whole records.
struct EscapedStderr;

impl Write for EscapedStderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        // In a log that is JSON all controls are escaped already, and what is left stands in strings.
        let escaped = if text.starts_with('{') { escape_json(&text) } else { escape_record(&text).into() };
        io::stderr().write_all(escaped.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
